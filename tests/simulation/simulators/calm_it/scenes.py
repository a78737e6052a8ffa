"""Sessions played with replies of known kinds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.calm_it import SIMULATOR
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases
from tests.simulation.simulators.playing import Played, play
from tests.simulation.simulators.random_replies import fitting

_WORDS = (
    "well yes no maybe because my wife work van beer night walk talk quiet house morning sister choir better worse "
    "always never often sometimes tired glad sorry slow quick early late money rent door window dinner letter phone"
).split()
#: What is replied at a site, in place of what is drawn.
Own = Mapping[str, Callable[[Call], Any]]


@cache
def bundled() -> tuple[Case, ...]:
    return tuple(case for _, case in read_cases(SIMULATOR.cases))


def words(draw: random.Random, least: int = 5, most: int = 12) -> str:
    """A sentence of words at random; two are hardly ever alike."""
    return " ".join(draw.choice(_WORDS) for _ in range(draw.randint(least, most))).capitalize() + "."


def fair_reply(call: Call, draw: random.Random, own: Own) -> str:
    """A reply as it was asked for; nobody leaves."""
    if call.purpose in own:
        return json.dumps(own[call.purpose](call))
    if call.purpose.endswith("candidate") or call.purpose == "message":
        return json.dumps({"message": words(draw), "end": False})
    if call.purpose == "therapist strategies":
        return json.dumps({"strategies": draw.sample(call.material["allowed_strategies"], 3)})
    if call.purpose == "client action":
        allowed = [name for name in call.material["allowed_label"] if name != "terminate"]
        return json.dumps({"label": draw.choice(allowed)})
    assert call.schema is not None
    return json.dumps(fitting(call.schema, draw))


def session(
    seed: int = 0,
    *,
    length: int = 20,
    setting: str = "scaffold",
    options: Mapping[str, Any] | None = None,
    own: Own | None = None,
    case: Case | None = None,
) -> Played:
    """A session with replies at random, each as it was asked for."""
    draw = random.Random(seed)
    return play(
        SIMULATOR,
        case or bundled()[seed % 4],
        lambda call: fair_reply(call, draw, own or {}),
        setting=setting,
        length=length,
        options=options,
        seed=seed,
    )


def simulated(talk: Played) -> list[dict[str, Any]]:
    """What each turn's meta says of the simulation."""
    return [dict(turn.meta["simulation"]) for turn in talk.ended.turns]
