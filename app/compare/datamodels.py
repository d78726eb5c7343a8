"""The linear datamodeling score on the Compare page: models that were really trained on subsets, as a job."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.widgets.choices.selectors import pick
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips, glossary, labels
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import Waiting, commands
from engine.desk.analyses import (
    DATAMODELING,
    PROTOCOLS,
    Among,
    ProtocolName,
    Retrained,
    SubsetModelsRequest,
    predicted,
)
from engine.desk.compared import Compared
from engine.metrics.agreement import summarize
from engine.scoring.scoring import Scoring

SUBSETS = 30
HALVES: dict[Among, str] = {"candidates": "the candidates", "all": "all training examples"}


def show(compared: Compared, names: Sequence[str]) -> None:
    """The score of every specification, once the models are trained; before that, a button that trains them."""
    glossary.markdown("**Do the scores predict models trained on subsets?**", help=DATAMODELING)
    source = compared.sources[0]
    worded = tuple(scoring.behavior for scoring in compared.scorings if scoring.readout.words)
    protocol, among = _chosen()
    request = SubsetModelsRequest(candidates=len(compared.scores[0][0].candidates), subsets=SUBSETS, behaviors=worded,
                                  protocol=protocol, among=among).of(source)
    models = desk().known(request)
    if isinstance(models, Retrained):
        _table(compared, names, request, models)
        return
    plain = request.model_copy(update={"behaviors": ()})
    if worded and isinstance(others := desk().known(plain), Retrained):
        _table(compared, names, plain, others)
    if isinstance(models, Waiting):
        job_panel.watch(models)
        return
    st.button(f"Train {SUBSETS} models on random halves of {HALVES[among]}", icon=":material/model_training:",
              on_click=job_panel.act, args=(desk().start, request), disabled=bool(source.no_training),
              help="The linear datamodeling score compares summed scores with the behavior of such models.")
    job_panel.untrained(source)


def _method(name: str, scoring: Scoring) -> str:
    """The method's name behind its number in the list, where the literature has one."""
    known = labels.known_as(scoring)
    return f"{name.split('. ', 1)[0]}. {known}" if known else name


def _chosen() -> tuple[ProtocolName, Among]:
    """By which protocol models are trained, and what their subsets are drawn from."""
    left, right = st.columns(2, gap="large")
    protocol = pick("ldsprotocol", "Training on a subset", list(PROTOCOLS), "weights",
                    lambda name: f"{name}: {PROTOCOLS[name].title}", area=left)
    among = pick("ldsamong", "Subsets are halves of", list(HALVES), "candidates", HALVES.get, area=right)
    glossary.caption(f"{PROTOCOLS[protocol].definition} Its estimand: {PROTOCOLS[protocol].estimand}")
    return protocol, among


def _table(compared: Compared, names: Sequence[str], request: SubsetModelsRequest, models: Retrained) -> None:
    scored = compared.scores[0]
    try:
        pairs = predicted([scores.scoring for scores in scored])
    except WhichfluenceError as error:
        st.info(sentence(error))
        return
    outcomes = {behavior.name for behavior in models.read}
    pairs = [(index, behavior) for index, behavior in pairs if not behavior.words or behavior.name in outcomes]
    if any(scores.scoring.readout.words and scores.scoring.behavior not in outcomes for scores in scored):
        chips.note("Spans and contrasts are left out: these models were evaluated for the other behaviors only. Train "
                   "models again to include them.")
    if not pairs:
        return
    rows = []
    for index, behavior in pairs:
        summary = summarize(models.score(scored[index], behavior.name), interval_over="queries")
        rows.append({"method": _method(names[index], compared.scorings[index]),
                     "specification": compared.scorings[index].specification.title, "behavior": behavior.title,
                     "linear datamodeling score": summary.mean, "± 95%": summary.ci95,
                     "queries": summary.n_queries - summary.n_dropped})
    table = pd.DataFrame(rows)
    columns = glossary.columns(table, {
        "linear datamodeling score": st.column_config.NumberColumn(format="%.3f", help=DATAMODELING),
        "± 95%": st.column_config.NumberColumn(format="%.3f", help="95% t interval over queries")})
    st.dataframe(table, hide_index=True, width="stretch", key="compare:datamodel", column_config=columns)
    draw, source = request.draw, compared.sources[0]
    trained_on = draw.description(source.n_train or len(source.draw()[1].train_index), models.members.shape[1])
    chips.note(f"seed {source.seed} · {len(models.members)} models on {trained_on} · protocol `{draw.protocol}` · "
               "± is a 95% t interval over queries")
    downloads.chart_extras("datamodel", table, compared.scorings, command=commands.compare(
        compared.ranked_sources[0], "datamodel", "datamodel", "--subsets", len(models.members), "--protocol",
        draw.protocol, "--among", draw.among))
