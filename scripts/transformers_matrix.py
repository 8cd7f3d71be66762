# SPDX-License-Identifier: Apache-2.0
"""Run the plugin's tests with several versions of transformers, each in an environment of its own.

    python scripts/transformers_matrix.py                          # the default set, a few minutes
    python scripts/transformers_matrix.py --versions all
    python scripts/transformers_matrix.py --versions oldest,5.13,newest --no-torch
    python scripts/transformers_matrix.py --versions 5.21.1 -- -k streamer -x

Environments are kept in $TRP_MATRIX_CACHE (default: ~/.cache/transformers-response-parsing-matrix) and made anew only when
what belongs in them changes. The package itself is built and installed from this work tree on every run, so that what is
tested is what users get. torch is installed with pip, at a pinned version, so that no resolver picks a build of several
gigabytes. Ends with a table; the exit code is 0 if every version passed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.11"  # the oldest that the newest transformers runs on
VERSIONS = ("4.57.6", "5.0.0", "5.6.0", "5.12.0", "5.13.0", "5.15.1", "5.24.0")
# First and last, and both sides of where transformers itself learned response templates. Only these get torch: it is most
# of an environment, and the tests that need it differ little between neighbours.
DEFAULT = ("4.57.6", "5.12.0", "5.13.0", "5.24.0")
TORCH = "torch==2.13.0"
TESTS_NEED = (
    "pytest>=8",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "numpy>=1.24",
    "jinja2>=3.1",
    "regex",
    "mistral-common>=1.10",  # older ones suit no 5.x from 5.6 on
)
TORCH_TESTS_NEED = ("accelerate", "gguf")
EXIT_NO_TESTS = 5


class Outcome(NamedTuple):
    """What one version gave; `problem` where it did not come to tests."""

    version: str
    torch: bool
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def good(self) -> bool:
        return not self.problem and not self.failed and self.passed > 0


class SetupError(Exception):
    """The environment could not be made."""


def chosen_versions(names: str) -> list[str]:
    """Exact versions for a list like `oldest,5.12,newest`, `all` or `default`, without repetition."""
    if names in ("all", "default", "none"):
        return list({"all": VERSIONS, "default": DEFAULT, "none": ()}[names])
    chosen: dict[str, None] = {}
    for name in filter(None, (part.strip() for part in names.split(","))):
        known = {"oldest": VERSIONS[0], "newest": VERSIONS[-1]}.get(name)
        series = [version for version in VERSIONS if version == name or version.startswith(f"{name}.")]
        if known is None and not series and name.count(".") != 2:
            raise SystemExit(
                f"unknown version {name!r}: use oldest, newest, all, an exact version, or one of {VERSIONS}"
            )
        chosen[known or (series[0] if series else name)] = None
    return list(chosen)


def run(command: Sequence[str], log: Path, **environment: str) -> int:
    """Run a command, its output appended to `log`; its exit code."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"\n$ {' '.join(command)}\n")
        file.flush()
        env = {**os.environ, **environment}
        return subprocess.run(command, cwd=ROOT, env=env, stdout=file, stderr=subprocess.STDOUT, check=False).returncode


def must(command: Sequence[str], log: Path, **environment: str) -> None:
    """Run a command that has to succeed. Raises SetupError."""
    if run(command, log, **environment) != 0:
        raise SetupError(f"`{' '.join(command[:4])} …` failed, see {log}")


def prepare(version: str, with_torch: bool, cache: Path, log: Path) -> Path:
    """Make the version's environment, or take the one that is there; install the package into it."""
    needs = [f"transformers=={version}", *TESTS_NEED, *(TORCH_TESTS_NEED if with_torch else ())]
    recipe = hashlib.sha256("\n".join([PYTHON, *needs, TORCH if with_torch else ""]).encode()).hexdigest()[:16]
    folder = cache / f"{version}{'' if with_torch else '-no-torch'}"
    python = folder / "bin" / "python"
    done = folder / "recipe"
    uv = ["uv", "pip", "install", "--quiet", "--python", str(python)]
    if not (done.is_file() and done.read_text(encoding="utf-8") == recipe):
        shutil.rmtree(folder, ignore_errors=True)
        must(["uv", "venv", "--quiet", "--python", PYTHON, str(folder)], log)
        if with_torch:
            # Before everything else: whatever wants torch then finds it there, and the constraint lets nothing replace it.
            must([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", TORCH], log)
            constraint = folder / "constraint.txt"
            constraint.write_text(TORCH + "\n", encoding="utf-8")
            must([*uv, "--constraint", str(constraint), *needs], log)
        else:
            must([*uv, *needs], log)
        done.write_text(recipe, encoding="utf-8")
    must([*uv, "--no-deps", "--reinstall-package", "transformers-response-parsing", str(ROOT)], log)
    return python


def test(version: str, options: argparse.Namespace, cores: int) -> Outcome:
    """Prepare and test one version."""
    began = time.monotonic()
    with_torch = version in DEFAULT and not options.no_torch
    log = options.cache / f"{version}.log"
    log.write_text("", encoding="utf-8")
    try:
        python = prepare(version, with_torch, options.cache, log)
    except SetupError as error:
        return Outcome(version, with_torch, problem=str(error))
    report = options.cache / f"{version}.xml"
    report.unlink(missing_ok=True)
    marks = [] if version in chosen_versions(options.model_versions) else ["-m", "not model"]
    if options.smoke:
        marks = ["-m", "not model and not assets"]
    # Not `python -m pytest`: that would put the work tree in front of the installed package.
    command = [str(python.with_name("pytest")), "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *marks]
    code = run([*command, *(options.pytest or []), *options.tests], log, OMP_NUM_THREADS=str(cores), CI="true")
    outcome = counts(version, with_torch, report, time.monotonic() - began)
    if not outcome.problem and not outcome.failed and code not in (0, EXIT_NO_TESTS):
        return outcome._replace(problem=f"pytest ended with {code}, see {log}")
    return outcome


def counts(version: str, with_torch: bool, report: Path, seconds: float) -> Outcome:
    """Read pytest's report."""
    if not report.is_file():
        return Outcome(
            version, with_torch, seconds=seconds, problem=f"no test report, see {report.with_suffix('.log')}"
        )
    suite = ET.parse(report).getroot().find("testsuite")  # noqa: S314 -- pytest wrote it just now
    number = (
        {} if suite is None else {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
    )
    failed = number.get("failures", 0) + number.get("errors", 0)
    skipped = number.get("skipped", 0)
    passed = number.get("tests", 0) - failed - skipped
    return Outcome(version, with_torch, passed, failed, skipped, seconds)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes, one a line, and a closing line with the sums."""
    lines = [f"{'transformers':<13}{'torch':<7}{'passed':>7}{'failed':>7}{'skipped':>8}{'seconds':>8}"]
    for one in outcomes:
        row = f"{one.version:<13}{'yes' if one.torch else 'no':<7}{one.passed:>7}{one.failed:>7}{one.skipped:>8}{one.seconds:>8.0f}"
        lines.append(f"{row}  {one.problem}".rstrip())
    sums = [sum(getattr(one, key) for one in outcomes) for key in ("passed", "failed", "skipped")]
    return "\n".join([*lines, "", "{} passed, {} failed, {} skipped".format(*sums)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Test the versions asked for, print the table; 0 if all is well."""
    parser = argparse.ArgumentParser(description="Run the plugin's tests with several versions of transformers.")
    cache = os.environ.get("TRP_MATRIX_CACHE") or Path.home() / ".cache" / "transformers-response-parsing-matrix"
    parser.add_argument(
        "--versions", default="default", help=f"oldest, newest, all, default, or a list (default: {DEFAULT})"
    )
    parser.add_argument("--no-torch", action="store_true", help="environments without torch: small and quick")
    parser.add_argument(
        "--model-versions", default="newest", help="where a model is run: as --versions, or none (default: newest)"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="leave out all tests that need fetched tokenizers or models"
    )
    parser.add_argument("--cache", type=Path, default=Path(cache), help="where the environments are kept")
    parser.add_argument("--jobs", type=int, default=1, help="versions at the same time (default: 1)")
    parser.add_argument("--tests", nargs="+", default=["tests/hf"], help="what to test (default: tests/hf)")
    parser.add_argument("pytest", nargs="*", metavar="-- PYTEST_OPTION", help="passed on to pytest")
    options = parser.parse_args(arguments)
    if shutil.which("uv") is None:
        print("uv is needed to make the environments: pip install uv", file=sys.stderr)
        return 2
    versions = chosen_versions(options.versions)
    options.cache = options.cache.expanduser().resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    cores = max(1, (os.cpu_count() or 1) // options.jobs)
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda version: test(version, options, cores), versions):
            outcomes.append(outcome)
            print(f"{outcome.version}: {'ok' if outcome.good else 'NOT OK'}", flush=True)
            if not outcome.good and (options.cache / f"{outcome.version}.log").is_file():
                lines = (options.cache / f"{outcome.version}.log").read_text(encoding="utf-8").splitlines()
                print("\n".join(lines[-60:]))
    print(f"\n{table(outcomes)}")
    return 0 if outcomes and all(outcome.good for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
