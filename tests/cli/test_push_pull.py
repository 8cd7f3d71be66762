# SPDX-License-Identifier: Apache-2.0
"""`push` and `pull`, with a Hub on loopback and with folders."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, run
from hub.server import READER, WRITER, FakeHub

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
    assert run("pull", "a/b/c").code == 1
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
