"""The leaderboard on the Scorecard page: every named method in all columns, of a published problem or of the model at
hand."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.scorecard.state import ScorecardChoice
from app.widgets.choices.selectors import pick
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.desk import commands, published
from engine.desk.analyses import BOARD_COLUMNS, CEILING, LeaderboardRequest, Sizes, card
from engine.scoring import codes

NAME, SELECTED, BY = "leaderboard", "board", "boardby"
OWN = "own"
"""The board of the model at hand, among those that are published."""
ONE_DRAW = "± is a 95% interval over queries, for one sample of data, training and subsets."
TWO_DIGITS = ("agreement", "lds", "lds_other", "recall", "mrr")


def show(chosen: ScorecardChoice) -> None:
    """Which board, its columns, agreement with every question, and where the numbers are from."""
    st.subheader("Leaderboard", anchor=NAME)
    glossary.caption("Every available method, compared with the exact answers to its own question and "
                     "to other questions. Each column is a question.")
    presets = published.EXPERIMENTS[NAME].presets
    there = [name for name in presets if published.reproduction(NAME, name) is not None]
    there = [name for name in there if not presets[name].is_quick_check] or there
    name = pick(SELECTED, "Training problem", [*there, OWN], (there or [OWN])[0],
                lambda one: "the model of the sidebar" if one == OWN else presets[one].title)
    if name == OWN:
        _own(chosen)
        return
    result = published.reproduction(NAME, name)
    assert result is not None, "it was listed"
    seeds = int(result.table["n_seeds"].iloc[0])
    glossary.caption((f"± is a 95% interval over {seeds} seeds, each a sample of data, training and subsets."
                      if seeds > 1 else ONE_DRAW) + " CPU seconds, of all threads together, and memory are those of "
                     f"{plain(str(result.manifest['device']))}.")
    tables(result.table)
    downloads.chart_extras(f"{NAME}-{name}", result.table, command=str(result.manifest["command"]))


def _own(chosen: ScorecardChoice) -> None:
    """The board of the sidebar's model, or the button that starts it."""
    request = of_choice(chosen)
    answer = desk().known(request)
    if answer is None:
        glossary.markdown(f"**{len(request.methods)} methods** with their exact answers, models on subsets and "
                          f"removals; {guesses.expected(request)}.")
        st.button("Run the leaderboard", icon=":material/play_arrow:", key="card:board", on_click=job_panel.act,
                  args=(desk().start, request), disabled=bool(chosen.source.no_training))
        job_panel.untrained(chosen.source)
        return
    board = job_panel.beside(answer)
    if board is not None:
        glossary.caption(ONE_DRAW)
        tables(board.board)
        sizes, narrowed = request.sizes, chosen.source.model_copy(update={"n_candidates": request.sizes.candidates})
        downloads.chart_extras(NAME, board.board, command=commands.of_problem(
            NAME, narrowed, "--behavior", chosen.behavior, "--models", sizes.models, "--queries", sizes.queries,
            "--protocol", sizes.protocol, "--among", sizes.among, "--out", f"{NAME}.csv"))


def of_choice(chosen: ScorecardChoice) -> LeaderboardRequest:
    """What determines the board of the sidebar's model."""
    sizes = Sizes(candidates=chosen.sizes.candidates, models=chosen.sizes.models, fractions=(0.5,), queries=5,
                  removed=(0.1,), seeds=2, protocol=chosen.sizes.protocol, among=chosen.sizes.among)
    return LeaderboardRequest(sizes=sizes, behavior=chosen.behavior).of(chosen.source)


def tables(table: pd.DataFrame) -> None:
    """A row a method: all columns, then agreement with the exact answer to each question."""
    order = pick(BY, "Sorted by", [name for name in BOARD_COLUMNS if name in set(table["column"])], "lds",
                 lambda name: BOARD_COLUMNS[name].title)
    rows = sorted_by(table, order)
    st.dataframe(overview(table, rows), hide_index=True, width="stretch",
                 column_config=glossary.columns([one.title for one in BOARD_COLUMNS.values()]))
    chips.note(" · ".join(f"{one.title}: {one.definition}" for one in BOARD_COLUMNS.values()))
    st.markdown("**Agreement with the exact answer to each question**")
    st.dataframe(by_question(table, rows), hide_index=True, width="stretch")
    glossary.caption("● marks a method's own question. An empty cell has its reason in the column `note` of the table "
                     "below.")


def sorted_by(table: pd.DataFrame, column: str) -> list[str]:
    """Methods by a column, the best first, then those without a value, and the ceiling last."""
    own = _own_question(table) if column == "agreement" else table[table["column"] == column]
    means = own.groupby("method")["mean"].first().reindex(dict.fromkeys(table["method"]))
    means = means.sort_values(ascending=BOARD_COLUMNS[column].better == "smaller", na_position="last", kind="stable")
    return sorted(means.index, key=lambda name: name == CEILING)


def overview(table: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """A row a method, a column a measure; of agreement that with its own question."""
    titles = table.drop_duplicates("method").set_index("method")["title"]
    columns = {}
    for name, column in BOARD_COLUMNS.items():
        own = _own_question(table) if name == "agreement" else table[table["column"] == name]
        cells = {row["method"]: _cell(row) for _, row in own.drop_duplicates("method").iterrows()}
        columns["Own question" if name == "agreement" else column.title] = [cells.get(one, "") for one in rows]
    return pd.DataFrame({"method": [titles[one] for one in rows], **columns})


def by_question(table: pd.DataFrame, rows: list[str]) -> pd.DataFrame:
    """A row a method, a column an exact answer: Kendall's τ, ● where it is the method's own question."""
    own = table[(table["column"] == "agreement") & (table["against"] != "")]
    titles = table.drop_duplicates("method").set_index("method")["title"]
    columns = {}
    for code, cells in own.groupby("against", sort=False):
        texts = {row["method"]: _cell(row) + (" ●" if str(row["own"]) == "True" and _cell(row) else "")
                 for _, row in cells.iterrows()}
        columns[codes.decode(str(code)).title] = [texts.get(one, "") for one in rows]
    return pd.DataFrame({"method": [titles[one] for one in rows], **columns})


def _own_question(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["column"] == "agreement") & (table["own"].astype(str) == "True")]


def _cell(row: pd.Series) -> str:
    """`0.31 ± 0.04`, or with three digits where a measure has a unit; empty where there is none."""
    if pd.isna(row["mean"]):
        return ""
    if row["column"] in TWO_DIGITS:
        return card.with_half(row["mean"], row["ci95"])
    half = "" if pd.isna(row["ci95"]) else f" ± {row['ci95']:.1g}"
    return f"{row['mean']:.3g}{half}".replace("-", "−")
