"""What a judge was probed with and answered, as a run keeps it: beside its ratings, never among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bedside.core.errors import RunError
from bedside.core.files import read_sealed, write_sealed
from bedside.core.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE

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
    kept = read_sealed(path, noun, _SHAPE, todo=todo, version=_FORMAT)
    try:
        return tuple(_record(entry) for entry in kept["records"])
    except TypeError as error:
        raise RunError(f"the {noun} has keys that are none", where=str(path), todo=todo) from error


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
    write_sealed(run.path / PROBE_FILE, {"format": _FORMAT, "records": [asdict(kept) for kept in records]})
    run.note(PROBE_FILE, STORE)
