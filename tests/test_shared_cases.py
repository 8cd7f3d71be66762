# SPDX-License-Identifier: Apache-2.0
"""The project's collection of inputs that fail elsewhere (../shared/cases, or TRP_SHARED), as its README says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chunkings import chunks
from hf.helpers import has, make_tokenizer

import transformers_response_parsing as trp

SHARED = Path(os.environ.get("TRP_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CASES = SHARED / "cases"
WAYS = ("whole", "chars", "seeded:1:4", "seeded:7:20")

# Not supported yet, each with the reason. A case that passes must leave the list.
UNSUPPORTED = {
    "C02": "a stray closing tag is dropped; that what came before was a thought would be known only then (debatable)",
    "F08": "unescaped quotes have no one reading: kept as malformed, with the text (debatable)",
    "J05": "a name that ends in 'json' may be meant (debatable)",
}

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"needs {CASES}, which is not part of the repository")


def load(name: str, *, api: bool = False) -> list[Any]:
    """The cases of a file as parameters, those that need a tokenizer (`api`) or the others."""
    path = CASES / name
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    parameters = []
    for case in map(json.loads, lines):
        if ("api" in case) != api:
            continue
        marks = [pytest.mark.xfail(reason=UNSUPPORTED[case["id"]], strict=True)] if case["id"] in UNSUPPORTED else []
        parameters.append(pytest.param(case, id=case["id"], marks=marks))
    return parameters


def template_of(case: dict[str, Any]) -> Any:
    """The case's own template, or that of its family; skips where the library has none yet."""
    if "template" in case:
        return case["template"]
    try:
        return trp.get_template(case["family"]).response_template
    except trp.ResponseParsingError:
        pytest.skip(f"the library has no template for the family {case['family']}")


def generation(case: dict[str, Any]) -> tuple[str, str]:
    """What the model generated, and what `@GEN` stands for in the expectation."""
    recipe = case.get("output_gen")
    if recipe is None:
        return case["output"], ""
    repeated = recipe["unit"] * recipe["n"]
    return recipe["before"] + repeated + recipe["after"], repeated


def cut(case: dict[str, Any], text: str) -> list[list[str]]:
    """The ways of feeding a case: the cut that triggers it, or several."""
    if "chunks" in case:
        return [case["chunks"]]
    if "chunk" in case:
        return [chunks(f"size:{case['chunk']}", text)]
    if "first_text_by" in case:
        return [chunks("size:4", text)]
    return [chunks(name, text) for name in WAYS]


def same(got: Any, wanted: Any, *, strict_ws: bool, repeated: str) -> bool:
    """Equal as the cases' README says: types count, white space around texts only with `strict_ws`."""
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and got.keys() == wanted.keys()
            and all(same(got[key], wanted[key], strict_ws=strict_ws, repeated=repeated) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(same(*pair, strict_ws=strict_ws, repeated=repeated) for pair in zip(got, wanted, strict=True))
        )
    if isinstance(wanted, str):
        wanted = wanted.replace("@GEN", repeated) if repeated else wanted
        return isinstance(got, str) and (got == wanted if strict_ws else got.strip() == wanted.strip())
    return type(got) is type(wanted) and got == wanted


def visible(message: dict[str, Any]) -> dict[str, Any]:
    """The message as the cases write it: no `malformed`, no `id` of a call, no empty values."""
    found = {key: value for key, value in message.items() if key != "malformed" and value not in ("", None, [])}
    calls = found.get("tool_calls")
    if isinstance(calls, list):
        found["tool_calls"] = [
            {key: value for key, value in call.items() if key != "id"} if isinstance(call, dict) else call
            for call in calls
        ]
    return found


def check(case: dict[str, Any], message: dict[str, Any], repeated: str) -> None:
    """One of the right answers, or any if the case only asks for an end."""
    if case.get("any_result"):
        return
    answers = [case["expected"], *case.get("accept", [])]
    strict_ws = bool(case.get("strict_ws"))
    assert any(same(visible(message), answer, strict_ws=strict_ws, repeated=repeated) for answer in answers), message


def parse(case: dict[str, Any]) -> None:
    """Feed a case in each of its ways and check what comes out."""
    template = template_of(case)
    text, repeated = generation(case)
    options = {"tools": case.get("tools"), "on_error": "keep", "end": end_of(template)}
    for pieces in cut(case, text):
        parser = trp.ResponseParser(template, case["prefix"], **options)
        fed, first_text_at = 0, None
        for piece in pieces:
            events = parser.feed(piece)
            fed += len(piece)
            if first_text_at is None and any(event["type"] == "region_chunk" for event in events):
                first_text_at = fed
        message, _ = parser.finalize()
        check(case, message, repeated)
        if "first_text_by" in case:
            assert first_text_at is not None
            assert first_text_at <= case["first_text_by"] * len(text)
    if "chunks" not in case and "chunk" not in case:
        message = trp.parse_response(text, template, prefix=case["prefix"], **options)
        check(case, message, repeated)


def end_of(template: Any) -> list[str] | None:
    """What the tokenizer's methods would pass as `end`: the template's implicit closes stand in for its end tokens."""
    source = template if isinstance(template, dict) else trp.ResponseTemplate.load(template).source
    for field in source["fields"].values():
        if "open" not in field and "open_pattern" not in field and "close" in field:
            return [field["close"]] if isinstance(field["close"], str) else list(field["close"])
    return None


@pytest.mark.parametrize("case", load("engine.jsonl"))
def test_engine(case: dict[str, Any]) -> None:
    """The parser itself, on inputs that other implementations get wrong."""
    parse(case)


@pytest.mark.parametrize("case", load("templates.jsonl"))
def test_templates(case: dict[str, Any]) -> None:
    """The templates of the library, on what their models write."""
    parse(case)


@pytest.mark.parametrize("case", load("hard.jsonl"))
def test_hard(case: dict[str, Any]) -> None:
    """Malformed, truncated, hostile or confusing text."""
    parse(case)


@pytest.fixture
def plugin() -> Iterator[None]:
    """The plugin is enabled, without the library's templates, and disabled again."""
    trp.enable(library=False)
    yield
    trp.disable()


def encode(tokenizer: Any, form: str, texts: list[str]) -> Any:
    """Texts in one of the forms that `generate` and `apply_chat_template` hand out; of a single form, the first text."""
    rows = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    width = max(map(len, rows))
    padded = [row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows]
    if form == "text":
        return texts[0]
    if form == "list_text":
        return texts
    if form == "empty_batch":
        return []
    if form == "ids_list":
        return rows[0]
    if form == "message_end_ids":
        return rows[0] + [tokenizer.eos_token_id] + [tokenizer.pad_token_id] * 3
    if form == "batch_encoding":
        from transformers import BatchEncoding

        return BatchEncoding({"input_ids": [rows[0]], "attention_mask": [[1] * len(rows[0])]})
    module = pytest.importorskip("numpy" if form.startswith("np") else "torch")
    return getattr(module, "array" if form.startswith("np") else "tensor")(rows[0] if form.endswith("1d") else padded)


@pytest.mark.parametrize("case", load("engine.jsonl", api=True))
def test_tokenizer(plugin: None, case: dict[str, Any]) -> None:
    """The tokenizer's method takes every form of response and prefix."""
    api = case["api"]
    if api.get("legacy_schema"):
        pytest.skip("the old response_schema has its own tests: tests/hf/test_legacy.py")
    if "torch" in f"{api['response']} {api['prefix']}" and not has("torch"):
        pytest.skip("needs torch")
    tokenizer = make_tokenizer()
    template = template_of(case)
    explicit = bool(api.get("explicit_template"))
    if not explicit:
        tokenizer.response_template = template
    arguments = [template] if explicit else []
    outputs, expected = case["output"], case["expected"]
    prefix = encode(tokenizer, api["prefix"], [case["prefix"]])
    if api["response"] in ("list_text", "np2d", "torch2d", "empty_batch"):
        got = tokenizer.parse_response(encode(tokenizer, api["response"], outputs), *arguments, prefix=prefix)
        wanted = [] if api["response"] == "empty_batch" else expected
    else:
        got = [
            tokenizer.parse_response(encode(tokenizer, api["response"], [output]), *arguments, prefix=prefix)
            for output in outputs
        ]
        wanted = expected
    assert same([visible(message) for message in got], wanted, strict_ws=False, repeated="")
