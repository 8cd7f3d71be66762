# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md is what the parsers say. That its examples run is shown in tests/test_shell_snippets.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "cli_docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), f"{done.stderr}\nrun: python scripts/cli_docs.py"
