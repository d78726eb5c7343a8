"""A user's own training run, recorded where it happens and opened here: `Recorder` and `open_recording`."""

from engine.models.recorded.folder import Recording, open_recording
from engine.models.recorded.recorder import Recorder

__all__ = ["Recorder", "Recording", "open_recording"]
