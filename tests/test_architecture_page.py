# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md and CONTRIBUTING.md name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import ROOT

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "transformers_response_parsing"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_each_module_is_on_the_map(module: Path) -> None:
    assert re.search(rf"`{module.stem}(\.py)?`", ARCHITECTURE)


def test_what_the_pages_name_is_there() -> None:
    """Files, and the names of the code that the map of the parser goes by."""
    for name in re.findall(r"`((?:tests|scripts|docs|benchmarks)/[\w./*]+)`", ARCHITECTURE + CONTRIBUTING):
        assert list(ROOT.glob(name)), name
    code = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    for name in re.findall(r"`(_\w+)`", ARCHITECTURE):
        if name != "__main__":
            assert name in code, name
