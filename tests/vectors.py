# SPDX-License-Identifier: Apache-2.0
"""The conformance vectors, loaded, and the comparison they ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "VECTORS", "load_files", "strictly_equal"]

FOLDER = Path(__file__).parent / "conformance"


def load_files() -> list[Path]:
    """The files of vectors, in order."""
    return sorted(path for path in FOLDER.glob("*.json") if path.name != "vector.schema.json")


VECTORS: list[dict[str, Any]] = [
    vector for path in load_files() for vector in json.loads(path.read_text(encoding="utf-8"))["vectors"]
]


def strictly_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, types included: 7, 7.0 and True are different, the order of keys is not."""
    return _plain(one) == _plain(other)


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
