# SPDX-License-Identifier: Apache-2.0
"""What `parse`, `stream` and `explain` have in common: a template, a generated text, and what belongs to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from transformers_response_parsing.parser import ResponseParser, parse_response
from transformers_response_parsing.template import ResponseTemplate

from .console import Console
from .doubts import doubt
from .inputs import decoded, load_named_template, load_tokenizer, name_of, parsed_json, read_bytes, read_json, read_text
from .usage import UsageError

__all__ = ["TEMPLATE_HELP", "Generation", "Request", "add_arguments"]

TEMPLATE_HELP = "family, model id, JSON file, chat template, folder or repository (see `response-template ls`)"


class Generation(NamedTuple):
    """What a model generated, and after what: `content` is text or token ids."""

    content: str | list[int]
    prefix: str
    tools: Any


def add_arguments(command: argparse.ArgumentParser, *, on_error: bool = True) -> None:
    """Add the arguments that say what is parsed with what, and (`on_error`) what happens where it can't be."""
    command.add_argument("template", metavar="TEMPLATE", help=TEMPLATE_HELP)
    command.add_argument(
        "file",
        nargs="?",
        default="-",
        metavar="FILE",
        help="the generated text, every character of it (default: stdin)",
    )
    prompt = command.add_argument_group("what belongs to the text")
    either = prompt.add_mutually_exclusive_group()
    either.add_argument(
        "--prefix", metavar="TEXT", help="the prompt, or its end (in bash, $'<think>\\n' has a newline)"
    )
    either.add_argument("--prefix-file", metavar="FILE", help="file with the prompt (default: no prompt)")
    prompt.add_argument(
        "--tools", metavar="FILE", help="JSON file with the request's tools; arguments are typed by them"
    )
    prompt.add_argument(
        "--end",
        action="append",
        metavar="TEXT",
        help="what ends the generation, <|im_end|> for example; may be repeated",
    )
    prompt.add_argument(
        "--ids", action="store_true", help="token ids as a JSON list instead of text; needs --tokenizer"
    )
    prompt.add_argument(
        "--tokenizer", metavar="REPO_OR_DIR", help="what decodes the ids; its own end tokens end the text"
    )
    if on_error:
        prompt.add_argument(
            "--on-error",
            choices=("raise", "keep"),
            default="raise",
            help="what can't be parsed: an error (default), or kept in the message under `malformed`",
        )


class Request:
    """The arguments, read: a loaded template, the tokenizer if there is one, the options of parsing."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self.file: str = arguments.file
        if arguments.ids != bool(arguments.tokenizer):
            raise UsageError("--ids and --tokenizer go together: token ids are decoded by a tokenizer")
        if [arguments.file, arguments.template, arguments.prefix_file, arguments.tools].count("-") > 1:
            raise UsageError("only one of the arguments can be stdin")
        named = load_named_template(arguments.template)
        if not named.origin.startswith("the file") and named.origin != f"family {arguments.template}":
            console.hint(f"response template: {named.origin}")
        self.template: ResponseTemplate = named.template
        self.tokenizer = load_tokenizer(arguments.tokenizer) if arguments.ids else None
        self.prefix = read_text(arguments.prefix_file) if arguments.prefix_file else arguments.prefix or ""
        self.tools: Any = None if arguments.tools is None else read_json(arguments.tools)
        self._end: list[str] | None = arguments.end
        self.on_error = getattr(arguments, "on_error", "raise")

    def generation(self) -> Generation:
        """The one in the file."""
        text = read_text(self.file)
        if self.tokenizer is None:
            return Generation(text, self.prefix, self.tools)
        return Generation(_ids(parsed_json(text, "the list of token ids")), self.prefix, self.tools)

    def generations(self) -> Iterator[Generation | UsageError]:
        """Those of a file with one in each line: its text (or ids), or an object that also has its own prefix and tools.

        A line that is neither gives the error that says so, and those that follow it come all the same.
        """
        for number, line in enumerate(read_bytes(self.file).split(b"\n"), 1):
            if line.strip():
                try:
                    yield self._of_line(line, f"line {number} of {name_of(self.file)}")
                except UsageError as error:
                    yield error

    def _of_line(self, line: bytes, place: str) -> Generation:
        value = parsed_json(decoded(line, place), place)
        key = "output" if self.tokenizer is None else "ids"
        prefix, tools = self.prefix, self.tools
        if isinstance(value, dict):
            if key not in value:
                raise UsageError(f"{place} has no key {key!r}: write the {key} as it is, or an object that has it")
            prefix, tools = value.get("prefix", prefix), value.get("tools", tools)
            value = value[key]
        if not isinstance(prefix, str):
            raise UsageError(f"{place}: prefix must be a string")
        if self.tokenizer is not None:
            return Generation(_ids(value), prefix, tools)
        if not isinstance(value, str):
            raise UsageError(f"{place} must be a string with what was generated (for token ids: --ids)")
        return Generation(value, prefix, tools)

    def message(self, generation: Generation) -> dict[str, Any]:
        """The message that it is."""
        content, prefix, tools = generation
        options: dict[str, Any] = {"prefix": prefix, "tools": tools, "on_error": self.on_error}
        if self.tokenizer is None:
            return parse_response(str(content), self.template, end=self._end, **options)
        from transformers_response_parsing.hf.tokenizer import parse

        message: dict[str, Any] = parse(self.tokenizer, content, self.template, **options, **self._own_end())
        return message

    def parser(self, generation: Generation) -> ResponseParser:
        """A parser that is about to be fed with it."""
        options: dict[str, Any] = {"prefix": generation.prefix, "tools": generation.tools, "on_error": self.on_error}
        if self.tokenizer is None:
            return ResponseParser(self.template, end=self._end, **options)
        from transformers_response_parsing.hf.tokenizer import make_parser

        return make_parser(self.tokenizer, self.template, **options, **self._own_end())

    def text(self, generation: Generation) -> str:
        """All of it as text."""
        return "".join(self.pieces(generation, max(1, len(generation.content))))

    def doubt(self, generation: Generation, message: dict[str, Any]) -> str:
        """Why the template may not be the one of the model that wrote this, or ""."""
        return doubt(self.template, self.text(generation), message)

    @property
    def end(self) -> list[str] | None:
        """What ends the generation: what was asked for, else the tokenizer's own tokens."""
        if self._end is not None or self.tokenizer is None:
            return self._end
        from transformers_response_parsing.hf.tokenizer import end_tokens

        return end_tokens(self.tokenizer) or None

    def pieces(self, generation: Generation, size: int) -> Iterator[str]:
        """The text in pieces of so many characters, or of so many token ids."""
        content = generation.content
        if isinstance(content, str):
            for start in range(0, len(content), size):
                yield content[start : start + size]
            return
        from transformers_response_parsing.hf.decode import incremental_decoder

        decoder = incremental_decoder(self.tokenizer)
        for start in range(0, len(content), size):
            yield decoder.push(content[start : start + size])
        yield decoder.finish()

    def _own_end(self) -> dict[str, Any]:
        return {} if self._end is None else {"end": self._end}


def _ids(value: Any) -> list[int]:
    if not isinstance(value, list) or not all(type(token) is int and token >= 0 for token in value):
        raise UsageError("token ids must be a JSON list of numbers, of one sequence (for several: --jsonl)")
    return value
