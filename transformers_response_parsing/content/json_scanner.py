# SPDX-License-Identifier: Apache-2.0
"""Follows a JSON document piece by piece and knows whether it is inside a string.

The parser asks it whether a close delimiter is data (SPEC 7, difference 8). Each character is looked at once; the memory
is one byte a level of nesting plus the longest delimiter. What it accepts is what the `json` content type reads: JSON with
raw control characters in strings, plus unquoted keys and custom string delimiters where configured; and with `repairs` the
slips that have one reading (Python literals, trailing commas, escapes that JSON does not have).
It also tells where a document ends that is followed by other text, and follows a sequence of documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

__all__ = ["JsonScanner"]

_SPACE = re.compile(r"[ \t\n\r]*")
_DIGITS = re.compile(r"[0-9]*")
_BARE_START = re.compile(r"[\w$.-]")
_BARE = re.compile(r'[^\r\n,:{}\[\]"]*')
# A stretch of a JSON string without its end: the bound keeps the matcher's own memory small.
_STRING_RUN = re.compile(r'[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*){0,100}')
_LENIENT_RUNS = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*){{0,100}}", re.DOTALL) for quote in "'\""}
_S = r"[ \t\n\r]*"
_SIMPLE = r'(?P<string>"[^"\\]*")|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null'
# A whole entry of an object or a list and what follows it, in one step: most of most documents.
_MEMBER = re.compile(rf'{_S}(?P<key>"[^"\\]*"){_S}:{_S}(?:{_SIMPLE}){_S}(?P<end>[,}}])')
_ITEM = re.compile(rf"{_S}(?:{_SIMPLE}){_S}(?P<end>[,\]])")
_WORDS = {"t": "true", "f": "false", "n": "null"}
_PYTHON_WORDS = {**_WORDS, "T": "True", "F": "False", "N": "None"}
_CLOSERS = {ord("{"): "}", ord("["): "]", ord("("): ")"}

# Where the document is. The first six expect a token, the others are inside one.
_VALUE, _FIRST_ITEM, _KEY, _FIRST_KEY, _COLON, _AFTER = range(6)
_STRING, _NUMBER, _WORD, _BARE_KEY, _OPENER, _BROKEN, _ENDED = range(6, 13)

# Inside a number: after the sign, a leading zero, other digits, the point, its digits, the e, its sign, its digits.
_NUMBER_STEPS: dict[str, dict[str, str]] = {
    "sign": {"0": "zero", "d": "digits"},
    "zero": {".": "point", "e": "e"},
    "digits": {"0": "digits", "d": "digits", ".": "point", "e": "e"},
    "point": {"0": "fraction", "d": "fraction"},
    "fraction": {"0": "fraction", "d": "fraction", "e": "e"},
    "e": {"0": "exponent", "d": "exponent", "s": "e sign"},
    "e sign": {"0": "exponent", "d": "exponent"},
    "exponent": {"0": "exponent", "d": "exponent"},
}
_NUMBER_ENDS = frozenset(("zero", "digits", "fraction", "exponent"))
_NUMBER_KINDS = {**dict.fromkeys("123456789", "d"), "0": "0", ".": ".", "e": "e", "E": "e", "+": "s", "-": "s"}


class JsonScanner:
    """One document, fed once in any pieces; the outcome does not depend on the pieces.

    Args:
        unquoted_keys: as in the `json` content type.
        string_delims: (open, close) pairs, as in the `json` content type.
        sequence: several documents follow each other, as in the `json-sequence` content type: adjacent, or with white
            space, `,` or `;` between them.
        repairs: as in `Dialect`, but for what comes after the document.
        until_complete: the sequence ends where no further object or array follows a document. (Without it any value may
            follow, and anything else breaks it. A single document needs no such setting.)

    Attributes:
        string_end: how many characters had been fed when the last finished string ended (0: none has).
    """

    __slots__ = (
        "_back",
        "_bare_keys",
        "_close",
        "_delims",
        "_end",
        "_escape",
        "_fed",
        "_firsts",
        "_is_key",
        "_longest",
        "_number",
        "_opener",
        "_plain",
        "_quote",
        "_repairs",
        "_sequence",
        "_stack",
        "_state",
        "_tail",
        "_until_complete",
        "_word",
        "_words",
        "string_end",
    )

    def __init__(
        self,
        unquoted_keys: bool = False,
        string_delims: Sequence[tuple[str, str]] = (),
        *,
        repairs: bool = False,
        sequence: bool = False,
        until_complete: bool = False,
    ) -> None:
        self._repairs = repairs
        self._words = _PYTHON_WORDS if repairs else _WORDS
        self._bare_keys = unquoted_keys
        self._sequence = sequence
        self._until_complete = until_complete
        self._delims = tuple(string_delims)
        self._firsts = frozenset(opening[0] for opening, _ in self._delims)
        self._longest = max((len(opening) for opening, _ in self._delims), default=0)
        self._stack = bytearray()  # ord("{"), ord("[") or ord("(") a level
        self._state = _VALUE
        self._fed = 0
        self._end = -1  # where the last document ended; -1 where none has, or another has begun since
        self._is_key = False  # the string that is open (or about to be) is a key
        self._close = ""  # what closes the open string; "" for a JSON string
        self._quote = '"'  # what closes a JSON string: with `repairs` it may be a single quote
        self._tail = ""  # the last characters of a delimited string: its close may have begun
        self._escape = ""  # an escape that has begun
        self._opener = ""  # characters that may begin an opening delimiter
        self._back = _VALUE  # the state to come back to if they don't
        self._plain = False  # the token that begins here is no delimited string
        self._number = ""
        self._word = ""  # what is left of true, false or null
        self.string_end = 0

    @property
    def state(self) -> Literal["value", "string", "complete", "broken"]:
        """Where the document is.

        "value": valid so far, outside of strings, unfinished. "string": inside a string. "complete": a whole document (a
        number may still grow), or a sequence after a whole document. "broken": no JSON, whatever follows.
        """
        state = self._state
        if state == _STRING:
            return "string"
        if state == _BROKEN:
            return "broken"
        if not self._stack and (state in (_AFTER, _ENDED) or (state == _NUMBER and self._number in _NUMBER_ENDS)):
            return "complete"
        return "value"

    def document_end(self, final: bool = False) -> int | None:
        """Where what was fed stops being part of the document: how many characters had been fed there.

        Known as soon as it is certain. A document: right after the closer of an object, list or string and after the last
        letter of true, false or null; after a number once the next character shows that it is over. A sequence: after its
        last document, once the next character that is neither white space nor `,` or `;` shows that no other follows
        (only with `until_complete`). It is the same for any pieces, and stays what it is once it is known.

        Args:
            final: nothing more comes. Then a number, and a sequence after a whole document, end too: each where its last
                document does, so without the white space and separators that follow.

        Returns:
            None where that is not known (yet): in an unfinished document, and in one that is broken.
        """
        state = self._state
        if self._sequence and not (state == _ENDED or (final and state in (_AFTER, _NUMBER))):
            return None
        if self._end >= 0:
            return self._end
        if not self._stack and (state == _AFTER or (final and state == _NUMBER and self._number in _NUMBER_ENDS)):
            return self._fed
        return None

    @property
    def settled(self) -> int:
        """How many of the characters that were fed are part of the document, whatever comes next."""
        return self._end if self._sequence and self._end >= 0 else self._fed

    @property
    def closer(self) -> str:
        """What closes the string that is open."""
        return self._close or self._quote

    def feed(self, text: str, start: int = 0, end: int | None = None) -> None:
        """Go on with `text[start:end]`."""
        stop = len(text) if end is None else min(end, len(text))
        if start < stop:
            self._run(text, start, stop)

    def finish_string(self, text: str, start: int = 0) -> tuple[Literal["data", "broken", "undecided"], int]:
        """Go on with `text[start:]` until the open string has ended and what follows it is known.

        To be called in the state "string", and again with the text that comes next after "undecided".

        Returns:
            ("data", i): the string ended and the next character but whitespace continues the JSON validly; i is just
            after that character, or after the string if it is the whole document. ("broken", i): the JSON can't go on.
            ("undecided", len(text)): the text ran out. Only what is before i has been fed.
        """
        at, stop = start, len(text)
        if self._state == _STRING:
            before = self._fed - at
            at = self._string(text, at, stop)
            self._fed = before + at
            if self._state == _STRING:
                return "undecided", at
            if self.state == "complete":
                return "data", at
        if self._state != _BROKEN:
            after = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string
            self._fed += after - at
            at = after
            if at == stop:
                return "undecided", at
            self._run(text, at, at + 1)
            at += 1
        return ("broken" if self._state == _BROKEN else "data"), at

    def _run(self, text: str, at: int, end: int) -> None:
        base = self._fed - at
        while at < end:
            self._fed = base + at
            state = self._state
            if state == _STRING:
                at = self._string(text, at, end)
            elif state <= _FIRST_KEY and not self._delims and (entry := self._entry(text, at, end)):
                at = entry
            elif state <= _AFTER:
                if state == _AFTER and not self._stack and self._end < 0:
                    self._end = base + at
                at = _SPACE.match(text, at, end).end()  # type: ignore[union-attr]  # it matches the empty string
                if at < end:
                    self._fed = base + at
                    at = self._token(text, at, end)
            elif state == _NUMBER:
                at = self._in_number(text, at, end)
            elif state == _WORD:
                at = self._in_word(text, at)
            elif state == _BARE_KEY:
                at = _BARE.match(text, at, end).end()  # type: ignore[union-attr]  # it matches the empty string
                if at < end:
                    self._state = _COLON
            elif state == _OPENER:
                at = self._in_opener(text, at)
            else:
                break
        self._fed = base + end

    def _entry(self, text: str, at: int, end: int) -> int:
        """The offset after a whole entry and the comma or closer after it, or 0 if there is none in one step."""
        if not self._stack or self._stack[-1] == ord("("):
            return 0
        in_object = self._stack[-1] == ord("{")
        if in_object and self._state == _VALUE:
            return 0
        match = (_MEMBER if in_object else _ITEM).match(text, at, end)
        if match is None:
            return 0
        if match["string"] is not None:
            self.string_end = self._fed - at + match.end("string")
        elif in_object:
            self.string_end = self._fed - at + match.end("key")
        if match["end"] == ",":
            self._state = _KEY if in_object else _VALUE
        else:
            self._stack.pop()
            self._state = _AFTER
        return match.end()

    def _token(self, text: str, at: int, end: int) -> int:
        """Begin the token at `at`, which is no whitespace."""
        state, char = self._state, text[at]
        if state == _AFTER:
            return self._after(char, at)
        if state == _COLON:
            self._state = _VALUE if char == ":" else _BROKEN
            return at + 1
        self._is_key = state in (_KEY, _FIRST_KEY)
        if char in self._firsts and not self._plain:
            return self._begin_opener(text, at, end)
        self._plain = False
        if char == '"' or (char == "'" and self._repairs):
            self._state, self._close, self._quote = _STRING, "", char
        elif self._may_end(state) and char == _CLOSERS[self._stack[-1]]:
            self._stack.pop()
            self._state = _AFTER
        elif self._is_key:
            self._state = _BARE_KEY if self._bare_keys and _BARE_START.match(char) else _BROKEN
        elif char == "{" or char == "[" or (char == "(" and self._repairs):
            self._stack.append(ord(char))
            self._state = _FIRST_KEY if char == "{" else _FIRST_ITEM
        elif char in self._words:
            self._state, self._word = _WORD, self._words[char][1:]
        elif char == "-":
            self._state, self._number = _NUMBER, "sign"
        elif "0" <= char <= "9":
            self._state, self._number = _NUMBER, "zero" if char == "0" else "digits"
        else:
            self._state = _BROKEN
        return at + 1

    def _may_end(self, state: int) -> bool:
        """Whether the container may end where an entry may begin: before the first one, or behind a trailing comma."""
        if state in (_FIRST_ITEM, _FIRST_KEY):
            return True
        return self._repairs and (state == _KEY or (state == _VALUE and bytes(self._stack[-1:]) not in (b"", b"{")))

    def _after(self, char: str, at: int) -> int:
        """After a value: a comma or the closer of the container; in a sequence perhaps another document."""
        top = self._stack[-1] if self._stack else 0
        if not top and self._sequence:
            return self._between(char, at)
        if char == "," and top:
            self._state = _KEY if top == ord("{") else _VALUE
        elif top and char == _CLOSERS[top]:
            self._stack.pop()
        else:
            self._state = _BROKEN
        return at + 1

    def _between(self, char: str, at: int) -> int:
        """After a whole document of a sequence: a separator, or another document, which then begins at `at`."""
        if char == "," or char == ";":
            return at + 1
        if self._until_complete and char != "{" and char != "[":
            self._state = _ENDED
        else:
            self._state, self._end = _VALUE, -1
        return at

    def _begin_opener(self, text: str, at: int, end: int) -> int:
        if end - at >= self._longest:
            for opening, closing in self._delims:
                if text.startswith(opening, at):
                    self._state, self._close, self._tail = _STRING, closing, ""
                    return at + len(opening)
            self._plain = True
            return at
        self._back, self._opener, self._state = self._state, "", _OPENER
        return at

    def _in_opener(self, text: str, at: int) -> int:
        """One more character of what may be an opening delimiter, which began in an earlier piece."""
        self._opener += text[at]
        for opening, closing in self._delims:
            if self._opener.startswith(opening):
                rest = self._opener[len(opening) :]
                self._state, self._close, self._tail = _STRING, closing, ""
                break
            if opening.startswith(self._opener):
                return at + 1
        else:
            rest, self._state, self._plain = self._opener, self._back, True
        # What was read too far is read again, now as what it is.
        self._opener = ""
        self._fed += 1 - len(rest)
        self._run(rest, 0, len(rest))
        return at + 1

    def _in_number(self, text: str, at: int, end: int) -> int:
        step = self._number
        while at < end:
            following = _NUMBER_STEPS[step].get(_NUMBER_KINDS.get(text[at], ""))
            if following is None:
                self._state = _AFTER if step in _NUMBER_ENDS else _BROKEN
                break
            step = following
            at += 1
            if step in ("digits", "fraction", "exponent"):
                at = _DIGITS.match(text, at, end).end()  # type: ignore[union-attr]  # it matches the empty string
        self._number = step
        return at

    def _in_word(self, text: str, at: int) -> int:
        if text[at] != self._word[0]:
            self._state = _BROKEN
            return at
        self._word = self._word[1:]
        if not self._word:
            self._state = _AFTER
        return at + 1

    def _string(self, text: str, at: int, end: int) -> int:
        """Go on inside a string, at most to its end."""
        base = self._fed - at
        found = self._find_close(text, at, end) if self._close else self._find_quote(text, at, end)
        if found < 0:
            return end
        if self._state == _STRING:
            self._state = _COLON if self._is_key else _AFTER
            self.string_end = base + found
        return found

    def _find_close(self, text: str, at: int, end: int) -> int:
        """The offset after the close of a delimited string, or -1."""
        close, tail = self._close, self._tail
        size = len(close)
        if tail:
            index = (tail + text[at : min(end, at + size - 1)]).find(close)
            if index >= 0:
                return at + index + size - len(tail)
        index = text.find(close, at, end)
        if index >= 0:
            return index + size
        if size > 1:
            self._tail = (tail + text[max(at, end - size + 1) : end])[1 - size :]
        return -1

    def _find_quote(self, text: str, at: int, end: int) -> int:
        """The offset after the closing quote, or -1; the state becomes broken at an escape JSON does not have."""
        while self._escape:
            if at == end:
                return -1
            self._escape += text[at]
            at += 1
            self._check_escape()
            if self._state == _BROKEN:
                return at
        quote = text.find(self._quote, at, end)
        if text.find("\\", at, end if quote < 0 else quote) < 0:
            return quote + 1 or -1
        run = _LENIENT_RUNS[self._quote] if self._repairs else _STRING_RUN
        while at < end:
            at = run.match(text, at, end).end()  # type: ignore[union-attr]  # it matches the empty string
            if at == end:
                break
            if text[at] == self._quote:
                return at + 1
            # More escapes than one run takes, an unknown escape, or one that the piece cuts.
            while at < end and (self._escape or text[at] == "\\"):
                self._escape += text[at]
                at += 1
                self._check_escape()
                if self._state == _BROKEN:
                    return at
                if not self._escape:
                    break
        return -1

    def _check_escape(self) -> None:
        escape = self._escape
        if len(escape) == 1:
            return
        if self._repairs:
            self._escape = ""
        elif escape[1] != "u":
            if escape[1] not in '"\\/bfnrt':
                self._state = _BROKEN
            self._escape = ""
        elif len(escape) > 2:
            if escape[-1] not in "0123456789abcdefABCDEF":
                self._state = _BROKEN
            if len(escape) == 6 or self._state == _BROKEN:
                self._escape = ""
