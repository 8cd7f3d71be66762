# SPDX-License-Identifier: Apache-2.0
"""Draw what `python -m benchmarks --json FILE` measured, for docs/performance.md. Needs matplotlib.

python scripts/plot_benchmarks.py benchmarks/results.json docs/img
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OURS, NATIVE, FLOOR = "#0b6e99", "#d9730d", "#7a7a7a"
Row = dict[str, Any]

STREAMS = (
    ("stream.reasoning.smollm3", "Reasoning in an open region"),
    ("stream.reasoning.emoji", "The same with one emoji in it"),
    ("stream.code.smollm3", "Code full of “<”, three delimiters watched"),
    ("stream.patterns.qwen3_5_code", "Code, patterns that lead with \\s*"),
    ("stream.patterns.gpt_oss_calls", "gpt-oss: one short call after the other"),
    ("ids.byte_level.decoder", "Token ids to events"),
)
ONE_SHOTS = (
    ("one_shot.reasoning.smollm3", "Reasoning", "tokens"),
    ("one_shot.argument.tag", "One argument in a tag", "characters"),
    ("one_shot.calls.smollm3", "Parallel calls", "calls"),
)
HARD = (
    ("hard.inkling.reasoning", "[^<]* leads, one-shot", "characters"),
    ("hard.qwen3_5.prose", "\\s* leads, one-shot", "characters"),
    ("hard.calls.smollm3", "Parallel calls, one-shot", "calls"),
    ("hard.gemma4.strings", "Strings with own delimiters", "strings"),
    ("hard.lookahead.open", "Open looks ahead, streaming", "characters"),
    ("hard.tags.spaces", "Spaces after an unclosed tag", "characters"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the JSON file")
    parser.add_argument("folder", type=Path, help="where the images go")
    options = parser.parse_args(arguments)
    try:
        import matplotlib as mpl
    except ImportError:
        print("needs matplotlib: pip install matplotlib", file=sys.stderr)
        return 1
    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10.5,
            "axes.titlelocation": "left",
            "axes.edgecolor": "#999999",
            "grid.color": "#e4e4e4",
            "legend.frameon": False,
            "savefig.dpi": 130,
        }
    )
    rows = {row["name"]: row for row in json.loads(options.results.read_text(encoding="utf-8"))["rows"]}
    options.folder.mkdir(parents=True, exist_ok=True)
    per_chunk(rows, options.folder / "per_chunk.png")
    one_shot(rows, options.folder / "one_shot.png")
    growth(rows, options.folder / "growth.png")
    return 0


def grid(count: int, columns: int, height: float) -> tuple[Any, list[Any]]:
    """A figure and its axes, row by row."""
    import matplotlib.pyplot as plt

    lines = -(-count // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3.7 * columns, height * lines), squeeze=False)
    flat = [axis for line in axes for axis in line]
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat


def curve(axis: Any, row: Row, who: str, color: str, each: bool, scale: float) -> float | None:
    """Draw one line; its last value."""
    points = [(point["size"], point["seconds"].get(who), point["count"]) for point in row["points"]]
    xs = [size for size, seconds, _ in points if seconds]
    ys = [seconds / (count if each else 1) * scale for _, seconds, count in points if seconds]
    if not ys:
        return None
    style = "--" if who == "floor" else "-"
    axis.plot(xs, ys, style, color=color, marker="" if who == "floor" else "o", markersize=4, linewidth=1.8)
    return float(ys[-1])


def finish(figure: Any, path: Path, title: str, names: Sequence[tuple[str, str]]) -> None:
    """Title and legend above, then write the file."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, linewidth=2.4) for _, color in names]
    height = figure.get_figheight()
    figure.suptitle(title, x=0.01, y=1 - 0.06 / height, ha="left", va="top", fontsize=12.5, fontweight="bold")
    figure.legend(
        handles,
        [name for name, _ in names],
        loc="upper left",
        bbox_to_anchor=(0.003, 1 - 0.3 / height),
        ncols=len(names),
        handlelength=1.4,
    )
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.55 / height), h_pad=1.6, w_pad=1.2)
    figure.savefig(path)
    plt.close(figure)
    print(path)


def log_sizes(axis: Any, rows: Sequence[Row], unit: str) -> None:
    """A logarithmic axis with the measured sizes as its only ticks."""
    sizes = sorted({point["size"] for row in rows for point in row["points"]})
    shown = sizes if len(sizes) <= 5 else sizes[::2]
    axis.set_xscale("log")
    axis.set_xticks(shown, [short(size) for size in shown])
    axis.minorticks_off()
    axis.set_xlabel(unit)
    axis.grid(True)


def short(size: float) -> str:
    """2,000 as 2k."""
    for bound, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= bound:
            return f"{size / bound:.3g}{letter}"
    return f"{size:g}"


def per_chunk(rows: dict[str, Row], path: Path) -> None:
    """Microseconds for a token-sized chunk against the length of the text."""
    wanted = [(rows[name], title) for name, title in STREAMS if name in rows]
    figure, axes = grid(len(wanted), 3, 2.55)
    for axis, (row, title) in zip(axes, wanted, strict=False):
        ours = curve(axis, row, "ours", OURS, True, 1e6)
        native = curve(axis, row, "native", NATIVE, True, 1e6)
        axis.set_yscale("log")
        axis.set_ylim(0.1, 150)
        axis.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        log_sizes(axis, [row], "tokens")
        axis.set_title(title)
        note(axis, row, ours, native)
    for axis in axes[::3]:
        axis.set_ylabel("µs for a chunk")
    finish(figure, path, "Streaming: what one chunk of 3 to 4 characters costs", names())


def note(axis: Any, row: Row, ours: float | None, native: float | None) -> None:
    """The ratio at the largest size that both were measured at."""
    both = [point for point in row["points"] if "native" in point["ratios"]]
    if both and ours and native:
        point = both[-1]
        text = f"×{point['ratios']['native']:,.0f} at {short(point['size'])}"
        axis.annotate(text, (0.97, 0.94), xycoords="axes fraction", ha="right", va="top", color="#333333", fontsize=9.5)


def names() -> list[tuple[str, str]]:
    return [("this package", OURS), ("transformers' own parser", NATIVE)]


def one_shot(rows: dict[str, Row], path: Path) -> None:
    """Milliseconds for a whole text."""
    wanted = [(rows[name], title, unit) for name, title, unit in ONE_SHOTS if name in rows]
    figure, axes = grid(len(wanted), 3, 2.7)
    _growing(axes, wanted)
    finish(figure, path, "One-shot: a whole text, the template given as a dict", names())


def growth(rows: dict[str, Row], path: Path) -> None:
    """The inputs on which the native parser is quadratic or worse."""
    wanted = [(rows[name], title, unit) for name, title, unit in HARD if name in rows]
    figure, axes = grid(len(wanted), 3, 2.55)
    _growing(axes, wanted)
    finish(figure, path, "Growth, where the native parser is quadratic or worse", names())


def _growing(axes: list[Any], wanted: Sequence[tuple[Row, str, str]]) -> None:
    for axis, (row, title, unit) in zip(axes, wanted, strict=False):
        ours = curve(axis, row, "ours", OURS, False, 1e3)
        native = curve(axis, row, "native", NATIVE, False, 1e3)
        axis.set_yscale("log")
        log_sizes(axis, [row], unit)
        axis.set_title(title)
        exponents = row["exponents"]
        told = [
            f"{who} n^{exponents[key]:.2f}" for who, key in (("ours", "ours"), ("native", "native")) if key in exponents
        ]
        if ours and native:
            axis.annotate(
                "\n".join(told),
                (0.04, 0.95),
                xycoords="axes fraction",
                ha="left",
                va="top",
                color="#333333",
                fontsize=9,
            )
    for axis in axes[::3]:
        axis.set_ylabel("ms")


if __name__ == "__main__":
    sys.exit(main())
