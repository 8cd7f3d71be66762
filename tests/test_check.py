# SPDX-License-Identifier: Apache-2.0
"""`check_template`: right templates pass, each kind of wrong one fails where it is wrong, and nothing unrendered is a pass."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from chat_templates import BRACKETS, CHATML_JSON, CHATML_XML, HEADERS, OPENED, TEMPLATES, right_template

from transformers_response_parsing import CheckReport, ResponseParsingError, TemplateError, check_template
from transformers_response_parsing.conversations import TURNS
from transformers_response_parsing.own_marks import own_marks

pytest.importorskip("transformers.utils.chat_template_utils", reason="chat templates are rendered with transformers")

NAMES = {
    CHATML_JSON: "ChatML with JSON calls",
    CHATML_XML: "ChatML with XML calls",
    HEADERS: "headers",
    BRACKETS: "brackets",
    OPENED: "reasoning opened by the prompt",
}
EVERY_CHAT_TEMPLATE = pytest.mark.parametrize("chat_template", list(TEMPLATES), ids=[*NAMES.values()])


def failures(report: CheckReport) -> dict[str, str]:
    return {case.name: case.detail for case in report.failures}


def unrendered(report: CheckReport) -> dict[str, str]:
    return {case.name: case.detail for case in report.cases if case.status == "not rendered"}


# -- right templates


@EVERY_CHAT_TEMPLATE
def test_the_right_template_passes(chat_template: str) -> None:
    report = check_template(chat_template, right_template(chat_template))
    assert failures(report) == {}
    assert report.ok


def test_all_cases_are_tried_where_all_can_be_rendered() -> None:
    report = check_template(CHATML_JSON, right_template(CHATML_JSON))
    assert unrendered(report) == {}
    usual_tags = "reasoning in the usual tags + content"  # only for chat templates that do not render reasoning
    assert [case.name for case in report.cases] == [turn.name for turn in TURNS if turn.name != usual_tags]


@pytest.mark.parametrize("wrong", list(TEMPLATES), ids=[*NAMES.values()])
@EVERY_CHAT_TEMPLATE
def test_the_template_of_another_format_fails(chat_template: str, wrong: str) -> None:
    if wrong != chat_template:
        assert not check_template(chat_template, right_template(wrong)).ok


# -- wrong templates


def edited(chat_template: str, *path: str, **changes: Any) -> dict[str, Any]:
    """The right template with keys of the dict at `path` changed, or removed where the new value is None."""
    template = right_template(chat_template)
    place: dict[str, Any] = template
    for key in path:
        place = place[key]
    for key, value in changes.items():
        place[key] = value
        if value is None:
            del place[key]
    return template


def test_a_name_pattern_that_is_too_narrow_fails_on_the_dotted_name() -> None:
    template = edited(
        CHATML_XML, "fields", "tool_calls", open_pattern=r"<tool_call>\s*<function=(?P<name>\w+)>", close_pattern=None
    )
    template["fields"]["tool_calls"]["close"] = "</function>\n</tool_call>"
    assert set(failures(check_template(CHATML_XML, template))) == {"call of a dotted name"}


def test_a_value_pattern_without_angle_brackets_fails_on_them() -> None:
    pattern = r"<parameter=(?P<key>[^>\n]+)>\n(?P<value>[^<]*)\n</parameter>"
    template = edited(CHATML_XML, "fields", "tool_calls", "content_args", tag_pattern=pattern)
    failed = failures(check_template(CHATML_XML, template))
    assert {"hard arguments: < and >", "hard arguments: </parameter>", "hard arguments: </tool_call>"} == set(failed)


def test_a_value_that_ends_at_the_first_closing_tag_fails_on_that_tag_in_a_value() -> None:
    pattern = r"<parameter=(?P<key>[^>\n]+)>\n(?P<value>.*?)\s*</parameter>"
    template = edited(CHATML_XML, "fields", "tool_calls", "content_args", tag_pattern=pattern)
    assert set(failures(check_template(CHATML_XML, template))) == {"hard arguments: </parameter>"}


def test_a_field_that_does_not_repeat_fails_on_parallel_calls() -> None:
    template = edited(CHATML_JSON, "fields", "tool_calls", repeats=None)
    transform = template["fields"]["tool_calls"]["transform"]
    template["fields"]["tool_calls"].update({"transform": [transform]})
    failed = failures(check_template(CHATML_JSON, template))
    assert {"parallel calls", "the same call twice", "reasoning + content + parallel calls"} == set(failed)


def test_a_template_without_reasoning_fails_on_reasoning() -> None:
    template = edited(CHATML_JSON, "fields", reasoning_content=None)
    failed = failures(check_template(CHATML_JSON, template))
    assert {"reasoning + content", "reasoning + call", "prefill: reasoning begun"} <= set(failed)
    assert "one call" not in failed
    assert "<think>" in failed["reasoning + content"]


def test_a_lost_call_id_fails() -> None:
    template = edited(BRACKETS, "fields", "tool_calls", "transform", id=None)
    failed = failures(check_template(BRACKETS, template))
    assert "id is missing" in failed["one call"]
    assert "content only" not in failed


def test_an_id_that_the_model_did_not_write_fails() -> None:
    template = edited(CHATML_JSON, "fields", "tool_calls", "transform", id="call_1")
    assert "which the model did not write" in failures(check_template(CHATML_JSON, template))["one call"]


def test_the_end_of_the_turn_must_not_reach_the_message() -> None:
    """`end=` takes it away, but not everybody passes that."""
    template = edited(CHATML_JSON, "fields", "content", close=None)
    failed = failures(check_template(CHATML_JSON, template))
    assert "and no end= given" in failed["content only"]
    assert "<|im_end|>" in failed["content only"]


def test_an_anchor_that_is_not_in_the_prompt_fails() -> None:
    assert not check_template(CHATML_JSON, edited(CHATML_JSON, start_anchor="<|assistant|>")).passed


def test_an_anchor_that_is_always_the_first_fails_after_a_tool_result() -> None:
    template = edited(CHATML_JSON, start_anchor=None, start_anchor_pattern=r"\A(?:(?!assistant).)*assistant\n")
    failed = failures(check_template(CHATML_JSON, template))
    assert set(failed) == {"after a tool result: content", "after a tool result: call"}


@pytest.mark.parametrize("key", ["reasoning", "thinking"])
def test_a_key_that_the_chat_template_does_not_read_fails(key: str) -> None:
    """Though some versions of transformers rename it before they render."""
    template = right_template(CHATML_JSON)
    template["fields"][key] = template["fields"].pop("reasoning_content")
    failed = failures(check_template(CHATML_JSON, template))
    assert "reasoning + content" in failed
    assert f"{key!r} is lost" in failed["reasoning + content"]
    assert "one call" not in failed


def test_a_content_key_of_ones_own_fails() -> None:
    template = right_template(CHATML_JSON)
    template["fields"]["answer"] = template["fields"].pop("content")
    assert "content is missing" in failures(check_template(CHATML_JSON, template))["content only"]


def test_a_field_that_needs_the_end_of_the_turn_fails_without_it() -> None:
    """Servers and `skip_special_tokens=True` take that token away."""
    template = edited(CHATML_JSON, "fields", "tool_calls", close="</tool_call><|im_end|>")
    failed = failures(check_template(CHATML_JSON, template))
    assert "(without the token that ends the turn)" in failed["one call"].splitlines()[0]
    assert "parallel calls" in failed
    assert "content only" not in failed


def test_a_message_without_a_role_fails() -> None:
    failed = failures(check_template(CHATML_JSON, edited(CHATML_JSON, defaults=None)))
    assert "has no role" in failed["content only"]


def test_a_call_without_its_wrapping_fails() -> None:
    template = edited(CHATML_JSON, "fields", "tool_calls", transform={"name": "{content.name}", "arguments": {}})
    assert "which has no 'function'" in failures(check_template(CHATML_JSON, template))["one call"]


def test_a_key_of_the_templates_own_fails() -> None:
    template = edited(CHATML_JSON, "defaults", model="mine")
    assert "'model', which no chat template reads" in failures(check_template(CHATML_JSON, template))["content only"]


def test_a_region_that_can_not_be_parsed_is_a_failure_with_the_reason() -> None:
    template = edited(CHATML_JSON, "fields", "tool_calls", open="<tool_call>\n{")
    assert failures(check_template(CHATML_JSON, template))["one call"].startswith("can't be parsed: ")


def test_a_wrong_template_is_refused() -> None:
    with pytest.raises(TemplateError):
        check_template(CHATML_JSON, {"fields": {}})


# -- what can't be rendered


def test_what_is_raised_is_the_reason() -> None:
    reasons = unrendered(check_template(HEADERS, right_template(HEADERS)))
    assert reasons["parallel calls"] == "the chat template raises TemplateError: one call at a time"
    assert reasons["call + content"] == "the chat template drops the content beside calls"
    assert reasons["reasoning + content"] == "the chat template drops reasoning"
    assert reasons["thinking off: content"] == "the chat template has no switch for thinking"


def test_dropped_calls_are_no_pass() -> None:
    chat_template = CHATML_JSON.replace("message.tool_calls", "[]")
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert unrendered(report)["one call"] == "the chat template does not render tool_calls"
    assert report.ok


def test_dropped_arguments_are_no_pass() -> None:
    chat_template = CHATML_JSON.replace("call.function.arguments | tojson", '"{}"')
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert reasons["one call"] == "the chat template does not render the arguments of calls"
    assert "call without arguments" not in reasons


def test_only_the_first_of_several_calls() -> None:
    chat_template = CHATML_JSON.replace("for call in message.tool_calls", "for call in (message.tool_calls or [])[:1]")
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert reasons["parallel calls"] == "the chat template renders only the first call"


def test_html_entities_are_what_no_model_writes() -> None:
    chat_template = CHATML_JSON.replace(
        "{{ call.function.arguments | tojson }}", "{{ call.function.arguments | tojson | e }}"
    )
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert "HTML entities" in reasons["one call"]


def test_tags_written_as_html_entities_are_what_no_model_writes() -> None:
    """`| safe` makes Jinja escape what is added to it; a call without that is still rendered."""
    chat_template = CHATML_XML.replace(
        "{{ value if value is string else value | tojson }}\n</parameter>",
        "{{ (value | string | safe) + '\\n</parameter>' if value is string else (value | tojson) + '\\n</parameter>' }}",
    )
    report = check_template(chat_template, right_template(CHATML_XML))
    reasons = unrendered(report)
    assert (
        reasons["one call"]
        == "the chat template writes HTML entities (&lt;) for its own tags, which no model generates"
    )
    assert "hard arguments: < and >" in reasons
    assert "call without arguments" not in reasons


def test_content_that_follows_an_opened_thought() -> None:
    """Behind a `<think>` that nothing closes, content can't be told from reasoning; calls can."""
    chat_template = CHATML_XML.replace(
        "<|im_start|>{{ message.role }}\n",
        "<|im_start|>{{ message.role }}\n{{ '<think>\\n' if message.role == 'assistant' and message.content else '' }}",
    ).replace("<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n")
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert (
        reasons["content only"]
        == "the chat template writes content behind '<think>', as reasoning that is never closed"
    )
    assert "one call" not in reasons


def test_content_that_is_rendered_as_reasoning() -> None:
    chat_template = CHATML_JSON.replace(
        "{%- if message.reasoning_content %}",
        "{%- if message.tool_calls and message.content %}\n<think>\n{{ message.content }}\n"
        "</think>\n\n{%- elif message.reasoning_content %}",
    ).replace("{%- if message.content %}", "{%- if message.content and not message.tool_calls %}")
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert reasons["call + content"] == "the chat template writes content beside calls as reasoning"


def test_a_chat_template_that_renders_nothing_proves_nothing() -> None:
    report = check_template("{{ raise_exception('not today') }}", right_template(CHATML_JSON))
    assert not report.rendered
    assert not report.ok
    assert "raises TemplateError: not today (content only; " in str(report)
    assert re.search(r"; and \d+ more\)", str(report))
    assert "no case can be rendered, so nothing is proven" in str(report)


def test_there_must_be_a_chat_template() -> None:
    with pytest.raises(ResponseParsingError, match="no chat template"):
        check_template("", right_template(CHATML_JSON))


UNESCAPED = CHATML_JSON.replace(
    "{{ call.function.arguments | tojson }}",
    "{{ '{' }}{% for key, value in call.function.arguments | items %}{{ ', ' if not loop.first }}"
    '"{{ key }}": {% if value is string %}"{{ value }}"{% else %}{{ value | tojson }}{% endif %}{% endfor %}{{ \'}\' }}',
)


def test_strings_between_quotes_that_are_not_escaped() -> None:
    """No parser could read them; this is the chat template's fault, not the response template's."""
    report = check_template(UNESCAPED, right_template(CHATML_JSON))
    reason = "the chat template does not escape quotes or line breaks of a quoted string"
    assert [name for name, why in unrendered(report).items() if why == reason] == [
        "hard arguments: quotes",
        "hard arguments: newlines",
        "hard arguments: brackets",
    ]
    assert report.ok


# -- dialects of messages


def test_arguments_as_json_text_where_the_chat_template_wants_that() -> None:
    chat_template = CHATML_JSON.replace("call.function.arguments | tojson", '"" + call.function.arguments')
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert report.ok
    assert any("JSON strings" in note for note in report.notes)


def test_arguments_as_json_text_where_a_dict_would_be_written_as_python() -> None:
    chat_template = CHATML_JSON.replace("call.function.arguments | tojson", "call.function.arguments")
    assert check_template(chat_template, right_template(CHATML_JSON)).ok


@pytest.mark.parametrize("key", ["thinking", "reasoning"])
def test_reasoning_under_another_key_is_said(key: str) -> None:
    chat_template = CHATML_JSON.replace("reasoning_content", key)
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert report.ok
    assert f"the chat template reads reasoning from the key {key!r}, not from 'reasoning_content'" in report.notes


def test_reasoning_as_a_block_of_the_content() -> None:
    chat_template = CHATML_JSON.replace("{%- if message.reasoning_content %}", "{%- if false %}").replace(
        "{{ message.content }}\n{%- endif %}",
        "{%- if message.content is string %}{{ '\\n' + message.content }}{% else %}\n"
        "{%- for block in message.content %}"
        "{%- if block.type == 'thinking' %}{{ '\\n<think>' + block.thinking + '</think>' }}"
        "{%- else %}{{ '\\n' + block.text }}{% endif %}{% endfor %}{% endif %}\n{%- endif %}",
    )
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert failures(report) == {}
    assert "reasoning + content" not in unrendered(report)


def test_content_may_have_to_be_absent_or_null() -> None:
    chat_template = HEADERS.replace(
        "{% if message.tool_calls %}",
        '{% if message.tool_calls and message.content is string %}{{ raise_exception("no content") }}{% endif %}'
        "{%- if message.tool_calls %}",
    )
    report = check_template(chat_template, right_template(HEADERS))
    assert report.ok
    assert "one call" not in unrendered(report)


# -- prompt and reply


def test_a_prompt_that_tells_the_time_is_the_same_at_every_moment() -> None:
    chat_template = "{{ strftime_now('%H:%M:%S.%f') }}" + CHATML_JSON
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert failures(report) == {}
    assert len(report.passed) == len(check_template(CHATML_JSON, right_template(CHATML_JSON)).passed)


def test_an_empty_generation_prompt() -> None:
    report = check_template(BRACKETS, right_template(BRACKETS))
    case = next(case for case in report.cases if case.name == "content only")
    assert case.prompt.endswith("[/INST]")
    assert case.reply == "The bridge is open on Friday.</s>"


def test_reasoning_that_only_the_prompt_shows() -> None:
    report = check_template(OPENED, right_template(OPENED))
    cases = {case.name: case for case in report.cases}
    assert cases["content only"].prompt.endswith("<|Assistant|>")
    assert "left out" in cases["content only"].notes[0]
    opened = cases["reasoning in the usual tags + content"]
    assert opened.prompt.endswith("<|Assistant|><think>\n")
    assert "'</think>' is assumed" in opened.notes[0]


def test_thinking_switched_off_in_the_prompt_but_not_in_the_turn() -> None:
    report = check_template(CHATML_JSON, right_template(CHATML_JSON))
    case = next(case for case in report.cases if case.name == "thinking off: content")
    assert case.options == {"enable_thinking": False}
    assert case.prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert case.reply == "The bridge is open on Friday.<|im_end|>"


def test_a_prefilled_turn_is_cut_within_its_text() -> None:
    report = check_template(CHATML_JSON, right_template(CHATML_JSON))
    cases = {case.name: case for case in report.cases}
    whole = cases["content only"].prompt + cases["content only"].reply
    prefilled = cases["prefill: content begun"]
    assert prefilled.prompt + prefilled.reply == whole
    assert prefilled.prompt.endswith("The bridge is ")


def test_tools_that_stand_before_the_last_message_do_not_disturb() -> None:
    """There, the prompt is no prefix of the conversation with the reply."""
    report = check_template(BRACKETS, right_template(BRACKETS))
    case = next(case for case in report.cases if case.name == "one call")
    assert "[AVAILABLE_TOOLS]" in case.prompt
    assert case.reply.startswith("[TOOL_CALLS][{")


def test_a_turn_that_does_not_follow_from_a_prompt_is_not_rendered() -> None:
    """A transcript in one user message, as guard models have it."""
    chat_template = (
        "<|im_start|>user\n{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}<|im_end|>\n"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    reasons = unrendered(check_template(chat_template, right_template(CHATML_JSON)))
    assert reasons["content only"] == "the chat template does not render the turn so that it follows from a prompt"


GENERATION_PROMPT = "{%- if add_generation_prompt %}<|im_start|>assistant\n"


@pytest.mark.parametrize(
    "condition", ["add_generation_prompt", "messages[-1].role != 'assistant'"], ids=["when asked", "always"]
)
def test_an_answer_that_the_chat_template_has_begun_with_words(condition: str) -> None:
    """No rendered turn has those words, so the prompt is tried without them."""
    chat_template = CHATML_JSON.replace(GENERATION_PROMPT, f"{{%- if {condition} %}}<|im_start|>assistant\nSure: ")
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert failures(report) == {}
    case = next(case for case in report.cases if case.name == "content only")
    assert case.prompt.endswith("<|im_start|>assistant\n")
    assert case.reply == "The bridge is open on Friday.<|im_end|>"
    assert case.notes == ("the prompt ends with 'Sure: ', which the turn as rendered has not: left out",)


@pytest.mark.parametrize(
    "condition", ["add_generation_prompt", "messages[-1].role != 'assistant'"], ids=["when asked", "always"]
)
def test_a_thought_that_the_chat_template_has_opened(condition: str) -> None:
    chat_template = CHATML_JSON.replace(GENERATION_PROMPT, f"{{%- if {condition} %}}<|im_start|>assistant\n<think>\n")
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert failures(report) == {}
    cases = {case.name: case for case in report.cases}
    assert cases["reasoning + content"].prompt.endswith("<think>\n")
    assert cases["reasoning + content"].reply.startswith("The user asks")
    assert not cases["content only"].prompt.endswith("<think>\n")


def test_a_turn_whose_header_is_not_that_of_the_prompt() -> None:
    """The prompt's end and the turn begin alike, then go apart: where the generation would begin is anybody's guess."""
    chat_template = CHATML_JSON.replace(GENERATION_PROMPT, "{%- if add_generation_prompt %}<|im_start|>model<|sep|>\n")
    report = check_template(chat_template, right_template(CHATML_JSON))
    assert unrendered(report)["content only"] == "the chat template begins the turn otherwise than its prompt"


def test_a_marker_is_never_cut() -> None:
    """Calls whose turn has no header: `<` is all that the prompt's end and the turn have in common."""
    chat_template = CHATML_JSON.replace(
        '{%- if message.role == "assistant" %}<|im_start|>assistant',
        '{%- if message.role == "assistant" %}{{ "" if message.tool_calls else "<|im_start|>assistant" }}',
    ).replace("{%- for call in message.tool_calls %}\n", "{%- for call in message.tool_calls %}")
    report = check_template(chat_template, right_template(CHATML_JSON))
    case = next(case for case in report.cases if case.name == "one call")
    assert case.reply.lstrip().startswith("<tool_call>")
    assert failures(report) == {}


# -- the report


def test_the_report_is_a_table_with_evidence() -> None:
    text = str(check_template(CHATML_XML, right_template(CHATML_JSON)))
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "content only"
    assert lines[0].endswith("pass")
    assert any(line.startswith("one call ") and "FAIL" in line for line in lines)
    assert any(
        line.startswith("can't be rendered: the chat template drops reasoning (reasoning + content; ") for line in lines
    )
    assert "rendered cases pass; 7 can't be rendered" in text
    for word in ("problem", "prompt", "reply", "expected", "message"):
        assert any(line.startswith(f"  {word}") for line in lines)


def test_a_problem_is_one_line_of_the_table_and_has_its_excerpt_below() -> None:
    template = edited(CHATML_JSON, "fields", "tool_calls", open="<tool_call>\n{")
    table, _, evidence = str(check_template(CHATML_JSON, template)).partition("rendered cases pass")
    assert "^" not in table
    assert "^" in evidence


def test_many_failures_are_not_all_shown_with_evidence() -> None:
    report = check_template(CHATML_JSON, edited(CHATML_JSON, start_anchor="<|assistant|>"))
    text = str(report)
    assert text.count("  problem ") == 5
    assert f"{len(report.failures) - 5} more fail" in text


def test_the_report_is_json() -> None:
    report = check_template(CHATML_XML, right_template(CHATML_JSON))
    data = json.loads(json.dumps(report.as_dict()))
    assert not data["ok"]
    assert data["rendered"] == len(report.rendered)
    assert data["passed"] == len(report.passed)
    assert data["passed"] + data["not_rendered"] < len(data["cases"])
    assert {case["status"] for case in data["cases"]} == {"pass", "fail", "not rendered"}


# -- tokenizers


@pytest.fixture
def tokenizer() -> Any:
    from hf.helpers import make_tokenizer

    return make_tokenizer(chat_template=CHATML_JSON)


def test_a_tokenizer_renders_with_its_own_method(tokenizer: Any) -> None:
    assert check_template(tokenizer, right_template(CHATML_JSON)).ok


def test_a_tokenizer_with_chat_templates_by_name(tokenizer: Any) -> None:
    """Calls are rendered with the one for tools."""
    tokenizer.chat_template = {"default": CHATML_JSON.replace("message.tool_calls", "[]"), "tool_use": CHATML_JSON}
    report = check_template(tokenizer, right_template(CHATML_JSON))
    assert report.ok
    assert "one call" not in unrendered(report)


def test_the_tokenizers_own_response_template_is_the_default(tokenizer: Any) -> None:
    tokenizer.response_template = edited(CHATML_JSON, "fields", reasoning_content=None)
    assert "reasoning + content" in failures(check_template(tokenizer))


def test_the_library_is_asked_where_there_is_none(tokenizer: Any) -> None:
    assert check_template(tokenizer).ok


def test_without_any_response_template_it_is_an_error() -> None:
    with pytest.raises(ResponseParsingError, match="no response template to check"):
        check_template("{{ messages[0].content }}")


def test_replies_are_parsed_from_token_ids_too(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers_response_parsing.rendering import ChatRenderer

    spelled = {}
    monkeypatch.setattr(
        ChatRenderer,
        "spelled",
        lambda self, text, spell=ChatRenderer.spelled: spelled.setdefault(text, spell(self, text)),
    )
    report = check_template(tokenizer, right_template(CHATML_JSON))
    assert report.ok
    for case in report.cases:
        assert "".join(spelled[case.prompt]) == case.prompt
        assert len(spelled[case.reply]) > len(case.reply) / 2  # this tokenizer has a token for each byte
    assert report.notes == ()


def test_what_the_tokenizer_spells_otherwise_is_not_tried_from_ids(tokenizer: Any) -> None:
    from tokenizers.normalizers import NFC

    tokenizer.backend_tokenizer.normalizer = NFC()
    report = check_template(tokenizer, right_template(CHATML_JSON))
    assert report.ok
    assert report.notes == (
        "not tried from token ids, as the tokenizer does not give back their text: hard arguments: unicode",
    )


def test_nothing_of_the_tokenizer_changes(tokenizer: Any) -> None:
    before = dict(vars(tokenizer))
    check_template(tokenizer, right_template(CHATML_JSON))
    assert vars(tokenizer) == before


OWN_TAGS = (
    CHATML_XML.replace("parameter", "argument").replace("<tool_call>", "<invoke>").replace("</tool_call>", "</invoke>")
)


def own_tags_template(*, looks_ahead: bool) -> dict[str, Any]:
    template = json.loads(
        json.dumps(right_template(CHATML_XML)).replace("parameter", "argument").replace("tool_call>", "invoke>")
    )
    if not looks_ahead:
        pattern = r"<argument=(?P<key>[^>\n]+)>\n(?P<value>.*?)\s*</argument>"
        template["fields"]["tool_calls"]["content_args"]["tag_pattern"] = pattern
    return template


def test_marks_of_its_own_that_a_string_argument_can_t_hold_are_told() -> None:
    """The conversations have the marks of common formats only, so that all of them pass."""
    report = check_template(OWN_TAGS, own_tags_template(looks_ahead=False))
    assert report.ok
    (note,) = [note for note in report.notes if "marks of the template's own" in note]
    assert "'</argument>'" in note
    assert "note: a string argument that holds marks" in str(report)


def test_a_template_that_looks_ahead_reads_its_own_marks() -> None:
    report = check_template(OWN_TAGS, own_tags_template(looks_ahead=True))
    assert report.ok
    assert not [note for note in report.notes if "marks of the template's own" in note]


def test_own_marks_are_those_of_calls() -> None:
    template = {
        "fields": {
            "content": {"close": "<|im_end|>"},
            "tool_calls": {"open": ["[CALL]", "<c>\n"], "close_pattern": r"</c>|<｜tool▁end｜>|(?P<x>a)<\|end\|>"},
            "more": {"into": "tool_calls", "open": "<d>", "content_args": {"tag_pattern": r"<k>(?P<key>.*?)</k>"}},
        }
    }
    assert own_marks(template) == ("[CALL]", "<c>", "</c>", "<｜tool▁end｜>", "<|end|>", "<d>", "<k>", "</k>")
