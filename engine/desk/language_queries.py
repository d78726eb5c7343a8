"""What can be read off the queries of a language model, which is known before it is trained."""

from __future__ import annotations

from collections.abc import Sequence

from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample
from engine.data.records import Record
from engine.models.causal.readouts import READOUTS, lacking
from engine.scoring.scoring import Scoring


def queries(dataset: Dataset, sample: Sample) -> list[Record]:
    """The queries that are texts."""
    records = [dataset.record("test", int(row)) for row in sample.query_index]
    return [record for record in records if record is not None]


def check_queries(dataset: Dataset, sample: Sample, scorings: Sequence[Scoring]) -> None:
    """Raises `InvalidInput` for the first behavior that a query does not allow."""
    lacks = lacking(queries(dataset, sample))
    if name := next((scoring.behavior for scoring in scorings if scoring.behavior in lacks), None):
        raise InvalidInput(f"“{READOUTS[name].title}” needs {lacks[name]} in every query, which some lack; choose "
                           "`response_loss`, or mark it by the keys `answer` and `rationale`, or by `spans`.")
