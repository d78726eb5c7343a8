"""What the Language models page shows, chosen and kept in the address: the view, the question, a run, a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from app.charts import heatmap
from app.language import method_settings, own_reading
from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import number, pick, segments, text, toggle
from app.widgets.frame.guard import guarded
from app.widgets.pickers import recipe_picker, token_range_picker
from app.widgets.pickers.language_model import model_name
from app.widgets.pickers.new_picker import MARKS
from app.widgets.words import glossary
from app.widgets.words.measures import definition
from engine.desk import language, models
from engine.desk.datasets import Record
from engine.desk.language import (
    METHODS,
    READOUTS,
    REPSIM,
    SIZES,
    TASKS,
    Example,
    Mark,
    RecordMethod,
    Study,
    example,
    typed,
)
from engine.question.behaviors import BEHAVIORS
from engine.question.worded import ranged

VIEWS = {"detection": "Detection", "records": "Records", "ablation": "Query ablation",
         "removal": "Removal"}
LAYER_TITLES = {0.25: "Layer at 1/4 of the depth", 0.5: "Middle layer", 0.75: "Layer at 3/4 of the depth",
                1.0: "Last layer"}
FILTERS = {"all": "All records", "found": "In the top 10% of one behavior, but not of another"}
ABOUT = {"task": "the task's held-out queries", "mine": "my own prompt"}
OWN_RECORDS = """One JSON object per line, or a list of them: `prompt` and `response` (or `completion`), `messages` or
`conversations` (their last answer), or `instruction`, `input` and `output`. Optional: `spans`
(`{"answer": [start, end], "explanation": [start, end]}`, characters of the response), or the keys `answer` (one letter)
and `rationale`, whose text in the response becomes its span; `choices` (letters) and `flags`. The last eight records
are held out as queries, unless you explain your own prompt."""
AVERAGE, RANGE = "average", "range"
CELL_STATE, ROW_STATE, FIRST = "language:clicked", "language:row", "language:first"


def view() -> str:
    """Which part of the page is shown."""
    usual = "records" if language.begun() else "detection"
    return segments("show", "Show", list(VIEWS), usual, VIEWS.get, label_visibility="collapsed")


def task(names: Sequence[str], area: Any = st) -> str:
    """Which task."""
    notes = "\n".join(f"- **{TASKS[name].title}**: {TASKS[name].note}" for name in names)
    usual = "own" if "own" in names and language.begun() else names[0]
    return segments("task", "Task", list(names), usual, lambda name: TASKS[name].title, area=area, help=notes)


def scale(titles: Mapping[str, str], area: Any = st) -> str:
    """Which of several results of a study, by name."""
    return pick("scale", "Result", list(titles), next(iter(titles)), titles.get, area=area, width=300)


def own_records() -> None:
    """Show the records view with a file of the reader's own."""
    choice.put("show", "records")
    choice.put("task", "own")


def measure(names: Sequence[str], area: Any = st) -> str:
    """Which measure of detection."""
    definitions = "\n".join(f"- **{name}**: {definition(name)}" for name in names)
    return segments("measure", "Measure", list(names), "AUPRC", str, area=area, help=definitions)


def layer() -> float:
    """Where RepSim reads, as a fraction of the model's depth."""
    return choice.one("layer", 1.0, choice.from_options(list(LAYER_TITLES)))


def chosen_question() -> tuple[RecordMethod, str]:
    """(estimator, behavior) as the address has them, for what stands above their widgets."""
    estimator = choice.one("estimator", "gradsim", choice.from_options(list(METHODS)))
    return METHODS[estimator], _chosen_behavior()


def _chosen_behavior(ranges: Sequence[str] = ()) -> str:
    return choice.one("behavior", "answer_logit", choice.from_options([*READOUTS, *ranges]))


def question(lacking: Mapping[str, str], ranges: Sequence[str] = ()) -> tuple[str, str]:
    """Estimator and behavior by their widgets; for RepSim its layer in the behavior's place.

    lacking: behavior -> what the queries lack for it, which stands beside it. ranges: of tokens, which are read too.
    """
    offered = sorted([*READOUTS, *ranges], key=lambda name: name in lacking)
    left, right = st.columns(2)
    with left:
        estimator = pick("estimator", "Estimator", list(METHODS), "gradsim",
                         lambda name: METHODS[name].label, help=glossary.hint("Estimator"))
    with right:
        if METHODS[estimator].reads:
            usual = offered[0] if "answer_logit" in lacking else "answer_logit"
            return estimator, pick("behavior", "Behavior", offered, usual, lambda name: _title(name) + (
                f" (needs {lacking[name]})" if name in lacking else ""), help=glossary.hint("Behavior"))
        behavior = _chosen_behavior(ranges)
        if estimator == REPSIM.name:
            pick("layer", "Layer that it reads", list(LAYER_TITLES), 1.0, LAYER_TITLES.get, kind=float)
    return estimator, behavior


def _title(behavior: str) -> str:
    return (READOUTS if behavior in READOUTS else BEHAVIORS)[behavior].title


def settle() -> None:
    """Take over what was just chosen below, so that what stands above it follows in the same run."""
    for name in ("estimator", "behavior", "layer"):
        choice.texts(name)  # a link that was opened comes first
        if (chosen := st.session_state.get(choice.widget(name))) is not None:
            choice.keep(name, chosen)


def take_click(kinds: Sequence[str]) -> None:
    """Choose the estimator and behavior of the heatmap cell that was clicked since the last run."""
    labels = {estimator.label: name for name, estimator in METHODS.items()}
    labels |= {language.at_layer(REPSIM.label, depth): REPSIM.name for depth in LAYER_TITLES}
    titles = {behavior.title: name for name, behavior in READOUTS.items()}
    for kind in kinds:
        state = st.session_state.get(f"language:heatmap:{kind}") or {}
        points = state.get("selection", {}).get(heatmap.SELECTION) or []
        clicked = (kind, points[-1].get("row"), points[-1].get("column")) if points else None
        if clicked is None or clicked == st.session_state.get(f"{CELL_STATE}:{kind}"):
            continue
        st.session_state[f"{CELL_STATE}:{kind}"] = clicked
        for name, value in (("estimator", labels.get(clicked[1])), ("behavior", titles.get(clicked[2]))):
            if value is not None:
                choice.put(name, value)


def study() -> Study | None:
    """Task, model, size and query of a run; None, with a sentence, while something is missing."""
    chosen = task(list(TASKS))
    left, middle, right = st.columns([3, 2, 1])
    with left:
        model = _model()
    with middle:
        records = SIZES[0] if chosen == "own" else pick("records", "Training records", list(SIZES), SIZES[0],
                                                        "{:,}".format, kind=int)
    with right:
        seed = number("seed", "Seed", 0, 0, 999)
    with guarded("This run"):
        language.check_model(model)
        file = _own_file() if chosen == "own" else ""
        return None if file is None else _asked(Study(chosen, model, records, seed, file, **own_reading.chosen(file)))
    return None


def _asked(study: Study) -> Study:
    """The study with what is asked about, and how."""
    query = _typed(study)
    modules, tokens = _scored()
    wanted = replace(study, typed=query, modules=modules, tokens=tokens)
    return method_settings.show(_trained(replace(wanted, ranges=_ranges(wanted))))


def _ranges(study: Study) -> tuple[str, ...]:
    """A range of tokens of one query, which is read beside the other behaviors; none where none is wanted."""
    with st.expander("Explain a range of tokens of one query", icon=":material/format_ink_highlighter:",
                     expanded=choice.one("ranged", False, choice.on_off)), guarded("This range"):
        if not toggle("ranged", "Add a range of tokens"):
            return ()
        before = choice.one(RANGE, "", lambda text: ranged(text).spelling)
        spelling = token_range_picker.show("language:range", study.queries, ranged(before) if before else None,
                                           study.model)
        choice.keep(RANGE, spelling)
        if choice.texts("behavior") == [before] != [spelling]:
            choice.put("behavior", spelling)
        return (spelling,)
    return ()


def _trained(study: Study) -> Study:
    """The study with the chosen recipe."""
    usual = study.usual_recipe
    with st.expander("Training", icon=":material/tune:"):
        recipe_picker.show(recipe_picker.TEXTS, usual, study.trained_on, columns=4)
    chosen = recipe_picker.chosen(recipe_picker.TEXTS, usual)
    return study if chosen == usual else replace(study, recipe=chosen)


def _scored() -> tuple[tuple[str, ...], Mark]:
    """(names of the layers, mark of the tokens) through which records are scored; no name means all layers."""
    narrowed = bool(choice.one("modules", "", str)) or choice.one("tokens", "response", str) != "response"
    with st.expander("Score some layers or some tokens only", icon=":material/filter_alt:", expanded=narrowed):
        left, right = st.columns(2)
        with left:
            names = text("modules", "Layers (all if empty)", "", placeholder="model.layers.2.*, *.q_proj", help=(
                "Names of adapted layers as in transformers, separated by commas, `*` for any letters. All are "
                "trained; only the gradients of these are compared."))
        with right:
            tokens = pick("tokens", "Tokens of a training record", list(MARKS), "response", MARKS.get, help=(
                "The tokens whose loss is scored. A record without these tokens has a score of 0. Training uses all "
                "tokens of the response."))
        glossary.caption("Both change the question: they determine the parameters and tokens through which a record "
                         "acts.")
    return tuple(language.listed_layers(names)), tokens


def query(titles: Sequence[str]) -> int | None:
    """Which query's scores are shown; None for their mean over all."""
    if len(titles) < 2:
        return None
    chosen = pick("asked", "Scores for", [AVERAGE, *map(str, range(len(titles)))], AVERAGE, lambda name: (
        f"all {len(titles):,} queries, on average" if name == AVERAGE else f"query {name}: {titles[int(name)][:90]}"))
    return None if chosen == AVERAGE else int(chosen)


def _model() -> str:
    local, begun = models.local_models(), language.begun()
    default = begun.model if begun else local[0] if local else models.SMALL_MODEL
    name = choice.one("model", default, model_name)
    options = list(dict.fromkeys([name, *local, models.SMALL_MODEL, models.PAPER_MODEL]))
    key = choice.bound("model", default, model_name)
    model = inputs.selectbox("Model", options, key=key, accept_new_options=True,
                             help="A name under WHICHFLUENCE_MODELS, a name on the Hugging Face hub, or a folder.")
    choice.keep("model", model)
    return model


def _own_file() -> str | None:
    """The kept JSONL, by upload or by the address; None while there is none."""
    with st.expander("Your records", icon=":material/upload_file:", expanded=True):
        glossary.markdown(OWN_RECORDS)
        given = st.file_uploader("JSONL", type=["jsonl", "json", "txt"], key="language:file")
        if given is not None:
            name = Path(language.keep(given.getvalue())).name
            if choice.texts("file") != [name]:
                choice.put("behavior", [])  # other records may lack what it reads
            choice.keep("file", name)
    begun = language.begun()
    file = choice.one("file", begun.file if begun else None, language.path_of)
    if file is not None:
        own_reading.show(file)
    return file


def _typed(study: Study) -> Record | None:
    """The typed query, or None for the task's own."""
    if segments("about", "Explain what the model does on", list(ABOUT), "task", ABOUT.get) == "task":
        return None
    first = example(study.model, study.file, study.turns, study.mark)
    _begin(first)
    prompt = text("prompt", "Prompt", first.prompt, 110)
    response = text("response", "Response whose behavior is explained", first.response, 90)
    left, right = st.columns([1, 3])
    with left:
        answer = text("answer", "Answer: letter or word (optional)", first.answer)
    with right:
        words = text("words", "Words of the response to explain (optional)", first.words)
    return typed(prompt, response, answer, words)


def _begin(first: Example) -> None:
    """Where nobody has written anything yet, what stood there at first gives way to what other data begin with."""
    before, st.session_state[FIRST] = st.session_state.get(FIRST, first), first
    if before != first and all(choice.texts(name) in ([], [value]) for name, value in vars(before).items()):
        for name in vars(before):
            choice.put(name, [])


def two_behaviors(names: Sequence[str]) -> tuple[str, str] | None:
    """(found by, missed by): two behaviors whose difference filters the records; None for all of them."""
    if segments("filter", "Which", list(FILTERS), "all", FILTERS.get) == "all" or len(names) < 2:
        return None
    left, right = st.columns(2)
    title = {name: _title(name) for name in names}.get
    first_default = "answer_logit" if "answer_logit" in names else names[-1]
    second_default = "response_loss" if first_default != "response_loss" else names[0]
    with left:
        first = pick("found", "In the top 10% of", list(names), first_default, title)
    with right:
        second = pick("missed", "Not in the top 10% of", list(names), second_default, title)
    return first, second


def opened(listed: Sequence[int]) -> int:
    """The opened record among the listed ones: the first where another was chosen."""
    chosen = choice.one("record", listed[0], choice.within(0, 10**9))
    return chosen if chosen in listed else listed[0]


def open_record(row: int) -> None:
    """Open a record that was not chosen in the list."""
    choice.put("record", row)


def record(titles: Mapping[int, str], clicked: int | None) -> int:
    """Which record is opened. titles: of the listed ones, in their order; clicked: the place of a chosen table row."""
    listed = list(titles)
    if clicked is not None and clicked < len(listed) and (clicked, len(listed)) != st.session_state.get(ROW_STATE):
        st.session_state[ROW_STATE] = (clicked, len(listed))
        choice.put("record", listed[clicked])
    if opened(listed) != choice.one("record", listed[0], int):
        choice.put("record", listed[0])
    return pick("record", "Record", listed, listed[0], titles.get, kind=int)
