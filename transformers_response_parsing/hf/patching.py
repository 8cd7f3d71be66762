# SPDX-License-Identifier: Apache-2.0
"""Patches that can be taken back: a ledger of what was replaced, and a hook that patches a module once it is imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["MISSING", "Ledger", "Patch", "PostImportHook"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


class Patch(NamedTuple):
    """One replaced attribute: `old` is the owner's own attribute as it was, or `MISSING` where it had none."""

    owner: Any
    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.owner.__name__}.{self.name}"


class Ledger:
    """The patches in force, in the order in which they were made."""

    def __init__(self) -> None:
        self.patches: list[Patch] = []

    def set(self, owner: type, name: str, new: Any) -> None:
        """Make `new` the class's own attribute `name`, and remember what the class itself (not its bases) had."""
        self.patches.append(Patch(owner, name, vars(owner).get(name, MISSING), new))
        setattr(owner, name, new)

    def undo(self) -> list[Patch]:
        """Take all patches back, the last first. Returns those left alone, because somebody else patched over them."""
        kept = []
        while self.patches:
            patch = self.patches.pop()
            if vars(patch.owner).get(patch.name, MISSING) is not patch.new:
                kept.append(patch)
            elif patch.old is MISSING:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.old)
        return kept


class PostImportHook(MetaPathFinder):
    """Calls a function with a module right after the module's first import; at once if it is imported already.

    Each target fires once. The module keeps its own spec and loader, so `inspect.getsource` and reloading see nothing of us.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, Callable[[ModuleType], None]] = {}
        self._finding: set[str] = set()

    def when_imported(self, name: str, call: Callable[[ModuleType], None]) -> None:
        """Call `call(module)` once the module `name` is there."""
        module = sys.modules.get(name)
        # A module that is still executing is in sys.modules too, and half empty.
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            call(module)
            return
        self.waiting[name] = call
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Forget the targets that have not fired and leave `sys.meta_path`."""
        self.waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """For a target: the spec that the other finders give, with a loader that fires the hook after its work."""
        del path, target
        if fullname not in self.waiting or fullname in self._finding:
            return None
        self._finding.add(fullname)  # the question below comes back to us: let the other finders answer
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _FiringLoader(self, spec.loader)
        return spec

    def fired(self, module: ModuleType) -> None:
        """The module has been executed: call its function."""
        call = self.waiting.pop(module.__name__, None)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        if call is not None:
            call(module)


class _FiringLoader(Loader):
    """Runs the module's own loader, gives the module its loader back, and fires the hook."""

    def __init__(self, hook: PostImportHook, loader: Loader) -> None:
        self._hook = hook
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._hook.fired(module)
