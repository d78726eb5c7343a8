"""Errors that a user can act on: every message is one sentence that says what is wrong and what to do."""


class WhichfluenceError(Exception):
    """Base of every error that is shown to a user as it stands, without a traceback: one line, whatever it quotes."""

    def __init__(self, *said: object) -> None:
        super().__init__(*(" ".join(part.split()) if isinstance(part, str) else part for part in said))


class InvalidInput(WhichfluenceError, ValueError):
    """What the user gave cannot be used; the message names the value and the remedy."""


class Undifferentiable(InvalidInput):
    """A training run has no derivative that means anything; the message says why."""


class MissingData(WhichfluenceError, FileNotFoundError):
    """A dataset or a model is not on this machine and could not be fetched."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class StoreError(WhichfluenceError, OSError):
    """A stored result is missing, truncated, foreign, or could not be written."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class Cancelled(WhichfluenceError):
    """The run was asked to stop; what it had finished is kept."""
