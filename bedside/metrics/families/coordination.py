"""Linguistic coordination: how far a speaker takes up the function words of the one answered.

Which turns hold which markers is said by ConvoKit, whose word lists are not copied here; the counting is ours, for
ConvoKit's wants a corpus for each transcript and takes several times as long. Equality with it is a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.core.errors import MissingExtraError, RegistryError
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.values import Value, missing
from bedside.transcripts.convokit_corpus import import_convokit
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Role, Transcript

_ROLES: tuple[Role, ...] = ("clinician", "patient")
_ALL = "coordination_mean"
#: ConvoKit's markers and what each is called in words.
_MARKERS = {
    "article": "articles",
    "auxverb": "auxiliary verbs",
    "conj": "conjunctions",
    "adverb": "adverbs of high frequency",
    "ppron": "personal pronouns",
    "ipron": "impersonal pronouns",
    "preps": "prepositions",
    "quant": "quantifiers",
}
#: One word of each kind, for the examples.
_WORDS = {
    "article": "the", "auxverb": "is", "conj": "and", "adverb": "often", "ppron": "you", "ipron": "it",
    "preps": "under", "quant": "both",
}  # fmt: skip


@dataclass(slots=True)
class _Text:
    """What ConvoKit needs of an utterance to mark it."""

    text: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Texts:
    """What ConvoKit needs of a corpus to mark its utterances."""

    texts: Sequence[_Text]

    def iter_utterances(self) -> Iterator[_Text]:
        return iter(self.texts)


def compute(transcript: Transcript, metric_names: frozenset[str], *, least_uses: int) -> Iterator[Value]:
    """Coordination of clinician and patient, overall and by marker.

    Raises:
        RegistryError: ``least_uses`` is below 1.
    """
    if least_uses < 1:
        raise RegistryError(f"least_uses is {least_uses}", todo="give a number from 1")
    turns = transcript.turns
    text = " ".join(turn.text for turn in turns if turn.role != "other")
    error = not_english(text, transcript.language) if text else "no clinician or patient turn"
    markers: Sequence[frozenset[str]] = ()
    if error is None:
        try:
            markers = _markers([turn.text for turn in turns])
        except MissingExtraError as absent:
            error = str(absent)
    for role in _ROLES:
        if error is not None:
            yield from (missing(name, error, role=role) for name in _names(metric_names))
            continue
        answers = [
            (markers[turn.index - 1], markers[turn.index])
            for turn in turns[1:]
            if turn.role == role and turns[turn.index - 1].role not in (role, "other")
        ]
        yield from _role_values(answers, metric_names, role, least_uses)


def _names(metric_names: frozenset[str]) -> Iterator[str]:
    return (metric.name for metric in METRICS if metric.name in metric_names)


def _markers(texts: Sequence[str]) -> list[frozenset[str]]:
    """The kinds of markers in each text, by ConvoKit."""
    marked = [_Text(text) for text in texts]
    import_convokit("convokit.coordination").Coordination().fit(_Texts(marked))
    return [frozenset(utterance.meta["liwc-categories"]) for utterance in marked]


def _role_values(
    answers: Sequence[tuple[frozenset[str], frozenset[str]]], metric_names: frozenset[str], role: Role, least_uses: int
) -> Iterator[Value]:
    scores = _scores(answers, least_uses)
    other = "patient" if role == "clinician" else "clinician"
    seldom = f"fewer than {least_uses} of the {other}'s turns that the {role} answers hold %s"
    if not answers:
        seldom = f"no {role} turn answers a {other} turn"
    if _ALL in metric_names:
        if scores:
            reason = None if len(scores) == len(_MARKERS) else f"over {len(scores)} of {len(_MARKERS)} markers"
            yield Value(_ALL, sum(scores.values()) / len(scores), role=role, reason=reason)
        else:
            yield missing(_ALL, seldom.replace("%s", "any marker"), role=role)
    for marker, words in _MARKERS.items():
        name = f"coordination_{marker}"
        if name in metric_names:
            yield (
                Value(name, scores[marker], role=role)
                if marker in scores
                else missing(name, seldom.replace("%s", words), role=role)
            )


def _scores(answers: Sequence[tuple[frozenset[str], frozenset[str]]], least_uses: int) -> Mapping[str, float]:
    """For each marker that is often enough answered: P(in the answer | in what it answers) − P(in an answer)."""
    scores = {}
    for marker in _MARKERS:
        after = [marker in answer for before, answer in answers if marker in before]
        if len(after) >= least_uses:
            used = sum(marker in answer for _, answer in answers)
            scores[marker] = sum(after) / len(after) - used / len(answers)
    return scores


def _talk(word: str) -> tuple[tuple[str, str], ...]:
    """Four answers, three of them to a turn with the word, of which two have it as well."""
    said = (f"{word}?", f"{word}.", f"{word}!", "Mm."), (f"{word}.", "Mm.", f"{word}?", "Mm.")
    return tuple(
        (role, text)
        for patient, clinician in zip(*said, strict=True)
        for role, text in (("patient", patient), ("clinician", clinician))
    )


_HOW = "2 of 3 answers to turns with the marker, minus 2 of all 4 answers: by hand and as ConvoKit gives it"
_SOURCE = "Danescu-Niculescu-Mizil et al., Echoes of Power, WWW 2012; ConvoKit 5 (Coordination)"

METRICS = (
    Metric(
        name=_ALL,
        title="Linguistic coordination (ConvoKit)",
        unit="transcript",
        roles=_ROLES,
        low=-1,
        high=1,
        digits=3,
        definition=(
            "How far the role takes up the other's function words: for each marker the share of answers with it among "
            "answers to turns with it, minus its share among all answers; the mean over the markers that the other "
            "uses often enough. Above 0 the role coordinates to the other. An answer is a turn right after one of the "
            "other's. English only."
        ),
        needs=("ConvoKit (extra convokit)",),
        source=_SOURCE,
        examples=(
            Example(_talk("the"), 1 / 6, _HOW, role="clinician"),
            Example(
                _talk("the"),
                None,
                "the patient answers two clinician turns with an article, fewer than three",
                role="patient",
            ),
        ),
    ),
    *(
        Metric(
            name=f"coordination_{marker}",
            title=f"Coordination on {words}",
            unit="transcript",
            roles=_ROLES,
            low=-1,
            high=1,
            digits=3,
            definition=f"Linguistic coordination on {words} alone (ConvoKit's marker `{marker}`).",
            needs=("ConvoKit (extra convokit)",),
            source=_SOURCE,
            examples=(Example(_talk(_WORDS[marker]), 1 / 6, _HOW, role="clinician"),),
        )
        for marker, words in _MARKERS.items()
    ),
)

FAMILY = Family(
    name="coordination",
    title="Linguistic coordination",
    description=(
        "How far each side takes up the other's function words, by ConvoKit's Coordination and its eight kinds of "
        'markers. It needs ConvoKit (`pip install "bedside[convokit]"`) and is missing without.'
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    parameters={
        "least_uses": Parameter(
            3, 1, "Answered turns of the other with a marker that its score needs (ConvoKit's target_thresh)."
        )
    },
    demonstration=_talk("the"),
)
