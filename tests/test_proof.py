# SPDX-License-Identifier: Apache-2.0
"""What README and docs say of the library is so: the tables are those of the files, and canitoolcall passes as written."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import transformers_response_parsing as trp

ROOT = Path(__file__).resolve().parents[1]
PROOF = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of the project by its name."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    return importlib.import_module


def test_the_tables_of_families_are_current(script: Any) -> None:
    """If this fails: python scripts/family_tables.py."""
    assert script("family_tables").main(["--check"]) == 0


def test_a_table_that_is_not_current_is_noticed(script: Any, tmp_path: Path) -> None:
    blocks = script("marked_blocks")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- t -->\nold\n<!-- /t -->\nafter\n", encoding="utf-8")
    assert blocks.write(page, "t", "new\n")
    assert page.read_text(encoding="utf-8") == "before\n<!-- t -->\nnew\n<!-- /t -->\nafter\n"
    assert not blocks.write(page, "t", "new\n")
    with pytest.raises(ValueError, match="no block"):
        blocks.write(page, "other", "new\n")


def test_the_measured_families_are_families() -> None:
    """The table is made by scripts/measure_library.py --markdown docs/proof.md, where the chat templates are at hand."""
    table = PROOF.partition("<!-- chat templates -->")[2].partition("<!-- /chat templates -->")[0]
    measured = {line.split(" | ")[0].strip("| ") for line in table.splitlines()[3:]} - {"(none)", "all"}
    assert len(measured) > 80
    assert measured <= {entry.name for entry in trp.list_templates()}


def test_canitoolcall_passes_as_the_docs_say(script: Any) -> None:
    pytest.importorskip("canitoolcall", reason="the conformance suite is not installed (extra: conformance)")
    measure = script("measure_canitoolcall")
    found = list(measure.outcomes())
    assert len(found) >= 469
    assert [item.id for item in found if not item.streams_agree] == []
    assert sum(item.status == "pass" for item in found) >= measure.FLOOR
    assert measure.markdown(found) in PROOF  # else: python scripts/measure_canitoolcall.py --markdown docs/proof.md
    reasons = PROOF.partition("What does not pass")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([\w-]+/[\w.-]+)`", reasons))
    assert {item.id for item in found if item.status != "pass"} == explained
