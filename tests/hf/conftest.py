# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the plugin's tests: it is enabled for one test at a time, and nothing goes to the network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

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
