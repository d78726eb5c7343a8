"""Named methods of the literature, each with the specification it implies (paper, Table 1), and baselines with none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.basics.registry import Registry
from engine.scoring.scoring import Scoring


@dataclass(frozen=True)
class NamedMethod:
    """A method by its usual name: scoring(behavior, eta) gives the specification it implies.

    row: the estimator family of Table 1 it belongs to. Where the method fixes its behavior, `behavior`
    is that one; else the default. reads: whether it reads a behavior that is asked about; a similarity reads
    representations, and a baseline nothing.
    """

    name: str
    title: str
    row: str
    behavior: str
    source: str
    scoring: Callable[..., Scoring]
    reads: bool = True

    def answers(self, kind: str) -> bool:
        """Whether it can be computed on problems of a kind, by its name in `engine.problems.PROBLEMS`."""
        scoring = self.implied()
        return scoring.route.refusal(scoring.specification, kind) is None

    def implied(self, behavior: str | None = None, eta: float = 0.1, **process: float) -> Scoring:
        """Its scoring. process: values such as `damping` or `checkpoints` in place of its process's own; a process
        without them stays as it is."""
        scoring = self.scoring(behavior or self.behavior, eta)
        own = scoring.process.model_dump()
        changed = {name: value for name, value in process.items() if name in own}
        if not changed:
            return scoring
        return Scoring.of(scoring.behavior, scoring.intervention, {**own, **changed}, scoring.estimator)

    @property
    def implies(self) -> bool:
        """Whether it implies a specification; a baseline does not."""
        return self.implied().route.implies


def _gradient_similarity(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}, "first_order")


def _feature_similarity(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "auxiliary"}, {"kind": "one_step", "eta": eta})


def _cosine(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}, "cosine")


def _similarity(estimator: str) -> Callable[..., Scoring]:
    def scoring(behavior: str, eta: float) -> Scoring:
        return Scoring.of(behavior, {"kind": "auxiliary"}, {"kind": "one_step", "eta": eta}, estimator)

    return scoring


def _representer(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}, "representer")


def _trak(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "remove"}, {"kind": "retrain"}, "trak")


def _tracin(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": eta}, "first_order")


def _less(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": eta}, "less")


def _influence_function(solver: str) -> Callable[..., Scoring]:
    def scoring(behavior: str, eta: float) -> Scoring:
        return Scoring.of(behavior, {"kind": "infinitesimal"}, {"kind": "local_response"}, solver)

    return scoring


def _through_run(estimator: str) -> Callable[..., Scoring]:
    def scoring(behavior: str, eta: float) -> Scoring:
        return Scoring.of(behavior, {"kind": "infinitesimal"}, {"kind": "replay"}, estimator)

    return scoring


def _leave_one_out(behavior: str, eta: float) -> Scoring:
    return Scoring.of(behavior, {"kind": "remove"}, {"kind": "retrain"})


def _baseline(estimator: str) -> Callable[..., Scoring]:
    return lambda behavior, eta: Scoring.parse({"estimator": estimator})


TRAINING_RUN = "Training run"
NAMED: Registry[NamedMethod] = Registry("named method")
for _method in (
    NamedMethod("repsim", "Feature similarity", "Feature similarity", "query_logit", "paper, Eq. 4",
                _feature_similarity, reads=False),
    NamedMethod("repsim_cosine", "RepSim (cosine)", "Feature similarity", "query_logit", "Hanawa et al. 2021",
                _similarity("cosine"), reads=False),
    NamedMethod("ntk", "Neural tangent kernel", "Feature similarity", "query_logit", "Jacot et al. 2018",
                _similarity("ntk"), reads=False),
    NamedMethod("ntk_last_layer", "Tangent kernel, last layer", "Feature similarity", "query_logit",
                "Hanawa et al. 2021", _similarity("ntk_last_layer"), reads=False),
    NamedMethod("gradsim", "GradSim", "Gradient similarity", "query_loss", "Charpiat et al. 2019",
                _gradient_similarity),
    NamedMethod("gradsim_cosine", "GradSim (cosine)", "Gradient similarity", "query_loss", "Charpiat et al. 2019",
                _cosine),
    NamedMethod("representer", "Representer points", "Gradient similarity", "query_logit", "Yeh et al. 2018",
                _representer),
    NamedMethod("tracin", "TracIn", "Trajectory-based", "query_loss", "Pruthi et al. 2020", _tracin),
    NamedMethod("less", "LESS", "Trajectory-based", "response_loss", "Xia et al. 2024", _less),
    NamedMethod("influence_function", "Influence function", "Influence functions", "query_loss",
                "Koh and Liang 2017", _influence_function("exact")),
    NamedMethod("influence_function_cg", "Influence function (CG)", "Influence functions", "query_loss",
                "Martens 2010", _influence_function("cg")),
    NamedMethod("influence_function_cg_gauss_newton", "Influence function (Gauss–Newton CG)", "Influence functions",
                "query_loss", "Martens 2010", _influence_function("cg_gauss_newton")),
    NamedMethod("influence_function_lissa", "Influence function (LiSSA)", "Influence functions", "query_loss",
                "Agarwal et al. 2017", _influence_function("lissa")),
    NamedMethod("influence_function_arnoldi", "Influence function (Arnoldi)", "Influence functions", "query_loss",
                "Schioppa et al. 2022", _influence_function("arnoldi")),
    NamedMethod("influence_function_ekfac", "Influence function (EK-FAC)", "Influence functions", "query_loss",
                "Grosse et al. 2023", _influence_function("ekfac")),
    NamedMethod("influence_function_datainf", "DataInf", "Influence functions", "query_loss", "Kwon et al. 2024",
                _influence_function("datainf")),
    NamedMethod("influence_function_astra", "Influence function (ASTRA)", "Influence functions", "query_loss",
                "Wang et al. 2025", _influence_function("astra")),
    NamedMethod("source", "SOURCE", TRAINING_RUN, "query_loss", "Bae et al. 2024", _through_run("source")),
    NamedMethod("dvemb", "Data value embedding", TRAINING_RUN, "query_loss", "Wang et al. 2024",
                _through_run("dvemb")),
    NamedMethod("tracin_run", "TracIn over all steps", TRAINING_RUN, "query_loss", "Pruthi et al. 2020",
                _through_run("tracin_run")),
    NamedMethod("in_run_shapley", "In-run data Shapley", TRAINING_RUN, "query_loss", "Wang et al. 2024",
                _through_run("in_run_shapley")),
    NamedMethod("replay", "Replay (metagradient)", TRAINING_RUN, "query_loss", "Engstrom et al. 2025",
                _through_run("exact")),
    NamedMethod("trak", "TRAK", "Leave-one-out", "soft_margin", "Park et al. 2023", _trak),
    NamedMethod("loo", "Leave-one-out", "Leave-one-out", "query_loss", "Molinaro et al. 2005", _leave_one_out),
    NamedMethod("gradient_norm", "Gradient length", "Baselines", "none", "a baseline", _baseline("gradient_norm"),
                reads=False),
    NamedMethod("bm25", "BM25", "Baselines", "none", "Robertson and Zaragoza 2009", _baseline("bm25"),
                reads=False),
    NamedMethod("random", "Random", "Baselines", "none", "a baseline", _baseline("random"), reads=False),
):
    NAMED.add(_method.name, _method)
