"""The best of several interviews of a case: the one that brought out most and named the true diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bedside.metrics.protocols.note2chat.history import K, history
from bedside.metrics.protocols.note2chat.labels import label_raters, rater_labels
from bedside.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class BestRollouts:
    """The best interview of each case.

    Attributes:
        best: one of each case that has any, in the order of the cases.
        left_out: (case or transcript, reason) of what gave none.
    """

    best: tuple[Transcript, ...]
    left_out: tuple[tuple[str, str], ...]


def best_rollouts(
    transcripts: Iterable[Transcript], *, require_correct: bool = True, rater: str | None = None
) -> BestRollouts:
    """The interview of each case with the highest recall, less 1 where the true diagnosis is not among its candidates.

    Of equal ones the first. The released code takes an interview without the true diagnosis where every one of a case
    is; the publication takes correct ones only.

    Args:
        transcripts: labelled ones, several of a case.
        require_correct: whether only those with the true diagnosis among the first five candidates can be best.
        rater: whose labels count; the only rater of each transcript unless named.
    """
    best: dict[str, tuple[float, Transcript] | None] = {}
    left_out: list[tuple[str, str]] = []
    for transcript in transcripts:
        if transcript.case_id is None:
            left_out.append((transcript.id, "no case"))
            continue
        best.setdefault(transcript.case_id, None)
        score = _score(transcript, rater)
        if isinstance(score, str):
            left_out.append((transcript.id, score))
            continue
        recall, correct = score
        if require_correct and not correct:
            continue
        value = recall - (0.0 if correct else 1.0)
        leader = best[transcript.case_id]
        if leader is None or value > leader[0]:
            best[transcript.case_id] = (value, transcript)
    reason = "no interview names the true diagnosis" if require_correct else "no interview can be judged"
    left_out += [(case, reason) for case, leader in best.items() if leader is None]
    return BestRollouts(tuple(leader[1] for leader in best.values() if leader is not None), tuple(left_out))


def _score(transcript: Transcript, rater: str | None) -> tuple[float, bool] | str:
    """Recall, and whether the true diagnosis is among the candidates; or why that isn't known."""
    raters = [name for name in label_raters(transcript) if rater in (None, name)]
    if len(raters) != 1:
        return f"{len(raters)} raters' labels, one is needed"
    outcome = history(transcript, rater_labels(transcript, raters[0]))
    if isinstance(outcome, str):
        return outcome
    if outcome.recall.value is None:
        return outcome.recall.missing or "no recall"
    if not outcome.ranked:
        return "no label of the diagnosis's rank"
    return outcome.recall.value, outcome.rank is not None and outcome.rank < K
