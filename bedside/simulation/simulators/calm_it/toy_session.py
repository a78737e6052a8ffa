"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.calm_it.client_fields import APPRAISALS, NEUTRAL, UNHELPFUL, labels
from bedside.simulation.simulators.calm_it.state_calls import FOLDER, SIMILAR, similarity
from bedside.simulation.simulators.faults import WORD
from bedside.simulation.simulators.toys import ToyWords, object_reply, whole_words

_WORDS = ToyWords(FOLDER)
#: Rapport from which a side moves on: a process each of the therapist's, a stage each of the client's.
_MOVES = 0.03

# -- the evaluator ----------------------------------------------------------------------------------


def _cues(name: str) -> re.Pattern[str]:
    return whole_words(_WORDS["cues"][name])


def _last(material: Mapping[str, Any], speaker: str) -> str:
    texts = [each["text"] for each in material["messages"] if each["speaker"] == speaker]
    return texts[-1] if texts else ""


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


_NOTHING = "Nothing has been told yet."


def _summary(call: Call) -> dict[str, Any]:
    before = [part for part in _sentences(str(call.material["summary"])) if part != _NOTHING]
    news = [part for part in _sentences(_last(call.material, "Client")) if part not in before]
    return {"summary": " ".join([*before, *news][-6:]) or _NOTHING}


def _feeling(call: Call) -> dict[str, Any]:
    text = _last(call.material, "Client")
    heard = [name for name, words in _WORDS["feelings"].items() if whole_words(words).search(text)]
    primary = heard[0] if heard else "calm or acceptance"
    return {"primary": primary, "secondary": heard[1:3], "intensity": "medium" if heard else ""}


def _background(call: Call) -> dict[str, Any]:
    updates = [
        {"key": key, "values": [part]}
        for part in _sentences(_last(call.material, "Client"))
        for key, words in _WORDS["sections"].items()
        if whole_words(words).search(part)
    ]
    return {"updates": updates}


def _therapist_stage(call: Call) -> dict[str, Any]:
    text = " ".join(each["text"] for each in call.material["messages"] if each["speaker"] == "Client")
    change, sustain = len(_cues("change").findall(text)), len(_cues("sustain").findall(text))
    if change > sustain + 1:
        return {"label": "preparation"}
    return {"label": "contemplation" if change else "precontemplation"}


def _therapist_rapport(call: Call) -> dict[str, Any]:
    text = _last(call.material, "Client")
    if _cues("sustain").search(text):
        return {"delta": -0.03}
    return {"delta": 0.02 if len(WORD.findall(text)) > 6 else 0.0}


def _process(call: Call) -> dict[str, Any]:
    allowed, rapport = call.material["allowed_label"], call.material["picture"]["rapport"]
    place = list(labels("processes")).index(allowed[0])
    return {"label": allowed[-1] if rapport >= _MOVES * (place + 1) else allowed[0]}


def _repetition(call: Call) -> dict[str, Any]:
    own = [each["text"] for each in call.material["messages"] if each["speaker"] == "Therapist"]
    return {"repetition": int(any(similarity(own[-1], text) >= SIMILAR for text in own[:-1]))}


def _strategies(call: Call) -> dict[str, Any]:
    allowed, used = call.material["allowed_strategies"], call.material["last_strategies"]
    liked = [*(_WORDS["liked_closing"] if call.material["closing"] else ()), *_WORDS["liked"]]
    order = [name for name in dict.fromkeys(liked) if name in allowed]
    least = sorted(order, key=used[-6:].count)
    return {"strategies": least[:3]}


def _pivot(call: Call) -> dict[str, Any]:
    names = call.material["allowed_label"]
    return {"label": names[call.ordinal % len(names)]}


def _appraisal(call: Call) -> dict[str, Any]:
    text = _last(call.material, "Therapist")
    warm = len(_cues("warm").findall(text))
    before = [each["text"] for each in call.material["messages"]]
    before.remove(text)
    if any(similarity(text, other) >= SIMILAR for other in before):
        label, reason = NEUTRAL, "That was said before, by one of us."
    elif _cues("orders").search(text):
        label, reason = "BAD", "I am being told what to do."
    elif warm > 1:
        label, reason = "VERY GOOD", "They really see what this is like for me."
    elif warm:
        label, reason = "GOOD", "They seem to hear me."
    else:
        label, reason = NEUTRAL, "It is a question like any other."
    return {"label": label, "reason": reason}


def _client_stage(call: Call) -> dict[str, Any]:
    allowed, state = call.material["allowed_label"], call.material["state"]
    now = state["stage"]
    place = allowed.index(now)
    if state["appraisal"] in UNHELPFUL and place:
        return {"label": allowed[place - 1]}
    trusted = state["rapport"] >= _MOVES * (list(labels("stages")).index(now) + 1)
    if APPRAISALS.index(state["appraisal"]) > APPRAISALS.index(NEUTRAL) and trusted:
        return {"label": allowed[-1]}
    return {"label": now}


def _client_feeling(call: Call) -> dict[str, Any]:
    state = call.material["state"]
    primary = state["emotion"].get("primary", "anxiety or fear")
    if state["appraisal"] in UNHELPFUL:
        return {"primary": "anger or irritation", "secondary": [primary], "intensity": "medium"}
    if state["rapport"] >= 0.15:
        return {"primary": "joy, relief or pride", "secondary": [], "intensity": "low"}
    return {"primary": primary, "secondary": [], "intensity": "medium"}


def _action(call: Call) -> dict[str, Any]:
    allowed, state = call.material["allowed_label"], call.material["state"]
    if state.get("appraisal") in UNHELPFUL:
        wanted: Sequence[str] = ("hesitate", "deny", "reject")
    else:
        wanted = _WORDS["rotation"][state.get("stage", "contemplation")]
    names = [name for name in wanted if name in allowed and name != state["previous_action"]]
    return {"label": names[call.ordinal % len(names)]}


_EVALUATION: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "therapist summary": _summary,
    "client summary": _summary,
    "therapist background": _background,
    "therapist emotion": _feeling,
    "therapist stage": _therapist_stage,
    "therapist goal": lambda call: {
        "goals": [f"The client may want to talk about {call.material['topic']} without being pushed."]
    },
    "therapist rapport": _therapist_rapport,
    "therapist process": _process,
    "therapist repetition": _repetition,
    "therapist strategies": _strategies,
    "therapist pivot": _pivot,
    "client appraisal": _appraisal,
    "client stage": _client_stage,
    "client emotion": _client_feeling,
    "client rapport": lambda call: {"delta": _WORDS["steps"][call.material["state"]["appraisal"]]},
    "client goal": lambda call: {"goal": _WORDS["goals"][call.material["state"]["stage"]]},
    "client action": _action,
    "profile background": lambda call: {
        "living_situation": [f"I live {call.material['profile']['living_situation']}."],
        "occupation": [f"My work: {call.material['profile']['occupation']}."],
    },
    "profile goal": lambda call: {"session_goal": f"I want to find my way with {call.material['topic']}."},
}


# -- what is said -----------------------------------------------------------------------------------


def _fresh(lines: Sequence[str], said: Sequence[str], place: int) -> str:
    """The line that was said least so far, or for the other candidates the next ones."""
    order = sorted(lines, key=lambda line: sum(line in text for text in said))
    return order[place % len(order)]


def _given_back(text: str) -> str:
    """The last sentence of the client, said of "you"."""
    parts = [part for part in _sentences(text) if len(WORD.findall(part)) > 2]
    words = (parts[-1] if parts else "It is on my mind.").rstrip(".!?").split()
    swapped = [_WORDS["swapped"].get(word.casefold().strip(",").replace("’", "'"), word) for word in words]
    sentence = " ".join(swapped)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _clinician(call: Call) -> str:
    material = call.material
    said = [line.text for line in call.history if line.role == "clinician"]
    heard = [line.text for line in call.history if line.role == "patient"][-1]
    if call.purpose == "message":
        number = int(material["number"])
        free = _WORDS["free_strategies"]
        strategy = "summary" if material["closing"] else free[number % len(free)]
        return _worded(strategy, heard, said, place=0, long=True)
    strategy = material["strategy"].partition(":")[0]
    place, (_, high) = material["place"], material["words"]
    text = _worded(strategy, heard, said, place=place, long=high > 18)
    if "pivot" in material:
        return f"{_fresh(_WORDS['pivots'][material['pivot'].partition(':')[0]], said, place)} {text}"
    return text


def _worded(strategy: str, heard: str, said: Sequence[str], *, place: int, long: bool) -> str:
    line = _fresh(_WORDS["strategies"][strategy], said, place).replace("{heard}", _given_back(heard))
    tails = _WORDS["tails"].get(strategy, ())
    return f"{line} {_fresh(tails, said, place)}" if long and tails else line


def _patient(call: Call) -> str:
    """What the client says: words of the action, and where there is room a fact that wasn't told yet."""
    material = call.material
    said = [line.text for line in call.history if line.role == "patient"]
    action, place = material["action"].partition(":")[0], material["place"]
    closings = _WORDS["closings"] if material["closing"] else {}
    line = _fresh(closings.get(action, _WORDS["actions"][action]), said, place)
    _, high = material["words"]
    if high <= 6:
        return " ".join(_sentences(line)[:1])
    facts = [fact for section in material["background"].values() for fact in section]
    if not said:
        return f"{material['profile']['reason_for_attending']} {line}"
    fact = _fresh(facts, said, place) if facts else ""
    parts = [line, fact]
    if high > 18:
        parts.append(_fresh([*facts, material["goal"]] if "goal" in material else facts or [line], said, place + 1))
    return " ".join(dict.fromkeys(part for part in parts if part))


# -- the ranker -------------------------------------------------------------------------------------


def _scores(call: Call) -> list[float]:
    """Words shared with the last message, less what was said before."""
    heard = set(WORD.findall(call.history[-1].text.casefold())) if call.history else set()
    own = [line.text for line in call.history if line.role == call.material["speaker"]]
    scores = []
    for text in call.material["candidates"]:
        words = set(WORD.findall(text.casefold()))
        alike = max((similarity(text, before) for before in own), default=0.0)
        scores.append(round(len(words & heard) / (len(words) or 1) - 2 * alike, 6))
    return scores


RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": lambda call: object_reply({"message": _clinician(call), "end": False}),
    "patient": lambda call: object_reply({"message": _patient(call), "end": False}),
    "evaluator": lambda call: object_reply(_EVALUATION[call.purpose](call)),
    "ranker": lambda call: object_reply({"scores": _scores(call)}),
}
