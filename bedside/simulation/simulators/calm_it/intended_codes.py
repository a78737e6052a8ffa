"""Which behaviour code a strategy or an action means to bring about: what coders can be held against.

Only where the meaning of a label says so: a strategy that may be carried out by a question or by a reflection has no
code here, and neither has an action that speaks for both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ASKS = {"question": "open", "main_behaviour": "question"}
_REFLECTS = {"question": "none", "main_behaviour": "reflection"}

#: Codes of a therapist's message by its strategy.
STRATEGY_CODES: Mapping[str, Mapping[str, str]] = {
    "open question": _ASKS,
    "elucidating question": _ASKS,
    "assessing readiness": {"question": "closed", "main_behaviour": "question"},
    "simple reflection": {**_REFLECTS, "reflection": "simple"},
    "complex reflection": {**_REFLECTS, "reflection": "complex"},
    "double-sided reflection": {**_REFLECTS, "reflection": "complex"},
    "supporting self-efficacy": {"question": "none"},
    "affirmation": {"main_behaviour": "other"},
    "advice by elicit-provide-elicit": {"therapist_input": "advice"},
}
_TALK = {
    "change": ("acknowledge", "accept", "desire", "commitment", "plan"),
    "sustain": ("deny", "downplay", "doubt", "reject"),
    "neutral": ("engage", "inform", "terminate"),
}
#: Codes of a client's message by its action.
ACTION_CODES: Mapping[str, Mapping[str, str]] = {
    action: {"client_talk": label} for label, actions in _TALK.items() for action in actions
}


def intended_codes(meta: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """The act that a message was meant to be, and the codes that it means; empty where there is none.

    A message with a pivot has none: its strategy is a second thought there.

    Args:
        meta: of the turn.
    """
    intended = meta.get("simulation")
    if not isinstance(intended, Mapping) or intended.get("pivot"):
        return "", {}
    for key, codes in (("strategy", STRATEGY_CODES), ("action", ACTION_CODES)):
        act = intended.get(key)
        if isinstance(act, str):
            return act, codes.get(act, {})
    return "", {}
