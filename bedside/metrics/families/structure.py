"""Structure: how many turns, how long, who talks, whether the conversation was completed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bedside.core.words import UNSPACED
from bedside.metrics.contract import Example, Family, Metric
from bedside.ratings.values import Value, missing
from bedside.transcripts.transcript import ROLES, Role, Transcript

_ROLES: tuple[Role, ...] = ("clinician", "patient")
_WORD = re.compile(r"\w")
#: White space as a blank, and all else that isn't left out as ``a``: a word then begins where ``a`` follows a blank.
_MARKS = re.sub(r"[\w\s]", "", "".join(map(chr, range(128)))).encode()
_AS_WORDS = bytes(32 if chr(code).isspace() else 97 for code in range(256))
_UNSPACED = re.compile(f"[{UNSPACED}]")
_UNSPACED_LANGUAGES = frozenset(("zh", "ja", "th", "lo", "km", "my"))
_NO_WORDS = "the text has no spaces between words; see characters"


def count_words(text: str) -> int:
    """Number of words: tokens between white space that hold a letter or a digit."""
    if text.isascii():
        return (b" " + text.encode().translate(_AS_WORDS, _MARKS)).count(b" a")
    tokens = text.split()
    # Most begin with one.
    return len(tokens) - sum(_WORD.search(token) is None for token in tokens if not token[0].isalnum())


def without_spaces(transcript: Transcript) -> bool:
    """Whether the transcript is in a script that has no spaces between words.

    By its language where that is given, else by whether such characters make up a tenth of the text.
    """
    if transcript.language is not None:
        return transcript.language.split("-")[0].lower() in _UNSPACED_LANGUAGES
    length = unspaced = 0
    for turn in transcript.turns:
        length += len(turn.text)
        if not turn.text.isascii():
            unspaced += len(_UNSPACED.findall(turn.text))
    return unspaced * 10 > length


def count_exchanges(transcript: Transcript) -> int:
    """Number of exchanges: the runs of turns of whichever of clinician and patient speaks first."""
    first: Role | None = None
    previous: Role | None = None
    count = 0
    for turn in transcript.turns:
        if turn.role == "other":
            continue
        first = first or turn.role
        count += turn.role == first != previous
        previous = turn.role
    return count


def _completed(transcript: Transcript) -> Value:
    stated = transcript.factors.get("completed")
    if isinstance(stated, bool):
        return Value("completed", float(stated))
    target = transcript.factors.get("target_length")
    if isinstance(target, int | float) and not isinstance(target, bool):
        return Value("completed", float(len(transcript.turns) >= target))
    return missing("completed", "no factor says the target length or whether it was completed")


@dataclass(frozen=True, slots=True)
class _Length:
    """How much one role says."""

    turns: int
    characters: int
    words: int


def _lengths(transcript: Transcript, words: bool) -> dict[Role, _Length]:
    """Turns, characters and, where wanted, words of each role, counted once."""
    said: dict[Role, list[str]] = {role: [] for role in ROLES}
    for turn in transcript.turns:
        said[turn.role].append(turn.text)
    return {
        role: _Length(len(texts), sum(map(len, texts)), sum(map(count_words, texts)) if words else 0)
        for role, texts in said.items()
    }


def _role_values(length: _Length, metric_names: frozenset[str], role: Role, unspaced: bool) -> Iterator[Value]:
    if not length.turns:
        # One side alone was written down: how much the other said is not known.
        for metric in _OF_ROLES:
            if metric in metric_names:
                yield missing(metric, f"no {role} turn", role=role)
        return
    if "turns" in metric_names:
        yield Value("turns", float(length.turns), role=role)
    if "characters" in metric_names:
        yield Value("characters", float(length.characters), role=role)
    if "characters_per_turn" in metric_names:
        yield Value("characters_per_turn", length.characters / length.turns, role=role)
    if "words" in metric_names:
        yield (missing("words", _NO_WORDS, role=role) if unspaced else Value("words", float(length.words), role=role))
    if "words_per_turn" in metric_names:
        yield (
            missing("words_per_turn", _NO_WORDS, role=role)
            if unspaced
            else Value("words_per_turn", length.words / length.turns, role=role)
        )


def _silent(lengths: Mapping[Role, _Length]) -> Role | None:
    """The side that has no turn, where the other has."""
    silent = [role for role in _ROLES if not lengths[role].turns]
    return silent[0] if len(silent) == 1 else None


def _talk_share(lengths: Mapping[Role, _Length], unspaced: bool) -> Iterator[Value]:
    said = {role: lengths[role].characters if unspaced else lengths[role].words for role in _ROLES}
    total = sum(said.values())
    silent = _silent(lengths)
    for role in _ROLES:
        if silent is not None:
            yield missing("talk_share", f"no {silent} turn", role=role)
        elif total:
            remark = "by characters" if unspaced else None
            yield Value("talk_share", said[role] / total, role=role, reason=remark)
        else:
            yield missing("talk_share", "neither clinician nor patient says a word", role=role)


#: Metrics of a role of which nothing is known where it has no turn.
_OF_ROLES = ("turns", "characters", "characters_per_turn", "words", "words_per_turn")
#: Metrics that words have to be counted for.
_OF_WORDS = frozenset(("words", "words_per_turn", "talk_share"))


def compute(transcript: Transcript, metric_names: frozenset[str], **_: Any) -> Iterator[Value]:
    """Values of the structure metrics named in ``metric_names``."""
    turns = transcript.turns
    if not turns:
        for metric in METRICS:
            if metric.name in metric_names:
                for role in (None, *metric.roles) if metric.whole else metric.roles or (None,):
                    yield missing(metric.name, "the transcript has no turns", role=role)
        return
    unspaced = without_spaces(transcript)
    lengths = _lengths(transcript, words=not unspaced and bool(metric_names & _OF_WORDS))
    if "turns" in metric_names:
        yield Value("turns", float(len(turns)))
    if "exchanges" in metric_names:
        count, silent = count_exchanges(transcript), _silent(lengths)
        if silent is not None:
            yield missing("exchanges", f"no {silent} turn")
        else:
            yield (Value("exchanges", float(count)) if count else missing("exchanges", "no clinician or patient turn"))
    if "characters" in metric_names:
        yield Value("characters", float(sum(length.characters for length in lengths.values())))
    if "words" in metric_names:
        words = float(sum(length.words for length in lengths.values()))
        yield missing("words", _NO_WORDS) if unspaced else Value("words", words)
    for role in _ROLES:
        yield from _role_values(lengths[role], metric_names, role, unspaced)
    if "talk_share" in metric_names:
        yield from _talk_share(lengths, unspaced)
    if "completed" in metric_names:
        yield _completed(transcript)
    if metric_names & {"stages", "stage"}:
        stages = {turn.index: turn.meta["stage"] for turn in turns if turn.meta and turn.meta.get("stage")}
        nothing = "no turn carries a stage"
        if "stages" in metric_names:
            yield Value("stages", float(len(set(stages.values())))) if stages else missing("stages", nothing)
        if "stage" in metric_names:
            for index, stage in stages.items():
                yield Value("stage", label=str(stage), turn=index)
            if not stages:
                yield missing("stage", nothing)


_TALK = (
    ("clinician", "How are you sleeping?"),
    ("patient", "Badly. I wake at three."),
    ("clinician", "Tell me more."),
    ("patient", "Work."),
)
_CHINESE = (("clinician", "最近睡得怎么样？"), ("patient", "睡不好。"))
_BY_HAND = "counted by hand"
_SOURCE = "Session structure as reported by CALM-IT (Nguyen et al.) and MDD-5k (Yin et al., AAAI 2025)"


_count = partial(Metric, unit="transcript", low=0, digits=1, roles=_ROLES)

METRICS = (
    _count(
        name="turns",
        title="Turns",
        whole=True,
        definition="Number of messages, of the whole transcript and of each role. A turn is one message.",
        source=_SOURCE,
        examples=(Example(_TALK, 4, _BY_HAND), Example(_TALK, 2, _BY_HAND, role="patient")),
    ),
    Metric(
        name="exchanges",
        title="Exchanges",
        unit="transcript",
        low=1,
        digits=1,
        definition=(
            "Number of clinician–patient pairs: runs of turns of whichever of the two speaks first. A last turn "
            "that is not answered counts as an exchange."
        ),
        source="Yin et al., MDD-5k, AAAI 2025, Table 1 (exchanges per dialogue)",
        examples=(Example(_TALK, 2, _BY_HAND), Example(_TALK[:3], 2, _BY_HAND)),
    ),
    _count(
        name="words",
        title="Words",
        whole=True,
        definition=(
            "Number of words, of the whole transcript and of each role: tokens between white space that hold a "
            "letter or a digit. Missing where the script has no spaces between words."
        ),
        source=_SOURCE,
        examples=(
            Example(_TALK, 13, _BY_HAND),
            Example(_TALK, 7, _BY_HAND, role="clinician"),
            Example(_CHINESE, None, "Chinese has no spaces between words"),
        ),
    ),
    _count(
        name="characters",
        title="Characters",
        whole=True,
        definition="Number of characters (Unicode code points), of the whole transcript and of each role.",
        source="Yin et al., MDD-5k, AAAI 2025, Table 1 (characters per dialogue)",
        examples=(Example(_CHINESE, 12, _BY_HAND), Example(_CHINESE, 4, _BY_HAND, role="patient")),
    ),
    _count(
        name="words_per_turn",
        title="Words per turn",
        definition="Words of a role divided by its turns.",
        source="Nguyen et al., CALM-IT (mean client and therapist length)",
        examples=(Example(_TALK, 3.5, _BY_HAND, role="clinician"),),
    ),
    _count(
        name="characters_per_turn",
        title="Characters per turn",
        definition="Characters of a role divided by its turns.",
        source="Yin et al., MDD-5k, AAAI 2025, Table 1 (characters per doctor and patient turn)",
        examples=(Example(_CHINESE, 8, _BY_HAND, role="clinician"),),
    ),
    Metric(
        name="talk_share",
        title="Share of talk",
        unit="transcript",
        roles=_ROLES,
        low=0,
        high=1,
        definition=(
            "Words of a role divided by the words of clinician and patient; by characters where the script has "
            "no spaces between words."
        ),
        source="Clinician talk share, as in conversation analysis of consultations (Roter & Larson 2002, RIAS)",
        examples=(
            Example(_TALK, 7 / 13, _BY_HAND, role="clinician"),
            Example(_CHINESE, 1 / 3, _BY_HAND, role="patient"),
        ),
    ),
    Metric(
        name="completed",
        title="Completed",
        unit="transcript",
        low=0,
        high=1,
        direction="higher",
        definition=(
            "1 where the conversation reached its target length without an early end, else 0: as the factor "
            "`completed` says, or whether there are as many turns as the factor `target_length`. Its mean is the "
            "completion rate; 1 minus it is the early-termination rate."
        ),
        needs=("factor completed or target_length",),
        source="Nguyen et al., CALM-IT (completion rate by target length)",
        examples=(
            Example(_TALK, 1, _BY_HAND, transcript={"factors": {"target_length": 4}}),
            Example(_TALK, 0, _BY_HAND, transcript={"factors": {"target_length": 6}}),
            Example(_TALK, 0, _BY_HAND, transcript={"factors": {"target_length": 4, "completed": False}}),
            Example(_TALK, None, "neither factor is given"),
        ),
    ),
    Metric(
        name="stages",
        title="Stages",
        unit="transcript",
        low=1,
        digits=1,
        definition="Number of different stages that the turns carry.",
        needs=("stage of turns",),
        source="Chandra et al., MultiSenseEval, ACL 2026 (stages of sensemaking conversations)",
        examples=(
            Example((("clinician", "Hello.", {"stage": "opening"}), ("patient", "Hello.")), 1, _BY_HAND),
            Example(_TALK, None, "no turn carries a stage"),
        ),
    ),
    Metric(
        name="stage",
        title="Stage",
        unit="turn",
        definition="The stage that a turn carries.",
        needs=("stage of turns",),
        source="Chandra et al., MultiSenseEval, ACL 2026 (stages of sensemaking conversations)",
        examples=(
            Example(
                (("clinician", "Hello.", {"stage": "opening"}), ("patient", "Hello.")),
                "opening",
                "as the turn says",
                turn=0,
            ),
        ),
    ),
)

FAMILY = Family(
    name="structure",
    title="Structure",
    description="Turns, exchanges, words and characters, who talks how much, completion and stages.",
    version="1",
    metrics=METRICS,
    compute=compute,
)
