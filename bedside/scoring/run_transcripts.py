"""The transcripts of a run, as often as they are needed; those that the clinician failed; the versions it names."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bedside
from bedside.core.errors import InputError
from bedside.judges.rubrics.rubric import Rubric
from bedside.metrics import FAMILIES
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES, Suite
from bedside.ratings.values import Value
from bedside.transcripts.memory_reading import TranscriptInput, open_reading, several_times
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import FAILED_AS, Transcript, clinician_failure

# -- The transcripts of a run ---------------------------------------------------------------------------

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
    return run.transcripts if run.manifest["transcripts"]["text"] else checked_transcripts(run, _read_again(run))


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


# -- Conversations that the clinician failed ------------------------------------------------------------
# Silence is a result. What a suite that was asked for, or else the protocol's, names in its ``failed`` is rated so,
# whatever was said before; a judge isn't asked about such a conversation, and a rubric that none of these suites lists
# gets the end of its scale that its direction calls worst. All else is as it is found, or missing with the reason.


@dataclass(frozen=True, slots=True)
class FailedTalk:
    """A conversation that the clinician failed.

    Attributes:
        why: what it did, for reasons of ratings.
        values: the worst value of each measure that a suite names.
        words: what is a word there: a label, or what the reference lists, of which the value is the number.
        listed: the rubrics that the suites list.
    """

    why: str
    values: Mapping[str, float]
    words: Mapping[str, str]
    listed: frozenset[str]

    def rated(self, value: Value) -> Value:
        """A metric's value of it: the worst where a suite names the metric, else as it was computed."""
        worst = self.values.get(value.metric)
        if worst is None or value.turn is not None or value.role is not None:
            return value
        return value._replace(value=worst, label=None, reason=self.why, error=None)

    def computed(self, value: Value, family: str) -> Value:
        """The same where no judge's answers are expected: what follows from labels is rated where there are any."""
        return value if FAMILIES.load(family).labelled and value.rater is None else self.rated(value)

    def label(self, rubric: Rubric) -> str | None:
        """The label that a suite names as the worst of a rubric; None where it names none that the rubric has."""
        if rubric.kind != "label":
            return None
        word = self.words.get(rubric.name, "").casefold()
        return next((each.label for each in rubric.labels if each.label.casefold() == word), None)

    def level(self, rubric: Rubric) -> float | None:
        """The worst level of a rubric; None where a suite lists it and names no worst, or no end of it is worse."""
        if rubric.kind == "label":
            return None
        if rubric.name in self.values:
            return self.values[rubric.name]
        if rubric.name in self.listed or rubric.direction == "none" or not rubric.scale:
            return None
        return rubric.scale[0 if rubric.direction == "higher" else -1].value


def failed_talk(transcript: Transcript, asked: Sequence[Suite] = ()) -> FailedTalk | None:
    """How a transcript is rated that the clinician failed; None for all others.

    Args:
        transcript: it.
        asked: the suites that were asked for; what the later ones name goes before, and the protocol's goes last.
    """
    failure = clinician_failure(transcript.reference)
    if not failure:
        return None
    simulation = transcript.reference["simulation"]
    protocol, of_file = simulation.get("protocol"), simulation.get(FAILED_AS)
    own = [SUITES.load(protocol)] if isinstance(protocol, str) and protocol in SUITES else []
    suites = [*own, *(suite for suite in asked if suite not in own)]
    declared = dict(of_file) if not own and isinstance(of_file, Mapping) else {}
    for suite in suites:
        declared.update(suite.failed)
    values = {
        metric: float(worst) if isinstance(worst, int | float) else _listed(transcript, str(worst))
        for metric, worst in declared.items()
    }
    words = {metric: worst for metric, worst in declared.items() if isinstance(worst, str)}
    listed = frozenset(Path(name).stem for suite in suites for name in suite.rubrics)
    return FailedTalk(f"the clinician failed: {failure}", values, words, listed)


def _listed(transcript: Transcript, name: str) -> float:
    """How many things a transcript's reference lists under a name."""
    listed = transcript.reference.get(name)
    return float(len(listed)) if isinstance(listed, list | tuple) else 0.0


def without_failed(transcripts: TranscriptSource) -> TranscriptSource:
    """The transcripts that a judge is asked about: not those that the clinician failed."""

    return lambda: (transcript for transcript in transcripts() if not clinician_failure(transcript.reference))


# -- The versions that a manifest names -----------------------------------------------------------------

#: Libraries whose version can change a number.
_LIBRARIES = (
    "numpy", "polars", "orjson", "pyphen", "scipy", "scikit-learn", "statsmodels", "torch", "transformers",
    "onnxruntime", "convokit", "spacy", "textstat", "vaderSentiment",
)  # fmt: skip


def run_versions() -> dict[str, Any]:
    """Date, bedside's and the libraries' versions, for a manifest."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "bedside": bedside.__version__,
        "python": platform.python_version(),
        "platform": platform.system(),
        "libraries": library_versions(),
    }


@cache
def library_versions() -> dict[str, str]:
    """Versions of the libraries that can change a number and are installed, by name."""
    libraries = {}
    for name in _LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:  # an optional library
            continue
    return libraries
