# SPDX-License-Identifier: Apache-2.0
"""The table by which a tokenizer's ids are looked up, if its decoding is of a kind for which there is one."""

from __future__ import annotations

import weakref
from typing import Any

from .byte_level import ByteTable
from .pieces import PieceTable, piece_table

__all__ = ["token_table"]

_tables: weakref.WeakKeyDictionary[Any, tuple[Any, ByteTable | PieceTable | None]] = weakref.WeakKeyDictionary()


def token_table(tokenizer: Any) -> ByteTable | PieceTable | None:
    """The table of a tokenizer that decodes as its backend does; None if it can't be looked up what tokens read.

    One for a tokenizer, as long as it lives and has the same backend.
    """
    from tokenizers.decoders import ByteLevel

    backend = tokenizer.backend_tokenizer
    known = _tables.get(tokenizer)
    if known is not None and known[0] is backend:
        return known[1]
    table = ByteTable(backend) if isinstance(backend.decoder, ByteLevel) else piece_table(backend)
    _tables[tokenizer] = (backend, table)
    return table
