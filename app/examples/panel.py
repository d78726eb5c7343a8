"""The parts of the examples page: choosing a query by its picture, the ranked columns, and one example in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.examples import data as example_data
from app.examples.data import Card, Column
from app.widgets.choices import choice
from app.widgets.choices.selectors import pager, pick, slider, toggle
from app.widgets.examples import cards, example_card, record_text, sampled_examples, selection, table_rows
from app.widgets.examples.sampled_examples import Query
from app.widgets.pickers import pickers, specification_list
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.basics.values import capital
from engine.desk import Problem, ProblemSource, SampledProblem, commands, language_presets, preset
from engine.question import direction
from engine.scoring import codes, controlled
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SHOWN_SPECIFICATIONS = 3
QUERIES_A_PAGE = 8
FEWEST, MOST = 5, 20
STEPS = (controlled.step_scoring("query_loss", 0.1), controlled.step_scoring("hard_margin", 0.1))
DRAFTS, DRAFTED = "column:", "examples:drafted"
QUERY, WRONG, PAGE, COUNT, EXAMPLE = "query", "misclassified", "page", "n", selection.EXAMPLE


def specifications() -> list[Scoring]:
    """The specifications of the address that the model has an answer to, as on the Compare page; without any, three
    that disagree."""
    chosen = specification_list.chosen()
    why = specification_list.refused(chosen)
    specification_list.say_refused(why)
    return _without(chosen, why) or _without(usual := defaults(pickers.problem_class()),
                                             specification_list.refused(usual))


def _without(scorings: Sequence[Scoring], why: Mapping[int, str]) -> list[Scoring]:
    return [scoring for row, scoring in enumerate(scorings) if row not in why]


def defaults(model: type[Problem]) -> tuple[Scoring, ...]:
    """Two steps, and the optimum without the example where it can be had, else its local response; of a language model
    three steps."""
    if model.reads == "tokens":
        return preset.steps(*language_presets.FIRST)
    return (*STEPS, controlled.removal_scoring("n-1") if model.convex else controlled.response(solver="ekfac"))


def _write(scorings: Sequence[Scoring]) -> None:
    choice.keep(specification_list.NAME, [codes.encode(scoring) for scoring in scorings])


def query_picker(sampled: SampledProblem, scorings: Sequence[Scoring], row: DeltaGenerator) -> Query:
    """The queries to choose from, by their pictures or by their words; returns the chosen one. scorings: of the
    columns, whose words are marked in it. row: for what narrows the list and turns its pages."""
    listed = sampled_examples.queries(sampled)
    index = choice.one(QUERY, 0, choice.within(0, len(listed) - 1))
    if sampled.dataset.records is not None:
        return _worded(sampled, listed, scorings[:SHOWN_SPECIFICATIONS], row)
    with row:
        filtered = _filtered(sampled, listed)
        index = _among(filtered, index)
        page = _page(filtered, index)
        pager("gallery", page, QUERIES_A_PAGE, len(filtered), lambda other: choice.keep(PAGE, other + 1))
    left, right = st.columns([1, 3], gap="large", vertical_alignment="top")
    with right, st.container(horizontal=True, gap="small", key="gallery"):
        for query in filtered[page * QUERIES_A_PAGE:(page + 1) * QUERIES_A_PAGE]:
            _thumbnail(sampled, query, query.index == index)
    with left:
        _shown(sampled, listed[index])
    return listed[index]


def _worded(sampled: SampledProblem, listed: Sequence[Query], scorings: Sequence[Scoring], row: DeltaGenerator
            ) -> Query:
    """The list of records by their prompts, and the chosen one below it."""
    with row:
        filtered = _filtered(sampled, listed)

    def title(index: int) -> str:
        record = sampled.dataset.record("test", int(sampled.sample.query_index[index]))
        assert record is not None, "the dataset holds records"
        return f"{index}: {record_text.short(record)}{'' if listed[index].right else ' ✗'}"

    chosen = _among(filtered, choice.one(QUERY, 0, choice.within(0, len(listed) - 1)))
    indices = [query.index for query in filtered]
    index = pick(QUERY, "Query", indices, chosen, title, kind=int, on_change=choice.keep, args=(EXAMPLE, []))
    _shown(sampled, listed[index], scorings)
    st.html(record_text.key(_marks(sampled), bool(sampled_examples.words(sampled, listed[index], scorings))))
    return listed[index]


def _marks(sampled: SampledProblem) -> list[str]:
    """The marks that occur in the texts of the dataset."""
    both = [*sampled.dataset.records[0], *sampled.dataset.records[1]] if sampled.dataset.records else []
    return list(dict.fromkeys(name for record in both for name in (*record.marks, *record.spans)))


def _shown(sampled: SampledProblem, chosen: Query, scorings: Sequence[Scoring] = ()) -> None:
    glossary.html(cards.chosen_query(sampled_examples.query_html(sampled, chosen, 96, scorings), chosen.index,
                                     chosen.label,
                                     chosen.predicted, chosen.prediction.measured, sampled_examples.noun(sampled)))


def _filtered(sampled: SampledProblem, listed: Sequence[Query]) -> Sequence[Query]:
    if sampled.dataset.targets is not None:
        return listed
    wrong = [query for query in listed if not query.right]
    only = toggle(WRONG, f"Misclassified only ({len(wrong)} of {len(listed)})", disabled=not wrong,
                  help="Queries where the predicted answer differs from the "
                       f"{'label' if sampled.dataset.records is None else 'stated one'}.")
    return wrong if only and wrong else listed


def _among(filtered: Sequence[Query], index: int) -> int:
    """The chosen query, or the first of the `filtered` where the filter leaves it out."""
    if any(query.index == index for query in filtered):
        return index
    _choose_query(filtered[0].index)
    st.session_state.pop(choice.widget(QUERY), None)
    return filtered[0].index


def _page(filtered: Sequence[Query], index: int) -> int:
    """The page as chosen, else the one with the chosen query."""
    home = next((at for at, query in enumerate(filtered) if query.index == index), 0) // QUERIES_A_PAGE
    page = choice.one(PAGE, home + 1, choice.within(1, 1_000_000)) - 1
    return min(page, (len(filtered) - 1) // QUERIES_A_PAGE)


def _thumbnail(sampled: SampledProblem, query: Query, chosen: bool) -> None:
    key = f"pick-{'chosen-' if chosen else ''}query-{query.index}"
    with st.container(key=key, width=_width(sampled, 76), gap=None):
        st.html(cards.query(sampled_examples.query_html(sampled, query, 56), query.label, query.predicted))
        said = f", predicted {query.predicted}" if query.predicted else ""
        st.button(plain(f"Choose query {query.index}, label {query.label}{said}"), key=f"query:{query.index}",
                  on_click=_choose_query, args=(query.index,))


def _choose_query(index: int) -> None:
    choice.keep(QUERY, index)
    choice.hold("ranks", index)
    choice.keep(EXAMPLE, [])


def count(row: DeltaGenerator) -> int:
    """How many examples are shown at each end."""
    return slider(COUNT, "Top and bottom k", 6, FEWEST, MOST, area=row, width=220,
                  help="Number of highest and lowest ranked training examples in each column.")


def heads(scorings: Sequence[Scoring], query: Query) -> None:
    """The specifications of the columns as chips, each with a way to change it."""
    _forget_drafts(query, scorings)
    shown = scorings[:SHOWN_SPECIFICATIONS]
    varying = chips.differing(shown) if len(shown) > 1 else None
    for index, (column, scoring) in enumerate(zip(st.columns(len(shown), gap="medium"), shown, strict=True)):
        with column:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                glossary.html(f'<div class="wf-known">Column {index + 1}</div>', width="content")
                _editor(scorings, index)
            glossary.html(chips.marked(scoring, varying))
    if len(scorings) > len(shown):
        glossary.caption(
            f"{len(scorings) - len(shown)} more specifications have no column; open an example to see its rank under "
            "all of them.")


def _forget_drafts(query: Query, scorings: Sequence[Scoring]) -> None:
    """What was begun in a column's fields and never shown gives way to what the column shows, once something else
    is chosen."""
    shown = query.index, tuple(codes.encode(scoring) for scoring in scorings)
    if st.session_state.get(DRAFTED, shown) != shown:
        for key in [key for key in st.session_state if str(key).startswith(DRAFTS)]:
            del st.session_state[key]
    st.session_state[DRAFTED] = shown


def _editor(scorings: Sequence[Scoring], index: int) -> None:
    current = scorings[index]
    with st.popover("Change", icon=":material/tune:", key=f"change:{index}"), glossary.folded():
        glossary.markdown(f"**Column {index + 1}**")
        wanted = pickers.scoring_picker(f"{DRAFTS}{index}:{codes.encode(current)}", current)
        if wanted is None:
            return
        glossary.caption(wanted.question)
        taken = wanted in scorings and wanted != current
        if taken:
            glossary.caption("This specification is already shown in another column.")
        row = st.container(horizontal=True)
        row.button("Show this", type="primary", key=f"apply:{index}", disabled=taken or wanted == current,
                   on_click=_replace, args=(scorings, index, wanted))
        row.button("Remove column", key=f"drop:{index}", disabled=len(scorings) == 1, on_click=_write,
                   args=([other for other in scorings if other != current],))
        spare = next((default for default in defaults(pickers.problem_class()) if default not in scorings), None)
        if len(scorings) < SHOWN_SPECIFICATIONS and spare is not None:
            row.button("Add a column", key=f"add:{index}", on_click=_write, args=([*scorings, spare],))


def _replace(scorings: Sequence[Scoring], index: int, wanted: Scoring) -> None:
    _write([wanted if at == index else other for at, other in enumerate(scorings)])


def columns(sampled: SampledProblem, scored: Sequence[Scores], listed: Sequence[Column], names: Sequence[str],
            n: int) -> None:
    """Top and bottom cards of each specification, side by side."""
    asking = [scores.scoring for scores in scored[:len(listed)] if scores.scoring.route.implies]
    for title, end in ((direction.top(asking, n), "top"), (direction.bottom(asking, n), "bottom")):
        st.markdown(f"#### {title}")
        for index, (area, column) in enumerate(zip(st.columns(len(listed), gap="medium"), listed, strict=True)):
            with area:
                glossary.html(f'<div class="wf-column">{escape(names[index])}</div>')
                with st.container(horizontal=True, gap="xsmall", key=f"cards-{end}-{index}"):
                    for card in getattr(column, end):
                        _card(sampled, card, column, index, end, scored[index].scoring.route.implies)
                if end == "top":
                    chips.note(scale(scored[index], column, sampled.source))


def scale(scores: Scores, column: Column, source: ProblemSource) -> str:
    """What a column's scores are: how many, in which unit, from where to where, and who has no rank."""
    scoring = scores.scoring
    ends = cards.number(column.low), cards.number(column.high)
    reach = direction.scores(scoring, *ends) if scoring.route.implies else (
        f"of no specification, from {ends[0]} to {ends[1]}")
    unsolved = int((~scores.converged).sum())
    small = len(scores.candidates) - column.scored - unsolved
    how = ("exact" if scoring.exact else "approximate") if scoring.route.implies else "baseline"
    text = f"{how} · {column.scored:,} candidates{sampled_examples.of_what(source, scores)} · score: {reach}"
    return text + (f" · {unsolved} {scores.convergence.missed} and have no rank" if unsolved else "") + (
        f" · {small} without a rank: their error bound exceeds the distance to half of the others" if small else "")


def _card(sampled: SampledProblem, card: Card, column: Column, index: int, end: str, directed: bool) -> None:
    example = sampled_examples.train_html(sampled, card.row, sampled_examples.SMALL)
    with st.container(key=f"pick-{end}-{index}-{card.row}", width=_width(sampled), gap=None):
        st.html(cards.ranked(example, card.label, card.ranks, index, card.score, column.largest, card.once,
                             directed, sampled_examples.mark_of(sampled, card.row)))
        st.button(plain(f"Open {sampled.sample.called(card.row)}, {sampled_examples.noun(sampled)} {card.label}, rank "
                        f"{card.ranks[index]} in column {index + 1}"), key=f"open:{end}:{index}:{card.row}",
                  on_click=choice.keep, args=(EXAMPLE, card.row))


def _width(sampled: SampledProblem, picture: int = 100) -> int | Literal["stretch"]:
    """Of a card: that of a picture with its small print, of a row, or all that a text can have."""
    if sampled.dataset.records is not None:
        return "stretch"
    return table_rows.WIDTH if sampled.dataset.image_shape is None else picture


def opened(scored: Sequence[Scores]) -> int | None:
    """The training example that is open in detail."""
    rows = {int(row) for row in scored[0].candidates}

    def parse(text: str) -> int:
        row = choice.within(0, 10**9)(text)
        if row not in rows:
            raise ValueError("that training example is not among the candidates")
        return row

    return choice.one(EXAMPLE, None, parse)


def _close() -> None:
    choice.keep(EXAMPLE, [])


def detail(sampled: SampledProblem, query: Query, row: int, scored: Sequence[Scores]) -> None:
    """One candidate, under the name of what it is, with its rank and score under every specification."""
    show = st.dialog(capital(plain(sampled.sample.called(row))), width="large", on_dismiss=_close)(example_card.show)
    show(sampled, row, scored, query)


def whole_ranking(sampled: SampledProblem, scored: Sequence[Scores], names: Sequence[str], query: Query,
                  source: ProblemSource) -> None:
    """The table of all candidates, its CSV, the specifications and the commands."""
    scorings = [scores.scoring for scores in scored]
    command = commands.scores(source, scorings) + f"\n# row {query.index} of each scores array is this query"
    table = example_data.table(sampled, scored, names, query.index, selection.group())
    downloads.chart_extras(f"ranking-query-{query.index}", table, scorings, command=command,
                           quantity=downloads.oriented(names, scorings))


def legend(compared: bool, texts: bool = False) -> None:
    """How to read a card; with one column there is nothing to compare."""
    named = "a text and the answer that it states" if texts else "the example's label"
    text = (f"A card shows {named}, its rank in each column (this column in bold), its score, and whether it ▲ helps "
            "(raises the behavior at this query) or ▼ harms (lowers it); bars compare scores within the column.")
    glossary.caption(text + (" **only here**: in the top or bottom k of this column alone." if compared else "")
                     + " Click a card to see it under every specification.")
