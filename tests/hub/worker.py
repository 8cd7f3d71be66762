# SPDX-License-Identifier: Apache-2.0
"""What runs in the process that has HF_ENDPOINT set, and what comes back from there."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Outcome(NamedTuple):
    """What a call gave: `value`, or `error`: the names of the error's class and its bases, and its text.

    `said` is all that was logged at any level or printed.
    """

    value: Any
    error: tuple[tuple[str, ...], str] | None
    said: str


def run(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Outcome:
    """Call a function, and catch everything that comes out of it."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    value, error = None, None
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            value = function(*arguments, **options)
    except Exception as caught:  # noqa: BLE001 -- the test says which it must be
        error = (tuple(kind.__name__ for kind in type(caught).__mro__), str(caught))
    finally:
        root.removeHandler(handler)
    return Outcome(value, error, said.getvalue())


def save_tokenizer(folder: str) -> None:
    """A tiny tokenizer, saved without a response template."""
    from hf.helpers import make_tokenizer

    make_tokenizer().save_pretrained(folder)


def load_and_parse(repo_id: str, output: str, prefix: str, revision: str | None = None) -> Any:
    """What a user does with a repository that has a template."""
    from transformers import AutoTokenizer

    import transformers_response_parsing as trp

    trp.enable(library=False)
    try:
        tokenizer = AutoTokenizer.from_pretrained(repo_id, revision=revision)
        ids = tokenizer(output, add_special_tokens=False)["input_ids"]
        return tokenizer.response_template, tokenizer.parse_response(ids, prefix=prefix)
    finally:
        trp.disable()


def push_and_reload(repo_id: str, to: str, **options: Any) -> Any:
    """Load a tokenizer, push it to another repository, load that: its template."""
    from transformers import AutoTokenizer

    import transformers_response_parsing as trp

    trp.enable(library=False)
    try:
        AutoTokenizer.from_pretrained(repo_id).push_to_hub(to, **options)
        return AutoTokenizer.from_pretrained(to).response_template
    finally:
        trp.disable()


def download(repo_id: str, file: str, **options: Any) -> str:
    """A plain download, to compare errors with."""
    from huggingface_hub import hf_hub_download

    path: str = hf_hub_download(repo_id, file, **options)
    return path


def run_page(page: str, folder: str, token: str) -> list[str]:
    """Run the snippets of a page in a folder, logged in: what each prints."""
    from pages import ROOT, run_snippet, snippets

    before = Path.cwd()
    os.environ["HF_TOKEN"] = token
    os.chdir(folder)
    try:
        namespace: dict[str, Any] = {}
        return [run_snippet(snippet.code, page, namespace) for snippet in snippets(ROOT / "docs" / page)]
    finally:
        os.chdir(before)
        del os.environ["HF_TOKEN"]
