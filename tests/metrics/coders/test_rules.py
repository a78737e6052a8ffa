"""The rule coder on sentences written for it, and its agreement with the experts of AnnoMI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bedside.metrics.coders.contract import CODERS, Coder
from bedside.metrics.coders.shipped.rules import question, question_type
from bedside.metrics.coders.testing.coder_test import CodeScore, evaluate_coder
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import CODES, Transcript

OPEN = (
    "What brings you in today?",
    "How did the week go?",
    "Why now?",
    "How come?",
    "where would you like to begin?",
    "Tell me about your brother.",
    "So tell me what a good day looks like.",
    "Could you share what has been hardest?",
    "Can you tell me how that started?",
    "Would you mind telling me about your sleep?",
    "I was wondering if you could describe the pain.",
    "I'm wondering what you make of that.",
    "I'm curious how your sister sees it",
    "Let me ask you: how do you relax?",
    "Any thoughts about that?",
    "How are you feeling, physically and emotionally?",
    "what would help you get there",
    "And w-what's it like, um, when the kids are asleep?",
    "What do you do, when you get home?",
    "When the craving comes, what do you do?",
    "Where would that leave you, do you think?",
    "You felt what?",
    "What about your mother?",
    "1. **What** are your goals?",
    "What’s going on?",
    "[sighs] How was it -- how was the funeral?",
    "Did you go? What was that like?",
)
CLOSED = (
    "Do you live alone?",
    "do you live alone",
    "Are you still taking the tablets.",
    "Have you ever tried to stop?",
    "Do you smoke indoors or only outside?",
    "How many glasses would that be?",
    "How long have you been married?",
    "How often does it happen?",
    "What time do you get up?",
    "When did it begin?",
    "Who lives with you?",
    "Which of these fits best?",
    "Can I ask you how old you are?",
    "On a scale from 0 to 10, how sure are you?",
    "You've been sober for a month, right?",
    "It's been a hard year, isn't it?",
    "He wasn't there, was he?",
    "So you want to stop?",
    "And your sleep?",
    "I'm curious whether it helped.",
    "I wonder if we could talk about your sleep.",
    "Would it be okay if we talked about that?",
    "What was that like? Was it last year?",
)
NONE = (
    "Yeah?",
    "Okay?",
    "Right. You know?",
    "Mm-hmm.",
    "That must have been frightening.",
    "What you did there took courage.",
    "When you drink, you sleep badly.",
    "You can tell me anything here.",
    "I will go over the results and explain what they mean.",
    "It sounds like work has been heavy.",
    "That's what I was wondering.",
    "Have a good weekend.",
    "Do it slowly.",
    "I know how hard that is.",
    "...",
    "[laughter]",
)


@pytest.mark.parametrize(
    ("text", "label"), [*((t, "open") for t in OPEN), *((t, "closed") for t in CLOSED), *((t, "none") for t in NONE)]
)
def test_question(text: str, label: str) -> None:
    assert question(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("You slept well this week, which is a good sign.", "none"),
        ("How did you manage that, which is a good sign?", "open"),
        ("Do you drink less, which would be a start?", "closed"),
        ("What do you think about it, which is what the doctor said?", "open"),
        ("Of these, which is the worst?", "closed"),
        ("There are two ways, which would you choose", "closed"),
    ],
)
def test_a_clause_about_what_was_said_asks_nothing(text: str, label: str) -> None:
    assert question(text) == label


def test_type_is_forced_where_no_question_is_seen() -> None:
    assert question("You would start with what") == "none"
    assert question_type("You would start with what") == "open"
    assert question_type("Something at work.") == "closed"
    assert question_type("How so?") == question("How so?") == "open"
    assert question_type("…") == "closed"


def test_coder_is_registered_and_codes_clinician_turns(talk: Callable[..., Transcript]) -> None:
    coder = CODERS.load("rules")
    assert "evaluation" not in CODERS.names()
    assert isinstance(coder, Coder)
    assert coder.name == "rules"
    assert set(coder.codes) <= set(CODES)
    assert coder.rater == f"algorithm:rules@{coder.version}"
    transcript = talk(("clinician", "Why?"), ("patient", "Why not?"), ("other", "Why?"), ("clinician", "I see."))
    assert coder.refuses(transcript) is None
    assert coder.code(transcript) == {0: {"question": "open"}, 3: {"question": "none"}}


@pytest.mark.parametrize(
    ("text", "language"),
    [("最近睡得怎么样？你有没有觉得累？", None), ("Wie geht es Ihnen?", "de"), ("你好吗", "zh-CN")],
)
def test_other_languages_are_refused_with_the_reason(
    talk: Callable[..., Transcript], text: str, language: str | None
) -> None:
    why = CODERS.load("rules").refuses(talk(("clinician", text), ("patient", text), language=language))
    assert why is not None
    assert "English" in why


@pytest.mark.parametrize(
    "piece", ["[(<", "can you please just maybe ", "what ", "you know what ", "a-", "so and ", "how much "]
)
def test_long_turns_end(piece: str) -> None:
    """Whatever took more than time in proportion would not."""
    assert question(piece * (600_000 // len(piece)) + "?")


@pytest.fixture(scope="module")
def one_coder(annomi: Path) -> list[Transcript]:
    """AnnoMI's sessions that one person coded."""
    several = {"7", "27", "56", "66"}
    return [transcript for transcript in read_transcripts(annomi) if transcript.id not in several]


def scores(transcripts: list[Transcript]) -> dict[str, CodeScore]:
    return {score.view: score for score in evaluate_coder(transcripts, CODERS.load("rules")).scores}


@pytest.mark.slow
@pytest.mark.parametrize("which", ["all", "held out"])
def test_agreement_with_experts(one_coder: list[Transcript], which: str) -> None:
    # The rules were made with the even-numbered sessions only.
    found = scores([t for t in one_coder if which == "all" or int(t.id) % 2])
    assert found["question: exists"].macro_f1 >= 0.90
    assert found["question: type, where both see one"].macro_f1 >= 0.77
    assert found["question: type, where people see one"].macro_f1 >= 0.77


@pytest.mark.slow
def test_beats_looking_for_question_marks(one_coder: list[Transcript]) -> None:
    from sklearn.metrics import f1_score

    gold, marks = [], []
    for transcript in one_coder:
        for turn in transcript.of("clinician"):
            (codes,) = turn.meta["codes"].values()
            gold.append(codes["question"] != "none")
            marks.append("?" in turn.text)
    baseline = f1_score(gold, marks, average="macro")
    assert scores(one_coder)["question: exists"].macro_f1 > baseline > 0.85
