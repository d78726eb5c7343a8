"""How a page waits: a training model or a queued job, with progress, time left and a working cancel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import streamlit as st

from app.widgets.frame import trail
from app.widgets.frame.guard import guarded
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain, sentence
from app.widgets.words.times import spell
from engine.basics.errors import WhichfluenceError
from engine.desk import ProblemSource, Waiting
from engine.desk.shelves import Job

_WATCHED, _BEGUN = "_watched", "_begun_to_wait"


def duration(seconds: float | None) -> str:
    """Seconds left as people say them: `about 3 min left`; none are left of a run that takes longer than expected."""
    if seconds is None:
        return "time left unknown"
    return f"about {spell(seconds)} left" if seconds else "taking longer than estimated"


def wait(waiting: Waiting) -> None:
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
            glossary.caption("This waits for the run shown above.")
            return
        st.session_state[_WATCHED] = (*watched, waiting.job)
        trail.waits(waiting.job)
    with st.container(border=True):
        if waiting.job is not None:
            _job(waiting.job)
        elif waiting.source is not None:
            _training(waiting.what, waiting.source, waiting.needs)


def progress(job: Job) -> None:
    """How far a queued or running job is, how long it will take, and what keeps it from going on."""
    st.progress(min(1.0, job.share), text=f"{_chunks(job)} · {_state(job)}")
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


def cancel_button(job: Job) -> None:
    """Asks the job to stop; what it has finished is kept."""
    st.button("Stopping…" if job.cancel else "Cancel", key=f"cancel:{job.id}", icon=":material/close:",
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
        return "queued"
    if job.stalled():
        return "its worker stopped responding; it continues from its last finished part shortly"
    if job.done == job.total > 0:
        return "combining its parts"
    return duration(job.time_left())


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


OPTIMUM = ("The optimum is computed to a gradient norm below 1e-12, once for each choice of data; the embedded "
           "pictures take a second or two, 2,000 FashionMNIST images of full size about half a minute.")
HESSIAN = ("The Hessian is computed and factorised once for a model and its training data, in about twenty seconds "
           "for the 7,840 parameters of FashionMNIST in full size, more on a busy machine. Other pages stay usable.")
READ = "The trained model is loaded and evaluated once on its training data."


@st.fragment(run_every=1.0)
def _job(job_id: str) -> None:
    with guarded("This run"):
        _job_now(desk().jobs.queue.get(job_id))


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
