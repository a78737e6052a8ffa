"""The texts of turns that a probe changes, and the language that its own are in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from bedside.judges.rubrics.rubric import Rubric
from bedside.transcripts.language import not_english, primary_language
from bedside.transcripts.transcript import Role, Transcript, Turn

# -- Changes of a conversation's turns that several probes make -----------------------------------------

#: What is said in an added turn, and by whom.
AddedTurn = tuple[Role, str]


def rated_role(rubric: Rubric) -> Role:
    """Whose turns a change is made to: those that the rubric rates, the clinician's where it rates the whole."""
    return rubric.role or "clinician"


def numbered(transcript: Transcript, turns: Sequence[Turn]) -> Transcript:
    """The conversation with these turns, numbered anew."""
    return replace(
        transcript,
        turns=tuple(
            turn if turn.index == index else replace(turn, index=index) for index, turn in enumerate(turns)
        ),
    )


def with_texts(transcript: Transcript, role: Role, text: Callable[[str], str]) -> Transcript:
    """The conversation with each turn of a role in other words."""
    return replace(
        transcript,
        turns=tuple(
            replace(turn, text=text(turn.text)) if turn.role == role else turn for turn in transcript.turns
        ),
    )


def exchanges(transcript: Transcript) -> list[list[Turn]]:
    """The turns in exchanges, each from where the clinician begins to speak until they begin again.

    What others say before the clinician's first turn is an exchange of its own.
    """
    blocks: list[list[Turn]] = []
    before: Role | None = None
    for turn in transcript.turns:
        if not blocks or (turn.role == "clinician" and before != "clinician"):
            blocks.append([])
        blocks[-1].append(turn)
        before = turn.role
    return blocks


def with_turns(transcript: Transcript, place: int, added: Sequence[AddedTurn]) -> Transcript:
    """The conversation with turns added before the one at ``place``; they belong to the stage of their neighbour.

    A speaker is called as the first turn of that role calls them.
    """
    neighbour = transcript.turns[min(place, len(transcript.turns) - 1)]
    stage = {"stage": neighbour.meta["stage"]} if "stage" in neighbour.meta else {}
    speakers = {turn.role: turn.speaker for turn in reversed(transcript.turns)}
    turns = [Turn(0, role, speakers.get(role, role), text, stage) for role, text in added]
    return numbered(transcript, [*transcript.turns[:place], *turns, *transcript.turns[place:]])


# -- The language that a probe's own texts are in -------------------------------------------------------

#: The languages that probes have texts in.
LANGUAGES = ("en", "zh", "de")

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"\S[^.!?。！？…\n]*[.!?。！？…]*[\"'”’」』)）]*")
#: Frequent in German, and rare as words of other languages.
_GERMAN = frozenset(
    """
    aber auch auf das dass dem den der die doch ein eine einen er es habe haben hat ich ihnen immer ist ja kann
    mal mehr mein mich mir mit nicht noch nur oder schon sehr sich sie sind und uns von vor wann war was wenn wie wir
    wird zu zum über
    """.split()
)
#: Share of these words that German has at least.
_GERMAN_SHARE = 0.15
_SAMPLE = 4000


def text_language(transcript: Transcript) -> tuple[str, str | None]:
    """The language of a probe's texts for a conversation, and what is amiss with it as a phrase; None where nothing.

    The transcript's own where it names one; else what its characters and commonest words show. A conversation in a
    language that probes have no texts in gets English ones.
    """
    if transcript.language is not None:
        tag = primary_language(transcript.language)
        return (
            (tag, None)
            if tag in LANGUAGES
            else ("en", f"English texts were put into a conversation in {tag}")
        )
    text = " ".join(turn.text for turn in transcript.turns)[:_SAMPLE]
    letters = len(_LETTER.findall(text))
    if 5 * len(_HAN.findall(text)) > letters > 0:
        return "zh", None
    words = _WORD.findall(text.lower())
    if words and sum(map(_GERMAN.__contains__, words)) >= _GERMAN_SHARE * len(words):
        return "de", None
    if not_english(text, None) is None:
        return "en", None
    return "en", "English texts were put into a conversation whose language isn't known"


def word_count(text: str) -> int:
    """How many words a text has; each Chinese character counts as one."""
    han = len(_HAN.findall(text))
    return han + len(_HAN.sub(" ", text).split()) if han else len(text.split())


def sentences(text: str) -> list[str]:
    """A text's sentences, with their ends."""
    return [match[0].strip() for match in _SENTENCE.finditer(text)]


def joined(parts: list[str], language: str) -> str:
    """Sentences as a text; Chinese has no space between them."""
    return ("" if language == "zh" else " ").join(parts)
