# SPDX-License-Identifier: Apache-2.0
"""What README and docs say of the library is so: the tables are those of the files, and canitoolcall passes as written."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_templates import CHATML_JSON, right_template

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of one chat template."""
    pytest.importorskip(
        "transformers.utils.chat_template_utils", reason="chat templates are rendered with transformers"
    )
    columns = {"file": "chatml.jinja", "n_models": "2", "bos": "", "eos": "<|im_end|>"}
    columns |= {"renders_call": "1", "renders_reasoning": "1"}
    index = "\t".join(columns) + "\n" + "\t".join(columns.values()) + "\n"
    (tmp_path / "INDEX.tsv").write_text(index, encoding="utf-8")
    (tmp_path / "chatml.jinja").write_text(CHATML_JSON, encoding="utf-8")
    return tmp_path


def test_a_folder_is_measured(script: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "page.md"
    page.write_text("<!-- chat templates -->\n<!-- /chat templates -->\n", encoding="utf-8")
    measure = script("measure_library").main
    assert measure(["--folder", str(folder), "--floor", "97", "--markdown", str(page)]) == 0
    assert "no wrong template was returned as proven" in capsys.readouterr().out
    assert "| all | 1 | 1 | 32 | 32 | 100.0 |" in page.read_text(encoding="utf-8")


def test_too_few_cases_are_an_error(script: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = right_template(CHATML_JSON)
    del wrong["fields"]["reasoning_content"]
    given = folder / "wrong.json"
    given.write_text(json.dumps(wrong), encoding="utf-8")
    options = ["--folder", str(folder), "--template", str(given), "--file", "chatml"]
    measure = script("measure_library").main
    assert measure(options) == 0
    assert measure([*options, "--floor", "97"]) == 1
    assert "% of the renderable cases pass, not 97 %" in capsys.readouterr().out


def test_a_wrong_template_that_counts_as_proven_is_an_error(
    script: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script("measure_library")
    wrong = trp.TemplateMatch(trp.get_template("cohere"), trp.get_template("cohere").response_template, "", True)
    monkeypatch.setattr(module, "find_template", lambda renderer: wrong)
    assert module.main(["--folder", str(folder)]) == 1
    assert "wrong template returned as proven: chatml.jinja: cohere: content only" in capsys.readouterr().out.lower()


def test_without_chat_templates_there_is_nothing_to_measure(script: Any, tmp_path: Path) -> None:
    assert script("measure_library").main(["--folder", str(tmp_path / "none")]) == 0


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
