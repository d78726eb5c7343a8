"""The kind of job that computes a request for a source, chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.basics.errors import Undifferentiable
from engine.basics.provenance import device_name
from engine.jobs import Context, JobKind, Output
from engine.question import direction
from engine.requests.prepared import SHARES, drawn_problem
from engine.requests.request import Request
from engine.store.results import Result

TRAINING = 0.1
"""The part of a chunk that its model's training takes, for the time that is left."""


def job_kind(kind: type[Request]) -> JobKind:
    """Its chunks are those of the request, of the problem that the payload's source draws."""
    def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
        asked = kind.of_payload(data)
        problem = asked.narrowed(drawn_problem(data, context, TRAINING).problem)
        facts = {"data": problem.fingerprint, "device": device_name(str(problem.device)), "refused": ""}
        try:
            part = kind.stored(asked.compute(problem, key, context.computing(kind.doing, TRAINING), context.store))
        except Undifferentiable as error:
            return Output(manifest={**facts, "refused": str(error)})
        return Output(part.tables, part.arrays, {**part.manifest, **facts})

    def finish(data: Mapping[str, Any], chunks: Mapping[str, Result], context: Context) -> Output:
        asked = kind.of_payload(data)
        first = chunks[asked.chunks[0]].manifest
        refused = next((chunks[key].manifest["refused"] for key in asked.chunks if chunks[key].manifest["refused"]), "")
        facts = {"data": first["data"], "device": first["device"], "source": data["source"],
                 "seeds": [data["source"]["seed"]], "refused": refused}
        if refused:
            return Output(manifest=facts)
        answer = kind.stored(asked.combine({key: kind.loaded(chunks[key]) for key in asked.chunks}))
        told = {direction.QUANTITY: dict(asked.quantities)} if asked.quantities else {}
        return Output(answer.tables, answer.arrays, {**answer.manifest, **facts, **told})

    return JobKind(kind.name, lambda data: kind.of_payload(data).chunks, run_chunk, finish,
                   lambda data, key: kind.of_payload(data).weight(key), shares=SHARES if kind.shared else None,
                   sketch=kind.sketch)


def answer_of(asked: Request, result: Result) -> Any:
    """The answer of a finished job, or the sentence that says why there is none."""
    return str(result.manifest["refused"]) if result.manifest.get("refused") else asked.loaded(result)
