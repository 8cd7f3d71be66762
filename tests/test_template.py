# SPDX-License-Identifier: Apache-2.0
"""Loading a template: what is accepted, and what is refused and how that is said.

`templates/invalid.json` and `templates/valid.json` hold one case a line; a `field` is short for a template with it as `x`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing import limits
from transformers_response_parsing.errors import ResponseParsingError, TemplateError
from transformers_response_parsing.field import FIELD_KEYS
from transformers_response_parsing.template import ResponseTemplate

CASES = Path(__file__).parent / "templates"
REGION = {"open": "<t>", "close": "</t>"}


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in json.loads((CASES / name).read_text(encoding="utf-8"))]


def whole(case: dict[str, Any]) -> dict[str, Any]:
    return case["template"] if "template" in case else template(x=case["field"])


def template(**fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": "<A>", "fields": fields}


def problems(source: Any) -> list[tuple[str, str]]:
    with pytest.raises(TemplateError) as caught:
        ResponseTemplate.load(source)
    return [(problem.path, problem.message) for problem in caught.value.problems]


class TestValidation:
    @pytest.mark.parametrize("case", cases("invalid.json"))
    def test_what_is_wrong_is_named_by_path_with_what_to_do(self, case: dict[str, Any]) -> None:
        """Each error of the format has exactly these paths, and a message that helps."""
        found = problems(whole(case))
        assert [path for path, _ in found] == case["problems"]
        assert any(case["says"] in message for _, message in found)

    @pytest.mark.parametrize("case", cases("invalid.json"))
    def test_json_text_has_the_same_problems(self, case: dict[str, Any]) -> None:
        """A template is refused in the same way whether it comes as a dict or as text."""
        assert problems(json.dumps(whole(case))) == problems(whole(case))

    @pytest.mark.parametrize("case", cases("valid.json"))
    def test_what_is_right_loads(self, case: dict[str, Any]) -> None:
        """Every template of the seed document and every corner of the format loads."""
        source = whole(case)
        loaded = ResponseTemplate.load(source)
        assert loaded.source == source
        assert [field.name for field in loaded.fields] == list(source["fields"])
        assert [field.index for field in loaded.fields] == list(range(len(loaded.fields)))

    @pytest.mark.parametrize("case", cases("valid.json"))
    def test_the_first_transformers_release_that_reads_it(self, case: dict[str, Any]) -> None:
        """5.13.0, unless the template uses what came later."""
        assert ResponseTemplate.load(whole(case)).min_transformers == case["min_transformers"]

    def test_all_problems_come_at_once_in_the_order_of_the_template(self) -> None:
        """Fixing a template takes one round, not one for each mistake."""
        source = {
            "fields": {
                "a": {"optional": 1, "opne": "<a>", "content": "jsn"},
                "b": {"open_pattern": "(", "transform": "x {content}", "close": ["", 3]},
            },
            "start_anchor": [],
            "version": 2,
            "defaults": None,
        }
        assert [path for path, _ in problems(source)] == [
            "fields.a.optional",
            "fields.a.opne",
            "fields.a.content",
            "fields.b.open_pattern",
            "fields.b.transform",
            "fields.b.close[0]",
            "fields.b.close[1]",
            "start_anchor",
            "version",
            "defaults",
        ]

    def test_the_error_as_text_lists_them(self) -> None:
        """What a user sees in the traceback is the whole list, and the first path is at hand."""
        with pytest.raises(TemplateError) as caught:
            ResponseTemplate.load(template(x={**REGION, "open": "", "repeats": 1}))
        assert caught.value.path == "fields.x.open"
        assert "2 problems" in str(caught.value)
        assert "\n  fields.x.repeats: must be true or false, not the number 1" in str(caught.value)
        assert isinstance(caught.value, (ResponseParsingError, ValueError))

    def test_a_mistake_is_reported_once_without_its_consequences(self) -> None:
        """A misspelt or broken key does not make the keys that depend on it wrong too."""
        found = problems(
            template(x={"opne": "<t>"}, y={"open_pattern": "(?P<n>", "transform": "{n}"}, z={"close": "."})
        )
        assert [path for path, _ in found] == ["fields.x.opne", "fields.y.open_pattern"]

    @pytest.mark.parametrize(
        ("value", "advice"),
        [(("a", "b"), "use a list"), ({"a"}, "use a list"), (b"a", "bytes"), (object(), "object"), (1j, "complex")],
        ids=["tuple", "set", "bytes", "object", "complex"],
    )
    @pytest.mark.parametrize("where", ["defaults.d[0]", "fields.x.open", "fields.x.transform.a"])
    def test_what_json_can_not_hold_is_refused(self, where: str, value: Any, advice: str) -> None:
        """A template goes into tokenizer_config.json: everywhere in it only JSON values are right."""
        source = template(x={"open": "<t>", "transform": {"a": 1}})
        source["defaults"] = {"role": "assistant", "d": [1]}
        if where == "defaults.d[0]":
            source["defaults"]["d"][0] = value
        elif where == "fields.x.open":
            source["fields"]["x"]["open"] = value
        else:
            source["fields"]["x"]["transform"]["a"] = value
        ((path, message),) = problems(source)
        assert path == where
        assert advice in message

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
    def test_numbers_that_are_no_json_are_refused(self, number: float) -> None:
        """NaN and the infinities can't be stored."""
        ((path, message),) = problems({**template(x=REGION), "defaults": {"a": [number]}})
        assert path == "defaults.a[0]"
        assert "finite number" in message

    def test_keys_are_strings(self) -> None:
        """A key of another type would come back from the file as a string."""
        assert [path for path, _ in problems({**template(x=REGION), "defaults": {1: 2}})] == ["defaults.1"]
        assert [path for path, _ in problems({**template(), "fields": {3: REGION}})] == ["fields.3"]

    def test_the_place_in_a_regex_is_shown(self) -> None:
        """Long patterns are hard to debug without the position."""
        ((path, message),) = problems(template(x={"open_pattern": "<tool_call>(name"}))
        assert path == "fields.x.open_pattern"
        assert "at character 16 of the pattern" in message
        assert "'l_call>(name'" in message

    def test_subclasses_of_the_json_types_become_plain(self) -> None:
        """What comes out of a configuration library is as good as a dict, and nothing of it is kept."""

        class Text(str):
            __slots__ = ()

        class Table(dict[str, Any]):
            pass

        loaded = ResponseTemplate.load(Table({**template(x=Table(REGION)), "start_anchor": Text("<A>")}))
        assert type(loaded.source["start_anchor"]) is str
        assert type(loaded.source["fields"]["x"]) is dict


class TestSources:
    def test_text_file_and_dict_give_the_same(self, tmp_path: Path) -> None:
        """A dict, its JSON, a Path and a string that names a file are all the same template."""
        source = template(x=REGION)
        file = tmp_path / "t.json"
        file.write_text("\ufeff" + json.dumps(source, indent=2), encoding="utf-8")
        other = tmp_path / "plain"
        other.write_text(json.dumps(source), encoding="utf-8")
        loaded = ResponseTemplate.load(source)
        assert all(
            ResponseTemplate.load(t) is loaded for t in (loaded, json.dumps(source), file, str(file), str(other))
        )

    def test_a_file_that_is_not_there_is_an_os_error(self, tmp_path: Path) -> None:
        """A missing file says nothing about a template: it is Python's own error."""
        with pytest.raises(FileNotFoundError):
            ResponseTemplate.load(str(tmp_path / "missing.json"))
        with pytest.raises(FileNotFoundError):
            ResponseTemplate.load(tmp_path / "missing")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ('{"fields": }', "line 1, column 12"),
            ("{", "not valid JSON"),
            ("[]", "must hold an object"),
            ('"x"', "must hold an object"),
            ("qwen3", "neither a JSON object nor a file"),
            ("", "neither a JSON object nor a file"),
            ("a\0b", "neither a JSON object nor a file"),
            ("x" * 5000, "neither a JSON object nor a file"),
            ('{"a":' * 50_000, "nested too deeply"),
            ('{"version": ' + "1" * 5000 + "}", "can't be read"),
        ],
    )
    def test_text_that_is_no_template(self, text: str, says: str) -> None:
        """Whatever the text, the error is ours and says what is wrong with it."""
        ((path, message),) = problems(text)
        assert path == ""
        assert says in message

    @pytest.mark.parametrize("value", [None, 3, 2.5, True, [], (), b"{}", object()], ids=repr)
    def test_other_types_are_refused(self, value: Any) -> None:
        """The error says what can be loaded."""
        ((path, message),) = problems(value)
        assert path == ""
        assert "is a dict, a JSON text or the path of a JSON file" in message

    def test_a_file_must_be_utf_8(self, tmp_path: Path) -> None:
        """JSON files are UTF-8; anything else is named with its place."""
        file = tmp_path / "t.json"
        file.write_bytes(b'{"a": "\xff"}')
        ((_, message),) = problems(file)
        assert "not UTF-8 (byte 7)" in message

    def test_repeated_keys_in_text_are_errors(self) -> None:
        """JSON readers take the last of two silently; an author who wrote two meant something else."""
        text = '{"start_anchor": "a", "fields": {"x": {"open": "a", "open": "b"}, "x": {"open": "c", "open": "d"}}}'
        assert [path for path, _ in problems(text)] == ["fields.x", "fields.x.open"]

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
    def test_numbers_in_text_that_are_no_json(self, number: str) -> None:
        """Python's json module reads them; they are no JSON."""
        text = json.dumps(template(x=REGION)).replace('"assistant"', number)
        assert [path for path, _ in problems(text)] == ["defaults.role"]


class TestBounds:
    """A hostile template is refused before it costs memory or time."""

    def test_too_many_characters(self) -> None:
        """All strings together count, keys included."""
        ((path, message),) = problems(template(x={"open": "a" * (limits.MAX_TEMPLATE_CHARACTERS + 1)}))
        assert path == ""
        assert "too large" in message

    def test_lists_that_hold_each_other_many_times(self) -> None:
        """Ten lines of Python make a dict of 10^30 values."""
        bomb: Any = ["x"]
        for _ in range(30):
            bomb = [bomb] * 10
        ((_, message),) = problems({**template(x=REGION), "defaults": {"a": bomb}})
        assert "too large" in message

    def test_a_cycle(self) -> None:
        """A dict that holds itself is nested without end."""
        cycle: dict[str, Any] = {}
        cycle["a"] = cycle
        ((path, message),) = problems({**template(x=REGION), "defaults": cycle})
        assert path.startswith("defaults.a.a")
        assert "nested too deeply" in message

    def test_nesting(self) -> None:
        """The limit is exact."""
        deep: Any = 1
        for _ in range(limits.MAX_TEMPLATE_DEPTH - 2):
            deep = [deep]
        ResponseTemplate.load({**template(x=REGION), "defaults": {"a": deep}})
        ((_, message),) = problems({**template(x=REGION), "defaults": {"a": [deep]}})
        assert "nested too deeply" in message

    def test_large_integers(self) -> None:
        """Thousands of digits take quadratic time to write."""
        ResponseTemplate.load({**template(x=REGION), "defaults": {"a": 2**limits.MAX_TEMPLATE_INTEGER_BITS - 1}})
        for large in (10**5000, 2**limits.MAX_TEMPLATE_INTEGER_BITS):
            ((path, message),) = problems({**template(x=REGION), "defaults": {"a": large}})
            assert path == "defaults.a"
            assert "too large" in message

    def test_number_of_fields(self) -> None:
        """The limit is exact."""
        many = {f"f{i}": {"open": f"<{i}>"} for i in range(limits.MAX_FIELDS)}
        ResponseTemplate.load(template(**many))
        ((path, message),) = problems(template(**many, x=REGION))
        assert path == "fields"
        assert "at most" in message

    def test_number_of_literals(self) -> None:
        """Of all fields and the anchor together; the limit is exact."""
        fields = {"x": {"open": [f"<{i}>" for i in range(limits.MAX_LITERALS - 2)], "close": "</t>"}}
        ResponseTemplate.load({"start_anchor": "a", "fields": fields})
        ((path, _),) = problems({"start_anchor": ["a", "b"], "fields": fields})
        assert path == "fields.x.close"
        half = [f"<{i}>" for i in range(limits.MAX_LITERALS // 2)]
        ((path, message),) = problems(template(x={"open": half, "close": half}))
        assert path == "fields.x.close"
        assert "too many literals" in message

    @pytest.mark.parametrize("key", ["open_pattern", "close_pattern"])
    def test_length_of_a_regex(self, key: str) -> None:
        """Compiling one costs more than its length. The limit is exact."""
        ResponseTemplate.load(template(x={"open_pattern": "a", key: "a" * limits.MAX_PATTERN_LENGTH}))
        ((path, message),) = problems(template(x={key: "a" * (limits.MAX_PATTERN_LENGTH + 1)}))
        assert path == f"fields.x.{key}"
        assert "at most" in message

    def test_length_of_nested_tag_patterns(self) -> None:
        """Regexes in arguments count too."""
        tag = "(?P<key>a)(?P<value>b)" + "c" * limits.MAX_PATTERN_LENGTH
        nested = {"value_parser": {"name": "xml-inline", "args": {"tag_pattern": tag}}}
        ((path, _),) = problems(template(x={**REGION, "content": "kv-lines", "content_args": nested}))
        assert path == "fields.x.content_args.value_parser.args.tag_pattern"

    def test_a_regex_nested_too_deeply(self) -> None:
        """No RecursionError leaves the loader."""
        ((path, message),) = problems(template(x={"open_pattern": "(?:" * 1000 + "a" + ")" * 1000}))
        assert path == "fields.x.open_pattern"
        assert "too complex" in message

    def test_a_flood_of_unknown_keys(self) -> None:
        """The list of problems stays readable."""
        found = problems(template(x={f"k{i}": i for i in range(5000)}))
        assert len(found) < 100
        assert any("5,000 unknown keys" in message for _, message in found)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["{content}", "json", "a+"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELD_KEYS, "name", "args"]), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestOnlyOurErrors:
    @given(
        top=st.dictionaries(
            st.sampled_from(["version", "defaults", "start_anchor", "start_anchor_pattern", "x"]), JSON
        ),
        field=st.dictionaries(st.sampled_from(FIELD_KEYS), JSON, max_size=4),
    )
    def test_any_json(self, top: dict[str, Any], field: dict[str, Any]) -> None:
        """Whatever JSON stands where, it loads or it is a TemplateError."""
        with suppress(TemplateError):
            ResponseTemplate.load({"start_anchor": "<A>", **top, "fields": {"x": field}})

    @given(pattern=st.text(r"ab1,()[]{}|*+?\^$.<>=!:P&R#- \n", max_size=12))
    def test_any_regex(self, pattern: str) -> None:
        """Whatever is written as a regex, it loads (with its warnings) or it is a TemplateError."""
        tag = {"content": "xml-inline", "content_args": {"tag_pattern": "(?P<key>a)(?P<value>b)" + pattern}}
        for source in (
            {"start_anchor_pattern": pattern, "fields": {"x": {}}},
            template(x={"open_pattern": pattern, "transform": "{content}"}),
            template(x={"close_pattern": pattern, "transform": "{content}", **tag}),
        ):
            with suppress(TemplateError):
                ResponseTemplate.load(source)
