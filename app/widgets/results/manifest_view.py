"""The manifest behind a result, as a reader asks for it: what was computed, on what, and how well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.times import spell
from engine.basics import resident
from engine.basics.sizes import spell_bytes
from engine.basics.values import figures
from engine.desk import datasets
from engine.desk.noisy_labels import IN_TURN
from engine.desk.shelves import STORED_FRACTION, TOOK
from engine.scoring.convergence import Convergence

Facts = list[tuple[str, str]]


def show(manifest: Mapping[str, Any], name: str) -> None:
    """The facts, and the whole manifest as a file. `name` is the stem of its file name."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in facts(manifest))
    glossary.html(f'<dl class="wf-facts wf-num">{rows}</dl>')
    downloads.file_button("Manifest (JSON)", partial(json.dumps, manifest, indent=1, ensure_ascii=False),
                          f"{name}-manifest.json", "application/json", f"manifest:{name}",
                          icon=":material/fact_check:")


def facts(manifest: Mapping[str, Any]) -> Facts:
    """(term, text) of everything that the manifest tells; what it does not tell is left out."""
    runs = [run for run in manifest.get("runs", []) if isinstance(run, Mapping)]
    manifests = manifest.get("parts", [manifest])
    terms = [
        ("Scale", str(manifest.get("scale", ""))),
        ("Sizes", _sizes(manifest)),
        ("Seeds", ", ".join(map(str, manifest.get("seeds", [])))),
        ("Device", "; ".join(dict.fromkeys(str(one.get("device", "")) for one in manifests))),
        ("Computing time", _computing(manifest)),
        ("Training of the models", _training(runs)),
        ("Peak memory of the process", _memory(manifests)),
        ("Computed",
         ", ".join(str(one.get("written", "")).replace("T", " ").replace("Z", " UTC") for one in manifests)),
        *_convergence(runs),
        ("Versions", ", ".join(f"{name} {version}" for one in ("versions", "libraries")
                               for name, version in manifest.get(one, {}).items())),
        ("Digest of the run", str(manifest.get("study_digest") or manifest.get("digest") or "")),
    ]
    return [(term, text) for term, text in terms if text]


def _computing(manifest: Mapping[str, Any]) -> str:
    took = manifest.get("wall_seconds")
    return spell(took) + reused(manifest) if took else ""


def reused(manifest: Mapping[str, Any]) -> str:
    """What is added to the time of a run that reused a part of its work, which it does not count."""
    fraction = manifest.get(STORED_FRACTION, 0.0)
    return f", with {fraction:.0%} of the work cached" if fraction >= 0.005 else ""


def _training(runs: Sequence[Mapping[str, Any]]) -> str:
    """How long their language models were trained; a run that finds them on disk does not count it as its own time."""
    took = [run["facts"][TOOK] for run in runs if TOOK in (run.get("facts") or {})]
    return f"{spell(sum(took))}, for any run" if took and len(took) == len(runs) else ""


def _memory(manifests: Sequence[Mapping[str, Any]]) -> str:
    peaks = [one[resident.KEY] for one in manifests if one.get(resident.KEY)]
    if not peaks:
        return ""
    silent = "" if len(peaks) == len(manifests) else f", reported by {len(peaks)} of {len(manifests)} runs"
    return f"{spell_bytes(max(peaks))}{silent}"


def _sizes(manifest: Mapping[str, Any]) -> str:
    payload = manifest.get("payload") or {}
    sources = payload.get("settings", {}).get("sources") or ([payload["source"]] if "source" in payload else [])
    return "; ".join(dict.fromkeys(_source(source, payload.get("candidates")) for source in sources))


def _source(source: Mapping[str, Any], candidates: int | None) -> str:
    trusted = 0 if source.get("trusted_from") == IN_TURN else source.get("trusted", 0)
    train = source.get("n_train")
    counts = [(source.get("n_queries"), "queries"), (candidates or source.get("n_candidates"), "candidates")]
    counted = [f"{trusted:,} trusted examples of every class"] if trusted else []
    counted.append(f"{train:,} training examples" if train else f"all {'other ' if trusted else ''}training examples")
    counted += [f"{count:,} {noun}" for count, noun in counts if count]
    pool = source.get("pool", 1)
    pooled = f", pixels averaged over {pool}×{pool} squares" if pool > 1 else ""
    return f"{datasets.title(source['dataset'])}: {', '.join(counted)}{pooled}"


def _convergence(runs: Sequence[Mapping[str, Any]]) -> Facts:
    norms = [run["factual"]["gradient_norm"] for run in runs if "factual" in run]
    norms += [run["factual_gradient_norm"] for run in runs if "factual_gradient_norm" in run]
    accuracies = [run["factual"]["test_accuracy"] for run in runs if "factual" in run]
    convergences = [run["convergence"] for run in runs if "convergence" in run]
    flagged = [c["flagged"] if "flagged" in c else c["of"] - c["converged"] for c in convergences
               if "flagged" in c or "converged" in c]
    linear = [c["largest_residual"] for c in convergences if Convergence.is_relative(c)]
    norms_after = [c.get("largest_gradient_norm", c.get("largest_residual")) for c in convergences
                   if not Convergence.is_relative(c)]
    norms_after = [norm for norm in norms_after if norm is not None]
    return [
        ("Gradient norm of the trained model", f"at most {figures(max(norms), 2)}" if norms else ""),
        ("Its test accuracy", _span(accuracies)),
        ("Candidates flagged and left out", f"{sum(flagged):,}" if sum(flagged) else ("none" if flagged else "")),
        ("Largest gradient norm after re-optimisation", f"{figures(max(norms_after), 2)}" if any(norms_after) else ""),
        ("Largest relative residual of a linear system", f"{figures(max(linear), 2)}" if linear else ""),
    ]


def _span(numbers: Sequence[float]) -> str:
    if not numbers:
        return ""
    low, high = f"{min(numbers):.3f}", f"{max(numbers):.3f}"
    return low if low == high else f"{low} to {high} over seeds"
