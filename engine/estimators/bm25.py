r"""BM25: which texts share rare words with the query (Robertson and Zaragoza 2009). It implies no specification.

    score(q, k) = Σ_{w ∈ q} idf(w) · c_k(w) (k₁ + 1) / (c_k(w) + k₁ (1 − b + b |k| / mean |·|))
    idf(w) = log(1 + (n − n_w + ½) / (n_w + ½))

c_k(w) is how often word w stands in training record k, |k| its number of words, n_w in how many of the n training
records w stands; a word that the query repeats counts as often. A record's text is its prompt and its response, in
lower case. No model is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from engine.basics.options import Options
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import baseline
from engine.gradients.response import Given, Term
from engine.problems import CausalProblem
from engine.question.processes import OneStep

SATURATION, LENGTH = 1.5, 0.75
"""k₁ and b."""


def shared_words(problem: CausalProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """Of the texts of queries and candidates (b,). Raises `InvalidInput` where they are not at hand."""
    problem.check_trained(candidates, "BM25, which counts the words of the training records, asks")
    vocabulary, weights = problem.of_model("bm25", lambda: _weights(problem.texts_of(problem.x)))
    query_counts = counts([words(text) for text in problem.texts_of(problem.queries)], vocabulary)
    values = torch.from_numpy((query_counts @ weights[candidates.cpu().numpy()].T).toarray()).to(problem.device)
    return [Given(values)]


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def _weights(texts: Sequence[str]) -> tuple[dict[str, int], csr_matrix]:
    """word -> column, and what a query's word adds to the score of every text, (n, V)."""
    split = [words(text) for text in texts]
    vocabulary = {word: column for column, word in enumerate(dict.fromkeys(word for own in split for word in own))}
    occurrences = counts(split, vocabulary)
    n, lengths = len(split), np.array([len(own) for own in split])
    held = np.bincount(occurrences.indices, minlength=len(vocabulary))
    idf = np.log1p((n - held + 0.5) / (held + 0.5))
    length_factor = SATURATION * (1 - LENGTH + LENGTH * lengths / lengths.mean())
    rows = np.repeat(np.arange(n), np.diff(occurrences.indptr))
    data = idf[occurrences.indices] * occurrences.data * (SATURATION + 1) / (occurrences.data + length_factor[rows])
    return vocabulary, csr_matrix((data, occurrences.indices, occurrences.indptr), shape=occurrences.shape)


def counts(split: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> csr_matrix:
    """How often each word of the vocabulary stands in each text, (b, V)."""
    entries = [(row, vocabulary[word]) for row, own in enumerate(split) for word in own if word in vocabulary]
    rows, columns = zip(*entries, strict=True) if entries else ((), ())
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(split), len(vocabulary)))
    matrix.sum_duplicates()
    return matrix


BM25 = Estimator("bm25", "BM25", False, "How many rare words the texts of query and training record share.",
                 "Robertson and Zaragoza 2009", routes={"one_step": closed_form(shared_words)},
                 needs=("texts",), implies=False, cost=NOTHING,
                 named=(baseline("bm25", "BM25", "Robertson and Zaragoza 2009"),))
