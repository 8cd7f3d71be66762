# SPDX-License-Identifier: Apache-2.0
"""`parse` and `stream`: texts and token ids from files and stdin, templates by every kind of name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

import transformers_response_parsing as trp

REPLY = "<think>\nHm.\n</think>\n\nHello!<|im_end|>"
MESSAGE = {"role": "assistant", "reasoning_content": "Hm.", "content": "Hello!"}
CALL = '<tool_call>\n{"name": "f", "arguments": {"x": "5"}}\n</tool_call><|im_end|>'
TOOLS = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
]
# A body of JSON that may be broken.
STRICT = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<a>",
    "fields": {
        "tool_calls": {"open": "<call>", "close": "</call>", "repeats": True, "content": "json"},
        "content": {},
    },
}


def test_parse_reads_stdin_and_writes_the_message() -> None:
    done = run("parse", "qwen3", stdin=REPLY)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == MESSAGE
    assert done.out.count("\n") == 5
    assert run("parse", "qwen3", "-", "--json", stdin=REPLY).out == json.dumps(MESSAGE) + "\n"


def test_every_character_counts(tmp_path: Path) -> None:
    """Line ends stay as they are, and so does the newline at the end; only a byte order mark is none of the text."""
    file = tmp_path / "output.txt"
    file.write_bytes("\ufeffone\r\ntwo ✓\n".encode())
    template = tmp_path / "plain.json"
    template.write_text(
        '{"start_anchor": "<a>", "fields": {"content": {"content_args": {"strip": false}}}}', encoding="utf-8"
    )
    assert json.loads(run("parse", str(template), str(file)).out) == {"content": "one\r\ntwo ✓\n"}


def test_the_prompt_says_what_has_begun(tmp_path: Path) -> None:
    prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"
    (tmp_path / "prompt.txt").write_text(prompt, encoding="utf-8")
    for option in (("--prefix", prompt), ("--prefix-file", str(tmp_path / "prompt.txt"))):
        assert json.loads(run("parse", "qwen3", *option, stdin="Hm.\n</think>\n\nHello!<|im_end|>").out) == MESSAGE


def test_tools_type_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    written = "<tool_call>\n<function=f>\n<parameter=x>\n5\n</parameter>\n</function>\n</tool_call><|im_end|>"
    done = run("parse", "qwen3_5", "--tools", str(tmp_path / "tools.json"), stdin=written)
    assert json.loads(done.out)["tool_calls"][0]["function"]["arguments"] == {"x": "5"}


def test_end_cuts_the_text() -> None:
    done = run("parse", "qwen3", "--end", "STOP", "--end", "HALT", stdin="Hello!HALT and more")
    assert json.loads(done.out) == {"role": "assistant", "content": "Hello!"}


@pytest.mark.parametrize("command", ["parse", "stream"])
def test_what_can_t_be_parsed_is_an_error_or_kept(command: str, tmp_path: Path) -> None:
    template = tmp_path / "strict.json"
    template.write_text(json.dumps(STRICT), encoding="utf-8")
    done = run(command, str(template), "--json", stdin='Hi.<call>{"a": 1}</call><call>{"b": nope}</call>Bye.')
    assert done.code == 1
    assert done.err.splitlines()[-3 if command == "parse" else 0].startswith("error: field 'tool_calls', at character ")
    assert "^" in done.err.splitlines()[-1]
    assert '{"a": 1}' in done.out  # nothing that was parsed is lost
    done = run(command, str(template), "--on-error", "keep", "--json", stdin='<call>{"b": nope}</call>Bye.')
    assert (done.code, done.err) == (1, "")
    message = json.loads(done.out.splitlines()[-1])
    message = message.get("message", message)
    assert message["content"] == "Bye."
    assert message["malformed"][0]["raw"] == '{"b": nope}'


def test_a_batch_is_a_message_a_line_and_goes_on_after_an_error(tmp_path: Path) -> None:
    template = tmp_path / "strict.json"
    template.write_text(json.dumps(STRICT), encoding="utf-8")
    lines: list[Any] = ["One.", {"output": "Two.", "prefix": "<a>And "}, "<call>nope</call>", "", {"output": "Four."}]
    text = "\n".join(json.dumps(line) if line else "" for line in lines)
    done = run("parse", str(template), "--jsonl", stdin=text)
    assert done.code == 1
    assert done.err == "1 of 4 could not be parsed\n"
    messages = [json.loads(line) for line in done.out.splitlines()]
    assert [message.get("content") for message in messages] == ["One.", "And Two.", None, "Four."]
    assert messages[2].keys() == {"error", "field", "offset", "partial_message"}
    assert run("parse", str(template), "--jsonl", stdin='"One."').code == 0


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"nope", "line 2 of stdin is not valid JSON: "),
        (b"[1]", "line 2 of stdin must be a string with what was generated (for token ids: --ids)"),
        (b'{"text": "x"}', "line 2 of stdin has no key 'output'"),
        (b'{"output": "x", "prefix": 1}', "line 2 of stdin: prefix must be a string"),
        (b'"\xff"', "line 2 of stdin is not UTF-8 (byte 1)"),
    ],
)
def test_a_wrong_line_of_a_batch_is_told_and_the_others_are_parsed(line: bytes, problem: str) -> None:
    done = run("parse", "qwen3", "--jsonl", stdin=b'\xef\xbb\xbf"One."\r\n' + line + b'\n"Three."\n')
    assert done.code == 1
    assert done.err.startswith(problem)
    assert done.err.endswith("\n1 of 3 could not be parsed\n")
    one, wrong, three = map(json.loads, done.out.splitlines())
    assert (one["content"], three["content"]) == ("One.", "Three.")
    assert wrong.keys() == {"error"}
    assert wrong["error"].startswith(problem)


def test_stream_shows_events_as_they_come() -> None:
    done = run("stream", "qwen3", "--chunk", "1", "--json", stdin=REPLY)
    assert (done.code, done.err) == (0, "")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[-1] == {"type": "message", "message": MESSAGE}
    chunks = [event["text"] for event in events if event["type"] == "region_chunk"]
    assert "".join(chunks) == "Hm.\nHello!"
    assert max(map(len, chunks)) == 1
    whole = run("stream", "qwen3", "--chunk", "1000", "--json", stdin=REPLY)
    assert len(whole.out.splitlines()) < len(events)
    done = run("stream", "qwen3", stdin=REPLY)
    assert "┌ reasoning_content\n  │ Hm." in done.out
    assert json.loads(done.out.partition("The message\n")[2]) == MESSAGE


def test_stream_begins_with_what_the_prompt_wrote() -> None:
    done = run("stream", "qwen3", "--json", "--prefix", "<|im_start|>assistant\n<think>\n", stdin="Hm.")
    assert json.loads(done.out.splitlines()[0]) == {"type": "region_open", "field": "reasoning_content"}


@pytest.mark.parametrize("size", ["0", "-1", "x"])
def test_a_chunk_has_at_least_one_character(size: str) -> None:
    done = run("stream", "qwen3", f"--chunk={size}", stdin=REPLY)
    assert done.code == 2
    assert "--chunk" in done.err


@pytest.fixture
def tokenizer(tmp_path: Path) -> Any:
    """One token a byte, the markers of ChatML, saved in a folder with a response template of its own."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True) for token in ("<|im_start|>", "<|im_end|>")])
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|im_end|>")
    made.save_pretrained(tmp_path / "model")
    trp.push_template(tmp_path / "model", trp.get_template("qwen3").response_template)
    return made


@pytest.mark.parametrize("command", ["parse", "stream", "explain"])
def test_token_ids_are_decoded_with_their_special_tokens(command: str, tokenizer: Any, tmp_path: Path) -> None:
    """The folder is the template's, too; its end token ends the text."""
    folder = str(tmp_path / "model")
    ids = tokenizer(REPLY + "and more ✓", add_special_tokens=False)["input_ids"]
    done = run(command, folder, "--ids", "--tokenizer", folder, "--json", stdin=json.dumps(ids))
    assert done.code == 0, done.err
    message = json.loads(done.out if command == "explain" else done.out.splitlines()[-1])
    assert message.get("message", message) == MESSAGE
    assert f"response template: the one in {folder}" in done.err


def test_batches_of_token_ids(tokenizer: Any, tmp_path: Path) -> None:
    ids = tokenizer(REPLY, add_special_tokens=False)["input_ids"]
    lines = f"{json.dumps(ids)}\n{json.dumps({'ids': ids})}\n"
    done = run("parse", "qwen3", "--jsonl", "--ids", "--tokenizer", str(tmp_path / "model"), stdin=lines)
    assert [json.loads(line) for line in done.out.splitlines()] == [MESSAGE, MESSAGE]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("parse", "qwen3", "--ids"), "--ids and --tokenizer go together"),
        (("parse", "qwen3", "--tokenizer", "x"), "--ids and --tokenizer go together"),
        (("parse", "qwen3", "--tools", "-"), "only one of the arguments can be stdin"),
        (("parse", "nonsense"), "no ready-made template for 'nonsense'"),
        (("parse", "gone.json"), "gone.json: No such file or directory"),
        (("parse", "qwen3", "gone.txt"), "gone.txt: No such file or directory"),
    ],
)
def test_wrong_arguments_exit_with_2_and_one_line(arguments: tuple[str, ...], problem: str) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {problem}")
    assert done.err.count("\n") == 1


def test_templates_by_every_kind_of_name(tmp_path: Path) -> None:
    template = trp.get_template("qwen3").response_template
    (tmp_path / "own.json").write_text(json.dumps(template), encoding="utf-8")
    (tmp_path / "library.json").write_text(json.dumps({"name": "x", "response_template": template}), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"response_template": template}), encoding="utf-8")
    for name in ("qwen3", "qwen/qwen3-8b", str(tmp_path / "own.json"), str(tmp_path / "library.json"), str(tmp_path)):
        done = run("parse", name, stdin=REPLY)
        assert json.loads(done.out) == MESSAGE, (name, done.err)


def test_a_chat_template_leads_to_the_library_s_template(tmp_path: Path) -> None:
    """A guess is told to be one."""
    guessed = "... <|im_start|> ... <function=...> <parameter=...> ... <think> ..."
    (tmp_path / "chat_template.jinja").write_text(guessed, encoding="utf-8")
    for name in (tmp_path, tmp_path / "chat_template.jinja"):
        done = run("parse", str(name), stdin="Hello!<|im_end|>")
        assert json.loads(done.out)["content"] == "Hello!"
        assert done.err.startswith("response template: family qwen3_5, NOT PROVEN: ")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    done = run("parse", str(tmp_path), stdin="Hello!")
    assert done.code == 1
    assert "the library has no response template that fits" in done.err


def test_a_wrong_template_is_told_with_all_its_problems(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text(
        '{"start_anchor": "<a>", "fields": {"content": {"opn": "a", "close": 5}}}', encoding="utf-8"
    )
    done = run("parse", str(tmp_path / "wrong.json"), stdin="Hello!")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: response template has 2 problems:\n  fields.content.opn: ")


FOREIGN = "<think>\nHm.\n</think>\n\nHello!"


@pytest.mark.parametrize("command", ["parse", "stream", "explain"])
def test_a_template_that_finds_nothing_is_doubted(command: str, tmp_path: Path) -> None:
    """Marks of other families in a text that is all content, or a text that no field takes anything of."""
    template = tmp_path / "strict.json"
    template.write_text(json.dumps(STRICT), encoding="utf-8")
    done = run(command, str(template), stdin=FOREIGN)
    assert done.code == 0
    assert "nothing in the text is a delimiter of the template, but it has <think>" in done.err
    assert "`response-template find REPO_OR_DIR_OR_JINJA` says which template fits" in done.err
    only_calls = {**STRICT, "fields": {"tool_calls": STRICT["fields"]["tool_calls"]}}  # type: ignore[index]
    template.write_text(json.dumps(only_calls), encoding="utf-8")
    assert "the template finds nothing in the text" in run(command, str(template), stdin="Hello!").err


@pytest.mark.parametrize("text", ["Hello!", "", " \n", "a < b and <b>bold</b>", REPLY])
def test_a_template_is_not_doubted_without_reason(text: str) -> None:
    assert run("parse", "qwen3", stdin=text).err == ""


def test_a_batch_is_doubted_once(tmp_path: Path) -> None:
    template = tmp_path / "strict.json"
    template.write_text(json.dumps(STRICT), encoding="utf-8")
    done = run("parse", str(template), "--jsonl", stdin="\n".join(map(json.dumps, [FOREIGN, "Hi.", FOREIGN])))
    assert done.code == 0
    assert done.err.startswith("2 of 3, the first of them: nothing in the text is a delimiter")
    assert done.err.count("\n") == 1
