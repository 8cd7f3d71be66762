# SPDX-License-Identifier: Apache-2.0
"""Where the programs start: `response-template`, `hf-response-template`, `python -m transformers_response_parsing`."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Load the command line, and run it."""
    # Until it is loaded there is nothing to tidy up: Ctrl-C just ends the process, where Python would show a traceback.
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


if __name__ == "__main__":
    sys.exit(main())
