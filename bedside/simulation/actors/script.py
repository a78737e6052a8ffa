"""``script:FILE`` and ``script:NAME``: it says what a file says, see :mod:`bedside.simulation.simulators.scripts`."""

from __future__ import annotations

from collections.abc import Sequence

from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, LocalActor
from bedside.simulation.simulators.contract import Simulator
from bedside.simulation.simulators.scripts import Recording, read_script

_BEGINNING = "script:"


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    actors = []
    for text in names:
        file = read_script(text.removeprefix(_BEGINNING), simulator.scripts)
        identity = f"{_BEGINNING}{file.script.name}"
        rater = algorithm_rater(identity, file.digest[:8])
        actors.append(ActorName(text, "script", identity, rater, file.digest, toy=True, detail=file.script))
    return actors


def _words_only(name: ActorName, purposes: Sequence[str]) -> str:
    script = name.detail
    missing = [] if isinstance(script, Recording) else [each for each in purposes if each not in script.replies]
    return f"the script has no `replies` for {' and '.join(missing)}" if missing else ""


def _open(name: ActorName, settings: ActorSettings) -> LocalActor:
    return LocalActor(name.detail.reply, settings.max_concurrency)


ACTOR = ActorKind(
    name="script",
    title="a file of lines, or one that the protocol brings",
    takes=lambda text: text.startswith(_BEGINNING),
    read=_read,
    open=_open,
    words_only=_words_only,
    language=lambda name: getattr(name.detail, "language", None),
    free=True,
)
