"""The source text of the house as values: a module, what it imports, what it defines.

    Source(name, text)          one module; `name` is dotted, `engine.data.loaders`
    Import(target, names, line) one import statement, its target absolute
    read(root)                  every module below engine, app and pages

Nothing is imported or run: rules look at syntax trees only, so they hold for made text as for the house itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOPS = ("engine", "app", "pages", "whichfluence")


@dataclass(frozen=True)
class Import:
    """`from target import names`, or `import target` with no names."""

    target: str
    names: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Source:
    """A module's text; a package is the text of its `__init__`."""

    name: str
    text: str
    package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree."""
        return tuple(ast.walk(self.tree))

    @property
    def path(self) -> str:
        """Where it stands below the root."""
        return self.name.replace(".", "/") + ("/__init__.py" if self.package else ".py")

    @property
    def room(self) -> str:
        """`engine.data` of `engine.data.loaders`; a loose module is a room of its own."""
        return ".".join(self.name.split(".")[:2])

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, also those inside functions and under TYPE_CHECKING."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[Import]:
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom):
                yield Import(self._absolute(node), tuple(alias.name for alias in node.names), node.lineno)
            elif isinstance(node, ast.Import):
                yield from (Import(alias.name, (), node.lineno) for alias in node.names)
            elif _loads(node):
                yield Import(node.args[0].value, (), node.lineno)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parents = self.name.split(".")[:len(self.name.split(".")) + self.package - node.level]
        return ".".join([*parents, *filter(None, [node.module])])

    @cached_property
    def defines(self) -> set[str]:
        """Names that it gives to functions, classes, variables, and attributes of self and cls."""
        found = set()
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) \
                    and dotted(node.value) in ("self", "cls"):
                found.add(node.attr)
        return found

    def needs(self, modules: set[str]) -> set[str]:
        """Which of these modules it imports, whether as a module or for a name of theirs."""
        found = set()
        for entry in self.imports:
            inner = {f"{entry.target}.{name}" for name in entry.names}
            found |= inner & modules
            if entry.target in modules and (not inner or inner - modules):
                found.add(entry.target)
        return found - {self.name}


def dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written, `super()` too; what is no such name is empty."""
    if isinstance(node, ast.Call) and dotted(node.func) == "super":
        return "super()"
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _loads(node: ast.AST) -> bool:
    """import_module("…") or __import__("…") of a name that stands there."""
    return (isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in ("import_module", "__import__")
            and bool(node.args) and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str))


def read(root: Path = ROOT, tops: tuple[str, ...] = TOPS) -> list[Source]:
    """Every module below these folders, by name."""
    found = []
    for path in sorted(path for top in tops for path in (root / top).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        package = parts[-1] == "__init__"
        found.append(Source(".".join(parts[:-1] if package else parts), path.read_text(encoding="utf-8"), package))
    return found
