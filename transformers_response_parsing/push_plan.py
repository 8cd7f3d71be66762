# SPDX-License-Identifier: Apache-2.0
"""What a push would change, and the refusal to change it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import ResponseParsingError
from .hub_file import CONFIG, place
from .template import ResponseTemplate

__all__ = ["PushPlan", "TemplateExistsError"]


@dataclass(frozen=True)
class PushPlan:
    """What `push_template` does to the file; `print` it for the difference.

    Attributes:
        repo_id: the repository, or the local folder.
        local: it is a folder.
        revision: the branch asked for, or None for the default one.
        commit: the commit that the plan is made for (40 hex digits); None for a folder.
        before: the text of `tokenizer_config.json`; None if there is no such file.
        after: the text that it gets; the same as `before` if the template is there already.
        existing: the template that is there (any JSON value), or None.
        template: the template that will be there.
        given: the template as it was given, before `field_names` was applied.
    """

    repo_id: str
    local: bool
    revision: str | None
    commit: str | None
    before: str | None
    after: str
    existing: Any
    template: dict[str, Any]
    given: dict[str, Any]

    @property
    def changed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    @property
    def replaces(self) -> bool:
        """Whether another template is replaced, which needs `overwrite=True`."""
        return self.changed and self.existing is not None

    @property
    def extensions(self) -> tuple[str, ...]:
        """Paths in the template that only this package reads: a push to a repository needs `allow_extensions=True` then."""
        return ResponseTemplate.load(self.template).extensions

    @property
    def place(self) -> str:
        """The file, for messages: `org/model/tokenizer_config.json at 1a2b3c4`."""
        return place(self.repo_id, self.commit)

    @property
    def diff(self) -> str:
        """The change of the file as a unified diff; "" if there is none."""
        old = "/dev/null" if self.before is None else f"a/{CONFIG}"
        return _diff(self.before or "", self.after, old, f"b/{CONFIG}")

    @property
    def template_diff(self) -> str:
        """The change of the template alone, laid out over lines whatever the file looks like."""
        before = "" if self.existing is None else _laid_out(self.existing)
        return _diff(before, _laid_out(self.template), "there", "new")

    def __str__(self) -> str:
        return self.diff.removesuffix("\n") if self.changed else f"{self.place}: already up to date"


class TemplateExistsError(ResponseParsingError):
    """The repository has another response template, and `overwrite=True` was not given.

    Attributes:
        plan: what the push would have done; `plan.existing` is the template that is there.
    """

    def __init__(self, plan: PushPlan) -> None:
        self.plan = plan
        super().__init__(
            f"{plan.place} has another response template already; pass overwrite=True to replace it. "
            f"The change would be:\n{plan.template_diff}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (TemplateExistsError, (self.plan,))


def _laid_out(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    except RecursionError:  # what is in a repository need not be a template
        return "(nested too deeply to be shown)\n"


def _diff(before: str, after: str, old: str, new: str) -> str:
    return "".join(_marked(difflib.unified_diff(_lines(before), _lines(after), old, new)))


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one, other than with `splitlines`."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])


def _marked(diff: Iterator[str]) -> Iterator[str]:
    for line in diff:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
