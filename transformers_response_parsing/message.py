# SPDX-License-Identifier: Apache-2.0
"""The message that a parser builds up from the values of the regions."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .plan import FieldPlan, Plan

__all__ = ["Message"]


class Message:
    """Collects the values of regions; `build` gives the message.

    Attributes:
        opened: names of the fields of which the model wrote a region, whatever was in it.
        malformed: the regions that could not be parsed: {"field", "raw", "error"} each.
    """

    __slots__ = ("_lists", "_plan", "_values", "malformed", "opened")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._values: dict[str, Any] = copy.deepcopy(plan.defaults) if plan.nested_defaults else plan.defaults.copy()
        # Fields that are put together at the end: their parts so far.
        self._lists: dict[str, list[Any]] = {}
        self.opened: set[str] = set()
        self.malformed: list[dict[str, Any]] = []

    def add(self, plan: FieldPlan, value: Any, body: str) -> None:
        """Add the value of a region, whose text is `body`."""
        name = plan.name
        if not plan.collects:
            self._values[name] = value
            return
        parts = self._lists.get(name)
        if parts is None:
            parts = self._lists[name] = self._first_parts(plan)
            self._values[name] = parts  # keeps the place among the keys; `build` puts the value in
        if plan.stretched:
            parts.append(body)
        elif plan.field.transform_each:
            parts += value
        else:
            parts.append(value)

    def _first_parts(self, plan: FieldPlan) -> list[Any]:
        """What the defaults contribute to a field that is collected."""
        default = self._values.get(plan.name)
        if plan.field.join is not None:
            return [default] if isinstance(default, str) else []
        return default if plan.field.repeats and isinstance(default, list) else []

    def build(self) -> dict[str, Any]:
        """The message so far: fields that captured nothing are left out unless the template has a default for them."""
        plan = self._plan
        for name, parts in self._lists.items():
            field_plan = plan.by_name[name]
            if field_plan.stretched:
                self._values[name] = field_plan.value("".join(parts), {}, None, False)
            elif field_plan.field.join is not None:
                self._values[name] = field_plan.field.join.join(parts)
        defaults = plan.defaults
        message = {
            name: value
            for name, value in self._values.items()
            if name in defaults or not (value is None or value == "" or value == [] or value == {})
        }
        if self.malformed:
            message["malformed"] = list(self.malformed)
        return message

    def snapshot(self) -> dict[str, Any]:
        """The message so far, independent of what comes later."""
        return copy.deepcopy(self.build())

    def missing(self) -> list[str]:
        """Names of the fields that must be there and are not, not even as a default."""
        plan = self._plan
        if not plan.required:
            return []
        return [name for name in plan.required if name not in self.opened and name not in plan.defaults]

    def save(self) -> Any:
        """Plain data for `restore`."""
        return (self._values, self._lists, self.opened, self.malformed)

    def restore(self, saved: Any) -> None:
        """Become the message (of the same plan) that was saved."""
        self._values, self._lists, self.opened, self.malformed = saved
