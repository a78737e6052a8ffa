"""Cases, personas and replies that the tests of MedAgent's simulator share."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from functools import cache
from typing import Any

from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.case_files import read_cases, read_personas
from bedside.simulation.simulators.multisense import SIMULATOR
from bedside.simulation.simulators.multisense.stages import NAMES
from tests.simulation.simulators.playing import Played, Replies, play
from tests.simulation.simulators.random_replies import fitting


@cache
def cases() -> dict[str, Case]:
    return {case.id: case for _, case in read_cases(SIMULATOR.cases)}


@cache
def personas() -> dict[str, Persona]:
    assert SIMULATOR.personas is not None
    return {persona.id: persona for _, persona in read_personas(SIMULATOR.personas)}


class Talk:
    """Replies that take the course one wants: other than decisions and labels, words that nobody said before.

    Args:
        decisions: whether each decision moves on; the last goes on where they run out.
        redundant: labels of the candidates of each round; none is redundant where they run out.
        changes: replies by purpose that stand in place of those.
    """

    def __init__(
        self, decisions: Iterable[bool] = (True,), redundant: Iterable[tuple[bool, bool, bool]] = (), **changes: Any
    ) -> None:
        self.decisions = list(decisions)
        self.redundant = list(redundant)
        self.changes = changes
        self.words = 0

    def fresh(self) -> str:
        self.words += 1
        return f"Words number {self.words} about matter {self.words}."

    def __call__(self, call: Call) -> str | ActorReply:
        reply = self.changes.get(call.purpose)
        if callable(reply):
            reply = reply(call)
        if reply is not None:
            return reply if isinstance(reply, str | ActorReply) else json.dumps(reply)
        return json.dumps(self._reply(call))

    def _reply(self, call: Call) -> Any:
        if call.purpose == "stage":
            move = self.decisions.pop(0) if len(self.decisions) > 1 else self.decisions[0]
            return {"reasoning": "", "confidence": 5, "decision": "move" if move else "stay"}
        if call.purpose == "redundancy":
            labels = self.redundant.pop(0) if self.redundant else (False,) * 3
            return {str(n): "redundant" if label else "not redundant" for n, label in enumerate(labels, start=1)}
        if call.purpose == "candidates":
            return {"reasoning": "", "candidates": [self.fresh() for _ in range(3)]}
        if call.purpose == "selection":
            return {"reasoning": "", "facts": [2]}
        if call.purpose == "extraction":
            return {"facts": [self.fresh()]}
        if call.purpose == "matching":
            return {"known": []}
        if call.purpose == "moderation":
            return {"stage": NAMES[call.material["stage"]]}
        if call.purpose == "message":
            return self.fresh()
        if call.purpose == "decomposition":
            return {"vitals": ["Pulse 70."], "facts": ["I sleep badly.", "I work at night."]}
        if call.purpose in ("intent", "goal"):
            return {"rationale": "", "intent": "lifestyle", "goal": "comfort"}
        return {"reasoning": "", "message": self.fresh()}


def talked(replies: Replies, case: str = "panic", **more: Any) -> Played:
    """A conversation about a bundled case, with the first persona."""
    persona = more.pop("persona", next(iter(personas().values())))
    return play(SIMULATOR, more.pop("about", cases()[case]), replies, persona=persona, **more)


def by_chance(seed: int, *, redundant: float, unreadable: float = 0.0) -> Replies:
    """Replies that fit, decisions and labels by chance."""
    draw = random.Random(seed)

    def reply(call: Call) -> str:
        if draw.random() < unreadable and call.purpose in ("stage",):
            return "Let us see."
        if call.purpose == "redundancy":
            label = {True: "redundant", False: "not redundant"}
            return json.dumps({str(n): label[draw.random() < redundant] for n in range(1, 4)})
        return json.dumps(fitting(call.schema or {}, draw)) if call.schema else "Well, I see."

    return reply
