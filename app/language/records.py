"""The records view: choosing a run, waiting for it, its ranked records, and one of them opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from app.charts import score_heatmap
from app.charts.draw import draw
from app.language import (
    data as language_runs,
)
from app.language import (
    panel as language_panel,
)
from app.language import (
    published as language_published,
)
from app.language import (
    table as language_table,
)
from app.language.data import Asked
from app.widgets import choice, downloads, glossary, job_panel
from app.widgets.selectors import pick, segments, text
from app.widgets.times import spell
from engine.applications.language import catalogue, models, rankings
from engine.applications.language.behaviors import LANGUAGE_BEHAVIORS
from engine.applications.language.estimators import LANGUAGE_ESTIMATORS, LanguageEstimator
from engine.applications.language.records import Record
from engine.applications.language.tasks import TASKS
from engine.basics.errors import InvalidInput
from engine.data import scienceqa
from engine.desk import Waiting
from engine.runs import language as language_run
from engine.store.results import home

FLAGS = {"answer": "wrong answer", "rationale": "foreign explanation", "poison": "poison", "benign": "benign trigger"}


def asked() -> Asked | None:
    """Task, model, size and query of a run; None, with a sentence, while something is missing."""
    names = list(TASKS)
    task = language_panel.task_switch(names)
    left, middle, right = st.columns([3, 2, 1])
    with left:
        local = models.available()
        default = local[0] if local else catalogue.SMALL_MODEL
        name = choice.one("model", default, model_name)
        options = list(dict.fromkeys([name, *local, catalogue.SMALL_MODEL, catalogue.PAPER_MODEL]))
        key = choice.bound("model", default, model_name)
        model = st.selectbox("Model", options, key=key, accept_new_options=True,
                             help="A name under WHICHFLUENCE_MODELS, a name on the Hugging Face hub, or a folder.")
        choice.keep("model", model)
    with middle:
        records = language_runs.SIZES[0] if task == "own" else pick(
            "records", "Training records", list(language_runs.SIZES), language_runs.SIZES[0], "{:,}".format, kind=int)
    with right:
        key = choice.bound("seed", 0, choice.within(0, 999))
        seed = st.number_input("Seed", 0, 999, key=key)
        choice.keep("seed", seed)
    try:
        file = _own_file() if task == "own" else ""
        if file is None:
            return None
        return Asked(task, model, records, seed, file, _typed())
    except InvalidInput as error:
        st.error(str(error), icon=":material/error:")
        return None


def model_name(text: str) -> str:
    """A model's name out of an address."""
    if not text.strip() or len(text) > 300:
        raise ValueError("name a model")
    return text


def _own_file() -> str | None:
    """The kept JSONL, by upload or by the address; None while there is none."""
    with st.expander("Your records", icon=":material/upload_file:", expanded=True):
        glossary.markdown("One JSON object a line: `prompt`, `response`, and if you like `spans` "
                          "(`{\"answer\": [start, end], \"explanation\": [start, end]}`, characters of the response), "
                          "`choices` (letters) and `flags`. The last eight lines are held out as queries.")
        given = st.file_uploader("JSONL", type=["jsonl", "json", "txt"], key="language:file")
        if given is not None:
            path = language_runs.keep_file(given.getvalue())
            choice.keep("file", Path(path).name)
    return choice.one("file", None, language_runs.kept_file)


def _typed() -> Record | None:
    """The typed query, or None for the task's own."""
    mine = segments("about", "Explain what the model does on", ["task", "mine"], "task",
                     {"task": "the task's held-out queries", "mine": "a prompt of mine"}.get)
    if mine == "task":
        return None
    prompt = text("prompt", "Prompt", "Which of these is a liquid?\nA: a rock\nB: orange juice", 110)
    response = text("response", "Response whose behavior is explained",
                     "Explanation: Orange juice takes the shape of its container. The answer is B.", 90)
    left, right = st.columns([1, 3])
    with left:
        answer = text("answer", "Answer letter (optional)", "B")
    with right:
        words = text("words", "Words of the response to explain (optional)",
                      "Orange juice takes the shape of its container.")
    return language_runs.typed(prompt, response, answer, words)


def run(wanted: Asked) -> dict[str, pd.DataFrame] | None:
    """The tables of a run; where there is none, how long it takes and a button, or how far it is."""
    if language_runs.result(wanted) is not None:
        return language_runs.tables(str(home()), wanted.digest)
    job = language_runs.job(wanted)
    if job is not None and job.state != "done":
        job_panel.watch(Waiting(wanted.title, job=job.id))
        return None
    with st.container(border=True):
        glossary.markdown(f"**This has not been computed yet.** It fine-tunes the model and caches gradients: about "
                          f"{spell(language_runs.seconds(wanted))} on two processor cores for a model of 135 million "
                          "parameters, less on a GPU. You can close the browser meanwhile, and cancel and resume.")
        found, said = (True, "") if wanted.task == "own" else scienceqa.available()
        if not found:
            st.warning(said, icon=":material/folder_off:")
        st.button("Start", type="primary", icon=":material/play_arrow:", key="language:start",
                  on_click=job_panel.act, args=(language_runs.start, wanted))
    return None


def records(wanted: Asked, tables: Mapping[str, pd.DataFrame], estimator: str, behavior: str) -> None:
    """The ranked records, one of them opened."""
    manifest = language_runs.result(wanted).manifest
    harmful = manifest["sign"] < 0 and wanted.typed is None
    names = [name for name in LANGUAGE_BEHAVIORS if name in manifest["behaviors"]]
    if behavior not in names and LANGUAGE_ESTIMATORS[estimator].behavioral:
        st.error(f"These queries lack the span that “{LANGUAGE_BEHAVIORS[behavior].title}” is read off; choose another "
                 "behavior.", icon=":material/error:")
        return
    facts = manifest["facts"]
    many = facts["truncated"]
    cut = (f" {many} {'was' if many == 1 else 'were'} longer than the context and lost the start of "
           f"{'its' if many == 1 else 'their'} prompt." if many else "")
    asked_about = "for your prompt" if wanted.typed else "averaged over the queries"
    st.subheader("Records that harm it most" if harmful else "Records that teach it")
    glossary.caption(f"{facts['records']:,} training records, {facts['tokens']:,} tokens, {facts['steps']} steps.{cut} "
                     "Rank 1 " + ("opposes" if harmful else "supports") + f" the behavior most, {asked_about}.")
    layer = language_panel.layer()
    table = language_table.listed(tables["records"], estimator, behavior, names, harmful, layer)
    shown = _filtered(table, behavior, names) if LANGUAGE_ESTIMATORS[estimator].behavioral else table
    if shown.empty:
        st.info("No record is in the top tenth of one and not of the other.", icon=":material/filter_alt_off:")
        return
    event = st.dataframe(
        shown.assign(**{"known as": shown["known as"].map(lambda text: FLAGS.get(text, text))}), hide_index=True,
        width="stretch", height=360, key=f"language:table:{wanted.digest[:8]}:{len(shown)}", on_select="rerun",
        selection_mode="single-row", alt=f"{len(shown)} training records by rank", column_config={
            "score": st.column_config.NumberColumn(format="%.2e"), "record": None,
            "prompt": st.column_config.TextColumn(width="medium"),
            "response": st.column_config.TextColumn(width="large")})
    _opened(wanted, tables, shown, event, estimator, behavior, names, harmful)
    if "detection" in tables:
        _detection(tables["detection"])
    downloads.chart_extras(f"records-{wanted.digest[:8]}", shown, command=wanted.command)
    with st.expander("The same in Python"):
        chosen = LANGUAGE_ESTIMATORS[estimator]
        column = language_run.column(estimator, behavior if chosen.behavioral else "none", layer)
        st.code(_python(wanted, column, harmful and chosen.directed), language="python", wrap_lines=True)


def _detection(found: pd.DataFrame) -> None:
    """How well each estimator and behavior finds the records whose flags are known, in this run alone."""
    with st.expander("How well the flagged records are found in this run"):
        table = found.rename(columns={"value": "mean"}).assign(ci95=float("nan"), n_seeds=1)
        sought = list(table["sought"].unique())
        for kind in sought:
            part = table[table["sought"] == kind]
            glossary.markdown(f"##### {language_panel.SOUGHT.get(kind, kind.capitalize())}")
            chance = float(part[part["metric"] == "share"]["mean"].iloc[0])
            shown = language_published.cells(part, "AUPRC", "behavior")
            draw(score_heatmap.score_heatmap, shown, "AUPRC", chance, key=f"language:own:{kind}",
                 alt=f"AUPRC by estimator and behavior, {kind}: " + "; ".join(
                     f"{row['row']}, {row['column']}: {row['value']}" for row in shown.to_dict("records")))
        glossary.caption("Area under the precision-recall curve; one seed. Chance is the share of flagged records.")
        downloads.chart_extras("detection-of-this-run", found[found["metric"] != "share"], title="As a table")


def _python(wanted: Asked, column: str, ascending: bool) -> str:
    """A program that makes the run and lists its records as the table does."""
    return ("from engine.experiments import language_run\n"
            "from engine.jobs import run_job\n\n"
            f"result = run_job(language_run.KIND, {wanted.payload!r})\n"
            f"records = result.table(\"records\").sort_values({column!r}, ascending={ascending})")


def _filtered(table: pd.DataFrame, behavior: str, names: Sequence[str]) -> pd.DataFrame:
    only = segments("filter", "Which", ["all", "found"], "all",
                     {"all": "All records", "found": "Found by one behavior, missed by another"}.get)
    if only == "all" or len(names) < 2:
        return table
    left, right = st.columns(2)
    title = {name: LANGUAGE_BEHAVIORS[name].title for name in names}.get
    first_default = "answer_logit" if "answer_logit" in names else names[-1]
    second_default = "response_loss" if first_default != "response_loss" else names[0]
    with left:
        first = pick("found", "Found by (in its top 10%)", list(names), first_default, title)
    with right:
        second = pick("missed", "Missed by (not in its top 10%)", list(names), second_default, title)
    return language_table.found_by(table, first, second, behavior)


def _opened(wanted: Asked, tables: Mapping[str, pd.DataFrame], shown: pd.DataFrame, event, estimator: str,
            behavior: str, names: Sequence[str], harmful: bool) -> None:
    """One record: its text with marks, and its rank under every behavior."""
    rows = event.selection.rows if event and event.selection else []
    listed = [int(row) for row in shown["record"]]
    if rows and rows[0] < len(listed) and (rows[0], len(listed)) != st.session_state.get("language:row"):
        st.session_state["language:row"] = (rows[0], len(listed))
        choice.keep("record", listed[rows[0]])
        st.session_state.pop(choice.widget("record"), None)
    if choice.one("record", listed[0], choice.within(0, 10**9)) not in listed:
        choice.keep("record", listed[0])
        st.session_state.pop(choice.widget("record"), None)
    place = {row: f"Rank {rank}: {' '.join(prompt.split())[:80]}"
             for row, rank, prompt in zip(listed, shown["rank"], shown["prompt"], strict=True)}
    row = pick("record", "Record", listed, listed[0], place.get, kind=int)
    record = tables["records"].iloc[row]
    tokens = pd.concat([tables["tokens"], language_runs.more_tokens(wanted, row)])
    own = tokens[(tokens["estimator"] == estimator) & (tokens["behavior"] == behavior) & (tokens["record"] == row)]
    rest = own[own["place"] == language_run.MOMENTUM]["contribution"].sum()
    own = own[own["place"] != language_run.MOMENTUM].sort_values("place")
    st.html(language_table.STYLE)
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.html(language_table.record_html(record, own))
        st.html(language_table.key(len(own) > 0, bool(language_table.changed(record)), json.loads(record["marks"])))
        glossary.caption(_shading(LANGUAGE_ESTIMATORS[estimator], own["contribution"], rest))
        if own.empty and not LANGUAGE_ESTIMATORS[estimator].whole:
            _shade_it(wanted, row)
        if len(own):
            downloads.chart_extras(f"tokens-{row}", own[["place", "text", "contribution"]],
                                   title="The tokens as a table")
    with right:
        ranks = language_table.ranks(tables["records"], estimator, names, language_panel.layer()).iloc[row]
        count = len(tables["records"])
        turned = harmful and LANGUAGE_ESTIMATORS[estimator].directed
        glossary.markdown(f"**Rank under each behavior**, {LANGUAGE_ESTIMATORS[estimator].label}")
        st.dataframe(pd.DataFrame({
            "behavior": [rankings.behavior_title(name) for name in ranks.index],
            "rank": [int(count + 1 - rank if turned else rank) for rank in ranks]}), hide_index=True, width="stretch",
            alt="Rank of this record under each behavior",
            column_config={"rank": st.column_config.ProgressColumn(format=f"%d of {count}", min_value=0,
                                                                   max_value=count)})


def _shading(estimator: LanguageEstimator, parts: pd.Series, rest: float) -> str:
    """What the shades mean, or why there are none."""
    if estimator.whole:
        return f"No token is shaded. {estimator.whole}"
    if parts.empty:
        return "Tokens are shaded at once for the records at either end of a ranking; this one is in between."
    text = (f"Shading: what each response token adds to this record's {estimator.label} score, the tokens together "
            f"**{parts.sum():+.2e}**")
    if not estimator.conditioned:
        return f"{text}, which is the score."
    return (f"{text}. The optimizer's momentum, which no token brings, adds {rest:+.2e}; the sum is the score. How far "
            "Adam shortens a step is held at what the whole record makes of it.")


def _shade_it(wanted: Asked, row: int) -> None:
    """A button that computes the contributions of one record's tokens, and how far it is."""
    job = language_runs.shading(wanted, row)
    if job is not None and job.state != "done":
        job_panel.watch(Waiting(f"Tokens of record {row}", job=job.id))
    else:
        st.button("Shade its tokens", key=f"language:shade:{row}", icon=":material/gradient:", on_click=job_panel.act,
                  args=(language_runs.shade, wanted, row), help="A run of about a minute for a model of 135 million "
                  "parameters; its training and gradients are there already.")
