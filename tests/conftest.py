# SPDX-License-Identifier: Apache-2.0
"""Hypothesis profiles, and what tests need from elsewhere: ../shared and fetched tokenizers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything imports huggingface_hub

from hub.loopback import environment, new_repo, online, process, server  # noqa: F401 -- fixtures of all

SHARED = Path(__file__).resolve().parents[2] / "shared"

# `fast` while developing, `ci` where time is cheap. Deadlines are off: two busy cores must not make a test fail.
settings.register_profile("fast", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "fast"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `shared` read the project's own case files, which live beside the repository and not in it."""
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason=f"needs {SHARED}, which is not part of the repository")
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The project's ../shared folder."""
    if not SHARED.is_dir():
        pytest.skip(f"needs {SHARED}, which is not part of the repository")
    return SHARED


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
