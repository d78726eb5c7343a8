"""The JSON schemas of `list --json`: they say all that decides a number, and refuse what the parsers refuse."""

import jsonschema
import pytest

from engine.basics.errors import InvalidInput
from engine.basics.settings import Settings
from engine.cli.catalogue import schemas
from engine.estimators import ESTIMATORS
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES

REQUIRED = {"eta": 0.1, "alpha": 0.1, "steps": 5, "label": 1, "epochs": 2, "learning_rate": 0.1, "batch_size": 4,
            "checkpoints": 1}
PARSERS = {"interventions": INTERVENTIONS, "processes": PROCESSES,
           "estimators": {name: one.settings or Settings for name, one in ESTIMATORS.items()},
           "recipes": {"network": Recipe, "language model": FineTuning}}
CASES = [(group, name) for group, parsers in PARSERS.items() for name in parsers]
BEYOND = {"minimum": -1, "exclusiveMinimum": 0, "maximum": 1, "exclusiveMaximum": 0}


def case(group, name):
    schema = schemas()[group][name]
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema, PARSERS[group][name], {key: REQUIRED[key] for key in schema.get("required", ())}


def refused(parser, data):
    with pytest.raises(InvalidInput) as error:
        parser.parse(data)
    return len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(("group", "name"), CASES)
def test_every_setting_has_default_source_range_help_and_cost(group, name):
    schema, _, _ = case(group, name)
    for key, field in schema["properties"].items():
        if key == "kind":
            continue
        assert field["description"] and field["source"] and field["cost"], key
        assert ("default" in field) != (key in schema.get("required", ())), key
        bounds = BEYOND.keys() & field.keys()
        assert field["type"] in ("boolean", "string") or any("inimum" in bound for bound in bounds), key


@pytest.mark.parametrize(("group", "name"), CASES)
def test_a_schema_accepts_and_refuses_what_its_parser_does(group, name):
    schema, parser, least = case(group, name)
    valid = jsonschema.Draft202012Validator(schema).is_valid
    whole = parser.parse(least).model_dump(mode="json")
    assert valid(least) and valid(whole) and parser.parse(whole) == parser.parse(least)
    wrong = [{**whole, "of_no_field": 1}]
    for key, field in schema["properties"].items():
        wrong += [{**whole, key: field[bound] + by} for bound, by in BEYOND.items() if bound in field]
        wrong += [{**whole, key: value} for value in ([], None, *(("other",) if "enum" in field else ()))]
    for data in wrong:
        assert not valid(data) and refused(parser, data), data
