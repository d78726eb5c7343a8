"""A plugin that registers the architecture which the environment declares, when it is imported."""

from engine.models.own_architecture import declared, register

if (_own := declared()) is not None:
    register(_own)
