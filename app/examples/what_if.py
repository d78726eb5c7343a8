"""*What if all of these?* on the Examples page: a whole group of training examples at once, as a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import removal
from app.charts.draw import draw
from app.examples.data import Column
from app.widgets.choices import choice, inputs, selectors
from app.widgets.choices.selectors import pick, segments, slider, toggle
from app.widgets.examples import cards, sampled_examples, selection
from app.widgets.examples.sampled_examples import Query
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain, sentence
from engine.basics.errors import InvalidInput
from engine.desk import ProblemSource, SampledProblem, Waiting, commands
from engine.desk.analyses import ADDITIVITY, GroupRequest, RemovalRequest, Request, sizes_for
from engine.desk.datasets import Filter
from engine.question import direction
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Retrain
from engine.question.runs import of_runs
from engine.scoring import cost
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

NAME, WHICH, UNDER, TOP, TICKED, WHERE, DONE, LABEL = (
    "whatif", "groupof", "groupspec", "grouptop", "ticked", "groupwhere", "groupdone", "grouplabel")
LARGEST, FEW, TOPMOST = 1_000, 50, 50
"""Examples of a group that can be computed one by one too, and that are so unasked; and of the top of a ranking."""
WARNED = 20.0
"""Guessed seconds above which the page states them before the run begins."""
TITLE = "Group influence: change several examples at once"
TOPPED, TICKS, FILTERED, SELECTED = "top", "ticked", "where", "selected"
CHOICES = {TOPPED: "The top of a ranking", FILTERED: "A class or filter", TICKS: "Selected by hand",
           SELECTED: "The selected group"}
EMPTY = {TICKS: "Select at least one example.", FILTERED: "Enter rows or a filter.",
         SELECTED: "Nothing is selected: use the lasso on Compare or Map, or enter rows in the field above."}
REMOVED, DOUBLED, STEPPED, RELABELLED = "remove", "double", "step", "relabel"
ACTS = {REMOVED: "remove them and retrain", DOUBLED: "count them twice and retrain",
        STEPPED: "take one step on all of them", RELABELLED: "relabel them and retrain"}


def show(sampled: SampledProblem, source: ProblemSource, scored: Sequence[Scores], listed: Sequence[Column],
         names: Sequence[str], query: Query) -> None:
    """The switch, and below it the group, what is done to it, its effect, and the curve of the rankings."""
    if not toggle(NAME, TITLE, help=glossary.hint(TITLE, ADDITIVITY)):
        return
    index, rows, how = _group(sampled, scored, listed, names, query)
    question = _question(scored[index].scoring, sampled)
    chips.show(question)
    if not rows:
        glossary.caption(EMPTY[how])
    elif len(rows) >= sampled.problem.n:
        glossary.caption(f"The group contains all {len(rows):,} training examples; exclude some.")
    else:
        _effect(sampled, source, question, rows, query)
    _curve(source, [scores.scoring for scores in scored], names, query, len(scored[0].candidates), question.behavior)


def _group(sampled: SampledProblem, scored: Sequence[Scores], listed: Sequence[Column], names: Sequence[str],
           query: Query) -> tuple[int, list[int], str]:
    """The column whose behavior is read, the rows of the group, and which choice that is."""
    left, right = st.columns([2, 1], gap="large")
    how = segments(WHICH, "Which examples?", list(CHOICES), TOPPED, CHOICES.__getitem__, area=left)
    index = pick(UNDER, "Column", range(1, len(listed) + 1), 1, lambda number: names[number - 1], kind=int,
                 area=right) - 1
    if how == TOPPED:
        known = int((~np.isnan(scored[index].trusted[query.index])).sum())
        most = max(2, min(TOPMOST, known, sampled.problem.n - 1))
        count = slider(TOP, "Size of the top", min(10, most), 2, most, width=420)
        order = np.argsort(-np.nan_to_num(scored[index].trusted[query.index], nan=-np.inf), kind="stable")
        return index, [int(row) for row in scored[index].candidates[order[:count]]], how
    if how == FILTERED:
        return index, _filtered(sampled), how
    if how == SELECTED:
        return index, [row for row in selection.group() if row < sampled.problem.n], how
    return index, _ticked(sampled, listed), how


def _filtered(sampled: SampledProblem) -> list[int]:
    """The examples that a class or another filter means."""
    dataset = sampled.dataset
    text = selectors.text(WHERE, "Which training examples?", f"{dataset.noun} = {selection.example_of(dataset)}",
                          width=420, help=selection.help_of(dataset))
    if not text.strip():
        return []
    try:
        rows = Filter.of(dataset, sampled.sample).rows(text)
    except InvalidInput as error:
        st.warning(sentence(error), icon=":material/filter_alt:")
        return []
    glossary.caption(f"{len(rows):,} of {sampled.problem.n:,} training examples.")
    return rows


def _ticked(sampled: SampledProblem, listed: Sequence[Column]) -> list[int]:
    """Of the examples that the columns show, those that the reader ticks."""
    rows = list(dict.fromkeys(card.row for column in listed for card in (*column.top, *column.bottom)))
    key, chosen = choice.widget(TICKED), [row for row in choice.several(TICKED, int) if row in rows]
    if key not in st.session_state or any(row not in rows for row in st.session_state[key]):
        st.session_state[key] = chosen
    ticked = inputs.pills("Shown above", rows, key=key, selection_mode="multi",
                          format_func=lambda row: f"{row}: {sampled_examples.label(sampled, row)}")
    choice.keep(TICKED, [str(row) for row in ticked])
    return list(ticked)


def _question(scoring: Scoring, sampled: SampledProblem) -> Scoring:
    """The question about the group, of the behavior of a column, and of the runs that it is about where it has some.
    Records have no labels that could be others."""
    acts = [act for act in ACTS if act != RELABELLED or sampled.dataset.has_classes]
    act = segments(DONE, "Intervention on the group", acts, REMOVED, ACTS.__getitem__)
    behavior = scoring.behavior if scoring.route.implies else "query_loss"
    if act == STEPPED:
        return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
    return Scoring.of(behavior, _changed(act, sampled), of_runs(Retrain(), scoring.process).model_dump())


def _changed(act: str, sampled: SampledProblem) -> dict:
    """The intervention on every example of the group."""
    if act == RELABELLED:
        names = sampled.dataset.class_names
        label = pick(LABEL, "Which label?", range(len(names)), 0, lambda index: names[index], kind=int)
        return {"kind": "relabel", "label": label}
    return {"kind": "remove"} if act == REMOVED else {"kind": "upweight", "alpha": 1.0 / sampled.problem.n}


def _done(request: Request[Any], label: str, key: str = "") -> pd.DataFrame | None:
    """The table of a finished request; before that, its progress or the button that starts it."""
    answer = desk().known(request)
    if answer is None:
        st.button(label, icon=":material/model_training:", key=f"start:{request.name}{key}", on_click=job_panel.act,
                  args=(desk().start, request))
    return None if (answer := job_panel.beside(answer)) is None else answer.whole


def _effect(sampled: SampledProblem, source: ProblemSource, question: Scoring, rows: Sequence[int], query: Query
            ) -> None:
    """A few examples all at once and one by one; more of them at once, which is one training, and then, where a reader
    asks for it, one by one too."""
    few = len(rows) <= FEW
    each = GroupRequest(scoring=question, rows=tuple(rows)).of(source)
    whole = GroupRequest(scoring=question, rows=tuple(rows), singles=False).of(source)
    if few or desk().known(each) is not None:
        table, at_once = _computed(sampled, each), desk().known(whole)
        if table is None and not few and not isinstance(at_once, Waiting | str | None):
            table = _computed(sampled, whole)
    else:
        table = _computed(sampled, whole)
    if table is None:
        return
    _shown(table, sampled, source, question, rows, query)
    if "additivity gap" not in table and len(rows) <= LARGEST and desk().known(each) is None:
        _computed(sampled, each)


def _computed(sampled: SampledProblem, request: GroupRequest) -> pd.DataFrame | None:
    """The table of a group's run; before it is done, its progress, or how long it takes and the button."""
    count, singles = len(request.rows), request.singles
    seconds = cost.guess([request.scoring], sampled.problem, 1 + count if singles else 1)
    if seconds > WARNED and desk().known(request) is None:
        glossary.caption(f"It takes {guesses.between(seconds)} on two CPU cores"
                         + (f", once for each of {count:,} examples." if singles else "."))
    label = "Also compute each example alone" if singles and count > FEW else (
        f"Compute the effect of all {count:,} at once" + (", and one by one" if singles else ""))
    return _done(request, label, "each" if singles else "whole")


def _shown(table: pd.DataFrame, sampled: SampledProblem, source: ProblemSource, question: Scoring, rows: Sequence[int],
           query: Query) -> None:
    own, singles = table.iloc[query.index], "additivity gap" in table
    shown = st.columns(3)
    shown[0].metric("All at once", cards.number(own["whole group"]), help=direction.group(question.readout))
    if singles:
        shown[1].metric("Sum of single effects", cards.number(own["sum of examples"]),
                        help="The sum of the examples' own exact effects.")
        shown[2].metric("Additivity gap", cards.number(own["additivity gap"]), help=ADDITIVITY)
        glossary.caption(additivity(table, len(rows)))
    else:
        glossary.caption(plain(changed(table, question)))
    untrusted = "" if own["trusted"] else f" · {'a single effect' if singles else 'it'} did not converge"
    chips.note(f"exact · {len(rows):,} examples · {len(table)} queries · seed {source.seed}{untrusted}")
    downloads.chart_extras("group", table, [question], command=commands.of_problem(
        "group", source, "--examples", ",".join(map(str, rows)), *(() if singles else ("--whole-only",)), "--out",
        "group.csv", scoring=question), quantity=direction.raw_change(question.readout))

def changed(table: pd.DataFrame, question: Scoring) -> str:
    """One sentence on how large the effect of a group is, over all queries."""
    whole = table["whole group"].dropna()
    if whole.empty:
        return "No query has a value."
    most = int(whole.abs().idxmax())
    return direction.group_spread(question.readout, len(whole), f"{whole.abs().mean():.3g}", most, float(whole[most]),
                                  cards.number(whole[most]))


def additivity(table: pd.DataFrame, count: int) -> str:
    """One sentence on how far effects add up, over all queries."""
    whole, gap = table["whole group"].abs().mean(), table["additivity gap"].abs().mean()
    if whole == 0:
        return f"Over all {len(table)} queries these {count} examples change nothing."
    return (f"Over all {len(table)} queries the gap is {gap / whole:.0%} of the group's effect on average, the part "
            "that a sum over single examples misses.")


def _curve(source: ProblemSource, scorings: Sequence[Scoring], names: Sequence[str], query: Query, candidates: int,
           behavior: str) -> None:
    sizes = sizes_for(candidates)
    glossary.markdown("**Remove the top k of each ranking and retrain**")
    if not sizes:
        glossary.caption("There are too few candidates to remove some and keep half.")
        return
    request = RemovalRequest(scorings=tuple(scorings), candidates=candidates, behavior=behavior,
                             query=query.index).of(source)
    models = len(sizes) * (len(scorings) + request.random)
    table = _done(request, f"Train {models} models without the top {', '.join(map(str, sizes))} and without "
                                   "random groups")
    if table is None:
        return
    table = table.assign(ranking=[names[int(index)] for index in table.ranking])
    _render_curve(table, names, BEHAVIORS[behavior])
    chips.note(f"query {query.index} · {request.random} random groups of each size (grey), with their 95% t interval "
               f"· seed {source.seed}")
    glossary.caption(plain(direction.removal(BEHAVIORS[behavior])))
    downloads.chart_extras("removal-curve", table, scorings, quantity=direction.raw_change(BEHAVIORS[behavior]),
                           source=source, charts=["group:curve"],
                           command=commands.compare(source.model_copy(update={"n_candidates": candidates}),
                                                    "removal-curve", "removal-curve", "--behavior", behavior,
                                                    "--query", query.index))


def _render_curve(table: pd.DataFrame, names: Sequence[str], behavior: Behavior) -> None:
    frame = table.assign(random=table["random groups"], low=table["random groups"] - table["± 95%"],
                         high=table["random groups"] + table["± 95%"])
    largest = table.loc[table["change"].abs().idxmax()]
    draw(removal.removal, frame, list(names), direction.change(behavior), key="group:curve",
         alt=f"Curves of the {direction.change(behavior)} for {len(names)} rankings over "
         f"{table['removed'].nunique()} numbers of removed training examples. The largest change is "
         f"{cards.number(float(largest['change']))}, without the top {int(largest['removed'])} "
         f"of {largest['ranking']}.")
