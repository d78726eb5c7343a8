"""The parts of the examples page: choosing a query by its picture, the ranked columns, and one example in detail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

import streamlit as st

from app.examples import data as example_data
from app.examples.data import Card, Column
from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import pick
from app.widgets.examples import cards, drawn_examples, example_card, record_text, selection
from app.widgets.examples.drawn_examples import Query
from app.widgets.pickers import language_presets, pickers, preset, specification_list
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.problems import DrawnProblem, Problem, ProblemSource
from engine.question import direction
from engine.scoring import codes, controlled
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SHOWN_SPECIFICATIONS = 3
QUERIES_A_PAGE = 16
FEWEST, MOST = 5, 20
STEPS = (controlled.step_scoring("query_loss", 0.1), controlled.step_scoring("hard_margin", 0.1))
DRAFTS, DRAFTED = "column:", "examples:drafted"
QUERY, WRONG, PAGE, COUNT, EXAMPLE = "query", "misclassified", "page", "n", selection.EXAMPLE


def specifications() -> list[Scoring]:
    """The specifications of the address, as on the Compare page; without any, three that disagree."""
    return specification_list.chosen() or list(defaults(pickers.problem_class()))


def defaults(model: type[Problem]) -> tuple[Scoring, ...]:
    """Two steps, and the optimum without the example where it can be had, else its local response; of a language model
    three steps."""
    if model.reads == "tokens":
        return preset.steps(*language_presets.FIRST)
    return (*STEPS, controlled.removal_scoring("n-1") if model.convex else controlled.response(solver="ekfac"))


def _write(scorings: Sequence[Scoring]) -> None:
    choice.keep(specification_list.NAME, [codes.encode(scoring) for scoring in scorings])


def query_picker(drawn: DrawnProblem, scorings: Sequence[Scoring]) -> Query:
    """The queries to choose from, by their pictures or by their words; returns the chosen one. scorings: of the
    columns, whose words are marked in it."""
    listed = drawn_examples.queries(drawn)
    place = choice.one(QUERY, 0, choice.within(0, len(listed) - 1))
    if drawn.dataset.records is not None:
        return _worded(drawn, listed, scorings[:SHOWN_SPECIFICATIONS])
    left, right = st.columns([1, 3], gap="large", vertical_alignment="top")
    with right:
        kept = _filtered(drawn, listed)
        place = _among(kept, place)
        page, pages = _page(kept, place)
        with st.container(horizontal=True, gap="small", key="gallery"):
            for query in kept[page * QUERIES_A_PAGE:(page + 1) * QUERIES_A_PAGE]:
                _thumbnail(drawn, query, query.place == place)
        _pager(page, pages, len(kept))
    with left:
        _shown(drawn, listed[place])
    return listed[place]


def _worded(drawn: DrawnProblem, listed: Sequence[Query], scorings: Sequence[Scoring]) -> Query:
    """The list of records by their prompts, and the chosen one below it."""
    kept = _filtered(drawn, listed)

    def title(place: int) -> str:
        record = drawn.dataset.record("test", int(drawn.sample.query_index[place]))
        assert record is not None, "the dataset holds records"
        return f"{place}: {record_text.short(record)}{'' if listed[place].right else ' ✗'}"

    chosen = _among(kept, choice.one(QUERY, 0, choice.within(0, len(listed) - 1)))
    places = [query.place for query in kept]
    place = pick(QUERY, "Query", places, chosen, title, kind=int, on_change=choice.keep, args=(EXAMPLE, []))
    _shown(drawn, listed[place], scorings)
    st.html(record_text.key(_marks(drawn), bool(drawn_examples.words(drawn, listed[place], scorings))))
    return listed[place]


def _marks(drawn: DrawnProblem) -> list[str]:
    """The marks that occur in the texts of the dataset."""
    both = [*drawn.dataset.records[0], *drawn.dataset.records[1]] if drawn.dataset.records else []
    return list(dict.fromkeys(name for record in both for name in (*record.marks, *record.spans)))


def _shown(drawn: DrawnProblem, chosen: Query, scorings: Sequence[Scoring] = ()) -> None:
    glossary.html(cards.chosen_query(drawn_examples.query_html(drawn, chosen, 96, scorings), chosen.place, chosen.label,
                                     chosen.predicted, chosen.prediction.measured, drawn_examples.noun(drawn)))


def _filtered(drawn: DrawnProblem, listed: Sequence[Query]) -> Sequence[Query]:
    wrong = [query for query in listed if not query.right]
    key = choice.bound(WRONG, False, choice.on_off)
    only = inputs.toggle(f"Answered wrongly only ({len(wrong)} of {len(listed)})", key=key, disabled=not wrong,
                         help="Queries where the model prefers another answer to the "
                              f"{'label' if drawn.dataset.records is None else 'one that is stated'}.")
    choice.keep(WRONG, int(only))
    return wrong if only and wrong else listed


def _among(kept: Sequence[Query], place: int) -> int:
    """The chosen query, or the first of the `kept` where the filter leaves it out."""
    if any(query.place == place for query in kept):
        return place
    _choose_query(kept[0].place)
    st.session_state.pop(choice.widget(QUERY), None)
    return kept[0].place


def _page(kept: Sequence[Query], place: int) -> tuple[int, int]:
    """(page, pages): as chosen, else the page with the chosen query."""
    pages = max(1, -(-len(kept) // QUERIES_A_PAGE))
    home = next((at for at, query in enumerate(kept) if query.place == place), 0) // QUERIES_A_PAGE
    page = choice.one(PAGE, home + 1, choice.within(1, 1_000_000)) - 1
    return min(page, pages - 1), pages


def _pager(page: int, pages: int, count: int) -> None:
    first, last = page * QUERIES_A_PAGE + 1, min(count, (page + 1) * QUERIES_A_PAGE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("", icon=":material/chevron_left:", key="gallery:back", help="Earlier queries", disabled=page == 0,
                  on_click=choice.keep, args=(PAGE, page))
        st.button("", icon=":material/chevron_right:", key="gallery:on", help="Further queries",
                  disabled=page >= pages - 1, on_click=choice.keep, args=(PAGE, page + 2))
        glossary.caption(f"{first}–{last} of {count}")


def _thumbnail(drawn: DrawnProblem, query: Query, chosen: bool) -> None:
    with st.container(key=f"pick-{'chosen-' if chosen else ''}query-{query.place}", width=76, gap=None):
        st.html(cards.query(drawn_examples.query_html(drawn, query, 56), query.label, query.predicted))
        st.button(plain(f"Choose query {query.place}, label {query.label}, predicted {query.predicted}"),
                  key=f"query:{query.place}", on_click=_choose_query, args=(query.place,))


def _choose_query(place: int) -> None:
    choice.keep(QUERY, place)
    choice.hold("ranks", place)
    choice.keep(EXAMPLE, [])


def count() -> int:
    """How many examples are shown at each end."""
    key = choice.bound(COUNT, 6, choice.within(FEWEST, MOST))
    value = inputs.slider("Examples at each end", FEWEST, MOST, key=key, width=320,
                          help="How many of the highest and of the lowest ranked training examples each column shows.")
    choice.keep(COUNT, value)
    return value


def heads(scorings: Sequence[Scoring], query: Query) -> None:
    """The specifications of the columns as chips, each with a way to change it."""
    _forget_drafts(query, scorings)
    shown = scorings[:SHOWN_SPECIFICATIONS]
    varying = chips.differing(shown) if len(shown) > 1 else None
    for place, (column, scoring) in enumerate(zip(st.columns(len(shown), gap="medium"), shown, strict=True)):
        with column, st.container(horizontal=True, vertical_alignment="top", gap="small"):
            glossary.html(f'<div class="wf-known">Column {place + 1}</div>{chips.marked(scoring, varying)}',
                          width="stretch")
            _editor(scorings, place)
    if len(scorings) > len(shown):
        glossary.caption(
            f"{len(scorings) - len(shown)} more of your specifications have no column; open an example to see "
            "its rank under all of them.")


def _forget_drafts(query: Query, scorings: Sequence[Scoring]) -> None:
    """What was begun in a column's fields and never shown gives way to what the column shows, once something else
    is chosen."""
    shown = query.place, tuple(codes.encode(scoring) for scoring in scorings)
    if st.session_state.get(DRAFTED, shown) != shown:
        for key in [key for key in st.session_state if str(key).startswith(DRAFTS)]:
            del st.session_state[key]
    st.session_state[DRAFTED] = shown


def _editor(scorings: Sequence[Scoring], place: int) -> None:
    current = scorings[place]
    with st.popover("Change", icon=":material/tune:", key=f"change:{place}"), glossary.folded():
        glossary.markdown(f"**Column {place + 1}**")
        wanted = pickers.scoring_picker(f"{DRAFTS}{place}:{codes.encode(current)}", current)
        if wanted is None:
            return
        glossary.caption(wanted.question)
        taken = wanted in scorings and wanted != current
        if taken:
            glossary.caption("Another column shows this one already.")
        row = st.container(horizontal=True)
        row.button("Show this", type="primary", key=f"apply:{place}", disabled=taken or wanted == current,
                   on_click=_replace, args=(scorings, place, wanted))
        row.button("Remove column", key=f"drop:{place}", disabled=len(scorings) == 1, on_click=_write,
                   args=([other for other in scorings if other != current],))
        spare = next((default for default in defaults(pickers.problem_class()) if default not in scorings), None)
        if len(scorings) < SHOWN_SPECIFICATIONS and spare is not None:
            row.button("Add a column", key=f"add:{place}", on_click=_write, args=([*scorings, spare],))


def _replace(scorings: Sequence[Scoring], place: int, wanted: Scoring) -> None:
    _write([wanted if at == place else other for at, other in enumerate(scorings)])


def columns(drawn: DrawnProblem, found: Sequence[Scores], listed: Sequence[Column], names: Sequence[str],
            n: int) -> None:
    """Top and bottom cards of each specification, side by side."""
    asked = [scores.scoring for scores in found[:len(listed)] if scores.scoring.route.implies]
    for title, end in ((direction.top(asked, n), "top"), (direction.bottom(asked, n), "bottom")):
        st.markdown(f"#### {title}")
        for place, (area, column) in enumerate(zip(st.columns(len(listed), gap="medium"), listed, strict=True)):
            with area:
                glossary.html(f'<div class="wf-column">{escape(names[place])}</div>')
                if end == "top":
                    chips.note(scale(found[place], column))
                with st.container(horizontal=True, gap="xsmall", key=f"cards-{end}-{place}"):
                    for card in getattr(column, end):
                        _card(drawn, card, column, place, end, found[place].scoring.route.implies)


def scale(scores: Scores, column: Column) -> str:
    """What a column's scores are: how many, in which unit, from where to where, and who has no rank."""
    scoring = scores.scoring
    ends = cards.number(column.low), cards.number(column.high)
    reach = direction.scores(scoring, *ends) if scoring.route.implies else (
        f"of no specification, from {ends[0]} to {ends[1]}")
    unsolved = int((~scores.converged).sum())
    small = len(scores.candidates) - column.scored - unsolved
    how = ("exact" if scoring.exact else "approximate") if scoring.route.implies else "baseline"
    text = f"{how} · {column.scored:,} candidates · score: {reach}"
    return text + (f" · {unsolved} {scores.convergence.missed} and have no rank" if unsolved else "") + (
        f" · {small} without a rank, as the error bound exceeds the distance to half of the others" if small else "")


def _card(drawn: DrawnProblem, card: Card, column: Column, place: int, end: str, asked: bool) -> None:
    example = drawn_examples.train_html(drawn, card.row, drawn_examples.SMALL)
    with st.container(key=f"pick-{end}-{place}-{card.row}", width=_width(drawn), gap=None):
        st.html(cards.ranked(example, card.label, card.ranks, place, card.score, column.largest, card.once,
                             asked))
        st.button(plain(f"Open training example {card.row}, {drawn_examples.noun(drawn)} {card.label}, rank "
                        f"{card.ranks[place]} in column {place + 1}"), key=f"open:{end}:{place}:{card.row}",
                  on_click=choice.keep, args=(EXAMPLE, card.row))


def _width(drawn: DrawnProblem, picture: int = 100) -> int | Literal["stretch"]:
    """Of a card: that of a picture with its small print, or all that a text can have."""
    return picture if drawn.dataset.records is None else "stretch"


def opened(found: Sequence[Scores]) -> int | None:
    """The training example that is open in detail."""
    rows = {int(row) for row in found[0].candidates}

    def parse(text: str) -> int:
        row = choice.within(0, 10**9)(text)
        if row not in rows:
            raise ValueError("that training example is not among the candidates")
        return row

    return choice.one(EXAMPLE, None, parse)


def _close() -> None:
    choice.keep(EXAMPLE, [])


@st.dialog("Training example", width="large", on_dismiss=_close)
def detail(drawn: DrawnProblem, query: Query, row: int, found: Sequence[Scores]) -> None:
    """One training example with its rank and score under every specification."""
    example_card.show(drawn, row, found, query)


def whole_ranking(drawn: DrawnProblem, found: Sequence[Scores], names: Sequence[str], query: Query,
                  source: ProblemSource) -> None:
    """The table of all candidates, its CSV, the specifications and the commands."""
    scorings = [scores.scoring for scores in found]
    command = downloads.score_commands(source, scorings) + f"\n# row {query.place} of each scores array is this query"
    table = example_data.table(drawn, found, names, query.place, selection.group())
    downloads.chart_extras(f"ranking-query-{query.place}", table, scorings, command=command,
                           quantity=downloads.oriented(names, scorings))


def legend(compared: bool, texts: bool = False) -> None:
    """How to read a card; with one column there is nothing to compare."""
    named = "a text and the answer that it states" if texts else "the example's label"
    text = (f"A card shows {named}, its rank in each column (its own in bold), its score and whether it ▲ helps "
            "(supports the behavior at this query: raises what is read) or ▼ harms (opposes it: lowers that); the bar "
            "compares scores within the column.")
    glossary.caption(text + (" **only here**: no other column has it at this end." if compared else "")
                     + " Click a card to see it under every specification.")
