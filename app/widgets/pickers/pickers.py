"""Where things are chosen: the problem (data, sizes, seed) once for all pages, and one scoring at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.widgets.choices import choice, inputs, selectors
from app.widgets.examples import selection
from app.widgets.frame.guard import guarded
from app.widgets.jobs.desk import desk
from app.widgets.pickers import (
    layers_picker,
    new_picker,
    parameters,
    recipe_picker,
    settings_picker,
    token_range_picker,
    upload,
    upload_reading,
    weights_picker,
    worded_picker,
)
from app.widgets.words import glossary, labels
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.basics.settings import parsed
from engine.desk import Problem, ProblemSource, datasets, fitting, language_queries
from engine.desk.datasets import Record
from engine.desk.models import ALL, SOFTMAX, TrainingRecipe, check_language_model, is_embedded
from engine.desk.models import problem_class as class_of
from engine.desk.refusals import refusal, unfit_processes
from engine.question import worded_behaviors
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.question.specification import Specification
from engine.question.specification import fitting as fitting_to
from engine.question.worded import TokenRange, Worded
from engine.scoring.scoring import ESTIMATORS, Scoring

MODEL, INTERCEPT = "model", "intercept"
SIZES = ("train", "queries", "candidates", "pool")
TRAINED = ("Softmax regression has one optimum and exact answers. A network is trained by stochastic gradient descent "
           "and is not at an optimum: its answers are exact for steps and retraining; re-optimised candidates that "
           "reach no optimum are left out.")
TUNED = "A pretrained model is fine-tuned on the texts."
TUNED_HERE = f"{TUNED} It was pretrained on a small generated world of questions only."
LANGUAGE = (f"{TUNED} Steps and retraining are exact. The models offered are on this machine.")
REOPTIMIZED = ("Removal and upweighting re-optimise the model for each candidate; with steps, every training example "
               "is scored.")
RETRAINED = "Removal and upweighting fine-tune the model again for each text; with steps, every text is scored."


def problem_picker() -> None:
    """The sidebar's data picker; what it chose is read with `source()` on every page."""
    with st.sidebar:
        name = dataset_picker((*SIZES, *selection.NAMES, new_picker.NAME))
        decided(name)
        model_picker(name)
        if (pool := fitting.pool(name, chosen_model(name))) > 1:
            glossary.caption(f"Pixels are averaged over {pool} × {pool} squares, so that results take seconds.")
        upload.show()
        with st.expander("Sizes and seed"):
            _sizes(name)


def dataset_picker(sizes: tuple[str, ...], texts: bool = True) -> str:
    """Which dataset, the user's own among them; choices named in `sizes` fall back to their defaults with another.

    texts: whether those for language models are offered too.
    """
    st.markdown("#### Data")
    names = [name for name in (*datasets.DATASETS, *_uploads()) if texts or not datasets.holds_records(name)]
    key = choice.bound("data", fitting.first_data(), choice.from_options(names))
    name = inputs.selectbox("Dataset", names, key=key, format_func=_heading, help=glossary.hint("Dataset", (
        "Images and numbers: softmax regression and networks. Texts: language models.") if texts else None))
    if upload.are_new():
        _forget(sizes)
    took("data", name, sizes)
    return name


def decided(name: str) -> None:
    """What the reader of a user's own data decided by itself, and what can be chosen."""
    if datasets.is_upload(name):
        for said in datasets.load(name).said:
            st.caption(sentence(said))
        upload_reading.show(name, upload.take)


def took(name: str, value: str, forgotten: tuple[str, ...]) -> None:
    """Keep a choice on which others depend; a new one forgets those."""
    if choice.texts(name) not in ([], [value]):
        _forget(forgotten)
    choice.keep(name, value)


def _forget(names: tuple[str, ...]) -> None:
    for name in names:
        choice.put(name, [])


def _heading(name: str) -> str:
    return f"Texts: {datasets.title(name)}" if datasets.holds_records(name) else datasets.title(name)


def model_picker(dataset: str) -> None:
    """Softmax regression or a network for pictures and numbers, a language model for texts."""
    models, name = fitting.offered(dataset), chosen_model(dataset)
    if choice.texts(MODEL) not in ([], [name]):
        took(MODEL, name, (*SIZES, weights_picker.NAME))
        st.session_state.pop(choice.widget(MODEL), None)
    key = choice.bound(MODEL, models[0], choice.from_options(models))
    texts = datasets.holds_records(dataset)
    name = inputs.selectbox("Model", models, key=key, format_func=labels.model_heading,
                            help=LANGUAGE if texts else TRAINED)
    took(MODEL, name, (*SIZES, weights_picker.NAME))
    if texts:
        glossary.caption(TUNED_HERE if is_embedded(name) else TUNED)
        with guarded("This model"):
            check_language_model(name)
    if name != SOFTMAX:
        look = None if texts else fitting.first_look(dataset, name)
        layers_picker.show(texts, source, look.parameters if look else ALL)
        if look:
            glossary.caption(f"{look.sentence} Change them here and under *Sizes and seed*.")
    if name != SOFTMAX and not texts:
        weights_picker.show(source)
    with st.expander("Training"), guarded("This training"):
        _training(dataset, name, texts)


def chosen_model(dataset: str) -> str:
    """The chosen model. One that other data were for gives way to the one that these data begin with."""
    return fitting.fitting(dataset, choice.one(MODEL, fitting.offered(dataset)[0], str))


def _training(dataset: str, model: str, texts: bool) -> None:
    """The inputs of how a model is trained; one that came with its weights is read as it is."""
    if not texts:
        recipe_picker.show_penalty(fitting.penalty(dataset, model))
    if model == SOFTMAX:
        selectors.toggle(INTERCEPT, "Intercept", help="One bias per class, which λ does not penalise.")
    base = None if model == SOFTMAX or weights_picker.chosen(dataset, model) else _recipe_of(dataset, model)
    if base is not None and base.epochs:
        recipe_picker.show(_family(texts), base, source().n_train or 0, fitting.pictures(dataset),
                           decay=0.0 if texts else _penalty(dataset, model))
    elif base is not None:
        glossary.caption(base.sentence)


def _penalty(dataset: str, model: str) -> float:
    return recipe_picker.penalty(fitting.penalty(dataset, model))


def _family(texts: bool) -> str:
    return recipe_picker.TEXTS if texts else recipe_picker.NETWORK


def _recipe_of(dataset: str, model: str) -> TrainingRecipe:
    """What the choices of a recipe begin with: what the program was started with, else the family's own."""
    own = fitting.declared_for(dataset, model)
    return own.recipe if own and own.recipe else fitting.recipe(dataset, model)


def _sizes(name: str) -> None:
    train, queries, candidates = fitting.sizes(name, chosen_model(name))
    limits = datasets.limits(name)
    number("train", "training examples", min(train, limits[0]), min(10, limits[0]), limits[0])
    number("queries", "queries", min(queries, limits[1]), 1, min(limits[1], 2_000))
    texts = datasets.holds_records(name)
    number("candidates", "texts retrained without" if texts else "candidates to re-optimise", candidates, 5, 5_000,
           RETRAINED if texts else REOPTIMIZED)
    number("seed", "seed", 0, 0, 1_000_000)
    number("nseeds", "seeds to average", 1, 1, 10,
            "Each seed samples another training set. With one seed, intervals are over queries.")


def number(name: str, label: str, default: Any, low: Any, high: Any, help: str | None = None) -> Any:
    return selectors.number(name, label.capitalize(), default, low, high, help=glossary.hint(label, help))


def _uploads() -> list[str]:
    uploads = st.session_state.setdefault("uploads", [])
    for text in (fitting.first_data(), *choice.texts("data")):
        if datasets.is_upload(text) and text not in uploads:
            try:
                datasets.load(text)
                uploads.append(text)
            except WhichfluenceError as error:
                choice.drop("data", str(error))
    return uploads


def source(seed_offset: int = 0) -> ProblemSource:
    """The chosen problem. `seed_offset` gives the further seeds of an average."""
    name = choice.one("data", fitting.first_data(), str)
    model, texts = chosen_model(name), datasets.holds_records(name)
    train, queries, _ = fitting.sizes(name, model)
    limits = datasets.limits(name)
    queries = choice.one("queries", min(queries, limits[1]), int)
    network, look = not texts and model != SOFTMAX, fitting.first_look(name, model)
    chosen = ProblemSource(dataset=name, n_train=choice.one("train", min(train, limits[0]), int), n_queries=queries,
                           n_test=queries if texts else min(limits[1], max(500, queries)), n_candidates=None,
                           pool=fitting.pool(name, model), seed=choice.one("seed", 0, int) + seed_offset, model=model,
                           selection=ALL if model == SOFTMAX else layers_picker.chosen(
                               texts, look.parameters if look else ALL),
                           weights=weights_picker.chosen(name, model) if network else "",
                           recipe=_recipe(name, model),
                           intercept=model == SOFTMAX and choice.one(INTERCEPT, False, choice.on_off))
    return chosen if texts else chosen.model_copy(update={"l2": _penalty(name, model)})


def _recipe(dataset: str, model: str) -> TrainingRecipe | None:
    """How a model is trained, or was; None for the program's own way."""
    own, family = fitting.declared_for(dataset, model), _family(datasets.holds_records(dataset))
    usual = own.recipe if own else None
    if not (model == SOFTMAX or weights_picker.chosen(dataset, model) or not recipe_picker.is_set(family)):
        base = _recipe_of(dataset, model)
        chosen = recipe_picker.chosen(family, base)
        usual = usual if chosen == base else chosen
    if usual is None or own is None or own.l2 is None:
        return usual
    return usual.model_copy(update={"weight_decay": _penalty(dataset, model)})


def problem_class() -> type[Problem]:
    """The class of the problem that is chosen."""
    return class_of(chosen_model(choice.one("data", fitting.first_data(), str)))


def optima_candidates() -> int:
    """How many candidates are re-optimised."""
    name = choice.one("data", fitting.first_data(), str)
    return choice.one("candidates", fitting.sizes(name, chosen_model(name))[2], int)


def seed_count() -> int:
    return choice.one("nseeds", 1, int)


def scoring_picker(name: str, default: Scoring) -> Scoring | None:
    """B, P, T and the estimator in four columns; only what fits is offered. `name` keys the widgets.

    Returns None, with the reason on the page, where the parameters are out of range.
    """
    columns, words, model = st.columns(4), st.container(), problem_class()
    with columns[0]:
        behavior = _behavior(name, default, words)
    with columns[1]:
        done = _select(name, "P", "P · intervention", sensible(INTERVENTIONS), default.intervention.kind, _words)
        intervention = {"kind": done, **parameters.show(name, INTERVENTIONS[done], default.intervention, model)}
    with columns[2]:
        unfit = unfit_processes(source())
        trained = _select(name, "T", "T · training process", sorted(sensible(fitting_to(done)), key=unfit.__contains__),
                          default.process.kind, lambda kind: _words(kind) + " (not for this model)" * (kind in unfit))
        process = {"kind": trained, **parameters.show(name, PROCESSES[trained], default.process, model)}
    if behavior is None:
        return None
    with guarded("This specification"):
        specification = Specification.of(behavior, intervention, process)
        with columns[3]:
            estimator = _select(name, "E", "answered by", routes(specification), parsed(default.estimator)[0],
                                lambda route: ESTIMATORS[route].title)
            chosen = settings_picker.show(name, estimator, default.estimator)
        scoring = Scoring.of(behavior, intervention, process, chosen)
        if not (reason := refusal(new_picker.applied(source()), scoring)):
            return scoring
        words.warning(sentence(reason), icon=":material/block:")
    return None


def routes(specification: Specification) -> list[str]:
    """The estimators that answer it on the chosen kind of model in sensible time, `exact` first."""
    recipe, model = source().training_recipe, problem_class()
    more = recipe.offers if recipe else frozenset()
    return [name for name, estimator in ESTIMATORS.items() if not estimator.refusal(specification, model.kind, more)
            and estimator.offered(model, specification.process.kind, more)]


def _behavior(name: str, default: Scoring, below: DeltaGenerator) -> str | None:
    """The behavior; one that carries words of the reader's is asked for them `below`, and None until it has them."""
    texts, before = problem_class().reads == "tokens", default.readout.words
    options = [*reading(problem_class().reads), *(WORDED if texts else ())]
    lacks = lacking()
    behavior = _select(name, "B", "B · behavior", sorted(options, key=lambda kind: kind in lacks),
                       before.kind if before else default.behavior,
                       lambda kind: (WORDED.get(kind) or BEHAVIORS[kind].title)
                       + (f" (needs {lacks[kind]})" if kind in lacks else ""))
    if behavior in lacks:
        below.warning(f"“{BEHAVIORS[behavior].title}” needs {lacks[behavior]} in every query; choose another behavior, "
                      "or mark it in your records.", icon=":material/block:")
        return None
    if behavior not in WORDED:
        return behavior
    with below.container(border=True):
        return SHOWN[behavior](f"{name}:{behavior}", queries(), before)


def _token_range(name: str, records: Sequence[Record], before: Worded | None) -> str | None:
    with guarded("These tokens"):
        return token_range_picker.show(name, records, before, source().model)
    return None


WORDED = {**worded_behaviors.TITLES, TokenRange.kind: "range of tokens of one query"}
"""Kind of a behavior of the reader's own -> its title."""
SHOWN = {**worded_picker.SHOWN, TokenRange.kind: _token_range}
"""The same -> what is picked for it."""


def queries() -> list[Record]:
    """The queries, which are texts."""
    dataset, sample = desk().sample(source())
    return language_queries.queries(dataset, sample)


def lacking() -> dict[str, str]:
    """behavior -> what a query lacks for it; nothing where queries are no texts."""
    if problem_class().reads != "tokens":
        return {}
    return desk().memory.cached(("lacking", source().key), lambda: language_queries.lacking(queries()))


def sensible(names: Iterable[str]) -> list[str]:
    """Those that have an answer for the chosen kind of model in sensible time."""
    return [name for name in names if name not in problem_class().unoffered]


def _words(kind: str) -> str:
    return {"reoptimize": "re-optimise", "one_step": "one step", "unrolled": "several steps"}.get(
        kind, kind.replace("_", " "))


def _select(name: str, axis: str, label: str, options: list, value: Any, title: Callable[[Any], str]) -> Any:
    key = f"{name}:{axis}"
    before = st.session_state.get(key)
    if before not in options:
        st.session_state[key] = value if value in options else options[0]
    chosen = inputs.selectbox(label, options, key=key, format_func=title, help=glossary.hint(label))
    if before not in (None, chosen):
        glossary.caption(f"{title(before)} is incompatible with the other choices.")
    return chosen
