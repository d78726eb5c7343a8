r"""Embedding retrieval: the cosine of text embeddings of query and training record, cos(φ(q), φ(k)).

φ is the mean of static token embeddings of an encoder that knows neither the model nor its training
(`engine.models.pretrained.texts`), of a record's prompt and response. A retrieval baseline beside BM25 (Chang et al.
2024 compare both with influence); it implies no specification.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from engine.basics.options import Options
from engine.estimators.cost import NOTHING
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import baseline
from engine.gradients.response import Given, Term
from engine.models.pretrained.texts import text_features
from engine.problems import CausalProblem
from engine.question.processes import OneStep


def cosines(problem: CausalProblem, process: OneStep, candidates: Tensor, options: Options) -> list[Term]:
    """Of the texts of queries and candidates (b,), in [−1, 1]. Raises `MissingData` without the encoder, `InvalidInput`
    where the texts are not at hand."""
    queries, records = (normalize(torch.from_numpy(text_features(problem.texts_of(rows))).double(), dim=1)
                        for rows in (problem.queries, problem.units(candidates).x))
    return [Given((queries @ records.T).to(problem.device))]


TEXT_EMBEDDING = Estimator(
    "text_embedding", "text embeddings", False,
    "Cosine of the texts' embeddings by an encoder independent of the model.", "Chang et al. 2024",
    routes={"one_step": closed_form(cosines)}, needs=("texts",), implies=False, cost=NOTHING,
    named=(baseline("text_embedding", "Text embeddings", "Chang et al. 2024",
                    asks="Which training records have a text like the query's?",
                    undivided="A cosine of mean embeddings is not a sum over tokens."),))
