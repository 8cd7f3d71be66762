# SPDX-License-Identifier: Apache-2.0
"""`explain`: what became of every character, why delimiters matched or not, and the page that replays it."""

from __future__ import annotations

import html
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import run

import transformers_response_parsing as trp
from transformers_response_parsing.cli.reasons import Verdict, verdicts
from transformers_response_parsing.cli.trace import Trace, trace

TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<a>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": r"<call(?: id=\d+)?>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
        },
        "content": {"close": "<e>"},
    },
}
NO_IMPLICIT = {**TEMPLATE, "fields": {"reasoning_content": TEMPLATE["fields"]["reasoning_content"]}}


def traced(text: str, template: Any = TEMPLATE, **options: Any) -> Trace:
    return trace(trp.ResponseTemplate.load(template), text, **options)


def pieces(found: Trace) -> list[tuple[str, str | None, str]]:
    return [(piece.kind, piece.field, found.text[piece.start : piece.stop]) for piece in found.pieces()]


def reasons(text: str, field: str, key: str, template: Any = TEMPLATE, **options: Any) -> tuple[str, ...]:
    found = traced(text, template, **options)
    return verdict_of(verdicts(trp.ResponseTemplate.load(template), found), field, key).reasons


def verdict_of(all_of_them: list[Verdict], field: str, key: str) -> Verdict:
    return next(verdict for verdict in all_of_them if (verdict.field, verdict.key) == (field, key))


def test_every_character_is_delimiter_region_or_unclaimed() -> None:
    text = '<think>Hm.</think>\n<call id=3>{"a": "</call>"}</call>\nHi!<e>rest'
    assert pieces(traced(text)) == [
        ("open", "reasoning_content", "<think>"),
        ("region", "reasoning_content", "Hm."),
        ("close", "reasoning_content", "</think>"),
        ("unclaimed", None, "\n"),  # only white space between two regions
        ("open", "tool_calls", "<call id=3>"),
        ("region", "tool_calls", '{"a": "</call>"}'),
        ("close", "tool_calls", "</call>"),
        ("region", "content", "\nHi!"),
        ("close", "content", "<e>"),
        ("region", "content", "rest"),
    ]


def test_without_an_implicit_field_text_outside_is_unclaimed() -> None:
    assert pieces(traced("So <think>Hm.</think> it is", NO_IMPLICIT)) == [
        ("unclaimed", None, "So "),
        ("open", "reasoning_content", "<think>"),
        ("region", "reasoning_content", "Hm."),
        ("close", "reasoning_content", "</think>"),
        ("unclaimed", None, " it is"),
    ]


def test_what_follows_the_end_is_told_and_so_is_what_the_prompt_wrote() -> None:
    found = traced("Hm.</think>Hi!<stop> more", prefix="... <a><think>", end=["<stop>"])
    assert found.text[: found.generated] == "<think>"
    assert pieces(found)[-2:] == [("region", "content", "Hi!"), ("after the end", None, "<stop> more")]


def test_each_decision_has_its_moment() -> None:
    """A delimiter counts once nothing longer can come of it; until then its characters are held."""
    found = traced("<think>H")
    (opened,) = [span for span in found.spans if span.kind == "open"]
    assert found.steps[opened.step] == len("<think>")
    assert found.steps[-1] == found.steps[-2] == len(found.text)


@pytest.mark.parametrize("entry", trp.list_templates(), ids=lambda entry: entry.name)
def test_a_trace_is_what_the_parser_does(entry: trp.TemplateEntry) -> None:
    """On the examples of the whole library: the same message, the same events, no gaps, and regions that are in the text."""
    template = trp.ResponseTemplate.load(entry.response_template)
    for example in entry.examples:
        options = {"prefix": example.get("prefix", ""), "tools": example.get("tools")}
        found = trace(template, example["output"], **options)
        assert found.message == trp.parse_response(example["output"], template, **options, on_error="keep")
        owned = found.pieces()
        assert "".join(found.text[piece.start : piece.stop] for piece in owned) == found.text
        assert all(before.stop == after.start for before, after in itertools.pairwise(owned))
        parser = trp.ResponseParser(template, **options, on_error="keep")
        events = [*parser.initial_events, *parser.feed(example["output"]), *parser.finalize()[1]]
        kept = [event for event in events if event["type"] != "region_chunk"]
        assert [event for _, event in found.events if event["type"] != "region_chunk"] == kept
        for verdict in verdicts(template, found):
            assert all(0 <= start <= stop <= len(found.text) for start, stop in verdict.matches)


@pytest.mark.parametrize(
    ("text", "field", "key", "reason"),
    [
        ("<thinking>", "reasoning_content", "open", "nearest: '<think' at 0, but then came 'ing>'"),
        ("so <thin", "reasoning_content", "open", "the text ends in the middle of it: '<thin' at 3"),
        ("Hello", "reasoning_content", "open", "nothing in the text begins like it"),
        ("<call id=x>", "tool_calls", "open", "nearest: '<call id=' at 0, but then came 'x>'"),
        ("<call id=12", "tool_calls", "open", "the text ends in the middle of it: '<call id=12' at 0"),
        ("a</think>", "reasoning_content", "close", "'</think>' at 1 is inside of content; reasoning_content is not open there"),
        ("<think><call>", "tool_calls", "open", "'<call>' at 7 is inside of reasoning_content, where only what closes that is looked for"),
        ("<think><think>", "reasoning_content", "open", "'<think>' at 7 is data: it is inside of reasoning_content itself"),
        (
            '<call>{"a": "</call>"}</call>',
            "tool_calls",
            "close",
            "'</call>' at 13 is data: it is inside of tool_calls itself, in a JSON string",
        ),
    ],
)  # fmt: skip
def test_why_a_delimiter_did_not_match(text: str, field: str, key: str, reason: str) -> None:
    assert reasons(text, field, key) == (reason,)


def test_more_reasons() -> None:
    assert reasons("Hi<stop><think>", "reasoning_content", "open", end=["<stop>"]) == (
        "'<think>' at 8 comes after the end of the generation",
    )
    assert reasons("x</think>", "reasoning_content", "close", NO_IMPLICIT) == (
        "'</think>' at 1 is outside of all regions, where nothing is closed",
    )
    ahead = {**TEMPLATE, "fields": {**TEMPLATE["fields"]}}
    ahead["fields"]["reasoning_content"] = {"open": "<think>", "close_pattern": "</think>|(?=<e>)"}
    assert reasons("Hi!<e>", "reasoning_content", "close", ahead) == (
        "an empty match before '<e>' at 3 is part of what closes content; reasoning_content is not open there",
    )
    text = '<call>{"a": 1}</call> and <call id=x>{"b": 2}</call>'
    assert reasons(text, "tool_calls", "open") == ("nearest: '<call id=' at 26, but then came 'x>{\"b\": 2}</'",)
    assert reasons("<think>a</think> <call", "reasoning_content", "open") == ()
    several = reasons("<think>" + "<call>" * 5, "tool_calls", "open")
    assert several[-1] == "and 2 more places like that"
    assert len(several) == 4
    assert reasons("Hi", "content", "open") == ("it has none: text that no other field claims is its own",)


def test_the_command_tells_it_in_words_without_colours() -> None:
    done = run("explain", "smollm3", stdin="<think>\nHm.\n</think>\n\nHi! <tool_cal>")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert re.search(r"^ +0-7  opens reasoning_content +\"<think>\"$", done.out, re.MULTILINE)
    assert "  prompt: no prompt was given" in done.out
    assert "nearest: '<tool_cal' at 26, but then came '>'" in done.out
    assert '"content": "Hi! <tool_cal>"' in done.out


def test_the_prompt_s_part_is_told(tmp_path: Path) -> None:
    prompt = "<|im_start|>assistant\n<think>\n"
    done = run("explain", "smollm3", "--prefix", prompt, stdin="Hm.</think>Hi!")
    assert (
        "the anchor ends at character 22 of the prompt; '<think>\\n' follows it and belongs to the message" in done.out
    )
    file = tmp_path / "template.json"
    file.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    assert "the anchor is not in the prompt" in run("explain", str(file), "--prefix", "Hello", stdin="Hi!").out


def test_what_can_t_be_parsed_is_told_and_exits_with_1(tmp_path: Path) -> None:
    file = tmp_path / "template.json"
    file.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    done = run("explain", str(file), stdin="<call>{nope}</call>Hi!")
    assert done.code == 1
    assert "tool_calls can't be parsed: " in done.out


def test_json_for_programs() -> None:
    done = run("explain", "smollm3", "--json", stdin="<think>\nHm.\n</think>\n\nHi!")
    answer = json.loads(done.out)
    assert answer["characters"][0] == {"start": 0, "stop": 7, "kind": "open", "field": "reasoning_content"}
    assert answer["message"]["content"] == "Hi!"
    assert answer["delimiters"][0]["matches"] == [[0, 7]]


HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)><!-- \U0001f600 é'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "replay.html"
    done = run("explain", "smollm3", "--html", str(file), stdin=f"<think>\nHm.\n</think>\n\n{HOSTILE}<|im_end|>")
    assert done.code == 0, done.err
    assert done.err == f"written: {file}\n"
    return file


def test_the_page_needs_no_network_and_holds_no_markup_of_the_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition('id="data">')
    assert not re.search(r"https?:|\bsrc=|@import|\burl\(", before + rest.partition("</script>")[2])
    assert "default-src 'none'" in text
    assert text.count("<script") == text.count("</script>") == 2
    assert "<img" not in text
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert HOSTILE in data["text"]


@pytest.fixture
def show(tmp_path: Path) -> Callable[[Path, str], str]:
    """What a browser makes of the page: its document once the script has run."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs a browser: apt-get install chromium")

    def show(page: Path, step: str) -> str:
        done = subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
                *(f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", f"{page.as_uri()}{step}"),
            ],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        return done.stdout

    return show


def test_the_page_replays_the_stream(page: Path, show: Callable[[Path, str], str]) -> None:
    """At the end everything has its place; in the middle what may become a delimiter is held, and the rest is to come."""
    document = show(page, "")
    shown = document.partition('<pre id="text">')[2].partition("</pre>")[0]
    assert html.unescape(re.sub(r"<[^>]*>", "", shown)) == f"<think>\nHm.\n</think>\n\n{HOSTILE}<|im_end|>"
    assert '<span class="open" title="opens reasoning_content" style="--field: #8e44ad;">&lt;think&gt;</span>' in shown
    assert 'title="closes content" style="--field: #2e7d32;">&lt;|im_end|&gt;</span>' in shown
    assert "<title>A response, character by character</title>" in document  # nothing of the text was run
    assert ">the end</span>" in document
    middle = show(page, "#3")
    assert '<span class="held" title="may be the beginning of a delimiter">&lt;th</span>' in middle
    assert '<span class="coming" title="has not come yet">ink&gt;' in middle
    assert "3 of " in middle
    later = show(page, "#10")
    regions = later.partition('<div id="regions">')[2].partition("</div></section>")[0]
    assert "<b>reasoning_content</b> <small>open</small><div>Hm" in html.unescape(regions)
