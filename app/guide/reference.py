"""The library's public names as a guide, made from their signatures and docstrings when it is read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Annotated, Any, get_origin

import whichfluence
from engine.basics.values import Value

_INTRODUCTION = """# Python: all public names

What `import whichfluence as wf` offers, from the docstrings of `whichfluence.__all__`: functions first, then classes.
Shapes are in brackets: m queries, k candidates, n training examples. The examples are run by the tests.
"""
WIDTH = 90
_SECTION = re.compile(r"^(Args|Returns|Raises):$")
_ENTRY = re.compile(r"^    (\w[\w, ]*): (.*)$")


@cache
def reference() -> str:
    """The guide as Markdown, one section a name."""
    own = {name: getattr(whichfluence, name) for name in whichfluence.__all__ if name != "__version__"}
    names = sorted(own, key=lambda name: (isinstance(own[name], type), name.casefold()))
    return _INTRODUCTION + "".join(f"\n## {heading(name, own[name])}\n\n{_section(name, own[name])}" for name in names)


def heading(name: str, public: Any) -> str:
    """`problem`, or `class Problem`, which have anchors of their own."""
    return f"class {name}" if isinstance(public, type) else name


def _section(name: str, public: Any) -> str:
    head = f"```python\nwf.{name}{_signature(public)}\n```\n\n{markdown(inspect.getdoc(public) or '')}\n"
    return head + "".join(f"\n```python\n.{own}{_signature(method)}\n```\n\n{markdown(inspect.getdoc(method) or '')}\n"
                          for own, method in _methods(public))


def _methods(public: Any) -> Iterator[tuple[str, FunctionType]]:
    """Those of a class that is used as it is; of values and errors their meaning is enough."""
    if isinstance(public, type) and not (issubclass(public, Value | Exception) or inspect.isabstract(public)):
        for name, method in vars(public).items():
            if isinstance(method, FunctionType) and method.__name__ == name and not name.startswith("_"):
                yield name, method


class _Bare(str):
    """A text that a signature shows without quotes."""

    __repr__ = str.__str__


def _signature(public: Any) -> str:
    """Its parameters with their plain types, one a line where they are many; of a class what makes one."""
    if isinstance(public, type) and (issubclass(public, Exception) or inspect.isabstract(public)):
        return ""
    own = inspect.signature(public)
    shown = [_plain(one) for one in own.parameters.values() if one.name not in ("kind", "self")]
    returned = inspect.Signature.empty if isinstance(public, type) else _Bare(own.return_annotation)
    text = str(own.replace(parameters=shown, return_annotation=returned))
    return text if len(text) < WIDTH else re.sub(r"(^\(|, )(?=\*|\w+[:)])", lambda one: f"{one[0].strip()}\n    ", text)


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """Without the bounds of its type, and with a default that can be read."""
    kind, default = parameter.annotation, parameter.default
    bare = kind.__origin__ if get_origin(kind) is Annotated else _Bare(kind) if isinstance(kind, str) else kind
    unread = callable(default) and default is not parameter.empty
    return parameter.replace(annotation=bare, default=_Bare("…") if unread else default)


def markdown(doc: str) -> str:
    """A docstring as Markdown: sections as lists, formulas and examples as code."""
    lines, section, example = [], "", False
    for line in doc.splitlines():
        starts = line.startswith(">>> ")
        if starts and not example:
            lines += ["", "```python"]
            example = True
        if titled := _SECTION.match(line):
            section = titled[1]
            lines += [f"**{section}**", ""]
        elif section and (entry := _ENTRY.match(line)):
            names = ", ".join(f"`{name.strip()}`" for name in entry[1].split(","))
            lines.append(f"- {names}: {entry[2]}")
        elif section and line.startswith("    ") and not example:
            lines.append(f"{'  ' if lines[-1][:2] in ('- ', '  ') else ''}{line.strip()}")
        else:
            section = "" if line and not line.startswith(" ") else section
            lines.append(line)
    return "\n".join([*lines, *(["```"] if example else [])])
