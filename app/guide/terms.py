"""The glossary as a guide, made from what the registries say of themselves when it is read: one section a term."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from engine.basics.values import capital
from engine.desk.analyses import BENCHMARKS, PROTOCOLS
from engine.metrics.agreement import FURTHER, METRICS
from engine.question.behaviors import BEHAVIORS
from engine.question.glossary import TERMS
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.scoring import verdict
from engine.scoring.named import NAMED

_INTRODUCTION = """# Glossary

The terms of the workbench: behaviors (B), interventions (P), training processes (T), methods, metrics, verdicts,
benchmarks, and the words of pages and commands. A dotted word on a page links to its entry here.
"""
WORDS = {
    "verdict": "How two scorings differ: approximation error, specification mismatch, or both. It is derived from "
               "their specifications and from measured scores.",
    "resolution": "The error bound of a score, from the precision of its computation. A score below its resolution is "
                  "flagged.",
    "orientation": "The sign of what an intervention does to an example's weight: +1, and −1 for removal and negative "
                   "weights. Scores are compared after multiplication by it.",
    "agreement": "Kendall's τ, top-5% overlap and sign agreement of two rankings, per query, then averaged.",
    "exact": "Computed to a stated error bound: as the process is defined, or as an optimum or a linear system solved "
             "to a bound.",
    "noise floor": "The agreement between exact answers of two training seeds. Two methods whose rankings agree more "
                   "than this cannot be distinguished.",
    "path": "The sum of Kendall distances when behavior, intervention and training process change one at a time "
            "between two answers.",
    "direct difference": "The Kendall distance between two answers, without intermediate specifications.",
    "spot check": "An approximation compared with the exact answer for a sample of candidates and queries.",
    "group influence": "The effect of one intervention on several training examples at once, compared with the sum of "
                       "their single effects.",
    "consensus": "The mean rank of several methods for noisy labels.",
    "trusted examples": "Examples whose labels are verified, at which the behavior is read to find noisy labels.",
    "label noise": "Labels changed at random, at a stated noise rate, to measure detection.",
    "mismatched rationale": "A training record with the explanation of another record.",
    "query ablation": "Detection of poisoned records for each combination of query and target.",
    "baseline": "A ranking that implies no specification, such as random scores or BM25.",
    "implied specification": "The behavior, intervention and training process of the question that a method from the "
                             "literature answers.",
    "scale": "The size of a study: small is a quick check that the code runs, desk takes hours on two cores, paper "
             "has the paper's sizes.",
    "embedded": "Part of the program: data, models and results that need no download.",
    "seed": "It determines the sample of data, initial weights and batches. Intervals over seeds repeat all three.",
    "preset": "A named list of specifications, or the scale of a study.",
    "job": "A computation in the queue. A worker runs it in parts that are stored as they finish.",
}
"""Words that pages do not explain in a line where they stand."""
KINDS = {
    verdict.SAME: "Both scorings have equal scores, or the same ranking.",
    verdict.BOTH: "The questions differ and at least one answer is approximate.",
    verdict.NO_SPECIFICATION: "At least one ranking implies no specification, so there is no question to compare.",
    verdict.ANOTHER_RUN: "Exact answers to one question about different training runs.",
    verdict.APPROXIMATION: "The question is the same; at least one answer is approximate.",
    verdict.MISMATCH: "The questions differ in B, P or T; the verdict names the axes.",
}
ALIASES = {
    "Influence function": "influence functions, IF, inverse-Hessian-vector product, iHVP",
    "Leave-one-out": "LOO, leave one out retraining", "TracIn": "TracInCP, tracing gradient descent",
    "GradSim": "Grad-Dot, gradient dot product, gradient similarity",
    "RepSim": "representation similarity, feature similarity, embedding similarity",
    "TRAK": "tracing with the randomly projected after kernel", "EK-FAC": "EKFAC, influence function (EK-FAC)",
    "K-FAC": "KFAC, Kronecker factors", "conjugate gradients": "CG",
    "linear datamodeling score": "LDS, datamodels", "NTK": "neural tangent kernel",
    "Replay (metagradient)": "metagradients, differentiating through training, unrolled differentiation",
    "AUPRC": "average precision, area under the precision-recall curve", "AUROC": "AUC, ROC",
    "reoptimize": "re-optimisation, warm start", "retrain": "retraining from scratch",
    "Kendall": "Kendall tau, rank correlation",
    "label noise": "mislabelled, mislabeled, wrong labels, corrupted labels, noisy labels",
    "remove": "deletion, leave out, drop an example", "damping": "regularisation of the Hessian, ridge, λ",
}
"""Other names in the literature, for readers and for the search."""
SAME_AS = {"kendall tau": "Kendall", "spearman rho": "Spearman", "feature similarity": "RepSim",
           "reoptimize": "re-optimise", "neural tangent kernel": "NTK",
           "influence function (lissa)": "LiSSA", "influence function (arnoldi)": "Arnoldi",
           "influence function (ek-fac)": "EK-FAC", "influence function (cg)": "conjugate gradients"}
"""The term of `TERMS` under which a registered name stands, where their spelling differs."""


@dataclass(frozen=True)
class GlossaryEntry:
    """What one registry, or the list of words, says of a term."""

    heading: str
    kind: str
    text: str


@cache
def terms() -> str:
    """The guide as Markdown: the entries of each heading in one section, headings in alphabetical order."""
    sections: dict[str, list[GlossaryEntry]] = {}
    own = {term.casefold(): term for term in TERMS}
    for one in _entries():
        heading = SAME_AS.get(one.heading.casefold()) or own.get(one.heading.casefold(), one.heading)
        sections.setdefault(heading, []).append(one)
    ordered = sorted(sections.items(), key=lambda section: section[0].casefold())
    return _INTRODUCTION + "".join(_section(heading, entries) for heading, entries in ordered)


def _section(heading: str, entries: list[GlossaryEntry]) -> str:
    texts = "\n\n".join(" ".join(filter(None, [f"*{one.kind}.*" if one.kind else "", one.text])) for one in entries)
    also = {name for key, name in ALIASES.items() if key in (heading, *(one.heading for one in entries))}
    known = f"\n\nAlso: {'; '.join(sorted(also))}." if also else ""
    return f"\n## {capital(heading)}\n\n{texts}{known}\n"


def _entries() -> Iterator[GlossaryEntry]:
    """Every term, the short lines before what the registries say."""
    for term, line in (TERMS | WORDS).items():
        yield GlossaryEntry(term, "", line)
    for name, behavior in BEHAVIORS.items():
        yield GlossaryEntry(behavior.title, "Behavior (B)",
                    f"${behavior.formula}$: {behavior.clause.rstrip(',')}. {_named(name)}")
    for kind, intervention in INTERVENTIONS.items():
        fits = ", ".join(f"`{process}`" for process in intervention.fits)
        yield GlossaryEntry(_words(kind), "Intervention (P)", f"{_first(intervention)} With {fits}. {_named(kind)}")
    for kind, process in PROCESSES.items():
        yield GlossaryEntry(_words(kind), "Training process (T)", f"{_first(process)} {_named(kind)}")
    for name, metric in (*METRICS.items(), *FURTHER.items()):
        yield GlossaryEntry(metric.title, "Metric", f"{metric.definition} {_named(name)}")
    yield from _methods()
    for kind, text in KINDS.items():
        yield GlossaryEntry(kind, "Verdict", text)
    for benchmark in BENCHMARKS.values():
        yield GlossaryEntry(benchmark.title, "Benchmark", f"{benchmark.definition} {benchmark.question} "
                                                  f"Source: {benchmark.source}. {_named(benchmark.name)}")
    for name, protocol in PROTOCOLS.items():
        yield GlossaryEntry(f"Protocol {name}", "Training on subsets",
                    f"{protocol.definition} Its estimand: {protocol.estimand}")


def _methods() -> Iterator[GlossaryEntry]:
    for name, method in NAMED.items():
        implied = method.implied()
        question = (f"Implied specification: B {implied.axis('B')}, P {implied.axis('P')}, T {implied.axis('T')}."
                    if method.implies else "It implies no specification.")
        yield GlossaryEntry(method.title, "Method", f"{method.note} {question} Source: {method.source}. {_named(name)}")


def _named(name: str) -> str:
    return f"In commands and Python: `{name}`."


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _first(documented: type) -> str:
    """The first sentence of a docstring."""
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", " ".join((inspect.getdoc(documented) or "").split()))[0]
