# SPDX-License-Identifier: Apache-2.0
"""Has anything become much slower? `python -m benchmarks.check`, for continuous integration.

Runs a few of the benchmarks at small sizes and compares how many times faster than the native parser of the same process
they are with what is committed in baseline.json. Ratios, not times: a slow machine is slow for both. Fails (exit code 1)
only if a ratio has fallen to less than half, twice in a row; 2: there is nothing to compare with.

    python -m benchmarks.check --update     # after a change that is meant: write the baseline anew
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .__main__ import run
from .measure import Row, Settings
from .parsers import native_module

__all__ = ["compare", "main", "ratios"]

BASELINE = Path(__file__).with_name("baseline.json")
# One of each kind of work; those whose small sizes say little are left out.
CASES = (
    "stream.floor",
    "stream.reasoning.smollm3",
    "stream.reasoning.gpt_oss",
    "stream.code.smollm3",
    "stream.code.gemma4",
    "stream.patterns.qwen3_5_code",
    "stream.patterns.inkling_reasoning",
    "stream.patterns.gpt_oss_calls",
    "stream.argument.json",
    "stream.argument.tag",
    "one_shot",
    "hard.calls.smollm3",
    "hard.gemma4.strings",
    "batch",
    "ids",
)
_SETTINGS = Settings("quick", rounds=9, budget=1.0, patience=1.0)
_WORST_DROP = 0.5

Ratios = dict[str, dict[str, float]]


def ratios(rows: Sequence[Row]) -> Ratios:
    """Name of the row -> size -> times faster than native (or than the floor, where there is one)."""
    found: Ratios = {}
    for row in rows:
        for point in row.points:
            value = point.ratios.get("floor", point.ratios.get("native"))
            if value is not None:
                found.setdefault(row.name, {})[str(point.size)] = float(f"{value:.3g}")
    return found


def compare(measured: Ratios, baseline: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What has fallen to less than half of the baseline, or was not measured at all, one line each."""
    problems = []
    for name, sizes in baseline.items():
        for size, before in sizes.items():
            now = measured.get(name, {}).get(size)
            if now is None:
                problems.append(f"{name} at {size}: not measured; if it was renamed or removed, run with --update")
            elif now < before * _WORST_DROP:
                problems.append(f"{name} at {size}: x{now:g}, was x{before:g}")
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write the baseline instead of comparing with it")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="the baseline's file")
    options = parser.parse_args(arguments)
    if native_module() is None:
        print("needs transformers 5.13 or later, to compare with its parser", file=sys.stderr)
        return 2
    measured = ratios(run(_SETTINGS, CASES, progress=True))
    if options.update:
        options.baseline.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
        print(f"{options.baseline}: {len(measured)} rows")
        return 0
    baseline = json.loads(options.baseline.read_text(encoding="utf-8"))
    problems = compare(measured, baseline)
    if problems:
        print("slower than the baseline; measuring these again:\n  " + "\n  ".join(problems))
        names = sorted({problem.partition(" at ")[0] for problem in problems})
        again = ratios(run(_SETTINGS, names, progress=True))
        problems = compare(again, {name: baseline[name] for name in names})
    if problems:
        print("less than half as fast as before, twice:\n  " + "\n  ".join(problems))
        return 1
    print(f"{sum(map(len, baseline.values()))} ratios, none below half of the baseline")
    return 0


if __name__ == "__main__":
    sys.exit(main())
