"""Talk-time balance: how much of the talk is the more talkative party's, as ConvoKit's TalkTimeSharing has it.

ConvoKit's own module draws figures and seeds the global random state when it is imported, for what is one division: so
the balance is computed here, and equality with ConvoKit's is a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.metrics.families.structure import count_words, without_spaces
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import Transcript, Turn

_BALANCE = "talk_time_balance"


def compute(transcript: Transcript, metric_names: frozenset[str], *, first_and_last: bool) -> Iterator[Value]:
    """The balance of the transcript, where it is in ``metric_names``."""
    if _BALANCE not in metric_names:
        return
    turns = transcript.turns if first_and_last else transcript.turns[1:-1]
    talk = [turn for turn in turns if turn.role != "other"]
    sides = {turn.role for turn in transcript.turns} - {"other"}
    if len(sides) == 1:
        yield missing(_BALANCE, f"no {'patient' if 'clinician' in sides else 'clinician'} turn")
        return
    if not talk:
        within = "" if first_and_last else " between the first and the last"
        yield missing(_BALANCE, f"no clinician or patient turn{within}")
        return
    times = [_seconds(turn) for turn in talk]
    backwards = [turn.index for turn, time in zip(talk, times, strict=True) if time is not None and time < 0]
    if backwards:
        yield missing(_BALANCE, f"turn {backwards[0]} stops before it starts")
        return
    lengths, measure = _lengths(transcript, talk, times)
    total = sum(lengths)
    if not total:
        yield missing(_BALANCE, f"neither clinician nor patient talks, {measure}")
        return
    clinician = sum(length for turn, length in zip(talk, lengths, strict=True) if turn.role == "clinician")
    yield Value(_BALANCE, max(clinician, total - clinician) / total, reason=measure)


def _lengths(transcript: Transcript, talk: Sequence[Turn], times: Sequence[float | None]) -> tuple[list[float], str]:
    """How long each turn is: in seconds where every turn says so, else in words or, without spaces, characters."""
    seconds = [time for time in times if time is not None]
    if len(seconds) == len(times):
        return seconds, "by seconds"
    if without_spaces(transcript):
        return [float(len(turn.text)) for turn in talk], "by characters"
    return [float(count_words(turn.text)) for turn in talk], "by words"


def _seconds(turn: Turn) -> float | None:
    start = _number(turn.meta.get("start"))
    stop = _number(turn.meta.get("stop", turn.meta.get("end")))
    return None if start is None or stop is None else stop - start


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


_TIMED = (
    ("clinician", "Hello.", {"start": 0, "stop": 2}),
    ("patient", "I sleep badly.", {"start": 2, "stop": 11.0}),
    ("clinician", "Since when?", {"start": 11, "stop": 14}),
    ("patient", "May.", {"start": 14, "stop": 15}),
)
_TALK = (
    ("clinician", "How are you sleeping?"),
    ("patient", "Badly. I wake at three."),
    ("clinician", "Tell me more."),
    ("patient", "Work."),
)

FAMILY = Family(
    name="talk_time",
    title="Talk time",
    description=(
        "Who talks how much, by ConvoKit's TalkTimeSharing. Seconds count where every turn has `start` and `stop` (or "
        "`end`) in its meta; else words stand for time, or characters where the script has no spaces."
    ),
    version="1",
    metrics=(
        Metric(
            name=_BALANCE,
            title="Talk-time balance (ConvoKit)",
            unit="transcript",
            low=0.5,
            high=1,
            definition=(
                "Talk time of whichever of clinician and patient talks more, divided by the talk time of both: .5 is "
                "an even share, 1 a monologue. The first and the last turn are left out, as in ConvoKit."
            ),
            source="Chang et al., ConvoKit 5 (TalkTimeSharing, balance score with its default options)",
            examples=(
                Example(_TIMED, 9 / 12, "9 of 12 seconds, as ConvoKit gives it"),
                Example(_TALK, 5 / 8, "5 of 8 words, as ConvoKit gives it for a second a word"),
                Example(_TALK, 7 / 13, "all turns, by hand", parameters={"first_and_last": True}),
                Example(_TALK[:2], None, "nothing is between the first and the last turn"),
            ),
        ),
    ),
    compute=compute,
    parameters={"first_and_last": Parameter(False, True, "Whether the first and the last turn count as well.")},
    demonstration=_TALK,
)
