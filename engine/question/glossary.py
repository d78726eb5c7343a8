"""The words of the workbench, one line each: what the app shows where a reader rests on a word."""

from __future__ import annotations

import re

TERMS: dict[str, str] = {
    "behavior": "B: the number read off the model at a query, such as a log-likelihood or a logit.",
    "intervention": "P: what is done to a training example, such as leaving it out or training on it once more.",
    "training process": "T: how training responds to the intervention, such as one step or re-optimisation.",
    "specification": "Behavior, intervention and training process together: one counterfactual question.",
    "counterfactual": "The model that training would give under the intervention.",
    "influence": "The behavior of the counterfactual model minus the behavior of the trained model.",
    "estimator": "A way to compute scores for a specification, exactly or approximately.",
    "query": "The example at which the behavior is read, usually from the test set.",
    "candidate": "A training example that is scored.",
    "score": "A number for a query and a candidate; after orientation, positive ones support the behavior.",
    "query loss": "The paper's name of a behavior whose value is minus it: the log-likelihood of the query's label.",
    "log-likelihood": "log p of the label, or the mean of log p over tokens: minus the loss, larger is better.",
    "response loss": "A behavior whose value is minus it: the mean log-likelihood of the response's tokens.",
    "explanation loss": "A behavior whose value is minus it: the mean log-likelihood of the explanation's tokens.",
    "answer log-probability": "log p of the stated answer among all tokens of the vocabulary, where it is predicted.",
    "trusted loss": "The query loss at trusted examples; its value is minus it, their log-likelihood.",
    "query logit": "The raw output of the model for the query's label, before the softmax.",
    "soft margin": "The label's logit against all other logits together: log p / (1 − p).",
    "hard margin": "The label's logit minus the strongest other logit.",
    "Kendall": "τ: agreement of two rankings over pairs: 1 all in the same order, 0 as many concordant as discordant, "
               "−1 none.",
    "Kendall distance": "The fraction of pairs that two rankings order differently; ties count half.",
    "top-5% overlap": "The fraction of the highest-scoring 5% that two rankings share.",
    "sign agreement": "The fraction of examples that both call helpful, or both harmful.",
    "Spearman": "ρ: the correlation of two rankings' ranks, from −1 to 1.",
    "rank-biased overlap": "The overlap at every depth of two rankings, weighted towards the top.",
    "linear datamodeling score": "How well summed scores predict the behavior of models trained on random subsets.",
    "self-influence": "An example's influence on the behavior at itself; large if memorised, unusual or mislabelled.",
    "approximation error": "The difference between an estimator and the exact answer to its own question.",
    "specification mismatch": "Two answers differ because they answer different questions.",
    "slack": "Path length minus direct difference: how much the changes along the path cancel.",
    "one step": "A single gradient step on the example's own loss, from the trained model.",
    "local response": "The derivative of the optimum with respect to the example's weight: the inverse Hessian times "
                      "the gradient.",
    "Hessian": "The matrix of second derivatives of the training loss.",
    "first order": "The linearisation at the trained model.",
    "step size": "η: how far a gradient step goes.",
    "damping": "A number added to the Hessian's diagonal to make its inverse stable.",
    "re-optimise": "To minimise the changed objective from the trained model to its new optimum.",
    "local search": "A fixed number of L-BFGS iterations from the trained model, which in general reach no optimum.",
    "L-BFGS": "A quasi-Newton optimiser that estimates curvature from recent steps.",
    "leave-one-out": "Remove an example, retrain, and compare.",
    "upweight": "To give an example's loss more weight α in the objective.",
    "gradient norm": "The norm of the objective's gradient; zero at an optimum.",
    "residual": "‖Hx − g‖ / ‖g‖ of a linear solve: 0 is solved. It measures the solve, not the ranking.",
    "training signal": "s_ℓ: the derivative of an example's training loss with respect to its logits.",
    "behavior signal": "s_B: the derivative of the behavior with respect to the query's logits.",
    "estimand": "The quantity defined by a specification, whatever estimator computes it.",
    "LOO": "Leave-one-out: remove an example, train to the new optimum, and compare.",
    "upweighting": "Giving an example's loss more weight α in the objective.",
    "inverse Hessian": "Maps a change of the objective's gradient to the change of its optimum: the local response.",
    "logit": "A class's raw output of the model, before the softmax turns outputs into probabilities.",
    "softmax regression": "A linear layer with a softmax: one optimum, so its answers can be computed exactly.",
    "tangent": "The linearisation of a curve at the trained model.",
    "trajectory": "The sequence of checkpoints of a training run.",
    "checkpoint": "The parameters of the model at one step of training.",
    "t-interval": "A confidence interval of a mean by Student's t; at 95% it covers the true mean in 95 of 100 cases.",
    "AUPRC": "Area under precision over recall: 1 is perfect, a random order gives the fraction of positives.",
    "AUROC": "The probability that a positive ranks above a negative: 1 is perfect; a random order gives 0.5.",
    "average precision": "Precision averaged over the ranks of all positives; 1 is perfect.",
    "influence function": "The first-order answer for a new optimum: gradient times inverse Hessian times gradient.",
    "precision": "The fraction of flagged examples that are positive.",
    "recall": "The fraction of positives that are flagged.",
    "GradSim": "Gradient similarity: the product of the example's and the query's gradients; one step, first order.",
    "RepSim": "The similarity of the two examples' inputs to the last layer; it reads no label.",
    "TracIn": "Gradient similarity, added up over checkpoints and weighted by their learning rates.",
    "LiSSA": "The inverse Hessian by a truncated series of steps.",
    "Arnoldi": "The inverse Hessian in the few directions in which the loss curves most.",
    "conjugate gradients": "The inverse Hessian by an iteration that needs only products with the Hessian.",
    "Cholesky": "The inverse Hessian by factoring the whole matrix: exact, where it fits into memory.",
    "K-FAC": "The inverse Hessian layer by layer, as a product of two small matrices.",
    "NTK": "The neural tangent kernel: inner products of the outputs' gradients.",
    "EK-FAC": "K-FAC with corrected eigenvalues in the Kronecker eigenbasis.",
    "DataInf": "The inverse Hessian as an average of inverses, one for each example.",
    "LESS": "Cosine of projected gradients, in Adam's update form, summed over checkpoints.",
    "LoRA": "Low-rank matrices trained in addition to frozen weights.",
    "TRAK": "Gradients projected to a few thousand random directions, then regressed.",
    "BM25": "Ranks texts by the rare words that they share with the query; no model is used.",
    "confident learning": "Finds labels that a held-out model confidently contradicts.",
}


def _form(term: str) -> str:
    """A term in singular or plural, with spaces or hyphens; capitals count where it has some of its own."""
    ending = re.escape(term[:-1]) + "(?:y|ies)" if term.endswith("y") else re.escape(term) + "s?"
    ending = ending.replace("\\ ", "[ -]")
    return ending if term[1:].islower() or " " in term else f"(?-i:{ending})"


_PATTERN = re.compile(r"(?<![\w-])(?:" + "|".join(
    f"({_form(term)})" for term in sorted(TERMS, key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE)
TERM_OF: dict[str, str] = {line: term for term, line in TERMS.items()}
"""The term of a line; no two terms have the same."""
_LINES = [TERMS[term] for term in sorted(TERMS, key=len, reverse=True)]


def occurrences(text: str) -> list[tuple[int, int, str]]:
    """(start, end, line) of each term's first occurrence in a text, longer terms before shorter ones."""
    matches, seen = [], set()
    for match in _PATTERN.finditer(text):
        assert match.lastindex is not None  # every alternative is a group
        line = _LINES[match.lastindex - 1]
        if line not in seen:
            seen.add(line)
            matches.append((match.start(), match.end(), line))
    return matches
