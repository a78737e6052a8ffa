"""A coder's codes against people's, turn by turn, beside the human ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from bedside.metrics.coders.people import majority, people_codes, proper
from bedside.metrics.coders.session_measures import Labels
from bedside.transcripts.transcript import CODES, Transcript


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
        views.append(
            CodeView(f"{code}: type, where people see one", code, kinds, _present, True, absent_is_wrong=True)
        )
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
