# SPDX-License-Identifier: Apache-2.0
"""Through the tokenizer: batches of texts and of token ids, and ids to events while they come."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import transformers_response_parsing as trp

from . import formats
from .measure import Measured, Row, Settings, Target, Timed, clock, stopwatch, sweep
from .parsers import native_module, native_template
from .registry import Case
from .texts import asset, code, prose

__all__ = ["CASES", "byte_level_tokenizer"]

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_ADDED = ("<think>", "</think>", "<tool_call>", "</tool_call>")
_PROMPT = "<|im_start|>user\nWhat is the weather?<|im_end|>\n<|im_start|>assistant\n"


def _wrapped(backend: Any) -> Any:
    """A transformers tokenizer of the backend, as a model of the ChatML kind has it."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.response_template = formats.SMOLLM3
    return tokenizer


def _add_tokens(backend: Any) -> Any:
    from tokenizers import AddedToken

    backend.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in _SPECIAL])
    backend.add_tokens([AddedToken(text, special=False, normalized=False) for text in _ADDED])
    return backend


@functools.cache
def byte_level_tokenizer() -> Any:
    """A byte-level BPE tokenizer trained on the texts of this benchmark; about 3.5 characters a token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    backend.train_from_iterator(["".join(prose(4_000)), "".join(code(4_000))], trainer)
    return _wrapped(_add_tokens(backend))


@functools.cache
def pieces_tokenizer() -> Any:
    """A tokenizer of the SentencePiece kind: spaces are part of the pieces, characters it lacks are bytes."""
    from tokenizers import Tokenizer, decoders, models, normalizers, trainers

    backend = Tokenizer(models.BPE(byte_fallback=True))
    backend.normalizer = normalizers.Replace(" ", "\u2581")
    backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(vocab_size=600, max_token_length=6, show_progress=False)
    lines = "".join(prose(4_000)).splitlines() + "".join(code(4_000)).splitlines()
    backend.train_from_iterator(lines, trainer)
    return _wrapped(_add_tokens(backend))


@functools.cache
def qwen3_tokenizer() -> Any | None:
    """Qwen3's own tokenizer, if it was fetched."""
    folder = asset("qwen3")
    if folder is None:
        return None
    from tokenizers import Tokenizer

    return _wrapped(Tokenizer.from_file(str(folder / "tokenizer.json")))


@functools.cache
def replies(make: Callable[[], Any], count: int, tokens: int) -> tuple[list[str], list[list[int]]]:
    """Texts and ids of `count` different replies: reasoning, then content, then the end of the turn."""
    tokenizer = make()
    backend = tokenizer.backend_tokenizer
    body = tokens - 6
    pool = backend.encode("".join(prose(body * 8)), add_special_tokens=False).ids
    while len(pool) < body * 8:
        pool += pool
    begin = backend.encode("<think>\n", add_special_tokens=False).ids
    middle = backend.encode("</think>\n\n", add_special_tokens=False).ids
    end = backend.encode("<|im_end|>", add_special_tokens=False).ids
    draw = random.Random(5)
    ids = []
    for _ in range(count):
        start = draw.randrange(len(pool) - body)
        cut = start + body * 3 // 4
        ids.append([*begin, *pool[start:cut], *middle, *pool[cut : start + body], *end])
    return backend.decode_batch(ids, skip_special_tokens=False), ids


def _native_method() -> Any | None:
    """`parse_response` of transformers' own tokenizers, taken before the plugin replaces it."""
    if native_module() is None:
        return None
    from transformers import PreTrainedTokenizerBase

    return PreTrainedTokenizerBase.parse_response


def _run_batch(settings: Settings) -> Iterator[Row]:
    count, tokens = settings.pick((4_096, 2_000), (128, 500), (4, 20))
    kinds = [
        ("texts", byte_level_tokenizer, False, 6.0),
        ("ids.byte_level", byte_level_tokenizer, True, 6.0),
        ("ids.pieces", pieces_tokenizer, True, 2.5),
    ]
    if qwen3_tokenizer() is not None and settings.size != "tiny":
        kinds.append(("ids.qwen3", qwen3_tokenizer, True, 6.0))
    native = _native_method()
    trp.enable(library=False)
    try:
        for name, make, as_ids, wanted in kinds:
            tokenizer = make()
            texts, ids = replies(make, count, tokens)
            batch: Sequence[Any] = ids if as_ids else texts
            # By the clock on the wall: decoding a batch takes more than one thread.
            runs = {
                "ours": stopwatch(functools.partial(tokenizer.parse_response, batch, prefix=_PROMPT), time.perf_counter)
            }
            if native is not None:
                runs["native"] = stopwatch(
                    functools.partial(native, tokenizer, batch, prefix=_PROMPT), time.perf_counter
                )
            points = sweep(settings, [count], _constantly(Measured(count, runs)))
            row = Row(f"batch.{name}", f"{count:,} replies of {tokens:,} tokens", "us/reply", points)
            row.targets = [Target("ratio", wanted, True, points[0].ratios.get("native"))]
            yield row
    finally:
        trp.disable()


def _constantly(measured: Measured) -> Callable[[int], Measured]:
    return lambda _: measured


def _run_stream(settings: Settings) -> Iterator[Row]:
    """One token id at a time into events."""
    sizes = settings.pick((2_000, 8_000, 32_000, 128_000), (500, 1_000, 2_000, 4_000), (20, 40, 80, 160))
    kinds: list[tuple[str, Callable[[], Any]]] = [("byte_level", byte_level_tokenizer), ("pieces", pieces_tokenizer)]
    if qwen3_tokenizer() is not None and settings.size != "tiny":
        kinds.append(("qwen3", qwen3_tokenizer))
    for name, make in kinds:
        tokenizer = make()
        for way, ours in (("decoder", _decoder_run), ("streamer", _streamer_run)):

            def prepare(size: int, tokenizer: Any = tokenizer, make: Any = make, ours: Any = ours) -> Measured:
                ids = replies(make, 1, size)[1][0]
                runs = {"ours": ours(tokenizer, ids)}
                if native_module() is not None:
                    runs["native"] = _native_run(tokenizer, ids)
                return Measured(len(ids), runs)

            points = sweep(settings, sizes, prepare)
            title = "incremental decoder and parser" if way == "decoder" else "ResponseStreamer.put"
            row = Row(f"ids.{name}.{way}", f"ids to events: {title}", "us/token", points)
            row.targets = [
                Target(f"{size:,} tokens", 5.0, True, row.ratio_at(size)) for size in (2_000, 8_000, 128_000)
            ]
            row.targets.append(Target("exponent", 1.1, False, row.exponent()))
            yield row


def _decoder_run(tokenizer: Any, ids: Sequence[int]) -> Timed:
    from transformers_response_parsing.hf.decode import incremental_decoder

    template = trp.ResponseTemplate.load(formats.SMOLLM3)

    def run() -> float:
        parser = trp.ResponseParser(template, prefix="")
        decoder = incremental_decoder(tokenizer)
        push, feed = decoder.push, parser.feed
        begun = clock()
        for token in ids:
            feed(push((token,)))
        feed(decoder.finish())
        parser.finalize()
        return clock() - begun

    return run


def _streamer_run(tokenizer: Any, ids: Sequence[int]) -> Timed:
    import numpy as np

    tokens = [np.array([token]) for token in ids]  # as `generate` hands them over

    def run() -> float:
        streamer = trp.ResponseStreamer(tokenizer, prefix=_PROMPT, on_event=_drop)
        put = streamer.put
        put(tokens[0])  # stands for the prompt
        begun = clock()
        for token in tokens:
            put(token)
        streamer.end()
        return clock() - begun

    return run


def _drop(event: Any) -> None:
    """Nothing is done with the events."""


def _native_run(tokenizer: Any, ids: Sequence[int]) -> Timed:
    from tokenizers.decoders import DecodeStream

    module = native_module()
    assert module is not None
    template = native_template(formats.SMOLLM3)
    backend = tokenizer.backend_tokenizer

    def run() -> float:
        parser = module.ResponseParser(template, prefix="")
        stream = DecodeStream(skip_special_tokens=False)
        step, feed = stream.step, parser.feed
        begun = clock()
        for token in ids:
            text = step(backend, token)
            if text is not None:
                feed(text)
        parser.finalize()
        return clock() - begun

    return run


CASES = [Case("batch", _run_batch), Case("ids", _run_stream)]
