# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run, and what they conclude from numbers is right. How fast anything is, is no test."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("transformers")


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), str(ROOT / "scripts"), *sys.path])


def benchmark(name: str) -> Any:
    return importlib.import_module(f"benchmarks{name}")


def row(**changes: Any) -> Any:
    measure = benchmark(".measure")
    point = measure.Point(1_000, 10, {"ours": 0.002, "native": 0.008}, {"native": 4.0})
    row = measure.Row("some.row", "a title", "us/chunk", [point])
    for name, value in changes.items():
        setattr(row, name, value)
    return row


@pytest.mark.slow
def test_all_of_them_run_and_can_be_shown(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    # A process of its own: benchmarks collect garbage before each run, and here there is much of it.
    command = [sys.executable, "-m", "benchmarks", "--tiny", "--seconds", "0.01", "--json", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    measured = json.loads(results.read_text(encoding="utf-8"))
    names = {entry["name"] for entry in measured["rows"]}
    assert {"stream.reasoning.smollm3", "one_shot.hello", "batch.texts", "ids.byte_level.decoder"} <= names
    assert "stream.reasoning.smollm3" in done.stdout
    page = tmp_path / "page.md"
    page.write_text("# Numbers\n<!-- measured -->\n<!-- /measured -->\n", encoding="utf-8")
    assert importlib.import_module("performance_page").main([str(results), str(page)]) == 0
    assert "`one_shot.hello`" in page.read_text(encoding="utf-8")


def test_a_drop_by_more_than_half_is_noticed_and_no_less() -> None:
    check = benchmark(".check")
    baseline = {"a": {"1": 10.0}, "b": {"1": 4.0}, "c": {"1": 2.0}}
    problems = check.compare({"a": {"1": 4.9}, "b": {"1": 2.1}}, baseline)
    assert [problem.partition(" at ")[0] for problem in problems] == ["a", "c"]
    assert "not measured" in problems[1]


def test_ratios_are_those_to_the_native_parser() -> None:
    assert benchmark(".check").ratios([row()]) == {"some.row": {"1000": 4.0}}


def test_the_committed_baseline_has_all_that_is_checked() -> None:
    check = benchmark(".check")
    baseline = json.loads(check.BASELINE.read_text(encoding="utf-8"))
    for case in check.CASES:
        assert any(name == case or name.startswith(f"{case}.") for name in baseline), case


def test_growth_is_the_exponent_of_size() -> None:
    exponent = benchmark(".measure").exponent
    assert exponent([(size, 3e-6 * size) for size in (100, 200, 400, 800)]) == pytest.approx(1.0)
    assert exponent([(size, 2e-9 * size**2) for size in (100, 200, 400, 800)]) == pytest.approx(2.0)
