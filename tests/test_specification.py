# SPDX-License-Identifier: Apache-2.0
"""docs/specification.md and what it is about belong together."""

from __future__ import annotations

import re

import pytest
from pages import ROOT
from vectors import VECTORS

from transformers_response_parsing import limits
from transformers_response_parsing.content import CONTENT_TYPES
from transformers_response_parsing.field import FIELD_KEYS

PAGE = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
# "## 3. Parsing" is 3, "### 7.1 Leading ..." is 7.1, "## Extensions" is extensions.
SECTIONS = {
    match[1] or match[2].lower() for match in re.finditer(r"^##+ (?:(\d(?:\.\d)?)\.? )?(.+)$", PAGE, re.MULTILINE)
}


@pytest.mark.parametrize("spec", sorted({vector["spec"] for vector in VECTORS}))
def test_each_section_that_vectors_name_is_there(spec: str) -> None:
    assert spec in SECTIONS


def test_all_keys_and_content_types_are_named() -> None:
    """A key or type that is added must be described here, or, if only this package has it, on the page of extensions."""
    pages = PAGE + (ROOT / "docs" / "extensions.md").read_text(encoding="utf-8")
    names = [*FIELD_KEYS, *CONTENT_TYPES, *(name for kind in CONTENT_TYPES.values() for name in kind.arguments)]
    assert [name for name in names if f"`{name}`" not in pages] == []


def test_the_limits_are_those_of_the_code() -> None:
    table = dict(re.findall(r"^\| ([^|]+?) \| ([\d,]+) \|$", PAGE, re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in table.items()} == {
        "characters of a template": limits.MAX_TEMPLATE_CHARACTERS,
        "levels of a template": limits.MAX_TEMPLATE_DEPTH,
        "fields": limits.MAX_FIELDS,
        "literals": limits.MAX_LITERALS,
        "characters of a pattern": limits.MAX_PATTERN_LENGTH,
        "items of a pattern with its counts written out": limits.MAX_PATTERN_SIZE,
        "the same of all patterns of a template": limits.MAX_TEMPLATE_PATTERN_SIZE,
        "nested `value_parser`s": limits.MAX_PARSER_NESTING,
        "levels of a JSON value that is parsed": limits.MAX_DEPTH,
        "digits of an integer": limits.MAX_INT_DIGITS,
        "seconds that one search with a pattern may take": limits.SEARCH_TIMEOUT,
    }


def test_links_within_the_page_lead_to_headings() -> None:
    """As GitHub makes anchors of headings."""
    anchors = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    }
    assert [link for link in re.findall(r"\]\(#([^)]+)\)", PAGE) if link not in anchors] == []
