# SPDX-License-Identifier: Apache-2.0
"""`ResponseTemplate`: a response template, validated and compiled once, then shared by everybody who loads it again."""

from __future__ import annotations

import json
from collections import OrderedDict
from os import PathLike
from threading import Lock
from typing import Any, NamedTuple, NoReturn

from .delimiter import Anchor
from .errors import Problem
from .field import Field
from .plan import Plan
from .source import read_source
from .validation import CompiledTemplate, compile_template

__all__ = ["Field", "ResponseTemplate"]

_CACHE_SIZE = 256


class ResponseTemplate:
    """A response template that is known to be right, ready to parse with. Made by `load`; immutable.

    Two are equal if their sources are the same JSON (whatever the order of keys). Pickles as its source.

    Attributes:
        anchor: finds where the current message starts inside a prompt.
        fields: the compiled fields, in the order of the template.
        implicit: the one of them that takes the text no other claims, or None.
        problems: warnings, in the order of the template: what is not portable, slow, or probably not meant.
        min_transformers: the first transformers release whose native parser reads the template ("5.13.0"), or None if
            only this package does.
        extensions: paths of the keys and values that only this package reads (`fields.x.nests`), in the order of the
            template; () if it is portable.
        plan: what a parser works with.
    """

    __slots__ = (
        *("_equality", "_source", "anchor", "extensions", "fields", "implicit", "min_transformers", "plan", "problems"),
    )

    anchor: Anchor
    fields: tuple[Field, ...]
    implicit: Field | None
    problems: tuple[Problem, ...]
    min_transformers: str | None
    extensions: tuple[str, ...]
    plan: Plan
    _source: dict[str, Any]
    _equality: str

    def __init__(self) -> None:
        raise TypeError("use ResponseTemplate.load(template)")

    @classmethod
    def load(cls, template: dict[str, Any] | str | PathLike[str] | ResponseTemplate) -> ResponseTemplate:
        """Validate and compile a template.

        Args:
            template: a dict; a JSON text; the path of a JSON file (a `Path`, or a string that ends with `.json` or names
                a file); or what `load` returned.

        Returns:
            The compiled template. Equal templates share one; the same dict again costs about a microsecond, and is
            compiled anew if it was changed since.

        Raises:
            TemplateError: with all problems of the template, in its order, each with its path.
            OSError: the file can't be read.
        """
        if isinstance(template, dict):
            return _known(template) or _load(template)
        return template if isinstance(template, ResponseTemplate) else _load(template)

    @property
    def source(self) -> dict[str, Any]:
        """The template as plain JSON data (dict); a fresh copy each time, yours to change."""
        copied: dict[str, Any] = _copy(self._source)
        return copied

    @property
    def defaults(self) -> dict[str, Any]:
        """The values (dict) a message starts with; a fresh copy each time."""
        copied: dict[str, Any] = _copy(self._source.get("defaults", {}))
        return copied

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResponseTemplate):
            return NotImplemented
        return self is other or self._equality == other._equality

    def __hash__(self) -> int:
        return hash(self._equality)

    def __repr__(self) -> str:
        names = ", ".join(field.name for field in self.fields)
        return f"<ResponseTemplate: {names if len(names) <= 80 else f'{len(self.fields)} fields'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ResponseTemplate.load, (self._source,))

    def __copy__(self) -> ResponseTemplate:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ResponseTemplate:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a ResponseTemplate can't be changed: change its `source` and load that")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a ResponseTemplate can't be changed: change its `source` and load that")


class _Exact:
    """Equal to a number or truth value of the same type only: 1, 1.0 and True are different JSON."""

    __slots__ = ("kind", "value")

    def __init__(self, value: object) -> None:
        self.kind = type(value)
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is self.kind and other == self.value

    __hash__ = None  # type: ignore[assignment]


class _Known(NamedTuple):
    """A dict that was loaded, what was in it then, and what became of it."""

    given: dict[str, Any]  # held, so that its id can't become another's
    snapshot: dict[str, Any]
    loaded: ResponseTemplate


# Read without the lock (a dict's `get` is atomic), written with it. A template in use that is dropped here after
# _CACHE_SIZE others is found by content again, so the oldest goes, and a hit has no order to maintain.
_by_identity: dict[int, _Known] = {}
# By JSON text, keys in the order given. The one not used for longest goes.
_by_content: OrderedDict[str, ResponseTemplate] = OrderedDict()
_lock = Lock()


def _known(template: dict[str, Any]) -> ResponseTemplate | None:
    """What this very dict was loaded as, if nothing in it changed since."""
    known = _by_identity.get(id(template))
    if known is None:
        return None
    try:
        return known.loaded if known.snapshot == template else None
    except Exception:  # noqa: BLE001 - what was put into the dict can't be compared: loading it says what is wrong
        return None


def _load(template: object) -> ResponseTemplate:
    source = read_source(template)
    # Problems found while reading are not part of the data: such a template is neither looked up nor kept.
    key = None if source.problems else json.dumps(source.data)
    with _lock:
        loaded = None if key is None else _by_content.get(key)
    if loaded is None:
        loaded = _make(source.data, compile_template(source))
    with _lock:
        if key is not None:
            # Another thread may have been faster: everybody gets the same object.
            loaded = _by_content.setdefault(key, loaded)
            _by_content.move_to_end(key)
            if len(_by_content) > _CACHE_SIZE:
                _by_content.popitem(last=False)
        if isinstance(template, dict):
            # The snapshot is of what was read above, not read again: another thread may change the dict meanwhile.
            _by_identity[id(template)] = _Known(template, _exact(source.data), loaded)
            if len(_by_identity) > _CACHE_SIZE:
                del _by_identity[next(iter(_by_identity))]
    return loaded


def _make(source: dict[str, Any], compiled: CompiledTemplate) -> ResponseTemplate:
    template = object.__new__(ResponseTemplate)
    values = {
        "_source": source,
        "_equality": json.dumps(source, sort_keys=True),
        "anchor": compiled.anchor,
        "fields": compiled.fields,
        "implicit": compiled.implicit,
        "plan": Plan(compiled.fields, compiled.implicit, source.get("defaults", {})),
        "problems": compiled.problems,
        "min_transformers": compiled.min_transformers,
        "extensions": compiled.extensions,
    }
    for name, value in values.items():
        object.__setattr__(template, name, value)
    return template


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return _Exact(value) if isinstance(value, (bool, int, float)) else value
