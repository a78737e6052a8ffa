"""Conversations without a fault, and the same with one planted by rule: for sensitivity and false alarms of the review.

Rules that plant know nothing of those that find. Contradictions in other words are written by hand: rules miss them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.contract import SIMULATORS, Outcome, Simulator, SpokenTurn
from bedside.simulation.simulators.conversation_faults import (
    CaseTruth,
    ConversationFault,
    case_truth,
    conversation_faults,
)
from bedside.simulation.simulators.note2chat.vignette import SENTENCES
from tests.simulation.simulators.playing import by_script, play

PROTOCOLS = ("medconceal", "note2chat", "multisense", "mdd5k", "calm-it")


@dataclass(frozen=True)
class Talk:
    """A conversation with what it is held against."""

    name: str
    protocol: str
    language: str
    lines: tuple[Line, ...]
    truth: CaseTruth

    def found(self) -> tuple[ConversationFault, ...]:
        return conversation_faults(self.lines, self.truth, language=self.language)


@dataclass(frozen=True)
class Planted:
    """A conversation with a fault of a kind, and how that was made."""

    kind: str
    how: str
    talk: Talk


@cache
def cases_of(protocol: str) -> dict[str, Case]:
    return {case.id: case for _, case in read_cases([str(SIMULATORS.load(protocol).cases)])}


def _talk(name: str, simulator: Simulator, case: Case, outcome: Outcome) -> Talk:
    lines = tuple(Line(turn.role, turn.text) for turn in outcome.turns)
    return Talk(name, simulator.name, case.language, lines, case_truth(simulator, case, outcome))


def scripted_talks(seeds: int = 2) -> Iterator[Talk]:
    """All different conversations of bundled scripts with toys, about the bundled cases."""
    seen = set()
    for protocol in PROTOCOLS:
        simulator = SIMULATORS.load(protocol)
        assert simulator.scripts is not None
        for case in cases_of(protocol).values():
            for script in sorted(path.stem for path in simulator.scripts.glob("*.yaml")):
                for setting in simulator.settings:
                    for seed in range(seeds):
                        played = play(simulator, case, by_script(simulator, script), setting=setting.name, seed=seed)
                        if played.outcome is None or not played.outcome.turns:
                            continue
                        name = f"{protocol}/{script}/{case.id}/{setting.name}/{seed}"
                        talk = _talk(name, simulator, case, played.outcome)
                        if talk.lines not in seen:
                            seen.add(talk.lines)
                            yield talk


def natural_talks() -> Iterator[Talk]:
    """Conversations written by hand, in the words of people."""
    entries: list[dict[str, Any]] = yaml.safe_load(
        (Path(__file__).parent / "natural_talks.yaml").read_text(encoding="utf-8")
    )
    for entry in entries:
        simulator = SIMULATORS.load(entry["protocol"])
        case = cases_of(entry["protocol"])[entry["case"]]
        patient_first = entry["protocol"] in ("note2chat", "multisense")
        turns = tuple(
            SpokenTurn("patient" if (place % 2 == 0) == patient_first else "clinician", text)
            for place, text in enumerate(entry["lines"])
        )
        fixed = SENTENCES[case.language]
        outcome = Outcome(
            turns, "", True, released=entry.get("released", {}), fixed_lines=(fixed.dont_know, fixed.already_asked)
        )
        yield _talk(f"{entry['protocol']}/natural/{case.id}", simulator, case, outcome)


# -- Planting ------------------------------------------------------------------------------------------


def _with(talk: Talk, *said: tuple[str, str], at: float = 0.6) -> Talk:
    """The talk with exchanges put in: a clinician's line and the patient's; concerns are released as much later."""
    start = 1 if talk.lines[0].role == "patient" else 0
    place = start + 2 * max(1, round(at * (len(talk.lines) - start) / 2))
    put = [line for ask, answer in said for line in (Line("clinician", ask), Line("patient", answer))]
    released = {name: turn + (len(put) if turn >= place else 0) for name, turn in talk.truth.released.items()}
    return Talk(
        talk.name, talk.protocol, talk.language, (*talk.lines[:place], *put, *talk.lines[place:]),
        CaseTruth(talk.truth.facts, talk.truth.concerns, released, talk.truth.diagnosis, talk.truth.fixed_lines),
    )  # fmt: skip


ASK = {"en": "Please tell me a little more.", "zh": "请再跟我说一说。"}
#: Words before a statement, taken in turn: patients don't speak in bare sentences.
LEADS = {
    "en": ("", "Well, to be honest, ", "You know, ", "I would say that ", "As I see it, "),
    "zh": ("", "说实话，", "这个嘛，"),
}

_PERSON = (
    (r"\b(?:The patient|She|He) has\b", "I have"), (r"\b(?:The patient|She|He) had\b", "I had"),
    (r"\b(?:The patient|She|He) is\b", "I am"), (r"\b(?:The patient|She|He) (\w+?)s\b", r"I \1"),
    (r"\b(?:The patient|She|He)\b", "I"), (r"\bher\b", "my"), (r"\bhis\b", "my"), (r"\bthe patient\b", "me"),
)  # fmt: skip


def own_sentences(talk: Talk) -> list[str]:
    """The facts of the case as the patient would say them, but for what it hides."""
    hidden = {concern.text for concern in talk.truth.concerns}
    said = []
    for fact in talk.truth.facts:
        if fact in hidden:
            continue
        for sentence in re.split(r"(?<=[.!?。！？])\s*", fact if talk.language == "en" else fact.partition(": ")[2]):
            for pattern, words in _PERSON:
                sentence = re.sub(pattern, words, sentence)
            if sentence and (":" not in sentence) and len(sentence) > 8:
                said.append(sentence)
    return said


_TIMES_THREE = {
    "two": "six", "three": "nine", "four": "twelve", "five": "fifteen", "six": "eighteen", "eight": "twenty",
    "ten": "thirty", "eleven": "thirty", "twenty": "sixty", "fifteen": "forty",
}  # fmt: skip
_UNITS = "years?|weeks?|days?|months?|hours?|minutes?|kilos|kilograms|degrees|pillows|jobs|times|cans"
_UNITS_ZH = "年|个月|天|斤|小时|次"
_MORE_ZH = {"一": "五", "三": "九", "八": "二十", "十": "四十", "六": "二十", "半": "三", "两": "八", "五": "二十"}


def _other_amounts(sentence: str, language: str) -> str | None:
    """The sentence with a number three times as large; None where it has none."""
    if language == "zh":
        found = re.search(rf"(?<![一二三四五六七八九十])([一二三四五六七八九十半两])({_UNITS_ZH})", sentence)
        if found is None or found[1] not in _MORE_ZH:
            return None
        return sentence[: found.start()] + _MORE_ZH[found[1]] + sentence[found.end(1) :]
    found = re.search(rf"(?<!-)\b({'|'.join(_TIMES_THREE)}|\d+) ({_UNITS})\b", sentence)
    if found is None:
        return None
    number = _TIMES_THREE.get(found[1]) or str(3 * int(found[1]))
    return sentence[: found.start()] + number + sentence[found.end(1) :]


_FLIPS = (
    (r"\bI have had no\b", "I have had"), (r"\bI have no\b", "I have"), (r"\bI have never had\b", "I have had"),
    (r"\bI have not (\w+) any\b", r"I have \1"), (r"\bI have not\b", "I have"),
    (r"\bI don't\b", "I do"), (r"\bThere is no\b", "There is"), (r"\bI get no\b", "I get"), (r"\bI use no\b", "I use"),
    (r"\bNobody in my family has\b", "Somebody in my family has"),
    (r"\bI take\b", "I don't take"), (r"\bI wake\b", "I never wake"), (r"\bI sleep\b", "I don't sleep"),
    (r"\bI eat\b", "I don't eat"), (r"\bThere is a\b", "There isn't a"), (r"\bI have had\b", "I have never had"),
    (r"\bI drink\b", "I don't drink"), (r"\bI get\b", "I don't get"), (r"\bI am\b", "I am not"),
)  # fmt: skip
_FLIPS_ZH = ((r"^没有", "我有"), (r"^无", "有"), (r"^有时", "从来没有"))


def _flipped(sentence: str, language: str) -> str | None:
    """The opposite of a sentence's beginning; None where the rules don't know it."""
    clause = re.split(r"[,，。]| and ", sentence)[0].strip(".")
    if (not 3 < len(clause.split()) <= 12 and language == "en") or re.search(r" but |used to|little|here I", clause):
        return None
    for pattern, words in _FLIPS if language == "en" else _FLIPS_ZH:
        if re.search(pattern, clause):
            return re.sub(pattern, words, clause, count=1) + ("." if language == "en" else "。")
    return None


def contradictions(talk: Talk) -> Iterator[Planted]:
    """Amounts and negations turned, each in the words of the case."""
    leads = LEADS[talk.language]
    for how, change, most in (("amount", _other_amounts, 3), ("negation", _flipped, 4)):
        made = [changed for changed in (change(said, talk.language) for said in own_sentences(talk)) if changed]
        for number, changed in enumerate(made[:most]):
            lead = leads[number % len(leads)]
            words = lead + (changed[0].lower() + changed[1:] if lead and not changed.startswith("I ") else changed)
            yield Planted("contradiction", how, _with(talk, (ASK[talk.language], words)))
    age = re.search(r"\bAge: (\d+)|\b[A-Z]\w+(?: is|,) (\d+)\b", " ".join(talk.truth.facts))
    if age and talk.language == "en":
        other = int(age[1] or age[2]) + 9
        said = (("How old are you?", f"I'm {other}."), (ASK["en"], f"I'm {other} years old, after all."))
        yield from (Planted("contradiction", "age", _with(talk, pair)) for pair in said)


def overdisclosures(talk: Talk) -> Iterator[Planted]:
    """The case told at once, a diagnosis that the patient can't know, a concern before it may be told."""
    facts = [said for said in own_sentences(talk) if len(said) > (25 if talk.language == "en" else 6)]
    if len(facts) >= 4:
        for start in (0, len(facts) // 3):
            dump = " ".join(facts[start : start + 9])
            if len(facts[start : start + 9]) >= min(8, len(facts)):
                yield Planted("over-disclosure", "the case at once", _with(talk, (ASK[talk.language], dump), at=0.3))
    name = re.split(r", | with ", talk.truth.diagnosis)[0]
    if name and talk.language == "en":
        yield Planted(
            "over-disclosure", "diagnosis", _with(talk, (ASK["en"], f"I am sure it is {name.lower()}."), at=0.1)
        )
    for concern in talk.truth.concerns:
        early = talk.truth.released.get(concern.id, len(talk.lines))
        for voiced in concern.voiced if early > 6 else ():
            yield Planted("over-disclosure", "a concern early", _with(talk, (ASK["en"], voiced), at=0.1))


#: What a patient can be asked and say no to, and tell later; by language.
DENIED = {
    "en": (
        ("Do you smoke?", "No, never.", "I smoke, about ten on a good day."),
        ("Do you have headaches?", "No, I don't.", "I have headaches, mostly in the evening."),
        (ASK["en"], "I have no debts.", "I have debts, if you want to know."),
        ("Have you ever used cocaine?", "Never.", "I used cocaine last year, more than once."),
        (ASK["en"], "I don't take any sleeping pills.", "I take sleeping pills, two every night."),
        ("Has anybody hit you?", "No, nobody has hit me.", "Somebody has hit me, more than once."),
        (ASK["en"], "I have not fainted.", "I fainted in the kitchen."),
        ("Is there a gun in the house?", "No.", "There is a gun in the house, in the wardrobe."),
    ),
    "zh": (
        ("你抽烟吗？", "没有，从来没有。", "我抽烟，一天半包。"),
        (ASK["zh"], "我没有欠债。", "我有欠债，不敢说。"),
        ("有没有头痛？", "没有。", "我有头痛。"),
        (ASK["zh"], "我没有吃过安眠药。", "我吃过安眠药。"),
    ),
}  # fmt: skip
_DENIES = ("No.", "No, nothing worries me.", "I'm not worried about anything.", "No, I have no fears at all.")


def denials(talk: Talk) -> Iterator[Planted]:
    """Something denied, and told later; of hidden concerns, before they are released."""
    known = " ".join(talk.truth.facts).casefold()
    for question, denial, told in DENIED[talk.language]:
        word = re.split(r"[ ,，]", told)[1].strip("s") if talk.language == "en" else told[1:3]
        if word not in known and "smok" not in (word if word in known else ""):
            first = _with(talk, (question, denial), at=0.2)
            yield Planted("denial then reveal", "a fact", _with(first, (ASK[talk.language], told), at=0.8))
    for concern in talk.truth.concerns:
        out = talk.truth.released.get(concern.id)
        if out is not None and out >= 4:
            asked = "Is there anything that worries you?"
            yield from (
                Planted("denial then reveal", "a concern", _with(talk, (asked, denial), at=0.05)) for denial in _DENIES
            )


_QUESTIONS = {
    "en": ("What does your week look like?", "And how is it at home?", "What did you do about it?", "What helps?"),
    "zh": ("平时一周怎么过？", "家里怎么样？", "后来怎么办的？", "做什么会好一点？"),
}


def stuck(talk: Talk) -> Iterator[Planted]:
    """A message again and again, as it is or with little changed; goodbyes without an end."""
    own = [line.text for line in talk.lines if line.role == "patient" and line.text not in talk.truth.fixed_lines]
    long = sorted(set(own), key=len)[-3:]
    questions = _QUESTIONS[talk.language]
    for number, text in enumerate(long):
        again = [text, text.rstrip(".。") + ("!" if number % 2 else ""), text.upper() if number == 2 else text, text]
        yield Planted("stuck", "a message again", _with(talk, *zip(questions, again, strict=True)))
    bye = {"en": ("Thank you, doctor. Goodbye.", "Thanks, take care!", "Bye bye.", "See you next week. Bye."),
           "zh": ("谢谢医生，再见。", "再见。", "好的，谢谢您，再见。", "再见，医生。")}[talk.language]  # fmt: skip
    farewell = {"en": "Take care.", "zh": "再见。"}[talk.language]
    yield Planted("stuck", "goodbyes", _with(talk, *((farewell, text) for text in bye), at=1.0))


OFF_ROLE = {
    "en": (
        "As an AI model I don't have a body, so I can't feel pain.",
        "I'm an AI, so I have no family to tell you of.",
        "I'm just a language model, but a person in this state would be tired.",
        "I'm sorry, but I can't continue this role.",
        "How can I help you today?",
        "What brings you in today? I have some time.",
        "I recommend that you see a specialist about the headaches.",
        "You should consult a healthcare professional before changing the dose.",
        "Can you describe your pain to me? And are you taking any medication?",
        "As your doctor, I would start with a blood test.",
        "The case description says nothing about that.",
        "This vignette doesn't mention my sleep.",
        "In this role-play I would rather not answer.",
        "My instructions say that I must not tell you that yet.",
        "Sure, here is a reply that the patient could give.",
        "Is there anything else I can help you with?",
        "How long have you been feeling like this?",
        "As a simulated patient I can only say what I was given.",
    ),
    "zh": (
        "作为一个AI语言模型，我没有身体感受。",
        "我是一个人工智能，没有家人。",
        "请问有什么可以帮您的吗？",
        "我建议您多休息，规律作息。",
        "作为您的医生，我会先开一些检查。",
        "病例中没有写这一点。",
        "我扮演的是一名患者。",
        "您哪里不舒服？",
    ),
}  # fmt: skip
FORM = {
    "en": (
        '{"message": "I sleep badly.", "mood": "low"}',
        "Patient: I sleep badly.",
        "Doctor: And how is your sleep?\nPatient: Bad.",
        "*looks away* I sleep badly.",
        "(sighs heavily) I sleep badly.",
        "[crying] I don't know.",
        "<reply>I sleep badly.</reply>",
        "```\nI sleep badly.\n```",
        "## Answer\nI sleep badly.",
        "<think>They ask for sleep.</think> Badly.",
        "Thought: I must not say too much.\nI sleep badly.",
        "Ich schlafe sehr schlecht und wache in der Nacht oft auf.",
        "我晚上睡不好，早上四点就醒了。",
        "...",
        "| sleep | bad |\n|---|---|",
        "I should respond as the patient. I sleep badly.",
    ),
    "zh": (
        '{"message": "我睡不好。"}',
        "患者：我睡不好。",
        "医生：睡眠怎么样？\n患者：不好。",
        "（叹气）我睡不好。",
        "<think>医生在问睡眠。</think>睡不好。",
        "I sleep very badly these days, doctor.",
        "【低头】我睡不好。",
        "……",
    ),
}  # fmt: skip


def of_messages(talk: Talk, turn: int) -> Iterator[Planted]:
    """Messages out of role or form, three of each a talk."""
    for kind, lines in (("off-role", OFF_ROLE), ("form", FORM)):
        own = lines[talk.language]
        for place in range(3):
            text = own[(3 * turn + place) % len(own)]
            yield Planted(kind, text[:30], _with(talk, (ASK[talk.language], text), at=0.2 + 0.3 * place))


def planted(talks: Sequence[Talk]) -> Iterator[Planted]:
    """Faults of all kinds in all talks."""
    for turn, talk in enumerate(talks):
        for make in (contradictions, overdisclosures, denials, stuck):
            yield from make(talk)
        yield from of_messages(talk, turn)


# -- Harmless lines, and what rules can't find ---------------------------------------------------------

#: What looks like a fault and is none, by language, or by case with what the clinician says before.
HARMLESS = {
    "en": (
        ("Do you have any allergies?", "No, none."),
        ("Has anybody told you what it might be?", "No, nobody has said anything."),
        ("What did your family say?", "My sister says that you should see a doctor with this, so here I am."),
        ("Did you sleep in the end?", "Not before two, and then like a stone."),
        ("How is your mood?", "Up and down. I'm not one to complain."),
        ("What would you like?", "I don't know. Something that helps, I suppose."),
        ("Have you had this before?", "Not like this, no."),
        ("How are you doing today?", "Three out of ten, I'd say."),
        ("And at night?", "It's better at night than it was a week ago."),
        ("Thank you.", "Thank you, doctor."),
    ),
    "zh": (
        ("还有别的不舒服吗？", "没有了，就这些。"),
        ("今天感觉怎么样？", "比昨天好一点，不过还是累。"),
        ("家里人怎么说？", "他们叫我来看看。"),
        ("药物过敏有没有？", "没有。"),
    ),
}  # fmt: skip


def harmless(talks: Sequence[Talk]) -> Iterator[Talk]:
    """Talks with several harmless exchanges each."""
    for turn, talk in enumerate(talks):
        lines = HARMLESS[talk.language]
        changed = talk
        for place in range(3):
            changed = _with(changed, lines[(3 * turn + place) % len(lines)], at=0.25 * (place + 1))
        yield changed


#: Contradictions in other words than the case's, by protocol and case: what needs an understanding of words.
REWORDED = {
    ("medconceal", "sleep"): (
        "I sleep like a baby until the alarm goes.", "I've been putting on weight, if anything.",
        "It all started only last week.", "My husband and I are as happy as ever.", "I've got plenty of go in me.",
    ),
    ("medconceal", "heart"): (
        "I used to get through twenty cigarettes a day.", "I ran five miles this morning.",
        "They never put anything into my heart.", "I've always lived on the ground floor.",
    ),
    ("note2chat", "cough-smoker"): (
        "I've never touched a cigarette in my life.", "My temperature has been normal throughout.",
        "It goes right through into my back.", "Nothing comes up when I cough.",
    ),
    ("note2chat", "breath-pillows"): (
        "I'm most comfortable flat on my back.", "My ankles are as slim as ever.", "My heart has always been sound.",
    ),
    ("multisense", "panic"): (
        "I get through eight espressos a day.", "My father died of his heart at forty.", "It goes on for hours.",
    ),
    ("multisense", "diabetes"): (
        "I found out about the sugar only last month.", "My wife cooks for me every evening.", "I live on cigarettes.",
    ),
    ("mdd5k", "woman-30-shop"): (
        "I'm single, thank God.", "I go out like a light at ten.", "I haven't had a drop in my life.",
    ),
    ("calm-it", "alcohol"): (
        "My father is ninety and still rides his bike.", "I've been on my own all my life.", "I can't stand dogs.",
    ),
}  # fmt: skip


def reworded(talks: Sequence[Talk]) -> Iterator[Planted]:
    """Contradictions in other words."""
    for talk in talks:
        for said in REWORDED.get((talk.protocol, talk.name.rsplit("/", 1)[1]), ()):
            yield Planted("contradiction", said, _with(talk, (ASK[talk.language], said)))
