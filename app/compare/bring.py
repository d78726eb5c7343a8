"""“Import scores of other programs”: files become specifications of the list, each with its claim, name and sign."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePath

import pandas as pd
import streamlit as st

from app.compare import external_files, external_form, recipes
from app.compare.external_form import ImportForm
from app.widgets.choices import choice
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers, specification_list
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain, sentence
from engine.basics.errors import WhichfluenceError
from engine.basics.values import signed
from engine.desk import Problem, ProblemSource, commands, external
from engine.desk.external import ExternalScores, SavedTable, Table, claim_json
from engine.scoring import codes
from engine.scoring.scoring import Scoring

CORNER = 8
CLAIM, CALLED, SIGN = "claim", "called", "sign"
"""Choices of an address of an earlier version, which held one table beside the list, with `axes`, `stand` and
`against`."""
EARLIER = (CLAIM, CALLED, SIGN, "axes", "stand", "against")


def notice(scorings: Sequence[Scoring]) -> None:
    """Says at the head of the page what a link names and this machine lacks; the panel below takes it in."""
    lacking = [scoring.route.title for scoring in scorings
               if not scoring.route.computes and external.facts(scoring) is None]
    if lacking:
        named = ", ".join(f"“{plain(name)}”" for name in lacking)
        st.warning(f"The scores {named} are not on this machine. Upload their file again under *Import "
                   "scores of other programs*, at the foot of this page.", icon=":material/link_off:")


def show(source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None) -> None:
    """Scripts, upload, what waits to be imported, and what is imported. candidates: how many of the source's are
    ranked."""
    waiting = external_files.waiting()
    imported = [scoring for scoring in scorings if not scoring.route.computes]
    panel = st.expander("Import scores of other programs", icon=":material/upload_file:", key="bring:panel",
                        expanded=bool(waiting or recipes.chosen()), on_change="rerun")
    with panel, glossary.folded(), guarded("Scores of other programs"):
        glossary.caption(
            "Score tables for these queries and training examples, as written by captum, TRAK, kronfluence, dattri, "
            "pyDVL, bergson or your own program; you can upload several files. Each becomes a specification in the "
            "list and appears in every view. Files are stored on this machine, by content, until you delete them. "
            "See the [guide](guide?guide=other-libraries).")
        if not (panel.open or waiting or source.problem_class.convex or desk().holds(source)):
            return  # a closed panel trains nothing
        problem = job_panel.ready(desk().sampled(source)).problem
        _sizes(problem, source)
        recipes.show(problem, source.model)
        external_files.uploader(problem, candidates)
        ready = [one for digest in waiting if (one := _waiting(digest, problem, source, candidates, scorings))]
        if len(ready) > 1:
            st.button(f"Add all {len(ready)} to the comparison", type="primary", icon=":material/playlist_add:",
                      key="bring:all", on_click=_add, args=(ready,))
        for scoring in imported:
            _imported(scoring, source)


def _sizes(problem: Problem, source: ProblemSource) -> None:
    glossary.markdown(
        f"A table needs **{len(problem.queries):,} queries** and **{len(problem.candidates):,} candidates**"
        + (f" (or all {problem.n:,} training examples)." if problem.n != len(problem.candidates) else
           ", named, or in the order of the candidates or of the training set.")
        + (f" These are of seed {source.seed}; imported scores belong to one seed."
           if pickers.seed_count() > 1 else ""))


def _waiting(digest: str, problem: Problem, source: ProblemSource, candidates: int | None, scorings: Sequence[Scoring]
             ) -> tuple[str, ExternalScores, Scoring] | None:
    """One table that waits, with its form; (its digest, the scores, their scoring) once all is said."""
    with st.container(border=True, key=f"bring-{digest[:12]}"), guarded("This table"):
        table, stored = external_files.table(digest)
        fitting = external.of_table(problem, candidates, table)
        if external.restores(fitting, table, scorings):
            external_files.leave_out(digest)
            st.rerun()
        glossary.markdown(f"**{plain(stored.file)}** · {external_files.shape(stored)}"
                          + (f", array {plain(table.name[:60])}" if table.name else "") + f" · `{digest[:12]}`")
        draft = _draft(digest, table, stored, fitting, source, candidates, scorings)
        imported = external_form.form(draft, scorings)
        if imported and _is_earlier() and imported[1].route.facts["brought"]["sign_decided"]["by"] != "the user":
            _add([(digest, *imported)])
            st.rerun()
        row = st.container(horizontal=True)
        row.button("Add to the comparison", type="primary", icon=":material/add:", key=f"bring:add:{digest}",
                   disabled=imported is None, on_click=_add, args=([(digest, *imported)] if imported else [],))
        row.button("Exclude", icon=":material/close:", key=f"bring:leave:{digest}",
                   on_click=external_files.leave_out, args=(digest,))
        with row.popover("Preview", icon=":material/table:"):
            _corner(table)
        return (digest, *imported) if imported else None
    return None


def _draft(digest: str, table: Table, stored: SavedTable, problem: Problem, source: ProblemSource,
           candidates: int | None, scorings: Sequence[Scoring]) -> ImportForm:
    guessed = external.guess(table, stored.file, source.problem_class)
    others = [scoring.route.title for scoring in scorings if not scoring.route.computes]
    name = external.names([*others, stored.file])[-1]
    facts = {"file": stored.file, "table": digest, "first_row": table.first_row.kind, "key": stored.key}
    draft = ImportForm.of(f"bring:{digest}", table, problem, source, candidates, name, guessed, facts)
    return _earlier(draft) if _is_earlier() else draft


def _is_earlier() -> bool:
    """Whether the address says of a table what one of an earlier version said."""
    return any(choice.is_set(name) for name in (CLAIM, CALLED, SIGN))


def _earlier(draft: ImportForm) -> ImportForm:
    """With what the address of an earlier version says of its one table."""
    claim, because = draft.claim, draft.because
    for text in choice.texts(CLAIM)[-1:]:
        with suppress(WhichfluenceError):
            claim, because = codes.decode(text), ""
    name = (choice.texts(CALLED)[-1:] or [draft.name])[0][:external.LONGEST_NAME] or draft.name
    sign = {"1": "plus", "-1": "minus"}.get((choice.texts(SIGN)[-1:] or [""])[0], "")
    return ImportForm(draft.key, draft.table, draft.problem, draft.source, draft.candidates, name, claim, because, sign,
                      draft.facts)


def _add(ready: Sequence[tuple[str, ExternalScores, Scoring]]) -> None:
    """Store the scores and put them into the list; only what was asked of them is forgotten."""
    for digest, held, scoring in ready:
        external.added(held, scoring)
        specification_list.add(scoring)
        external_files.leave_out(digest)
    for name in EARLIER:
        choice.forget(name)


def _imported(scoring: Scoring, source: ProblemSource) -> None:
    """What is known of scores of the list: what they claim, how their sign was decided, and how they are read again."""
    held, known = external.facts(scoring), scoring.route.facts["brought"]
    with st.container(border=True, key=f"bring-in-{known['scores'][:12]}-{scoring.digest[:6]}"):
        glossary.markdown(f"**{plain(scoring.route.title)}**"
                          + (f" · from {plain(str(held.facts.get('file', '')))}" if held else ""))
        glossary.html(chips.html(scoring.exact_answer))
        if held is None:
            return
        st.caption(sentence(decided(scoring, held)))
        if note := held.facts.get("note"):
            st.caption(sentence(note))
        st.button("Exclude", icon=":material/close:", key=f"bring:remove:{scoring.digest}",
                  on_click=specification_list.remove_scoring, args=(scoring,),
                  help="Removes the scores from this list; the file stays stored.")
        st.code(recompute(source, scoring, held), language="bash", wrap_lines=True)


def decided(scoring: Scoring, held: ExternalScores) -> str:
    """Who or what decided the sign, and by which reference."""
    known = scoring.route.facts["brought"]
    by, reference = known["sign_decided"], held.facts.get("sign_decided", {})
    said = f"Sign read as {known['sign']} ({external.MEANING[known['sign']]}); decided by {by['by']}"
    if by["agreement_with_reference"] is not None:
        said += f", τ = {signed(by['agreement_with_reference'], 3, '+')}"
        if round(reference.get("agreement_with_reference") or 2.0, 3) == by["agreement_with_reference"]:
            said += f" with {reference['reference']}, {reference['reference_quality']}"
    return f"{said}."


def recompute(source: ProblemSource, scoring: Scoring, held: ExternalScores) -> str:
    """The commands that read the file again, as scores.npz for `compare`, `explain` and `scorecard`."""
    facts, known = held.facts, scoring.route.facts["brought"]
    file, written = commands.problem_file(source)
    given = ["bring", "--scores", facts.get("file", "scores"), "--data", file, "--spec", "claim.json", "--out",
             "imported.npz", "--name", known["name"], *(["--key", facts["key"]] if facts.get("key") else []),
             *(["--first-row", facts["first_row"]] if PurePath(facts.get("file", "")).suffix.lower() == ".csv" else []),
             "--axes", facts.get("axes", "auto"), "--order", facts.get("order", "auto"), "--sign", known["sign"]]
    return "\n".join([written, f"echo {shlex.quote(claim_json(scoring.specification))} > claim.json",
                      f"python -m engine {shlex.join(given)}"])


def _corner(table: Table) -> None:
    r, c = table.values.shape
    rows = table.candidates
    columns = list(map(str, range(min(c, CORNER)))) if rows is None or len(rows) != c else [
        f"z{row}" for row in rows[:CORNER]]
    st.dataframe(pd.DataFrame(table.values[:CORNER, :CORNER], columns=columns), width="stretch",
                 key=f"bring:corner:{external.digest_of(table)}")
