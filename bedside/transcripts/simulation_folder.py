"""The folder of a simulation, as others see it: it stands for the transcripts in it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bedside.core.errors import RunError
from bedside.core.files import Format, check_no_links, file_digest, seal_of
from bedside.core.json_shape import INTEGER, MOST_LEVELS, TEXT, ObjectOf, OrNull, misfit, unwritable

#: The file that says what was simulated, the conversations that can be used, and the others.
MANIFEST, TRANSCRIPTS, FAILED = "manifest.json", "transcripts.jsonl", "failed.jsonl"
#: Hidden states, where a simulation keeps what was replied and typed while it goes on, and what its process holds.
STATES, LOG_FILE, TYPED_LINES, LOCK = "states.jsonl", "log.sqlite", "typed.jsonl", ".simulation.lock"
FORMAT = Format("simulation", todo="simulate into a new folder")
#: What the name of the best trivial clinician of a benchmark begins with.
FLOOR = "best-trivial:"
#: What the manifest of a simulation has, and no other.
_KEYS = {"protocol", "clinicians", "patient", "conversations"}
#: What is read of it.
_MANIFEST = {
    "protocol": TEXT,
    "source": OrNull(TEXT),
    "parameters of bedside's own": OrNull([TEXT]),
    "clinicians": [TEXT],
    "patient": TEXT,
    "evaluator": OrNull(TEXT),
    "toys": OrNull([TEXT]),
    "settings": OrNull([TEXT]),
    "lengths": OrNull([INTEGER]),
    "options": OrNull({}),
    "sampling": OrNull(ObjectOf({})),
    "conversations": {"planned": INTEGER},
    "spent": OrNull(ObjectOf({"replies": OrNull(INTEGER), "calls": OrNull(INTEGER)})),
    "files": OrNull(ObjectOf(TEXT)),
    "seal": OrNull(TEXT),
}


def simulation_manifest(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a simulation says of itself; None where the folder holds none.

    Raises:
        RunError: a link stands in it; or the folder is like a simulation's, and its manifest isn't as it was written:
            as a folder of anything else, its hidden states would be read as transcripts.
    """
    place = Path(folder)
    file = place / MANIFEST
    try:
        manifest = json.loads(file.read_bytes()) if file.is_file() else None  # nothing is waited for
    except OSError:
        return None
    except (ValueError, RecursionError):
        if (place / TRANSCRIPTS).is_file() or (place / LOG_FILE).is_file():
            raise _damaged("it isn't JSON", file) from None
        return None
    if not isinstance(manifest, dict):
        return None
    if manifest.keys() >= _KEYS:
        check_no_links(place, "a simulation")
        return manifest
    if "seal" in manifest and "scorings" not in manifest and seal_of(manifest) != manifest["seal"]:
        raise _damaged("seal", file)
    return None


def _damaged(why: str, manifest: Path) -> RunError:
    return RunError(
        f"what the simulation says of itself is damaged ({why})",
        where=str(manifest),
        todo="bedside simulate with the same options writes it again",
    )


def manifest_misfit(manifest: Any) -> str | None:
    """Where what a simulation says of itself is not of its form, as keys with points between, or what in it can't be
    kept; None where it is as it should be."""
    wrong = misfit(manifest, _MANIFEST) or unwritable(manifest, MOST_LEVELS)
    sealed = "files" in manifest or "seal" in manifest  # earlier versions wrote neither
    return "seal" if not wrong and sealed and manifest.get("seal") != seal_of(manifest) else wrong


def check_simulated(folder: Path, name: str) -> None:
    """See that a file of a simulation is as it was written, where its manifest tells.

    Raises:
        RunError: it isn't.
    """
    known = checked_manifest(folder).get("files", {}).get(name)
    if known is not None and known != file_digest(folder / name):
        raise RunError(
            "the file isn't as bedside wrote it (its SHA-256 is another)",
            where=str(folder / name),
            todo="bedside simulate with the same options writes it again; put one of your own elsewhere",
        )


def checked_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a simulation says of itself; empty where the folder holds none.

    Raises:
        RunError: it is not of its form; the key is named.
    """
    manifest = simulation_manifest(folder)
    if manifest is None:
        return {}
    FORMAT.check(manifest.get("format", 1), Path(folder) / MANIFEST)
    wrong = manifest_misfit(manifest)
    if wrong is not None:
        raise _damaged(wrong, Path(folder) / MANIFEST)
    return manifest


def has_no_transcripts(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a simulation that has no transcripts: of those begun none ended well, or not yet."""
    path, transcripts = Path(folder), Path(folder) / TRANSCRIPTS
    return (path / LOG_FILE).is_file() and not (transcripts.exists() and transcripts.stat().st_size)


def simulation_of(file: str | os.PathLike[str]) -> Path | None:
    """The folder of the simulation that a file holds the transcripts of; None for any other file."""
    path = Path(file)
    return path.parent if path.name == TRANSCRIPTS and simulation_manifest(path.parent) is not None else None


def simulated_suite(paths: Iterable[str | os.PathLike[str]]) -> str | None:
    """The suite of the protocol that was simulated: its name, or what a protocol file names; None where a path is no
    simulation's, or they have several."""
    manifests = [simulation_manifest(simulation_of(path) or path) for path in paths]
    suites = {None if manifest is None else str(manifest.get("suite", manifest["protocol"])) for manifest in manifests}
    return suites.pop() if len(suites) == 1 else None


def without_simulators_own(files: list[str]) -> list[str]:
    """Files of searched folders without what a simulation has beside its transcripts: hidden states, failures, log."""
    folders = {os.path.dirname(file) for file in files if os.path.basename(file) == MANIFEST}
    simulations = {folder for folder in folders if simulation_manifest(folder) is not None}
    return [file for file in files if os.path.dirname(file) not in simulations or os.path.basename(file) == TRANSCRIPTS]


# -- What a transcript says of the review of its patient ------------------------------------------------

#: The rubric by which a model or people review conversations, as rules do while they are had; and the flag of a call
#: that held a text which the case hides from whom it was put to.
REVIEW_RUBRIC, HIDDEN_FLAG = "patient_faults", "hidden in a request"
#: What is read of it.
REVIEW = {
    "faults": OrNull([{"kind": TEXT}]),
    "reviewer": OrNull({"kinds": OrNull([TEXT]), "reason": OrNull(TEXT)}),
    "dropped": OrNull([{"by": TEXT, "kinds": [TEXT]}]),
}
#: Flags by which earlier versions said for what draws were discarded.
_OLD_FLAGS = {"rules": "had again: ", "reviewer": "had again by the reviewer: "}
_WHY = {"no answer": "no answer came", "reply can't be read": "its reply can't be read"}


@dataclass(slots=True)
class ReviewCounts:
    """What the reviews of conversations come to, of the ``rules`` or of the ``reviewer`` after them.

    Attributes:
        by: which of the two.
        verdicts: whether each conversation's patient is faulty; None where it is not reviewed.
        kinds: conversations with each kind of fault.
        had_again: conversations with a discarded draw.
        discarded: discarded draws by kind of fault.
        unreviewed: why conversations are not reviewed, with counts.
    """

    by: str
    verdicts: list[bool | None] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    had_again: int = 0
    discarded: Counter[str] = field(default_factory=Counter)
    unreviewed: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, by: str, simulations: Iterable[Mapping[str, Any] | None]) -> ReviewCounts:
        """The counts of what transcripts say of their simulation."""
        counts = cls(by)
        for simulation in simulations:
            counts.add(simulation or {})
        return counts

    def add(self, simulation: Mapping[str, Any]) -> None:
        """Count what a transcript says of its simulation; nothing where nobody was to review it."""
        review = simulation.get("review")
        if review is None or (self.by == "reviewer" and review.get("reviewer") is None):
            return
        verdict = review["reviewer"] if self.by == "reviewer" else {}
        found = verdict.get("kinds") if verdict else {fault["kind"] for fault in review.get("faults") or ()}
        self.verdicts.append(None if found is None else bool(found))
        self.kinds.update(found or ())
        if found is None:
            reason = verdict.get("reason") or "no reason is known"
            self.unreviewed[_WHY.get(reason, reason)] += 1
        old, dropped = _OLD_FLAGS[self.by], review.get("dropped")
        flags = simulation.get("flags") or {} if dropped is None else {}
        draws = Counter({name.removeprefix(old): n for name, n in flags.items() if name.startswith(old)})
        draws.update(kind for own in dropped or () if own["by"] == self.by for kind in own["kinds"])
        self.had_again += bool(draws)
        self.discarded += draws

    @property
    def known(self) -> list[bool]:
        """The verdicts of those that are reviewed."""
        return [verdict for verdict in self.verdicts if verdict is not None]

    @property
    def draws(self) -> str:
        """How many conversations were had again, and for what draws were discarded; empty where none was."""
        of = f"had again {self.had_again:,} of {len(self.verdicts):,}; discarded draws: {_counts(self.discarded)}"
        return of if self.had_again else ""


def reviewed_sentences(number: int, unreviewed: Mapping[str, int]) -> str:
    """How many conversations the reviewer reviewed, and why not the others."""
    missing = sum(unreviewed.values())
    of = f"Reviewed {number:,} of {number + missing:,}."
    why = ", ".join(f"{reason} ({count:,})" for reason, count in sorted(unreviewed.items()))
    return f"{of} Not reviewed: {missing:,}, because {why}." if missing else of


def _counts(counter: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counter.items()))
