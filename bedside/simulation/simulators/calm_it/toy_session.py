"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.calm_it.labels import APPRAISALS, NEUTRAL, UNHELPFUL, labels
from bedside.simulation.simulators.calm_it.turn_rules import SIMILAR, similarity
from bedside.simulation.simulators.fault_patterns import WORD

# -- What the toy actors say ----------------------------------------------------------------------------

#: What a therapist says by strategy; ``{heard}`` is the client's last sentence, said of "you".
STRATEGY_LINES: Mapping[str, tuple[str, ...]] = {
    "normalizing": (
        "Many people who come here feel pulled both ways like this.",
        "You are far from the only one who goes through this.",
        "It would be odd if this did not weigh on you.",
    ),
    "change planning": (
        "If you took one small step this week, what would it look like?",
        "What would be the first thing that you would do, and when?",
        "Who could be on your side when you begin?",
    ),
    "elucidating question": (
        "When you say that, what do you mean for your own days?",
        "What was it about that which stayed with you?",
        "Could you help me see what that looks like?",
    ),
    "open question": (
        "What worries you most about it?",
        "How has this been for you lately?",
        "What is a usual day like for you now?",
        "What else is going round in your head?",
        "How did it come to be like this?",
    ),
    "building rapport": (
        "I am glad that you came today.",
        "Before we go on, how are you doing right now?",
        "Take your time, nothing here is in a hurry.",
    ),
    "simple reflection": ("{heard}", "I see. {heard}", "Right. {heard}"),
    "complex reflection": (
        "{heard} And it has become heavy to carry that alone.",
        "{heard} Under that I hear how much it matters to you.",
        "{heard} It is as if there were no room left for yourself.",
    ),
    "double-sided reflection": (
        "Part of you likes things as they are, and part of you wants something else.",
        "On one side it helps you through the day, and on the other it costs you.",
        "It is hard to let go of, and you came here all the same.",
    ),
    "decisional balance": (
        "What speaks for leaving it as it is, and what speaks against?",
        "What would you lose, and what would you win?",
    ),
    "Columbo": (
        "I am a bit puzzled: you say that it is no trouble, and it keeps you awake. How does that go together?",
        "Help me out: you want it to stop, and it is also what helps you. How is that?",
    ),
    "supporting self-efficacy": (
        "You have managed hard things before, and you did it your own way.",
        "You found out by yourself what helps, and that is a strength.",
        "What you did last time shows that you can do this.",
    ),
    "assessing readiness": (
        "From nought to ten, how ready are you to try something else?",
        "If ten is very sure and nought not at all, how sure are you that you could?",
    ),
    "affirmation": (
        "It takes strength to talk about this.",
        "You care a great deal about the people around you.",
        "You kept going when it would have been easier to give up, and I respect that.",
    ),
    "eliciting change talk": (
        "If things went well, what would be different in a year?",
        "What would be good about it, if you did change something?",
        "Why would you want this for yourself?",
    ),
    "summary": (
        "Let me gather what I heard so far. {heard}",
        "To put it together: it has been hard, and there are things that matter to you. {heard}",
        "So here is what I take with me from today. {heard}",
    ),
    "therapeutic paradox": (
        "Maybe this is not the time to change anything at all.",
        "Perhaps it is best to leave it just as it is for now.",
    ),
    "advice by elicit-provide-elicit": (
        "What do you know about it already? Some people find that small steps last longer. What do you make of that?",
        "May I tell you what has helped others? They wrote it down for a week. How would that be for you?",
    ),
}
#: What may follow, where there is room for it.
STRATEGY_TAILS: Mapping[str, tuple[str, ...]] = {
    "normalizing": (
        "It makes sense that it is hard.",
        "There is no shame in it.",
        "No wonder that you are tired.",
    ),
    "open question": (
        "Take your time.",
        "I would like to hear it in your own words.",
        "There is no wrong answer.",
    ),
    "building rapport": ("I would like to get to know you a little.", "It is good to have you here."),
    "simple reflection": ("That is a lot for one day.", "That stays with you.", "I hear you."),
    "affirmation": ("That is not nothing.", "Not everybody does that."),
    "supporting self-efficacy": ("That matters to you.", "You can build on that."),
    "summary": ("Did I get that right?", "Tell me if I left something out."),
    "double-sided reflection": ("Both of that is there.", "Both sides have their reasons."),
}
#: How a therapist changes course by pivot.
PIVOT_LINES: Mapping[str, tuple[str, ...]] = {
    "evoke values and strengths": ("Let us leave that for a moment and look at what you live for.",),
    "normalise and reframe": (
        "It is common to get stuck just here, and it can be a sign that something is moving.",
    ),
    "name the stuckness and change course with permission": (
        "I have the feeling that we go in circles. Would it be all right to try another road?",
    ),
    "strategic summary and refocus": ("Let me put it together and pick one thread.",),
    "metaphor": ("It is a bit like standing at a ford and looking for the first stone.",),
}
#: Strategies that a therapist takes in turn who isn't told any.
FREE_STRATEGIES: tuple[str, ...] = (
    "open question", "complex reflection", "affirmation", "eliciting change talk", "simple reflection",
    "double-sided reflection", "normalizing",
)  # fmt: skip
#: What a client says by action.
ACTION_LINES: Mapping[str, tuple[str, ...]] = {
    "deny": (
        "There is nothing wrong with me, really.",
        "No, I don't have a problem there.",
        "That's not me at all.",
    ),
    "downplay": (
        "It's not that bad, you know.",
        "Well, it could be a lot worse.",
        "Everybody has a bit of that.",
    ),
    "blame": (
        "It's all the stress they put on me.",
        "If they left me alone it would be fine.",
        "It's the work.",
    ),
    "hesitate": (
        "I don't know. One day yes, one day no.",
        "Part of me would like to, and then again not.",
        "Well, maybe. I can't say yet.",
    ),
    "doubt": (
        "I doubt that it would work.",
        "I tried once and it came to nothing.",
        "What for? I never keep it up.",
    ),
    "engage": ("Yeah, we can talk about that.", "That's a good question, that.", "Hm, go on then."),
    "inform": ("Well, it's like this.", "I can tell you how it goes.", "So, what happens is this."),
    "acknowledge": (
        "Yeah, you have a point there.",
        "I suppose it is a problem.",
        "True, it does bother me.",
    ),
    "accept": ("All right, that sounds fair.", "Okay, I can live with that.", "Fine, let's do it like that."),
    "reject": ("No, that's not for me.", "I won't do that, sorry.", "That plan, no."),
    "plan": (
        "I could start on Monday, with the evenings.",
        "First I will write it down for a week.",
        "I will ask for help with it on Sunday.",
    ),
    "terminate": ("I have to go now, sorry.", "I need to catch my bus."),
    "desire": ("I wish it was different.", "I want to feel better, I do.", "I'd like my mornings back."),
    "commitment": ("I will do it, I promise myself that.", "I am ready now.", "This time I will keep to it."),
}
#: What a client says towards the end.
CLOSING_LINES: Mapping[str, tuple[str, ...]] = {
    "acknowledge": (
        "It was good to say it aloud.",
        "Yeah, it did help to talk.",
        "You gave me something to think of.",
    ),
    "engage": ("I will think about it on the way home.", "Good talk, that."),
    "inform": ("I didn't think that I would tell so much.", "Well, that's about it."),
    "commitment": ("I will try it this week.", "I mean it this time."),
    "hesitate": ("I am not sure yet, but I will think about it.", "We will see."),
}


# -- Actors that need no model --------------------------------------------------------------------------


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_CHANGE = _pattern("want to", "i wish", "i could", "i will", "try", "sick of", "better", "ready", "enough of")
_SUSTAIN = _pattern("can't", "won't", "no point", "fine as", "not that bad", "leave me", "doubt", "what for")
_ORDERS = _pattern("you should", "you must", "you need to", "you have to", "stop drinking", "why don't you")
_WARM = _pattern(
    "makes sense", "hard", "thank you", "take your time", "matters to you", "many people", "strength", "on your side",
    "your own", "no wonder", "heavy", "respect", "care",
)  # fmt: skip
_FEELINGS = {
    "anxiety or fear": _pattern("afraid", "scared", "worr(?:y|ied)", "nervous", "fright"),
    "sadness or grief": _pattern("sad", "cry", "miss", "died", "low"),
    "anger or irritation": _pattern("angry", "annoy\\w*", "told what to do", "fed up"),
    "shame or guilt": _pattern("ashamed", "blame", "fault", "embarrass\\w*"),
    "stress or overwhelm": _pattern("too much", "money", "rent", "tired"),
    "frustration": _pattern("stuck", "tried", "again and again"),
    "hopelessness": _pattern("no point", "never get", "what for"),
    "loneliness": _pattern("alone", "nobody", "lonely"),
    "joy, relief or pride": _pattern("proud", "glad", "good feeling", "relieved"),
}
_SECTIONS = {
    "family": _pattern(
        "wife", "husband", "daughter", "sister", "dad", "mother", "carol", "mila", "kari", "grandson"
    ),
    "occupation": _pattern("work", "drive", "accounts", "warehouse", "taught"),
    "pets": _pattern("dog", "cat", "canaries", "biscuit"),
    "hobbies": _pattern("fish", "choir", "dominoes", "walk", "read", "football"),
    "living_situation": _pattern("flat", "house", "home", "rent"),
    "preferences": _pattern("i like"),
    "dislikes": _pattern("i hate", "i don't like", "can't stand", "i dislike"),
}
_STEPS = {"VERY BAD": -0.1, "BAD": -0.04, NEUTRAL: 0.01, "GOOD": 0.03, "VERY GOOD": 0.05}
#: Rapport from which a side moves on: a process each of the therapist's, a stage each of the client's.
_MOVES = 0.03
_GOALS = {
    "precontemplation": "I want to get this over with and be left in peace.",
    "contemplation": "I want to say how it is without being pushed.",
    "preparation": "I want to find a first step that I can manage.",
    "action": "I want to hear that I am on the right road.",
    "maintenance": "I want to keep what I have reached.",
    "termination": "I want to say thank you and go.",
}
_ROTATION = {
    "precontemplation": ("downplay", "inform", "blame", "acknowledge", "deny"),
    "contemplation": ("acknowledge", "hesitate", "inform", "doubt", "engage", "desire"),
    "preparation": ("desire", "acknowledge", "plan", "hesitate", "accept"),
    "action": ("commitment", "plan", "accept", "inform"),
    "maintenance": ("commitment", "engage", "acknowledge"),
    "termination": ("acknowledge", "engage"),
}
_LIKED = (
    "open question", "simple reflection", "affirmation", "complex reflection", "eliciting change talk",
    "double-sided reflection", "normalizing", "supporting self-efficacy", "elucidating question", "building rapport",
    "assessing readiness", "decisional balance", "Columbo", "summary", "change planning",
    "advice by elicit-provide-elicit", "therapeutic paradox",
)  # fmt: skip
_LIKED_CLOSING = ("summary", "affirmation", "supporting self-efficacy", "building rapport", "change planning")


# -- the evaluator ----------------------------------------------------------------------------------


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
    heard = [name for name, words in _FEELINGS.items() if words.search(text)]
    primary = heard[0] if heard else "calm or acceptance"
    return {"primary": primary, "secondary": heard[1:3], "intensity": "medium" if heard else ""}


def _background(call: Call) -> dict[str, Any]:
    updates = [
        {"key": key, "values": [part]}
        for part in _sentences(_last(call.material, "Client"))
        for key, words in _SECTIONS.items()
        if words.search(part)
    ]
    return {"updates": updates}


def _therapist_stage(call: Call) -> dict[str, Any]:
    text = " ".join(each["text"] for each in call.material["messages"] if each["speaker"] == "Client")
    change, sustain = len(_CHANGE.findall(text)), len(_SUSTAIN.findall(text))
    if change > sustain + 1:
        return {"label": "preparation"}
    return {"label": "contemplation" if change else "precontemplation"}


def _therapist_rapport(call: Call) -> dict[str, Any]:
    text = _last(call.material, "Client")
    if _SUSTAIN.search(text):
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
    liked = [*(_LIKED_CLOSING if call.material["closing"] else ()), *_LIKED]
    order = [name for name in dict.fromkeys(liked) if name in allowed]
    least = sorted(order, key=used[-6:].count)
    return {"strategies": least[:3]}


def _pivot(call: Call) -> dict[str, Any]:
    names = call.material["allowed_label"]
    return {"label": names[call.ordinal % len(names)]}


def _appraisal(call: Call) -> dict[str, Any]:
    text = _last(call.material, "Therapist")
    warm = len(_WARM.findall(text))
    if _ORDERS.search(text):
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
        wanted: tuple[str, ...] = ("hesitate", "deny", "reject")
    else:
        wanted = _ROTATION[state.get("stage", "contemplation")]
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
    "client rapport": lambda call: {"delta": _STEPS[call.material["state"]["appraisal"]]},
    "client goal": lambda call: {"goal": _GOALS[call.material["state"]["stage"]]},
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


_SWAPPED = {
    "i": "you", "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "my": "your", "me": "you",
    "am": "are", "was": "were", "mine": "yours", "we": "you", "our": "your", "us": "you", "myself": "yourself",
}  # fmt: skip


def _given_back(text: str) -> str:
    """The last sentence of the client, said of "you"."""
    parts = [part for part in _sentences(text) if len(WORD.findall(part)) > 2]
    words = (parts[-1] if parts else "It is on my mind.").rstrip(".!?").split()
    swapped = [_SWAPPED.get(word.casefold().strip(",").replace("’", "'"), word) for word in words]
    sentence = " ".join(swapped)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _clinician(call: Call) -> str:
    material = call.material
    said = [line.text for line in call.history if line.role == "clinician"]
    heard = [line.text for line in call.history if line.role == "patient"][-1]
    if call.purpose == "message":
        number = int(material["number"])
        strategy = "summary" if material["closing"] else FREE_STRATEGIES[number % len(FREE_STRATEGIES)]
        return _worded(strategy, heard, said, place=0, long=True)
    strategy = material["strategy"].partition(":")[0]
    place, (_, high) = material["place"], material["words"]
    text = _worded(strategy, heard, said, place=place, long=high > 18)
    if "pivot" in material:
        return f"{_fresh(PIVOT_LINES[material['pivot'].partition(':')[0]], said, place)} {text}"
    return text


def _worded(strategy: str, heard: str, said: Sequence[str], *, place: int, long: bool) -> str:
    line = _fresh(STRATEGY_LINES[strategy], said, place).replace("{heard}", _given_back(heard))
    tails = STRATEGY_TAILS.get(strategy, ())
    return f"{line} {_fresh(tails, said, place)}" if long and tails else line


def _patient(call: Call) -> str:
    """What the client says: words of the action, and where there is room a fact that wasn't told yet."""
    material = call.material
    said = [line.text for line in call.history if line.role == "patient"]
    action, place = material["action"].partition(":")[0], material["place"]
    if material["closing"] and action in CLOSING_LINES:
        line = _fresh(CLOSING_LINES[action], said, place)
    else:
        line = _fresh(ACTION_LINES[action], said, place)
    _, high = material["words"]
    if high <= 6:
        return " ".join(_sentences(line)[:1])
    facts = [fact for section in material["background"].values() for fact in section]
    if not said:
        return f"{material['profile']['reason_for_attending']} {line}"
    fact = _fresh(facts, said, place) if facts else ""
    parts = [line, fact]
    if high > 18:
        parts.append(
            _fresh([*facts, material["goal"]] if "goal" in material else facts or [line], said, place + 1)
        )
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


def _message(text: str) -> ActorReply:
    return ActorReply(orjson.dumps({"message": text, "end": False}).decode())


RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": lambda call: _message(_clinician(call)),
    "patient": lambda call: _message(_patient(call)),
    "evaluator": lambda call: ActorReply(orjson.dumps(_EVALUATION[call.purpose](call)).decode()),
    "ranker": lambda call: ActorReply(orjson.dumps({"scores": _scores(call)}).decode()),
}
