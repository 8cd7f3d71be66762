# SPDX-License-Identifier: Apache-2.0
"""`push` and `pull`, with a Hub on loopback and with folders."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, run, run_process
from hub.server import READER, WRITER, FakeHub

import transformers_response_parsing as trp

TEMPLATE = {"defaults": {"role": "assistant"}, "start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}
OTHER = {**TEMPLATE, "start_anchor": "<b>"}
_numbers = itertools.count(1)


@pytest.fixture
def repo_id() -> str:
    return f"org/cli-{next(_numbers)}"


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "template.json").write_text(json.dumps(TEMPLATE), encoding="utf-8")
    return str(tmp_path / "template.json")


def test_a_push_opens_a_pull_request_and_says_where(
    server: FakeHub, online: Callable[..., Done], repo_id: str, file: str
) -> None:
    repo = server.create(repo_id, tokenizer_config__json=b'{\n  "a": 1\n}\n')
    done = online("push", repo_id, file, token=READER)
    assert done.code == 0, done.err
    assert done.out == f"{server.endpoint}/{repo_id}/discussions/1\n"
    assert "pull request\n" in done.err
    written = repo.head("refs/pr/1").files["tokenizer_config.json"].decode()
    assert written.startswith('{\n  "a": 1,\n  "response_template": {\n')
    pulled = online("pull", repo_id, "--revision", "refs/pr/1")
    assert pulled.code == 0, pulled.err
    assert json.loads(pulled.out) == TEMPLATE
    assert f"from {repo_id} at " in pulled.err


def test_a_commit_with_json_and_a_title(server: FakeHub, online: Callable[..., Done], repo_id: str, file: str) -> None:
    repo = server.create(repo_id, tokenizer_config__json=b"{}")
    done = online("push", repo_id, file, "--commit", "--message", "The inverse", "--json", token=WRITER)
    answer = json.loads(done.out)
    assert (answer["status"], answer["changed"], answer["report"]) == ("commit", True, None)
    assert repo.head().summary == "The inverse"
    done = online("push", repo_id, file, "--commit", token=WRITER)
    assert (done.code, done.err) == (0, "already up to date\n")


def test_a_dry_run_shows_the_change_and_makes_none(
    server: FakeHub, online: Callable[..., Done], repo_id: str, file: str
) -> None:
    repo = server.create(repo_id, tokenizer_config__json=b'{\n  "a": 1\n}\n')
    head = repo.branches["main"]
    done = online("push", repo_id, file, "--dry-run")
    assert done.code == 0, done.err
    assert done.out.startswith("--- a/tokenizer_config.json\n+++ b/tokenizer_config.json\n@@ ")
    assert '+  "response_template": {' in done.out
    assert done.err.endswith(": this would change\n")
    assert repo.branches == {"main": head}
    plan = json.loads(online("push", repo_id, file, "--dry-run", "--json").out)
    assert (plan["changed"], plan["replaces"], plan["refused"]) == (True, False, [])


def test_another_template_is_replaced_only_with_overwrite(tmp_path: Path, file: str) -> None:
    """In a folder; the words are those of the command line."""
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"response_template": OTHER}), encoding="utf-8")
    done = run("push", str(tmp_path), file, "--dry-run")
    assert done.code == 1
    assert "it would be refused: another template is there, --overwrite replaces it" in done.err
    done = run("push", str(tmp_path), file)
    assert (done.code, done.out) == (1, "")
    assert "has another response template already; use --overwrite to replace it" in done.err
    assert '-  "start_anchor": "<b>"' in done.err
    done = run("push", str(tmp_path), file, "--overwrite")
    assert (done.code, done.out, done.err) == (0, f"{tmp_path / 'tokenizer_config.json'}\n", "written\n")
    assert json.loads(run("pull", str(tmp_path)).out) == TEMPLATE


def test_a_template_with_extensions_is_refused_or_its_portable_one_taken(
    server: FakeHub, online: Callable[..., Done], repo_id: str
) -> None:
    server.create(repo_id, tokenizer_config__json=b"{}")
    done = online("push", repo_id, "deepseek_v4", token=READER)
    assert (done.code, done.out) == (1, "")
    assert "use --allow-extensions" in done.err
    assert online("push", repo_id, "deepseek_v4", "--dry-run").code == 1
    assert online("push", repo_id, "deepseek_v4", "--portable", "--dry-run").code == 0


def test_portable_takes_the_library_s_or_refuses(tmp_path: Path) -> None:
    """By family, and for a file with the same template; what is lost is told. One that is portable stays as it is."""
    entry = trp.get_template("qwen3")
    file, model = tmp_path / "extended.json", tmp_path / "model"
    model.mkdir()
    for template in ("qwen3", str(file)):
        file.write_text(json.dumps(entry.response_template), encoding="utf-8")
        done = run("push", str(model), template, "--portable", "--overwrite")
        assert done.code == 0, done.err
        assert "is taken, which does without fields.tool_calls.content" in done.err
        assert json.loads(run("pull", str(model)).out) == entry.portable_template
        if template == "qwen3":
            assert "the portable template of qwen3 is taken" in done.err
    done = run("push", str(model), str(file), "--overwrite")
    assert done.code == 0
    assert "only this package reads fields.tool_calls.content" in done.err
    done = run("push", str(model), "qwen3", "--dry-run")
    assert "only this package reads" not in run("push", str(model), "gptoss", "--dry-run").err
    assert "only this package reads fields.tool_calls.content" in done.err
    file.write_text(json.dumps({**entry.response_template, "defaults": {}}), encoding="utf-8")
    for command in (
        ("push", str(model), str(file)),
        ("push", str(model), "mistral"),
        ("show", "mistral", "--template"),
    ):
        done = run(*command, "--portable")
        assert (done.code, done.out) == (1, "")
        assert "the library has no portable template in its place" in done.err


def test_a_file_is_no_place_for_a_template(file: str) -> None:
    for command in (("pull", file), ("push", file, "qwen3")):
        done = run(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"error: {file} is a file: name the folder that has it, or a repository (org/name)\n"


def test_a_folder_has_no_revision(tmp_path: Path, file: str) -> None:
    for command in (("pull", str(tmp_path)), ("push", str(tmp_path), file)):
        done = run(*command, "--revision", "main")
        assert (done.code, done.out) == (2, "")
        assert "leave --revision out" in done.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("find", "Foo/Bar"), "error: the repository 'Foo/Bar' is not in the local cache, and the Hub was not reached"),
        (
            ("parse", "Foo/Bar"),
            "error: the repository 'Foo/Bar' is not in the local cache, and the Hub was not reached",
        ),
        (("find", "Qwen/Qwen3-8B"), "`response-template show qwen3` shows it"),
        (("push", "Foo/Bar", "gptoss"), "error: "),
        (("pull", "Foo/Bar"), "error: "),
    ],
)
@pytest.mark.parametrize("listens", [False, True])
def test_without_a_connection_nothing_is_tried_twice(
    command: tuple[str, ...], said: str, listens: bool, tmp_path: Path
) -> None:
    """A Hub that hangs up on everybody counts who calls."""
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = listener.accept()
                    calls.append(address)
                    if listens:
                        connection.recv(10_000)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        port = listener.getsockname()[1]
        proxies = dict.fromkeys(
            ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), ""
        )
        where = {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "", **proxies}
        done = run_process(*command, **where)
    assert len(calls) == 1
    assert done.code == (1 if "Qwen" in command[1] else 2)
    assert f"http://127.0.0.1:{port} was not reached" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


def test_field_names_of_serving_engines(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert run("push", str(tmp_path), "qwen3", "--field-names", "thinking").code == 0
    assert "thinking" in json.loads(run("pull", str(tmp_path)).out)["fields"]


def test_pull_writes_a_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"response_template": TEMPLATE}), encoding="utf-8")
    target = tmp_path / "pulled.json"
    done = run("pull", str(tmp_path), "--output", str(target))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"from {tmp_path}; transformers 5.13.0 and newer read it\n"
    assert json.loads(target.read_text(encoding="utf-8")) == TEMPLATE
    answer = json.loads(run("pull", str(tmp_path), "--json").out)
    assert (answer["commit"], answer["min_transformers"]) == (None, "5.13.0")
    assert answer["response_template"] == TEMPLATE


def test_what_the_hub_refuses_exits_with_2_and_its_own_words(
    server: FakeHub, online: Callable[..., Done], repo_id: str, file: str
) -> None:
    done = online("pull", "org/nothing-here")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: Repository Not Found for url: ")
    assert "Traceback" not in done.err
    server.create(repo_id, tokenizer_config__json=b"{}")
    assert online("push", repo_id, file, "--commit", token=READER).code == 2
    done = online("pull", repo_id)
    assert done.code == 1  # it was read, and has none
    assert "has no response template" in done.err
    assert "`response-template find` looks for one" in done.err
    for command in (("pull",), ("push", "qwen3")):
        done = run(command[0], "a/b/c", *command[1:])
        assert done.code == 2
        assert done.err.startswith("error: there is no folder 'a/b/c'")
    assert run("pull", "org/x--y").code == 2


def test_templates_and_chat_templates_come_from_repositories(
    server: FakeHub, online: Callable[..., Done], repo_id: str
) -> None:
    """`parse` with what a repository has; `find` in its chat template; `parse` again with what the library has for that."""
    config = json.dumps({"response_template": TEMPLATE}).encode()
    server.create(repo_id, tokenizer_config__json=config)
    done = online("parse", repo_id, stdin="Hello!<e>")
    assert json.loads(done.out)["content"] == "Hello!", done.err
    assert f"response template: the one in {repo_id}/tokenizer_config.json" in done.err
    guessed = "... <|im_start|> ... <function=...> <parameter=...> ... <think> ..."
    server.create(f"{repo_id}-chat", chat_template__jinja=guessed.encode(), tokenizer_config__json=b"{}")
    server.create(f"{repo_id}-old", tokenizer_config__json=json.dumps({"chat_template": guessed}).encode())
    for name in (f"{repo_id}-chat", f"{repo_id}-old"):
        assert online("find", name).out.startswith("qwen3_5 ")
        assert json.loads(online("parse", name, stdin="Hello!<|im_end|>").out)["content"] == "Hello!"
    done = online("find", repo_id)
    assert (done.code, done.err) == (1, f"error: {repo_id} has no chat template\n")
