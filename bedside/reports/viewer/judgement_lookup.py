"""What stands behind a transcript: what a judge was asked and replied, and the hidden states of a simulated talk.

The store knows a judgement by its key. Which keys are of which transcript is worked out once, in memory, when it is
first asked, and again once the store has changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import RunError
from bedside.core.files import address_to_read
from bedside.judges.store import FILE_NAME, Judgement, open_to_read, read_judgement, read_prompt_pieces, reading
from bedside.ratings.names import judge_rater, pair_unit
from bedside.ratings.rubric_metrics import preference_metric
from bedside.ratings.run import Run, run_simulations
from bedside.ratings.run_folder import MANIFEST
from bedside.scoring.judging_orders import recorded_judgings
from bedside.transcripts.simulation_folder import STATES, check_simulated

# -- A run's judgements by the transcript that they are of ----------------------------------------------

#: What is listed of a judgement, and where it stands in the lookup.
_LISTED = ("key", "model", "transcript", "unit", "items", "rubric", "pass", "state", "version", "parameters")
#: Of what a judge is asked with, the limit of tokens may differ: a reply that it didn't cut is the same with another.
_LIMIT = "max_tokens"
#: The units that are pairs, as SQLite must see them said to look them up among pairs alone.
_PAIRS = f"unit >= '{pair_unit('')}' AND unit < '{pair_unit('')[:-1]};'"
_MAKE = f"""
CREATE TABLE listed AS SELECT {", ".join(_LISTED)} FROM store.judgements;
CREATE INDEX of_transcript ON listed (transcript);
CREATE INDEX of_pair ON listed (unit) WHERE {_PAIRS};
"""


class JudgementLookup:
    """The judgements of a run, for one thread at a time.

    Args:
        run: the run's folder.
    """

    def __init__(self, run: Path) -> None:
        self.path: Path = run / FILE_NAME
        self._stamp: tuple[tuple[int, int], ...] = ()
        self._listed: sqlite3.Connection | None = None
        self._asked: list[_Asked] = []

    def close(self) -> None:
        """Forget which judgements are of which transcript."""
        if self._listed is not None:
            self._listed.close()
            self._listed = None

    def of(self, transcript: str) -> list[dict[str, Any]]:
        """What is known at once of the judgements of a transcript, and of the pairs it is in, in order of rubrics.

        A judgement is kept under the first transcript that it was asked of; others with the very same words have it
        too, and it isn't listed for them.

        A store also keeps what a judge was asked in another way before, such as at another temperature or by another
        wording: ``raters`` are those whose ratings in the run are made of the judgement, as the manifest tells it.

        Raises:
            RunError: the store or the manifest is damaged.
        """
        listed = self._fresh()
        if listed is None:
            return []
        rows = listed.execute(
            f"SELECT {', '.join(_LISTED)} FROM listed WHERE transcript = ? UNION "
            f"SELECT {', '.join(_LISTED)} FROM listed WHERE unit = ? AND {_PAIRS} "
            "ORDER BY rubric, model, unit, pass, key",
            (transcript, pair_unit(transcript)),
        )
        return [self._row(dict(zip(_LISTED, row, strict=True))) for row in rows]

    def _row(self, listed: dict[str, Any]) -> dict[str, Any]:
        version, parameters = listed.pop("version"), orjson.loads(listed.pop("parameters"))
        items = None if listed["items"] is None else orjson.loads(listed["items"])
        raters = {asked.rater for asked in self._asked if asked.fits(listed["rubric"], version, parameters)}
        return {**listed, "items": items, "rater": judge_rater(listed["model"]), "raters": sorted(raters)}

    def whole(self, key: str) -> dict[str, Any] | None:
        """All of a judgement: what was asked (``prompt``, the pieces as digest and text, or None where the run keeps no
        text), what was replied, what was made of it, and what it took. None where there is none of this key.

        Raises:
            RunError: the store is damaged.
        """
        judgement = read_judgement(self.path, key)
        if judgement is None:
            return None
        return {**_told(judgement), "prompt": read_prompt_pieces(self.path, judgement.prompt)}

    def _fresh(self) -> sqlite3.Connection | None:
        stamp = self._stamped()
        if not stamp:
            self.close()
        elif self._listed is None or stamp != self._stamp:
            self.close()
            with closing(open_to_read(self.path)), reading(self.path):  # says what is wrong with it
                listed = sqlite3.connect("file::memory:", uri=True, check_same_thread=False)
                listed.execute("ATTACH ? AS store", (address_to_read(self.path),))
                listed.executescript(_MAKE)
                listed.execute("DETACH store")
            self._listed = listed
            self._asked = _asked_in(Run(self.path.parent))
        self._stamp = stamp
        return self._listed

    def _stamped(self) -> tuple[tuple[int, int], ...]:
        """What changes with the store, or with what the run says of it; nothing where there is none."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"), self.path.with_name(MANIFEST))
        states = [file.stat() for file in files if file.is_file()]
        return tuple((state.st_mtime_ns, state.st_size) for state in states) if self.path.is_file() else ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a rater was asked by a rubric for ratings that the run has of it."""

    rater: str
    rubric: str
    version: str
    parameters: Mapping[str, Any]

    def fits(self, rubric: str, version: str, parameters: Mapping[str, Any]) -> bool:
        """Whether a judgement was asked so."""
        return (rubric, version) == (self.rubric, self.version) and all(
            self.parameters.get(name) == value for name, value in parameters.items() if name != _LIMIT
        )


def _asked_in(run: Run) -> list[_Asked]:
    """How each judge was asked by each rubric: the last time, as that replaced ratings; of pairs, each time."""
    ratings: dict[tuple[str, str], _Asked] = {}
    for recorded in recorded_judgings(run):
        for rubric, version in recorded.prompts.items():
            ratings[recorded.rater, rubric] = _Asked(recorded.rater, rubric, version, recorded.judge["wanted"])
    preferences = [
        _Asked(
            entry["rater"],
            preference_metric(rubric),
            version,
            # What is sent of the seed, as a judgement has it.
            {**entry, "seed": entry["seed"] if entry["temperature"] else None},
        )
        for entry in run.manifest.get("preferences", ())
        for rubric, version in entry["prompts"].items()
    ]
    return [*ratings.values(), *preferences]


def _told(judgement: Judgement) -> dict[str, Any]:
    return {
        "key": judgement.key,
        "model": judgement.model,
        "parameters": judgement.parameters,
        "transcript": judgement.transcript,
        "unit": judgement.unit,
        "rubric": judgement.rubric,
        "version": judgement.version,
        "pass": judgement.number,
        "state": judgement.state,
        "answer": judgement.answer,
        "error": judgement.error,
        "replies": list(judgement.replies),
        "faults": list(judgement.faults),
        "calls": judgement.calls,
        "input_tokens": judgement.input_tokens,
        "output_tokens": judgement.output_tokens,
        "cost": judgement.cost,
        "finished": judgement.finished,
    }


# -- The hidden states of a run's simulated conversations -----------------------------------------------
# A simulation's file of states may be large: where the states of which conversation stand in it is worked out once,
# when it is first asked, and again once the file has changed; then only they are read.

#: Where something begins and ends in a file, in bytes.
_Stretch = tuple[int, int]


class StateLookup:
    """The hidden states behind a run, for one thread at a time.

    Args:
        run: the run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._files: dict[Path, _StateFile] = {}

    def of(self, transcript: str) -> dict[str, Any]:
        """The states of a transcript's conversation in their order (``states``), and the files of simulations that the
        run comes from and that aren't there any more (``gone``).

        Raises:
            RunError: what the run keeps of its simulations, or a file of states, is damaged.
        """
        states: list[dict[str, Any]] = []
        gone: list[str] = []
        for simulation in run_simulations(self._run):
            path = Path(simulation.path) / STATES
            if path.is_file():
                if path not in self._files:
                    check_simulated(path.parent, STATES)
                    self._files[path] = _StateFile(path)
                states += self._files[path].of(transcript)
            else:
                gone.append(str(path))
        return {"states": states, "gone": gone}


class _StateFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._stretches: dict[str, list[_Stretch]] = {}

    def of(self, transcript: str) -> Iterator[dict[str, Any]]:
        status = self._path.stat()
        stamp = status.st_mtime_ns, status.st_size
        if stamp != self._stamp:
            self._stretches = self._places()
            self._stamp = stamp
        with self._path.open("rb") as file:
            for begin, end in self._stretches.get(transcript, ()):
                file.seek(begin)
                for line in file.read(end - begin).splitlines():
                    yield self._state(line, begin)

    def _places(self) -> dict[str, list[_Stretch]]:
        """Where the states of each conversation stand; what follows each other is one stretch."""
        places: dict[str, list[_Stretch]] = {}
        begin = 0
        with self._path.open("rb") as lines:
            for line in lines:
                end = begin + len(line)
                stretches = places.setdefault(str(self._state(line, begin)["id"]), [])
                if stretches and stretches[-1][1] == begin:
                    stretches[-1] = (stretches[-1][0], end)
                else:
                    stretches.append((begin, end))
                begin = end
        return places

    def _state(self, line: bytes, begin: int) -> dict[str, Any]:
        try:
            state = orjson.loads(line)
            if not isinstance(state, dict) or "id" not in state:
                raise ValueError("no state")
        except ValueError as error:
            raise RunError(
                "the hidden states of the simulation can't be read",
                where=f"{self._path}, byte {begin}",
                todo="bedside simulate with the same options writes them again",
            ) from error
        return state
