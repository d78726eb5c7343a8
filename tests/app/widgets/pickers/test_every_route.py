"""A setting stated on the page, in JSON, in a file of a command, in Python or in a link is one specification."""

import json

import pytest
from streamlit.testing.v1 import AppTest

import whichfluence as wf
from app.widgets.choices import choice
from app.widgets.pickers.recipe_picker import NETWORK, TEXTS, _name
from engine.basics.errors import InvalidInput
from engine.basics.settings import declared
from engine.cli.spec_files import read_source, read_spec, read_training
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import PAPER_CNN, Recipe
from engine.problems import ProblemSource
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.scoring import codes
from engine.scoring.scoring import ESTIMATORS, Scoring

REQUIRED = {"eta": 0.1, "alpha": 0.01, "steps": 5, "label": 1}
QUESTIONS = [(behavior, done, trained) for done in INTERVENTIONS for trained in PROCESSES
             for behavior in ("query_loss", "query_logit")]
ESTIMATED = [(name, field) for name, one in ESTIMATORS.items() if one.settings and one.implies
             for field in declared(one.settings)]
ASKED = [(kind, field) for kinds in (INTERVENTIONS, PROCESSES) for kind, one in kinds.items()
         for field in declared(one) if field != "kind"]
TRAINED = [(family, field) for family, kind in ((NETWORK, Recipe), (TEXTS, FineTuning)) for field in declared(kind)
           if (family, field) != (NETWORK, "weight_decay")]


def others(setting):
    """Values that it may have, which are not its default."""
    begin = REQUIRED.get(setting.name, 0) if setting.default is None else setting.default
    if setting.kind is bool:
        return [not begin]
    if setting.kind is str:
        return [one for one in setting.options or ("0.25,0.5,1",) if one != begin]
    low, high = setting.low or 0, setting.high or 10**6
    return [value for value in map(setting.kind, (begin * 2, begin * 3, begin / 2, begin + 1, 0.5, low + 0.25, 2))
            if low < value <= high and value != begin]


def asked(estimator, intervention=(), process=()):
    """The first question that the estimator and these parameters can be asked, as plain data."""
    for behavior, done, trained in QUESTIONS:
        kinds = [{"kind": kind, **{field: REQUIRED[field] for field, one in declared(of[kind]).items()
                                      if field != "kind" and one.default is None}}
                 for kind, of in ((done, INTERVENTIONS), (trained, PROCESSES))]
        if dict(intervention).get("kind", done) == done and dict(process).get("kind", trained) == trained:
            data = {"behavior": behavior, "intervention": {**kinds[0], **dict(intervention)},
                    "process": {**kinds[1], **dict(process)}, "estimator": estimator}
            try:
                Scoring.parse(data)
            except InvalidInput:
                continue
            return data
    return None


def page():
    import streamlit as st

    from app.widgets.pickers import parameters, settings_picker
    from engine.problems import ModuleProblem
    from engine.question.interventions import INTERVENTIONS
    from engine.question.processes import PROCESSES

    kind = st.session_state["kind"]
    if kind in INTERVENTIONS or kind in PROCESSES:
        of = {**INTERVENTIONS, **PROCESSES}[kind]
        st.session_state["chosen"] = {"kind": kind, **parameters.show("x", of, None, ModuleProblem)}
    else:
        st.session_state["chosen"] = settings_picker.show("x", kind, kind)


def set_on_page(kind, field, value):
    """What the dialog makes of the kind once one of its inputs has another value."""
    at = AppTest.from_function(page, default_timeout=60)
    at.session_state["kind"] = kind
    at.run()
    element = next(one for group in (at.number_input, at.selectbox, at.toggle, at.text_input) for one in group
                   if one.key.split(":")[-1] == field)
    element.set_value(value).run()
    assert not at.exception
    return at.session_state["chosen"]


def same_by_every_route(data, of_page, by_python, tmp_path):
    expected = Scoring.parse(data).digest
    (tmp_path / "spec.json").write_text(json.dumps(data))
    written = read_spec(tmp_path / "spec.json")
    assert {written.digest, by_python.digest, codes.decode(codes.encode(written)).digest,
            Scoring.parse({**data, **of_page}).digest, Scoring.parse(written.canonical()).digest} == {expected}
    return written


@pytest.mark.parametrize(("name", "field"), ESTIMATED)
def test_a_setting_of_an_estimator(name, field, tmp_path):
    value, data = next((value, data) for value in others(declared(ESTIMATORS[name].settings)[field])
                       if (data := asked({"name": name, field: value})))
    question = wf.Specification(data["behavior"], data["intervention"], data["process"])
    of_page = {"estimator": set_on_page(name, field, value)}
    written = same_by_every_route(data, of_page, question.by(name, **{field: value}), tmp_path)
    assert written.digest != question.by(name).digest and f"{field}=" in codes.encode(written)


@pytest.mark.parametrize(("kind", "field"), ASKED)
def test_a_parameter_of_an_intervention_or_a_process(kind, field, tmp_path):
    axis, of = ("intervention", INTERVENTIONS) if kind in INTERVENTIONS else ("process", PROCESSES)
    value, data = next((value, data) for value in others(declared(of[kind])[field])
                       if (data := asked("exact", **{axis: {"kind": kind, field: value}})))
    stated = {name: of_kind[data[name]["kind"]](**data[name]) for name, of_kind in
              (("intervention", INTERVENTIONS), ("process", PROCESSES))}
    question = wf.Specification(data["behavior"], stated["intervention"], stated["process"])
    try:
        of_page = {axis: set_on_page(kind, field, value)}
    except StopIteration:  # read only where the process trains the model itself, not offered beside stored checkpoints
        of_page = {}
        assert field in PROCESSES[kind].of_descent
    same_by_every_route(data, of_page, question, tmp_path)


def recipe_page():
    import streamlit as st

    from app.widgets.pickers import recipe_picker

    family = st.session_state["family"]
    st.session_state["chosen"] = recipe_picker.chosen(family, st.session_state["base"])
    recipe_picker.show(family, st.session_state["base"], 40, pictures=True)


@pytest.mark.parametrize(("family", "field"), TRAINED)
def test_a_setting_of_a_training(family, field, tmp_path):
    base, model = (PAPER_CNN, "mlp") if family == NETWORK else (FineTuning(), "World-0.4M")
    value, recipe = next((value, recipe) for value in others(declared(type(base))[field])
                         if (recipe := parsed(base, field, value)) and recipe != base)
    source = ProblemSource(dataset="digits", model=model, recipe=recipe, l2=1e-4)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe.model_dump(mode="json")))
    (tmp_path / "problem.json").write_text(source.model_dump_json(exclude_defaults=True))
    at = AppTest.from_function(recipe_page, default_timeout=60)
    at.session_state["family"], at.session_state["base"] = family, base
    at.query_params[_name(family, field)] = str(int(value) if isinstance(value, bool) else value)
    at.run()
    of_link = at.session_state["chosen"]
    fresh = AppTest.from_function(recipe_page, default_timeout=60)
    fresh.session_state["family"], fresh.session_state["base"] = family, base
    fresh.run()
    element = next(one for group in (fresh.number_input, fresh.selectbox, fresh.toggle, fresh.text_input)
                   for one in group if one.key == choice.widget(_name(family, field)))
    element.set_value(value).run().run()
    assert not at.exception and not fresh.exception
    assert read_source(tmp_path / "problem.json").key == source.key
    of_file = read_training(tmp_path / "recipe.json", model)
    for other in (of_link, fresh.session_state["chosen"], of_file, wf_recipe(recipe)):
        assert other.canonical_json == recipe.canonical_json


def parsed(base, field, value):
    try:
        return type(base).parse({**base.model_dump(), field: value})
    except InvalidInput:
        return None


def wf_recipe(recipe):
    return type(recipe)(**recipe.model_dump(exclude_unset=True))
