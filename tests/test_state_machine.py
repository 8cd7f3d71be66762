# SPDX-License-Identifier: Apache-2.0
"""Feed, copy, pickle and finalize in any order: every stream says what its whole text says."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from chunkings import merge, without_errors
from hypothesis import assume, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule
from strategies import LITERALS, cases
from vectors import strictly_equal

import transformers_response_parsing as trp


@dataclass
class Stream:
    """A parser, what it was fed, and what it has said."""

    parser: trp.ResponseParser
    text: str = ""
    events: list[Any] = field(default_factory=list)


class Streams(RuleBasedStateMachine):
    """Any number of streams of one template; new ones are copies of others."""

    streams = Bundle("streams")

    @initialize(case=cases())
    def load(self, case: Any) -> None:
        try:
            self.template = trp.ResponseTemplate.load(case.template)
        except trp.TemplateError:
            assume(False)
        self.prefix, self.texts = case.prefix, case.output

    @rule(target=streams)
    def begin(self) -> Stream:
        parser = trp.ResponseParser(self.template, self.prefix, on_error="keep")
        return Stream(parser, "", list(parser.initial_events))

    @rule(stream=streams, start=st.integers(0, 60), length=st.integers(1, 12))
    def feed_of_the_case(self, stream: Stream, start: int, length: int) -> None:
        self._feed(stream, self.texts[start : start + length])

    @rule(stream=streams, text=st.sampled_from(LITERALS) | st.sampled_from(["", " ", "x", "\n", '"', "}"]))
    def feed(self, stream: Stream, text: str) -> None:
        self._feed(stream, text)

    @rule(target=streams, stream=streams)
    def copied(self, stream: Stream) -> Stream:
        return copy.deepcopy(stream)

    @rule(target=streams, stream=streams)
    def pickled(self, stream: Stream) -> Stream:
        return pickle.loads(pickle.dumps(stream))

    @rule(stream=consumes(streams))
    def finalize(self, stream: Stream) -> None:
        message, last = stream.parser.finalize()
        whole = trp.parse_response(stream.text, self.template, prefix=self.prefix, on_error="keep")
        assert strictly_equal(comparable(message), comparable(whole))
        once = trp.ResponseParser(self.template, self.prefix, on_error="keep")
        events = [*once.initial_events, *once.feed(stream.text), *once.finalize()[1]]
        assert strictly_equal(without_errors(merge(stream.events + last)), without_errors(merge(events)))
        assert "".join(stream.parser.unclaimed) == "".join(once.unclaimed)

    def _feed(self, stream: Stream, text: str) -> None:
        stream.text += text
        stream.events += stream.parser.feed(text)


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """The message without the wording of faults."""
    return {**message, "malformed": without_errors(message["malformed"])} if "malformed" in message else message


TestStreams = Streams.TestCase
TestStreams.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
