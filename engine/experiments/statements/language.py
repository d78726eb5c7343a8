"""What the paper concludes about language models: Figure 5-2, Tables 5-2, A-14, A-15 and A-17."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from engine.applications.language.detection import TOP
from engine.experiments.statements.preferred import same_preference
from engine.experiments.statements.rows import Missing, TableRows
from engine.experiments.statements.statement import Clause, Statement

RESPONSE, EXPLANATION, LOGIT, MARGIN = "Response loss", "Explanation loss", "Answer logit", "Answer margin"
ESTIMATORS = ("GradSim", "TracIn", "TRAK", "LESS")
MIDDLE = ("L24", "L28", "L32")


def _auprc(rows: TableRows) -> TableRows:
    return rows.where(metric="AUPRC")


def reversed_by_corruption(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Means over estimators: logit − explanation loss for wrong answers, explanation loss − margin for rationales."""
    rows = _auprc(experiments["figure-5-2"]).where(lambda row: row["method"] in ESTIMATORS)

    def mean(corruption: str, behavior: str) -> np.ndarray:
        return rows.where(corruption=corruption, behavior=behavior).mean()

    return [Clause.of("wrong answers, answer logit − explanation loss", mean("answer", LOGIT) - mean("answer",
                                                                                                     EXPLANATION)),
            Clause.of("mismatched rationales, explanation loss − answer margin",
                      mean("rationale", EXPLANATION) - mean("rationale", MARGIN))]


def preferred(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """The count of groups of Table 5-2 that agree with the paper's shading."""
    return [same_preference(experiments["table-5-2"], "table_5_2_a12_a13_conditional_backdoor.csv")]


def logit_beats_losses(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """TracIn with the answer logit − with either loss."""
    rows = _auprc(experiments["table-5-2"]).where(method="TracIn")
    return [Clause.of(f"against the {behavior.lower()}", rows.seeds(behavior=LOGIT) - rows.seeds(behavior=behavior))
            for behavior in (RESPONSE, EXPLANATION)]


def similarity_takes_benign(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """The fraction of benign triggers that RepSim ranks in its top 10%, which would be 10% by chance."""
    rows = experiments["table-5-2"].where(metric="BT-FPR")
    return [Clause.of("in RepSim's top 10%", rows.seeds(method="RepSim"), TOP)]


def best_pair_cuts_attack(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """Attack reduction of the pair with the largest poison recall − that of each other method's pair with its largest.

    Raises `Missing` where only one estimator was run.
    """
    rows = experiments["table-a14"].where(lambda row: row["method"] != "Oracle")
    recall = rows.where(metric="Poison recall")
    best = {method: own.largest()["behavior"] for method, own in recall.split("method")}
    leader = recall.where(lambda row: row["behavior"] != "none").largest()["method"]
    if len(best) < 2:
        raise Missing("This scale has removals by one estimator only.")
    reduction = {method: rows.seeds(metric="Attack reduction", method=method, behavior=behavior)
                 for method, behavior in best.items()}
    return [Clause.of(f"{leader} with the {best[leader].lower()} − {method}", reduction[leader] - values)
            for method, values in reduction.items() if method != leader]


def only_the_matching_query(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """TracIn with the answer logit, triggered query with harmful target − each other crossing."""
    rows = _auprc(experiments["table-a15"]).where(method="TracIn", behavior=LOGIT)
    matching = rows.seeds(query_trigger="triggered", target="harmful")
    return [Clause.of(f"against the {query} query with the {target} target",
                      matching - rows.seeds(query_trigger=query, target=target))
            for query, target in (("triggered", "clean"), ("clean", "harmful"), ("clean", "clean"))]


def both_signals_help(experiments: Mapping[str, TableRows]) -> list[Clause]:
    """RepSim with both signals − RepSim alone, averaged over the paper's middle layers."""
    rows = _auprc(experiments["table-a17"]).where(lambda row: row["layer"] in MIDDLE)
    both, alone = rows.where(method="RepSim + both (l2)"), rows.where(method="RepSim")
    return [Clause.of(f"wrong {kind}", own.mean() - alone.where(corruption=kind).mean())
            for kind, own in both.split("corruption")]


_AUPRC = "difference of AUPRC"
STATEMENTS = (
    Statement("reversed-by-corruption", "Wrong answers are detected better with the answer logit than with the "
              "explanation loss, mismatched rationales better with the explanation loss than with the answer margin.",
              ("figure-5-2",), _AUPRC, reversed_by_corruption, ((LOGIT, EXPLANATION), (MARGIN, EXPLANATION))),
    Statement("preferred-backdoor", "In most (method, metric) groups the poison is detected best with the behavior "
                                    "that the paper names.", ("table-5-2",), "fraction of (method, metric) groups "
                                                                             "that prefer it", preferred,
              tuple(combinations((RESPONSE, EXPLANATION, LOGIT, MARGIN), 2))),
    Statement("logit-beats-losses", "TracIn detects the poison better with the answer logit than with either loss.",
              ("table-5-2",), _AUPRC, logit_beats_losses, ((LOGIT, RESPONSE), (LOGIT, EXPLANATION))),
    Statement("similarity-takes-benign", "Similarity picks benign triggers more often than chance.", ("table-5-2",),
              "fraction of benign triggers", similarity_takes_benign),
    Statement("best-pair-cuts-attack", "Removing the records of the pair with the largest recall reduces the attack "
                                       "more than removing those of the best pair of any other method.",
              ("table-a14",), "attack success",
              best_pair_cuts_attack),
    Statement("only-the-matching-query", "TracIn with the answer logit detects the poison best with the triggered "
                                         "query and the harmful target.",
              ("table-a15",), _AUPRC, only_the_matching_query),
    Statement("both-signals-help", "Similarity detects corrupted records better with both signals.",
              ("table-a17",), _AUPRC, both_signals_help),
)
