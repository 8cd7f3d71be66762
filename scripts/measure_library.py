# SPDX-License-Identifier: Apache-2.0
"""Measure the ready-made templates on a folder of real chat templates: what is recognised, rendered, passed, proven.

    python scripts/measure_library.py                                  # every chat template that renders calls or reasoning
    python scripts/measure_library.py --family qwen3 --failures        # the ones found to be of a family, with evidence
    python scripts/measure_library.py --file Qwen-Qwen3-0.6B.jinja     # one chat template (any part of the file's name)
    python scripts/measure_library.py --template new.json --file Qwen  # one response template or family file, tried on these
    python scripts/measure_library.py --template new.json              # … or on those that its markers recognise

    python scripts/measure_library.py --markdown docs/proof.md         # write the table there
    python scripts/measure_library.py --floor 97                       # exit code 1 too if fewer percent of the cases pass

The folder has the texts and INDEX.tsv (columns file, n_models, bos, eos, renders_call, renders_reasoning); it is given with
--folder or $TRP_CHAT_TEMPLATES. Without it there is nothing to measure, and the script says so and ends well.

Exit code 1 if a template that fails a case is returned as proven.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import marked_blocks

from transformers_response_parsing import find_template
from transformers_response_parsing.chat_format import ChatFormat
from transformers_response_parsing.check import check_format
from transformers_response_parsing.recognise import markers_of
from transformers_response_parsing.rendering import ChatRenderer
from transformers_response_parsing.report import CheckReport
from transformers_response_parsing.template import ResponseTemplate

_DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "facts" / "chat_templates"


@dataclass
class Row:
    """One chat template and what became of it. `report` is None if no family was found for it."""

    file: str
    repositories: int
    family: str
    proven: bool
    reason: str
    report: CheckReport | None
    seconds: float

    @property
    def wrong(self) -> bool:
        return self.proven and self.report is not None and not self.report.ok

    def as_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("file", "repositories", "family", "proven", "reason", "wrong")}
        return {**facts, "seconds": round(self.seconds, 3), "report": self.report.as_dict() if self.report else None}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    folder = Path(arguments.folder or os.environ.get("TRP_CHAT_TEMPLATES") or _DEFAULT_FOLDER)
    if not (folder / "INDEX.tsv").is_file():
        print(f"nothing to measure: there is no INDEX.tsv in {folder} (set TRP_CHAT_TEMPLATES or pass --folder)")
        return 0
    rows = []
    for row in _measure(folder, arguments):
        if arguments.family and row.family != arguments.family:
            continue
        rows.append(row)
        if not arguments.json and (arguments.failures or arguments.file or arguments.template):
            _print_row(row, arguments)
    if arguments.json:
        print(json.dumps([row.as_dict() for row in rows], ensure_ascii=False, indent=1))
    else:
        _print_table(rows)
    if arguments.markdown:
        marked_blocks.write(arguments.markdown, "chat templates", _markdown(rows))
    total = Total("all", rows)
    if total.share < arguments.floor:
        print(f"only {total.share:.1f} % of the renderable cases pass, not {arguments.floor:g} %")
        return 1
    return 1 if any(row.wrong for row in rows) else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where the chat templates are")
    parser.add_argument(
        "--file", action="append", help="only chat templates whose file name contains this (can be repeated)"
    )
    parser.add_argument("--family", help="only chat templates that this family was found for")
    parser.add_argument(
        "--template", type=Path, help="try this response template (or family file) instead of the library"
    )
    parser.add_argument(
        "--failures", action="store_true", help="each failed case: prompt, reply, expected and parsed message"
    )
    parser.add_argument("--case", help="with --failures: only cases whose name contains this")
    parser.add_argument("--json", action="store_true", help="everything as JSON")
    parser.add_argument("--markdown", type=Path, help="write the table into the block `chat templates` of this file")
    parser.add_argument("--floor", type=float, default=0.0, help="percent of the renderable cases that must pass")
    return parser.parse_args(argv)


def _measure(folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    given = json.loads(arguments.template.read_text(encoding="utf-8")) if arguments.template else None
    template = ResponseTemplate.load(given.get("response_template", given)) if given else None
    with (folder / "INDEX.tsv").open(encoding="utf-8", newline="") as index:
        entries = list(csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE))
    for entry in entries:
        if arguments.file and not any(part.casefold() in entry["file"].casefold() for part in arguments.file):
            continue
        if "1" not in (entry["renders_call"], entry["renders_reasoning"]) and not arguments.file:
            continue
        text = (folder / entry["file"]).read_text(encoding="utf-8")
        if given and not arguments.file and not markers_of([text], given.get("recognise", {})):
            continue
        started = time.perf_counter()
        renderer = ChatRenderer(text, bos_token=entry["bos"], eos_token=entry["eos"])
        if template is not None:
            family, proven, reason = str((given or {}).get("name", arguments.template.stem)), False, "given"
            response_template: Any = template
        else:
            match = find_template(renderer)
            family = match.entry.name if match else ""
            proven, reason = (match.proven, match.reason) if match else (False, "not recognised")
            response_template = ResponseTemplate.load(match.response_template) if match else None
        report = check_format(ChatFormat(renderer), response_template) if response_template else None
        yield Row(entry["file"], int(entry["n_models"]), family, proven, reason, report, time.perf_counter() - started)


def _print_row(row: Row, arguments: argparse.Namespace) -> None:
    rendered, passed = (len(row.report.rendered), len(row.report.passed)) if row.report else (0, 0)
    state = "WRONG, BUT PROVEN" if row.wrong else "proven" if row.proven else ""
    print(f"\n=== {row.file}: {row.family or 'no family'} {passed}/{rendered} {state} ({row.reason})")
    if row.report is None:
        return
    if not arguments.failures:
        table, _, _ = str(row.report).partition("\n\n")
        print(table)
        return
    for case in row.report.failures:
        if arguments.case and arguments.case not in case.name:
            continue
        print(f"--- {case.name}: {case.detail}")
        print(f"    prompt   …{case.prompt[-100:]!r}")
        print(f"    reply    {case.reply!r}")
        print(f"    expected {json.dumps(case.expected, ensure_ascii=False)}")
        print(f"    message  {json.dumps(case.message, ensure_ascii=False)}")
        for note in case.notes:
            print(f"    note     {note}")


class Total:
    """Sums over some rows."""

    def __init__(self, name: str, rows: list[Row]) -> None:
        self.name = name
        reports = [row.report for row in rows if row.report is not None]
        self.templates = len(rows)
        self.proven = sum(row.proven for row in rows)
        self.repositories = sum(row.repositories for row in rows)
        self.rendered = sum(len(report.rendered) for report in reports)
        self.passed = sum(len(report.passed) for report in reports)
        self.share = 100 * self.passed / self.rendered if self.rendered else 100.0
        self.percent = f"{self.share:.1f}" if self.rendered else "–"


def _totals(rows: list[Row]) -> list[Total]:
    """Of each family, those without one first, and of all."""
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.family or "(none)"].append(row)
    return [*(Total(family, families[family]) for family in sorted(families)), Total("all", rows)]


def _print_table(rows: list[Row]) -> None:
    print(f"\n{'family':<24} templates proven  repositories  rendered  passed      %")
    for total in _totals(rows):
        print(
            f"{total.name:<24} {total.templates:9d} {total.proven:6d}  {total.repositories:12d}  {total.rendered:8d}  "
            f"{total.passed:6d} {total.percent:>6}"
        )
    found = [row for row in rows if row.report is not None]
    if found:
        times = sorted(row.seconds for row in rows)
        print(f"\nrecognised: {len(found)} of {len(rows)}; median {times[len(times) // 2]:.2f} s a chat template")
    wrong = [row for row in rows if row.wrong]
    for row in wrong:
        names = ", ".join(case.name for case in row.report.failures) if row.report else ""
        print(f"!!! WRONG TEMPLATE RETURNED AS PROVEN: {row.file}: {row.family}: {names}")
    if not wrong:
        print("no wrong template was returned as proven")


def _markdown(rows: list[Row]) -> str:
    lines = ["| family | chat templates | proven | cases rendered | passed | % |", "|---|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {total.name} | {total.templates} | {total.proven} | {total.rendered} | {total.passed} | {total.percent} |"
        for total in _totals(rows)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
