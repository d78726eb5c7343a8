"""What the dialog says of a specification before it is added: its question, what answers it with which settings, and
what that costs here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from app.compare import entries
from app.widgets.jobs import guesses
from app.widgets.jobs.desk import desk
from app.widgets.pickers import new_picker, pickers
from app.widgets.words import chips, glossary
from engine.basics.settings import declared, parsed
from engine.basics.values import short
from engine.scoring.scoring import ESTIMATORS, Scoring

AT_ONCE = 1.0


def show(scoring: Scoring, listed: Sequence[Scoring]) -> None:
    """listed: the specifications that it would join."""
    chips.question(scoring)
    rows = {"answered by": _answered(scoring), "settings": _settings(scoring), "cost here": _cost(scoring, listed)}
    glossary.html('<dl class="wf-facts wf-num">' + "".join(
        f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in rows.items() if text) + "</dl>")


def _answered(scoring: Scoring) -> str:
    method, route = entries.named(scoring), scoring.route
    if not route.computes:
        return f"{route.title}, scores of another program"
    kind = f"{route.title}, a baseline" if not route.implies else "exact" if route.exact else (
        f"{route.title}, approximate")
    known = f" Known as {method.title} ({method.source})." if method else ""
    return f"{kind}. {method.note if method else route.note}{known}"


def _settings(scoring: Scoring) -> str:
    if not scoring.route.computes:
        return ""
    name, given = parsed(scoring.estimator)
    of = ESTIMATORS[name].settings
    if of is None:
        return "none"
    values = of.read(given, name).model_dump()
    return " · ".join(f"{setting.label} {_said(values[field])}" for field, setting in declared(of).items())


def _said(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _cost(scoring: Scoring, listed: Sequence[Scoring]) -> str:
    if not scoring.route.computes:
        return "none; the scores are stored"
    source, optima = new_picker.applied(pickers.source()), pickers.optima_candidates()
    count = desk().candidate_count(source, [*listed, scoring], optima)
    over = f" for {count:,} candidates" if count else ""
    seconds = desk().guessed(source, [scoring], count)
    if seconds is None:
        return "known once the model is trained"
    seeds = pickers.seed_count()
    if not seconds:
        return f"none{over}; the scores are already computed"
    live = seconds * seeds <= source.problem_class.live_seconds
    time = "under a second" if live and seconds * seeds < AT_ONCE else guesses.between(seconds * seeds)
    narrows = bool(listed) and count != desk().candidate_count(source, listed, optima)
    fewer = " Fewer candidates are then ranked for the whole list." if narrows else ""
    return (f"{time}{over}{f' and {seeds} seeds' if seeds > 1 else ''}, estimated for two CPU cores"
            + ("." if live else "; it runs as a job.") + fewer)
