# SPDX-License-Identifier: Apache-2.0
"""Malformed, cut-off and confusing outputs of many families (hard_inputs.jsonl), each with what a careful reader makes of it.

A line holds the family, the prompt's end, the output, and the message without its role: a call is its name and arguments, and
`malformed` are the raw texts of what can't be read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chunkings import chunks

import transformers_response_parsing as trp

CASES = [
    json.loads(line) for line in Path(__file__).with_name("hard_inputs.jsonl").read_text(encoding="utf-8").splitlines()
]


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """The message as the file writes it."""
    shown = {key: value for key, value in message.items() if key != "role"}
    if "tool_calls" in shown:
        shown["tool_calls"] = [call["function"] for call in shown["tool_calls"]]
    if "malformed" in shown:
        shown["malformed"] = [entry["raw"] for entry in shown["malformed"]]
    return shown


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("cut", ["whole", "chars", "seeded:3:7"])
def test_the_answer(case: dict[str, Any], cut: str) -> None:
    template = trp.ResponseTemplate.load(trp.get_template(case["family"]).response_template)
    parser = trp.ResponseParser(template, case["prefix"], tools=case.get("tools"), on_error="keep")
    for piece in chunks(cut, case["output"]):
        parser.feed(piece)
    # Compared as text: 7 is not 7.0, and a lone surrogate stays one.
    assert json.dumps(plain(parser.finalize()[0]), sort_keys=True) == json.dumps(case["message"], sort_keys=True)


def test_the_families_are_many() -> None:
    assert len({case["family"] for case in CASES}) >= 20
    assert len({case["id"] for case in CASES}) == len(CASES)
