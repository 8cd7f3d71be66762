# SPDX-License-Identifier: Apache-2.0
"""Response templates on the Hub, and in local folders: pull one, push one, see first what a push would change.

A push changes one key of `tokenizer_config.json` and not one byte more, by default in a pull request whose description
says what was shown about the template. The errors of `huggingface_hub` (no such repository, no access, no such revision)
come through as they are.
"""

from __future__ import annotations

import json
import logging
from os import PathLike
from pathlib import Path
from typing import Any

from .errors import ResponseParsingError
from .field_names import with_field_names
from .hub_file import CONFIG, KEY, hub_api, read_config, template_in, write_local
from .json_edit import same_json, set_key
from .push_plan import PushPlan, TemplateExistsError
from .report import CheckReport
from .template import ResponseTemplate

__all__ = [
    "PulledTemplate",
    "PushPlan",
    "PushResult",
    "TemplateExistsError",
    "plan_push",
    "pull_template",
    "push_template",
]

_log = logging.getLogger(__name__)
# A new file is begun as `save_pretrained` would write it.
_NEW_FILE = "{}\n"
_BRANCH_MOVED = 412


class PulledTemplate(ResponseTemplate):
    """A template that `pull_template` brought, and where it is from. Otherwise a `ResponseTemplate` like any other.

    Attributes:
        repo_id: the repository, or the local folder.
        revision: what was asked for, or None.
        commit: the commit (40 hex digits) that it was found at; None for a local folder.
    """

    __slots__ = ("commit", "repo_id", "revision")

    repo_id: str
    revision: str | None
    commit: str | None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_pulled, (self._source, self.repo_id, self.revision, self.commit))


class PushResult(str):
    """What `push_template` did: the address of the pull request, the commit or the file, which is the string itself.

    Attributes:
        status: "pull request", "commit", "written" (a local folder), "already up to date"; or, where a pull request of yours
            is open already, "already proposed" (with the same template) or "pull request updated" (of the same title).
        plan: the change, a `PushPlan`.
        report: the proof that went into the description (a `CheckReport`); None if none was made.
    """

    __slots__ = ("plan", "report", "status")

    status: str
    plan: PushPlan
    report: CheckReport | None

    @property
    def changed(self) -> bool:
        """False if nothing was done: it was up to date, or proposed already."""
        return self.status not in ("already up to date", "already proposed")


def pull_template(
    repo_id: str | PathLike[str], *, revision: str | None = None, token: str | bool | None = None
) -> PulledTemplate:
    """The response template of a model repository or of a local folder.

    Args:
        repo_id: `org/name`, or a folder that has a `tokenizer_config.json`. A folder of that name comes first, as with
            `from_pretrained`.
        revision: branch, tag, commit, or `refs/pr/1`. Default: the default branch.
        token: for private and gated repositories. Default: the one that is logged in.

    Returns:
        The template, validated; `.commit` is the commit it was found at. `.source` is the plain dict.

    Raises:
        TemplateError: the template there is wrong.
        ResponseParsingError: there is none.
        huggingface_hub.errors: RepositoryNotFoundError, GatedRepoError, RevisionNotFoundError, EntryNotFoundError (no
            `tokenizer_config.json`) and others, as they come.
        OSError: the file of the folder can't be read.
    """
    file = read_config(repo_id, revision=revision, token=token)
    if file.text is None:
        raise FileNotFoundError(f"the folder {file.repo_id!r} has no {CONFIG}")
    template = template_in(file)
    if template is None:
        raise ResponseParsingError(
            f"{file.place} has no response template; `find_template(tokenizer)` looks for one in the library"
        )
    if not isinstance(template, dict):  # a string would be taken for a path: nobody on the Hub says which files we read
        raise ResponseParsingError(f"{file.place}: {KEY} must be an object, not {json.dumps(template)[:40]}")
    return _pulled(template, file.repo_id, revision, file.commit)


def plan_push(
    repo_id: str | PathLike[str],
    response_template: Any,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    field_names: str | None = None,
) -> PushPlan:
    """What `push_template` would change, without changing it. The arguments are those of `push_template`.

    It does not refuse to replace another template: `.replaces` tells.

    Raises:
        TemplateError: the template is wrong.
        ResponseParsingError: `field_names` can't be applied, or `tokenizer_config.json` is no JSON object.
        huggingface_hub.errors: no such repository, no access and others, as they come.
    """
    given = ResponseTemplate.load(response_template).source
    template = given if field_names is None else with_field_names(given, field_names)
    file = read_config(repo_id, revision=revision, token=token, missing_ok=True)
    existing = template_in(file)
    if file.text is not None and existing is not None and same_json(existing, template):
        after = file.text
    else:
        after = set_key(_NEW_FILE if file.text is None else file.text, KEY, template)
    return PushPlan(
        repo_id=file.repo_id,
        local=file.local,
        revision=revision,
        commit=file.commit,
        before=file.text,
        after=after,
        existing=existing,
        template=template,
        given=given,
    )


def push_template(
    repo_id: str | PathLike[str],
    response_template: Any,
    *,
    create_pr: bool = True,
    revision: str | None = None,
    commit_message: str | None = None,
    token: str | bool | None = None,
    overwrite: bool = False,
    field_names: str | None = None,
    allow_extensions: bool = False,
) -> PushResult:
    """Put a response template into the `tokenizer_config.json` of a model repository or of a local folder.

    Nothing else in the file changes, not one byte; a repository without the file gets one. If somebody else commits
    meanwhile, the file is read once more and the push tried again.

    Args:
        repo_id: `org/name`, or a folder. A folder of that name comes first, as with `from_pretrained`.
        response_template: dict, JSON text, path of a JSON file, or loaded template.
        create_pr: open a pull request (the default), which its owner can look at; False: commit at once. A pull request of
            yours that is open already is not opened again: if it has another template and the same title, it gets this one.
        revision: the branch to change or to open the pull request for. Default: the default branch.
        commit_message: title of the commit or pull request. Default: "Add response_template".
        token: needs write access, or for a pull request read access. Default: the one that is logged in.
        overwrite: replace another template that is there.
        field_names: "thinking": the reasoning field is called `thinking`, as vLLM and SGLang have it. Default: as given.
        allow_extensions: push a template that only this package reads to a repository all the same. From 5.13 on transformers
            uses the template of a tokenizer by itself, so its chat pipelines would fail for everybody with that model.

    Returns:
        The address (a str) of the pull request, the commit, or the file; `.status` says which, and "already up to date" if
        the same template is there.

    Raises:
        TemplateError: the template is wrong.
        TemplateExistsError: there is another template, and `overwrite` is False; nothing was changed.
        ResponseParsingError: the template has extensions and they are not allowed, `field_names` can't be applied, or
            `tokenizer_config.json` is no JSON object.
        huggingface_hub.errors: no such repository, no access and others, as they come.
    """
    asked: dict[str, Any] = {"revision": revision, "token": token, "field_names": field_names}
    plan = plan_push(repo_id, response_template, **asked)
    allowed = {"overwrite": overwrite, "extensions": allow_extensions}
    if not _due(plan, **allowed):
        return _up_to_date(plan)
    if plan.local:
        path = write_local(plan.repo_id, plan.after)
        _log.info("%s: response template written", plan.place)
        return _result(str(path), "written", plan)
    commit: dict[str, Any] = {"create_pr": create_pr, "message": commit_message, "token": token}
    try:
        return _commit(plan, **commit)
    except OSError as error:
        if getattr(getattr(error, "response", None), "status_code", None) != _BRANCH_MOVED:
            raise
    _log.info("%s: somebody else has committed; trying again on top of that", plan.place)
    plan = plan_push(repo_id, response_template, **asked)
    return _commit(plan, **commit) if _due(plan, **allowed) else _up_to_date(plan)


def _due(plan: PushPlan, *, overwrite: bool, extensions: bool) -> bool:
    """Whether there is something to push. Raises if it may not be."""
    if plan.replaces and not overwrite:
        raise TemplateExistsError(plan)
    if plan.changed and plan.extensions and not plan.local and not extensions:
        raise ResponseParsingError(
            f"only this package reads {', '.join(plan.extensions)}: in {plan.place} the template would make transformers' own "
            "chat pipelines fail (5.13 and newer). Write it without, or pass allow_extensions=True"
        )
    return plan.changed


def _up_to_date(plan: PushPlan) -> PushResult:
    _log.info("%s: already up to date", plan.place)
    if plan.local:
        return _result(str(Path(plan.repo_id) / CONFIG), "already up to date", plan)
    return _result(f"{hub_api(None).endpoint}/{plan.repo_id}/blob/{plan.commit}/{CONFIG}", "already up to date", plan)


def _commit(plan: PushPlan, *, create_pr: bool, message: str | None, token: str | bool | None) -> PushResult:
    from huggingface_hub import CommitOperationAdd

    from .proposals import find_proposal
    from .pull_request import describe, prove

    title = message or ("Add" if plan.existing is None else "Replace") + f" {KEY}"
    proposal = find_proposal(plan, title, token) if create_pr else None
    if proposal is not None and proposal.same:
        _log.info("%s: already proposed, %s", plan.place, proposal.url)
        return _result(proposal.url, "already proposed", plan)
    proof = prove(plan, token)
    text, revision, parent = plan.after, plan.revision, plan.commit
    if proposal is not None:
        text = set_key(proposal.file.text or _NEW_FILE, KEY, plan.template)
        revision, parent = f"refs/pr/{proposal.number}", proposal.file.commit
    description = describe(plan, proof)
    api = hub_api(token)
    done = api.create_commit(
        plan.repo_id,
        [CommitOperationAdd(CONFIG, text.encode("utf-8"))],
        commit_message=title,
        commit_description=description,
        revision=revision,
        create_pr=create_pr and proposal is None,
        parent_commit=parent,
    )
    if proposal is not None:
        # Its description stays as it was; what is true of the new template is said below it.
        api.comment_discussion(plan.repo_id, proposal.number, f"Updated.\n\n{description}")
        status, url = "pull request updated", proposal.url
    else:
        status, url = ("pull request", done.pr_url) if create_pr else ("commit", done.commit_url)
    _log.info("%s: response template pushed, %s %s", plan.place, status, url)
    return _result(url, status, plan, proof.report)


def _result(address: str, status: str, plan: PushPlan, report: CheckReport | None = None) -> PushResult:
    result = PushResult(address)
    result.status, result.plan, result.report = status, plan, report
    return result


def _pulled(template: dict[str, Any], repo_id: str, revision: str | None, commit: str | None) -> PulledTemplate:
    loaded = ResponseTemplate.load(template)
    pulled = object.__new__(PulledTemplate)
    values = {name: getattr(loaded, name) for name in ResponseTemplate.__slots__}
    for name, value in {**values, "repo_id": repo_id, "revision": revision, "commit": commit}.items():
        object.__setattr__(pulled, name, value)
    return pulled
