# SPDX-License-Identifier: Apache-2.0
"""stub"""

from __future__ import annotations


class JsonScanner:
    def __init__(self, unquoted_keys: bool = False, string_delims: tuple[tuple[str, str], ...] = ()) -> None:
        self.state = "value"
