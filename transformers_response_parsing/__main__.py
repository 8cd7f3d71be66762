# SPDX-License-Identifier: Apache-2.0
"""`python -m transformers_response_parsing` is `response-template`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
