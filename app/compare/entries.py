"""What a search for something to compare finds: methods by their names, questions by B, P and T, and what the reader
has: scores of other programs, a recorded run, saved comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from app.compare.aliases import ALIASES
from app.widgets.pickers import new_picker, parameters, pickers
from engine.basics.errors import WhichfluenceError
from engine.basics.settings import parsed
from engine.desk import ProblemSource, external, presets, shelves
from engine.desk.models import is_recording, recorded_runs
from engine.desk.refusals import refusal
from engine.question.behaviors import reading
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.question.specification import Specification
from engine.question.specification import fitting as fitting_to
from engine.scoring import codes
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

SAVED = 20
"""Saved comparisons that are searched, the newest ones."""


@dataclass(frozen=True)
class SearchEntry:
    """title: with all that it is searched by. Then one of: code, of a scoring; table, the digest of scores whose
    question is still open; run, a recorded run that is not in use; unfit, why it cannot be added here, as a sentence.
    """

    title: str
    code: str = ""
    table: str = ""
    run: str = ""
    unfit: str = ""


def entries() -> dict[str, SearchEntry]:
    """Key -> entry: methods, what the reader has, questions, and last the methods that this kind of model has not."""
    methods = {f"method:{name}": _method(method) for name, method in NAMED.items()}
    mine = {f"mine:{entry.title}": entry for entry in (*_runs(), *_imported(), *_saved())}
    return {**{key: entry for key, entry in methods.items() if not entry.unfit}, **mine,
            **{f"question:{entry.code}": entry for entry in _questions()},
            **{key: entry for key, entry in methods.items() if entry.unfit}}


def named(scoring: Scoring) -> NamedMethod | None:
    """The named method that a scoring is as the search adds it."""
    return next((method for method in NAMED.values() if _implied(method) == scoring), None)


def _implied(method: NamedMethod) -> Scoring | None:
    with suppress(WhichfluenceError):
        return presets.implied(method, pickers.problem_class())
    return None


def _method(method: NamedMethod) -> SearchEntry:
    title = " · ".join(dict.fromkeys((method.title, method.label, method.source, ALIASES[method.name])))
    scoring = _implied(method)
    if scoring is not None and _fits(scoring):
        return SearchEntry(title, codes.encode(scoring))
    reason = "" if scoring is None else refusal(_source(), scoring)
    return SearchEntry(f"{title} · not for this model", unfit=reason or _unfit(method))


def _unfit(method: NamedMethod) -> str:
    """Why the chosen kind of model does not have a method, and which kinds have it."""
    here, models = pickers.problem_class(), presets.answered_on(method)
    if here.kind in models:
        return f"{method.title} takes too long on {here.noun}; choose another method."
    return (f"{method.title} is not defined for {here.noun}. It can be computed on {' or '.join(models.values())}: "
            "choose such a model in the sidebar, or another method.")


def _fits(scoring: Scoring) -> bool:
    return scoring.behavior not in pickers.lacking() and (
        parsed(scoring.estimator)[0] in pickers.routes(scoring.specification)) and not refusal(_source(), scoring)


def _source() -> ProblemSource:
    return new_picker.applied(pickers.source())


def _questions() -> Iterator[SearchEntry]:
    """Every B, P and T that fit each other and the model, with the usual parameters, answered exactly where that is
    offered."""
    model, lacks, source = pickers.problem_class(), pickers.lacking(), _source()
    for done in pickers.sensible(INTERVENTIONS):
        for trained in pickers.sensible(fitting_to(done)):
            intervention = {"kind": done, **parameters.usual(INTERVENTIONS[done], model)}
            process = {"kind": trained, **parameters.usual(PROCESSES[trained], model)}
            for behavior in reading(model.reads):
                with suppress(WhichfluenceError):
                    specification = Specification.of(behavior, intervention, process)
                    routes = pickers.routes(specification)
                    if routes and behavior not in lacks:
                        scoring = Scoring.of(behavior, intervention, process, routes[0])
                        if refusal(source, scoring):
                            continue
                        yield SearchEntry(f"{scoring.title} · question", codes.encode(scoring))


def _runs() -> Iterator[SearchEntry]:
    """What is read off the steps of the recorded run that is in use, and the other ones of a network."""
    source, model = pickers.source(), pickers.problem_class()
    if is_recording(source.weights):
        for method in NAMED.values():
            scoring = _implied(method)
            steps = method.implies and {"checkpoints", "steps"} & set(PROCESSES[method.process].model_fields)
            if steps and scoring is not None and _fits(scoring):
                yield SearchEntry(f"{method.title} · of my recorded run {source.weights}", codes.encode(scoring))
    if not model.linear and model.reads != "tokens":
        yield from (SearchEntry(f"{name} · my recorded run", run=name) for name in recorded_runs()
                    if name != source.weights)


def _imported() -> Iterator[SearchEntry]:
    """Scores of other programs on this machine: as they were added before, and files whose question is open."""
    for scoring in external.imported():
        yield SearchEntry(f"{scoring.route.title} · my imported scores", codes.encode(scoring))
    for stored in external.entries():
        yield SearchEntry(f"{stored.file} · my file of scores, {stored.digest[:6]}", table=stored.digest)


def _saved() -> Iterator[SearchEntry]:
    """The specifications of saved comparisons, each once."""
    seen = set()
    for stored in shelves.comparisons()[:SAVED]:
        for code in stored.saved.parameters.get("s", ()):
            with suppress(WhichfluenceError):
                scoring = codes.decode(code)
                if code not in seen and (not scoring.route.computes or _fits(scoring)):
                    seen.add(code)
                    yield SearchEntry(f"{scoring.title} · of my comparison “{stored.saved.name}”", code)
