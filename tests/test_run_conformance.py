# SPDX-License-Identifier: Apache-2.0
"""The runner of the conformance vectors for ports: right answers pass, and wrong, missing and late ones are told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

SCRIPTS = ROOT / "scripts"
OURS = (sys.executable, str(SCRIPTS / "conformance_port.py"))


def run(*arguments: str, port: tuple[str, ...] = OURS) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "run_conformance.py"), *arguments, "--", *port]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.parametrize("subject", ["content-basic/", "on-error/", "load-errors/", "anchor-prefix/"])
def test_this_package_passes(subject: str) -> None:
    """Messages, events of the prompt, kept faults, raised faults and refused templates."""
    done = run("--only", subject)
    assert done.returncode == 0, done.stdout + done.stderr
    passed, total = done.stdout.split(" vectors pass")[0].split(" of ")
    assert passed == total != "0"


def port(folder: Path, body: str) -> tuple[str, ...]:
    """A port that does something to each request (`request`, `right`: our answer) and prints it."""
    path = folder / "port.py"
    lead = f"import json, sys, time\nsys.path.insert(0, {str(SCRIPTS)!r})\nfrom conformance_port import answer\n"
    loop = "for line in sys.stdin:\n    request = json.loads(line)\n    right = answer(request)\n"
    path.write_text(f"{lead}{loop}    {body}\n", encoding="utf-8")
    return (sys.executable, str(path))


@pytest.mark.parametrize(
    ("only", "body", "said"),
    [
        ("content-basic/int", "print(json.dumps({**right, 'message': {}}), flush=True)", "expected  message {'r': 42}"),
        ("content-basic/int", "print(json.dumps({**right, 'events': []}), flush=True)", "expected  events ["),
        (
            "anchor-prefix/closed-region",
            "print(json.dumps({**right, 'initial_events': []}), flush=True)",
            "initial_events",
        ),
        ("capture-literals/no-implicit", "print(json.dumps({**right, 'unclaimed': 'x'}), flush=True)", "unclaimed"),
        (
            "load-errors/args-unknown",
            "print(json.dumps({'message': {}}), flush=True)",
            "an error of the kind 'template'",
        ),
        ("on-error/", "print(json.dumps({'error': {'kind': 'output'}}), flush=True)", "expected  no error"),
        ("content-basic/int", "print('no JSON', flush=True)", "the answer is no JSON object: 'no JSON'"),
        ("content-basic/int", "sys.exit()", "the program ended"),
    ],
)
def test_wrong_answers_are_told(tmp_path: Path, only: str, body: str, said: str) -> None:
    done = run("--only", only, port=port(tmp_path, body))
    assert done.returncode == 1
    assert said in done.stdout
    assert f"{only}" in done.stdout


def test_a_program_that_is_not_there_is_told_in_a_line() -> None:
    done = run(port=("./nope",))
    assert done.returncode == 2
    assert done.stderr == "can't start ./nope: No such file or directory\n"


def test_what_depends_on_the_chunks_is_told_with_them(tmp_path: Path) -> None:
    """A port that is right on whole texts only."""
    body = "print(json.dumps(right if len(request['chunks']) < 2 else {'message': {}}), flush=True)"
    done = run("--only", "content-basic/int", port=port(tmp_path, body))
    assert "chunks    chars" in done.stdout
    assert "chunks    whole" not in done.stdout


def test_a_port_that_hangs_is_stopped_and_started_anew(tmp_path: Path) -> None:
    body = "time.sleep(60 if request['chunks'] == ['<t>42</t>'] else 0) or print(json.dumps(right), flush=True)"
    done = run("--only", "content-basic/int", "--timeout", "3", port=port(tmp_path, body))
    assert done.stdout.count("no answer within 3 s") == 1
    assert "content-basic/int-space" not in done.stdout


def test_vectors_that_only_this_package_can_pass_can_be_left_out() -> None:
    done = run("--only", "extensions/", "--portable")
    assert "0 of 0 vectors pass" in done.stdout
    assert done.returncode == 1
