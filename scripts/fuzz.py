# SPDX-License-Identifier: Apache-2.0
"""Fuzz the parser, guided by coverage: template x text x cuts x tools, against the invariants of tests/fuzz/invariants.py.

    python scripts/fuzz.py                       # ten minutes
    python scripts/fuzz.py --seconds 60          # as in CI
    python scripts/fuzz.py --replay FINDING      # run one file that an earlier run has written

The corpus begins with all conformance vectors and the examples of the library, and is kept in --corpus between runs. Needs
atheris (pip install 'transformers-response-parsing[fuzz]'); without it the script says so and ends well. Exit code 1: a finding,
whose file is named. A finding becomes a conformance vector when it is fixed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "fuzz")]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="how long (default %(default)s)")
    parser.add_argument("--corpus", type=Path, help="a folder that is kept (default: a new one, thrown away)")
    parser.add_argument("--findings", type=Path, default=Path.cwd(), help="where findings are written (default: here)")
    parser.add_argument("--replay", type=Path, help="run this file only, and show what comes of it")
    arguments = parser.parse_args(argv)
    if arguments.replay:
        import invariants

        print(invariants.check(arguments.replay.read_bytes()))
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("nothing was fuzzed: atheris is not installed (pip install 'transformers-response-parsing[fuzz]')")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _fuzz(arguments.corpus or Path(folder), arguments)


def _fuzz(corpus: Path, arguments: argparse.Namespace) -> int:
    import invariants

    corpus.mkdir(parents=True, exist_ok=True)
    for seed in invariants.corpus():
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    command = [
        *(sys.executable, str(ROOT / "tests" / "fuzz" / "fuzz_parse.py"), str(corpus)),
        *(
            f"-max_total_time={arguments.seconds}",
            f"-max_len={invariants.MOST_CHARACTERS}",
            "-timeout=60",
            "-rss_limit_mb=4096",
        ),
        *(f"-artifact_prefix={arguments.findings}/", "-print_final_stats=1"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    print(f"{int(executions[1]) if executions else 0:,} executions; coverage {coverage[-1] if coverage else 'unknown'}")
    if done.returncode:
        print(done.stdout[-2_000:] + done.stderr[-4_000:], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
