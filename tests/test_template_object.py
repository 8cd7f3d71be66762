# SPDX-License-Identifier: Apache-2.0
"""`ResponseTemplate` as an object: equality, copies, immutability; and what is compiled once, and what anew."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from transformers_response_parsing import template as template_module
from transformers_response_parsing.errors import TemplateError
from transformers_response_parsing.template import ResponseTemplate

REGION = {"open": "<t>", "close": "</t>"}


def template(**fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": "<A>", "fields": fields}


def problems(source: Any) -> list[tuple[str, str]]:
    with pytest.raises(TemplateError) as caught:
        ResponseTemplate.load(source)
    return [(problem.path, problem.message) for problem in caught.value.problems]


class TestObject:
    def test_it_is_equal_by_content(self) -> None:
        """Whatever the order of the keys, and with the types of JSON."""
        one = ResponseTemplate.load({"start_anchor": "a", "fields": {"x": REGION, "y": {"close": "."}}})
        two = ResponseTemplate.load({"fields": {"y": {"close": "."}, "x": REGION}, "start_anchor": "a"})
        assert one == two
        assert hash(one) == hash(two)
        assert len({one, two}) == 1
        assert one != ResponseTemplate.load({"start_anchor": "b", "fields": {"x": REGION, "y": {"close": "."}}})
        assert one != "a"
        numbers = [ResponseTemplate.load({**template(x=REGION), "defaults": {"n": n}}) for n in (1, 1.0, True)]
        assert len(set(numbers)) == 3

    def test_pickle_and_copies(self) -> None:
        """It travels as its source, and copies of what can't change are the thing itself."""
        loaded = ResponseTemplate.load(template(x=REGION, y={"close_pattern": "a+"}))
        assert pickle.loads(pickle.dumps(loaded)) is loaded
        assert copy.copy(loaded) is loaded
        assert copy.deepcopy({"t": [loaded]})["t"][0] is loaded

    def test_it_can_not_be_changed(self) -> None:
        """Neither its attributes nor, through what they give out, its content."""
        loaded = ResponseTemplate.load(template(x=REGION))
        for name in ("fields", "source", "anchor", "spam"):
            with pytest.raises(AttributeError, match="can't be changed"):
                setattr(loaded, name, None)
        with pytest.raises(AttributeError, match="can't be changed"):
            del loaded.fields
        with pytest.raises(AttributeError):
            loaded.fields[0].name = "y"  # type: ignore[misc]
        loaded.source["fields"].clear()
        loaded.defaults["role"] = "user"
        assert loaded.source == template(x=REGION)
        assert loaded.defaults == {"role": "assistant"}

    def test_it_is_made_by_load(self) -> None:
        """The constructor says so."""
        with pytest.raises(TypeError, match="load"):
            ResponseTemplate()

    def test_repr(self) -> None:
        """Short, whatever the template."""
        assert repr(ResponseTemplate.load(template(x=REGION, y={}))) == "<ResponseTemplate: x, y>"
        many = template(**{f"field_{i}": {"open": f"<{i}>"} for i in range(50)})
        assert repr(ResponseTemplate.load(many)) == "<ResponseTemplate: 50 fields>"

    def test_the_compiled_field(self) -> None:
        """What the parser gets."""
        field = {"open_pattern": "<(?P<n>a)>", "close": "</", "repeats": True, "join": "-", "optional": False}
        loaded = ResponseTemplate.load(template(x={**field, "transform": "{n}"}, y={}))
        x, y = loaded.fields
        assert (x.name, x.index, x.repeats, x.join, x.optional, x.transform_each) == ("x", 0, True, "-", False, False)
        assert x.open is not None
        assert x.open.groups == {"n"}
        assert x.close is not None
        assert x.content.name == "text"
        assert x.transform is not None
        assert loaded.implicit is y
        assert (y.open, y.close, y.join, y.optional, y.transform) == (None, None, None, True, None)
        assert loaded.anchor.cut("x<A>y<A>") == 8
        assert ResponseTemplate.load(template(x=REGION)).implicit is None

    def test_a_content_type_may_be_newer_than_templates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says since when transformers reads it."""
        kind = type(ResponseTemplate.load(template(x={**REGION, "content": "bool"})).fields[0].content)
        monkeypatch.setattr(kind, "min_transformers", "6.1.0")
        later = template(x={**REGION, "content": "bool", "optional": False})
        assert ResponseTemplate.load(later).min_transformers == "6.1.0"

    def test_extensions_are_told_by_path_in_the_order_of_the_template(self) -> None:
        """What only this package reads: then no release of transformers does."""
        loaded = ResponseTemplate.load(
            template(
                x={
                    "transform": {"a": ["{content.a|content.b}"], "b": "{content|{}}", "c": "{content}"},
                    "content_args": {
                        "value_parser": {"name": "json-sequence", "args": {"entry_keys": ["k", "v"]}},
                        "tag_pattern": "<(?P<key>a)(?P<raw>b)?(?P<value>c)>",
                        "unescape": False,
                    },
                    "content": "xml-inline",
                    "nests": False,
                    **REGION,
                },
                y={**REGION, "content": "xml-elements"},
                z=REGION,
            )
        )
        assert loaded.extensions == (
            "fields.x.transform.a[0]",
            "fields.x.transform.b",
            "fields.x.content_args.value_parser.name",
            "fields.x.content_args.tag_pattern",
            "fields.x.content_args.unescape",
            "fields.x.nests",
            "fields.y.content",
        )
        assert loaded.min_transformers is None

    @pytest.mark.parametrize(
        ("path", "field"),
        [
            ("nests", {"nests": True}),
            ("into", {"into": "y"}),
            ("content", {"content": "json-sequence"}),
            ("content", {"content": "xml-elements"}),
            ("content_args.entry_keys", {"content": "json", "content_args": {"entry_keys": ["k", "v"]}}),
            ("content_args.brackets", {"content": "python-call-list", "content_args": {"brackets": "optional"}}),
            ("content_args.quotes", {"content": "python-call-list", "content_args": {"quotes": "optional"}}),
            ("content_args.until_complete", {"content": "json", "content_args": {"until_complete": False}}),
            ("transform", {"content": "json", "transform": "{content.a|null}"}),
            ("transform.a", {"content": "json", "transform": {"a": "{content.a|}"}}),
        ],
    )
    def test_each_extension_alone_is_told(self, path: str, field: dict[str, Any]) -> None:
        """Those of docs/extensions.md that need no other package; also where the value is the default."""
        loaded = ResponseTemplate.load(template(x={**REGION, **field}))
        assert (loaded.extensions, loaded.min_transformers) == ((f"fields.x.{path}",), None)

    def test_a_portable_template_has_no_extensions(self) -> None:
        """Then `min_transformers` names a release."""
        loaded = ResponseTemplate.load(template(x=REGION))
        assert (loaded.extensions, loaded.min_transformers) == ((), "5.13.0")


class TestCache:
    def test_equal_templates_share_one_compiled_form(self) -> None:
        """Also when they come as different dicts."""
        one, two = template(x=REGION), copy.deepcopy(template(x=REGION))
        assert ResponseTemplate.load(one) is ResponseTemplate.load(two)
        assert ResponseTemplate.load(one) is ResponseTemplate.load(one)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("start_anchor",), "<B>"),
            (("fields", "x", "open"), "<u>"),
            (("fields", "x", "repeats"), False),
            (("defaults", "role"), "model"),
            (("defaults", "n"), 1.0),
            (("defaults", "n"), True),
            (("fields", "x", "transform", "n"), False),
            (("fields", "y"), {"open": "<y>"}),
        ],
    )
    def test_a_changed_dict_is_compiled_anew(self, path: tuple[str, ...], value: Any) -> None:
        """The same dict object, changed in place at any depth; 1, 1.0 and True are different."""
        source: dict[str, Any] = template(x={**REGION, "repeats": True, "transform": {"n": 0}})
        source["defaults"]["n"] = 1
        before = ResponseTemplate.load(source)
        inner = source
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        after = ResponseTemplate.load(source)
        assert after != before
        assert json.dumps(after.source) == json.dumps(source)

    @pytest.mark.parametrize("value", [1, 1.0])
    def test_a_dict_that_became_wrong_is_refused(self, value: Any) -> None:
        """Even though True == 1."""
        source = template(x={**REGION, "repeats": True})
        ResponseTemplate.load(source)
        source["fields"]["x"]["repeats"] = value
        assert [path for path, _ in problems(source)] == ["fields.x.repeats"]
        source["fields"]["x"]["repeats"] = True
        assert ResponseTemplate.load(source).fields[0].repeats is True

    def test_what_can_not_be_compared_is_refused_as_usual(self) -> None:
        """An object with an __eq__ of its own, such as an array, is no JSON; nothing else leaks out."""

        class Array:
            def __eq__(self, other: object) -> bool:
                raise ValueError("ambiguous")

            __hash__ = None  # type: ignore[assignment]

        source = template(x=REGION)
        ResponseTemplate.load(source)
        source["defaults"]["role"] = Array()
        assert [path for path, _ in problems(source)] == ["defaults.role"]

    def test_wrong_templates_are_not_remembered(self) -> None:
        """Neither by identity nor by content."""
        source = template(x={**REGION, "opne": "a"})
        assert problems(source) == problems(source)
        twice = '{"start_anchor": "<A>", "fields": {"q": {"open": "1", "open": "2"}}}'
        problems(twice)
        ResponseTemplate.load('{"start_anchor": "<A>", "fields": {"q": {"open": "2"}}}')
        problems(twice)

    def test_the_caches_are_bounded(self) -> None:
        """A server that gets new templates forever does not grow; old ones still load."""
        first = template(x={"open": "first"})
        ResponseTemplate.load(first)
        for i in range(template_module._CACHE_SIZE + 10):
            ResponseTemplate.load(template(x={"open": f"<{i}>"}))
        assert len(template_module._by_identity) <= template_module._CACHE_SIZE
        assert len(template_module._by_content) <= template_module._CACHE_SIZE
        assert ResponseTemplate.load(first).source == first

    def test_threads_get_one_object(self) -> None:
        """Loading the same template at the same time gives everybody the same compiled form."""
        source = template(x={"open": "<threads>", "close_pattern": "a+b"})
        with ThreadPoolExecutor(8) as pool:
            loaded = list(pool.map(lambda _: ResponseTemplate.load(copy.deepcopy(source)), range(64)))
        assert len({id(one) for one in loaded}) == 1

    def test_threads_that_change_the_dict_meanwhile(self) -> None:
        """Every result is one of the states the dict was in."""
        source = template(x={"open": "0"})

        def change_and_load(i: int) -> str:
            source["fields"]["x"]["open"] = str(i % 7)
            return str(ResponseTemplate.load(source).source["fields"]["x"]["open"])

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(change_and_load, range(400))) <= set("0123456")
        source["fields"]["x"]["open"] = "last"
        assert ResponseTemplate.load(source).source == source
