# SPDX-License-Identifier: Apache-2.0
"""Rows as a table for people and as JSON for scripts."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from .measure import Point, Row, Settings, Target

__all__ = ["as_json", "brief", "machine", "table"]

_SCALE = {"us": 1e6, "ms": 1e3, "s": 1.0}


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    import os

    packages = {}
    for name in ("transformers", "regex", "tokenizers", "transformers-response-parsing"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = "not installed"
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(value, 1) for value in load],
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
        "packages": packages,
    }


def _processor() -> str:
    if sys.platform == "linux":
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123 - not a file of anybody's
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def as_json(rows: Iterable[Row], settings: Settings) -> dict[str, Any]:
    """Everything measured, with what follows from it spelled out."""
    return {"machine": machine(), "settings": asdict(settings), "rows": [_row(row) for row in rows]}


def _row(row: Row) -> dict[str, Any]:
    exponents = {who: row.exponent(who) for who in ("ours", "native", "floor")}
    return {
        "name": row.name,
        "title": row.title,
        "unit": row.unit,
        "points": [_rounded(asdict(point)) for point in row.points],
        "exponents": _rounded({who: value for who, value in exponents.items() if value is not None}),
        "values": _rounded(row.values),
        "details": _rounded(row.details),
        "targets": [_rounded({**asdict(target), "met": target.met}) for target in row.targets],
        "note": row.note,
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


_HEAD = ("what", "size", "ours", "native", "ratio", "growth", "target", "")


def table(rows: Sequence[Row]) -> str:
    """All rows, one line a size; targets stand beside the sizes they are for, the others below."""
    lines: list[tuple[str, ...]] = [_HEAD]
    for row in rows:
        lines += _lines(row)
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    right = {1, 2, 3, 4}
    out = []
    for number, line in enumerate(lines):
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(cells).rstrip())
        if not number:
            out.append("  ".join("-" * width for width in widths))
    return "\n".join(out)


def brief(row: Row) -> str:
    """One line while the others are still being measured."""
    ratios = " ".join(f"{point.size:,}: {_ratio(point)}" for point in row.points if "native" in point.ratios)
    missed = [f"{target.what} {target.value:.3g} ({_wanted(target)})" for target in row.targets if target.met is False]
    return f"{row.name}  {ratios}  {_growth(row)}  {'BELOW: ' + ', '.join(missed) if missed else ''}".rstrip()


def _lines(row: Row) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    left = list(row.targets)
    for index, point in enumerate(row.points):
        mine = [target for target in left if target.at_least and _is_for(target, point, row)]
        left = [target for target in left if target not in mine]
        growth = _growth(row) if index == len(row.points) - 1 else ""
        if index == len(row.points) - 1:
            mine += [target for target in left if target.what == "exponent" and target.value is not None]
            left = [target for target in left if target not in mine]
        lines.append(
            (
                f"{row.name} ({row.unit})" if not index else "",
                f"{point.size:,}",
                _time(point, "ours", row.unit),
                _native(point, row.unit),
                _ratio(point),
                growth,
                ", ".join(map(_wanted, mine)),
                _verdict(mine),
            )
        )
    for name, value in row.values.items():
        lines.append(
            (f"{row.name}: {name}" if not row.points else f"  {name}", "", f"{value:,.4g}", "", "", "", "", "")
        )
    for target in left:
        shown = "not in this run" if target.value is None else f"{target.value:.3g}"
        name = "" if row.points or row.values else row.name
        lines.append((name, target.what, shown, "", "", "", _wanted(target), _verdict([target])))
    if row.note:
        lines.append((f"  {row.note}", *[""] * 7))
    return lines


def _is_for(target: Target, point: Point, row: Row) -> bool:
    return f"{point.size:,}" in target.what.split() or (len(row.points) == 1 and target.what == "ratio")


def _time(point: Point, who: str, unit: str) -> str:
    seconds = point.seconds.get(who)
    if seconds is None:
        return ""
    scale, _, each = unit.partition("/")
    value = seconds / (point.count if each else 1) * _SCALE[scale]
    return f"{value:,.3f}" if value < 10 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def _native(point: Point, unit: str) -> str:
    if point.left_out is not None:
        return f"(> {point.left_out:,.0f} s)" if point.left_out >= 1 else f"(> {point.left_out * 1e3:,.0f} ms)"
    text = _time(point, "native", unit)
    floor = _time(point, "floor", unit)
    return f"{text} (floor {floor})" if floor else text


def _ratio(point: Point) -> str:
    ratio = point.ratios.get("native")
    return "" if ratio is None else f"x{ratio:.1f}" if ratio < 100 else f"x{ratio:,.0f}"


def _growth(row: Row) -> str:
    ours, native = row.exponent(), row.exponent("native")
    text = "" if ours is None else f"{ours:.2f}"
    return text if native is None else f"{text} (native {native:.2f})"


def _wanted(target: Target) -> str:
    sign = ">= x" if target.at_least else "exponent <= " if target.what == "exponent" else "<= x"
    return f"{sign}{target.bound:g}"


def _verdict(targets: Sequence[Target]) -> str:
    verdicts = [target.met for target in targets]
    if not verdicts:
        return ""
    if False in verdicts:
        return "BELOW"
    return "met" if all(verdicts) else "not run"
