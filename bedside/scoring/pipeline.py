"""The contract of pipelines: from a judge's answers to the metrics of a protocol, one file each.

Which rubrics a judge is asked by, what follows from what, and the metrics that come of it. A judge's answers become
labels in memory, of the form in which people's labels stand in a transcript, and the metric family of the protocol does
the same arithmetic on both. A pipeline runs where the rubrics asked give it something to work on, whatever suite they
are named by. What a judge did not answer is lacking with the reason, and so is every metric that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bedside.core.errors import DataError
from bedside.core.registry import Registry
from bedside.judges.questions import JudgeAnswer
from bedside.metrics import FAMILIES, Metric
from bedside.metrics.protocols.label_files import LabelForm, complaint
from bedside.ratings.names import is_turn, person_name, turn_index
from bedside.ratings.run import Run
from bedside.ratings.values import Value
from bedside.transcripts.transcript import Transcript

#: What a judge answered about one transcript in one pass, by rubric.
PassAnswers = Mapping[str, Sequence[JudgeAnswer]]


@dataclass(frozen=True, slots=True)
class AnswerLabels:
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

    def add_turns(self, turns: Mapping[int, Mapping[str, Any]]) -> None:
        """Add labels of turns."""
        for index, labels in turns.items():
            self.turns.setdefault(index, {}).update(labels)


@dataclass(frozen=True, slots=True)
class LaterQuestion:
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
    find: Callable[[Transcript, PassAnswers], Any]
    expect: Callable[[Transcript], Any]

    def with_input(self, transcript: Transcript, value: Any) -> Transcript:
        """The transcript with the rubric's input in its reference."""
        return replace(transcript, reference={**transcript.reference, self.input: value})


@dataclass(frozen=True, slots=True)
class Pipeline:
    """From a judge's answers to the metrics of a protocol.

    Attributes:
        name: the entry's name, equal to its file name.
        family: the metric family that follows.
        parts: part of the labels → the rubrics any of which gives it.
        needs: the parts that a metric needs; None for a metric that has nothing to do with labels.
        label: makes the labels.
        place: puts a rater's labels into a transcript, and takes those of all others out.
        settings: the family's parameters that go with it; None for those that the run was scored with.
        later: rubrics that wait for the answers to others.
        answered: rubrics whose answers a transcript holds itself, as far as the labels go: a suite doesn't have them
            asked about it, and who names them does.
    """

    name: str
    family: str
    parts: Mapping[str, tuple[str, ...]]
    needs: Callable[[Metric], tuple[str, ...] | None]
    label: Callable[[Transcript, PassAnswers], AnswerLabels]
    place: Callable[[Transcript, str, AnswerLabels], Transcript]
    settings: Mapping[str, Any] | None = None
    later: tuple[LaterQuestion, ...] = ()
    answered: Callable[[Transcript], frozenset[str]] = lambda _: frozenset()

    @property
    def rubrics(self) -> frozenset[str]:
        """All rubrics it knows what to do with."""
        return frozenset(rubric for rubrics in self.parts.values() for rubric in rubrics)

    def metrics(self, asked: Collection[str]) -> frozenset[str]:
        """The metrics that can follow where these rubrics are asked."""
        labelled = {part for part, rubrics in self.parts.items() if any(rubric in asked for rubric in rubrics)}
        return frozenset(
            metric.name
            for metric in FAMILIES.load(self.family).metrics
            if labelled and (needs := self.needs(metric)) is not None and labelled.issuperset(needs)
        )

    def parameters(self, run: Run) -> dict[str, Any]:
        """All parameters of the metric family: its own, or those that a run was last scored with."""
        settings = self.settings
        if settings is None:
            by_scoring = (entry["parameters"] for entry in reversed(run.manifest["scorings"]))
            settings = next((by_family[self.family] for by_family in by_scoring if self.family in by_family), {})
        return FAMILIES.load(self.family).settings(settings)

    def values(
        self,
        transcript: Transcript,
        rater: str,
        answers: PassAnswers,
        metrics: frozenset[str],
        settings: Mapping[str, Any],
    ) -> Iterator[Value]:
        """The metrics of one pass over a transcript, each with its rater.

        Args:
            transcript: as it was read.
            rater: whose answers they are.
            answers: what was answered.
            metrics: names, of :meth:`metrics`.
            settings: all parameters of the family.
        """
        family = FAMILIES.load(self.family)
        labels = self.label(transcript, answers)
        why: dict[str, str] = {}
        for metric in family.metrics:
            lacking = [part for part in self.needs(metric) or () if part in labels.lacks]
            if lacking:
                why[metric.name] = labels.lacks[lacking[0]]
        for value in family.compute(self.place(transcript, rater, labels), metrics, **settings):
            error = value.error if value.error is None else why.get(value.metric, value.error)
            yield value._replace(rater=person_name(value.rater or rater), error=error)


#: Pipelines by name.
PIPELINES: Registry[Pipeline] = Registry(
    "bedside.scoring.pipelines", "PIPELINE", "pipeline", Pipeline, group="bedside.pipelines"
)


def pipelines_for(asked: Collection[str]) -> tuple[Pipeline, ...]:
    """The pipelines that these rubrics give something to work on."""
    return tuple(pipeline for pipeline in PIPELINES.all().values() if pipeline.metrics(asked))


def metrics_from_labels(asked: Collection[str]) -> frozenset[str]:
    """The metrics that these rubrics give and that labels alone can give, which no algorithm gives beside them."""
    return frozenset[str]().union(
        *(pipeline.metrics(asked) for pipeline in PIPELINES.all().values() if pipeline.settings is None)
    )


def later_questions(pipelines: Sequence[Pipeline], asked: Collection[str]) -> dict[str, LaterQuestion]:
    """The rubrics asked that wait for the answers to another one that is asked, by name."""
    return {
        later.rubric: later
        for pipeline in pipelines
        for later in pipeline.later
        if later.rubric in asked and later.after in asked
    }


def spared_by(pipelines: Sequence[Pipeline]) -> Callable[[Transcript], frozenset[str]]:
    """The rubrics that needn't be asked about a transcript, because it holds what their answers are for."""

    def spared(transcript: Transcript) -> frozenset[str]:
        return frozenset[str]().union(*(pipeline.answered(transcript) for pipeline in pipelines))

    return spared


# -- what entries read answers with -----------------------------------------------------------------


def answers_to(answers: PassAnswers, rubric: str) -> list[tuple[JudgeAnswer, dict[str, Any]]]:
    """All answers to a rubric, each with its content.

    Raises:
        DataError: one is lacking.
    """
    contents = []
    for answer in answers.get(rubric, ()):
        if answer.answer is None:
            place = f", turn {turn_index(answer.unit)}" if is_turn(answer.unit) else ""
            raise DataError(f"{rubric}{place}: {answer.error}")
        contents.append((answer, answer.answer))
    if not contents:
        raise DataError(f"{rubric} was not asked")
    return contents


def single_answer_to(answers: PassAnswers, rubric: str) -> dict[str, Any]:
    """The answer to a rubric that asks one thing.

    Raises:
        DataError: it is lacking.
    """
    return answers_to(answers, rubric)[0][1]


def answers_by_item(answers: PassAnswers, rubric: str) -> dict[int, dict[str, Any]]:
    """The answers to a rubric that asks about each of many things, by number.

    Raises:
        DataError: one is lacking.
    """
    return {int(entry["item"]): entry for _, content in answers_to(answers, rubric) for entry in content["answers"]}


def reference_entry(transcript: Transcript, name: str) -> Any:
    """What a case's reference says; None where it says nothing."""
    value = transcript.reference.get(name)
    return None if isinstance(value, str) and not value.strip() else value


def read_labels(form: TypeAdapter[Any], labels: object, what: str) -> list[dict[str, Any]]:
    """Labels of a form, as a label file would hold them.

    Raises:
        DataError: they are not of the form; ``what`` says which they are.
    """
    try:
        models = form.validate_python(labels)
    except ValidationError as error:
        raise DataError(f"{what} can't be read: {complaint(error)}") from error
    return [model.model_dump(mode="json") for model in models]


# -- what entries are made of -----------------------------------------------------------------------


def placed_as(form: LabelForm[Any]) -> Callable[[Transcript, str, AnswerLabels], Transcript]:
    """Puts labels where those of a protocol's label file stand, in place of all others."""

    def place(transcript: Transcript, rater: str, labels: AnswerLabels) -> Transcript:
        return form.replaced(transcript, rater, labels.whole, labels.turns)

    return place


def parts_by_need(parts: Mapping[str, tuple[str, ...]]) -> Callable[[Metric], tuple[str, ...] | None]:
    """The parts that a metric needs, by the words in which it says what it needs.

    Args:
        parts: the parts by these words.
    """

    def needs(metric: Metric) -> tuple[str, ...] | None:
        needed = [parts[words] for words in metric.needs if words in parts]
        return tuple(dict.fromkeys(part for group in needed for part in group)) if needed else None

    return needs
