# SPDX-License-Identifier: Apache-2.0
"""The target for atheris (coverage-guided); `scripts/fuzz.py` runs it. Arguments are libFuzzer's."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "fuzz")]

with atheris.instrument_imports(include=["transformers_response_parsing"]):
    import transformers_response_parsing as trp

    for name in trp.__all__:
        if name not in ("enable", "disable", "status", "ResponseStreamer"):  # they import transformers
            getattr(trp, name)
    import invariants

# A search that does not end is a finding of the time limit; the fuzzer need not wait for the default.
trp.set_search_timeout(1.0)


def main() -> None:
    atheris.Setup(sys.argv, lambda data: invariants.check(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
