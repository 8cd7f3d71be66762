# SPDX-License-Identifier: Apache-2.0
"""Code as users write it. mypy checks it; it is never run."""

from __future__ import annotations

from typing import Any

import transformers_response_parsing as trp


def one_shot(output: str, prompt: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
    template: dict[str, Any] = trp.get_template("Qwen/Qwen3-8B").response_template
    loaded: trp.ResponseTemplate = trp.ResponseTemplate.load(template)
    print(loaded.min_transformers, [str(problem) for problem in loaded.problems])
    trp.parse_response(output, template, prefix=prompt)
    return trp.parse_response(output, loaded, prefix=prompt, tools=tools, end=["<|im_end|>"], on_error="keep")


def streaming(pieces: list[str]) -> str:
    parser = trp.ResponseParser({"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}, prefix="")
    text = ""
    for piece in pieces:
        for event in parser.feed(piece):
            if event["type"] == "region_chunk":
                text += event["text"]
    message, events = parser.finalize()
    print(message["content"], len(events), len(parser.initial_events))
    return text


def errors(output: str) -> str:
    try:
        trp.parse_response(output, trp.get_template("gptoss").response_template, prefix="")
    except trp.TemplateError as error:
        return error.path + "".join(problem.message for problem in error.problems)
    except trp.OutputError as error:
        return f"{error.field} {error.offset} {error.raw} {sorted(error.partial_message)}"
    except trp.ResponseParsingError as error:
        return str(error)
    return ""


def library() -> list[str]:
    match: trp.TemplateMatch | None = trp.find_template("{{ messages }}")
    if match is not None and match.proven:
        print(match.entry.name, match.reason)
    entries: list[trp.TemplateEntry] = trp.list_templates()
    return [model for entry in entries for model in entry.models]


def plugin(tokenizer: Any) -> None:
    print(trp.enable(library=False).enabled, trp.status(), trp.disable())
    streamer = trp.ResponseStreamer(tokenizer, prefix="", tools=None, on_event=print)
    for event in streamer:
        print(event["type"])
    print(streamer.message)


def hub(template: dict[str, Any]) -> str:
    pulled: trp.PulledTemplate = trp.pull_template("org/model", revision="main")
    print(pulled.commit, pulled.source, trp.parse_response("Hi", pulled, prefix=""))
    plan: trp.PushPlan = trp.plan_push("org/model", pulled, field_names="thinking")
    if plan.replaces or plan.extensions:
        return plan.diff
    try:
        pushed: trp.PushResult = trp.push_template("org/model", template, create_pr=False, overwrite=True)
    except trp.TemplateExistsError as error:
        return error.plan.template_diff
    return f"{pushed.status} {pushed.changed} {pushed}"
