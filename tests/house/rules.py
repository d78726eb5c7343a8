"""The rules of the house, each a function of its modules: rule(sources) -> faults.

A fault says where it is, in which words an exception may name it (`key`: a path, or path:name), and what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.house.source import Import, Source, dotted

ROOMS = ("basics", "question", "metrics", "store", "data", "models", "jobs", "gradients", "curvature", "problems",
         "exact", "estimators", "scoring", "external", "requests", "analysis", "applications", "experiments",
         "library", "desk", "cli")
WIDGETS = ("words", "choices", "frame", "results", "examples", "jobs", "pickers")
LOOSE = {"engine": {"engine", "engine.__main__", "engine.worker"}, "app": {"app", "app.main"}}
FORBIDDEN = {"engine": ("app", "pages", "streamlit", "whichfluence"), "app": ("pages",), "pages": ("numpy", "torch"),
             "whichfluence": ("pages", "streamlit")}
FRONT = ("desk", "basics", "question", "metrics", "scoring")
SHARED = {"", "main", "widgets", "charts"}
KINDS = {"softmax", "module"}
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}  # public, whatever their first letter
FILE_LINES = 400
FUNCTION_LINES = 40


@dataclass(frozen=True)
class Fault:
    """What breaks a rule, and where."""

    key: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.key.split('::')[0]}:{self.line}: {self.what}"


def room_order(sources: Iterable[Source]) -> Iterator[Fault]:
    """A room of engine imports only itself and rooms that stand before it; no room stands outside the list."""
    for source in _below(sources, "engine"):
        here = _room(source.name)
        if here not in (None, *ROOMS):
            yield Fault(source.path, 1, f"{here} is no room of engine (tests/house/rules.py lists them)")
            continue
        for entry in source.imports:
            for there in sorted(_rooms_of(entry)):
                if here in ROOMS and there in ROOMS and ROOMS.index(there) > ROOMS.index(here):
                    yield Fault(source.path, entry.line, f"{here} imports {there}, a room that stands later")


def forbidden_imports(sources: Iterable[Source]) -> Iterator[Fault]:
    """engine never imports app, pages, streamlit or whichfluence; app never pages; pages never numpy or torch;
    whichfluence never pages or streamlit."""
    for source in sources:
        for entry in source.imports:
            if (top := entry.target.split(".")[0]) in FORBIDDEN.get(source.name.split(".")[0], ()):
                yield Fault(source.path, entry.line, f"{source.name.split('.')[0]} never imports {top}")


def front_rooms(sources: Iterable[Source]) -> Iterator[Fault]:
    """app and pages ask the desk; of engine's other rooms they import four, of values."""
    for source in _below(sources, "app", "pages"):
        for entry in source.imports:
            for there in sorted(_rooms_of(entry) - set(FRONT)):
                yield Fault(source.path, entry.line, f"{source.name.split('.')[0]} imports {there}; ask engine.desk")


def page_rooms(sources: Iterable[Source]) -> Iterator[Fault]:
    """A page's room of app imports no other page's room; what several use stands in widgets or charts."""
    for source in _below(sources, "app"):
        here = _room_of_app(source.name)
        if here not in SHARED:
            for entry in source.imports:
                inside = entry.names if entry.target == "app" else [_room_of_app(entry.target)]
                for there in sorted({room for room in inside if room} - SHARED - {here}):
                    yield Fault(source.path, entry.line, f"{here} imports {there}, another page's room")


def widget_order(sources: Iterable[Source]) -> Iterator[Fault]:
    """A room of app's widgets imports only itself and rooms that stand before it; no widget stands outside of them."""
    for source in _below(sources, "app"):
        here = _room_of_widgets(source.name)
        if not here:
            continue
        if here not in WIDGETS:
            yield Fault(source.path, 1, f"{here} is no room of app/widgets (tests/house/rules.py lists them)")
            continue
        for entry in source.imports:
            there = _room_of_widgets(entry.target)
            if there in WIDGETS and WIDGETS.index(there) > WIDGETS.index(here):
                yield Fault(source.path, entry.line, f"{here} imports {there}, a room of widgets that stands later")


def circles(sources: Iterable[Source]) -> Iterator[Fault]:
    """No module needs itself by way of others; imports inside functions count."""
    named = {source.name: source for source in sources}
    needs = {name: sorted(source.needs(set(named))) for name, source in named.items()}
    for circle in _components(needs):
        first = min(circle)
        yield Fault(named[first].path, 1, "a circle of imports: " + " -> ".join(_way_round(first, set(circle), needs)))


def private_names(sources: Iterable[Source]) -> Iterator[Fault]:
    """No module imports or reads a name with a leading underscore that it, or a base of its own, does not define."""
    for source in sources:
        for entry in source.imports:
            for name in [*entry.target.split("."), *entry.names]:
                if _is_private(name):
                    yield Fault(source.path, entry.line, f"imports the private name {name} of {entry.target}")
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in source.defines \
                    and dotted(node.value) not in ("self", "cls", "super()"):
                yield Fault(source.path, node.lineno, f"reads the private name {ast.unparse(node)}")


def copies_without_init(sources: Iterable[Source]) -> Iterator[Fault]:
    """No value of engine is made past its __init__: no A.__new__(…), no __dict__.update."""
    for source in _below(sources, "engine"):
        for node in source.nodes:
            name = dotted(node) if isinstance(node, ast.Attribute) else ""
            if name.endswith((".__new__", "__dict__.update")) and not name.startswith("super()"):
                yield Fault(source.path, node.lineno, f"{name} makes a value past its __init__")


def hidden_misspellings(sources: Iterable[Source]) -> Iterator[Fault]:
    """No attribute is read by a fixed name with a default, which would hide its misspelling."""
    for source in sources:
        for node in _calls(source, "getattr"):
            if len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
                yield Fault(source.path, node.lineno, f"{ast.unparse(node)} hides a misspelling")


def dispatch_on_kinds(sources: Iterable[Source]) -> Iterator[Fault]:
    """No table and no comparison in engine and app chooses by the name of a problem's kind."""
    for source in _below(sources, "engine", "app"):
        for node in source.nodes:
            names = []
            if isinstance(node, ast.Dict) and _is_table_of_kinds(node):
                names = node.keys
            elif isinstance(node, ast.Compare):
                names = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            elif isinstance(node, ast.MatchValue):
                names = [node.value]
            found = sorted({name.value for name in names if isinstance(name, ast.Constant) and name.value in KINDS})
            if found:
                yield Fault(source.path, node.lineno, f"chooses by the kind's name {', '.join(found)}; let the problem "
                                                      "answer by a method")


def dispatch_on_types(sources: Iterable[Source]) -> Iterator[Fault]:
    """Nothing in engine and app chooses by the class of a problem; an assertion that narrows a type does not choose."""
    for source in _below(sources, "engine", "app"):
        asserted = {id(part) for node in source.nodes if isinstance(node, ast.Assert) for part in ast.walk(node)}
        for node in source.nodes:
            names: list[ast.AST | None] = []
            if isinstance(node, ast.FunctionDef) and any(_is_register(one) for one in node.decorator_list):
                names = [argument.annotation for argument in node.args.args[:1]]
            elif isinstance(node, ast.Call) and _is_register(node.func):
                names = [*node.args]
            elif isinstance(node, ast.Call) and dotted(node.func) in ("isinstance", "issubclass") \
                    and id(node) not in asserted:
                names = [*ast.walk(node.args[1])]
            found = sorted({name for part in names if part is not None and (name := dotted(part)).endswith("Problem")
                            and name != "Problem"})
            if found:
                yield Fault(source.path, node.lineno, f"chooses by the class {', '.join(found)}; let the problem "
                                                      "answer by a method, or by a property that it declares")


def long_files(sources: Iterable[Source]) -> Iterator[Fault]:
    """A file holds one concept."""
    for source in sources:
        if (lines := len(source.text.splitlines())) > FILE_LINES:
            yield Fault(source.path, 1, f"{lines} lines; a file has at most {FILE_LINES}")


def long_functions(sources: Iterable[Source]) -> Iterator[Fault]:
    """A function fits on a screen, its docstring left out."""
    for source in sources:
        for node in source.nodes:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            told = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            lines = node.end_lineno - node.lineno + 1 - (told.end_lineno - told.lineno + 1 if told else 0)
            if lines > FUNCTION_LINES:
                yield Fault(f"{source.path}::{node.name}", node.lineno,
                            f"{node.name} has {lines} lines; a function has at most {FUNCTION_LINES}")


def loose_modules(sources: Iterable[Source]) -> Iterator[Fault]:
    """At the top of engine and app stand only the doors; everything else stands in a room."""
    for source in sources:
        top, *inner = source.name.split(".")
        if len(inner) <= 1 and not (inner and source.package) and source.name not in LOOSE.get(top, {source.name}):
            yield Fault(source.path, 1, f"stands loose in {top}; put it into a room")


RULES = (room_order, forbidden_imports, front_rooms, page_rooms, widget_order, circles, private_names,
         copies_without_init,
         hidden_misspellings, dispatch_on_kinds, dispatch_on_types, long_files, long_functions, loose_modules)


def _below(sources: Iterable[Source], *tops: str) -> list[Source]:
    return [source for source in sources if source.name.split(".")[0] in tops]


def _room(name: str) -> str | None:
    """`data` of `engine.data.loaders`; None of the doors of engine."""
    return name.split(".")[1] if name not in LOOSE["engine"] else None


def _room_of_app(name: str) -> str:
    """`home` of `app.home.first_look`; empty where it is not in app."""
    top, *inner = name.split(".")
    return inner[0] if top == "app" and inner else ""


def _room_of_widgets(name: str) -> str:
    """`jobs` of `app.widgets.jobs.desk`; empty where it is no widget."""
    return name.removeprefix("app.widgets.").split(".")[0] if name.startswith("app.widgets.") else ""


def _rooms_of(entry: Import) -> set[str]:
    """Rooms of engine that an import enters: `from engine import data` enters data."""
    if entry.target == "engine":
        return set(entry.names)
    return {_room(entry.target)} - {None} if entry.target.startswith("engine.") else set()


def _is_register(node: ast.AST) -> bool:
    return dotted(node.func if isinstance(node, ast.Call) else node).endswith(".register")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__")) and name not in NAMED_TUPLE


def _is_table_of_kinds(table: ast.Dict) -> bool:
    """softmax beside other models is a table of models; module is no model."""
    keys = {key.value for key in table.keys if isinstance(key, ast.Constant)}
    return "module" in keys or bool(keys) and keys <= KINDS


def _calls(source: Source, function: str) -> Iterator[ast.Call]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def _components(needs: dict[str, list[str]]) -> list[list[str]]:
    """Sets of modules that reach one another, of two or more (Tarjan 1972, without recursion into the last)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        path.append(name)
        for needed in needs[name]:
            if needed not in order:
                visit(needed)
            if needed in path:
                low[name] = min(low[name], low[needed])
        if low[name] == order[name]:
            circle = path[path.index(name):]
            del path[path.index(name):]
            if len(circle) > 1:
                found.append(circle)

    for name in needs:
        if name not in order:
            visit(name)
    return found


def _way_round(first: str, circle: set[str], needs: dict[str, list[str]]) -> list[str]:
    """A shortest way from a module of a circle back to itself."""
    ways, seen = [[first]], {first}
    for way in ways:
        for needed in needs[way[-1]]:
            if needed == first:
                return [*way, first]
            if needed in circle - seen:
                seen.add(needed)
                ways.append([*way, needed])
    raise ValueError(f"{first} stands in no circle")
