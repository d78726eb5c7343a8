"""An architecture of the user's own: where it is looked for, what is refused, and what its digests cover."""

import json
import os
import sys

import pytest
import torch

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.models import own_architecture
from engine.models.catalogue import MODELS, OWNED, build_model
from engine.models.network import Network
from engine.models.own_architecture import VARIABLE, Declaration, declared, importable, register

SOURCE = """
import torch
from torch import nn

WIDTH = {width}


def make(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], WIDTH), nn.Linear(WIDTH, classes))


def bare():
    return nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(12, 3))


def wrong():
    return [1, 2]


def swapped(classes, shape):
    return nn.Linear(shape[0], classes).double()


def features(num_classes):
    return nn.Linear(3, num_classes)


class Kinds:
    @staticmethod
    def make(shape, classes):
        return nn.Linear(shape[0], classes)


class Named(nn.Linear):
    def __init__(self, shape, classes):
        super().__init__(shape[0], classes)

    def forward(self, x):
        return {{"logits": super().forward(x), "hidden": x}}


class Pair(Named):
    def forward(self, x):
        return x, x


def scripted():
    return torch.jit.trace(nn.Linear(3, 3), torch.zeros(2, 3))


def ends():
    raise SystemExit(2)


MODULE = nn.Linear(3, 3)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `stranger.py`; what it registers is forgotten afterwards."""
    before, paths = set(MODELS), list(sys.path)
    for name in (VARIABLE, plugins.VARIABLE, "PYTHONPATH"):
        monkeypatch.setenv(name, "")
    (tmp_path / "stranger.py").write_text(SOURCE.format(width=5))
    yield tmp_path
    sys.path[:] = paths
    sys.modules.pop("stranger", None)
    for name in set(MODELS) - before:
        MODELS.remove(name)
        OWNED.pop(name, None)


def declare(folder, function="make", **fields):
    own = Declaration(name=fields.pop("name", "stranger"), function=importable(f"{folder}/stranger.py:{function}"),
                      **fields)
    own.export()
    register(own)
    return own


def test_a_function_in_a_file_becomes_a_model(folder):
    own = declare(folder)
    assert own.function == "stranger:make" and declared() == own
    module = build_model("stranger", (1, 2, 2), 3)
    assert module(torch.zeros(7, 1, 2, 2)).shape == (7, 3)


@pytest.mark.slow
def test_processes_that_are_started_know_it(folder):
    import subprocess

    declare(folder)
    code = ("from engine.basics import plugins; plugins.load(); from engine.models.catalogue import build_model; "
            "print(build_model('stranger', (1, 2, 2), 3)[1].out_features)")
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), capture_output=True, text=True)
    assert done.stdout.strip() == "5", done.stderr


def test_the_line_for_a_shell_declares_it(folder):
    import subprocess

    line = declare(folder, data="upload-0", shape=(1, 2, 2)).shell
    code = "from engine.models.own_architecture import declared; print(declared().model_dump_json())"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(["sh", "-c", f"{line}; PYTHONPATH=$PYTHONPATH:{path} {sys.executable} -c \"{code}\""],
                          capture_output=True, text=True, cwd=folder)
    assert json.loads(done.stdout)["shape"] == [1, 2, 2] and json.loads(done.stdout)["data"] == "", done.stderr


def test_whole_numbers_reach_an_embedding(folder):
    declare(folder, "bare", whole=True, shape=(3,))
    assert build_model("stranger", (3,), 3)(torch.tensor([[1.0, 19.0, 0.0]])).shape == (1, 3)


def test_another_code_has_another_digest(folder):
    declare(folder)
    (folder / "stranger2.py").write_text(SOURCE.format(width=6))
    other = Declaration(name="stranger2", function=importable(f"{folder}/stranger2.py:make"))
    other.export()
    register(other)
    again = Declaration(name="again", function="stranger:make")
    register(again)
    assert OWNED["stranger"].code != OWNED["stranger2"].code
    assert OWNED["stranger"].code == OWNED["again"].code
    sys.modules.pop("stranger2", None)


@pytest.mark.parametrize(("function", "shape", "classes", "words"), [
    ("make", (2, 2), 3, "cannot be built for inputs of shape (2, 2)"),
    ("bare", (3,), 3, "does not take inputs of shape (3,)"),
    ("wrong", (3,), 3, "let stranger:wrong return a torch module"),
    ("Pair", (3,), 3, "returns a tuple; let it return the class logits alone, or under the name `logits`"),
    ("ends", (3,), 3, "SystemExit: 2"),
])
def test_what_does_not_fit_is_refused_by_its_own_limits(folder, function, shape, classes, words):
    declare(folder, function)
    with pytest.raises(InvalidInput, match=".") as refused:
        build_model("stranger", shape, classes)
    assert words in str(refused.value)


@pytest.mark.parametrize(("function", "words"), [
    ("MODULE", "is a module with weights"), ("WIDTH", "`stranger:WIDTH` is a int"), ("Kinds.other", "Kinds"),
    ("features", "takes (num_classes); let it take the shape of one input")])
def test_what_is_no_function_of_shape_and_classes_is_refused(folder, function, words):
    with pytest.raises(InvalidInput) as refused:
        declare(folder, function)
    assert words in str(refused.value)


@pytest.mark.parametrize("function", ["swapped", "Kinds.make", "Named"])
def test_factories_classes_and_outputs_that_people_have(folder, function):
    """Arguments by name, double precision, a function in a class, logits in a dictionary: float32 logits all."""
    declare(folder, function)
    module, x = build_model("stranger", (3,), 4), torch.rand(2, 3)
    assert torch.equal(module(x), torch.nn.functional.linear(x, module.weight, module.bias))
    assert module(x).dtype == torch.float32


@pytest.mark.filterwarnings("ignore")
def test_torchscript_is_refused_in_a_sentence(folder):
    declare(folder, "scripted")
    with pytest.raises(InvalidInput, match="give the module that it was made from"):
        Network(build_model("stranger", (3,), 3))


@pytest.mark.parametrize("package", [True, False])
def test_a_file_with_relative_imports_is_a_part_of_its_package(folder, package):
    inner = folder / "strange_package" / "nets"
    inner.mkdir(parents=True)
    for place in (inner, inner.parent) if package else ():
        (place / "__init__.py").touch()
    (inner / "parts.py").write_text("from torch import nn\n\nBlock = nn.Linear\n")
    (inner / "net.py").write_text("from .parts import Block\n\n\ndef make():\n    return Block(3, 2)\n")
    own = Declaration(name="inner", function=importable(f"{inner}/net.py:make"))
    assert own.function == ("strange_package." if package else "") + "nets.net:make"
    own.export()
    register(own)
    assert build_model("inner", (3,), 2).weight.shape == (2, 3)
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(folder if package else inner.parent)
    for name in [name for name in sys.modules if name.split(".")[0] in ("nets", "strange_package")]:
        del sys.modules[name]


def test_a_module_of_the_working_folder_is_found_by_processes_that_start_elsewhere(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", "beside")
    assert importable("stranger:make") == "stranger:make"
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(folder), str(folder / "beside")]


def test_another_number_of_classes_is_refused(folder):
    declare(folder, "bare", whole=True)
    with pytest.raises(InvalidInput, match=r"returns shape \(2, 3\) for two inputs; it must be \(2, 4\)"):
        build_model("stranger", (3,), 4)


@pytest.mark.parametrize(("text", "words"), [
    ("{folder}/nowhere.py:make", "There is no file"), ("{folder}/my-module.py:make", "Python module"),
    ("{folder}/json.py:make", "the name of another module")])
def test_a_file_that_cannot_be_imported_is_refused(folder, text, words):
    for name in ("my-module", "json"):
        (folder / f"{name}.py").write_text("")
    with pytest.raises(InvalidInput, match=words):
        importable(text.format(folder=folder))


def test_a_function_that_is_not_there_and_a_name_that_is_taken_are_refused(folder):
    with pytest.raises(InvalidInput, match="cannot be imported"):
        declare(folder, "nothing")
    with pytest.raises(InvalidInput, match="already"):
        declare(folder, name="resnet18")
    assert own_architecture.declared().name == "resnet18"


def test_a_damaged_declaration_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "{")
    with pytest.raises(InvalidInput, match="not JSON"):
        declared()
