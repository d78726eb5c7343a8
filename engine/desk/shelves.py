"""What is kept on this machine as a front end lists it: saved views, finished runs, results and their files."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from collections.abc import Iterable

from engine.jobs import STORED_FRACTION, Job
from engine.jobs.cluster import Node, Running
from engine.library import SHELVES, Entry
from engine.library.views import seen
from engine.models.causal.finetune import TOOK
from engine.requests.scores import ScoresRequest
from engine.store import exports
from engine.store.comparisons import LONGEST_NAME, LONGEST_NOTE, Rows, Saved, address, save
from engine.store.comparisons import entries as comparisons
from engine.store.results import Result
from engine.store.sketch import Bars, Grid, Pictures, Sketch, Words


def matching(entries: Iterable[Entry], words: str, shelf: str, tag: str) -> list[Entry]:
    """Those of a shelf (empty: any) that have the tag (empty: any) and every one of the words."""
    wanted = words.casefold().split()
    return [entry for entry in entries if shelf in ("", entry.shelf) and (not tag or tag in entry.noted.tags)
            and all(word in f"{SHELVES[entry.shelf].title}\n{entry.text}".casefold() for word in wanted)]
