# SPDX-License-Identifier: Apache-2.0
"""Pulling from a repository: which one, at which commit, and the Hub's errors as they are."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hf.helpers import TEMPLATE
from hub import worker
from hub.server import READER, WRITER, Commit, Repo
from hub.worker import Outcome

import transformers_response_parsing as trp

CONFIG = "tokenizer_config.json"
OTHER = {"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}

Call = Callable[..., Outcome]
NewRepo = Callable[..., tuple[str, Repo]]


def config(template: Any) -> bytes:
    return json.dumps({"a": 1, "response_template": template}).encode()


def test_the_template_and_the_commit_it_was_found_at(call: Call, new_repo: NewRepo) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=config(TEMPLATE))
    pulled = call(trp.pull_template, repo_id).value
    assert isinstance(pulled, trp.ResponseTemplate)
    assert pulled == trp.ResponseTemplate.load(TEMPLATE)
    assert (pulled.repo_id, pulled.revision, pulled.commit) == (repo_id, None, repo.branches["main"])
    assert trp.parse_response("Hi!<|im_end|>", pulled, prefix="") == {"role": "assistant", "content": "Hi!"}
    again = pickle.loads(pickle.dumps(pulled))
    assert (again, again.commit) == (pulled, pulled.commit)


def test_revisions(call: Call, new_repo: NewRepo) -> None:
    """A branch, a commit, a pull request: the commit behind it is recorded."""
    repo_id, repo = new_repo(tokenizer_config__json=config(TEMPLATE))
    first = repo.branches["main"]
    repo.write(tokenizer_config__json=config(OTHER))
    repo.branches["with/slash"] = repo.branches["main"]
    repo.add(Commit({CONFIG: config(TEMPLATE)}, first, "proposed"), "refs/pr/1")
    for revision, template, commit in (
        (None, OTHER, repo.branches["main"]),
        (first, TEMPLATE, first),
        ("with/slash", OTHER, repo.branches["main"]),
        ("refs/pr/1", TEMPLATE, repo.branches["refs/pr/1"]),
    ):
        pulled = call(trp.pull_template, repo_id, revision=revision).value
        assert (pulled.source, pulled.commit, pulled.revision) == (template, commit, revision)


def test_a_branch_that_moved_is_read_anew(call: Call, new_repo: NewRepo) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=config(TEMPLATE))
    assert call(trp.pull_template, repo_id).value.source == TEMPLATE
    repo.write(tokenizer_config__json=config(OTHER))
    pulled = call(trp.pull_template, repo_id).value
    assert (pulled.source, pulled.commit) == (OTHER, repo.branches["main"])


@pytest.mark.parametrize(
    ("access", "token", "revision", "kind"),
    [
        (None, WRITER, None, "RepositoryNotFoundError"),
        (None, False, None, "RepositoryNotFoundError"),
        ("private", False, None, "RepositoryNotFoundError"),
        ("private", READER, None, "RepositoryNotFoundError"),
        ("gated", False, None, "GatedRepoError"),
        ("gated", READER, None, "GatedRepoError"),
        ("all", False, "nowhere", "RevisionNotFoundError"),
        ("all", False, "0" * 40, "RevisionNotFoundError"),
        ("empty", False, None, "EntryNotFoundError"),
    ],
)
def test_the_errors_of_the_hub_are_unchanged(
    call: Call, new_repo: NewRepo, access: str | None, token: Any, revision: str | None, kind: str
) -> None:
    """Class and text are those of a plain download."""
    files = {} if access == "empty" else {"tokenizer_config__json": config(TEMPLATE)}
    repo_id = "org/nothing" if access is None else new_repo(access=access, **files)[0]
    error = call(trp.pull_template, repo_id, token=token, revision=revision).error
    assert error is not None
    assert kind in error[0]
    assert error == call(worker.download, repo_id, CONFIG, token=token, revision=revision).error


@pytest.mark.parametrize("access", ["private", "gated"])
def test_a_token_opens_what_is_closed(call: Call, new_repo: NewRepo, access: str) -> None:
    repo_id, _ = new_repo(access=access, tokenizer_config__json=config(TEMPLATE))
    assert call(trp.pull_template, repo_id, token=WRITER).value.source == TEMPLATE


@pytest.mark.parametrize("content", [b"{}", b'{"response_template": null}'])
def test_no_template_is_an_error_of_ours(call: Call, new_repo: NewRepo, content: bytes) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=content)
    error = call(trp.pull_template, repo_id).error
    assert error is not None
    assert error[0][0] == "ResponseParsingError"
    assert f"{repo_id}/{CONFIG} at {repo.branches['main'][:7]} has no response template" in error[1]
    assert "find_template" in error[1]


def test_a_wrong_template_is_refused_with_its_problems(call: Call, new_repo: NewRepo) -> None:
    repo_id, _ = new_repo(tokenizer_config__json=config({**OTHER, "fields": {"content": {"closes": "<e>"}}}))
    error = call(trp.pull_template, repo_id).error
    assert error is not None
    assert error[0][0] == "TemplateError"
    assert "fields.content.closes" in error[1]


@pytest.mark.parametrize("template", ["/etc/passwd", "other.json", '{"start_anchor": "<a>"}', [], 3, True])
def test_what_is_no_object_is_refused(call: Call, new_repo: NewRepo, template: Any) -> None:
    """Strings above all: a repository must not say which file of ours is read."""
    repo_id, _ = new_repo(tokenizer_config__json=config(template))
    error = call(trp.pull_template, repo_id).error
    assert error is not None
    assert error[0][0] == "ResponseParsingError"
    assert "response_template must be an object" in error[1]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"response_template": {}', b"\xff"])
def test_a_file_that_is_no_json_object(call: Call, new_repo: NewRepo, content: bytes) -> None:
    repo_id, _ = new_repo(tokenizer_config__json=content)
    error = call(trp.pull_template, repo_id).error
    assert error is not None
    assert error[0][0] == "ResponseParsingError"


CODE = """
import sys
import transformers_response_parsing as trp
pulled = trp.pull_template(sys.argv[1])
print(pulled.commit)
"""


def test_in_a_program_of_its_own_and_then_offline(environment: dict[str, str], new_repo: NewRepo) -> None:
    """Logged in by HF_TOKEN; what was pulled once is there offline, too, with its commit."""
    repo_id, repo = new_repo(access="private", tokenizer_config__json=config(TEMPLATE))

    def program(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CODE, repo_id]
        env = {**environment, **variables}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env)

    refused = program()
    assert "RepositoryNotFoundError" in refused.stderr
    online = program(HF_TOKEN=WRITER)
    assert online.stdout.strip() == repo.branches["main"], online.stderr
    offline = program(HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert offline.stdout.strip() == repo.branches["main"], offline.stderr
    assert WRITER not in online.stdout + online.stderr
