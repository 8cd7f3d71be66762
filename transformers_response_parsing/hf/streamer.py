# SPDX-License-Identifier: Apache-2.0
"""A streamer for `model.generate(streamer=...)`: token ids in, parsing events out."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from transformers_response_parsing.errors import OutputError, ResponseParsingError
from transformers_response_parsing.parser import OnError

from .decode import incremental_decoder
from .tokenizer import OWN_TOKENS, make_parser, resolve_template

if TYPE_CHECKING:
    from transformers_response_parsing.events import Event

__all__ = ["ResponseStreamer"]

_END = object()


class ResponseStreamer:
    """Parses one generation while it is written.

    Pass it to `generate` as `streamer`. Its events reach `on_event`, in the generating thread, and whoever iterates over
    the streamer, in any thread; iteration ends with the generation.

        streamer = ResponseStreamer(tokenizer, prefix=inputs["input_ids"], on_event=print)
        model.generate(**inputs, streamer=streamer)
        streamer.message

        streamer = ResponseStreamer(tokenizer, prefix=inputs["input_ids"])
        streamer.start(model.generate, **inputs)  # in a thread of its own
        for event in streamer: ...

    Args:
        tokenizer: tokenizer or processor; `enable()` is not needed.
        prefix: the prompt (text or token ids of one sequence), as for `parse_response`; required.
        tools: what `apply_chat_template` was given; types the arguments of tool calls.
        on_event: called with each event, as it happens; what it raises ends `generate`.
        response_template: template to use instead of the tokenizer's own (dict, JSON text, path or ResponseTemplate).
        end: text or texts after which the generation is over; default: the tokenizer's end-of-sequence and padding tokens.
        on_error: what happens when a region can't be parsed, as when `max_new_tokens` cuts a call off. "raise": parsing ends
            there and `generate` goes on, so that what it returns is not lost; the OutputError is raised to whoever asks for
            the message or iterates. "keep": parsing goes on, and the message lists the region under the key "malformed".
        timeout: seconds that the iteration waits for the next event before it raises TimeoutError; None: for ever.

    Attributes:
        initial_events: events of what the prompt has written of the message; not repeated by `on_event` and iteration.

    Raises:
        ResponseParsingError: no prefix, no template, or more than one sequence is generated.
        OutputError: what the prompt wrote of the message can't be parsed.
    """

    def __init__(
        self,
        tokenizer: Any,
        prefix: Any = None,
        tools: Any = None,
        on_event: Callable[[Event], Any] | None = None,
        *,
        response_template: Any = None,
        end: Any = OWN_TOKENS,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> None:
        chat_template = None
        if not hasattr(tokenizer, "convert_ids_to_tokens") and hasattr(tokenizer, "tokenizer"):
            chat_template, tokenizer = getattr(tokenizer, "chat_template", None), tokenizer.tokenizer
        template = resolve_template(tokenizer, response_template, chat_template=chat_template)
        self._parser = make_parser(tokenizer, template, prefix=prefix, tools=tools, end=end, on_error=on_error)
        self._decoder = incremental_decoder(tokenizer)
        self._push, self._feed = self._decoder.push, self._parser.feed
        self._on_event = on_event
        self._timeout = timeout
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._enqueue = self._queue.put
        self._prompt_seen = False
        self._over = False
        self.initial_events: list[Event] = self._parser.initial_events
        self._message: dict[str, Any] | None = None
        self._error: OutputError | None = None  # it ended the parsing, but not the generation
        self._ended = False

    @property
    def message(self) -> dict[str, Any] | None:
        """The message dict once the generation is over, else None.

        Raises:
            OutputError: the generation can't be parsed (with on_error="raise"). Its `partial_message` is what came before.
        """
        if self._error is not None:
            raise self._error
        return self._message

    def put(self, value: Any) -> None:
        """Take token ids from `generate`: the prompt, which is skipped, then one or more new ones at a time."""
        if self._over:
            if self._error is not None and not self._ended:
                return  # `generate` goes on, what it writes is not parsed any more
            raise RuntimeError("the generation is over; use a new ResponseStreamer for each generation")
        try:
            try:
                ids: Sequence[int] = (value.item(),)  # one token, nearly always
            except (AttributeError, TypeError, ValueError, RuntimeError):  # a list, or several tokens
                ids = self._one_sequence(value)
            if not self._prompt_seen:
                self._prompt_seen = True
                return
            try:
                events = self._feed(self._push(ids))
            except OutputError as error:
                self._fail(error)
                return
            for event in events:
                self._enqueue(event)
                if self._on_event is not None:
                    self._on_event(event)
        except BaseException as error:
            self._finish(error)  # to whoever iterates, too
            raise

    def end(self) -> None:
        """Called by `generate` when it is done: the message is complete."""
        self._ended = True
        if self._over:
            return
        try:
            try:
                events = self._parser.feed(self._decoder.finish())
                message, last = self._parser.finalize()
            except OutputError as error:
                self._fail(error)
                return
            self._message = message
            self._emit(events + last)
        except BaseException as error:
            self._finish(error)
            raise
        self._finish(_END)

    def start(self, generate: Callable[..., Any], *args: Any, **kwargs: Any) -> threading.Thread:
        """Call `generate(*args, streamer=self, **kwargs)` in a new thread; whatever it raises is raised to the iteration."""

        def run() -> None:
            try:
                generate(*args, streamer=self, **kwargs)
                self.end()
            except BaseException as error:  # noqa: BLE001 -- it is raised again, in the iterating thread
                self._finish(error)

        thread = threading.Thread(target=run, name="ResponseStreamer", daemon=True)
        thread.start()
        return thread

    def __iter__(self) -> Iterator[Event]:
        while True:
            try:
                item = self._queue.get(timeout=self._timeout)
            except queue.Empty:
                raise TimeoutError(f"no event for {self._timeout} seconds") from None
            if item is _END:
                self._queue.put(item)  # so that the next iteration ends, too
                return
            if isinstance(item, BaseException):
                self._queue.put(item)
                raise item
            yield item

    def _emit(self, events: list[Event]) -> None:
        for event in events:
            self._enqueue(event)
            if self._on_event is not None:
                self._on_event(event)

    def _fail(self, error: OutputError) -> None:
        """The generation can't be parsed from here on."""
        self._emit(list(error.events))
        self._error = error
        self._finish(error)

    def _finish(self, last: Any) -> None:
        if not self._over:
            self._over = True
            self._queue.put(last)

    @staticmethod
    def _one_sequence(value: Any) -> list[int]:
        ids = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(ids, int):
            return [ids]
        if ids and not isinstance(ids[0], int):
            if len(ids) > 1:
                raise ResponseParsingError(
                    f"a ResponseStreamer follows one sequence, but {len(ids)} are generated: use a batch of one"
                )
            ids = ids[0]
        return list(ids)
