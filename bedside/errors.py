"""Errors a user meets: what happened, where, and what to do about it, in one line."""


class BedsideError(Exception):
    """Base of every error bedside raises on purpose.

    Args:
        what: what is wrong, as a short sentence without a final full stop.
        where: the place: a file and line, or a transcript and turn.
        todo: what the user can do about it.

    ``str(error)`` is one line: ``where: what; todo``.
    """

    def __init__(self, what: str, *, where: str | None = None, todo: str | None = None) -> None:
        self.what = what
        self.where = where
        self.todo = todo
        line = what if where is None else f"{where}: {what}"
        if todo is not None:
            line = f"{line}; {todo}"
        super().__init__(" ".join(line.split()))


class InputError(BedsideError):
    """A file that holds transcripts or ratings can't be read as given."""


class RegistryError(BedsideError):
    """A metric, suite, reader or other named entry is unknown, doubled or malformed."""


class RunError(BedsideError):
    """A run folder is missing, foreign, locked or can't be written."""


class DataError(BedsideError):
    """Ratings don't allow what was asked: no such system, rater, metric or pair."""


class ModelError(BedsideError):
    """A model on this computer isn't there, or can't be loaded or used."""


class MissingExtraError(BedsideError):
    """An optional library is needed and isn't installed."""


class LabelStudioError(BedsideError):
    """A Label Studio server can't be installed, started or reached, or doesn't hold what was pushed."""


class EngineError(BedsideError):
    """An engine that spreads work can't be started or reached, or lost work."""
