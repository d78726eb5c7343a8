"""How a page waits: a training model or a queued job, with progress, time left and a working cancel."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import streamlit as st

from app.widgets.frame import trail
from app.widgets.frame.guard import guarded
from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import spell
from engine.basics.errors import WhichfluenceError
from engine.desk import ProblemSource, Waiting
from engine.desk.shelves import Job

_WATCHED, _BEGUN, _DRAWN = "_watched", "_begun_to_wait", "_drawn_with"
APART = 3.0
"""Seconds between two runs of a page that shows what is finished of its work."""


def duration(seconds: float | None, interval: tuple[float, float] | None = None) -> str:
    """Seconds left as people say them: `about 3 min left`, `2 to 9 min left` where that is uncertain; none are left of
    a run that takes longer than expected."""
    if seconds is None:
        return "time left unknown"
    if not seconds:
        return "taking longer than estimated"
    return f"{guesses.span(seconds, *(interval or (seconds, seconds)))} left"


def wait(waiting: Waiting) -> NoReturn:
    """Show what is going on, and stop the page here; it runs again by itself when the wait is over."""
    watch(waiting)
    st.stop()


def ready(answer: Any) -> Any:
    """The answer of a desk; what has to be waited for stops the page here."""
    if isinstance(answer, Waiting):
        wait(answer)
    return answer


def beside(answer: Any, refused: str = "") -> Any:
    """The answer of a desk; None, with what is waited for or why there is none, on a page that goes on. refused: begins
    the sentence on why."""
    if isinstance(answer, Waiting):
        watch(answer)
    elif isinstance(answer, str):
        st.warning(f"{refused}{sentence(answer)}", icon=":material/block:")
    else:
        return answer
    return None


def untrained(source: ProblemSource) -> None:
    """Below a button that would train models anew: why it is greyed, where the model cannot be."""
    if source.no_training:
        st.warning(source.no_training, icon=":material/block:")


def begin() -> None:
    """Nothing is watched yet in this run of a page."""
    st.session_state[_WATCHED] = ()


def watch(waiting: Waiting) -> None:
    """Show what is going on beside a page that goes on; it runs again by itself when the wait is over. What is watched
    in another place of the page already has its progress and its *Cancel* there."""
    if waiting.job is not None:
        watched = st.session_state.get(_WATCHED, ())
        if waiting.job in watched:
            glossary.caption("Waiting for the run shown above.")
            return
        st.session_state[_WATCHED] = (*watched, waiting.job)
        trail.waits(waiting.job)
    with st.container(border=True):
        if waiting.batch:
            _batch(waiting)
        elif waiting.job is not None:
            _job(waiting.job, waiting.partial)
        elif waiting.source is not None:
            _training(waiting.what, waiting.source, waiting.needs)


def progress(job: Job, name: str = "") -> None:
    """How far a queued or running job is, how long it will take, and what keeps it from going on. name: what it is
    called among others."""
    st.progress(min(1.0, job.share), text=f"{name}{_chunks(job)} · {_state(job)}")
    if job.state == "running" and job.message and "/" not in job.message:  # the name of a part says nothing here
        glossary.caption(sentence(job.message))
    trouble = worker_trouble() if job.state == "queued" else ""
    if trouble:
        st.error(sentence(trouble), icon=":material/error:")


def worker_trouble() -> str:
    """Starts a worker where none lives; a sentence on why there is none, empty where all is well."""
    try:
        return desk().jobs.trouble()
    except WhichfluenceError as error:
        return str(error)


def batch_progress(jobs: Sequence[Job]) -> None:
    """How far a piece of work is, with each of its parts that is not done, and what stops all of it or one."""
    left = [job for job in jobs if job.state != "done"]
    active = [job for job in left if job.active]
    done = sum(job.share for job in jobs) / len(jobs)
    st.progress(min(1.0, done), text=f"{len(jobs) - len(left)} of {len(jobs)} parts done · {_batch_left(active)}")
    for job in left:
        with st.container(horizontal=True, vertical_alignment="center"):
            with st.container():
                if job.active:
                    progress(job, f"{plain(job.part)}: ")
                else:
                    glossary.caption(f"{plain(job.part)}: {job.state}. {sentence(job.error)}")
            if job.active:
                cancel_button(job, "Cancel this part")
            else:
                resume_button(job)
    if len(active) > 1:
        st.button("Cancel all", key=f"cancel-batch:{jobs[0].batch}", icon=":material/close:",
                  help="Finished parts are stored, so it can be resumed.", on_click=act,
                  args=(desk().jobs.queue.request_cancel_batch, jobs[0].batch))


def _batch_left(active: Sequence[Job]) -> str:
    """The time that is left of all parts, as far as it is known of each; ends of independent parts add at most."""
    if not active:
        return "stopped"
    lefts = [_left(job) for job in active]
    known = [left for left in lefts if left is not None]
    if len(known) < len(lefts):
        return duration(None)
    return duration(*_sum(known))


def _sum(lefts: Sequence[tuple[float, float, float]]) -> tuple[float, tuple[float, float]]:
    seconds, low, high = (sum(ends) for ends in zip(*lefts, strict=True))
    return seconds, (low, high)


def _left(job: Job) -> tuple[float, float, float] | None:
    """Seconds left of a job that runs or waits, with their interval; None where that is not known."""
    if job.state == "running":
        seconds = job.time_left()
        return None if seconds is None else (seconds, *(job.interval_left() or (seconds, seconds)))
    estimate = job.predicted_estimate
    return None if estimate is None else (estimate.seconds, estimate.low, estimate.high)


def cancel_button(job: Job, label: str = "Cancel") -> None:
    """Asks the job to stop; what it has finished is kept."""
    st.button("Stopping…" if job.cancel else label, key=f"cancel:{job.id}", icon=":material/close:",
              disabled=job.cancel, help="Finished parts are stored, so it can be resumed.",
              on_click=act, args=(desk().jobs.queue.request_cancel, job.id))


def resume_button(job: Job) -> None:
    """Queues a failed or cancelled job again."""
    st.button("Resume", key=f"resume:{job.id}", icon=":material/play_arrow:",
              help="Continues after the last finished part.", on_click=act, args=(desk().jobs.resume, job.id))


def act(action: Callable[..., object], *arguments: object) -> None:
    """Do what a button asks for, as its callback; a fault is said in a toast."""
    try:
        action(*arguments)
    except WhichfluenceError as error:
        st.toast(sentence(error), icon=":material/error:", duration="long")


def ended(job: Job) -> None:
    """How a failed or cancelled job ended."""
    if job.state == "failed":
        st.error(f"This run failed: {sentence(job.error)}", icon=":material/error:")
    else:
        st.info("This run was cancelled; its finished parts are stored.", icon=":material/pause_circle:")


def _chunks(job: Job) -> str:
    return f"{job.done} of {job.total} part{'' if job.total == 1 else 's'} done" if job.total else "not started yet"


def _state(job: Job) -> str:
    if job.cancel:
        return "stopping"
    if job.state == "queued":
        left = _left(job)
        return "queued" + (f", takes {guesses.span(*left)}" if left else "")
    if job.stalled():
        return "its worker stopped responding; it continues from its last finished part shortly"
    if job.done == job.total > 0:
        return "combining its parts"
    return duration(job.time_left(), job.interval_left())


def _since(source: ProblemSource, needs: str) -> float:
    """When this session began to wait for it."""
    begun = st.session_state.setdefault(_BEGUN, {})
    return begun.setdefault((source.key, needs), time.monotonic())


@st.fragment(run_every=1.0)
def _training(what: str, source: ProblemSource, needs: str) -> None:
    ahead = desk().ahead(source, needs)
    if ahead is None:
        st.rerun()
    glossary.markdown(f"**{plain(what)}…**" if not ahead else
                      f"**{plain(what)}:** {ahead} other training{'s' if ahead > 1 else ''} first…")
    glossary.caption(f"For {spell(max(1.0, time.monotonic() - _since(source, needs)))} now. "
                     + (HESSIAN if needs else OPTIMUM if source.problem_class.convex else READ))
    st.skeleton(height=120)


OPTIMUM = ("The optimum is computed to a gradient norm below 1e-12, once per choice of data; the embedded images take "
           "a second or two, 2,000 full-size FashionMNIST images about half a minute.")
HESSIAN = ("The Hessian is computed and factorised once for a model and its training data, in about twenty seconds "
           "for the 7,840 parameters of full-size FashionMNIST, more on a busy machine. Other pages stay usable.")
READ = "The trained model is loaded and evaluated once on its training data."


@st.fragment(run_every=1.0)
def _job(job_id: str, partial: bool = False) -> None:
    with guarded("This run"):
        job = desk().jobs.queue.get(job_id)
        if partial and job is not None:
            _again_where_more(job_id, job.done)
        _job_now(job)


@st.fragment(run_every=1.0)
def _batch(waiting: Waiting) -> None:
    """A piece of work; the page runs again whenever a part is done, and where the model of another part is trained."""
    if waiting.source is not None and desk().ahead(waiting.source, waiting.needs) is None:
        st.rerun()
    with guarded("This run"):
        jobs = desk().jobs.queue.batch(waiting.batch)
        done = sum(job.state == "done" for job in jobs)
        if done == len(jobs):  # none where they were deleted
            st.rerun()
        _again_where_more(waiting.batch, done)
        for job in jobs:
            if job.stalled():
                desk().jobs.ensure_worker()
        glossary.markdown(f"**{plain(jobs[0].batch_title)}**")
        batch_progress(jobs)


def _again_where_more(name: str, done: int) -> None:
    """Run the page again where more of what it waits for is done than when it was last drawn, not more often than every
    few seconds."""
    seen = st.session_state.setdefault(_DRAWN, {})
    before, since = seen.get(name, (done, 0.0))
    if done > before and time.monotonic() - since > APART:
        seen[name] = done, time.monotonic()
        st.rerun()
    seen.setdefault(name, (done, time.monotonic()))


def _job_now(job: Job | None) -> None:
    if job is None or job.state == "done":
        st.rerun()
    glossary.markdown(f"**{plain(job.title)}**")
    if not job.active:
        ended(job)
        resume_button(job)
        return
    if job.state == "running" and job.stalled():
        desk().jobs.ensure_worker()
    with st.container():  # one place, whatever it holds: the button below keeps its own
        progress(job)
    cancel_button(job)
