"""The review desk: flagged examples in rank order, one in focus, decided by key or click, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import streamlit as st

from app.noisy_labels import panel as noisy_panel
from app.noisy_labels import view as noisy_view
from app.widgets import cards, choice, glossary, job_panel, pictures
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.review import (
    FINE,
    LONGEST_NOTE,
    UNSURE,
    VERDICTS,
    WRONG,
    Decision,
    Review,
    cleaned,
)
from engine.applications.noisy_labels.source import NoisyData
from engine.data import Dataset
from engine.runs.noisy_labels import Scored

AT, BUT_NOT, HIDE, PAGE = "at", "not", "hide", "page"
CARDS = 12
NOT_KNOWN = -1
MARKS = {WRONG: "✗ wrong", FINE: "✓ fine", UNSURE: "? unsure"}
STYLE = """
<style>
.wf-desk { display: flex; flex-wrap: wrap; gap: .8rem 1.6rem; align-items: flex-start; }
.wf-desk .wf-near { display: flex; gap: .6rem; }
.wf-desk figure { margin: 0; font-size: .8rem; text-align: center; }
.wf-desk figcaption { margin-top: .15rem; }
.wf-desk h6 { margin: 0 0 .3rem; font-size: .84rem; font-weight: 600; opacity: .85; padding: 0; }
.wf-mark-wrong { color: light-dark(#B34E00, #F08A3C); font-weight: 600; }
.wf-mark-fine { color: light-dark(#00704F, #2FBF93); font-weight: 600; }
.wf-mark-unsure { color: light-dark(#0072B2, #56B4E9); font-weight: 600; }
.wf-ranks { columns: 13rem 3; font-size: .84rem; font-variant-numeric: tabular-nums; margin: 0; }
.wf-ranks div { break-inside: avoid; display: flex; justify-content: space-between; gap: .8rem; padding: .06rem 0; }
.wf-ranks .own { font-weight: 700; }
</style>
"""


def show(drawn: NoisyData, scored: Scored, pair: Pair) -> None:
    """The desk: filters, the example in focus, the queue, and the exports."""
    st.html(STYLE + cards.STYLE)
    review = Review(drawn)
    decisions = review.decisions()
    share, but_not, hide = _filters(scored, pair)
    rows = noisy_view.flagged(scored.suspicion, pair, share, but_not)
    open_rows = [int(row) for row in rows if int(row) not in decisions]
    glossary.caption(_summary(rows, decisions, open_rows, pair, but_not))
    if not len(rows):
        st.info("Every example that the first ranking flags is flagged by the other as well; choose another pair or a "
                "larger share.", icon=":material/filter_alt_off:")
    else:
        listed = open_rows if hide else [int(row) for row in rows]
        focus = _focus([int(row) for row in rows], open_rows)
        if focus is None:
            st.success("Everything flagged here is decided. Take a larger share, or look at what comes of it below.",
                       icon=":material/check:")
        else:
            _example(drawn, scored, review, decisions, pair, focus, [int(row) for row in rows])
        _queue(drawn, scored, decisions, pair, listed, focus)
    _exports(drawn, review, decisions)


def _filters(scored: Scored, pair: Pair) -> tuple[float, Pair | None, bool]:
    left, middle, right = st.columns([1, 1.2, 1], gap="large", vertical_alignment="bottom")
    with left:
        share = noisy_panel.share_picker()
    others = {"": None, **{other.title: other for other in scored.suspicion if other != pair}}
    key = choice.bound(BUT_NOT, "", choice.from_options(list(others)))
    if st.session_state[key] not in others:
        st.session_state[key] = ""
    with middle:
        title = st.selectbox("but not flagged by", list(others), key=key,
                             format_func=lambda text: text or "(no filter)",
                             help="Leaves out what the other ranking flags in the same share.")
    choice.keep(BUT_NOT, title)
    key = choice.bound(HIDE, False, lambda text: choice.from_options((1, 0))(text) == 1)
    with right:
        hide = st.toggle("Hide what is decided", key=key)
    choice.keep(HIDE, int(hide))
    return share, others[title], hide


def _summary(rows: np.ndarray, decisions: Mapping[int, Decision], open_rows: Sequence[int], pair: Pair,
             but_not: Pair | None) -> str:
    counts = {verdict: sum(decision.verdict == verdict for decision in decisions.values()) for verdict in VERDICTS}
    said = " · ".join(f"{count:,} {VERDICTS[verdict]}" for verdict, count in counts.items() if count) or "nothing yet"
    beside = f", not by {but_not.title}" if but_not else ""
    return (f"{len(rows):,} labels flagged by {pair.title}{beside} · {len(open_rows):,} of them to decide · decided so "
            f"far in these data: {said}")


def _focus(rows: list[int], open_rows: list[int]) -> int | None:
    """The example in focus: the one in the address, else the first that is not decided."""
    wanted = choice.one(AT, None, choice.within(0, 10**9))
    return wanted if wanted in rows else next(iter(open_rows), None)


def _example(drawn: NoisyData, scored: Scored, review: Review, decisions: Mapping[int, Decision], pair: Pair, row: int,
             rows: list[int]) -> None:
    names, given = drawn.dataset.class_names, int(drawn.evidence.y[row])
    with st.container(border=True):
        place = rows.index(row)
        mark = _mark(decisions.get(row))
        st.html(f'<div class="wf-known">{place + 1} of {len(rows)} flagged · training example {row:,} (row '
                f"{int(drawn.rows[row]):,} of the dataset) {mark}</div>")
        left, right = st.columns([1.25, 1], gap="large")
        with left:
            st.html(_looks(drawn, scored, row))
            st.html(ranks_html(noisy_view.all_ranks(scored.suspicion), pair, row, len(drawn.evidence.y)))
        with right:
            _decide(drawn, scored, review, decisions.get(row), row, given, names, rows)


def _looks(drawn: NoisyData, scored: Scored, row: int) -> str:
    """The picture with what is said of it, and the trusted examples that look most alike to the model."""
    names, given, said = drawn.dataset.class_names, int(drawn.evidence.y[row]), int(scored.predicted[row])
    picture = example(drawn.dataset, "train", int(drawn.rows[row]), 132, f"training example {row}")
    near = "".join(
        f"<figure>{example(drawn.dataset, drawn.trusted_split, int(drawn.trusted_rows[at]), 60, 'trusted example')}"
        f"<figcaption>{escape(names[int(drawn.evidence.trusted_y[at])])}</figcaption></figure>"
        for at in scored.nearest[row])
    lines = cards.facts([("given label", names[given]),
                         ("the model says", f"{names[said]}, with probability {scored.probability[row]:.2f}"),
                         ("p(given label)", f"{scored.own[row]:.2f}")])
    return (f'<div class="wf-desk"><div>{picture}</div><div>{lines}</div><div><h6>Nearest trusted examples</h6>'
            f'<div class="wf-near">{near}</div></div></div>')


def example(dataset: Dataset, split: str, index: int, side: int, alt: str) -> str:
    """A picture, or the first features where examples are none."""
    if dataset.image_shape is None:
        return cards.features(dataset.features(split, np.array([index]))[0], alt)
    return pictures.html(dataset, split, index, side, alt)


def ranks_html(all_ranks: Mapping[Pair, np.ndarray], chosen: Pair, row: int, n: int) -> str:
    """The rank under every specification, the chosen one in bold."""
    lines = "".join(f'<div class="{"own" if pair == chosen else ""}"><span>{escape(pair.title)}</span>'
                    f"<span>{int(ranks[row]):,}</span></div>" for pair, ranks in all_ranks.items())
    return (f'<div class="wf-desk"><div style="flex:1"><h6>Rank under each specification, of {n:,}</h6>'
            f'<div class="wf-ranks">{lines}</div></div></div>')


def _decide(drawn: NoisyData, scored: Scored, review: Review, before: Decision | None, row: int, given: int,
            names: Sequence[str], rows: list[int]) -> None:
    """The right label, a note, and the verdicts with their keys."""
    nearest = [int(drawn.evidence.trusted_y[at]) for at in scored.nearest[row]]
    guess = noisy_view.guess(given, int(scored.predicted[row]), nearest)
    if before is not None and before.verdict == WRONG:
        guess = before.label
    options = [NOT_KNOWN, *(label for label in range(len(names)) if label != given)]
    label = st.selectbox("Right label, if it is wrong", options, key=f"right:{row}",
                         index=options.index(NOT_KNOWN if guess is None else guess),
                         format_func=lambda place: "not known: remove it" if place == NOT_KNOWN else names[place])
    note = st.text_input("Note", before.note if before else "", key=f"note:{row}", max_chars=LONGEST_NOTE)
    right = None if label == NOT_KNOWN else label
    buttons = st.container(horizontal=True)
    for verdict, title, key, icon in ((WRONG, "Wrong label", "w", ":material/close:"),
                                      (FINE, "Fine", "f", ":material/check:"),
                                      (UNSURE, "Unsure", "u", ":material/question_mark:")):
        buttons.button(title, key=f"desk:{verdict}", icon=icon, shortcut=key,
                       type="primary" if verdict == WRONG else "secondary", on_click=job_panel.act,
                       args=(_take, review, row, verdict, right if verdict == WRONG else None, note, rows))
    further = st.container(horizontal=True)
    place = rows.index(row)
    further.button("Undo", key="desk:undo", icon=":material/undo:", shortcut="z", on_click=job_panel.act,
                   args=(_undo, review), disabled=not review.decisions(), help="Takes back the last decision.")
    further.button("", key="desk:back", icon=":material/chevron_left:", shortcut="Left", help="The one before",
                   disabled=place == 0, on_click=choice.keep, args=(AT, rows[max(0, place - 1)]))
    further.button("", key="desk:on", icon=":material/chevron_right:", shortcut="Right", help="The one after",
                   disabled=place == len(rows) - 1, on_click=choice.keep,
                   args=(AT, rows[min(len(rows) - 1, place + 1)]))
    glossary.caption("Keys: w wrong, f fine, u unsure, z undo, ← and → to move. Decisions are saved at once.")


def _take(review: Review, row: int, verdict: str, label: int | None, note: str, rows: list[int]) -> None:
    """Record a verdict, and go on to the next example that is not decided."""
    review.decide(row, verdict, label, note)
    decided = review.decisions()
    place = rows.index(row)
    following = next((other for other in [*rows[place + 1:], *rows[:place]] if other not in decided), None)
    choice.keep(AT, [] if following is None else following)


def _undo(review: Review) -> None:
    taken = review.undo()
    if taken is not None:
        choice.keep(AT, taken.row)


def _mark(decision: Decision | None) -> str:
    if decision is None:
        return ""
    return f'· <span class="wf-mark-{decision.verdict}">{MARKS[decision.verdict]}</span>'


def _queue(drawn: NoisyData, scored: Scored, decisions: Mapping[int, Decision], pair: Pair, rows: list[int],
           focus: int | None) -> None:
    """The flagged examples as cards, a page at a time; a click puts one in focus."""
    if not rows:
        return
    pages = -(-len(rows) // CARDS)
    home = rows.index(focus) // CARDS if focus in rows else 0
    page = min(pages, choice.one(PAGE, home + 1, choice.within(1, 10**6))) - 1
    if focus in rows and st.session_state.get("desk_focus") != focus:
        page = home
        choice.keep(PAGE, page + 1)
    st.session_state["desk_focus"] = focus
    names, ranking = drawn.dataset.class_names, noisy_view.all_ranks(scored.suspicion)[pair]
    with st.container(horizontal=True, gap="small", key="gallery"):
        for row in rows[page * CARDS:(page + 1) * CARDS]:
            with st.container(key=f"pick-{'chosen-' if row == focus else ''}desk-{row}", width=112, gap=None):
                said = int(scored.predicted[row])
                picture = example(drawn.dataset, "train", int(drawn.rows[row]), 72, f"training example {row}")
                arrow = "" if said == drawn.evidence.y[row] else f'<div class="faint">→ {escape(names[said])}</div>'
                st.html(f'<div class="wf-example">{picture}<div class="name">{escape(names[drawn.evidence.y[row]])}'
                        f'</div>{arrow}<div class="ranks">rank {int(ranking[row]):,}</div>{_mark(decisions.get(row))}'
                        "</div>")
                st.button(f"Look at training example {row}, given {names[drawn.evidence.y[row]]}, rank "
                          f"{int(ranking[row])}", key=f"look:{row}", on_click=choice.keep, args=(AT, row))
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button("", icon=":material/chevron_left:", key="desk:earlier", help="Higher ranks", disabled=page == 0,
                      on_click=choice.keep, args=(PAGE, page))
            st.button("", icon=":material/chevron_right:", key="desk:later", help="Lower ranks",
                      disabled=page >= pages - 1, on_click=choice.keep, args=(PAGE, page + 2))
            glossary.caption(
                f"{page * CARDS + 1}–{min(len(rows), (page + 1) * CARDS)} of {len(rows):,}; under each: given "
                "label, → what the model says, rank.")


def _exports(drawn: NoisyData, review: Review, decisions: Mapping[int, Decision]) -> None:
    with st.expander(f"Decisions ({len(decisions):,}), downloads and import", icon=":material/fact_check:"):
        if decisions:
            st.dataframe(review.table().drop(columns="data"), hide_index=True, width="stretch")
        row = st.container(horizontal=True)
        row.download_button("Review (CSV)", review.to_csv(), "review.csv", "text/csv", key="desk:csv",
                            icon=":material/download:", disabled=not decisions)
        row.download_button("Cleaned index (CSV)", cleaned(drawn, decisions).to_csv(index=False), "cleaned-index.csv",
                            "text/csv", key="desk:cleaned", icon=":material/download:",
                            help="The rows of the dataset's training split that stay, each with the label to use: "
                                 "corrected where you said so, without what is wrong and has no right label.")
        _import(review)
        glossary.caption(
            f"Decisions lie in your results folder under the fingerprint {drawn.fingerprint[:12]} of these "
            "pictures and labels; a review of other data is refused.")


def _import(review: Review) -> None:
    file = st.file_uploader("Import a review that was exported here", type=["csv"], key="desk:import")
    if file is None or st.session_state.get("desk_imported") == file.file_id:
        return
    st.session_state["desk_imported"] = file.file_id
    count = review.import_csv(file.getvalue())
    st.toast(f"{count:,} decisions were added.", icon=":material/check:")
    st.rerun()
