"""Pages without a browser: `open` runs one through AppTest, `texts` reads it, `select` stands for a chart click."""

from __future__ import annotations

import html
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.testing.v1 import AppTest

from app.widgets.jobs.desk import desk
from engine.jobs import run_job
from engine.jobs.estimate import Trace, crowd_now
from engine.jobs.traces import work_of
from engine.problems import source

ROOT = Path(__file__).parents[2]
TIMEOUT = 120
WAITS = "Training the model", "Loading the trained model"
MARK = re.compile(r'<(?:a|span) class="wf-term"[^>]*>([^<]*)</(?:a|span)>')
READ = ("title", "header", "subheader", "markdown", "caption", "text", "code", "success", "info", "warning", "error",
        "toast")


def open(page: str, /, state: Mapping[str, Any] | None = None, settle: bool = True, **address: Any) -> AppTest:
    """Page `page` ("compare") run with the address parameters; with `settle`, after training models are ready.

    A parameter given as a list stands several times in the address. `state` seeds the session.
    """
    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=TIMEOUT)
    for key, value in (state or {}).items():
        at.session_state[key] = value
    for name, value in address.items():
        several = isinstance(value, Sequence) and not isinstance(value, str)
        at.query_params[name] = [str(item) for item in value] if several else str(value)
    if page != "home":
        at.switch_page(f"../pages/{page}.py")
    at.run()
    return settled(at) if settle else at


def settled(at: AppTest, patience: float = TIMEOUT) -> AppTest:
    """Run again until no model is in training."""
    deadline = time.monotonic() + patience
    while any(wait in text for text in texts(at) for wait in WAITS) and time.monotonic() < deadline:
        time.sleep(0.3)
        at.run()
    return at


def select(at: AppTest, key: str, parameter: str, *points: Mapping[str, Any]) -> AppTest:
    """As if the reader had clicked `points` of the Altair chart with that key and named selection."""
    at.session_state[key] = {"selection": {parameter: list(points)}}
    return at.run()


def texts(at: AppTest) -> list[str]:
    """Every text on the page and in the sidebar, HTML included (the style sheet is not); one in which words are
    explained, a second time without those marks."""
    found = []
    for kind in READ:
        for element in at.get(kind):
            value = getattr(element, "value", None) or getattr(element, "body", None)
            if isinstance(value, str):
                found.append(value)
    found += [element.proto.body for element in at.get("html") if "<style>" not in element.proto.body]
    return found + [plain for text in found if (plain := MARK.sub(r"\1", text)) != text]


def says(at: AppTest, words: str) -> bool:
    """Whether any text on the page contains `words`, as written or as Markdown shows it."""
    return any(words in text or words in shown(text) for text in texts(at))


def shown(text: str) -> str:
    """A text as a reader sees it, where Markdown's own characters were escaped."""
    return html.unescape(re.sub(r"\\([^\w\s])", r"\1", text))


def sound(at: AppTest) -> AppTest:
    """The page itself, after an assertion that nothing was raised while it ran."""
    assert not at.exception, [error.message for error in at.exception]
    return at


def revealed(at: AppTest) -> AppTest:
    """The Learn page once the result of its lesson was asked for."""
    buttons = [button for button in sound(at).button if button.label == "Show the result"]
    return sound(settled(buttons[0].click().run())) if buttons else at


def scored(at: AppTest, most: int = 20) -> AppTest:
    """Run until the queued jobs of the page are done."""
    while (jobs := desk().jobs.queue.jobs("queued")) and most:
        for job in jobs:
            run_job(job.kind, job.payload)
            desk().jobs.queue.submit(job.kind, job.payload)
        at, most = at.run(), most - 1
    return sound(at)


def forget() -> None:
    """As in a process that has just begun: nothing of another test is kept in memory."""
    st.cache_resource.clear()
    st.cache_data.clear()
    source._LATEST.forget()


def finished_in(seconds: float, kind: str, payload: Mapping[str, Any]) -> None:
    """A run of the queue as if it had been computed in so many seconds; nothing is stored."""
    queue, work = desk().jobs.queue, work_of(kind, payload)
    job = queue.submit(kind, payload, "an earlier run")
    queue.claim("w")
    queue.finish(job.id, "w")
    with closing(sqlite3.connect(queue.root / "queue.sqlite")) as database, database:
        database.execute("UPDATE jobs SET started = 1000, finished = ?, spent = ? WHERE id = ?",
                         (1000 + seconds, seconds, job.id))
    queue.traces.record(job.id, Trace(work, seconds, seconds / crowd_now(), time.time(), crowd_now()))


def queued() -> list[str]:
    """The titles of the jobs that wait."""
    return [job.title for job in desk().jobs.queue.jobs("queued")]
