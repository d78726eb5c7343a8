"""What two functions of one name differ in beyond their own code: the globals that it names, at any depth."""

import subprocess
import sys
import types
from types import SimpleNamespace

import pytest
import torch

from engine.basics.fingerprint import fingerprint

SOURCE = """
import torch
SCALE = 1.0
TABLE = torch.zeros(5_000)
UNUSED = 1
class Power:
    exponent = 1
    def __call__(self, f):
        return f ** self.exponent
POWER = Power()
def weigh(f):
    return SCALE * f
def behavior(logits, labels):
    inner = [weigh(row) for row in logits]
    return POWER(torch.stack(inner)[..., 0]) + (lambda: OPTIONS.shift)() + TABLE[0]
"""


def registered(**changes):
    """The behavior of a user's module in which some names stand for something else."""
    scope = {"__name__": "mine", "OPTIONS": SimpleNamespace(shift=0.0)}
    exec(SOURCE, scope)
    scope.update(changes)
    return scope["behavior"]


class Square:
    exponent = 2

    def __call__(self, f):
        return f ** self.exponent


@pytest.mark.parametrize("change", [
    {"SCALE": 2.0}, {"TABLE": torch.zeros(5_000).index_fill(0, torch.tensor([2500]), 1.0)}, {"POWER": Square()},
    {"weigh": lambda f: f}, {"OPTIONS": SimpleNamespace(shift=1.0)}], ids=lambda change: next(iter(change)))
def test_a_global_that_the_code_names_counts(change):
    assert fingerprint(registered(**change)) != fingerprint(registered())


def test_what_the_code_does_not_name_does_not_count():
    assert fingerprint(registered(UNUSED=2)) == fingerprint(registered())


@pytest.mark.parametrize(("change", "same"), [({"SCALE": 2.0}, False), ({"UNUSED": 2.0}, True)])
def test_of_a_users_own_module_the_attributes_count_that_are_named(change, same):
    def of(**values):
        settings = types.ModuleType("my_settings")
        vars(settings).update({"SCALE": 1.0, "UNUSED": 1.0, **values})
        scope = {"settings": settings, "__name__": "mine"}
        exec("def behavior(logits, labels):\n    return settings.SCALE * logits[..., 0]\n", scope)
        return fingerprint(scope["behavior"])

    assert (of(**change) == of()) == same


@pytest.mark.parametrize("line", [
    "from my_parts import Power; return Power()(logits)", "import my_parts; return my_parts.Power()(logits)",
    "import my_parts as parts; return parts.Power()(logits)"])
def test_what_a_function_imports_inside_counts(monkeypatch, line):
    scope = {"__name__": "mine", "__package__": ""}
    exec(f"def behavior(logits, labels):\n    {line}\n", scope)
    digests = set()
    for exponent in (1, 1, 2):
        parts = types.ModuleType("my_parts")
        exec(f"class Power:\n    def __call__(self, f):\n        return f ** {exponent}\n", vars(parts))
        monkeypatch.setitem(sys.modules, "my_parts", parts)
        digests.add(fingerprint(scope["behavior"]))
    assert len(digests) == 2


def test_two_processes_agree():
    program = f"""
from types import SimpleNamespace
from engine.basics.fingerprint import fingerprint
scope = {{"__name__": "mine", "OPTIONS": SimpleNamespace(shift=0.0)}}
exec({SOURCE!r}, scope)
print(fingerprint(scope["behavior"]))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert told == fingerprint(registered())
