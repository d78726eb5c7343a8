"""What the paper's names mean: in the literature that it cites, in its text, and in its authors' code.

A name is audited by the paper's own method: each reading is a formula with the B, P and T that it implies, its source,
and what computes it here. Where two readings imply different specifications, the same name answers two questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from engine.basics.registry import Registry
from engine.experiments.language import CHECKPOINTS_AT
from engine.problems import CausalProblem, ModuleProblem, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import PROCESSES
from engine.scoring.named import NAMED, OF_TOKENS
from engine.scoring.scoring import Scoring

LITERATURE, TEXT, CODE = "literature", "text", "code"
READINGS: Mapping[str, str] = {LITERATURE: "the literature", TEXT: "the paper's text", CODE: "the authors' code"}
LANGUAGE, NETWORK, CONVEX = CausalProblem.kind, ModuleProblem.kind, SoftmaxProblem.kind
"""The kinds of models on which readings are compared."""
CHECKPOINTS = 3
"""How many the trainings store on which readings are compared; of a language model those of `CHECKPOINTS_AT`."""
REPOSITORY = "plumprc/Influence_Estimation at c201215"


@dataclass(frozen=True)
class Meaning:
    """One reading of a name. formula: of a score, up to its sign and a factor of the query. behavior, intervention,
    process: the B, P and T that it implies, in words. source: where it stands. method, reads, fields: the named method,
    the behavior instead of its own and the fields of its process that compute it here; method empty where none does.
    """

    formula: str
    behavior: str
    intervention: str
    process: str
    source: str
    method: str = ""
    reads: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def scoring(self, kind: str) -> Scoring | None:
        """What computes it here on a kind of model; None where this program has no such method, behavior or setting."""
        named = dict(NAMED).get(self.method)
        if named is None or not named.implies or not set(self.fields) <= set(PROCESSES[named.process].model_fields):
            return None
        behavior = self.reads or (OF_TOKENS.get(named.behavior, named.behavior) if kind == LANGUAGE else named.behavior)
        return named.implied(behavior, **{"checkpoints": CHECKPOINTS, **self.fields}) if behavior in BEHAVIORS else None


@dataclass(frozen=True)
class PaperName:
    """A name of the paper. note: what the three readings make of it, in a sentence. on: the kind of model on which they
    are compared here."""

    title: str
    note: str
    meanings: Mapping[str, Meaning] = field(hash=False)
    on: str = LANGUAGE

    @property
    def scorings(self) -> dict[str, Scoring]:
        """The readings that this program computes, on the models where they are compared."""
        known = {reading: meaning.scoring(self.on) for reading, meaning in self.meanings.items()}
        return {reading: scoring for reading, scoring in known.items() if scoring is not None}

    @property
    def pairs(self) -> dict[tuple[str, str], tuple[Scoring, Scoring]]:
        """The pairs of readings that are different scorings; of two equal readings the first."""
        distinct: dict[Scoring, str] = {}
        for reading, scoring in self.scorings.items():
            distinct.setdefault(scoring, reading)
        return {(distinct[a], distinct[b]): (a, b) for a, b in combinations(distinct, 2)}


ONE_MORE, WEIGHT, READOUT_RAISED = "one more occurrence of z_k", "infinitesimal weight on z_k", "auxiliary loss −f(x_k)"
FINAL, NOTHING_SAID = "one step at the final model", "not stated; as in the literature"
QUERY = "the query's loss (any behavior)"
RESPONSE = "any of its four behaviors, mean over queries"
TRUSTED = "any of its three behaviors, mean over trusted examples"
_STEP = Meaning("⟨∇B(q), ∇ℓ(z_k)⟩", QUERY, ONE_MORE, FINAL, "Charpiat et al. 2019", "gradsim")
_LESS = Meaning("Σ_t η_t cos(∇B(q; θ_t), Γ(z_k; θ_t)), Γ Adam's update from its moments", "loss of the response",
                ONE_MORE, "one Adam update of unit norm at every checkpoint", "Xia et al. 2024", "less")
_TRAK = Meaning("φ_B(q)ᵀ (ΦᵀΦ)⁻¹ φ(z_k) (1 − p_k), φ random projections of ∇ log(p/(1 − p))", "log p/(1 − p)",
                "removal of z_k", "retraining, as a logistic regression on φ", "Park et al. 2023", "trak")

NAMES: Registry[PaperName] = Registry("name of the paper", {
    "gradsim": PaperName("GradSim", "One meaning; the difference is which parameters' gradients are taken.", {
        LITERATURE: _STEP,
        TEXT: Meaning("⟨∇B(q), ∇ℓ(z_k)⟩", QUERY, ONE_MORE, FINAL, "Equation 6; Appendix A-2", "gradsim"),
        CODE: Meaning("⟨mean ∇B, ∇ℓ(z_k)⟩, unsketched", RESPONSE, ONE_MORE,
                      "one step at the final model, of all adapters, or of the last block and head",
                      f"{REPOSITORY}: scoring.py", "gradsim")}),
    "tracin": PaperName("TracIn", "The code weights a checkpoint by the learning rate of that one step, which has "
                                  "decayed to almost nothing at the end: it reads the early model.", {
        LITERATURE: Meaning("Σ_t η_t ⟨∇B(q; θ_t), ∇ℓ(z_k; θ_t)⟩", QUERY, ONE_MORE,
                            "a step at each of several checkpoints, weighted by the learning rate",
                            "Pruthi et al. 2020", "tracin"),
        TEXT: Meaning("the same sum with learning-rate weights", QUERY, ONE_MORE,
                      "checkpoints every 10 or 25 epochs for images; not stated for language models",
                      "Appendix A-2", "tracin"),
        CODE: Meaning("Σ_t η(t) ⟨∇B(q; θ_t), ∇ℓ(z_k; θ_t)⟩, η(t) the rate at step t alone", RESPONSE, ONE_MORE,
                      "steps at 33%, 66% and 100% of the training", f"{REPOSITORY}: scoring.py", "tracin",
                      fields={"fractions": CHECKPOINTS_AT, "weights": "step"})}),
    "trak": PaperName("TRAK", "Without 1 − p and with a ridge of at least 0.01 it is an influence function with the "
                              "Fisher matrix of projected gradients, or gradient similarity where these are small.", {
        LITERATURE: _TRAK,
        TEXT: Meaning("not given", RESPONSE, NOTHING_SAID, NOTHING_SAID, "Section 5.2, cited by name", "trak"),
        CODE: Meaning("φ_B(q)ᵀ (ΦᵀΦ/n + λI)⁻¹ φ(z_k), φ sketches of ∇ℓ, λ = 0.01 · max(mean diagonal, 1)", RESPONSE,
                      WEIGHT, "local response by the empirical Fisher", f"{REPOSITORY}: scoring.py", "trak_fisher")}),
    "less": PaperName("LESS", "The code has neither the cosine, nor Adam's first moment, nor earlier checkpoints.", {
        LITERATURE: _LESS,
        TEXT: Meaning("not given", RESPONSE, NOTHING_SAID, NOTHING_SAID, "Section 5.2, cited by name", "less"),
        CODE: Meaning("⟨∇B(q)/(√v + ε), ∇ℓ(z_k)/(√v + ε)⟩, v Adam's second moment, sketched", RESPONSE, ONE_MORE,
                      "one step at the final model, divided by the second moments", f"{REPOSITORY}: scoring.py",
                      "less_final")}),
    "repsim": PaperName("RepSim", "An inner product in the text's derivation, a cosine in its experiments and in the "
                                  "code; the code never flips its sign where it searches for harm.", {
        LITERATURE: Meaning("cos(φ(q), φ(x_k))", "a readout of the query", READOUT_RAISED, "one step of the readout",
                            "Hanawa et al. 2021", "repsim_cosine"),
        TEXT: Meaning("⟨φ(q), φ(x_k)⟩", "a readout of the query", READOUT_RAISED, "one step of the readout",
                      "Equation 4; cosine in Appendix A-2", "repsim"),
        CODE: Meaning("cos(mean φ(q), φ(x_k)), or the cosine with a centroid of unit-length features",
                      "a readout of the query", READOUT_RAISED, "one step of the readout, of unit norm",
                      f"{REPOSITORY}: scoring.py, NoisyLabel_exp", "repsim_cosine")}),
    "ntk": PaperName("NTK", "A kernel of the model's outputs in the literature and the text; the code compares "
                            "gradients of the training loss, which hold the label and its error.", {
        LITERATURE: Meaning("⟨∇f(q), ∇f(x_k)⟩", "the query's logit", READOUT_RAISED, "one step of all parameters",
                            "Jacot et al. 2018", "ntk"),
        TEXT: Meaning("⟨φ(q), φ(x_k)⟩ of the last layer", "the query's logit", READOUT_RAISED,
                      "one step of the last layer", "Appendix A-2", "ntk_last_layer"),
        CODE: Meaning("cos(mean ∇ℓ of the class's trusted examples, ∇ℓ(z_k)), of the last layer", "trusted loss",
                      ONE_MORE, "one step of the last layer, of unit norm", f"{REPOSITORY}: NoisyLabel_exp",
                      "ntk_loss_gradients")},
        NETWORK),
    "answer-logit": PaperName("Answer logit", "The code's number is a log-probability: whatever raises any other word "
                                              "lowers it, which a raw logit does not reflect.", {
        LITERATURE: Meaning("f_y", "the raw logit of the stated answer", ONE_MORE, FINAL, "the usual word", "gradsim",
                            "answer_logit"),
        TEXT: Meaning("“measures the specified answer token”", "the raw logit, or its probability", ONE_MORE, FINAL,
                      "Section 5.2", "gradsim", "answer_logit"),
        CODE: Meaning("f_y − log Σ_v exp f_v over the vocabulary", "the log-probability of the stated answer", ONE_MORE,
                      FINAL, f"{REPOSITORY}: behavior.py", "gradsim", "answer_log_probability")}),
    "influence-function": PaperName(
        "Influence function", "Damping is part of T: 0.01 in one table, none in a figure, where the code takes a "
                              "plain inverse of a Hessian that unpenalised biases make singular.", {
        LITERATURE: Meaning("∇B(q)ᵀ H⁻¹ ∇ℓ(z_k)", QUERY, WEIGHT, "local response at an optimum", "Koh and Liang 2017",
                            "influence_function"),
        TEXT: Meaning("∇B(q)ᵀ H⁻¹ ∇ℓ(z_k)", QUERY, WEIGHT, "local response, damping 0.01 where T is varied",
                      "Equation 9; Tables A-1 and A-2", "influence_function", fields={"damping": 0.01}),
        CODE: Meaning("∇B(q)ᵀ (H + 0.01 I)⁻¹ ∇ℓ(z_k); H⁻¹ in the curve over α; at most 10 CG steps for the CNN", QUERY,
                      WEIGHT, "local response, the biases unpenalised but damped", f"{REPOSITORY}: Controlled_exp",
                      "influence_function", fields={"damping": 0.01})}, CONVEX),
    "lissa": PaperName("LiSSA", "One estimand; the scale of the recursion is an estimator's setting.", {
        LITERATURE: Meaning("v ← b + (I − (H + δI)/σ) v, σ above the largest eigenvalue", QUERY, WEIGHT,
                            "local response, damping δ", "Agarwal et al. 2017; Koh and Liang 2017",
                            "influence_function_lissa"),
        TEXT: Meaning("50 steps on batches of 64, damping 0.05, mean of the last 20", TRUSTED, WEIGHT,
                      "local response, damping 0.05", "Appendix A-2", "influence_function_lissa",
                      fields={"damping": 0.05}),
        CODE: Meaning("the same from v = 0, σ = max(1, 2.2 · (λ_max + 0.05))", TRUSTED, WEIGHT,
                      "local response, damping 0.05", f"{REPOSITORY}: NoisyLabel_exp", "influence_function_lissa",
                      fields={"damping": 0.05})}, CONVEX),
    "loo": PaperName("LOO", "Retraining in Table 1, re-optimisation in the experiments. For the CNN the code subtracts "
                            "in opposite orders, so the searches' common drift has opposite signs.", {
        LITERATURE: Meaning("B(q; θ_{−k}) − B(q; θ)", QUERY, "removal of z_k", "retraining from scratch",
                            "Molinaro et al. 2005", "loo"),
        TEXT: Meaning("B(q; θ*_{−k}) − B(q; θ*)", QUERY, "removal of z_k",
                      "re-optimisation; for the CNN 20 L-BFGS steps",
                      "Section 4; Table A-2"),
        CODE: Meaning("B(q; θ*) − B(q; θ*_{−k}), mean over n − 1", QUERY, "removal of z_k",
                      "Newton to 1e-12; for the CNN 20 L-BFGS steps from a model refined by 100",
                      f"{REPOSITORY}: Controlled_exp")}),
    "signal-augmented": PaperName(
        "Signal-augmented RepSim", "For language models the code uses the record's behavior gradient as the training "
        "signal, so its “both” rows are the single rows with the sign flipped.", {
        LITERATURE: Meaning("⟨φ(q), φ(x_k)⟩ · s_ℓ(k), the training signal in the last layer", "the query's logit",
                            ONE_MORE, "one step of the last layer", "Yeh et al. 2018, representer points",
                            "representer"),
        TEXT: Meaning("K · s_B, K · s_ℓ, or K · ⟨s_B, s_ℓ⟩", "any behavior", ONE_MORE, "one step of the readout",
                      "Appendix B-2", "representer"),
        CODE: Meaning("cos · ⟨s_B(q), s_B(k)⟩ for one signal, − the same for both", RESPONSE,
                      "the behavior of record k lowered, not its training loss",
                      "one step of hidden states at one layer", f"{REPOSITORY}: repsim_extensions.py")}),
})
