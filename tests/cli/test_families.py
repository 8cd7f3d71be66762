# SPDX-License-Identifier: Apache-2.0
"""`ls`, `show` and `find`: the library from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run

import transformers_response_parsing as trp

GUESSED = "... <|im_start|> ... <function=...> <parameter=...> ... <think> ..."


def test_ls_lists_every_family_with_its_proof() -> None:
    done = run("ls")
    assert done.code == 0
    lines = done.out.splitlines()
    assert len(lines) == 1 + len(trp.list_templates())
    assert lines[0].split() == ["family", "proven", "on", "models"]
    qwen3 = next(line for line in lines if line.startswith("qwen3 "))
    assert "chat templates" in qwen3
    assert "Qwen/Qwen3-0.6B +" in qwen3
    assert "response-template show NAME" in done.err


def test_ls_with_a_word_looks_at_families_and_models() -> None:
    done = run("ls", "gpt-oss-20B", "--json")
    assert [entry["name"] for entry in json.loads(done.out)] == ["gptoss"]
    assert "min_transformers" not in json.loads(done.out)[0]
    done = run("ls", "gpt-oss-20b", "--long", "--json")
    assert json.loads(done.out)[0]["min_transformers"] == "5.16.0"
    assert run("ls", "gpt-oss-20b", "-l").out.splitlines()[0].split()[3] == "transformers"
    assert "smollm3" in run("ls", "SmolLM3-3B").out
    done = run("ls", "nonsense")
    assert (done.code, done.out, done.err) == (1, "", "no family and no model with 'nonsense' in it\n")
    assert run("ls", "nonsense", "--json").out == "[]\n"


def test_show_tells_all_of_a_family() -> None:
    done = run("show", "Qwen/Qwen3-8B")
    assert done.code == 0
    for part in (
        "qwen3\n",
        "Models\n",
        "Qwen/Qwen3-8B\n",
        "Proof\n",
        "Response template\n",
        "Example: ",
        "5.16.0 and newer",
    ):
        assert part in done.out


def test_show_template_writes_what_can_be_loaded(tmp_path: Path) -> None:
    done = run("show", "qwen3", "--template")
    assert json.loads(done.out) == trp.get_template("qwen3").response_template
    entry = next(entry for entry in trp.list_templates() if entry.portable_template)
    done = run("show", entry.name, "--template", "--portable")
    assert json.loads(done.out) == entry.portable_template


def test_show_of_a_template_with_extensions_says_who_reads_it() -> None:
    entry = next(entry for entry in trp.list_templates() if entry.portable_template)
    assert "newer read the portable one (--portable)" in run("show", entry.name).out


def test_find_says_which_why_and_whether_it_is_proven(tmp_path: Path) -> None:
    file = tmp_path / "chat_template.jinja"
    file.write_text(GUESSED, encoding="utf-8")
    done = run("find", str(file))
    assert done.code == 1
    assert done.out.startswith("qwen3_5  a guess, not proven\n")
    assert "response-template check" in done.err
    found = json.loads(run("find", str(file), "--json").out)
    assert (found["family"], found["proven"]) == ("qwen3_5", False)
    file.write_text("{{ messages }}", encoding="utf-8")
    done = run("find", str(file))
    assert (done.code, done.out) == (1, "")
    assert done.err == f"no ready-made template fits the chat template of {file}\n"
    assert json.loads(run("find", str(file), "--json").out)["family"] is None


@pytest.mark.shared
def test_find_in_a_folder_a_config_and_a_file(tmp_path: Path) -> None:
    """The chat template is the same wherever it is; `--template` writes the response template alone."""
    chats = Path(__file__).resolve().parents[3] / "shared" / "facts" / "chat_templates"
    if not chats.is_dir():
        pytest.skip("needs ../shared")
    source = (
        (chats / "Qwen3.jinja")
        if (chats / "Qwen3.jinja").is_file()
        else next(iter(sorted(chats.glob("*Qwen3*.jinja"))))
    )
    text = source.read_text(encoding="utf-8")
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    (first / "chat_template.jinja").write_text(text, encoding="utf-8")
    config = {"chat_template": [{"name": "default", "template": text}, {"name": "rag", "template": text}]}
    (second / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    answers = [run("find", str(place), "--json") for place in (source, first, second, second / "tokenizer_config.json")]
    assert {answer.code for answer in answers} == {0}, [answer.err for answer in answers]
    assert len({json.loads(answer.out)["family"] for answer in answers}) == 1
    done = run("find", str(first), "--template")
    assert json.loads(done.out) == json.loads(answers[0].out)["response_template"]
    assert "proven" in done.err


def test_what_has_no_chat_template_is_told(tmp_path: Path) -> None:
    done = run("find", str(tmp_path))
    assert (done.code, done.err) == (1, f"error: {tmp_path} has no chat template\n")
    done = run("find", str(tmp_path / "gone.jinja"))
    assert (done.code, done.err) == (2, f"error: {tmp_path / 'gone.jinja'}: No such file or directory\n")
    (tmp_path / "latin.jinja").write_bytes(b"caf\xe9")
    done = run("find", str(tmp_path / "latin.jinja"))
    assert (done.code, done.err) == (2, f"error: {tmp_path / 'latin.jinja'} is not UTF-8 (byte 3)\n")
