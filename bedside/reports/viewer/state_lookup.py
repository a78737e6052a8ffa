"""The hidden states of a run's simulated conversations, by transcript.

A simulation's file of states may be large: where the states of which conversation stand in it is worked out once, when
it is first asked, and again once the file has changed; then only they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import RunError
from bedside.ratings.run import run_simulations
from bedside.transcripts.simulation_folder import STATES

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
                states += self._files.setdefault(path, _StateFile(path)).of(transcript)
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
