# SPDX-License-Identifier: Apache-2.0
"""A template as plain data -> its compiled parts, or one TemplateError with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Problems
from .content import CONTENT_TYPES
from .delimiter import Anchor, literal_anchor, pattern_anchor
from .errors import Problem, TemplateError
from .field import FIELD_KEYS, CompiledField, Field, compile_field
from .limits import MAX_FIELDS
from .lint import template_warnings
from .source import Source, describe, join_path, parent_path

__all__ = ["CompiledTemplate", "compile_template"]

_KEYS = ("version", "defaults", "start_anchor", "start_anchor_pattern", "fields")
_ELSEWHERE = dict.fromkeys(FIELD_KEYS, "it belongs into a field, under fields.<name>")
_ELSEWHERE["response_template"] = "this looks like a whole tokenizer_config.json, pass the value of this key"
# The format before response templates described the message with a JSON Schema.
_ELSEWHERE |= dict.fromkeys(
    ("properties", "x-regex", "x-parser"),
    "this looks like a `response_schema`, an older format: `response-template convert` makes a template of it",
)
_OLDEST = (5, 13, 0)


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """The parts of a `ResponseTemplate`; see there."""

    anchor: Anchor
    fields: tuple[Field, ...]
    implicit: Field | None
    problems: tuple[Problem, ...]
    extensions: tuple[str, ...]
    min_transformers: str | None


def compile_template(source: Source) -> CompiledTemplate:
    """Validate and compile. Raises TemplateError with all problems, in the order of the template."""
    problems = Problems(source.problems)
    data = source.data
    meant = problems.keys(data, "", _KEYS, _ELSEWHERE)
    _check_version(data, problems)
    _check_defaults(data, problems)
    anchor = _anchor(data, meant, problems)
    fields = _fields(data, meant, problems)
    _check_field_defaults(data, problems)
    if problems.found or anchor is None:  # (there is a problem where there is no anchor)
        raise TemplateError(_in_order(_without_consequences(problems.found, source.broken), source.order))
    compiled = tuple(field.field for field in fields if field.field is not None)
    warnings = dict.fromkeys([*_delimiter_warnings(compiled), *template_warnings(data)])
    return CompiledTemplate(
        anchor=anchor,
        fields=compiled,
        implicit=next((field for field in compiled if field.open is None), None),
        problems=tuple(_in_order(warnings, source.order)),
        extensions=_extensions(compiled, source.order),
        min_transformers=_min_transformers(data["fields"], compiled),
    )


def _check_version(data: Mapping[str, Any], problems: Problems) -> None:
    value = data.get("version", 1)
    if isinstance(value, bool) or not isinstance(value, int) or value != 1:
        advice = "update this package if the template is newer" if isinstance(value, int) and value > 1 else "write 1"
        problems.add(
            "version", f"only version 1 of the format exists, not {describe(value)}: {advice}, or leave it out"
        )


def _check_defaults(data: Mapping[str, Any], problems: Problems) -> None:
    value = data.get("defaults", {})
    if not isinstance(value, dict):
        problems.add("defaults", f'must be an object like {{"role": "assistant"}}, not {describe(value)}')


def _check_field_defaults(data: Mapping[str, Any], problems: Problems) -> None:
    """The default of a field that collects its matches is what they are added to."""
    defaults, specs = data.get("defaults"), data.get("fields")
    if not isinstance(defaults, dict) or not isinstance(specs, dict):
        return
    for name, value in defaults.items():
        spec, where = specs.get(name), join_path("defaults", name)
        if not isinstance(spec, dict) or spec.get("repeats") is not True:
            continue
        if isinstance(spec.get("join"), str):
            if not isinstance(value, str):
                problems.add(
                    where, f"the matches of '{name}' are joined to it: it must be a string, not {describe(value)}"
                )
        elif not isinstance(value, list):
            problems.add(where, f"the matches of '{name}' are added to it: it must be a list, not {describe(value)}")


def _anchor(data: Mapping[str, Any], meant: set[str], problems: Problems) -> Anchor | None:
    single = problems.not_both(data, "", "start_anchor", "start_anchor_pattern")
    literals = problems.literals(data, "", "start_anchor")
    pattern = problems.pattern(data, "", "start_anchor_pattern", pattern_anchor)
    if literals is not None and single:
        with problems.collect():
            return literal_anchor(literals, "start_anchor")
    given = data.keys() | meant
    if "start_anchor" not in given and "start_anchor_pattern" not in given:
        problems.add(
            "start_anchor",
            "is missing: give the text that starts the assistant's turn in the prompt (such as "
            '"<|im_start|>assistant\\n"), or a start_anchor_pattern',
        )
    return pattern


def _fields(data: Mapping[str, Any], meant: set[str], problems: Problems) -> list[CompiledField]:
    specs = data.get("fields", {})
    if "fields" not in data and "fields" not in meant:
        problems.add("fields", "is missing: give an object with a field for each key of the message")
    elif not isinstance(specs, dict):
        problems.add("fields", f"must be an object with a field for each key of the message, not {describe(specs)}")
    elif not specs and "fields" in data:
        problems.add("fields", "is empty: give a field for each key of the message")
    elif len(specs) > MAX_FIELDS:
        problems.add("fields", f"there are {len(specs):,} fields: use at most {MAX_FIELDS}")
    else:
        return _compile_fields(specs, problems)
    return []


def _compile_fields(specs: Mapping[str, Any], problems: Problems) -> list[CompiledField]:
    compiled = []
    implicit: list[str] = []
    for index, (name, spec) in enumerate(specs.items()):
        path = join_path("fields", name)
        if not name:
            problems.add(path, "the name of a field is a key of the message: it must not be empty")
        compiled.append(compile_field(name, index, spec, path, problems))
        if compiled[-1].implicit:
            implicit.append(name)
    for name in implicit[1:]:
        message = (
            f"has neither 'open' nor 'open_pattern', like '{implicit[0]}': only one field may take the text that "
            "no other claims, so add an 'open'"
        )
        problems.add(join_path("fields", name), message)
    _check_shared_keys([one.field for one in compiled if one.field is not None], problems)
    return compiled


def _check_shared_keys(fields: Iterable[Field], problems: Problems) -> None:
    """Fields that write the same key of the message must add to it in the same way."""
    first: dict[str, Field] = {}
    for field in fields:
        other = first.setdefault(field.key, field)
        if other is field:
            continue
        lists = all(one.join is None and (one.repeats or one.transform_each) for one in (field, other))
        if not lists and not (field.join is not None and field.join == other.join):
            problems.add(
                join_path("fields", field.name),
                f"writes '{field.key}' like the field '{other.name}': then both must give lists (repeats or transform_each), "
                "or join with the same text",
            )


def _without_consequences(found: Iterable[Problem], broken: set[str]) -> Iterator[Problem]:
    """Leave out what was found at a value that could not even be copied, but for the finding that says so."""
    seen: set[str] = set()
    for problem in found:
        if problem.path not in broken or problem.path not in seen:
            yield problem
        seen.add(problem.path)


def _in_order(found: Iterable[Problem], order: Mapping[str, int]) -> list[Problem]:
    def position(problem: Problem) -> int:
        path = problem.path
        while path not in order:
            path = parent_path(path)
        return order[path]

    return sorted(dict.fromkeys(found), key=position)


def _delimiter_warnings(fields: Iterable[Field]) -> Iterator[Problem]:
    for field in fields:
        for key, delimiter in (("open_pattern", field.open), ("close_pattern", field.close)):
            for message in () if delimiter is None else delimiter.warnings:
                yield Problem(f"{join_path('fields', field.name)}.{key}", message)


def _extensions(fields: Iterable[Field], order: Mapping[str, int]) -> tuple[str, ...]:
    found = (path for field in fields for path in field.extensions)
    return tuple(problem.path for problem in _in_order((Problem(path, "") for path in found), order))


def _min_transformers(specs: Mapping[str, Any], fields: Iterable[Field]) -> str | None:
    needed = _OLDEST
    for field in fields:
        if field.extensions:
            return None
        if field.join is not None or (field.transform is not None and field.transform.dotted):
            needed = max(needed, (5, 16, 0))
        # Earlier ones give a transform the groups of the open only (observed on 5.13.0, 5.15.0, 5.20.2 and 5.21.1 to 5.23.0).
        if field.transform is not None and field.close is not None and field.transform.names & field.close.groups:
            needed = max(needed, (5, 24, 0))
        for name in _content_names(specs[field.name]):
            needed = max(needed, _version(CONTENT_TYPES[name].min_transformers))
    return ".".join(map(str, needed))


def _version(text: str) -> tuple[int, int, int]:
    major, minor, patch = map(int, text.split("."))
    return major, minor, patch


def _content_names(spec: Mapping[str, Any]) -> Iterator[str]:
    yield spec.get("content", "text")
    nested = spec.get("content_args", {}).get("value_parser")
    while nested:
        yield nested["name"]
        nested = (nested.get("args") or {}).get("value_parser")
