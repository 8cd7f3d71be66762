# SPDX-License-Identifier: Apache-2.0
"""The entities of XML."""

from __future__ import annotations

import re

__all__ = ["unescape"]

_ENTITY = re.compile(r"&(?:(quot|amp|lt|gt|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_NAMED = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}


def unescape(text: str) -> str:
    """`text` with the entities of XML decoded, each once: `&quot;`, `&amp;`, `&lt;`, `&gt;`, `&apos;` and numeric ones.

    Whatever else begins with `&`, the number of no character included, stays as it is. Linear in the text.
    """
    return _ENTITY.sub(_decode, text) if "&" in text else text


def _decode(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return match[0] if code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code)
