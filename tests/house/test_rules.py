"""Every rule catches what breaks it, in made text, and lets pass what does not."""

import pytest

from tests.house import rules
from tests.house.source import Import, Source, read

LONG = "def long():\n" + "    pass\n" * rules.FUNCTION_LINES


def house(**modules: str) -> list[Source]:
    """Sources by dotted name with `__` for the dot; a name that ends in `__` is a package."""
    return [Source(name.rstrip("_").replace("__", "."), text, name.endswith("__")) for name, text in modules.items()]


BROKEN = [  # rule, modules, what the fault says
    ("room_order", {"engine__data__a": "from engine.cli.b import c"}, "data imports cli"),
    ("room_order", {"engine__data__a": "def f():\n    import engine.models.b"}, "data imports models"),
    ("room_order", {"engine__basics__a": "from engine import store"}, "basics imports store"),
    ("room_order", {"engine__basics__a": "from ..store import b"}, "basics imports store"),
    ("room_order", {"engine__basics__a": "import importlib\nimportlib.import_module('engine.cli')"}, "imports cli"),
    ("room_order", {"engine__cellar__a": ""}, "cellar is no room"),
    ("forbidden_imports", {"engine__data__a": "import streamlit as st"}, "never imports streamlit"),
    ("forbidden_imports", {"engine__data__a": "from app.charts import heatmap"}, "never imports app"),
    ("forbidden_imports", {"app__home__a": "from pages import home"}, "never imports pages"),
    ("forbidden_imports", {"pages__a": "def f():\n    from torch.nn import Linear"}, "never imports torch"),
    ("front_rooms", {"app__home__a": "from engine.analysis.comparison import compare"}, "app imports analysis"),
    ("front_rooms", {"pages__a": "from engine import data"}, "pages imports data"),
    ("front_rooms", {"app__main": "def f():\n    import engine.store.results"}, "app imports store"),
    ("page_rooms", {"app__home__a": "from app.compare import data"}, "home imports compare"),
    ("page_rooms", {"app__home__a": "def f():\n    import app.compare.data"}, "home imports compare"),
    ("page_rooms", {"app__home__a": "from app import compare"}, "home imports compare"),
    ("widget_order", {"app__widgets__words__a": "from app.widgets.jobs import b"}, "words imports jobs"),
    ("widget_order", {"app__widgets__words__a": "def f():\n    import app.widgets.jobs.b"}, "words imports jobs"),
    ("widget_order", {"app__widgets__a": ""}, "a is no room of app/widgets"),
    ("circles", {"engine__data__a": "from engine.data import b", "engine__data__b": "import engine.data.a"},
     "engine.data.a -> engine.data.b -> engine.data.a"),
    ("circles", {"engine__data__a": "def f():\n    from engine.data.b import x",
                 "engine__data__b": "from engine.data.c import y", "engine__data__c": "from .a import z"},
     "engine.data.a -> engine.data.b -> engine.data.c -> engine.data.a"),
    ("circles", {"engine__data__": "from engine.data.a import x", "engine__data__a": "from engine.data import x"},
     "engine.data -> engine.data.a -> engine.data"),
    ("private_names", {"engine__data__a": "from engine.models.b import _c"}, "imports the private name _c"),
    ("private_names", {"engine__data__a": "from engine.models._b import c"}, "imports the private name _b"),
    ("private_names", {"engine__data__a": "from engine.models import b\nb._c()"}, "reads the private name b._c"),
    ("private_names", {"app__home__a": "def f(problem):\n    return problem._kept"}, "problem._kept"),
    ("copies_without_init", {"engine__data__a": "other = object.__new__(type(one))"}, "object.__new__"),
    ("copies_without_init", {"engine__data__a": "other.__dict__.update(one)"}, "__dict__.update"),
    ("hidden_misspellings", {"app__home__a": "getattr(process, 'steps', 1)"}, "getattr(process, 'steps', 1)"),
    ("dispatch_on_kinds", {"engine__exact__a": "WAYS = {'softmax': f, 'module': g}"}, "module, softmax"),
    ("dispatch_on_kinds", {"engine__exact__a": "routes = dict(a={'module': f, 'other': g})"}, "module"),
    ("dispatch_on_kinds", {"app__home__a": "if problem.kind == 'module':\n    pass"}, "module"),
    ("dispatch_on_kinds", {"app__home__a": "ok = problem.kind in ('softmax', 'other')"}, "softmax"),
    ("dispatch_on_kinds", {"app__home__a": "match kind:\n    case 'softmax':\n        pass"}, "softmax"),
    ("dispatch_on_types", {"engine__exact__a": "@way.register\ndef _a(problem: ModuleProblem, x: int): ..."},
     "ModuleProblem"),
    ("dispatch_on_types", {"engine__exact__a": "way.register(SoftmaxProblem, f)"}, "SoftmaxProblem"),
    ("dispatch_on_types", {"app__home__a": "ok = isinstance(held, (int, problems.CausalProblem))"}, "CausalProblem"),
    ("long_files", {"engine__data__a": "x = 1\n" * (rules.FILE_LINES + 1)}, "401 lines"),
    ("long_functions", {"engine__data__a": LONG}, "long has 41 lines"),
    ("loose_modules", {"engine__loaders": ""}, "stands loose in engine"),
    ("loose_modules", {"app__workbench": ""}, "stands loose in app"),
]

KEPT = [
    ("room_order", {"engine__cli__a": "from engine.data.b import c\nfrom engine.cli.d import e"}),
    ("room_order", {"engine__worker": "from engine.jobs import queue", "engine__jobs__a": "import numpy"}),
    ("forbidden_imports", {"engine__data__a": "import numpy", "app__main": "import streamlit"}),
    ("front_rooms", {"app__home__a": "from engine.desk.datasets import title\nfrom engine.basics import plugins",
                     "pages__a": "from engine.desk import Waiting", "engine__cli__a": "from engine.data import b",
                     "whichfluence__a": "from engine.analysis import b"}),
    ("page_rooms", {"app__home__a": "from app.home import b\nfrom app.widgets import c\nfrom engine.desk import d",
                    "app__main": "from app.widgets import shell", "pages__home": "from app.compare import data"}),
    ("widget_order", {"app__widgets__": "", "app__widgets__jobs__": "", "app__home__a": "import app.widgets.jobs",
                      "app__widgets__jobs__a": "from app.widgets.jobs import b\nfrom app.widgets.words.c import d"}),
    ("circles", {"engine__data__": "", "engine__data__a": "from engine.data import b", "engine__data__b": ""}),
    ("private_names", {"engine__data__a": "_kept = 1\nclass A(B):\n    def f(self):\n        return self._inherited"}),
    ("private_names", {"engine__data__a": "class A:\n    def f(self, other):\n        self._x = other._x"}),
    ("private_names", {"engine__data__a": "name = thing.__name__, row._replace(a=1)"}),
    ("copies_without_init", {"engine__data__a": "class A(str):\n    def __new__(cls):\n"
                                                "        return super().__new__(cls)"}),
    ("hidden_misspellings", {"app__home__a": "getattr(one, name, None)\ngetattr(one, 'name')"}),
    ("dispatch_on_kinds", {"engine__exact__a": "kind = 'softmax'\nWAYS = {'remove': f}"}),
    ("dispatch_on_kinds", {"app__home__a": "TITLES = {'softmax': 'softmax regression', 'mlp': 'two-layer network'}"}),
    ("dispatch_on_types", {"engine__exact__a": "@way.register\ndef _a(words: Span): ...\n"
                                               "assert isinstance(held, ModuleProblem)\nisinstance(one, Problem)"}),
    ("long_files", {"engine__data__a": "x = 1\n" * rules.FILE_LINES}),
    ("long_functions", {"engine__data__a": LONG.removesuffix("    pass\n")}),
    ("loose_modules", {"engine__worker": "", "engine__data__": "", "app__main": "", "pages__home": ""}),
]


def faults(rule: str, modules: dict[str, str]) -> list[str]:
    return [str(fault) for fault in getattr(rules, rule)(house(**modules))]


@pytest.mark.parametrize(("rule", "modules", "said"), BROKEN)
def test_a_violation_is_caught(rule, modules, said):
    found = faults(rule, modules)
    assert len(found) == 1 and said in found[0]


@pytest.mark.parametrize(("rule", "modules"), KEPT)
def test_what_keeps_a_rule_passes(rule, modules):
    assert faults(rule, modules) == []


def test_every_rule_is_tried_both_ways():
    names = {rule.__name__ for rule in rules.RULES}
    assert {rule for rule, *_ in BROKEN} == {rule for rule, *_ in KEPT} == names


def test_a_fault_says_where():
    fault, = rules.long_functions(house(engine__data__a="\n" + LONG))
    assert fault.key == "engine/data/a.py::long"
    assert str(fault) == "engine/data/a.py:2: long has 41 lines; a function has at most 40"


def test_modules_of_a_folder(tmp_path):
    for name in ("engine/__init__.py", "engine/data/__init__.py", "engine/data/a.py", "other/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import numpy as np\n")
    found = read(tmp_path)
    assert [(one.name, one.path) for one in found] == [
        ("engine", "engine/__init__.py"), ("engine.data", "engine/data/__init__.py"),
        ("engine.data.a", "engine/data/a.py")]
    assert found[0].imports == (Import("numpy", (), 1),)
