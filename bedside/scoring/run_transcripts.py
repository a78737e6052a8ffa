"""The transcripts of a run, as often as they are needed: as it keeps them, or from the files it was scored from."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bedside.core.errors import InputError
from bedside.ratings.run import Run
from bedside.transcripts import Reading, ReadOptions, Transcript
from bedside.transcripts.memory_reading import TranscriptInput, open_reading, several_times

#: Called for the transcripts as often as they are needed; each time they come in the same order.
TranscriptSource = Callable[[], Iterator[Transcript]]


def checked_transcripts(run: Run, source: TranscriptSource) -> TranscriptSource:
    """The transcripts, each of them checked to be the run's.

    Raises:
        InputError: when one is not.
    """
    hashes = dict(run.index.select("id", "hash").iter_rows())

    def transcripts() -> Iterator[Transcript]:
        for transcript in source():
            if hashes.get(transcript.id) != transcript.content_hash():
                raise InputError(
                    f"transcript {transcript.id!r} is not the one in the run",
                    where=transcript.source,
                    todo="judge the transcripts that the run was scored from",
                )
            yield transcript

    return transcripts


def read_again(transcripts: TranscriptInput, options: ReadOptions | None = None) -> TranscriptSource:
    """Files, or transcripts in memory, as often as they are needed."""
    kept = several_times(transcripts)
    return lambda: iter(open_reading(kept, options))


def kept_transcripts(run: Run) -> TranscriptSource:
    """The transcripts of a run.

    What it keeps is read faster than the files it was made of, and is there when these are not.
    """
    return (
        run.transcripts if run.manifest["transcripts"]["text"] else checked_transcripts(run, _read_again(run))
    )


def _read_again(run: Run) -> TranscriptSource:
    """The transcripts of a run that keeps no text, from the files that it was scored from."""
    read = run.manifest["transcripts"]
    if read["options"]["roles"] is None:
        raise InputError(
            "the files can't be read again: a run without text keeps no names of speakers",
            where=str(run.path),
            todo="have the judge asked at once, or score the files with their text",
        )
    paths = [file["path"] for file in read["inputs"]]
    if None in paths:
        raise InputError(
            "the transcripts were in memory when they were scored, and the run keeps no text",
            where=str(run.path),
            todo="give the same transcripts again with `out`, or score them with their text",
        )
    return lambda: iter(Reading(paths, ReadOptions(**read["options"])))
