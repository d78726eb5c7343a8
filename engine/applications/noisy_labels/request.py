"""What requests about the labels of a source have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from engine import data
from engine.applications.noisy_labels import effort
from engine.applications.noisy_labels.source import NoisySource
from engine.requests import Answer, JobRequest, Option


class LabelsRequest(JobRequest[Answer]):
    """Base of requests about labels. trainings_each: how many models a chunk of weight 1 trains."""

    trainings_each: ClassVar[float] = 1.0

    @property
    def labels(self) -> NoisySource:
        """The source whose labels it is about."""
        raise NotImplementedError

    @property
    def contents(self) -> Mapping[str, str]:
        return self.labels.contents

    @property
    def unit(self) -> float:
        return self.trainings_each * effort.training_seconds(self.labels)

    @property
    def involves(self) -> tuple[str, ...]:
        return effort.involves(self.labels)


class OfSource(LabelsRequest[Answer]):
    """Base of requests about the labels of a source as they are. about: what a job is called, before the data."""

    about: ClassVar[str]

    source: Annotated[NoisySource, Option(read="searched")]

    @property
    def labels(self) -> NoisySource:
        return self.source

    @property
    def job_title(self) -> str:
        return f"{self.about} {data.title(self.source.dataset)}"
