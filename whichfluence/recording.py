"""What records a fine-tuning by `transformers`, and what its records become for that: see the guide *Your own run*."""

from engine.data.records import Record
from engine.models.causal.encoding import Encoder
from engine.models.causal.loading import load as language_model
from engine.models.recorded.trainer import RecordingCallback

__all__ = ["Encoder", "Record", "RecordingCallback", "language_model"]
