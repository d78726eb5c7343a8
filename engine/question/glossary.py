"""The words of the workbench, one line each: what the app shows where a reader rests on a word."""

from __future__ import annotations

import re

TERMS: dict[str, str] = {
    "behavior": "B: the number read off the model at a query, such as a log-likelihood or a logit.",
    "intervention": "P: what is done to a training example, such as leaving it out or training on it once more.",
    "training process": "T: how the model answers the intervention, such as one step or training to a new optimum.",
    "specification": "Behavior, intervention and training process together: one counterfactual question.",
    "counterfactual": "The model that there would be if the training data had been otherwise.",
    "influence": "The behavior under the counterfactual model minus the behavior under the model there is.",
    "estimator": "A way to compute scores for a specification, exactly or approximately.",
    "query": "The example at which the behavior is read, usually from the test set.",
    "candidate": "A training example that is scored.",
    "score": "A number for a query and a candidate; after orientation, positive ones support the behavior.",
    "query loss": "The paper's name of a behavior whose value is minus it: the log-likelihood of the query's label.",
    "log-likelihood": "log p of the label, or the mean of log p over tokens: minus the loss, larger is better.",
    "response loss": "A behavior whose value is minus it: the mean log-likelihood of the response's tokens.",
    "explanation loss": "A behavior whose value is minus it: the mean log-likelihood of the explanation's tokens.",
    "trusted loss": "The query loss at trusted examples; its value is minus it, their log-likelihood.",
    "query logit": "The raw output of the model for the query's label, before the softmax.",
    "soft margin": "The label's logit against all other logits together: log p / (1 − p).",
    "hard margin": "The label's logit minus the strongest other logit.",
    "Kendall": "τ: how far two rankings put pairs in the same order: 1 all of them, 0 as many as not, −1 none.",
    "Kendall distance": "The share of pairs of examples that two rankings put in different order; ties count half.",
    "top-5% overlap": "The share of the highest-scoring 5% that two rankings have in common.",
    "sign agreement": "The share of examples that both call helpful, or both harmful.",
    "Spearman": "ρ: the correlation of two rankings' ranks, from −1 to 1.",
    "rank-biased overlap": "The overlap at every depth of two rankings, weighted towards the top.",
    "linear datamodeling score": "How well summed scores predict the behavior of models trained on random subsets.",
    "self-influence": "An example's influence on the behavior at itself; large if memorised, unusual or mislabelled.",
    "approximation error": "What an estimator misses of the exact answer to its own question.",
    "specification mismatch": "Two answers differ because they answer different questions.",
    "slack": "How much longer the way over the links is than the way straight on.",
    "one step": "A single gradient step on the example's own loss, from the trained model.",
    "local response": "The rate at which the optimum starts to move: the inverse Hessian times the gradient.",
    "Hessian": "The matrix of second derivatives of the training loss: how curved it is in every direction.",
    "first order": "The tangent at the trained model in place of the curve.",
    "step size": "η: how far a gradient step goes.",
    "damping": "A number added to the Hessian's diagonal, so that it can be inverted well.",
    "re-optimise": "To follow the changed objective from the trained model to its new optimum.",
    "local search": "A fixed number of L-BFGS iterations from the trained model, wherever they end: no optimum.",
    "L-BFGS": "A way to lower an objective that learns its curvature from the last few steps.",
    "leave-one-out": "Remove an example, train again, and see what changed.",
    "upweight": "To give an example's loss more weight α in the objective.",
    "gradient norm": "How far from an optimum a model is; zero at the optimum.",
    "residual": "What is left unsolved of a linear system, relative to its right-hand side.",
    "training signal": "s_ℓ: how the training loss of an example pulls on its logits.",
    "behavior signal": "s_B: how the behavior at the query depends on its logits.",
    "estimand": "The number that is asked for, before anybody computes or approximates it.",
    "LOO": "Leave-one-out: remove an example, train to the new optimum, and see what changed.",
    "upweighting": "Giving an example's loss more weight α in the objective.",
    "inverse Hessian": "Turns a push on the objective into the move of its optimum: the local response.",
    "logit": "A class's raw output of the model, before the softmax turns outputs into probabilities.",
    "softmax regression": "A linear layer with a softmax: one optimum, so its answers can be computed exactly.",
    "tangent": "The straight line that touches a curve where the trained model stands.",
    "trajectory": "The training run itself, from checkpoint to checkpoint.",
    "checkpoint": "The model as it was at one moment of its training.",
    "t-interval": "A range that holds the mean of many repetitions in 95 of 100 cases.",
    "AUPRC": "Area under precision over recall: 1 is perfect, a shuffled order gives the share of what is sought.",
    "AUROC": "The chance that what is sought ranks above what is not: 1 is perfect, a shuffled order gives 0.5.",
    "average precision": "Precision averaged over all places where something sought is found; 1 is perfect.",
    "influence function": "The first-order answer for a new optimum: gradient times inverse Hessian times gradient.",
    "precision": "The share of what was flagged that is really sought.",
    "recall": "The share of what is sought that was flagged.",
    "GradSim": "Gradient similarity: the product of the example's and the query's gradients; one step, first order.",
    "RepSim": "The similarity of the two examples' inputs to the last layer; it reads no label.",
    "TracIn": "Gradient similarity, added up over checkpoints and weighted by their learning rates.",
    "LiSSA": "The inverse Hessian by a series of small steps.",
    "Arnoldi": "The inverse Hessian in the few directions in which the loss curves most.",
    "conjugate gradients": "The inverse Hessian by an iteration that needs only products with the Hessian.",
    "Cholesky": "The inverse Hessian by factoring the whole matrix: exact, where it fits into memory.",
    "K-FAC": "The inverse Hessian layer by layer, as a product of two small matrices.",
    "NTK": "The tangent kernel: which examples' outputs move together when the weights move a little.",
    "EK-FAC": "K-FAC with the curvature in each of its directions measured anew.",
    "DataInf": "The inverse Hessian as an average of inverses, one for each example.",
    "LESS": "Gradients as the steps that Adam would take, projected, and compared by their angle.",
    "LoRA": "Small matrices trained beside frozen weights.",
    "TRAK": "Gradients projected to a few thousand random directions, then regressed.",
    "BM25": "Ranks texts by the rare words that they share with the query; no model is read.",
    "confident learning": "Finds labels that the model, trained without them, confidently contradicts.",
}


def _form(term: str) -> str:
    """A term in singular or plural, with spaces or hyphens; capitals count where it has some of its own."""
    ending = re.escape(term[:-1]) + "(?:y|ies)" if term.endswith("y") else re.escape(term) + "s?"
    ending = ending.replace("\\ ", "[ -]")
    return ending if term[1:].islower() or " " in term else f"(?-i:{ending})"


_PATTERN = re.compile(r"(?<![\w-])(?:" + "|".join(
    f"({_form(term)})" for term in sorted(TERMS, key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE)
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
