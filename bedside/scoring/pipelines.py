"""Protocols as pipelines: which rubrics a judge is asked by, what follows from what, and the metrics that come of it.

A judge's answers become labels in memory, of the form in which people's labels stand in a transcript, and the metric
family of the protocol does the same arithmetic on both. A pipeline runs where the rubrics asked give it something to
work on, whatever suite they are named by. What a judge did not answer is lacking with the reason, and so is every
metric that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bedside.judges.judgement_queue import JudgeAnswer
from bedside.metrics import FAMILIES, Metric
from bedside.protocols import medconceal, note2chat
from bedside.protocols.label_files import complaint
from bedside.ratings.values import Value
from bedside.support.errors import DataError
from bedside.transcripts.transcript import Transcript

#: What a judge answered about one transcript in one pass, by rubric.
Said = Mapping[str, Sequence[JudgeAnswer]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels that answers make.

    Attributes:
        whole: labels of the transcript, by part.
        turns: labels of turns, by index.
        lacks: part → why there are no such labels.
    """

    whole: dict[str, Any] = field(default_factory=dict)
    turns: dict[int, dict[str, Any]] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Where a part can't be made, note why and go on."""
        try:
            yield
        except DataError as error:
            self.lacks[name] = str(error)

    def label(self, turns: Mapping[int, Mapping[str, Any]]) -> None:
        """Add labels of turns."""
        for index, labels in turns.items():
            self.turns.setdefault(index, {}).update(labels)


@dataclass(frozen=True, slots=True)
class Later:
    """A rubric that is asked about what another one has found.

    Attributes:
        rubric: its name.
        after: the rubric that must have been answered.
        input: the rubric's input that is made of the answers.
        find: makes it; raises DataError with the reason where there is nothing to ask about.
        expect: stands in for it before anything was asked, so that calls can be estimated.
    """

    rubric: str
    after: str
    input: str
    find: Callable[[Transcript, Said], Any]
    expect: Callable[[Transcript], Any]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """From a judge's answers to the metrics of a protocol.

    Attributes:
        name: of the protocol, or of what is labelled.
        family: the metric family that follows.
        parts: part of the labels → the rubrics any of which gives it.
        needs: the parts that a metric needs; None for a metric that has nothing to do with labels.
        label: makes the labels.
        place: puts a rater's labels into a transcript, and takes those of all others out.
        settings: the family's parameters that go with it; None for those that the run was scored with.
        later: rubrics that wait for the answers to others.
    """

    name: str
    family: str
    parts: Mapping[str, tuple[str, ...]]
    needs: Callable[[Metric], tuple[str, ...] | None]
    label: Callable[[Transcript, Said], Labelled]
    place: Callable[[Transcript, str, Labelled], Transcript]
    settings: Mapping[str, Any] | None = None
    later: tuple[Later, ...] = ()

    @property
    def rubrics(self) -> frozenset[str]:
        """All rubrics it knows what to do with."""
        return frozenset(rubric for rubrics in self.parts.values() for rubric in rubrics)

    def metrics(self, asked: Collection[str]) -> frozenset[str]:
        """The metrics that can follow where these rubrics are asked."""
        given = {part for part, rubrics in self.parts.items() if any(rubric in asked for rubric in rubrics)}
        return frozenset(
            metric.name
            for metric in FAMILIES.load(self.family).metrics
            if given and (needs := self.needs(metric)) is not None and given.issuperset(needs)
        )

    def values(
        self,
        transcript: Transcript,
        rater: str,
        said: Said,
        wanted: frozenset[str],
        settings: Mapping[str, Any],
    ) -> Iterator[Value]:
        """The metrics of one pass over a transcript, each with its rater.

        Args:
            transcript: as it was read.
            rater: whose answers they are.
            said: the answers.
            wanted: metrics, of :meth:`metrics`.
            settings: all parameters of the family.
        """
        family = FAMILIES.load(self.family)
        labelled = self.label(transcript, said)
        why: dict[str, str] = {}
        for metric in family.metrics:
            lacking = [part for part in self.needs(metric) or () if part in labelled.lacks]
            if lacking:
                why[metric.name] = labelled.lacks[lacking[0]]
        for value in family.compute(self.place(transcript, rater, labelled), wanted, **settings):
            error = value.error if value.error is None else why.get(value.metric, value.error)
            yield value._replace(rater=(value.rater or rater).removeprefix("human:"), error=error)


def pipelines_for(asked: Collection[str]) -> tuple[Pipeline, ...]:
    """The pipelines that these rubrics give something to work on."""
    return tuple(pipeline for pipeline in PIPELINES.values() if pipeline.metrics(asked))


def metrics_from_labels(asked: Collection[str]) -> frozenset[str]:
    """The metrics that these rubrics give and that labels alone can give, which no algorithm gives beside them."""
    return frozenset[str]().union(
        *(pipeline.metrics(asked) for pipeline in PIPELINES.values() if pipeline.settings is None)
    )


def later_of(pipelines: Sequence[Pipeline], asked: Collection[str]) -> dict[str, Later]:
    """The rubrics asked that wait for the answers to another one that is asked."""
    return {
        later.rubric: later
        for pipeline in pipelines
        for later in pipeline.later
        if later.rubric in asked and later.after in asked
    }


# -- what was answered ------------------------------------------------------------------------------


def _answers(said: Said, rubric: str) -> list[tuple[JudgeAnswer, dict[str, Any]]]:
    """All answers to a rubric.

    Raises:
        DataError: one is lacking.
    """
    found = []
    for given in said.get(rubric, ()):
        if given.answer is None:
            place = "" if given.unit == "transcript" else f", {given.unit.replace(':', ' ')}"
            raise DataError(f"{rubric}{place}: {given.error}")
        found.append((given, given.answer))
    if not found:
        raise DataError(f"{rubric} was not asked")
    return found


def _single(said: Said, rubric: str) -> dict[str, Any]:
    """The answer to a rubric that asks one thing."""
    return _answers(said, rubric)[0][1]


def _entries(said: Said, rubric: str) -> dict[int, dict[str, Any]]:
    """The answers to a rubric that asks about each of many things, by number."""
    return {int(entry["item"]): entry for _, answer in _answers(said, rubric) for entry in answer["answers"]}


def _given(transcript: Transcript, name: str) -> Any:
    """What a case's reference says; None where it says nothing."""
    value = transcript.reference.get(name)
    return None if isinstance(value, str) and not value.strip() else value


def _read(adapter: TypeAdapter[Any], value: object, what: str) -> list[dict[str, Any]]:
    try:
        models = adapter.validate_python(value)
    except ValidationError as error:
        raise DataError(f"{what} can't be read: {complaint(error)}") from error
    return [model.model_dump(mode="json") for model in models]


# -- where labels stand -----------------------------------------------------------------------------


def _beside(protocol: str) -> Callable[[Transcript, str, Labelled], Transcript]:
    """Labels as those of a label file stand."""

    def place(transcript: Transcript, rater: str, labelled: Labelled) -> Transcript:
        turns = []
        for turn in transcript.turns:
            meta = {key: value for key, value in turn.meta.items() if key != protocol}
            if turn.index in labelled.turns:
                meta[protocol] = {rater: labelled.turns[turn.index]}
            turns.append(replace(turn, meta=meta))
        reference = {**transcript.reference, protocol: {rater: labelled.whole}}
        return replace(transcript, turns=tuple(turns), reference=reference)

    return place


def _as_codes(transcript: Transcript, rater: str, labelled: Labelled) -> Transcript:
    """Labels as the codes of a person stand."""
    turns = tuple(
        replace(
            turn, meta={"codes": {rater: labelled.turns[turn.index]}} if turn.index in labelled.turns else {}
        )
        for turn in transcript.turns
    )
    return replace(transcript, turns=turns)


def _in_words(known: Mapping[str, tuple[str, ...]]) -> Callable[[Metric], tuple[str, ...] | None]:
    """The parts that a metric needs by what it says it needs."""

    def needs(metric: Metric) -> tuple[str, ...] | None:
        found = [known[words] for words in metric.needs if words in known]
        return tuple(dict.fromkeys(part for parts in found for part in parts)) if found else None

    return needs


# -- MedConceal -------------------------------------------------------------------------------------

_FINDINGS = TypeAdapter(tuple[medconceal.labels.SubmittedFinding, ...])


def _findings(transcript: Transcript, said: Said) -> list[dict[str, Any]]:
    """What the clinician submitted: as the case says, else as the judge extracted it."""
    submitted = _given(transcript, "submitted_findings")
    if submitted is not None:
        return _read(_FINDINGS, submitted, "the reference's submitted_findings")
    return _read(
        _FINDINGS, _single(said, "finding_extraction")["findings"], "finding_extraction: the findings"
    )


def _to_match(transcript: Transcript, said: Said) -> list[dict[str, Any]]:
    findings = _findings(transcript, said)
    if not findings:
        raise DataError("no finding was submitted: there is nothing to match")
    return findings


def _expected_findings(transcript: Transcript) -> Any:
    """As many findings as the case has concerns, and as long."""
    concerns = transcript.reference.get("concerns")
    return concerns if isinstance(concerns, list | tuple) else []


def _matches(transcript: Transcript, said: Said) -> list[dict[str, Any]]:
    if not _findings(transcript, said):
        return []
    pairs = _single(said, "concern_matching")["pairs"]
    concerns = medconceal.concerns_of(transcript)
    return [
        {
            "finding": int(pair["finding"]),
            "concern": concerns[int(pair["concern"])].id,
            "quote": pair["quote"],
            "category_agrees": pair["category_agrees"],
            "reason": pair["reason"],
        }
        for pair in pairs
    ]


def _evaluated(said: Said) -> dict[int, dict[str, Any]]:
    """The labels of clinician turns; the kinds of their questions too, where the judge was asked and answered."""
    turns = {}
    try:
        questions = {index: entry["label"] for index, entry in _entries(said, "open_question").items()}
    except DataError:
        questions = {}
    for given, answer in _answers(said, "turn_evaluator"):
        probabilities = {intent: answer["intent_probabilities"][intent] for intent in medconceal.INTENTS}
        index = int(given.unit.removeprefix("turn:"))
        turns[index] = {
            "z": {name: answer[name] for name in medconceal.FEATURES},
            "intent": max(probabilities, key=probabilities.__getitem__),
            "intent_probabilities": probabilities,
            "empathy_strength": answer["empathy_strength"],
            "question": questions.get(index),
            "reason": answer["reason"],
        }
    return turns


def _medconceal(transcript: Transcript, said: Said) -> Labelled:
    labelled = Labelled()
    with labelled.part("findings"):
        labelled.whole["findings"] = _findings(transcript, said)
    with labelled.part("matches"):
        labelled.whole["matches"] = _matches(transcript, said)
    with labelled.part("turns"):
        labelled.label(_evaluated(said))
    return labelled


# -- question types ---------------------------------------------------------------------------------

#: What MedConceal takes from open and closed questions.
_OPEN = ("open_question_ratio", "early_open_question_ratio")


def _questions(transcript: Transcript, said: Said) -> Labelled:
    labelled = Labelled()
    with labelled.part("question"):
        labelled.label(
            {index: {"question": entry["label"]} for index, entry in _entries(said, "open_question").items()}
        )
    return labelled


# -- Note2Chat --------------------------------------------------------------------------------------

_NOTE = TypeAdapter(tuple[note2chat.labels.ClinicalFinding, ...])


def _note_findings(transcript: Transcript, said: Said) -> list[dict[str, Any]]:
    """The note's findings with the message that conveys each; the categories are those the case says, if any."""
    given = _given(transcript, "findings")
    checked = _entries(said, "finding_check")
    made = []
    for number, finding in enumerate(given if isinstance(given, list | tuple) else [given]):
        known = finding if isinstance(finding, Mapping) else {"text": str(finding)}
        entry = checked[number]
        made.append(
            {
                "text": known.get("text"),
                "categories": known.get("categories") or (),
                "opening": entry["opening"],
                "message": entry["message"],
            }
        )
    return _read(_NOTE, made, "the reference's findings")


def _with_categories(said: Said, findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The findings, each with a category: what the case says goes before what the judge does."""
    if all(finding["categories"] for finding in findings):
        return [dict(finding) for finding in findings]
    judged = _entries(said, "finding_category")
    return [
        {**finding, "categories": finding["categories"] or [judged[number]["label"]]}
        for number, finding in enumerate(findings)
    ]


def _note2chat(transcript: Transcript, said: Said) -> Labelled:
    labelled = Labelled()
    with labelled.part("findings"):
        findings = _note_findings(transcript, said)
        labelled.whole["findings"] = [{**finding, "categories": ()} for finding in findings]
        with labelled.part("categories"):
            labelled.whole["findings"] = _with_categories(said, findings)
    with labelled.part("rank"):
        labelled.whole["diagnosis_rank"] = _single(said, "diagnosis_match")["candidate"]
    for part, rubric, key in (
        ("control", "information_control", "only_what_was_asked"),
        ("conflict", "factual_conflict", "conflict"),
    ):
        with labelled.part(part):
            labelled.label(
                {index: {key: int(entry["score"])} for index, entry in _entries(said, rubric).items()}
            )
    return labelled


#: By name.
PIPELINES: Mapping[str, Pipeline] = {
    pipeline.name: pipeline
    for pipeline in (
        Pipeline(
            name="medconceal",
            family="hidden_concerns",
            parts={
                "findings": ("finding_extraction", "concern_matching"),
                "matches": ("concern_matching",),
                "turns": ("turn_evaluator",),
            },
            needs=_in_words(
                {
                    "hidden concerns in the reference": (),
                    "labels of findings": ("findings",),
                    "labels of findings and matches": ("findings", "matches"),
                    "labels of the clinician turns": ("turns",),
                    "labels of findings, matches and clinician turns": ("findings", "matches", "turns"),
                }
            ),
            label=_medconceal,
            place=_beside("medconceal"),
            later=(
                Later(
                    "concern_matching",
                    "finding_extraction",
                    "submitted_findings",
                    _to_match,
                    _expected_findings,
                ),
            ),
        ),
        Pipeline(
            name="questions",
            family="behaviour",
            parts={"question": ("open_question",)},
            needs=lambda metric: ("question",) if metric.name in _OPEN else None,
            label=_questions,
            place=_as_codes,
            settings={"coders": "human"},
        ),
        Pipeline(
            name="note2chat",
            family="history_taking",
            parts={
                "findings": ("finding_check",),
                "categories": ("finding_category",),
                "rank": ("diagnosis_match",),
                "control": ("information_control",),
                "conflict": ("factual_conflict",),
            },
            needs=_in_words(
                {
                    "labels of findings": ("findings",),
                    "labels of findings with SOCRATES categories": ("findings", "categories"),
                    "a label of the diagnosis's rank": ("rank",),
                    "labels of findings and of the diagnosis's rank": ("findings", "rank"),
                    "labels of the replies' information control": ("control",),
                    "labels of the replies' conflicts with the note": ("conflict",),
                }
            ),
            label=_note2chat,
            place=_beside("note2chat"),
        ),
    )
}
