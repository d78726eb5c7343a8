"""The list of the Runs page: one card a job, kept up to date while anything is under way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import streamlit as st

from app.runs import cluster, predicted, state
from app.widgets.frame.guard import guarded
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import moment, spell
from engine.desk.shelves import Job

BUSY, IDLE = 1.0, 15.0  # seconds between looks at the queue
SHOWN = 30
_CONFIRMING = "runs:to-delete"
STATES: Mapping[str, tuple[str, Literal["blue", "gray", "green", "red", "orange"], str]] = {
    "running": ("Running", "blue", ":material/play_circle:"),
    "queued": ("Waiting", "gray", ":material/schedule:"),
    "done": ("Finished", "green", ":material/check_circle:"),
    "failed": ("Failed", "red", ":material/error:"),
    "cancelled": ("Cancelled", "orange", ":material/pause_circle:"),
}
FILTERS = {"all": tuple(STATES), "active": ("running", "queued"), "failed": ("failed",), "cancelled": ("cancelled",)}
JUST = 3
"""Finished runs that stay on this page; all of them are in the library."""


def show() -> None:
    """The list, refreshed every second while anything is under way."""
    active = bool(desk().jobs.queue.jobs("queued", "running", limit=1))
    st.fragment(_list, run_every=BUSY if active else IDLE)(active)
    with guarded("The predicted times"):
        predicted.show(desk().jobs.queue.jobs("done"))


@guarded("The list of runs")
def _list(active: bool) -> None:
    jobs = sorted(desk().jobs.queue.jobs(), key=lambda job: (list(STATES).index(job.state) > 1, -_latest(job)))
    if any(job.active for job in jobs) != active:
        st.rerun()  # look more, or less, often
    if not jobs:
        _empty()
        return
    listed = _pieces(jobs, _filter(_shown(jobs)))
    _workers(jobs)
    _cancel_all(sum(job.active for job in jobs))
    cluster.show()
    for piece in listed[:SHOWN]:
        _card(piece[0]) if len(piece) == 1 else _batch_card(piece)
    if len(listed) > SHOWN:
        glossary.caption(f"{len(listed) - SHOWN} older runs are not shown; delete some, or filter by state.")
    if not listed:
        glossary.caption("No run is in this state.")


def _empty() -> None:
    with st.container(border=True):
        glossary.markdown("**Nothing has run yet.**")
        glossary.caption("Comparisons that take longer than a few seconds are listed here. To start, reproduce a "
                         "table of the paper with the form above; the small scale takes a few minutes.")


def _shown(jobs: list[Job]) -> list[Job]:
    """All but finished runs, the last `JUST` finished ones, and those whose result is missing."""
    done = [job for job in jobs if job.state == "done"]
    last = {job.id for job in sorted(done, key=_latest, reverse=True)[:JUST]}
    store = desk().jobs.store
    return [job for job in jobs if job.state != "done" or job.id in last or not store.has(job.id)]


def _filter(jobs: list[Job]) -> list[Job]:
    chosen = FILTERS[state.filter_of(list(FILTERS))]
    return [job for job in jobs if job.state in chosen]


def _workers(jobs: list[Job]) -> None:
    """A line on what there is and who computes; starts a worker where a run waits for one."""
    waiting = any(job.state == "queued" or job.stalled() for job in jobs)
    if waiting and (trouble := job_panel.worker_trouble()):
        st.error(trouble, icon=":material/error:")
    alive = desk().jobs.workers()
    counts = {name.lower(): sum(job.state == one for job in jobs) for one, (name, _, _) in STATES.items()}
    counted = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    if any(job.state == "done" for job in jobs):
        st.page_link("../pages/library.py", label="All finished runs are in the Library", icon=":material/bookmarks:",
                     query_params={"shelf": "runs"})
    glossary.caption(f"{counted}. " + (f"{alive} worker{'s are' if alive > 1 else ' is'} up." if alive else
                                       "No worker is running; one starts automatically when a run is queued."))


def _cancel_all(active: int) -> None:
    """One button for all that waits or runs, where that is more than one run."""
    if active > 1:
        st.button(f"Cancel all {active}", key="cancel-all", icon=":material/close:",
                  help="Finished parts are stored, so each run can be resumed.", on_click=job_panel.act,
                  args=(desk().jobs.queue.request_cancel_all,))


def _pieces(jobs: list[Job], listed: list[Job]) -> list[list[Job]]:
    """The listed jobs in their order; those that are parts of one piece of work together with all other parts of it."""
    batches: dict[str, list[Job]] = {}
    for job in jobs:
        batches.setdefault(job.batch or job.id, []).append(job)
    names = dict.fromkeys(job.batch or job.id for job in listed)
    return [sorted(batches[name], key=lambda job: (job.part, job.created)) for name in names]


def _batch_card(jobs: list[Job]) -> None:
    """One card for a piece of work, its parts inside."""
    states = {job.state for job in jobs}
    name, color, icon = STATES[next(one for one in STATES if one in (states - {"done"} or states))]
    with st.container(border=True, key=f"batch-{jobs[0].batch[:12]}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            glossary.markdown(f"**{plain(jobs[0].batch_title)}**", width="content")
            st.badge(name, color=color, icon=icon)
        glossary.caption(_batch_when(jobs))
        with st.container():
            if any(job.state != "done" for job in jobs):
                job_panel.batch_progress(jobs)
        with st.expander(f"{len(jobs)} parts", key=f"parts-{jobs[0].batch[:12]}"):
            for job in jobs:
                glossary.caption(f"**{plain(job.part)}** · {plain(job.title)} · {STATES[job.state][0]} · {_when(job)}")
                if not job.active:
                    _buttons(job, part=True)


def _card(job: Job) -> None:
    name, color, icon = STATES[job.state]
    with st.container(border=True, key=f"run-{job.id[:12]}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            glossary.markdown(f"**{plain(job.title)}**", width="content")
            st.badge(name, color=color, icon=icon)
        glossary.caption(_when(job))
        with st.container():  # one place, whatever it holds: the buttons below keep theirs
            _middle(job)
        _buttons(job)


def _middle(job: Job) -> None:
    if job.active:
        job_panel.progress(job)
    elif job.state in ("failed", "cancelled"):
        if job.state == "failed":
            st.error(sentence(job.error), icon=":material/error:")
        if job.total:
            glossary.caption(f"{job.done} of {job.total} parts are done and stored.")


def _buttons(job: Job, part: bool = False) -> None:
    """part: of a piece of work, whose progress offers to resume."""
    with st.container(horizontal=True):
        if job.active:
            job_panel.cancel_button(job)
        elif job.state == "done" and desk().jobs.store.has(job.id):
            if st.button("Open", key=f"open:{job.id}", icon=":material/visibility:"):
                state.open_run(job.id)
                st.rerun()
        elif job.state == "done":
            st.button("Compute again", key=f"again:{job.id}", icon=":material/replay:",
                      help="Its result is no longer in the store.", on_click=job_panel.act, args=(_requeue, job))
        elif not part:
            job_panel.resume_button(job)
        if not job.active:
            delete_button(job)


def _requeue(job: Job) -> None:
    desk().jobs.submit(job.kind, job.payload, job.title)


def delete_button(job: Job) -> None:
    """Deletes a run and its result after a second click; the first survives a refresh of the list."""
    if st.session_state.get(_CONFIRMING) != job.id:
        st.button("Delete", key=f"ask:{job.id}", icon=":material/delete:", on_click=_ask, args=(job.id,))
        return
    glossary.caption("Delete this run and its result? It can only be computed again.", width="content")
    st.button("Delete for good", key=f"delete:{job.id}", type="primary", on_click=job_panel.act, args=(_delete, job.id))
    st.button("Keep it", key=f"keep:{job.id}", on_click=_ask, args=(None,))


def _ask(job_id: str | None) -> None:
    st.session_state[_CONFIRMING] = job_id


def _delete(job_id: str) -> None:
    desk().jobs.queue.delete(job_id)
    state.close_run(job_id)


def _latest(job: Job) -> float:
    return max(job.queued, job.started or 0.0, job.finished or 0.0)


def _batch_when(jobs: list[Job]) -> str:
    """When the first part was requested, and, once none is active, when the last one ended and what all took."""
    text = _begun(min(jobs, key=lambda job: job.created))
    if any(job.active for job in jobs):
        return text
    ended = max((job.finished for job in jobs if job.finished is not None), default=None)
    return f"{text} · ended {moment(ended, st.context.timezone)} · took {spell(sum(job.spent for job in jobs))}"


def _begun(job: Job) -> str:
    begun = "requested by a page, at lower priority than your own runs," if job.background else "requested by you"
    return f"{begun} {moment(job.created, st.context.timezone)}"


def _when(job: Job) -> str:
    zone = st.context.timezone
    moments = [_begun(job)]
    if job.started is not None:
        moments.append(f"started {moment(job.started, zone)}")
    if not job.active and job.finished is not None:
        moments.append(f"{'finished' if job.state == 'done' else 'ended'} {moment(job.finished, zone)}")
        if job.spent:
            expected = job.predicted_estimate
            moments.append(f"took {spell(job.spent)}")
            moments += [f"predicted {guesses.spelled(expected)}"] if expected else []
    return " · ".join([*moments, f"digest {job.id[:12]}"])
