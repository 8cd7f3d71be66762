# SPDX-License-Identifier: Apache-2.0
"""How things are measured: interleaved runs in one process, medians, ratios of neighbours, exponents of growth."""

from __future__ import annotations

import gc
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Measured", "Point", "Row", "Settings", "Target", "Timed", "exponent", "interleave", "memory_of", "per_call"]
__all__ += ["clock", "stopwatch", "sweep"]

# CPU time of this thread, where the system counts it finely: what other programs do meanwhile is no part of it.
clock: Callable[[], float] = (
    time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter
)
Timed = Callable[[], float]
"""Does the work once and returns the seconds it took; what it needs is made outside of the time."""


_WARM_UP = 0.25  # seconds


@dataclass(frozen=True)
class Settings:
    """How much to measure.

    Attributes:
        size: "full", "quick" (under a minute in all) or "tiny" (that the harness works; its numbers mean nothing).
        rounds: interleaved runs of each; the median counts.
        budget: seconds after which no further round of a point is begun.
        patience: seconds that one run of the native parser may take, by prediction; where it would take longer, it is
            left out and the table says so.
    """

    size: str = "full"
    rounds: int = 7
    budget: float = 5.0
    patience: float = 25.0

    def pick(self, full: Any, quick: Any, tiny: Any) -> Any:
        """The value for this size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]


QUICK = Settings("quick", rounds=5, budget=0.35, patience=0.4)
TINY = Settings("tiny", rounds=1, budget=0.02, patience=0.05)


@dataclass
class Point:
    """One size.

    Attributes:
        size: what the row counts (tokens, characters, calls).
        count: how many units (chunks, calls of the function) the seconds are for.
        seconds: median for "ours", "native", "floor", as far as they were measured.
        ratios: for "native" and "floor": theirs to ours, the median over neighbouring runs.
        left_out: seconds that the native parser would take, by prediction, if it was left out for that.
    """

    size: int
    count: int
    seconds: dict[str, float]
    ratios: dict[str, float] = field(default_factory=dict)
    left_out: float | None = None


@dataclass
class Target:
    """What was asked for, and what came out; `value` is None if it was not measured in this run."""

    what: str
    bound: float
    at_least: bool
    value: float | None = None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass
class Row:
    """One thing measured at several sizes.

    Attributes:
        name: dotted, for `--only`.
        title: what is measured, in words.
        unit: "us/chunk", "us", "ms", "bytes/char", ...: how the table shows the points.
        points: by size.
        targets: of the issue that asked for this.
        note: what a reader must know.
        values: numbers that are no times (memory).
        details: numbers too many for the table (one for each family of the library).
    """

    name: str
    title: str
    unit: str
    points: list[Point]
    targets: list[Target] = field(default_factory=list)
    note: str = ""
    values: dict[str, float] = field(default_factory=dict)
    details: dict[str, float] = field(default_factory=dict)

    def exponent(self, who: str = "ours") -> float | None:
        """Exponent of growth over all sizes, if there are at least four."""
        known = [(point.size, point.seconds[who]) for point in self.points if point.seconds.get(who)]
        return exponent(known) if len(known) >= 4 else None

    def ratio_at(self, size: int, who: str = "native") -> float | None:
        return next((point.ratios.get(who) for point in self.points if point.size == size), None)


@dataclass(frozen=True)
class Measured:
    """What to run at one size: `count` units of work by each."""

    count: int
    runs: Mapping[str, Timed]


def exponent(known: Sequence[tuple[float, float]]) -> float:
    """Slope of log(seconds) over log(size), by least squares."""
    points = [(math.log(size), math.log(seconds)) for size, seconds in known]
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


@contextmanager
def no_collection() -> Iterator[None]:
    """As `timeit` does: garbage is collected before, not within."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def interleave(runs: Mapping[str, Timed], settings: Settings) -> dict[str, list[float]]:
    """Seconds of each round: a, b, a, b, ... so that a slow moment of the machine meets all of them.

    A first round that was short is not counted: templates are compiled, and tables built, at their first use, which is
    measured on its own (`load`).
    """
    found: dict[str, list[float]] = {name: [] for name in runs}
    with no_collection():
        begun = time.perf_counter()
        first = {name: run() for name, run in runs.items()}
        if sum(first.values()) > _WARM_UP:
            for name, seconds in first.items():
                found[name].append(seconds)
        while all(len(times) < settings.rounds for times in found.values()):
            if all(found.values()) and time.perf_counter() - begun > settings.budget:
                break
            for name, run in runs.items():
                found[name].append(run())
    return found


def point(size: int, measured: Measured, settings: Settings) -> Point:
    """Measure one size."""
    found = interleave(measured.runs, settings)
    ours = found["ours"]
    ratios = {
        name: statistics.median(theirs / own for theirs, own in zip(times, ours, strict=True))
        for name, times in found.items()
        if name != "ours"
    }
    return Point(size, measured.count, {name: statistics.median(times) for name, times in found.items()}, ratios)


def sweep(settings: Settings, sizes: Sequence[int], prepare: Callable[[int], Measured]) -> list[Point]:
    """Measure all sizes, smallest first; the native parser as far as patience goes."""
    points: list[Point] = []
    for size in sizes:
        measured = prepare(size)
        predicted = _predict(points, size)
        if predicted is not None and predicted > settings.patience and "native" in measured.runs:
            runs = {name: run for name, run in measured.runs.items() if name != "native"}
            points.append(point(size, Measured(measured.count, runs), settings))
            points[-1].left_out = predicted
        else:
            points.append(point(size, measured, settings))
    return points


def _predict(points: Sequence[Point], size: int) -> float | None:
    """Seconds for the native parser, from how it grew so far (at least linearly)."""
    known = [(point.size, point.seconds["native"]) for point in points if "native" in point.seconds]
    if not known:
        return None
    last_size, last = known[-1]
    slope = exponent(known[-2:]) if len(known) > 1 else 2.0
    return float(last * (size / last_size) ** max(1.0, slope))


def per_call(function: Callable[[], Any], least: float = 0.01) -> tuple[Timed, int]:
    """A run of as many calls as take `least` seconds, and their number; the run's seconds are for one call."""
    loops = 1
    function()  # the first use of a template is measured on its own (`load`)
    while True:
        begun = clock()
        for _ in range(loops):
            function()
        took = clock() - begun
        if took >= least / 2:
            break
        loops = max(loops * 2, math.ceil(loops * least / max(took, 1e-7) / 2))

    def run() -> float:
        repeats = range(loops)
        begun = clock()
        for _ in repeats:
            function()
        return (clock() - begun) / loops

    return run, loops


def stopwatch(function: Callable[[], Any], now: Callable[[], float] = clock) -> Timed:
    """A run of one call."""

    def run() -> float:
        begun = now()
        function()
        return now() - begun

    return run


def memory_of(function: Callable[[], Any]) -> tuple[Any, int, int]:
    """What the function returns; bytes that are still held while its result is; the peak above the beginning."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = function()
        gc.collect()
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, now - before, peak - before
