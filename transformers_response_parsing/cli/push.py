# SPDX-License-Identifier: Apache-2.0
"""`response-template push`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from transformers_response_parsing.hub import PushPlan, plan_push, push_template

from .console import Console
from .generation import TEMPLATE_HELP
from .inputs import load_named_template, portable, reach

__all__ = ["register"]

_EXAMPLES = """\
  response-template push org/model template.json --dry-run  # what would change
  response-template push org/model template.json            # opens a pull request
  response-template push org/model qwen3 --portable --commit --message "Add a response template"
  response-template push ./my-model template.json           # writes its tokenizer_config.json"""
_DETAILS = """\
One key of `tokenizer_config.json` is set, and nothing else in the file changes. A pull request needs no write access; its
description holds the proof (`response-template check`). Log in with `hf auth login`, or set HF_TOKEN.

The address is on stdout. Exit code 1 if the push is (or, with --dry-run, would be) refused."""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "push",
        _run,
        summary="put a response template into a model's repository or folder",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    command.add_argument("repo", metavar="REPO_OR_DIR", help="org/name, or a folder")
    command.add_argument("template", metavar="TEMPLATE", help=TEMPLATE_HELP)
    command.add_argument("--dry-run", action="store_true", help="only show the change, as a diff")
    command.add_argument(
        "--portable",
        action="store_true",
        help="in place of a template of the library that only this package reads, the one that transformers reads, too",
    )
    command.add_argument("--commit", action="store_true", help="commit at once, instead of opening a pull request")
    command.add_argument("--revision", metavar="BRANCH", help="the branch (default: the default branch)")
    command.add_argument("--message", metavar="TEXT", help='title of the commit (default: "Add response_template")')
    command.add_argument("--overwrite", action="store_true", help="replace another template that is there")
    command.add_argument("--field-names", choices=("thinking",), help="call the reasoning field as vLLM and SGLang do")
    command.add_argument(
        "--allow-extensions",
        action="store_true",
        help="push a template that transformers itself can't read all the same",
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    reach(arguments.repo, arguments.revision, write=True)
    named = load_named_template(arguments.template)
    template = portable(named) if arguments.portable else named.template
    options = {"revision": arguments.revision, "field_names": arguments.field_names}
    if arguments.dry_run:
        return _show(console, arguments, plan_push(arguments.repo, template, **options))
    result = push_template(
        arguments.repo,
        template,
        create_pr=not arguments.commit,
        commit_message=arguments.message,
        overwrite=arguments.overwrite,
        allow_extensions=arguments.allow_extensions,
        **options,
    )
    _warn(console, result.plan)
    if arguments.json:
        report = None if result.report is None else result.report.as_dict()
        console.json({"url": str(result), "status": result.status, "changed": result.changed, "report": report})
        return 0
    console.line(str(result))
    console.hint(result.status)
    if result.report is not None:
        console.hint(f"checked: {len(result.report.passed)} of {len(result.report.rendered)} rendered cases pass")
    return 0


def _warn(console: Console, plan: PushPlan) -> None:
    """Of what a push to a repository refuses, and a folder takes."""
    if plan.local and plan.extensions:
        console.hint(
            f"only this package reads {', '.join(plan.extensions)}: transformers' own chat pipelines (5.13 and newer) fail "
            "with what is in this folder. --portable looks for a template that they read"
        )


def _show(console: Console, arguments: argparse.Namespace, plan: PushPlan) -> int:
    _warn(console, plan)
    refused = []
    if plan.replaces and not arguments.overwrite:
        refused.append("another template is there, --overwrite replaces it")
    if plan.changed and plan.extensions and not plan.local and not arguments.allow_extensions:
        refused.append(
            f"only this package reads {', '.join(plan.extensions)}, --allow-extensions pushes it all the same"
        )
    if arguments.json:
        console.json(
            {
                "changed": plan.changed,
                "replaces": plan.replaces,
                "commit": plan.commit,
                "diff": plan.diff,
                "refused": refused,
            }
        )
        return 1 if refused else 0
    for line in plan.diff.splitlines():
        color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.line(line, *([color] if color else []))
    console.hint(f"{plan.place}: {'this would change' if plan.changed else 'already up to date'}")
    for reason in refused:
        console.hint(f"it would be refused: {reason}")
    return 1 if refused else 0
