"""The house keeps its rules; what it may break is listed in tests/house/allowed.py."""

import pytest

from tests.house import allowed, rules, source

RULES = [rule.__name__ for rule in rules.RULES]


@pytest.fixture(scope="module")
def faults():
    """Faults of the house by rule."""
    house = source.read()
    assert len(house) > 300
    return {rule.__name__: list(rule(house)) for rule in rules.RULES}


def let(rule: str) -> set[str]:
    return set(allowed.FOREIGN.get(rule, {})) | allowed.PRESENT.get(rule, set())


@pytest.mark.parametrize("rule", RULES)
def test_the_house_keeps(rule, faults):
    found = "\n".join(f"  {fault}" for fault in faults[rule] if fault.key not in let(rule))
    assert not found, f"{getattr(rules, rule).__doc__}\nBroken here:\n{found}"


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_let_stand_that_keeps_the_rule(rule, faults):
    mended = sorted(let(rule) - {fault.key for fault in faults[rule]})
    assert not mended, f"these keep {rule} now; take them out of tests/house/allowed.py: {', '.join(mended)}"


def test_exceptions_name_rules_and_stand_once():
    assert set(allowed.FOREIGN) | set(allowed.PRESENT) <= set(RULES)
    for rule, files in allowed.FOREIGN.items():
        assert all(files.values()) and not files.keys() & allowed.PRESENT.get(rule, set())
