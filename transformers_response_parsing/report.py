# SPDX-License-Identifier: Apache-2.0
"""The report of `check_template`: a table for the author of a template, and the facts behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CaseResult", "CheckReport"]

_SHOWN = 600  # characters of a text in the report
_TABLE_WIDTH = 160  # characters of a problem in its table
_NAMED = 5  # cases named for a reason why they can't be rendered
_EVIDENCE = 5  # failures shown with prompt, reply and message


@dataclass(frozen=True)
class CaseResult:
    """One case of a report.

    Attributes:
        name: what was tried: "content only", "parallel calls", …
        status: "pass", "fail" or "not rendered".
        detail: what is wrong, or why the chat template can't render it; "" for a pass.
        prompt: what the model would be given; "" if the case could not be rendered, as the next three.
        reply: what it would generate, the end of its turn included.
        expected: the message that this is (for a prefilled turn: all of it).
        message: the message that the template makes of it; None if it makes none.
        options: variables given to the chat template, `{"enable_thinking": False}` for example.
        notes: how prompt and reply were told apart, where it needs saying.
    """

    name: str
    status: str
    detail: str = ""
    prompt: str = ""
    reply: str = ""
    expected: Mapping[str, Any] | None = None
    message: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckReport:
    """What `check_template` found. `print` it.

    Attributes:
        cases: one result for each turn tried.
        notes: what holds for all of them.
    """

    cases: tuple[CaseResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Every case that the chat template can render passes, and there is one."""
        return bool(self.rendered) and not self.failures

    @property
    def rendered(self) -> tuple[CaseResult, ...]:
        """The cases that the chat template can render."""
        return tuple(case for case in self.cases if case.status != "not rendered")

    @property
    def failures(self) -> tuple[CaseResult, ...]:
        """The cases that fail."""
        return tuple(case for case in self.cases if case.status == "fail")

    @property
    def passed(self) -> tuple[CaseResult, ...]:
        """The cases that pass."""
        return tuple(case for case in self.cases if case.status == "pass")

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        cases = [
            {
                "name": case.name,
                "status": case.status,
                "detail": case.detail,
                "prompt": case.prompt,
                "reply": case.reply,
                "expected": case.expected,
                "message": case.message,
                "options": dict(case.options or {}),
                "notes": list(case.notes),
            }
            for case in self.cases
        ]
        totals = {
            "rendered": len(self.rendered),
            "passed": len(self.passed),
            "not_rendered": len(self.cases) - len(self.rendered),
        }
        return {"ok": self.ok, **totals, "notes": list(self.notes), "cases": cases}

    def __str__(self) -> str:
        rendered = self.rendered
        width = max((len(case.name) for case in rendered), default=0)
        lines = [f"{case.name:<{width}}  {_result(case)}" for case in rendered]
        reasons: dict[str, list[str]] = {}
        for case in self.cases:
            if case.status == "not rendered":
                reasons.setdefault(case.detail, []).append(case.name)
        lines += [f"can't be rendered: {reason} ({_named(names)})" for reason, names in reasons.items()]
        unrendered = len(self.cases) - len(rendered)
        total = f"{len(self.passed)} of {len(rendered)} rendered cases pass"
        total += f"; {unrendered} can't be rendered" * bool(unrendered)
        lines += ["", total if rendered else "no case can be rendered, so nothing is proven"]
        lines += [f"note: {note}" for note in self.notes]
        for case in self.failures[:_EVIDENCE]:
            lines += ["", case.name, *_evidence(case)]
        if len(self.failures) > _EVIDENCE:
            lines += ["", f"{len(self.failures) - _EVIDENCE} more fail; `failures` has them all"]
        return "\n".join(lines)


def _result(case: CaseResult) -> str:
    words = "pass" if case.status == "pass" else f"FAIL  {case.detail.partition(chr(10))[0][:_TABLE_WIDTH]}"
    options = ", ".join(f"{name}={value!r}" for name, value in (case.options or {}).items())
    return f"{words}  ({options})" if options else words


def _named(cases: list[str]) -> str:
    if len(cases) <= _NAMED:
        return "; ".join(cases)
    return f"{'; '.join(cases[:_NAMED])}; and {len(cases) - _NAMED} more"


def _evidence(case: CaseResult) -> list[str]:
    lines = [
        f"  problem   {case.detail}",
        f"  prompt    …{case.prompt[-120:]!r}",
        f"  reply     {_short(repr(case.reply))}",
        f"  expected  {_short(repr(case.expected))}",
        f"  message   {_short(repr(case.message))}",
    ]
    return lines + [f"  note      {note}" for note in case.notes]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
