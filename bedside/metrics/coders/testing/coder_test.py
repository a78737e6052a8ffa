"""How good a coder is: its codes against people's, turn by turn and over sessions, beside the human ceiling.

Gold is people's code; where several people coded a turn, what most of them say (turns where no label is most
frequent are left out and counted).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from bedside.core.errors import DataError, InputError, from_extra
from bedside.metrics.coders.contract import CodeSource, TurnCodes
from bedside.metrics.coders.people import majority, people_codes, proper
from bedside.metrics.coders.session_measures import EARLY_TURNS, MEASURES, Labels
from bedside.transcripts.transcript import CODES, Transcript

# -- A coder's codes against people's -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodeView:
    """One way to look at a code.

    Attributes:
        name: as in tables.
        code: the code.
        labels: the labels that are scored.
        of: the code's label → the label scored; None leaves it out.
        present: whether only turns are looked at to which most people gave another label than ``none``.
        absent_is_wrong: with ``present``: a turn where the coder says ``none`` counts as wrong; else it is left out.
    """

    name: str
    code: str
    labels: tuple[str, ...]
    of: Callable[[str], str | None]
    present: bool = False
    absent_is_wrong: bool = False

    def coded(self, label: str) -> str | None:
        """What a coder's label counts as; None where the turn is left out."""
        return label if self.absent_is_wrong else self.of(label)

    def gold(self, labels: Sequence[str]) -> tuple[str | None, bool]:
        """What most people say, and whether the turn is left out because of a tie."""
        if self.present:
            exists = majority(map(_exists, labels))
            if exists != "yes":
                return None, exists is None
        most = majority(label for label in map(self.of, labels) if label is not None)
        return most, most is None


def _exists(label: str) -> str:
    return "no" if label == "none" else "yes"


def _as_it_is(label: str) -> str:
    return label


def _present(label: str) -> str | None:
    return None if label == "none" else label


def _views() -> tuple[CodeView, ...]:
    views = []
    for code, labels in CODES.items():
        views.append(CodeView(code, code, labels, _as_it_is))
        if labels[0] != "none":
            continue
        views.append(CodeView(f"{code}: exists", code, ("no", "yes"), _exists))
        kinds = labels[1:]
        views.append(CodeView(f"{code}: type, where both see one", code, kinds, _present, present=True))
        views.append(CodeView(f"{code}: type, where people see one", code, kinds, _present, True, absent_is_wrong=True))
    return tuple(views)


#: Each code as a whole; for a code that can be ``none`` also whether it exists and, where it does, its type.
VIEWS: tuple[CodeView, ...] = _views()


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 (0–1) of one label; ``support`` is the number of gold turns.

    Precision is None where the coder never gives the label, recall where people never do.
    """

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int


@dataclass(frozen=True, slots=True)
class HumanCeiling:
    """How well each person agrees with the others, over turns that several people coded.

    Each person in turn is compared with what most of the others say; figures are means over people. The coder is
    compared with the same references on the same turns.

    Attributes:
        view: name of the view.
        people: number of people.
        turns: turns that two or more people coded and that entered a comparison.
        ties: comparisons (person and turn) left out because the others have no most frequent label.
        macro_f1, accuracy, kappa: means over people.
        lowest, highest: macro-F1 of the person that agrees least and most.
        coder_macro_f1: the coder's mean macro-F1 against the same references; None without a coder.
        share: ``coder_macro_f1 / macro_f1``; over 1 where the coder agrees with most people better than one person
            does on average.
    """

    view: str
    people: int
    turns: int
    ties: int
    macro_f1: float
    accuracy: float
    kappa: float | None
    lowest: float
    highest: float
    coder_macro_f1: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class CodeScore:
    """A coder against people in one view of a code.

    Attributes:
        view: name of the view.
        code: the code.
        turns: turns compared.
        ties: turns left out because people have no most frequent label.
        not_coded: turns left out because the coder gave no code to them, where people did.
        accuracy: share of turns with the same label.
        macro_f1: mean F1 over the labels that occur, in gold or from the coder.
        kappa: Cohen's kappa; None where only one label occurs.
        classes: by label.
        columns: labels of the confusion matrix's columns (the coder's); its rows are ``classes``.
        confusion: counts, gold by row.
        ceiling: the human ceiling, where several people coded the same turns.
    """

    view: str
    code: str
    turns: int
    ties: int
    not_coded: int
    accuracy: float
    macro_f1: float
    kappa: float | None
    classes: tuple[ClassScore, ...]
    columns: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    ceiling: HumanCeiling | None = None


@dataclass(frozen=True, slots=True)
class CodedTurn:
    """A coded turn: people's labels by person, and the coder's."""

    people: Mapping[str, Labels]
    coder: Labels

    def labels(self, code: str) -> dict[str, str]:
        return {person: codes[code] for person, codes in self.people.items() if code in codes}


def coded_turns(transcript: Transcript, coded: Mapping[int, Labels]) -> dict[int, CodedTurn]:
    people = people_codes(transcript)
    return {
        turn.index: CodedTurn(
            {person: proper(codes[turn.index]) for person, codes in people.items() if turn.index in codes},
            coded.get(turn.index, {}),
        )
        for turn in transcript.turns
    }


def human_ceilings(transcripts: Iterable[Transcript]) -> tuple[HumanCeiling, ...]:
    """How well people agree with each other, for every view of every code that several people gave to a turn."""
    turns = [turn for transcript in transcripts for turn in coded_turns(transcript, {}).values()]
    ceilings = (human_ceiling(view, turns) for view in VIEWS)
    return tuple(ceiling for ceiling in ceilings if ceiling is not None)


LabelPairs = list[tuple[str, str]]


def code_score(view: CodeView, turns: Sequence[CodedTurn]) -> CodeScore | None:
    with from_extra("learning", "testing a coder needs scikit-learn"):
        from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    pairs: LabelPairs = []
    ties = not_coded = 0
    for turn in turns:
        labels = list(turn.labels(view.code).values())
        if not labels:
            continue
        gold, tie = view.gold(labels)
        if view.code not in turn.coder:
            not_coded += gold is not None
            continue
        ties += tie
        coded_label = view.coded(turn.coder[view.code])
        if gold is not None and coded_label is not None:
            pairs.append((gold, coded_label))
    if not pairs:
        return None
    gold_labels, coder_labels = zip(*pairs, strict=True)
    columns = (*view.labels, *(("none",) if view.absent_is_wrong else ()))
    precision, recall, f1, support = precision_recall_fscore_support(
        gold_labels, coder_labels, labels=list(view.labels), zero_division=float("nan")
    )
    matrix = confusion_matrix(gold_labels, coder_labels, labels=list(columns))
    return CodeScore(
        view=view.name,
        code=view.code,
        turns=len(pairs),
        ties=ties,
        not_coded=not_coded,
        accuracy=_accuracy(pairs),
        macro_f1=_macro_f1(view, pairs),
        kappa=_kappa(pairs),
        classes=tuple(
            ClassScore(
                label,
                _number_or_none(precision[k]),
                _number_or_none(recall[k]),
                _number_or_none(f1[k]),
                int(support[k]),
            )
            for k, label in enumerate(view.labels)
        ),
        columns=columns,
        confusion=tuple(tuple(int(count) for count in row) for row in matrix[: len(view.labels)]),
        ceiling=human_ceiling(view, turns),
    )


def human_ceiling(view: CodeView, turns: Sequence[CodedTurn]) -> HumanCeiling | None:
    pairs_by_person: dict[str, LabelPairs] = {}
    coder_pairs: dict[str, LabelPairs] = {}
    used = ties = 0
    for turn in turns:
        labels = turn.labels(view.code)
        if len(labels) < 2:
            continue
        entered = False
        for person, label in labels.items():
            gold, tie = view.gold([other for name, other in labels.items() if name != person])
            ties += tie
            if gold is None:
                continue
            entered = True
            coded_label = view.coded(label)
            if coded_label is not None:
                pairs_by_person.setdefault(person, []).append((gold, coded_label))
            coded = view.coded(turn.coder[view.code]) if view.code in turn.coder else None
            if coded is not None:
                coder_pairs.setdefault(person, []).append((gold, coded))
        used += entered
    if not pairs_by_person:
        return None
    scores = [_macro_f1(view, pairs) for pairs in pairs_by_person.values()]
    kappas = [kappa for kappa in map(_kappa, pairs_by_person.values()) if kappa is not None]
    reached = fmean(_macro_f1(view, pairs) for pairs in coder_pairs.values()) if coder_pairs else None
    return HumanCeiling(
        view=view.name,
        people=len(pairs_by_person),
        turns=used,
        ties=ties,
        macro_f1=fmean(scores),
        accuracy=fmean(map(_accuracy, pairs_by_person.values())),
        kappa=fmean(kappas) if kappas else None,
        lowest=min(scores),
        highest=max(scores),
        coder_macro_f1=reached,
        share=reached / fmean(scores) if reached is not None and any(scores) else None,
    )


def _accuracy(pairs: LabelPairs) -> float:
    return fmean(gold == coded for gold, coded in pairs)


def _macro_f1(view: CodeView, pairs: LabelPairs) -> float:
    with from_extra("learning", "testing a coder needs scikit-learn"):
        from sklearn.metrics import f1_score

    gold, coded = zip(*pairs, strict=True)
    occurring = [label for label in view.labels if label in gold or label in coded]
    return float(f1_score(gold, coded, labels=occurring, average="macro"))


def _kappa(pairs: LabelPairs) -> float | None:
    from sklearn.metrics import cohen_kappa_score

    gold, coded = zip(*pairs, strict=True)
    return float(cohen_kappa_score(gold, coded)) if len({*gold, *coded}) > 1 else None


def _number_or_none(number: float) -> float | None:
    return None if number != number else float(number)


# -- Counts of whole sessions from a coder's codes against those from people's --------------------------

#: Sessions needed for a correlation, for a verdict, and of each quality for an area under the curve.
FEWEST_SESSIONS = 3


FEWEST_FOR_VERDICT = 20


FEWEST_OF_QUALITY = 5


#: Rank correlations from which a measure may be used, and used with care.
RANKS_AS_PEOPLE, RANKS_ROUGHLY = 0.8, 0.6


#: A mean is off where it differs by more than this share of people's standard deviation.
OFF = 0.25


#: People's measure separates quality from this area under the curve; the coder's may be so much less.
SEPARATES, LESS = 0.7, 0.1


#: Factors that name a session's quality unless another is named, and their values.
QUALITY_FACTORS = ("mi_quality", "quality")


QUALITIES = ("low", "high")


@dataclass(frozen=True, slots=True)
class SessionScore:
    """A measure of whole sessions from the coder's codes against the same measure from people's.

    Attributes:
        measure: name of the metric.
        sessions: sessions where both have a value.
        missing: sessions where one of them has none (no question, …).
        pearson, spearman: correlations over sessions; None with fewer than three sessions or equal values.
        mean_absolute_error: in the measure's unit.
        mean_people, mean_coder: means over sessions.
        auc_people, auc_coder: area under the curve (0–1): how well the measure separates sessions of high from those
            of low quality, both in the direction in which people's does; None where quality isn't known of five
            sessions each.
        use: whether the coder's measure may be used: ``yes``, ``with care``, ``no``, or ``unknown``.
        why: the reasons, in words.
    """

    measure: str
    sessions: int
    missing: int
    pearson: float | None
    spearman: float | None
    mean_absolute_error: float | None
    mean_people: float | None
    mean_coder: float | None
    auc_people: float | None
    auc_coder: float | None
    use: str
    why: str


def session_qualities(transcripts: Sequence[Transcript], factor: str | None) -> list[bool | None]:
    """Whether each session is of high quality; None where that isn't known."""
    names = QUALITY_FACTORS if factor is None else (factor,)
    for name in names:
        values = [str(transcript.factors.get(name, "")).strip().casefold() for transcript in transcripts]
        if set(QUALITIES) & set(values):
            return [value == "high" if value in QUALITIES else None for value in values]
    if factor is not None:
        raise InputError(
            f"no session has a factor {factor!r} of {' or '.join(QUALITIES)}",
            where="`quality`",
            todo="name another factor",
        )
    return [None] * len(transcripts)


def session_scores(
    sessions: Sequence[tuple[Transcript, dict[int, CodedTurn]]], coder: CodeSource, qualities: Sequence[bool | None]
) -> tuple[SessionScore, ...]:
    scores = []
    for measure in MEASURES:
        if not set(measure.codes) <= set(coder.codes):
            continue
        people: list[float] = []
        coder_values: list[float] = []
        high: list[bool | None] = []
        for (transcript, turns), quality in zip(sessions, qualities, strict=True):
            indices = [turn.index for turn in transcript.of(measure.role)]
            both: list[tuple[tuple[Labels, int], tuple[Labels, int]]] = []
            for index in indices[:EARLY_TURNS] if measure.early else indices:
                turn = turns[index]
                most = {code: majority(turn.labels(code).values()) for code in measure.codes}
                gold = {code: label for code, label in most.items() if label is not None}
                if all(code in gold and code in turn.coder for code in measure.codes):
                    both.append(((gold, 1), (turn.coder, 1)))
            _, gold_value = measure.of(labels for labels, _ in both)
            _, coder_value = measure.of(labels for _, labels in both)
            if gold_value is not None and coder_value is not None:
                people.append(gold_value)
                coder_values.append(coder_value)
                high.append(quality)
        scores.append(_session_score(measure.name, people, coder_values, high, len(sessions)))
    return tuple(scores)


def _session_score(
    measure: str, people: Sequence[float], coder_values: Sequence[float], high: Sequence[bool | None], sessions: int
) -> SessionScore:
    from scipy.stats import pearsonr, spearmanr

    n = len(people)
    varied = n >= FEWEST_SESSIONS and len(set(people)) > 1 and len(set(coder_values)) > 1
    spearman = float(spearmanr(people, coder_values).statistic) if varied else None
    areas = _areas(people, coder_values, high)
    use, why = _verdict(people, coder_values, spearman, areas)
    return SessionScore(
        measure=measure,
        sessions=n,
        missing=sessions - n,
        pearson=float(pearsonr(people, coder_values).statistic) if varied else None,
        spearman=spearman,
        mean_absolute_error=fmean(abs(a - b) for a, b in zip(people, coder_values, strict=True)) if n else None,
        mean_people=fmean(people) if n else None,
        mean_coder=fmean(coder_values) if n else None,
        auc_people=None if areas is None else areas[0],
        auc_coder=None if areas is None else areas[1],
        use=use,
        why=why,
    )


def _areas(
    people: Sequence[float], coder_values: Sequence[float], high: Sequence[bool | None]
) -> tuple[float, float] | None:
    """Areas under the curve of people's and the coder's measure, in the direction in which people's separates."""
    with from_extra("learning", "testing a coder needs scikit-learn"):
        from sklearn.metrics import roc_auc_score

    rated = [k for k, quality in enumerate(high) if quality is not None]
    labels = [high[k] for k in rated]
    if min(labels.count(True), labels.count(False)) < FEWEST_OF_QUALITY:
        return None
    area = float(roc_auc_score(labels, [people[k] for k in rated]))
    coded = float(roc_auc_score(labels, [coder_values[k] for k in rated]))
    return (area, coded) if area >= 0.5 else (1 - area, 1 - coded)


def _verdict(
    people: Sequence[float], coder_values: Sequence[float], spearman: float | None, areas: tuple[float, float] | None
) -> tuple[str, str]:
    """Whether a coder's measure may be used, and why."""
    if spearman is None or len(people) < FEWEST_FOR_VERDICT:
        return "unknown", f"{len(people)} sessions with the measure are too few to say"
    if spearman >= RANKS_AS_PEOPLE:
        use, why = "yes", "it ranks sessions nearly as people's codes do"
    elif spearman >= RANKS_ROUGHLY:
        use, why = ("with care", "it ranks sessions only roughly as people's codes do: for means of many sessions")
    else:
        use, why = "no", "it hardly ranks sessions as people's codes do"
    reasons = [f"{why} (Spearman {spearman:.2f})"]
    difference = fmean(coder_values) - fmean(people)
    if abs(difference) > OFF * stdev(people):
        use = "with care" if use == "yes" else use
        reasons.append(
            f"its mean is {abs(difference):.2g} too {'high' if difference > 0 else 'low'}: correct it by a sample "
            "that people code"
        )
    if areas is not None and areas[0] >= SEPARATES:
        shown = f"(AUC {areas[1]:.2f}; people's {areas[0]:.2f})"
        if areas[0] - areas[1] > LESS:
            use = "no" if areas[1] < SEPARATES else "with care" if use == "yes" else use
            how = "does not separate" if areas[1] < SEPARATES else "separates less well"
            reasons.append(f"it {how} sessions of high and low quality, which people's does {shown}")
        else:
            reasons.append(f"it separates sessions of high and low quality {shown}")
    return use, "; ".join(reasons)


# -- How good a coder is --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExistingCodes:
    """Codes that are there already, such as a judge's.

    Attributes:
        rater: whose they are.
        codes: which codes were asked for.
        codes_by_transcript: transcript id → turn index → code → label.
        causes: transcript id → why codes are missing in it.
    """

    rater: str
    codes: tuple[str, ...]
    codes_by_transcript: Mapping[str, TurnCodes]
    causes: Mapping[str, str] = field(default_factory=dict)

    def code(self, transcript: Transcript) -> TurnCodes:
        """The codes of a transcript."""
        return self.codes_by_transcript[transcript.id]

    def refuses(self, transcript: Transcript) -> str | None:
        """Why a transcript has no codes at all; None where it has some."""
        if self.codes_by_transcript.get(transcript.id):
            return None
        return self.causes.get(transcript.id, "not coded")


@dataclass(frozen=True, slots=True)
class CoderTest:
    """What :func:`evaluate_coder` found.

    Attributes:
        coder: the coder's rater name.
        transcripts: transcripts with people's codes that the coder coded.
        refused: (transcript id, reason) where the coder can't code.
        without_codes: transcripts left out because nobody coded what the coder codes.
        scores: one per view.
        sessions: one per measure.
    """

    coder: str
    transcripts: int
    refused: tuple[tuple[str, str], ...]
    without_codes: int
    scores: tuple[CodeScore, ...]
    sessions: tuple[SessionScore, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row per view: the coder's figures and, where there is one, the human ceiling."""
        return [
            {
                "code": score.view,
                "turns": score.turns,
                "not_coded": score.not_coded,
                "accuracy": score.accuracy,
                "macro_f1": score.macro_f1,
                "kappa": score.kappa,
                "people": score.ceiling.people if score.ceiling else None,
                "shared_turns": score.ceiling.turns if score.ceiling else None,
                "people_macro_f1": score.ceiling.macro_f1 if score.ceiling else None,
                "coder_macro_f1_there": score.ceiling.coder_macro_f1 if score.ceiling else None,
                "share_of_people": score.ceiling.share if score.ceiling else None,
            }
            for score in self.scores
        ]

    def class_rows(self) -> list[dict[str, Any]]:
        """One row per view and label: precision, recall, F1, support and the confusion counts."""
        return [
            {
                "code": score.view,
                "label": label_score.label,
                "precision": label_score.precision,
                "recall": label_score.recall,
                "f1": label_score.f1,
                "support": label_score.support,
                "coded_as": dict(zip(score.columns, counts, strict=True)),
            }
            for score in self.scores
            for label_score, counts in zip(score.classes, score.confusion, strict=True)
        ]

    def session_rows(self) -> list[dict[str, Any]]:
        """One row per measure of sessions."""
        return [
            {
                "measure": score.measure,
                "sessions": score.sessions,
                "missing": score.missing,
                "pearson": score.pearson,
                "spearman": score.spearman,
                "mean_absolute_error": score.mean_absolute_error,
                "mean_people": score.mean_people,
                "mean_coder": score.mean_coder,
                "auc_people": score.auc_people,
                "auc_coder": score.auc_coder,
                "use": score.use,
                "why": score.why,
            }
            for score in self.sessions
        ]


def evaluate_coder(transcripts: Iterable[Transcript], coder: CodeSource, *, quality: str | None = None) -> CoderTest:
    """A coder's codes against people's.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; those without any of the coder's codes are left out.
        coder: the coder, or codes that are there already.
        quality: name of the factor that says ``high`` or ``low`` of a session; ``mi_quality`` or ``quality``, where
            there is one, unless named.

    Raises:
        InputError: no session has the factor that is named.
        DataError: no transcript has people's codes of what the coder codes, or the coder can code none of them.
    """
    sessions: list[tuple[Transcript, dict[int, CodedTurn]]] = []
    refused: list[tuple[str, str]] = []
    without = 0
    for transcript in transcripts:
        if not any(
            code in labels
            for codes in people_codes(transcript).values()
            for labels in codes.values()
            for code in coder.codes
        ):
            without += 1
            continue
        why = coder.refuses(transcript)
        if why is not None:
            refused.append((transcript.id, why))
            continue
        sessions.append((transcript, coded_turns(transcript, coder.code(transcript))))
    if refused and not sessions:
        raise DataError(
            f"{coder.rater} coded none of the {len(refused)} transcripts that people coded, the first because: "
            f"{refused[0][1]}"
        )
    if not sessions:
        raise DataError(
            f"no transcript has people's codes of {', '.join(coder.codes)}",
            todo="give transcripts whose turns have meta.codes",
        )
    turns = [turn for _, session in sessions for turn in session.values()]
    scores = [code_score(view, turns) for view in VIEWS if view.code in coder.codes]
    return CoderTest(
        coder=coder.rater,
        transcripts=len(sessions),
        refused=tuple(refused),
        without_codes=without,
        scores=tuple(score for score in scores if score is not None),
        sessions=session_scores(
            sessions, coder, session_qualities([transcript for transcript, _ in sessions], quality)
        ),
    )
