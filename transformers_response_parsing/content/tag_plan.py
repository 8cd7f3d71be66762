# SPDX-License-Identifier: Apache-2.0
r"""Finds the tags of `xml-inline`: exactly what `regex.finditer` finds, but by plain string search where that is possible.

A lazy `.*?` walks the value character by character, and again from every tag that is never closed. Most tag patterns are a
chain: pieces with a fixed text in them, joined by lazy gaps (`<p=(?P<key>[^>]+)>` gap `\s*</p>`). Then the next piece
is where its fixed text (its *core*) is, found with `str.find`; the `regex` module only checks the place. Each core is looked
for once, so the whole is linear in the body. What is no such chain is left to `regex`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import regex

from transformers_response_parsing import limits
from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.pattern_syntax import may_have_sets, repetitions

try:  # the modules moved in Python 3.11
    import re._constants as sre  # type: ignore[import-not-found,unused-ignore]
    import re._parser as sre_parse  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # pragma: no cover
    import sre_constants as sre  # type: ignore[no-redef,unused-ignore]
    import sre_parse  # type: ignore[no-redef,unused-ignore]

__all__ = ["Tag", "TagFinder"]

Tag = tuple[int, int, str, str, int, bool]
"""Start and end of a tag, its key, its value, where the value starts, and whether the group `raw` took part."""

_GAP = re.compile(r"\(\?P<(key|value)>\.([*+])\?\)|\.([*+])\?")
# What `regex` reads in another way than the standard library's parser: POSIX classes, set operations, fuzzy matching.
_OTHER_DIALECT = re.compile(r"\[\[|\[:|--|&&|\|\||~~|\{(?![0-9]*,?[0-9]*\})")
_MAX_WINDOW = 16
_VERY_SHORT = 200
_SHORT = 2_000
_SOON = 0.001  # seconds
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
_SINGLE = (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY)
_LEAD_KINDS = {*_SINGLE, *_REPEATS, sre.RANGE, sre.NEGATE, sre.SUBPATTERN, sre.BRANCH}
_CATEGORIES = {
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


class _Limited:
    """A match that may take as long as the time limit says at that moment."""

    __slots__ = ("_match",)

    def __init__(self, match: Any) -> None:
        self._match = match

    def __call__(self, *arguments: Any) -> Any:
        return self._match(*arguments, timeout=limits.SEARCH_TIMEOUT)


class TagFinder:
    """Finds the tags of a `tag_pattern` in a body.

    Args:
        source: the pattern.
        compiled: the same, compiled by `regex` with DOTALL.

    Attributes:
        source: the pattern.
        chain: the pieces and gaps of the pattern, or None if `regex` does it all.
    """

    def __init__(self, source: str, compiled: Any) -> None:
        self.source = source
        self._regex = compiled
        index = compiled.groupindex
        self._groups: tuple[int, int] = (index["key"], index["value"])
        self._raw: int | None = index.get("raw")
        self.chain = _analyse(source)

    def find(self, body: str) -> Iterable[Tag]:
        """The tags, left to right, without overlaps.

        Raises:
            BodyError: a search took longer than the timeout, or a tag has no key or no value. (By this call or by the iteration.)
        """
        chain = self.chain
        if chain is not None and len(body) <= _SHORT:
            try:  # mostly no plan beats `regex` in a short body
                return list(self._plain(body, 0, None if len(body) <= _VERY_SHORT and chain.quick else _SOON))
            except TimeoutError:
                pass
        return self._find(body)

    def _find(self, body: str) -> Iterator[Tag]:
        try:
            if self.chain is None:
                yield from self._plain(body, 0, limits.SEARCH_TIMEOUT)
            else:
                yield from self._chained(body, self.chain)
        except TimeoutError:
            raise BodyError(f"the search for tag_pattern {self.source!r} took too long") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return TagFinder, (self.source, self._regex)

    def _plain(self, body: str, start: int, timeout: float | None) -> Iterator[Tag]:
        (key_group, value_group), raw = self._groups, self._raw
        for match in self._regex.finditer(body, start, timeout=timeout):
            key, value = match.group(key_group, value_group)
            if key is None or value is None:
                raise BodyError("a tag without a key or a value", match.start())
            is_raw = raw is not None and match.start(raw) >= 0
            yield *match.span(), key, value, match.start(value_group), is_raw

    def _chained(self, body: str, chain: _Chain) -> Iterator[Tag]:
        search = _Search(body, chain)
        at = 0
        while True:
            tag = search.next_tag(at)
            if tag is None:
                break
            yield tag
            at = tag[1]
        if search.hand_over is not None:
            yield from self._plain(body, search.hand_over, limits.SEARCH_TIMEOUT)


class _Piece(NamedTuple):
    """A part of the pattern between two gaps: a lead that may be empty, a core, a rest."""

    match: Callable[[str, int], Any]
    core: str
    window: int  # how long the lead can be; -1: a run of any length of characters that `in_lead` accepts
    in_lead: Callable[[str], Any] | None
    is_core: bool  # there is no rest: where the core is, the piece matches
    run: Callable[[str, int], Any] | None
    """Matches the run of characters right after the core, if its end fixes how the piece goes on: then all cores that
    end in the same run match or fail alike."""
    needs: str  # a text that must occur after the core, or ""
    unique: bool  # from one start there is one end, as far as the next piece is concerned
    groups: tuple[str, ...]  # which of key, value and raw it holds


class _Gap(NamedTuple):
    group: str
    least: int


class _Chain(NamedTuple):
    pieces: tuple[_Piece, ...]
    gaps: tuple[_Gap, ...]
    quick: bool  # no piece can take long on a short text


class _Search:
    """The search for a chain in one body. Remembers what was found, so that nothing is looked for twice."""

    def __init__(self, body: str, chain: _Chain) -> None:
        self.body = body
        self.chain = chain
        self.hand_over: int | None = None  # from here on only `regex` knows
        # For each piece: from where on its core was looked for, and where it is (-1: nowhere from there on).
        self.known = [(len(body) + 1, -1)] * len(chain.pieces)
        self.last: dict[str, int] = {}

    def next_tag(self, at: int) -> Tag | None:
        """The first tag that starts at `at` or later."""
        first, *others = self.chain.pieces
        while (found := self.piece(0, at)) is not None:
            start, end, match = found
            tag = self.follow(start, end, match)
            if tag is not None:
                return tag
            if self.hand_over is not None or any(start > self.last_place(piece.core) for piece in others):
                return None
            # From other starts of a unique piece to the same core, what follows fails alike.
            at = self.after_core(first, self.known[0][1]) if first.unique else start + 1
        return None

    def follow(self, start: int, end: int, match: Any) -> Tag | None:
        """The tag whose first piece matched, or None (and perhaps `hand_over`)."""
        pieces, gaps, _ = self.chain
        spans: dict[str, tuple[int, int]] = {}
        if pieces[0].groups:
            spans = {group: match.span(group) for group in pieces[0].groups}
        unique = pieces[0].unique
        for index, gap in enumerate(gaps, 1):
            piece = pieces[index]
            found = self.piece(index, end + gap.least)
            if found is None:
                core = piece.core
                # Another way to match an earlier piece could have ended before a core that was passed over.
                if (
                    not (unique and gap.least == 0)
                    and self.body.find(core, start, end + gap.least + len(core) - 1) >= 0
                ):
                    self.hand_over = start
                return None
            if gap.group:
                spans[gap.group] = (end, found[0])
            _, end, match = found
            for group in piece.groups:
                spans[group] = match.span(group)
            unique = unique and piece.unique
        key, value = spans["key"], spans["value"]
        if key[0] < 0 or value[0] < 0:
            raise BodyError("a tag without a key or a value", start)
        is_raw = "raw" in spans and spans["raw"][0] >= 0
        return start, end, self.body[slice(*key)], self.body[slice(*value)], value[0], is_raw

    def piece(self, index: int, at: int) -> tuple[int, int, Any] | None:
        """Where the piece first matches from `at` on: start, end, and the match if there is one to look at."""
        piece = self.chain.pieces[index]
        asked, core_at = self.known[index]
        if at < asked or -1 < core_at < at:
            core_at = self.core(piece, at)
            self.known[index] = (at, core_at)
        if core_at < 0:
            return None
        if piece.window < 0:
            start = core_at
            while start > at and piece.in_lead(self.body[start - 1]):  # type: ignore[misc]  # there is a lead
                start -= 1
        elif piece.window == 0:
            start = core_at
        else:
            for start in range(max(at, core_at - piece.window), core_at):
                match = piece.match(self.body, start)
                if match is not None:
                    return start, match.end(), match
            start = core_at
        # A lead of limited length may itself match where the core is, and end elsewhere.
        if piece.is_core and piece.window <= 0:
            return start, core_at + len(piece.core), None
        match = piece.match(self.body, start)
        return start, match.end(), match

    def core(self, piece: _Piece, at: int) -> int:
        """Where the first core is from `at` on with which the piece matches, or -1."""
        body = self.body
        found = body.find(piece.core, at)
        while found >= 0 and not piece.is_core:
            if piece.needs and self.last_place(piece.needs) < found + len(piece.core):
                return -1
            if piece.match(body, found) is not None:
                break
            found = body.find(piece.core, self.after_core(piece, found))
        return found

    def after_core(self, piece: _Piece, core_at: int) -> int:
        """Where the next core may begin that can fare otherwise than the one at `core_at`."""
        if piece.run is None:
            return core_at + 1
        end: int = piece.run(self.body, core_at + len(piece.core)).end()
        return max(core_at, end - len(piece.core)) + 1

    def last_place(self, text: str) -> int:
        """Where `text` occurs last in the body, or -1."""
        known = self.last.get(text)
        if known is None:
            known = self.last[text] = self.body.rfind(text)
        return known


def _analyse(source: str) -> _Chain | None:
    """The chain of a pattern, or None if it is none or the two regex dialects may read it differently."""
    if _OTHER_DIALECT.search(source):
        return None
    gaps: list[_Gap] = []
    parts: list[str] = []
    end = 0
    for match in _GAP.finditer(source):
        parts.append(source[end : match.start()])
        gaps.append(_Gap(match[1] or "", int("+" in match[0])))
        end = match.end()
    parts.append(source[end:])
    tree = _parse(source)
    trees = [_parse(part) for part in parts]
    if not gaps or tree is None or None in trees:
        return None
    # Cutting the source is right only if the pieces and gaps together mean what the whole means.
    joined: list[Any] = _shape(trees[0])
    for gap, part in zip(gaps, trees[1:], strict=True):
        lazy = (sre.MIN_REPEAT, (gap.least, sre.MAXREPEAT, [(sre.ANY, None)]))
        joined += [(sre.SUBPATTERN, (gap.group, 0, 0, [lazy]))] if gap.group else [lazy]
        joined += _shape(part)
    if joined != _shape(tree):
        return None
    pieces: list[_Piece] = []
    following = ""
    for part, piece_tree in zip(reversed(parts), reversed(trees), strict=True):
        piece = _piece(part, piece_tree, following)
        if piece is None:
            return None
        pieces.insert(0, piece)
        following = piece.core
    return _Chain(tuple(pieces), tuple(gaps), all(not isinstance(piece.match, _Limited) for piece in pieces))


def _parse(source: str) -> Any:
    """The syntax tree of the standard library's regex parser, or None."""
    if may_have_sets(source):
        return None
    try:
        tree = sre_parse.parse(source, re.DOTALL.value)
    except (re.error, RecursionError, OverflowError):
        return None
    return tree if tree.state.flags & ~re.UNICODE.value == re.DOTALL.value else None


def _shape(tree: Any) -> list[Any]:
    """The tree as plain lists and tuples, with group names for group numbers."""
    names = {number: name for name, number in tree.state.groupdict.items()}

    def plain(node: Any) -> Any:
        if isinstance(node, sre_parse.SubPattern):
            return [plain(item) for item in node]
        if isinstance(node, (list, tuple)):
            items = [plain(item) for item in node]
            if len(items) == 2 and items[0] is sre.SUBPATTERN:
                group, *rest = items[1]
                return sre.SUBPATTERN, (names.get(group, ""), *rest)
            return tuple(items) if isinstance(node, tuple) else items
        return node

    result: list[Any] = plain(tree)
    return result


def _flat(items: Any) -> list[Any]:
    """The items of a sequence, with those of groups that only group."""
    result: list[Any] = []
    for kind, argument in items:
        if kind is sre.SUBPATTERN and not argument[1] and not argument[2]:
            result += _flat(argument[3])
        else:
            result.append((kind, argument))
    return result


def _piece(source: str, tree: Any, next_core: str) -> _Piece | None:
    """The piece with this source, or None if it has no lead, core and rest that can be told apart."""
    items = _flat(tree)
    if any(kind is sre.GROUPREF or kind is sre.GROUPREF_EXISTS for kind, _ in _walk(tree)):
        return None
    first = next((index for index, item in enumerate(items) if item[0] is sre.LITERAL), len(items))
    after = first
    while after < len(items) and items[after][0] is sre.LITERAL:
        after += 1
    core = "".join(chr(argument) for _, argument in items[first:after])
    window = _lead(items[:first], core, tree.state)
    if not core or window is None:
        return None
    rest = items[after:]
    compiled = regex.compile(source, regex.DOTALL)
    return _Piece(
        # A time limit costs ten times what a short match does.
        match=compiled.match if _is_quick(items) else _Limited(compiled.match),
        core=core,
        window=window,
        in_lead=regex.compile(_class(items[0][1][2])).match if window < 0 else None,
        is_core=not rest and not compiled.groupindex,
        run=_run(rest),
        needs=_last_literal(rest),
        unique=window <= 0 and _unique(items[first:], next_core),
        groups=tuple(name for name in ("key", "value", "raw") if name in compiled.groupindex),
    )


def _lead(items: list[Any], core: str, state: Any) -> int | None:
    """The `window` of a piece whose items before the core are these, or None if the plan does not cover them."""
    if not items:
        return 0
    if len(items) == 1 and items[0][0] in _REPEATS and core:
        least, most, _ = items[0][1]
        members = _class(items[0][1][2])
        if least == 0 and most is sre.MAXREPEAT:
            return -1 if members and not regex.fullmatch(members, core[0]) else None
    # Looking around in the lead would make the place of the core depend on where the lead begins.
    kinds = {kind for kind, _ in _walk(items) if type(kind) is type(sre.LITERAL)}
    least, most = sre_parse.SubPattern(state, items).getwidth()
    return most if least == 0 and most <= _MAX_WINDOW and kinds <= _LEAD_KINDS else None


def _run(rest: list[Any]) -> Callable[[str, int], Any] | None:
    """The `run` of a piece with this rest: a class repeated without limit, then a literal that is not in it."""
    if len(rest) < 2 or rest[0][0] not in _REPEATS or rest[1][0] is not sre.LITERAL:
        return None
    _, most, repeated = rest[0][1]
    members = _class(repeated)
    if most is not sre.MAXREPEAT or not members or regex.fullmatch(members, chr(rest[1][1])):
        return None
    run: Callable[[str, int], Any] = regex.compile(f"{members}*+").match
    return run


def _last_literal(rest: list[Any]) -> str:
    """The last fixed text in the rest of a piece."""
    end = max((index + 1 for index, item in enumerate(rest) if item[0] is sre.LITERAL), default=0)
    start = end
    while start and rest[start - 1][0] is sre.LITERAL:
        start -= 1
    return "".join(chr(argument) for _, argument in rest[start:end])


def _unique(items: list[Any], next_core: str) -> bool:
    """Whether the items match in one way only from one start, if a text with `next_core` has to follow somewhere.

    A later start then never gives an earlier end.
    """
    for index, (kind, argument) in enumerate(items):
        if kind in _REPEATS:
            following = items[index + 1 : index + 2]
            if not following:
                stop = next_core[:1]
            elif following[0][0] is sre.LITERAL:
                stop = chr(following[0][1])
            else:
                return False
            members = _class(argument[2])
            if not stop or not members or regex.fullmatch(members, stop):
                return False
        elif kind not in _SINGLE:
            return False
    return True


def _is_quick(items: list[Any]) -> bool:
    """Whether matching these items from one place surely takes no more than linear time."""
    return repetitions(items) <= 1 or _unique(items, "\0")


def _class(items: Any) -> str:
    """The source of what these items match, if that is one character of a class; else ""."""
    items = _flat(items)
    if len(items) != 1 or items[0][0] not in _SINGLE:
        return ""
    kind, argument = items[0]
    if kind is sre.ANY:
        return r"[\s\S]"
    members = argument if kind is sre.IN else [items[0]]
    negated, inside = "", ""
    for member, value in members:
        if member is sre.NEGATE or member is sre.NOT_LITERAL:
            negated = "^"
        if member is sre.LITERAL or member is sre.NOT_LITERAL:
            inside += re.escape(chr(value))
        elif member is sre.RANGE:
            inside += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif member is sre.CATEGORY:
            inside += _CATEGORIES[value]
    return f"[{negated}{inside}]"


def _walk(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (kind, argument) of a tree."""
    if isinstance(node, (list, tuple, sre_parse.SubPattern)):
        items = list(node)
        if len(items) == 2 and isinstance(node, tuple):
            yield items[0], items[1]
        for item in items:
            yield from _walk(item)
