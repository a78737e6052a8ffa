"""Challenge cues: a patient's words of continued worry, of hesitation, or asking to avoid the plan (English)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_STILL = (
    r"(?:still|just|really|so|very|a (?:bit|little)|quite|pretty|kind of|kinda|too|even more|rather|getting)"
)
_FEAR = (
    r"(?:worried|worry|worries|worrying|afraid|scared|scary|frightened|terrified|anxious|nervous|uneasy|concerned|"
    r"uncomfortable|upset|overwhelmed|panicking|dreading)"
)

#: Kind of cue → patterns, read on lower-case text with plain apostrophes.
CUES: Mapping[str, tuple[str, ...]] = {
    "continued worry": (
        rf"\bi(?:'m| am| feel)(?: {_STILL})* {_FEAR}\b",
        r"\bi(?: still| just| really| do)* (?:worry|fear|dread|panic)\b",
        rf"\b(?:makes?|making|has|have|got) me(?: {_STILL})* {_FEAR}\b",
        rf"\bstill {_FEAR}\b",
        r"\bwhat if\b",
        r"\bwhat happens if\b",
        r"\bi (?:can't|cannot|can not) (?:stop|help) (?:worrying|thinking|being afraid)\b",
    ),
    "hesitation": (
        rf"\bi(?:'m| am)(?: {_STILL})* not(?: {_STILL})* (?:sure|certain|convinced|ready|comfortable|persuaded)\b",
        r"\bi don't know (?:if|whether|about)\b",
        r"\bi(?:'m| am)(?: still| a bit| a little| rather| quite)* "
        r"(?:hesitant|reluctant|torn|undecided|skeptical|sceptical)\b",
        r"\bi(?:'d| would)?(?: just| still)* (?:need|like|want|have)(?: some)?(?: more)?(?: time)? to think\b",
        r"\bi(?:'ll| will) (?:have to |need to )?think about (?:it|that)\b",
        r"\b(?:need|want) (?:some |more |a bit more |a little )time\b",
        r"\bi (?:doubt|hesitate)\b",
        r"\bi don't (?:think|believe|see how) (?:that|this|it|i)\b",
        r"\beasier said than done\b",
    ),
    "asking to avoid the plan": (
        r"\bdo i (?:really |actually |absolutely )?(?:have|need) to\b",
        r"\bis (?:it|that|this) (?:really |absolutely |all )*necessary\b",
        r"\b(?:can|could|can't|couldn't) (?:i|we)(?: just| not| maybe| perhaps)* "
        r"(?:wait|skip|avoid|postpone|delay|put (?:it|this|that) off|hold off|leave it|do without|"
        r"try something else)\b",
        r"\b(?:is|isn't|are|aren't) there (?:any |an |some |no )?(?:other|another|different|alternatives?)\b",
        r"\bi(?:'d| would)(?: really| much)* (?:rather|prefer)(?: to)? (?:not|wait|avoid|skip)\b",
        r"\bi (?:really |just |still )*(?:don't|do not) (?:really )?want "
        r"(?:any|that|this|it|to (?:take|start|do|go|have|try|use|see|stop|be on))\b",
        r"\bi(?:'m| am) not (?:going to|doing|taking|having)\b",
        r"\bi (?:won't|will not|refuse to)\b",
        r"\b(?:instead of|without) (?:having to|going|taking|doing)\b",
    ),
}
_COMPILED = {kind: re.compile("|".join(patterns)) for kind, patterns in CUES.items()}


def challenge_cues(text: str) -> tuple[str, ...]:
    """Kinds of challenge cue in what a patient says, in the order of :data:`CUES`; empty where there is none."""
    plain = " ".join(text.casefold().replace("’", "'").split())
    return tuple(kind for kind, pattern in _COMPILED.items() if pattern.search(plain))
