# SPDX-License-Identifier: Apache-2.0
"""The same in a local folder. No server, and nothing of huggingface_hub."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hf.helpers import TEMPLATE

import transformers_response_parsing as trp
from transformers_response_parsing import hub_file

CONFIG = "tokenizer_config.json"
OTHER = {"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / CONFIG).write_bytes(b'{\r\n    "a": 1e5\r\n}')
    return tmp_path


def test_push_pull_and_push_again(folder: Path) -> None:
    done = trp.push_template(folder, OTHER)
    assert done == str(folder / CONFIG)
    assert done.status == "written"
    assert (folder / CONFIG).read_bytes().startswith(b'{\r\n    "a": 1e5,\r\n    "response_template": {\r\n        "')
    pulled = trp.pull_template(str(folder))
    assert (pulled.source, pulled.repo_id, pulled.commit) == (OTHER, str(folder), None)
    assert pickle.loads(pickle.dumps(done)).plan == done.plan
    again = trp.push_template(str(folder), OTHER)
    assert (again, again.status) == (done, "already up to date")


def test_the_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    plan = trp.plan_push(tmp_path, OTHER)
    assert plan.diff.startswith("--- /dev/null\n+++ b/tokenizer_config.json\n")
    assert list(tmp_path.iterdir()) == []
    trp.push_template(tmp_path, OTHER)
    assert (tmp_path / CONFIG).read_text() == json.dumps({"response_template": OTHER}, indent=2) + "\n"


def test_another_template_is_not_replaced(folder: Path) -> None:
    trp.push_template(folder, OTHER)
    before = (folder / CONFIG).read_bytes()
    with pytest.raises(trp.TemplateExistsError, match="overwrite=True") as caught:
        trp.push_template(folder, TEMPLATE)
    assert (folder / CONFIG).read_bytes() == before
    assert caught.value.plan.existing == OTHER
    assert caught.value.plan.template == TEMPLATE
    assert caught.value.plan.replaces
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.plan) == (str(caught.value), caught.value.plan)
    trp.push_template(folder, TEMPLATE, overwrite=True)
    assert trp.pull_template(folder).source == TEMPLATE


def test_a_template_nested_beyond_reason_can_be_replaced(folder: Path) -> None:
    """What is there need not be a template at all."""
    (folder / CONFIG).write_text('{"response_template": ' + "[" * 700 + "]" * 700 + "}")
    with pytest.raises(trp.TemplateExistsError):
        trp.push_template(folder, OTHER)
    trp.push_template(folder, OTHER, overwrite=True)
    assert trp.pull_template(folder).source == OTHER


def test_a_write_that_fails_leaves_the_file_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing beside it."""

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(hub_file.os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        trp.push_template(folder, OTHER)
    assert [path.name for path in folder.iterdir()] == [CONFIG]
    assert (folder / CONFIG).read_bytes() == b'{\r\n    "a": 1e5\r\n}'


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions_stay(folder: Path) -> None:
    (folder / CONFIG).chmod(0o640)
    trp.push_template(folder, OTHER)
    assert (folder / CONFIG).stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_what_a_link_points_to_is_not_changed(tmp_path: Path) -> None:
    """In the Hub's cache files are links to blobs, which are named by their content."""
    blob, folder = tmp_path / "blob", tmp_path / "snapshot"
    blob.write_text("{}")
    folder.mkdir()
    (folder / CONFIG).symlink_to(blob)
    trp.push_template(folder, OTHER)
    assert blob.read_text() == "{}"
    assert not (folder / CONFIG).is_symlink()
    assert trp.pull_template(folder).source == OTHER


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer_config\.json"):
        trp.pull_template(tmp_path)


def test_a_folder_has_no_revisions(folder: Path) -> None:
    for use in (
        lambda: trp.pull_template(folder, revision="main"),
        lambda: trp.push_template(folder, OTHER, revision="main"),
    ):
        with pytest.raises(trp.ResponseParsingError, match="has no revisions"):
            use()


@pytest.mark.parametrize("name", ["./nothing", "/nothing/at/all", "~/model", "a/b/c", Path("org/model")])
def test_a_folder_that_is_not_there_is_no_repository(name: str | Path) -> None:
    """Nothing is asked of the Hub for what can only be meant as a folder."""
    with pytest.raises(trp.ResponseParsingError, match="there is no folder"):
        trp.push_template(name, OTHER)


def test_a_folder_comes_before_a_repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `from_pretrained`."""
    (folder / "org" / "model").mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert trp.push_template("org/model", OTHER).status == "written"
    assert trp.pull_template("org/model").source == OTHER


def test_nothing_of_the_hub_is_imported(folder: Path) -> None:
    code = f"""
import sys
import transformers_response_parsing as trp
trp.push_template({str(folder)!r}, {OTHER!r})
trp.pull_template({str(folder)!r})
print([name for name in ("huggingface_hub", "transformers") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
