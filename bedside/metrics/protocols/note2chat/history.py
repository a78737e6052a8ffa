"""What a history-taking conversation brought out, given labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from bedside.metrics.protocols.label_files import Measured, ratio
from bedside.metrics.protocols.note2chat.labels import (
    CATEGORIES,
    Category,
    HistoryLabels,
    HistoryTurnLabels,
    Reply,
    reply_kind,
)
from bedside.transcripts.transcript import Transcript, Turn

#: Candidates of the ranking that count.
K = 5

_NO_FINDINGS = "no labels of findings"
_NO_RANK = "no label of the diagnosis's rank"
_ALL_OPENING = "the opening complaint says every finding, or there is none"


@dataclass(frozen=True, slots=True)
class FindingSpan:
    """The part of a conversation that counts as history taking.

    Attributes:
        opening: index of the patient's opening complaint, the first patient turn.
        diagnosis: index of the final diagnosis message; None where there is none.
        questions: number of questions T: clinician messages before the diagnosis.
        messages: number of messages of clinician and patient.
    """

    opening: int
    diagnosis: int | None
    questions: int
    messages: int

    def within(self, index: int) -> bool:
        """Whether a message lies after the opening complaint and before the diagnosis."""
        return index > self.opening and (self.diagnosis is None or index < self.diagnosis)


def span(transcript: Transcript, labels: HistoryLabels | None = None) -> FindingSpan | str:
    """The part that counts, or why it can't be told.

    The final diagnosis message is the labelled one; without a label, the last message where that is the clinician's.
    A simulated conversation in which only the patient speaks is one of a clinician that was asked and said nothing.
    """
    said = [turn for turn in transcript.turns if turn.role != "other"]
    opening = next((turn.index for turn in said if turn.role == "patient"), None)
    if opening is None:
        return "no patient turn"
    if all(turn.role == "patient" for turn in said) and "simulation" not in transcript.reference:
        return "no clinician turn"
    diagnosis: int | None
    if labels is not None and "diagnosis_message" in labels.model_fields_set:
        diagnosis = labels.diagnosis_message
        if diagnosis is not None and (
            diagnosis >= len(transcript.turns) or transcript.turns[diagnosis].role != "clinician"
        ):
            return f"the labelled diagnosis message {diagnosis} is not the clinician's"
    else:
        diagnosis = said[-1].index if said[-1].role == "clinician" else None
    asked = sum(turn.role == "clinician" and (diagnosis is None or turn.index < diagnosis) for turn in said)
    return FindingSpan(opening, diagnosis, asked, len(said))


@dataclass(frozen=True, slots=True)
class History:
    """What one conversation brought out.

    Attributes:
        transcript: the transcript's id.
        findings: number of findings that count: those the opening complaint doesn't say.
        elicited: number of them that a message between opening complaint and diagnosis conveys; 0 where nothing was
            asked.
        questions: T.
        messages: number of messages of clinician and patient.
        recall: elicited / findings.
        precision: min(1, elicited / T); 0 where nothing was asked.
        f1: their harmonic mean; 0 where both are 0.
        precision_by_messages, f1_by_messages: the same with (messages − 1) / 2 for T, as the authors' script has it:
            missing where the recall is.
        rank: position of the true diagnosis among the candidates, from 0; None where it is not among them.
        ranked: whether the rank was judged.
        by_category: category → (elicited, findings).
    """

    transcript: str
    findings: int
    elicited: int
    questions: int
    messages: int
    recall: Measured
    precision: Measured
    f1: Measured
    precision_by_messages: Measured
    f1_by_messages: Measured
    rank: int | None
    ranked: bool
    by_category: Mapping[Category, tuple[int, int]]

    def top(self, k: int) -> Measured:
        """1 where the true diagnosis is among the first ``k`` candidates, else 0."""
        if not self.ranked:
            return Measured(missing=_NO_RANK)
        return Measured(float(self.rank is not None and self.rank < k))

    def category_recall(self, category: Category) -> Measured:
        """Recall of the findings of one category."""
        if self.recall.missing == _NO_FINDINGS:
            return Measured(missing=_NO_FINDINGS)
        elicited, findings = self.by_category[category]
        return ratio(elicited, findings, f"no finding of the category {category}")


def history(transcript: Transcript, labels: HistoryLabels) -> History | str:
    """What the labels say of a conversation, or why nothing can be said."""
    part = span(transcript, labels)
    if isinstance(part, str):
        return part
    # What a patient says unasked before an immediate diagnosis was told, not elicited.
    findings = [
        (finding, part.questions > 0 and finding.message is not None and part.within(finding.message))
        for finding in labels.findings or ()
        if not (finding.opening or (finding.message is not None and finding.message <= part.opening))
    ]
    beyond = [
        finding.message
        for finding in labels.findings or ()
        if finding.message is not None and finding.message >= len(transcript.turns)
    ]
    if beyond:
        return f"a finding is labelled as conveyed by message {beyond[0]}, which isn't there"
    elicited = sum(out for _, out in findings)
    if labels.findings is None:
        recall = precision = by_messages = Measured(missing=_NO_FINDINGS)
    else:
        recall = ratio(elicited, len(findings), _ALL_OPENING)
        precision, by_messages = (
            Measured(min(1.0, elicited / asked) if asked else 0.0)
            for asked in (part.questions, (part.messages - 1) / 2)
        )
        if recall.value is None:  # the authors' script has no precision either where there is nothing to elicit
            by_messages = Measured(missing=recall.missing)
    return History(
        transcript=transcript.id,
        findings=len(findings),
        elicited=elicited,
        questions=part.questions,
        messages=part.messages,
        recall=recall,
        precision=precision,
        f1=_harmonic(precision, recall),
        precision_by_messages=by_messages,
        f1_by_messages=_harmonic(by_messages, recall),
        rank=labels.diagnosis_rank,
        ranked="diagnosis_rank" in labels.model_fields_set,
        by_category={
            category: (
                sum(out for finding, out in findings if category in finding.categories),
                sum(category in finding.categories for finding, _ in findings),
            )
            for category in CATEGORIES
        },
    )


def _harmonic(precision: Measured, recall: Measured) -> Measured:
    if precision.value is None or recall.value is None:
        return Measured(missing=recall.missing or precision.missing)
    both = precision.value + recall.value
    return Measured(2 * precision.value * recall.value / both if both else 0.0)


def turn_rewards(transcript: Transcript, labels: HistoryLabels, *, k: int = K) -> dict[int, Measured] | str:
    """The reward of each clinician turn up to the diagnosis, by index; or why there is none.

    Asking: 1 where the clinician's turn, or what is said before the clinician's next turn, is the message that
    conveys a counted finding, else 0. Diagnosing: recall · (1 − rank / k), with the rank from 0; 0 where the true
    diagnosis is not among the first ``k``.
    """
    part = span(transcript, labels)
    whole = history(transcript, labels)
    if isinstance(part, str) or isinstance(whole, str):
        return str(part if isinstance(part, str) else whole)
    if labels.findings is None:
        return _NO_FINDINGS
    clinician = [turn.index for turn in transcript.of("clinician")]
    conveying = {
        finding.message
        for finding in labels.findings
        if not finding.opening and finding.message is not None and part.within(finding.message)
    }
    rewards: dict[int, Measured] = {}
    for index, following in pairwise([*clinician, len(transcript.turns)]):
        if part.diagnosis is not None and index >= part.diagnosis:
            break
        rewards[index] = Measured(float(any(index <= message < following for message in conveying)))
    if part.diagnosis is not None:
        rewards[part.diagnosis] = _diagnosing(whole, k)
    return rewards


def _diagnosing(case: History, k: int) -> Measured:
    if not case.ranked:
        return Measured(missing=_NO_RANK)
    if case.recall.value is None:
        return Measured(missing=case.recall.missing)
    if case.rank is None or case.rank >= k:
        return Measured(0.0)
    return Measured(case.recall.value * (1 - case.rank / k))


def replies(transcript: Transcript, labels: HistoryLabels | None = None) -> list[Turn] | str:
    """The patient's replies: patient turns after the opening complaint and before the diagnosis; or why none."""
    part = span(transcript, labels)
    if isinstance(part, str):
        return part
    return [turn for turn in transcript.of("patient") if part.within(turn.index)] or "no patient reply"


def fixed_sentences_of(transcript: Transcript) -> Mapping[str, str]:
    """What the simulated patient says word for word, by kind of reply; nothing where the reference doesn't say."""
    sentences = transcript.reference.get("patient_sentences")
    if not isinstance(sentences, Mapping):
        return {}
    return {kind: sentence for kind, sentence in sentences.items() if isinstance(sentence, str)}


def dont_know_and_repeats(transcript: Transcript, labels: HistoryLabels | None = None) -> tuple[Measured, Measured]:
    """Shares of the patient's replies that say "don't know" and "already asked".

    By the labels of the replies where ``labels`` are given, by the words (:func:`reply_kind`) without; the sentences
    fixed for a simulated patient stand in the reference as ``patient_sentences``.
    """
    patient_replies = replies(transcript, labels)
    if isinstance(patient_replies, str):
        return Measured(missing=patient_replies), Measured(missing=patient_replies)
    kinds: list[Reply]
    if labels is None:
        sentences = fixed_sentences_of(transcript)
        kinds = [reply_kind(turn.text, sentences) for turn in patient_replies]
    else:
        labelled = [labels.turns[turn.index].reply for turn in patient_replies if turn.index in labels.turns]
        kinds = [kind for kind in labelled if kind is not None]
        if not kinds:
            none = Measured(missing="no labels of the replies' kind")
            return none, none
    return (ratio(kinds.count("dont_know"), len(kinds), ""), ratio(kinds.count("already_asked"), len(kinds), ""))


def reply_rate(
    transcript: Transcript, labels: HistoryLabels, of: Callable[[HistoryTurnLabels], int | None], what: str
) -> Measured:
    """Share of the patient's replies with label 1, among those with a label."""
    patient_replies = replies(transcript, labels)
    if isinstance(patient_replies, str):
        return Measured(missing=patient_replies)
    bits = [of(labels.turns[turn.index]) for turn in patient_replies if turn.index in labels.turns]
    labelled = [bit for bit in bits if bit is not None]
    return ratio(
        sum(labelled),
        len(labelled),
        f"no labels of {what}",
        n=len(labelled),
        dropped=len(patient_replies) - len(labelled),
    )
