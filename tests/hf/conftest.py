# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the plugin's tests: it is enabled for one test at a time, and nothing goes to the network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything imports huggingface_hub
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

from hf.helpers import TEMPLATE, make_tokenizer

import transformers_response_parsing as trp


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "assets: needs what scripts/fetch_test_assets.py fetches (skipped with a reason without it)"
    )


@pytest.fixture
def plugin() -> Iterator[None]:
    """The plugin is enabled, without the library, and disabled again after the test."""
    trp.enable(library=False)
    yield
    trp.disable()


@pytest.fixture
def tokenizer(plugin: None) -> Any:
    """A tiny tokenizer that has the template, with the plugin enabled."""
    tokenizer = make_tokenizer()
    tokenizer.response_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="session")
def asset() -> Callable[[str], Path]:
    """The folder of an asset; skips the test if it was not fetched."""
    given = os.environ.get("TRP_TEST_ASSETS")
    root = Path(given).expanduser() if given else Path.home() / ".cache" / "transformers-response-parsing"

    def folder(name: str) -> Path:
        path = root / name
        if not path.is_dir():
            pytest.skip(f"needs {path}: run scripts/fetch_test_assets.py")
        return path

    return folder
