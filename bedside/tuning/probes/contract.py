"""What a probe states about itself: how it changes what a judge is shown, and what the judge's level should do then.

A probe that ships with bedside is one file in ``bedside/tuning/probes/shipped``; it sets ``PROBE`` to a :class:`Probe`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bedside.core.errors import RunError
from bedside.core.files import read_json, write_json
from bedside.core.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull
from bedside.core.registry import Registry
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.run import Run
from bedside.transcripts.transcript import Transcript

# -- What a probe states about itself -------------------------------------------------------------------

#: What a level should do when a conversation is changed so: stay where it is, or move.
Expectation = Literal["stays", "moves"]
#: What a change needs that nobody wrote beforehand: the conversation in another language, or the rubric in other words.
Need = Literal["translation", "paraphrase"]


@dataclass(frozen=True, slots=True)
class ProbeMaterial:
    """What a probe changes, and what it may take for that.

    Attributes:
        transcript: the conversation.
        rubric: what it is rated by.
        language: of the probe's own texts, one of :data:`bedside.tuning.probes.turn_texts.LANGUAGES`.
        seed: of what is drawn at random.
        translation: the conversation in another language, where the variant needs one.
        paraphrase: the rubric in other words, where the variant needs one.
    """

    transcript: Transcript
    rubric: Rubric
    language: str
    seed: int = 0
    translation: Transcript | None = None
    paraphrase: Rubric | None = None

    def random(self) -> random.Random:
        """Draws that depend on the seed and the transcript alone."""
        return random.Random(f"{self.seed}/{self.transcript.id}")


@dataclass(frozen=True, slots=True)
class Altered:
    """What the judge is shown in place of a transcript and a rubric.

    Attributes:
        transcript: the conversation, changed or not.
        rubric: the rubric, changed or not; its levels are the same numbers.
        reword: makes the prompt of the finished prompt; None where it stays.
        level: the level of the original rubric that an answered level stands for; None where it is the same.
        added: words (of Chinese, characters) that were added to the conversation.
    """

    transcript: Transcript
    rubric: Rubric
    reword: Callable[[str], str] | None = None
    level: Callable[[float], float] | None = None
    added: int = 0


@dataclass(frozen=True, slots=True)
class Unalterable:
    """That a change can't be made to a transcript or rubric, and why, as a phrase."""

    reason: str


Alteration = Callable[[ProbeMaterial], Altered | Unalterable]


@dataclass(frozen=True, slots=True)
class Variant:
    """One form or amount of a probe's change.

    Attributes:
        name: short, of lower-case letters, digits and hyphens; unique within the probe.
        title: the change in a few words, as in a table's row.
        alter: makes the change.
        against: what the changed conversation is held against; None for the original.
        needs: what :class:`ProbeMaterial` must bring along; None where nothing.
        again: whether nothing is changed and the same prompt is asked in further passes: the base line.
    """

    name: str
    title: str
    alter: Alteration
    against: Alteration | None = None
    needs: Need | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """One way to probe a judge.

    Attributes:
        name: equal to the file's name.
        title: what is changed, in a few words.
        description: what is changed, why a level should stay or move, and what the change can't show; a short
            paragraph of plain English.
        expects: what a level should do.
        variants: forms or amounts of the change.
    """

    name: str
    title: str
    description: str
    expects: Expectation
    variants: tuple[Variant, ...]


#: The probes by file name; other packages add theirs through the entry-point group ``bedside.probes``.
PROBES: Registry[Probe] = Registry("bedside.tuning.probes.shipped", "PROBE", "probe", Probe, group="bedside.probes")
#: The probe that is the base line of all others: the same prompt asked again.
BASE_LINE = "repetition"


# -- What a judge was probed with and answered ----------------------------------------------------------

#: The file of a run that keeps probes.
PROBE_FILE = "probes.json"
_FORMAT = 1
_SHAPE = {
    "format": INTEGER,
    "records": [
        {
            "rater": TEXT, "date": TEXT, "bedside": TEXT, "parameters": {}, "passes": INTEGER,
            "seed": INTEGER,
            "margin": OrNull(NUMBER), "translation": OrNull(TEXT), "probes": [TEXT], "rubrics": ObjectOf(TEXT),
            "scales": ObjectOf([NUMBER]), "titles": ObjectOf(TEXT), "expects": ObjectOf(TEXT), "notes": [TEXT],
            "sampled": INTEGER, "of": INTEGER,
            "observations": [
                {
                    "transcript": TEXT, "system": OrNull(TEXT), "case": OrNull(TEXT), "rubric": TEXT, "probe": TEXT,
                    "variant": TEXT, "before": OrNull(NUMBER), "after": OrNull(NUMBER), "missing": OrNull(TEXT),
                    "added": INTEGER, "keys_before": [TEXT], "keys_after": [TEXT],
                }
            ],
        }
    ],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProbeObservation:
    """A judge's level of one conversation by one rubric, before and after a change.

    Attributes:
        transcript, system, case: the conversation in the run.
        rubric: its name.
        probe, variant: the change.
        before, after: means over the passes, in the rubric's levels; None where a judgement is missing.
        missing: why.
        added: words that were added.
        keys_before, keys_after: of the judgements in the run's store, which hold prompts and replies.
    """

    transcript: str
    system: str | None
    case: str | None
    rubric: str
    probe: str
    variant: str
    before: float | None
    after: float | None
    missing: str | None
    added: int
    keys_before: tuple[str, ...]
    keys_after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRecord:
    """One judge's probes on a run.

    Attributes:
        rater: the judge.
        date: when, by day.
        bedside: the version that asked.
        parameters: what the judge was asked with.
        passes: how often each prompt was asked; the originals twice as often.
        seed: of the sample, and of what changes draw.
        margin: by how much a level may move and still stay, in levels' units; None for half a level.
        translation: where translations came from, in words; None where there are none.
        probes: names of those that were asked.
        rubrics: versions by name.
        scales: the levels of each rubric.
        titles: of each change, by ``probe.variant``.
        expects: what is expected of each change, likewise.
        notes: what was done otherwise than asked, as sentences.
        sampled: transcripts in the sample.
        of: transcripts that it was drawn from.
        observations: all of them.
    """

    rater: str
    date: str
    bedside: str
    parameters: Mapping[str, Any]
    passes: int
    seed: int
    margin: float | None
    translation: str | None
    probes: tuple[str, ...]
    rubrics: Mapping[str, str]
    scales: Mapping[str, tuple[float, ...]]
    titles: Mapping[str, str]
    expects: Mapping[str, str]
    notes: tuple[str, ...]
    sampled: int
    of: int
    observations: tuple[ProbeObservation, ...]


def probe_records(folder: Path) -> tuple[ProbeRecord, ...]:
    """What judges were probed with in a run; none where no judge was.

    Raises:
        RunError: the file is damaged.
    """
    path = folder / PROBE_FILE
    if not path.is_file():
        return ()
    noun = "record of what the run's judges were probed with"
    todo = "remove it and probe again: answers are kept in the run's judgements"
    kept = read_json(path, noun, _SHAPE, todo=todo)
    try:
        if kept["format"] != _FORMAT:
            raise TypeError("format")
        return tuple(_record(entry) for entry in kept["records"])
    except TypeError as error:  # keys that are none
        raise RunError(f"the {noun} can't be read ({error})", where=str(path), todo=todo) from error


def _record(entry: dict[str, Any]) -> ProbeRecord:
    observations = tuple(
        ProbeObservation(**{
            **observation,
            "keys_before": tuple(observation["keys_before"]),
            "keys_after": tuple(observation["keys_after"]),
        })
        for observation in entry["observations"]
    )  # fmt: skip
    return ProbeRecord(**{
        **entry,
        "observations": observations,
        "probes": tuple(entry["probes"]),
        "notes": tuple(entry["notes"]),
        "scales": {name: tuple(levels) for name, levels in entry["scales"].items()},
    })  # fmt: skip


def keep_record(run: Run, record: ProbeRecord) -> None:
    """Keep a judge's probes in a run that is locked, in place of earlier ones of the same judge."""
    others = [earlier for earlier in probe_records(run.path) if earlier.rater != record.rater]
    records = sorted([*others, record], key=lambda kept: kept.rater)
    write_json(run.path / PROBE_FILE, {"format": _FORMAT, "records": [asdict(kept) for kept in records]})
