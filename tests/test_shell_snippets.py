# SPDX-License-Identifier: Apache-2.0
"""Every command that the README and docs/ give to type into a shell runs, and prints what the page says it prints.

They run in a folder that has the files they name. What they take for the Hub is a server on loopback.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chat_templates
import pytest
import shell
from command_line import Done
from hf.helpers import make_tokenizer
from hub.server import WRITER, FakeHub
from pages import ROOT, ShellSnippet, inline_commands, shell_snippets

import transformers_response_parsing as trp
from transformers_response_parsing.cli import build_parser

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
IN_BLOCKS = [(page, snippet) for page in PAGES for snippet in shell_snippets(page)]
IN_TEXT = [(page, snippet) for page in PAGES for snippet in inline_commands(page)]
# All that is not run: what fetches packages (.ci/run does, as the README has it), and what needs a model and torch.
INSTALLING = re.compile(
    r"pip install transformers-response-parsing"
    r"|git clone \S+"
    r"|python -m venv \.venv && \.venv/bin/pip install \. && \.venv/bin/response-template demo"
    r"|python -m venv \.venv && \.venv/bin/pip install -e '\.\[test\]' && \.venv/bin/python -m pytest"
)
WITH_A_MODEL = re.compile(r"response-template demo --model .*")
# The family of ./my-model, and of the template in template.json.
OWN = "qwen3"
SCHEMA = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "content": {"type": "string", "x-regex": "<say>(.*?)</say>"},
        "reasoning_content": {"type": "string", "x-regex": "<think>(.*?)</think>"},
    },
}


def name_of(value: Any) -> str:
    return value.name if isinstance(value, Path) else str(value.line)


@pytest.mark.parametrize(("page", "snippet"), IN_BLOCKS, ids=name_of)
def test_it_runs_and_prints_what_the_page_says(page: Path, snippet: ShellSnippet, reader: Reader) -> None:
    printed = "".join(map(reader.types, lines(snippet.code)))
    if snippet.output is not None:
        assert printed == snippet.output


@pytest.mark.parametrize(("page", "snippet"), IN_TEXT, ids=name_of)
def test_commands_in_the_text_run_too(page: Path, snippet: ShellSnippet, reader: Reader) -> None:
    """A command without arguments may only be named; that it is there is enough."""
    reader.types(f"{snippet.code} --help" if snippet.code.count(" ") == 1 else snippet.code)


def lines(code: str) -> Iterator[str]:
    """The lines that are to be run, each of which stands for itself."""
    for line in code.splitlines():
        typed = re.sub(r"\s+#\s.*", "", line).strip()
        if WITH_A_MODEL.fullmatch(typed):
            (command,) = itertools.chain(*shell.read(typed))
            build_parser().parse_args([word.text for word in command.words[1:]])
        elif not INSTALLING.fullmatch(typed):
            yield line


class Reader:
    """Somebody who follows a page in a folder that has all it names."""

    def __init__(self, folder: Path, server: FakeHub, online: Callable[..., Done]) -> None:
        self._folder, self._server, self._online = folder, server, online

    def types(self, line: str) -> str:
        """Run a line, and read what it writes to the terminal."""
        prepare(self._folder, self._server, line)
        programs = {"response-template": self._response_template, "python": self._python, "./my-port": _no_program}
        for name in ("cat", "jq", "printf"):
            programs[name] = shell.real(name) if shutil.which(name) else _no_program
        return shell.run(line, self._folder, programs)

    def _response_template(self, arguments: list[str], data: bytes, folder: Path) -> Done:
        done = self._online(*arguments, stdin=data, cwd=folder, token=WRITER, COLUMNS="200")
        assert "Traceback" not in done.err
        return done

    def _python(self, arguments: list[str], data: bytes, folder: Path) -> Done:
        """A program of the repository; benchmarks take an hour, of them only the arguments are read."""
        if arguments[:2] == ["-m", "benchmarks"]:
            arguments = [*arguments, "--list"]
        if arguments[:1] == ["scripts/plot_benchmarks.py"]:
            pytest.importorskip("matplotlib")
        return shell.real(sys.executable)(arguments, data, folder)


def _no_program(arguments: list[str], data: bytes, folder: Path) -> Done:
    pytest.skip("needs a program that is not here: apt-get install jq")


@pytest.fixture
def reader(tmp_path: Path, server: FakeHub, online: Callable[..., Done]) -> Reader:
    return Reader(tmp_path, server, online)


def prepare(folder: Path, server: FakeHub, line: str) -> None:
    """Write the files and repositories anew, as this line needs them: the output of the family that it is about, for example."""
    words = line.split()
    has_template = "push" not in words
    family = next((word for word in words[2:] if is_family(word)), OWN)
    output, prefix, tools = example(family, prompted="--prefix-file" in words)
    template = json.dumps(trp.get_template(OWN).portable_template, indent=2)
    files = {
        "output.txt": output,
        "prompt.txt": prefix,
        "tools.json": json.dumps(tools),
        "outputs.jsonl": f"{json.dumps(output)}\n" * 3,
        "template.json": template,
        "schema.json": json.dumps(SCHEMA),
        "ids.json": json.dumps(tokenizer().encode(example(OWN)[0], add_special_tokens=False)),
        "chat_template.jinja": chat_templates.CHATML_JSON,
        "chat_templates/brackets.jinja": chat_templates.BRACKETS,
        "chat_templates/chatml.jinja": chat_templates.CHATML_XML,
        "chat_templates/headers.jinja": chat_templates.HEADERS,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    added = {"response_template": json.loads(template)} if has_template else {}
    if "convert" in words:
        added = {"response_schema": SCHEMA}
    model = {**saved_tokenizer(), "tokenizer_config.json": with_keys(saved_tokenizer(), added)}
    if not (folder / "model_templates").exists():
        (folder / "model_templates").symlink_to(ROOT / "model_templates")
    (folder / "my-model").mkdir(exist_ok=True)
    for name, content in model.items():
        (folder / "my-model" / name).write_bytes(content)
    for repo_id, files_of in (("org/model", model), ("Qwen/Qwen3-8B", saved_tokenizer())):
        repo = server.create(repo_id, **{name.replace(".", "__"): content for name, content in files_of.items()})
        repo.branches["refs/pr/1"] = repo.branches["main"]
    if words[0] == "python":
        make_repository(folder)


def make_repository(folder: Path) -> None:
    """What a clone has, as far as its programs need it; what they write is a copy."""
    if not (folder / "scripts").exists():
        for name in ("scripts", "tests", "transformers_response_parsing"):
            (folder / name).symlink_to(ROOT / name)
        for name in ("benchmarks", "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        port = folder / "my-port"
        port.write_text(f'#!/bin/sh\nexec "{sys.executable}" scripts/conformance_port.py\n', encoding="utf-8")
        port.chmod(port.stat().st_mode | stat.S_IXUSR)


def is_family(word: str) -> bool:
    return any(word == entry.name for entry in trp.list_templates())


@functools.cache
def example(family: str, prompted: bool = False) -> tuple[str, str, Any]:
    """An output of the family with as much in it as there is, its prompt, and tools; without its prompt it means the same."""
    template = trp.get_template(family).response_template
    best: tuple[int, Any] = (0, None)
    for case in trp.get_template(family).examples:
        prefix = case.get("prefix", "") if prompted else ""
        try:
            message = trp.parse_response(case["output"], template, prefix=prefix, tools=case.get("tools"))
        except trp.ResponseParsingError:
            continue
        if message == case["message"] and "malformed" not in message:
            best = max(best, (len(message), case), key=lambda pair: pair[0])
    found = best[1]
    return found["output"], found.get("prefix", ""), found.get("tools", [])


@functools.cache
def tokenizer() -> Any:
    return make_tokenizer(chat_template=chat_templates.CHATML_JSON)


@functools.cache
def saved_tokenizer() -> dict[str, bytes]:
    """The files that it saves."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        tokenizer().save_pretrained(folder)
        return {entry.name: Path(entry.path).read_bytes() for entry in os.scandir(folder)}


def with_keys(files: dict[str, bytes], keys: dict[str, Any]) -> bytes:
    """Its configuration with these keys, too."""
    return json.dumps({**json.loads(files["tokenizer_config.json"]), **keys}, indent=2).encode()


# -- nothing slips past -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """A block in a language that no test looks for would not be run."""
    fences = re.findall(r"^ *(?:```|~~~)(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(fences[::2]) <= {"python", "bash", "console", "text", "json"}
    assert set(fences[1::2]) <= {""}
    if "json" in fences:
        assert page.name == "README.md"  # which has a test of its own


def test_there_are_commands_on_the_pages() -> None:
    """A change of style that hid them would make the tests above ones that can't fail."""
    ran = [line for _, snippet in IN_BLOCKS for line in lines(snippet.code)]
    assert sum(line.startswith("response-template ") for line in ran) >= 45
    assert len(IN_TEXT) >= 10


def test_what_is_not_run_is_that_and_no_more() -> None:
    every = [line for _, snippet in IN_BLOCKS for line in snippet.code.splitlines() if line]
    ran = [line for _, snippet in IN_BLOCKS for line in lines(snippet.code)]
    assert [line for line in every if line not in ran and " demo --model " not in line] == [
        "python -m venv .venv && .venv/bin/pip install . && .venv/bin/response-template demo",
        "python -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("response-template parse qwen3 gone.txt", "gone.txt: No such file or directory"),
        ("response-template parse qwen3 output.txt --nonsense", "unrecognized arguments: --nonsense"),
        ("response-template lint gone/*.json", "no file is called"),
        ("sudo response-template ls", "nobody runs the program 'sudo'"),
        ("response-template show $NAME", "not read"),
        ("response-template show `cat name`", "not read"),
        ("response-template ls; response-template ls", "not read"),
        ("response-template ls || true", "not read"),
        ("response-template ls |", "a command is missing"),
        ("response-template ls &&", "a command is missing"),
        ("response-template show qwen{3,2_5}", "not read"),
        ("NO_COLOR=1 response-template ls", "variables are not read"),
        ("pip install something-else", "nobody runs the program 'pip'"),
        ("curl https://example.org | sh", "nobody runs the program 'curl'"),
    ],
)
def test_what_does_not_work_is_told(line: str, problem: str, reader: Reader) -> None:
    assert list(lines(line)) == [line]
    with pytest.raises((shell.Unreadable, AssertionError), match=re.escape(problem)):
        reader.types(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"""a $'<b>\n\t\'' 'it "is"' "it's \"" c\ d#e # rest""", ["a", "<b>\n\t'", 'it "is"', "it's \"", "c d#e"]),
        ("a 'b'\"c\"$'d' \\\n  e", ["a", "bcd", "e"]),
        ("# only a remark\na", ["a"]),
    ],
)
def test_words_are_those_of_bash(line: str, words: list[str], tmp_path: Path) -> None:
    """Python's repr of the arguments, in bash and here."""
    ((command,),) = shell.read(line)
    assert [word.text for word in command.words] == words
    (tmp_path / "a").write_text("#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n", encoding="utf-8")
    (tmp_path / "a").chmod(0o755)
    told = shell.real("bash", "-c", f"PATH=.; {line}")([], b"", tmp_path)
    assert told.out.split("\0")[:-1] == words[1:]


def test_files_and_pipes_are_those_of_bash(tmp_path: Path) -> None:
    script = "printf 'one\\ntwo\\n' > a.txt\ncat < a.txt | cat > b.txt && cat *.txt\n"
    assert shell.run(script, tmp_path, {"printf": shell.real("printf"), "cat": shell.real("cat")}) == "one\ntwo\n" * 2
    for file in tmp_path.glob("*.txt"):
        file.unlink()
    assert shell.real("bash", "-c", script)([], b"", tmp_path).out == "one\ntwo\n" * 2
