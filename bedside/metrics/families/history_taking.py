"""History taking (Note2Chat): findings elicited, questions needed, diagnosis ranked, from labels in the transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bedside.core.errors import DataError
from bedside.metrics.contract import Example, Family, Metric
from bedside.ratings.names import human_rater
from bedside.ratings.values import Direction, Value, missing
from bedside.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from bedside.metrics.protocols.label_files import Measured
    from bedside.metrics.protocols.note2chat.history import History
    from bedside.metrics.protocols.note2chat.labels import HistoryLabels

_CATEGORY_NAMES: Mapping[str, str] = {
    "site": "site",
    "onset": "onset",
    "character": "character",
    "radiation": "radiation",
    "associated": "associated symptoms",
    "timing": "timing",
    "exacerbating_relieving": "exacerbating and relieving factors",
    "severity": "severity",
    "history": "past history and treatment",
}
_TOP = (1, 2, 3, 4, 5)
_BY_WORDS = ("dont_know_share", "already_asked_share")
_BY_BITS = ("information_control_rate", "factual_conflict_rate")


def _value(metric: str, measured: Measured) -> Value:
    if measured.missing is not None:
        return missing(metric, measured.missing)
    labelled = f"{measured.n} of {measured.n + measured.dropped} replies labelled"
    return Value(metric, measured.value, reason=labelled if measured.dropped else None)


def _of_history(metric: str, case: History) -> Measured:
    from bedside.metrics.protocols.label_files import Measured

    if metric == "history_questions":
        return Measured(float(case.questions))
    if metric == "elicited_findings":
        return Measured(float(case.elicited)) if case.recall.missing is None else case.recall
    if metric == "counted_findings":
        return Measured(float(case.findings)) if case.recall.missing is None else case.recall
    if metric.startswith("history_"):
        measured: Measured = getattr(case, metric.removeprefix("history_"))
        return measured
    if metric == "diagnosis_rank":
        if not case.ranked:
            return case.top(1)
        if case.rank is None:
            return Measured(missing="the true diagnosis is not among the candidates")
        return Measured(float(case.rank))
    if metric.startswith("diagnosis_top_"):
        return case.top(int(metric.rpartition("_")[2]))
    what, _, name = metric.partition("_")
    category: Any = name
    if what == "recall":
        return case.category_recall(category)
    if case.recall.missing is not None:
        return case.recall
    elicited, counted = case.by_category[category]
    return Measured(float(elicited if what == "elicited" else counted))


def _rated(transcript: Transcript, labels: HistoryLabels, names: list[str]) -> Iterator[Value]:
    """What one rater's labels give."""
    from bedside.metrics.protocols.note2chat.history import history, reply_rate, turn_rewards

    case = history(transcript, labels)
    for name in names:
        if name in _BY_WORDS:
            continue
        if name in _BY_BITS:
            yield _value(
                name,
                reply_rate(
                    transcript,
                    labels,
                    (lambda turn: turn.only_what_was_asked)
                    if name == "information_control_rate"
                    else (lambda turn: turn.conflict),
                    "information control" if name == "information_control_rate" else "factual conflicts",
                ),
            )
        elif name == "turn_reward":
            rewards = turn_rewards(transcript, labels)
            if isinstance(rewards, str) or not rewards:
                yield missing(name, rewards if isinstance(rewards, str) else "no clinician turn")
            else:
                for index, reward in rewards.items():
                    yield _value(name, reward)._replace(turn=index)
        elif isinstance(case, str):
            yield missing(name, case)
        else:
            yield _value(name, _of_history(name, case))


def _by_words(transcript: Transcript, labels: HistoryLabels | None, names: list[str]) -> Iterator[Value]:
    """Shares of replies by kind; without labels by their words."""
    from bedside.metrics.protocols.note2chat.history import dont_know_and_repeats, fixed_sentences_of
    from bedside.transcripts.language import not_english

    wanted = [name for name in _BY_WORDS if name in names]
    if not wanted:
        return
    said = " ".join(turn.text for turn in transcript.of("patient"))
    by_words = labels is None and not fixed_sentences_of(transcript)
    why = not_english(said, transcript.language) if by_words else None
    for name, share in zip(_BY_WORDS, dont_know_and_repeats(transcript, labels), strict=True):
        if name in wanted:
            yield missing(name, why) if why is not None and said else _value(name, share)


def _unlabelled(transcript: Transcript, names: list[str]) -> Iterator[Value]:
    """What there is to say without labels: the number of questions, and why the rest is missing."""
    from bedside.metrics.protocols.note2chat.history import span

    for name in names:
        if name in _BY_WORDS:
            continue
        if name == "history_questions":
            part = span(transcript)
            yield missing(name, part) if isinstance(part, str) else Value(name, float(part.questions))
        elif name.startswith("diagnosis_"):
            yield missing(name, "no labels of the diagnosis's rank")
        elif name in _BY_BITS:
            yield missing(name, "no labels of the replies")
        else:
            yield missing(name, "no labels of findings")


def compute(transcript: Transcript, wanted: frozenset[str]) -> Iterator[Value]:
    """The metrics named in ``wanted``, once for each rater that gave labels."""
    from bedside.metrics.protocols.note2chat.labels import label_raters, rater_labels

    names = [metric.name for metric in METRICS if metric.name in wanted]
    raters = label_raters(transcript)
    if not raters:
        yield from _unlabelled(transcript, names)
    yield from _by_words(transcript, None, names)
    for rater in raters:
        try:
            labels = rater_labels(transcript, rater)
        except DataError as error:
            for name in names:
                if name not in _BY_WORDS:
                    yield missing(name, str(error), rater=rater)
            continue
        for value in _rated(transcript, labels, names):
            yield value._replace(rater=rater)
        if any(turn.reply is not None for turn in labels.turns.values()):
            for value in _by_words(transcript, labels, names):
                yield value._replace(rater=rater)


_SOURCE = "Note2Chat (Zhou et al., AAAI 2026)"
_HAND = "by hand: "
_RATER = human_rater("anna")


def _reply(text: str, **labels: Any) -> tuple[Any, ...]:
    return "patient", text, {"note2chat": {_RATER: labels}}


_TALK = (
    ("patient", "I have had chest pain since yesterday."),
    ("clinician", "Where exactly?"),
    _reply("Behind the breastbone, and I sweat.", only_what_was_asked=0, conflict=0),
    ("clinician", "How bad is it, from 0 to 10?"),
    _reply("An eight.", only_what_was_asked=1, conflict=1),
    ("clinician", "Does anything make it better?"),
    _reply("I don't know.", only_what_was_asked=1, conflict=0),
    ("clinician", "And how bad is it?"),
    _reply("Sorry, you've already asked this question.", only_what_was_asked=1, conflict=0),
    ("clinician", "My first thoughts are: 1. reflux, 2. angina, 3. heart attack."),
)
_FINDINGS: tuple[dict[str, Any], ...] = (
    {"text": "Chest pain for one day", "categories": ["onset"], "opening": True, "message": 0},
    {"text": "Substernal", "categories": ["site"], "message": 2},
    {"text": "Diaphoresis", "categories": ["associated"], "message": 2},
    {"text": "Pain 8 of 10", "categories": ["severity"], "message": 8},
    {"text": "Relieved by rest", "categories": ["exacerbating_relieving"], "message": None},
    {"text": "No dyspnea", "categories": ["associated"], "message": None},
)
_CASE = {"reference": {"note2chat": {_RATER: {"findings": _FINDINGS, "diagnosis_rank": 2}}}}
_UNRANKED = {"reference": {"note2chat": {_RATER: {"findings": _FINDINGS, "diagnosis_rank": None}}}}
#: A diagnosis at once, without a question.
_UNASKED = (_TALK[0], _TALK[-1])
_UNASKED_FINDINGS = tuple({**finding, "message": 0 if finding.get("opening") else None} for finding in _FINDINGS)
_UNASKED_CASE = {"reference": {"note2chat": {_RATER: {"findings": _UNASKED_FINDINGS, "diagnosis_rank": 2}}}}
_COUNTED = "3 of the 5 findings that the opening doesn't say, 4 questions"


def _metric(
    name: str,
    title: str,
    definition: str,
    value: float | None,
    how: str,
    *others: Example,
    low: float | None = 0,
    high: float | None = 1,
    direction: Direction = "higher",
    needs: tuple[str, ...] = ("labels of findings",),
    turn: int | None = None,
) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit="transcript" if turn is None else "turn",
        low=low,
        high=high,
        direction=direction,
        definition=definition,
        needs=needs,
        source=_SOURCE,
        examples=(
            Example(_TALK, value, _HAND + how, turn=turn, transcript=_CASE),
            *others,
            Example(_TALK[:1], None, "no reply, and nobody gave labels"),
        ),
        digits=3 if high == 1 else 1,
    )


def _categories() -> Iterator[Metric]:
    elicited = {"site": (1, 1), "associated": (1, 2), "severity": (1, 1), "exacerbating_relieving": (0, 1)}
    for category, title in _CATEGORY_NAMES.items():
        conveyed, counted = elicited.get(category, (0, 0))
        how = f"{conveyed} of {counted}" if counted else "no such finding but in the opening"
        others: tuple[Example, ...] = ()
        if not counted:
            finding = {"text": "x", "categories": [category], "message": 2}
            others = (
                Example(
                    _TALK,
                    1.0,
                    f"{_HAND}1 of 1",
                    transcript={"reference": {"note2chat": {_RATER: {"findings": [finding]}}}},
                ),
            )
        yield _metric(
            f"recall_{category}",
            f"Recall: {title}",
            f"Elicited / counted findings of the category {title}. A finding may have several categories.",
            conveyed / counted if counted else None,
            how,
            *others,
            needs=("labels of findings with SOCRATES categories",),
        )


def _category_counts() -> Iterator[Metric]:
    """What recall by category is pooled from: elicited and counted findings of each category."""
    numbers = {"site": (1, 1), "associated": (1, 2), "severity": (1, 1), "exacerbating_relieving": (0, 1)}
    for category, title in _CATEGORY_NAMES.items():
        elicited, counted = numbers.get(category, (0, 0))
        how = f"{elicited} of {counted}" if counted else "no such finding but in the opening"
        for name, words, value in (
            (f"elicited_{category}", f"Elicited findings: {title}", elicited),
            (f"counted_{category}", f"Findings: {title}", counted),
        ):
            which = "Number of elicited findings" if name.startswith("elicited") else "Number of findings"
            yield _metric(
                name,
                words,
                f"{which} of the category {title} that the opening complaint doesn't say; sums over cases give the "
                "category's recall over all findings.",
                value,
                how,
                high=None,
                direction="none",
                needs=("labels of findings with SOCRATES categories",),
            )


METRICS = (
    _metric(
        "history_questions",
        "Questions",
        "Number of questions T: clinician messages before the final diagnosis message. That is the labelled one, else "
        "the last message where it is the clinician's. Neither more nor fewer is better by itself: who asks nothing "
        "elicits nothing.",
        4,
        "5 clinician messages, the last of them the diagnosis",
        high=None,
        direction="none",
        needs=(),
    ),
    _metric(
        "elicited_findings",
        "Elicited findings",
        "Number of findings conveyed by a message after the opening complaint and before the diagnosis. Findings that "
        "the opening complaint says are not counted; where the clinician asks nothing, nothing is elicited.",
        3,
        _COUNTED,
        high=None,
    ),
    _metric(
        "counted_findings",
        "Findings that count",
        "Number of findings that the opening complaint doesn't say: what elicited findings are divided by.",
        5,
        _COUNTED,
        high=None,
        direction="none",
    ),
    _metric(
        "history_recall",
        "History taking: recall",
        "Elicited findings / findings that the opening complaint doesn't say.",
        3 / 5,
        _COUNTED,
        Example(_UNASKED, 0, _HAND + "nothing was asked", transcript=_UNASKED_CASE),
    ),
    _metric(
        "history_precision",
        "History taking: precision",
        "min(1, elicited findings / T); 0 where nothing was asked.",
        3 / 4,
        _COUNTED,
        Example(_UNASKED, 0, _HAND + "nothing was asked", transcript=_UNASKED_CASE),
    ),
    _metric(
        "history_f1",
        "History taking: F1",
        "Harmonic mean of recall and precision, 0 where nothing was elicited or asked. The mean over cases is not the "
        "F1 of the means.",
        2 / 3,
        "2 · .75 · .6 / 1.35",
        Example(_UNASKED, 0, _HAND + "nothing was asked", transcript=_UNASKED_CASE),
    ),
    _metric(
        "history_precision_by_messages",
        "History taking: precision by messages",
        "min(1, elicited findings / T) with T = (messages − 1) / 2, as the authors' script has it; 0 where nothing was "
        "asked, missing where the opening says every finding.",
        3 / 4.5,
        "3 / 4.5",
        Example(_UNASKED, 0, _HAND + "nothing was asked", transcript=_UNASKED_CASE),
    ),
    _metric(
        "history_f1_by_messages",
        "History taking: F1 by messages",
        "Harmonic mean of recall and precision by messages, 0 where nothing was elicited or asked, as the authors' "
        "script has it.",
        2 * (2 / 3) * 0.6 / (2 / 3 + 0.6),
        "2 · .667 · .6 / 1.267",
        Example(_UNASKED, 0, _HAND + "nothing was asked", transcript=_UNASKED_CASE),
    ),
    *_categories(),
    *_category_counts(),
    _metric(
        "diagnosis_rank",
        "Rank of the true diagnosis",
        "Position, from 0, of the first candidate that is the true diagnosis or a more specific kind of it; missing "
        "where none is.",
        2,
        "the third candidate",
        Example(_TALK, None, "not among the candidates", transcript=_UNRANKED),
        high=None,
        direction="lower",
        needs=("a label of the diagnosis's rank",),
    ),
    *(
        _metric(
            f"diagnosis_top_{k}",
            f"Diagnosis among the first {k}",
            f"1 where the true diagnosis, or a more specific kind of it, is among the first {k} candidates, else 0; "
            "its mean over cases is the accuracy.",
            float(k > 2),
            "it is the third",
            Example(_TALK, 0.0, "not among the candidates", transcript=_UNRANKED),
            needs=("a label of the diagnosis's rank",),
        )
        for k in _TOP
    ),
    _metric(
        "dont_know_share",
        '"Don\'t know" replies',
        "Share of the patient's replies that say only that the patient doesn't know: by their words (English, and the "
        "sentences fixed for a simulated patient), and by each rater's labels where there are some. Replies are the "
        "patient turns after the opening complaint and before the diagnosis.",
        1 / 4,
        "1 of 4 replies",
        direction="none",
        needs=("English, or labels of the replies",),
    ),
    _metric(
        "already_asked_share",
        '"Already asked" replies',
        "Share of the patient's replies that say that this was asked before: by their words (English, and the "
        "sentences fixed for a simulated patient), and by each rater's labels where there are some.",
        1 / 4,
        "1 of 4 replies",
        direction="lower",
        needs=("English, or labels of the replies",),
    ),
    _metric(
        "turn_reward",
        "Turn reward",
        "Asking: 1 where the clinician's turn or the reply to it is the message that conveys a counted finding, else "
        "0. Diagnosing: recall · (1 − rank / 5), with the rank from 0, and 0 where the true diagnosis is not among the "
        "first 5.",
        1,
        "the reply conveys two findings",
        Example(_TALK, 0.0, _HAND + "the reply conveys nothing", turn=5, transcript=_CASE),
        Example(_TALK, 0.6 * (1 - 2 / 5), _HAND + ".6 · (1 − 2/5)", turn=9, transcript=_CASE),
        Example(_TALK, 0.0, _HAND + "not among the candidates", turn=9, transcript=_UNRANKED),
        needs=("labels of findings and of the diagnosis's rank",),
        turn=1,
    ),
    _metric(
        "information_control_rate",
        "Information control",
        "Share of the patient's labelled replies that tell only what was asked.",
        3 / 4,
        "3 of 4 replies",
        needs=("labels of the replies' information control",),
    ),
    _metric(
        "factual_conflict_rate",
        "Factual conflict rate",
        "Share of the patient's labelled replies that contradict the note.",
        1 / 4,
        "1 of 4 replies",
        direction="lower",
        needs=("labels of the replies' conflicts with the note",),
    ),
)

FAMILY = Family(
    name="history_taking",
    title="History taking (Note2Chat)",
    labelled=True,
    description=(
        "Which findings of a note a conversation brings out, with how many questions, and where the true diagnosis "
        "stands among the clinician's candidates. The arithmetic on labels from a judge or from people "
        "(`bedside.metrics.protocols.note2chat.with_labels`); the rater is the one who gave them. Rewards of "
        "whole dialogues and preference pairs need all candidate dialogues of a case: functions of "
        "`bedside.metrics.protocols.note2chat`. Definitions and files: docs/suites/note2chat.md."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    demonstration=_TALK,
)
