# SPDX-License-Identifier: Apache-2.0
"""Put what `python -m benchmarks --json benchmarks/results.json` measured into docs/performance.md.

    python scripts/performance_page.py benchmarks/results.json docs/performance.md

The table stands between `<!-- measured -->` and `<!-- /measured -->`; scripts/plot_benchmarks.py draws the pictures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import marked_blocks

_UNITS = {"us": 1e6, "ms": 1e3, "s": 1.0}


def page(results: dict[str, Any]) -> str:
    """The block: what it was measured on, and a table."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {machine['packages'][name]}" for name in ("transformers", "tokenizers", "regex"))
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, {machine['python']}, {versions}; {machine['date']}.",
        "",
        "| what | size | here | transformers | times faster | growth here (there) | wanted |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in results["rows"]:
        lines += _lines(row)
    return "\n".join(lines) + "\n"


def _lines(row: dict[str, Any]) -> Iterator[str]:
    name = f"`{row['name']}` {row['title']}"
    points = row["points"]
    for index, point in enumerate(points):
        last = index == len(points) - 1
        native = point["ratios"].get("native")
        cells = [
            name if not index else "",
            f"{point['size']:,}",
            _time(point, "ours", row["unit"]),
            _time(point, "native", row["unit"]) or ("too slow" if point["left_out"] else ""),
            f"{native:.3g}" if native else "",
            _growth(row["exponents"]) if last else "",
            _wanted(row, point["size"], last),
        ]
        yield f"| {' | '.join(cells)} |"
    for what, value in row["values"].items():
        yield f"| {'' if points else name} {what} | | {value:,.4g} | | | | |"
        name = ""
    if not points:
        yield from (f"| | | | | | | {_target(target)} |" for target in row["targets"])


def _time(point: dict[str, Any], who: str, unit: str) -> str:
    seconds = point["seconds"].get(who)
    if seconds is None:
        return ""
    scale, _, per = unit.partition("/")
    return f"{seconds / point['count'] * _UNITS[scale]:.3g} {scale}{'/' + per if per else ''}"


def _growth(exponents: dict[str, float]) -> str:
    ours, native = exponents.get("ours"), exponents.get("native")
    return "" if ours is None else f"{ours:.2f}" + ("" if native is None else f" ({native:.2f})")


def _wanted(row: dict[str, Any], size: int, last: bool) -> str:
    """The targets that belong to this size, and with the last one those that belong to none."""
    sizes = {f"{point['size']:,}" for point in row["points"]}
    found = []
    for target in row["targets"]:
        at = next((text for text in sizes if text in target["what"].split()), None)
        if at == f"{size:,}" or (at is None and last and target["value"] is not None):
            found.append(_target(target, named=at is None))
    return ", ".join(found)


def _target(target: dict[str, Any], named: bool = True) -> str:
    bound = f"{'≥' if target['at_least'] else '≤'} {target['bound']:g}"
    text = f"{target['what']} {bound}" if named else bound
    if target["met"] is None:
        return f"{text} (not measured)"
    return text if target["met"] else f"**{text}: {target['value']:.3g}**"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    arguments = parser.parse_args(argv)
    results = json.loads(arguments.results.read_text(encoding="utf-8"))
    marked_blocks.write(arguments.page, "measured", page(results))
    missed = [row["name"] for row in results["rows"] if any(target["met"] is False for target in row["targets"])]
    print(f"{len(results['rows'])} rows; below what is wanted: {', '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
