# SPDX-License-Identifier: Apache-2.0
"""`response-template demo`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

from .console import Console
from .usage import UsageError

__all__ = ["register"]

_EXAMPLES = """\
  response-template demo                                 # four recorded outputs, about 15 seconds
  response-template demo --family qwen3_5 --speed 0.5    # one of them, at half the speed
  response-template demo --no-delay                      # at once
  response-template demo --model Qwen/Qwen3-0.6B --prompt "What is 17 * 23?"
  response-template demo --model ./models --gguf-file model.gguf --template qwen3
"""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    demo = add(
        "demo",
        _run,
        summary="watch outputs of chat models become messages, recorded ones or live from a model",
        examples=_EXAMPLES,
        details="With --json the recordings themselves are written, one a line, and nothing is played.",
    )
    demo.add_argument("--family", metavar="NAME", help="only this recording: smollm3, qwen3_5, gptoss or cohere")
    demo.add_argument("--speed", type=_speed, default=1.0, metavar="X", help="times the normal speed (default: 1)")
    demo.add_argument("--no-delay", action="store_true", help="everything at once (always so if not on a terminal)")
    live = demo.add_argument_group("live, with a model (needs torch)")
    live.add_argument("--model", metavar="PATH_OR_ID", help="a model that transformers can load")
    live.add_argument("--prompt", metavar="TEXT", default="What is the capital of Norway?", help="what to ask it")
    live.add_argument("--gguf-file", metavar="FILE", help="the GGUF file to load, of a model that comes as one")
    live.add_argument(
        "--template",
        metavar="NAME_OR_FILE",
        help="response template to use: a family, a model id, or a JSON file (default: the tokenizer's own or its family's)",
    )
    live.add_argument("--max-new-tokens", type=int, default=256, metavar="N", help="stop after N tokens (default: 256)")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    if arguments.model is not None:
        if arguments.json:
            raise UsageError("--json and --model don't go together: a live demo is for people")
        from transformers_response_parsing.demo_live import play_model

        play_model(
            console,
            arguments.model,
            prompt=arguments.prompt,
            gguf_file=arguments.gguf_file,
            template=arguments.template,
            max_new_tokens=arguments.max_new_tokens,
        )
        return 0
    from transformers_response_parsing.demo import play_recordings, recordings

    families = [recording["family"] for recording in recordings()]
    if arguments.family not in (None, *families):
        raise UsageError(f"no recording of {arguments.family!r}; there are: {', '.join(families)}")
    if arguments.json:
        for recording in recordings():
            if arguments.family in (None, recording["family"]):
                console.line(json.dumps(recording, ensure_ascii=False))
        return 0
    delayed = console.interactive and not arguments.no_delay
    play_recordings(console, family=arguments.family, speed=arguments.speed if delayed else None)
    return 0


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 < speed <= 1000:
        msg = "must be between 0 and 1000"
        raise argparse.ArgumentTypeError(msg)
    return speed
