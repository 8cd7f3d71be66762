# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks`: run, print the table, write the JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from . import library, memory, one_shot, streaming, tokens
from .measure import QUICK, TINY, Row, Settings
from .parsers import native_module
from .registry import Case
from .report import as_json, brief, table

__all__ = ["CASES", "main", "run"]

CASES: list[Case] = [*streaming.CASES, *one_shot.CASES, *tokens.CASES, *library.CASES, *memory.CASES]


def each_row(settings: Settings, only: Sequence[str] = (), progress: bool = False) -> Iterator[Row]:
    """The rows of the cases that one of `only` names, as a beginning of the dotted name (of all, if there is none)."""
    for case in CASES:
        if only and not any(_names(case.name, part) for part in only):
            continue
        for row in case.run(settings):
            if progress:
                print(brief(row), file=sys.stderr, flush=True)
            yield row


def run(settings: Settings, only: Sequence[str] = (), progress: bool = False) -> list[Row]:
    """All of `each_row`."""
    return list(each_row(settings, only, progress))


def _names(case: str, part: str) -> bool:
    """A part may also be a row's name, which is longer than its case's."""
    return f"{case}.".startswith(f"{part}.") or f"{part}.".startswith(f"{case}.")


def below(rows: Iterable[Row]) -> list[str]:
    """What misses its target, one line each."""
    return [
        f"{row.name}, {target.what}: {target.value:.3g}, wanted {'at least' if target.at_least else 'at most'} {target.bound:g}"
        for row in rows
        for target in row.targets
        if target.met is False
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute")
    parser.add_argument("--tiny", action="store_true", help="only that everything runs; the numbers mean nothing")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only these: a beginning of the name, up to a dot"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="for each size (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to this file")
    parser.add_argument("--list", action="store_true", help="the names of the cases")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(case.name for case in CASES))
        return 0
    settings = TINY if options.tiny else QUICK if options.quick else Settings()
    if options.seconds is not None:
        settings = replace(settings, budget=options.seconds)
    if native_module() is None:
        print("transformers 5.13 or later is not installed: nothing to compare with", file=sys.stderr)
    rows: list[Row] = []
    for row in each_row(settings, options.only, progress=True):
        rows.append(row)
        if options.json:  # after each, so that a run that is stopped has not been for nothing
            options.json.write_text(json.dumps(as_json(rows, settings), indent=1) + "\n", encoding="utf-8")
    if not rows:
        parser.error("no case has such a name; see --list")
    print(table(rows))
    missed = below(rows)
    print(f"\n{len(missed)} below target" + "".join(f"\n  {line}" for line in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
