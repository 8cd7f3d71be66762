# SPDX-License-Identifier: Apache-2.0
"""Pushing to a repository: what is sent, what is refused, and what is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hf.helpers import CHAT_TEMPLATE, TEMPLATE
from hub import worker
from hub.server import READER, WRITER, FakeHub, Repo
from hub.worker import Outcome

import transformers_response_parsing as trp

CONFIG = "tokenizer_config.json"
# Nothing that a program would write: tabs, CRLF, a number's own spelling, a key twice, no end of line.
ODD = '\ufeff{\r\n\t"model_max_length" : 1e30,\r\n\t"é" : "\\u00e9",\r\n\t"é" : 0.10\r\n}'
OTHER = {"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}

Call = Callable[..., Outcome]
NewRepo = Callable[..., tuple[str, Repo]]


def test_a_pull_request_is_the_default(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """It needs no write access, starts at the commit that was read, and leaves the branch alone."""
    repo_id, repo = new_repo(tokenizer_config__json=ODD.encode())
    head = repo.branches["main"]
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.error is None
    assert done.value == f"{server.endpoint}/{repo_id}/discussions/1"
    assert done.value.status == "pull request"
    assert done.value.changed
    assert repo.branches["main"] == head
    commit = repo.head("refs/pr/1")
    assert commit.parent == head
    assert commit.summary == "Add response_template"
    assert server.commits_sent(repo_id)[0]["parentCommit"] == head


def test_one_key_changes_and_no_other_byte(call: Call, new_repo: NewRepo) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=ODD.encode(), README__md=b"# A model")
    done = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False)
    assert done.value.status == "commit"
    assert repo.head().files["README.md"] == b"# A model"
    text = repo.head().files[CONFIG].decode()
    kept = ODD.removesuffix("\r\n}")
    assert text.startswith(f'{kept},\r\n\t"response_template" : {{\r\n\t\t"start_anchor" : "<a>",')
    assert text.endswith("\t}\r\n}")
    assert json.loads(text.removeprefix("\ufeff"))["response_template"] == OTHER


def test_only_this_file_is_sent(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """No model card, no tokenizer.json: `push_to_hub` would send them too."""
    repo_id, _ = new_repo(tokenizer_config__json=b"{}", README__md=b"# A model")
    call(trp.push_template, repo_id, OTHER, token=WRITER)
    (body,) = (body for method, path, _, body in server.requests if f"{repo_id}/commit/" in path)
    files = [json.loads(line) for line in body.splitlines()]
    assert [line["value"]["path"] for line in files if line["key"] != "header"] == [CONFIG]


def test_the_hub_is_told_who_asks(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    repo_id, _ = new_repo(tokenizer_config__json=b"{}")
    call(trp.push_template, repo_id, OTHER, token=WRITER)
    ours = [headers for _, path, headers, _ in server.requests if repo_id in path and "commit" in path]
    agents = [value for headers in ours for name, value in headers.items() if name.lower() == "user-agent"]
    assert agents
    assert all(agent.startswith("transformers-response-parsing/") for agent in agents)


def test_the_file_is_made_where_there_is_none(call: Call, new_repo: NewRepo) -> None:
    """Mistral's repositories have a tekken.json and no tokenizer_config.json."""
    repo_id, repo = new_repo(tekken__json=b"{}")
    done = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False)
    assert done.value.plan.before is None
    written = repo.head().files[CONFIG].decode()
    assert written == json.dumps({"response_template": OTHER}, indent=2) + "\n"
    assert "This creates `tokenizer_config.json`" in repo.head().description
    assert call(trp.pull_template, repo_id).value.source == OTHER


@pytest.mark.parametrize("layout", [{"indent": 2}, {"separators": (",", ":")}, {"indent": 4, "sort_keys": True}])
def test_the_same_template_again_is_up_to_date(call: Call, new_repo: NewRepo, server: FakeHub, layout: Any) -> None:
    """Equal as JSON: neither layout nor the order of keys make another template. Nothing is sent."""
    text = json.dumps({"response_template": TEMPLATE, "a": 1}, **layout)
    repo_id, repo = new_repo(tokenizer_config__json=text.encode())
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.value == f"{server.endpoint}/{repo_id}/blob/{repo.branches['main']}/{CONFIG}"
    assert (done.value.status, done.value.changed) == ("already up to date", False)
    assert "already up to date" in done.said
    assert not server.commits_sent(repo_id)


def test_null_is_no_template(call: Call, new_repo: NewRepo) -> None:
    """Transformers saves null where a template was taken away."""
    repo_id, repo = new_repo(tokenizer_config__json=b'{"response_template": null}')
    assert call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False).value.status == "commit"
    assert json.loads(repo.head().files[CONFIG])["response_template"] == OTHER


def test_another_template_is_not_replaced(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """The error shows the difference and what to do."""
    text = json.dumps({"response_template": OTHER})
    repo_id, repo = new_repo(tokenizer_config__json=text.encode())
    error = call(trp.push_template, repo_id, TEMPLATE, token=WRITER).error
    assert error is not None
    assert error[0][:2] == ("TemplateExistsError", "ResponseParsingError")
    assert f"{repo_id}/{CONFIG} at {repo.branches['main'][:7]} has another response template" in error[1]
    assert "pass overwrite=True" in error[1]
    assert '-  "start_anchor": "<a>"' in error[1]
    assert '+  "start_anchor": "<|im_start|>assistant\\n"' in error[1]
    assert not server.commits_sent(repo_id)


def test_overwrite_replaces_it_in_place(call: Call, new_repo: NewRepo) -> None:
    text = '{"response_template":' + json.dumps(OTHER) + ',"z":1e5}'
    repo_id, repo = new_repo(tokenizer_config__json=text.encode())
    call(trp.push_template, repo_id, TEMPLATE, token=WRITER, create_pr=False, overwrite=True)
    written = repo.head().files[CONFIG].decode()
    assert written.startswith('{"response_template":{"defaults":')
    assert written.endswith(',"z":1e5}')
    assert repo.head().summary == "Replace response_template"
    assert repo.head().description.startswith("Replaces the response template")


def test_a_branch_and_a_message_can_be_given(call: Call, new_repo: NewRepo) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    repo.branches["feature/templates"] = repo.branches["main"]
    options = {"revision": "feature/templates", "commit_message": "A template"}
    call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False, **options)
    assert repo.head("feature/templates").summary == "A template"
    assert repo.head().files[CONFIG] == b"{}"
    assert call(trp.push_template, repo_id, OTHER, token=WRITER, **options).value.status == "already up to date"


def test_the_plan_changes_nothing(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """Old text, new text and a diff, for the commit that was read; no token is needed, and nothing is posted."""
    repo_id, repo = new_repo(tokenizer_config__json=b'{\n  "a": 1\n}')
    already = len(server.requests)
    plan = call(trp.plan_push, repo_id, OTHER).value
    assert {method for method, *_ in server.requests[already:]} == {"GET", "HEAD"}
    assert plan.commit == repo.branches["main"]
    assert (plan.before, plan.existing, plan.changed, plan.replaces) == ('{\n  "a": 1\n}', None, True, False)
    assert plan.after.startswith('{\n  "a": 1,\n  "response_template": {\n    "start_anchor": "<a>",\n')
    assert plan.diff.startswith(f"--- a/{CONFIG}\n+++ b/{CONFIG}\n@@ -1,3 +1,11 @@\n")
    assert plan.diff.endswith("+  }\n }\n\\ No newline at end of file\n")
    assert str(plan) == plan.diff.removesuffix("\n")


def test_somebody_else_commits_meanwhile(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """The file is read once more, and both changes are there."""
    repo_id, repo = new_repo(tokenizer_config__json=b'{"a": 1}')
    first = repo.branches["main"]
    server.before_commit = lambda: repo.write(tokenizer_config__json=b'{"a": 1, "b": 2}') and None
    done = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False)
    assert done.value.status == "commit"
    assert repo.head().files[CONFIG].startswith(b'{"a": 1, "b": 2, "response_template": {')
    parents = [commit["parentCommit"] for commit in server.commits_sent(repo_id)]
    assert parents[0] == first
    assert parents[1] == repo.head().parent != first


def test_somebody_else_pushes_the_same_template_meanwhile(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    same = json.dumps({"response_template": OTHER}).encode()
    server.before_commit = lambda: repo.write(tokenizer_config__json=same) and None
    done = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False)
    assert done.value.status == "already up to date"
    assert len(server.commits_sent(repo_id)) == 1


def test_somebody_else_pushes_another_template_meanwhile(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """It was not there when the push began; it is not replaced all the same."""
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    other = json.dumps({"response_template": OTHER}).encode()
    server.before_commit = lambda: repo.write(tokenizer_config__json=other) and None
    error = call(trp.push_template, repo_id, TEMPLATE, token=WRITER, create_pr=False).error
    assert error is not None
    assert error[0][0] == "TemplateExistsError"
    assert repo.head().files[CONFIG] == other


def test_it_is_tried_again_once_only(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """A branch that goes on moving is the caller's business."""
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")

    def interfere() -> None:
        repo.write(README__md=b"# Change %d" % len(repo.commits))
        server.before_commit = interfere

    server.before_commit = interfere
    error = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False).error
    assert error is not None
    assert error[0][0] == "HfHubHTTPError"
    assert "412" in error[1]
    assert len(server.commits_sent(repo_id)) == 2


@pytest.mark.parametrize(
    ("access", "token", "options", "kind"),
    [
        ("all", READER, {"create_pr": False}, "HfHubHTTPError"),  # no right to write
        ("all", "hf_expired", {}, "HfHubHTTPError"),
        ("all", False, {}, "HfHubHTTPError"),  # nobody
        ("private", READER, {}, "RepositoryNotFoundError"),
        ("gated", READER, {}, "GatedRepoError"),
        ("all", WRITER, {"revision": "nowhere"}, "RevisionNotFoundError"),
    ],
)
def test_refusals_of_the_hub_come_through(
    call: Call, new_repo: NewRepo, access: str, token: Any, options: Any, kind: str
) -> None:
    repo_id, repo = new_repo(access=access, tokenizer_config__json=b"{}")
    before = dict(repo.branches)
    error = call(trp.push_template, repo_id, OTHER, token=token, **options).error
    assert error is not None
    assert error[0][0] == kind
    assert "hf_expired" not in error[1]
    assert repo.branches == before


def test_a_repository_that_is_not_there(call: Call) -> None:
    error = call(trp.push_template, "org/nothing", OTHER, token=WRITER).error
    assert error is not None
    assert error[0][0] == "RepositoryNotFoundError"


def test_a_wrong_template_is_refused_before_anything_is_asked(call: Call, server: FakeHub) -> None:
    already = len(server.requests)
    error = call(trp.push_template, "org/nothing", {"fields": {}}, token=WRITER).error
    assert error is not None
    assert error[0][0] == "TemplateError"
    assert len(server.requests) == already


@pytest.mark.parametrize("content", [b"[]", b'{"a": 1,}', b"\xff\xfe{\x00}\x00"])
def test_a_file_that_is_no_json_object_is_left_alone(call: Call, new_repo: NewRepo, content: bytes) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=content)
    error = call(trp.push_template, repo_id, OTHER, token=WRITER, create_pr=False, overwrite=True).error
    assert error is not None
    assert error[0][0] == "ResponseParsingError"
    assert f"{repo_id}/{CONFIG}" in error[1]
    assert repo.head().files[CONFIG] == content


# --- A pull request that is open already


def test_a_second_push_finds_the_open_pull_request(call: Call, new_repo: NewRepo, server: FakeHub) -> None:
    """The same template is not proposed twice by the same user, whatever the title; somebody else's does not count."""
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    first = call(trp.push_template, repo_id, OTHER, token=READER).value
    for title in (None, "Another title"):
        again = call(trp.push_template, repo_id, OTHER, token=READER, commit_message=title)
        assert again.error is None
        assert (again.value, again.value.status, again.value.changed) == (first, "already proposed", False)
        assert "already proposed" in again.said
    assert len(server.commits_sent(repo_id)) == 1
    assert call(trp.push_template, repo_id, OTHER, token=WRITER).value.status == "pull request"
    assert [pull.author for pull in repo.pull_requests] == ["reader", "somebody"]


def test_an_open_pull_request_of_that_title_gets_the_new_template(
    call: Call, new_repo: NewRepo, server: FakeHub
) -> None:
    """It builds on what is in it, and a comment says what is true of the new template."""
    repo_id, repo = new_repo(tokenizer_config__json=ODD.encode())
    first = call(trp.push_template, repo_id, OTHER, token=READER).value
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.error is None
    assert (done.value, done.value.status, done.value.changed) == (first, "pull request updated", True)
    (pull,) = repo.pull_requests
    assert len(pull.comments) == 1
    assert pull.comments[0].startswith("Updated.\n\nAdds a response template")
    sent = server.commits_sent(repo_id)[1]
    assert (sent["revision"], sent["parentCommit"]) == ("refs/pr/1", repo.head("refs/pr/1").parent)
    text = repo.head("refs/pr/1").files[CONFIG].decode().removeprefix("\ufeff")
    assert json.loads(text)["response_template"] == TEMPLATE
    assert '"model_max_length" : 1e30' in text
    assert repo.head().files[CONFIG] == ODD.encode()


def test_other_pull_requests_are_left_alone(call: Call, new_repo: NewRepo) -> None:
    """Those that are closed, of another title, or for another branch; and all pages of the list are read."""
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    repo.branches["dev"] = repo.branches["main"]
    templates = [{**OTHER, "start_anchor": f"<{number}>"} for number in range(5)]
    for number, template in enumerate(templates[:4]):
        done = call(trp.push_template, repo_id, template, token=READER, commit_message=f"Title {number}")
        assert done.value.status == "pull request"
    assert call(trp.push_template, repo_id, templates[0], token=READER).value.endswith("/discussions/1")
    assert call(trp.push_template, repo_id, templates[0], token=READER, revision="dev").value.status == "pull request"
    repo.pull_requests[3].status = "closed"
    done = call(trp.push_template, repo_id, templates[3], token=READER, commit_message="Title 3")
    assert done.value.status == "pull request"
    assert len(repo.pull_requests) == 6


# --- What the pull request says


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, bytes]:
    """The files of a tiny tokenizer with a chat template."""
    worker.save_tokenizer(str(tmp_path))
    return {path.name.replace(".", "__"): path.read_bytes() for path in tmp_path.iterdir()}


def description(repo: Repo, branch: str = "refs/pr/1") -> str:
    return repo.head(branch).description


def test_the_description_holds_the_proof(call: Call, new_repo: NewRepo, saved: dict[str, bytes]) -> None:
    repo_id, repo = new_repo(**saved)
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    text = description(repo)
    assert "**Checked**, with the tokenizer of this repository: " in text
    assert done.value.report.ok
    assert f"```text\n{done.value.report}\n```" in text
    assert "content only" in text
    assert "a message with `reasoning_content`, `tool_calls` and `content`" in text
    assert "It needs transformers 5.13.0 or newer. It was given by hand." in text
    assert "Nothing else changes in `tokenizer_config.json`." in text


def test_a_template_that_fails_is_called_that(call: Call, new_repo: NewRepo, saved: dict[str, bytes]) -> None:
    repo_id, repo = new_repo(**saved)
    wrong = {**TEMPLATE, "fields": {"content": {"close": "e"}}}
    done = call(trp.push_template, repo_id, wrong, token=READER)
    assert not done.value.report.ok
    assert "**Checked, and not everything passes**" in description(repo)
    assert "FAIL" in description(repo)


@pytest.mark.parametrize("file", ["chat_template.jinja", "config"])
def test_without_a_tokenizer_the_chat_template_will_do(call: Call, new_repo: NewRepo, file: str) -> None:
    """The description says that it was no more than that."""
    if file == "config":
        files = {"tokenizer_config__json": json.dumps({"chat_template": CHAT_TEMPLATE}).encode()}
    else:
        files = {"tokenizer_config__json": b"{}", "chat_template__jinja": CHAT_TEMPLATE.encode()}
    repo_id, repo = new_repo(**files)
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.value.report.ok
    assert "with the chat template of this repository alone: the tokenizer could not be loaded" in description(repo)


def test_what_was_not_checked_is_not_called_so(call: Call, new_repo: NewRepo) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.value.report is None
    assert "**Not checked**: the tokenizer could not be loaded" in description(repo)
    assert "**Checked" not in description(repo)


@pytest.mark.parametrize("chat", ["{% if %}", "{{ raise_exception('no') }}", "nothing is rendered"])
def test_a_chat_template_that_is_of_no_use_stops_nothing(call: Call, new_repo: NewRepo, chat: str) -> None:
    repo_id, repo = new_repo(tokenizer_config__json=b"{}", chat_template__jinja=chat.encode())
    done = call(trp.push_template, repo_id, TEMPLATE, token=READER)
    assert done.error is None
    assert done.value.report is None or not done.value.report.ok
    assert "**Checked**" not in description(repo)


def test_code_of_the_repository_is_not_run(call: Call, new_repo: NewRepo, tmp_path: Path) -> None:
    """Loading the tokenizer for the proof trusts nobody."""
    ran = tmp_path / "ran"
    code = f"from pathlib import Path\nPath({str(ran)!r}).touch()\nclass Own: pass\n"
    config = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}
    repo_id, repo = new_repo(tokenizer_config__json=json.dumps(config).encode(), tokenization_own__py=code.encode())
    assert call(trp.push_template, repo_id, OTHER, token=READER).error is None
    assert not ran.exists()
    assert "**Not checked**" in description(repo)


def test_a_template_of_the_library_is_named(call: Call, new_repo: NewRepo) -> None:
    entry = trp.get_template("smollm3")
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    call(trp.push_template, repo_id, entry.response_template, token=READER, allow_extensions=True)
    (sentence,) = re.findall(
        r"It is the template (.*?) of the library of transformers-response-parsing\.", description(repo)
    )
    named = sentence.replace("`", "").split(", ")
    assert "smollm3" in named
    assert [trp.get_template(name).response_template for name in named] == [entry.response_template] * len(named)


def test_a_template_that_needs_this_package_is_not_pushed_unawares(
    call: Call, new_repo: NewRepo, server: FakeHub
) -> None:
    """Transformers would use it by itself, and fail for everybody; whoever allows it gets a description that says so."""
    fields = {**OTHER["fields"], "tool_calls": {"open": "<t>", "close": "</t>", "content": "json-sequence"}}
    template = {**OTHER, "fields": fields}
    repo_id, repo = new_repo(tokenizer_config__json=b"{}")
    assert call(trp.plan_push, repo_id, template).value.extensions == ("fields.tool_calls.content",)
    error = call(trp.push_template, repo_id, template, token=READER).error
    assert error is not None
    assert error[0][0] == "ResponseParsingError"
    assert "only this package reads fields.tool_calls.content" in error[1]
    assert "allow_extensions=True" in error[1]
    assert not server.commits_sent(repo_id)
    assert call(trp.push_template, repo_id, template, token=READER, allow_extensions=True).error is None
    assert "It needs the package `transformers-response-parsing`" in description(repo)
    assert "does not read** `fields.tool_calls.content`" in description(repo)


def test_the_names_of_serving_engines(call: Call, new_repo: NewRepo, saved: dict[str, bytes]) -> None:
    """Renamed in what is written; checked as it was given, since chat templates read `reasoning_content`."""
    repo_id, repo = new_repo(**saved)
    done = call(trp.push_template, repo_id, TEMPLATE, token=WRITER, create_pr=False, field_names="thinking")
    written = json.loads(repo.head().files[CONFIG])["response_template"]
    assert list(written["fields"]) == ["thinking", "tool_calls", "content"]
    assert written["fields"]["thinking"] == TEMPLATE["fields"]["reasoning_content"]
    assert "a message with `thinking`, `tool_calls` and `content`" in repo.head().description
    assert "renamed for serving engines" in repo.head().description
    assert done.value.report.ok
    again = call(trp.push_template, repo_id, TEMPLATE, token=WRITER, field_names="thinking")
    assert again.value.status == "already up to date"
