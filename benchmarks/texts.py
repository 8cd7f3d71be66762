# SPDX-License-Identifier: Apache-2.0
"""Texts as models write them, in token-like pieces. The same seed gives the same pieces on every machine.

"Tokens" are pieces of 3 to 4 characters on average, as the vocabularies of today cut prose and code; `real_tokens` cuts
a text as a real tokenizer does, where scripts/fetch_test_assets.py has been run.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["asset", "call_text", "code", "fill", "pieces", "prose", "real_tokens", "tokenizer_of"]

_PROSE_PIECES = (
    " the| of| a| to| and| in| is| that| it| user| asks| for| we| need| first| then|.|,|.\n|,| so| with| I|'ll| check"
    "| wh|ether| un|der|stand|ing| re|sult|s| step| by| three| four| 1|2|0|:\n\n|-| this| means| value| not| must"
    '| be| was| or| if| they| "|"| (|)| an| exam|ple| answ|er| comp|ute|d| weath|er| Par|is| temp|er|ature| about'
)
_CODE_PIECES = (
    " <|<|div|>| if| a| b|:\n|    |        |return| x| y|</|p|>|(|)|()| =| ==| <=| !=|\n|\n\n| self|.|_|name|,| def| for"
    '| in| range|(i|)|[|]|{|}|"|class|="|">|<span|</div|>\n| &&| ||| <<|int|;\n|std|::|vector|<int|>>| T|<|#|include'
    "| /|//| while| len|0|1| +=| -|>| func|tion| const| let| =>"
)


def prose(count: int, seed: int = 1) -> list[str]:
    """`count` pieces of plain text, without "<"."""
    return random.Random(seed).choices(_PROSE_PIECES.split("|"), k=count)


def code(count: int, seed: int = 2) -> list[str]:
    """`count` pieces of code and markup; about one in six has a "<"."""
    return random.Random(seed).choices([piece for piece in _CODE_PIECES.split("|") if piece], k=count)


def fill(size: int, seed: int = 3) -> str:
    """Prose of exactly `size` characters."""
    text = "".join(prose(size // 3 + 16, seed))
    while len(text) < size:
        text += text
    return text[:size]


def pieces(text: str, seed: int = 4) -> list[str]:
    """The text in pieces of 1 to 6 characters, 3.5 on average: what is left of it token by token."""
    lengths = random.Random(seed).choices((1, 2, 3, 4, 5, 6), k=len(text))
    found, start = [], 0
    for length in lengths:
        if start >= len(text):
            break
        found.append(text[start : start + length])
        start += length
    return found


def call_text(index: int) -> str:
    """The JSON of one ordinary call."""
    arguments = {"city": f"Paris {index}", "unit": "celsius", "days": index % 7, "exact": True}
    return json.dumps({"name": "get_weather", "arguments": arguments})


def asset(name: str) -> Path | None:
    """The folder that scripts/fetch_test_assets.py made, if it was run."""
    given = os.environ.get("TRP_TEST_ASSETS")
    root = Path(given).expanduser() if given else Path.home() / ".cache" / "transformers-response-parsing"
    return root / name if (root / name / "tokenizer.json").is_file() else None


@functools.cache
def tokenizer_of(name: str) -> Any | None:
    """The `tokenizers` tokenizer of an asset, or None."""
    folder = asset(name)
    if folder is None:
        return None
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def real_tokens(name: str, parts: Sequence[str], count: int) -> list[str] | None:
    """`count` pieces of the joined parts as the tokenizer of an asset cuts them, or None if it was not fetched."""
    tokenizer = tokenizer_of(name)
    if tokenizer is None:
        return None
    from tokenizers.decoders import DecodeStream

    ids = tokenizer.encode("".join(parts), add_special_tokens=False).ids
    while len(ids) < count:
        ids += ids
    stream = DecodeStream(skip_special_tokens=False)
    found = (stream.step(tokenizer, token) for token in ids[:count])
    return [piece for piece in found if piece]
