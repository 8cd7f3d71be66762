# SPDX-License-Identifier: Apache-2.0
"""`check`: the round trip as a table, for one chat template or many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from hf.helpers import make_tokenizer

import transformers_response_parsing as trp

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FITS: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {"reasoning_content": {"open": "<think>", "close": "</think>"}, "content": {"close": "<|im_end|>"}},
}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat_template.jinja"
    file.write_text(CHAT, encoding="utf-8")
    return file


def template_file(folder: Path, template: Any) -> str:
    file = folder / "template.json"
    file.write_text(json.dumps(template), encoding="utf-8")
    return str(file)


def test_a_template_that_fits_passes(chat: Path, tmp_path: Path) -> None:
    done = run("check", str(chat), "--template", template_file(tmp_path, FITS))
    assert done.code == 0, done.out
    assert done.out.startswith(f"{chat} with the file {tmp_path}/template.json\n")
    assert "\ncontent only " in done.out
    assert "FAIL" not in done.out
    assert "rendered cases pass" in done.out


def test_one_that_does_not_exits_with_1_and_shows_the_evidence(chat: Path, tmp_path: Path) -> None:
    wrong = {**FITS, "fields": {"content": {"close": "<|im_end|>"}}}
    done = run("check", str(chat), "--template", template_file(tmp_path, wrong))
    assert done.code == 1
    assert "reasoning + content  " in done.out
    assert "FAIL  content is '<think>" in done.out
    assert "  expected  {" in done.out


def test_json_is_the_report(chat: Path, tmp_path: Path) -> None:
    done = run("check", str(chat), "--template", template_file(tmp_path, FITS), "--json")
    (report,) = json.loads(done.out)
    assert (report["source"], report["ok"]) == (str(chat), True)
    assert report["passed"] == report["rendered"] > 0
    assert {case["status"] for case in report["cases"]} == {"pass", "not rendered"}


def test_many_are_a_line_each(chat: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jinja"
    other.write_text("{{ messages }}", encoding="utf-8")
    done = run("check", str(chat), str(other))
    assert done.code == 1
    assert len(done.out.splitlines()) == 2
    assert f"the library has no response template that fits {other}" in done.out
    assert done.err == "0 of 2 proven\n" or done.err == "1 of 2 proven\n"
    done = run("check", str(chat), str(chat), "--template", template_file(tmp_path, FITS), "--json")
    assert done.code == 0
    assert [report["ok"] for report in json.loads(done.out)] == [True, True]
    assert done.err == "2 of 2 proven\n"


def test_a_folder_is_checked_with_its_tokenizer_and_its_own_template(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tokenizer = make_tokenizer()
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    trp.push_template(folder, FITS)
    done = run("check", str(folder))
    assert done.code == 0, done.out + done.err
    assert done.out.startswith(f"{folder} with the one in {folder}/tokenizer_config.json\n")


def test_a_folder_without_a_tokenizer_is_checked_with_the_chat_template_alone(chat: Path, tmp_path: Path) -> None:
    done = run("check", str(tmp_path), "--template", template_file(tmp_path, FITS))
    assert done.code == 0, done.err
    assert done.err.startswith("with the chat template alone: the tokenizer of ")


def test_what_is_not_there_exits_with_2(tmp_path: Path) -> None:
    done = run("check", str(tmp_path / "gone.jinja"))
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("No such file or directory\n")
