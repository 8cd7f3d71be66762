# SPDX-License-Identifier: Apache-2.0
"""The published JSON Schema, the loader, and transformers' native loader agree on what a template is.

Where they can't, the difference is in a list here, with its reason.
"""

from __future__ import annotations

import importlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.content import CONTENT_TYPES
from transformers_response_parsing.errors import Problem, TemplateError
from transformers_response_parsing.field import FIELD_KEYS
from transformers_response_parsing.template import ResponseTemplate

jsonschema = pytest.importorskip("jsonschema")

CASES = Path(__file__).parent / "templates"
SCHEMA = json.loads(
    resources.files("transformers_response_parsing")
    .joinpath("response_template.schema.json")
    .read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# What the loader says where a JSON Schema can't say anything -> why it can't.
BEYOND_A_SCHEMA = {
    "not a valid regex": "whether a regex is valid",
    "no valid regex": "whether a regex is valid",
    "only one field may take the text": "counts properties by what they don't have",
    "can only be used by a 'transform'": "the groups are inside of the regex",
    "nothing supplies": "variables are the groups of two other keys",
    "it has no keys": "depends on the content type and on the groups",
    "which each element has": "depends on the content type and on the groups",
    "to it: it must be": "keys of `defaults` that are fields",
    "then both must give lists": "compares two fields",
    "only version 1 of the format exists, not the number 1.0": "1.0 is an integer in JSON Schema",
}

# What the loader says where transformers loads the template, and fails later or does something else than was meant
# (SPEC 7, difference 5) -> what happens there.
LATER_THERE = {
    "must be true or false": "any value is taken by its truth; null makes a field obligatory",
    "then both must give lists": "compares two fields",
    "only version 1 of the format exists": "true and 1.0 pass for 1",
    "nothing supplies": "KeyError for each text that has the region",
    "it has no keys": "ValueError for each text that has the region",
    "which each element has": "KeyError for each text that has the region",
    "this one gives": "ValueError: transform_each needs a list",
    "to it: it must be": "AttributeError or TypeError with the first region",
    "every match must give a string": "ValueError: join needs strings",
    "must be the separator": "null is taken for no join",
    "must be an object of arguments": "null is taken for no arguments, others fail with the first region",
    "must be an object, a list or a string": "null is taken for no transform; a number replaces every value",
    "no such argument": "fails with the first region",
    "no valid regex": "fails with the first region",
    "'xml-inline' needs it": "fails with the first region",
    "needs the named group": "fails with the first tag",
    "content_args": "arguments are looked at with the first region",
    "must not be empty": "a field without a name",
    "is no placeholder": "the text itself is the value",
    "can leave out an entry": "the text itself is the value",
    "mixes text with the alternatives": "the text itself is the value",
}


def whole(case: dict[str, Any]) -> dict[str, Any]:
    return case["template"] if "template" in case else template({"x": case["field"]})


def template(fields: dict[str, Any]) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": "<A>", "fields": fields}


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in json.loads((CASES / name).read_text(encoding="utf-8"))]


def problems(source: dict[str, Any]) -> tuple[Problem, ...]:
    try:
        ResponseTemplate.load(source)
    except TemplateError as error:
        return error.problems
    return ()


def outside(found: tuple[Problem, ...], listed: dict[str, str]) -> list[str]:
    """The problems that are not in a list of exceptions."""
    return [str(problem) for problem in found if not any(reason in str(problem) for reason in listed)]


TAG = r"<p=(?P<key>\w+)>(?P<value>.*?)</p>"
flags = st.sampled_from([True, True, False, None, 1, "true"])
literals: st.SearchStrategy[Any] = st.sampled_from(
    ["<t>", "</t>", ["a", "b"], ["a"], "", [], [""], None, 3, ["a", 3], {}]
)
patterns = st.sampled_from(["<t>", "a+", "$", "(?P<n>a)?b", "(?P<name>a)", "(", "", None, 3, ["a"]])
inner: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"name": "json"},
        {"name": "int", "args": {}},
        {"name": "spam"},
        {"name": "json", "args": {"allow_non_json": True}},
        {"name": "xml-inline"},
        {"name": "json", "args": {"spam": 1}},
        {"name": "text", "spam": 1},
        None,
        {},
        "json",
        {"args": {}},
    ]
)
arguments = st.dictionaries(
    st.sampled_from([*sorted({key for kind in CONTENT_TYPES.values() for key in kind.arguments}), "spam"]),
    st.sampled_from([True, False, None, 1, "", ":", TAG, "(?P<key>a)", "(", [], [["a", "b"]], [["a"]], [["", "a"]]])
    | st.sampled_from(["optional", ["name", "arguments"], ["a", "a"], "(?P<key>a)(?P<value>b)(?P<raw>c)?"])
    | inner,
    max_size=2,
)
transforms = st.sampled_from(
    [
        *("{content}", "{content.a}", "{n}", "{name}", "{n.a}", "literal", "x {content}", "{content}\n", "{a b}", "{}"),
        *("{content.a|content.b}", "{name|n|[]}", "{content|null}", "{content |n}", "{n.a|{}}", "{content|5}"),
        "{content|nope}",
    ]
) | st.sampled_from(
    [
        {"type": "function", "function": "{content}"},
        {"name": "{name}", "arguments": "{arguments}"},
        {"a": {"b": ["{content} "]}},
        {"{x}": "{nope}"},
        {"id": "{content.id|n|}"},
        ["{content|}"],
        ["{n}", 1, None],
        {},
        [],
        None,
        3,
        True,
    ]
)
# Each key is mostly right or absent, so that some of the fields load.
VALUES = {
    "open": literals,
    "open_pattern": patterns,
    "close": literals,
    "close_pattern": patterns,
    "repeats": flags,
    "join": st.sampled_from(["", "\n", "", None, 3, True]),
    "optional": flags,
    "content": st.sampled_from([*CONTENT_TYPES, "json", "json", "spam", None]),
    "content_args": st.just({"tag_pattern": TAG}) | arguments | st.sampled_from([{}, None, []]),
    "transform": transforms,
    "transform_each": flags,
    "nests": flags,
    "into": st.sampled_from(["tool_calls", "", 1]),
    "spam": st.just(1),
}
GOOD: list[dict[str, Any]] = [
    {"open": "<t>", "close": "</t>"},
    {"open_pattern": "<t>"},
    {"close": "<e>"},
    {"open_pattern": "(?P<n>a)", "transform": "{n}"},
]


@st.composite
def fields(draw: st.DrawFn) -> Any:
    field = dict(draw(st.sampled_from(GOOD)))
    for key in draw(st.lists(st.sampled_from([*FIELD_KEYS, "spam"]), max_size=4)):
        field[key] = draw(VALUES[key])
    return field


@st.composite
def templates(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = template(
        draw(st.dictionaries(st.sampled_from(["x", "y", "z", "a.b"]), fields(), max_size=2))
    )
    changed = draw(
        st.sampled_from(
            ["", "", "", "", "version", "defaults", "start_anchor", "start_anchor_pattern", "fields", "spam"]
        )
    )
    if changed:
        made[changed] = draw(
            st.sampled_from([1, 1.0, True, 2, None, {}, [], "", "a", "(", ["a", ""], {"x": None}, {"": GOOD[0]}])
        )
    if draw(st.booleans()) and changed == "start_anchor_pattern":
        del made["start_anchor"]
    return made


class TestSchema:
    def test_it_is_a_schema_of_the_2020_12_draft(self) -> None:
        """With a description for every key an author can write."""
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert set(SCHEMA["$defs"]["field"]["properties"]) == set(FIELD_KEYS)
        keys = [*SCHEMA["properties"].values(), *SCHEMA["$defs"]["field"]["properties"].values()]
        assert all(key["description"] for key in keys)

    def test_it_knows_every_content_type_and_its_arguments(self) -> None:
        """A new content type must be added to it."""
        assert set(SCHEMA["$defs"]["field"]["properties"]["content"]["enum"]) == set(CONTENT_TYPES)
        for name, kind in CONTENT_TYPES.items():
            known = SCHEMA["$defs"].get(f"{name}_args", SCHEMA["$defs"]["none_args"])
            assert set(known["properties"]) == set(kind.arguments)

    @pytest.mark.parametrize("case", cases("valid.json"))
    def test_it_accepts_what_loads(self, case: dict[str, Any]) -> None:
        """An editor that checks with the schema marks nothing in a right template."""
        assert [error.message for error in VALIDATOR.iter_errors(whole(case))] == []

    @pytest.mark.parametrize("case", cases("invalid.json"))
    def test_it_refuses_what_does_not_load(self, case: dict[str, Any]) -> None:
        """But for the cases that name a reason why a schema can't."""
        assert VALIDATOR.is_valid(whole(case)) == ("schema_accepts" in case)
        assert ("schema_accepts" in case) == (outside(problems(whole(case)), BEYOND_A_SCHEMA) == [])

    @given(templates())
    def test_it_agrees_with_the_loader(self, source: dict[str, Any]) -> None:
        """On any template, but for what is beyond a schema."""
        found = problems(source)
        accepted = VALIDATOR.is_valid(source)
        if not found:
            assert accepted
        elif accepted:
            assert outside(found, BEYOND_A_SCHEMA) == []
        else:
            assert outside(found, BEYOND_A_SCHEMA) != [], [error.message for error in VALIDATOR.iter_errors(source)]


@pytest.fixture(scope="module")
def native() -> Any:
    """Whether transformers' own implementation loads a template."""
    try:
        parsing = importlib.import_module("transformers.utils.chat_parsing")
    except ImportError:
        pytest.skip("needs transformers >= 5.13, which has response templates")

    def loads(source: dict[str, Any]) -> bool:
        try:
            parsing.ResponseParser(source, prefix="")
        except Exception:  # noqa: BLE001 - TypeErrors too
            return False
        return True

    return loads


class TestNative:
    @pytest.mark.parametrize("case", cases("valid.json"))
    def test_what_loads_here_loads_there(self, case: dict[str, Any], native: Any) -> None:
        """From the release on that `min_transformers` names."""
        if case["min_transformers"] is None:
            assert ResponseTemplate.load(whole(case)).extensions
            return
        version = tuple(map(int, importlib.import_module("transformers").__version__.split(".")[:2]))
        if version < tuple(map(int, case["min_transformers"].split(".")[:2])):
            pytest.skip(f"needs transformers {case['min_transformers']}")
        assert native(whole(case))

    @pytest.mark.parametrize("case", cases("invalid.json"))
    def test_what_loads_only_there_fails_there_later(self, case: dict[str, Any], native: Any) -> None:
        """Each mistake that passes there is in the list of those that show only when a text is parsed."""
        if native(whole(case)):
            assert outside(problems(whole(case)), LATER_THERE) == []

    @given(source=templates())
    def test_generated_templates(self, source: dict[str, Any], native: Any) -> None:
        """What loads here loads there but for extensions; what loads only there is in the list."""
        found = problems(source)
        if not found:
            assert native(source) or ResponseTemplate.load(source).extensions
        elif native(source):
            assert outside(found, LATER_THERE) == []
