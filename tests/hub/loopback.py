# SPDX-License-Identifier: Apache-2.0
"""A Hub on loopback, and a process that takes it for the Hub: HF_ENDPOINT is read once, when huggingface_hub is imported."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import command_line
import pytest
from command_line import Done
from hub.server import READER, WRITER, FakeHub, Repo

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[FakeHub]:
    hub = FakeHub()
    hub.start()
    yield hub
    hub.stop()


@pytest.fixture(scope="session")
def environment(server: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of somebody who uses that Hub, and is not logged in."""
    unwanted = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE")
    return {
        **{name: value for name, value in os.environ.items() if name not in unwanted},
        "HF_ENDPOINT": server.endpoint,
        "HF_HOME": str(tmp_path_factory.mktemp("hf_home")),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@pytest.fixture(scope="session")
def process(server: FakeHub, environment: dict[str, str]) -> Iterator[ProcessPoolExecutor]:
    """One process for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        assert pool.submit(os.getenv, "HF_ENDPOINT").result() == server.endpoint
    with pool:
        yield pool


@pytest.fixture
def new_repo(server: FakeHub) -> Iterator[Callable[..., tuple[str, Repo]]]:
    """Make a repository with a name of its own."""

    def new_repo(**options: object) -> tuple[str, Repo]:
        repo_id = f"org/model-{next(_numbers)}"
        return repo_id, server.create(repo_id, **options)  # type: ignore[arg-type]

    yield new_repo
    server.before_commit = None


@pytest.fixture
def online(process: ProcessPoolExecutor) -> Callable[..., Done]:
    """Run a command of the command line there, logged in with `token`."""

    def online(*arguments: str, token: str = "", **options: object) -> Done:
        done = process.submit(command_line.run, *arguments, HF_TOKEN=token, **options).result()
        assert READER not in done.out + done.err
        assert WRITER not in done.out + done.err
        return done

    return online
