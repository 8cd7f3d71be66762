# SPDX-License-Identifier: Apache-2.0
"""One's own pull requests that are open already, so that a second push does not open another one."""

from __future__ import annotations

from typing import Any, NamedTuple

from .hub_file import ConfigFile, hub_api, read_config, template_in
from .json_edit import same_json
from .push_plan import PushPlan

__all__ = ["Proposal", "find_proposal"]

_DEFAULT_BRANCH = "main"


class Proposal(NamedTuple):
    """A pull request that is open: its number, its address, the file in it, and whether its template is the one to push."""

    number: int
    url: str
    file: ConfigFile
    same: bool


def find_proposal(plan: PushPlan, title: str, token: str | bool | None) -> Proposal | None:
    """The pull request of the same user for the same branch that has the same template, else one of the same title.

    None also where the Hub does not tell who asks, or which there are: whether a new one may be opened, it says then.
    """
    if token is False:
        return None
    api = hub_api(token)
    try:
        name = api.whoami()["name"]
        options = {"author": name, "discussion_type": "pull_request", "discussion_status": "open"}
        discussions = list(api.get_repo_discussions(plan.repo_id, **options))
    except OSError:  # as all errors of the Hub's client, whatever its version
        return None
    found = None
    for discussion in discussions:
        # Servers that know no filters send all there are.
        if (discussion.author, discussion.status, discussion.is_pull_request) != (name, "open", True):
            continue
        if _target(api, plan.repo_id, discussion.num) != (plan.revision or _DEFAULT_BRANCH):
            continue
        file = read_config(plan.repo_id, revision=f"refs/pr/{discussion.num}", token=token, missing_ok=True)
        proposal = Proposal(discussion.num, discussion.url, file, same_json(template_in(file), plan.template))
        if proposal.same:
            return proposal
        if discussion.title == title:
            found = found or proposal
    return found


def _target(api: Any, repo_id: str, number: int) -> str:
    """The branch that a pull request is for."""
    return str(api.get_discussion_details(repo_id, number).target_branch).removeprefix("refs/heads/")
