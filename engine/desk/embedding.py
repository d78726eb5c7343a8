"""The map of a drawn problem's training set: at once, or the job that draws it."""

from __future__ import annotations

from engine.analysis.embedding import METHODS, Embedding, embedding
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import DrawnProblem
from engine.runs import embedding as runs


def asked_embedding(desk: Desk, drawn: DrawnProblem, method: str, dimensions: int) -> Embedding | Waiting:
    """Computed at once where the method is quick, else a job. Raises as `embedding` does."""
    source = drawn.source
    if METHODS[method].quick:
        def compute() -> Embedding:
            with desk.computing:
                return embedding(drawn.problem, method, dimensions)

        return desk.memory.kept(("embedding", source.key, method, dimensions), compute)
    payload = runs.payload(source, method, dimensions)
    result = desk.jobs.result(runs.KIND, payload)
    if result is not None:
        return runs.load(result)
    return desk.jobs.wait(runs.KIND, payload, f"Map by {METHODS[method].title} in {dimensions} dimensions, "
                                              f"{problem_title(source)}")
