"""Which submitted findings are which hidden concerns: quotes are looked up, then matched one to one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bedside.core.neutral_text import neutral
from bedside.metrics.protocols.label_files import Measured, ratio
from bedside.metrics.protocols.medconceal.labels import CATEGORIES, Concern, MatchProposal, SubmittedFinding
from bedside.transcripts.transcript import Transcript

# -- Does a quote occur in what somebody said? Small differences of writing are allowed -----------------

#: Characters a quote needs for edits to be allowed; a shorter one must occur as it is.
FUZZY_LENGTH = 20
#: Edits allowed, as a share of the quote's characters (rounded down): the match is 90 % of the quote at least.
EDITS = 0.1

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´ʼ＇′", "'"),
        **dict.fromkeys("“”„‟«»″「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        "\u00ad": None,
        "\u200b": None,
    }
)
_EDGES = re.compile(r"^[\s\"'.,;:!?…\-]+|[\s\"'.,;:!?…\-]+$")
# Words that turn a sentence into its opposite, and numbers: an edit must not touch them.
_CRITICAL = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|barely)\b"
    r"|\b\w+n't\b|\b(?:ain|are|ca|could|did|does|do|had|has|have|is|must|need|should|was|were|wo|would)nt\b|[不没無无别]"
)


def normalise(text: str) -> str:
    """Text without differences of case, white space, width, and kinds of quotation marks, apostrophes and dashes.

    Control tokens and hidden characters are as a judge is shown them.
    """
    folded = unicodedata.normalize("NFKC", neutral(text).translate(_SAME)).translate(_SAME).casefold()
    return " ".join(folded.split())


def bare(quote: str) -> str:
    """A normalised quote without the marks around it."""
    return _EDGES.sub("", normalise(quote))


def edits_allowed(quote: str) -> int:
    """Edits (inserted, left-out or changed characters) allowed in a normalised quote."""
    return int(EDITS * len(quote)) if len(quote) >= FUZZY_LENGTH else 0


def occurs(quote: str, text: str) -> bool:
    """Whether ``quote`` occurs in ``text``, both as they come from :func:`bare` and :func:`normalise`.

    A quote must begin and end where words do. One of 20 characters or more may differ from the text in one of ten
    characters, as long as negations and numbers are the same.
    """
    if not quote:
        return False
    start = text.find(quote)
    while start >= 0:
        end = start + len(quote)
        if not (start > 0 and _joined(text, start)) and not (end < len(text) and _joined(text, end)):
            return True
        start = text.find(quote, start + 1)
    allowed = edits_allowed(quote)
    # Of allowed + 1 pieces so many edits leave one as it is: where none occurs, there is nothing to search.
    size = len(quote) // (allowed + 1)
    if not allowed or not any(quote[place : place + size] in text for place in range(0, len(quote), size)):
        return False
    wanted = _critical(quote)
    for end in (end for end, distance in endings(quote, text) if distance <= allowed):
        begin = end - _length_of_match(quote, text[:end])
        while begin > 0 and _joined(text, begin):
            begin -= 1
        while end < len(text) and _joined(text, end):
            end += 1
        if _critical(text[begin:end]) == wanted:
            return True
    return False


def _critical(text: str) -> list[str]:
    return [found.replace("'", "") for found in _CRITICAL.findall(text)]


def _joined(text: str, position: int) -> bool:
    """Whether the characters before and at a position belong to one word of a script with spaces."""
    before, after = text[position - 1], text[position]
    return all(each.isalnum() and each < "\u0e00" for each in (before, after))


def endings(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Each end in ``text`` (1 … length) with the fewest edits between ``pattern`` and a part that ends there.

    Myers' bit-parallel algorithm (Journal of the ACM 46, 1999, 395–415) on one integer as long as the pattern.
    """
    places: dict[str, int] = {}
    for position, character in enumerate(pattern):
        places[character] = places.get(character, 0) | 1 << position
    full, last = (1 << len(pattern)) - 1, 1 << (len(pattern) - 1)
    up, down, distance = full, 0, len(pattern)
    for end, character in enumerate(text, start=1):
        here = places.get(character, 0)
        diagonal = (((here & up) + up) ^ up) | here | down
        rise = down | ~(diagonal | up) & full
        fall = up & diagonal
        if rise & last:
            distance += 1
        elif fall & last:
            distance -= 1
        rise, fall = rise << 1 & full, fall << 1 & full
        up = fall | ~(diagonal | rise) & full
        down = rise & diagonal
        yield end, distance


def _length_of_match(pattern: str, text: str) -> int:
    """Length of the part at the end of ``text`` that is nearest to ``pattern``."""
    tail = text[-(len(pattern) + edits_allowed(pattern)) :]
    # Of the reversed texts, the beginning that is nearest to the whole pattern, with its edit distance.
    previous = list(range(len(tail) + 1))
    for row, wanted in enumerate(reversed(pattern), start=1):
        current = [row]
        for column, character in enumerate(reversed(tail), start=1):
            current.append(
                min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (wanted != character))
            )
        previous = current
    return min(range(len(previous)), key=lambda length: (previous[length], abs(length - len(pattern))))


# -- Which submitted findings are which hidden concerns -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    """A proposal and what became of it.

    Attributes:
        proposal: as given.
        turn: index of the patient turn with the quote; None where the proposal is refused.
        refused: why it is refused; None where it stands.
        matched: whether it is one of the matches.
        category_agrees: whether finding and concern have one category; None where refused.
    """

    proposal: MatchProposal
    turn: int | None = None
    refused: str | None = None
    matched: bool = False
    category_agrees: bool | None = None


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """What precision, recall and F1 are made of.

    Attributes:
        correct: findings that are right.
        findings: findings submitted.
        gold: hidden concerns there are.
    """

    correct: int
    findings: int
    gold: int

    @property
    def precision(self) -> Measured:
        """``correct / findings``."""
        return ratio(self.correct, self.findings, "no finding was submitted")

    @property
    def recall(self) -> Measured:
        """``correct / gold``."""
        return ratio(self.correct, self.gold, "no hidden concern to find")

    @property
    def f1(self) -> Measured:
        """``2 · correct / (findings + gold)``, the harmonic mean of precision and recall where both exist."""
        return ratio(2 * self.correct, self.findings + self.gold, "neither a finding nor a concern")


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of two shares; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def check(
    transcript: Transcript,
    concerns: Sequence[Concern],
    findings: Sequence[SubmittedFinding],
    proposals: Sequence[MatchProposal],
) -> tuple[Checked, ...]:
    """Each proposal, refused with the reason or accepted with the patient turn its quote stands in.

    Refused are proposals of a finding or concern that isn't there, without a quote, whose quote isn't in one of
    the patient's turns (:func:`bedside.metrics.protocols.medconceal.matching.occurs`), and repeated pairs.
    """
    gold = {concern.id: concern for concern in concerns}
    said = [(turn.index, turn.role, normalise(turn.text)) for turn in transcript.turns]
    accepted: set[tuple[int, str]] = set()
    checked = []
    for proposal in proposals:
        pair = (proposal.finding, proposal.concern)
        quote = bare(proposal.quote)
        turn = next((index for index, role, text in said if role == "patient" and occurs(quote, text)), None)
        refused = None
        if proposal.finding >= len(findings):
            refused = f"there is no finding {proposal.finding}"
        elif proposal.concern not in gold:
            refused = f"there is no concern {proposal.concern!r}"
        elif not quote:
            refused = "no quote of the patient"
        elif turn is None:
            others = [f"turn {index}" for index, role, text in said if role != "patient" and occurs(quote, text)]
            refused = f"the quote is not the patient's ({others[0]})" if others else "the quote is in no patient turn"
        elif pair in accepted:
            refused = "the pair was proposed before"
        if refused is not None:
            checked.append(Checked(proposal, refused=refused))
            continue
        accepted.add(pair)
        agrees = proposal.category_agrees
        if agrees is None:
            agrees = findings[proposal.finding].category == gold[proposal.concern].category
        checked.append(Checked(proposal, turn, category_agrees=agrees))
    return tuple(checked)


def maximum_matching(pairs: Iterable[tuple[int, int]], rows: int, columns: int) -> dict[int, int]:
    """As many pairs as possible with no row and no column twice: row → column.

    Of several such sets, the first in order: row 0 has the lowest column it can have, if it can have any, then row 1
    and so on. Sizes by Hopcroft–Karp (scipy).

    Args:
        pairs: (row, column) that may go together.
        rows, columns: how many there are.
    """
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    allowed = np.zeros((rows, columns), dtype=np.int8)
    for row, column in pairs:
        allowed[row, column] = 1

    def size() -> int:
        return int((maximum_bipartite_matching(csr_matrix(allowed), perm_type="column") >= 0).sum())

    if not allowed.any():
        return {}
    left = size()
    matching: dict[int, int] = {}
    for row in range(rows):
        for column in np.flatnonzero(allowed[row]).tolist():
            kept_row, kept_column = allowed[row].copy(), allowed[:, column].copy()
            allowed[row] = 0
            allowed[:, column] = 0
            if size() == left - 1:
                matching[row] = column
                left -= 1
                break
            allowed[:, column] = kept_column
            allowed[row] = kept_row
        else:
            allowed[row] = 0
    return matching


@dataclass(frozen=True, slots=True)
class CaseScore:
    """The matching of one case.

    Attributes:
        transcript: the transcript's id.
        proposals: all proposals with what became of them.
        fine: matches over findings and over concerns.
        coarse: Σ over categories of the smaller of the two counts, over findings and over concerns.
        grounded: as fine, but only concerns that the trace shows as revealed can be matched, and only they are to be
            found; None without a trace.
        agreeing: matches with one category.
        revealed: number of concerns revealed in the trace; None without one.
    """

    transcript: str
    proposals: tuple[Checked, ...]
    fine: MatchCounts
    coarse: MatchCounts
    grounded: MatchCounts | None
    agreeing: int
    revealed: int | None

    @property
    def category_accuracy(self) -> Measured:
        """Share of the matches whose categories agree."""
        return ratio(self.agreeing, self.fine.correct, "no finding matches a concern")

    @property
    def matched_without_reveal(self) -> Measured:
        """1 where a finding matches a concern although the trace shows none as revealed, else 0."""
        if self.revealed is None:
            return Measured(missing="no trace of the conversation")
        return Measured(float(self.fine.correct > 0 and self.revealed == 0))


def score_case(
    transcript: Transcript,
    concerns: Sequence[Concern],
    findings: Sequence[SubmittedFinding],
    proposals: Sequence[MatchProposal],
    revealed: Iterable[str] | None = None,
) -> CaseScore:
    """Check and match the proposals of one case.

    Args:
        transcript: the conversation that the quotes are looked up in.
        concerns: the case's hidden concerns.
        findings: what the clinician submitted.
        proposals: which findings are said to be which concerns.
        revealed: ids of the concerns that the trace shows as revealed; None without a trace.
    """
    checked = check(transcript, concerns, findings, proposals)
    ids = [concern.id for concern in concerns]
    revealed_ids = None
    if revealed is not None:
        shown = frozenset(revealed)
        revealed_ids = [concern for concern in ids if concern in shown]
    fine = _matched(checked, ids, len(findings))
    final = tuple(
        replace(
            outcome, matched=outcome.refused is None and (outcome.proposal.finding, outcome.proposal.concern) in fine
        )
        for outcome in checked
    )
    submitted = Counter(finding.category for finding in findings)
    gold = Counter(concern.category for concern in concerns)
    coarse = sum(min(submitted[category], gold[category]) for category in CATEGORIES)
    grounded = None
    if revealed_ids is not None:
        matched = _matched(checked, revealed_ids, len(findings))
        grounded = MatchCounts(len(matched), len(findings), len(revealed_ids))
    return CaseScore(
        transcript=transcript.id,
        proposals=final,
        fine=MatchCounts(len(fine), len(findings), len(concerns)),
        coarse=MatchCounts(coarse, len(findings), len(concerns)),
        grounded=grounded,
        agreeing=sum(outcome.matched and bool(outcome.category_agrees) for outcome in final),
        revealed=None if revealed_ids is None else len(revealed_ids),
    )


def _matched(checked: Sequence[Checked], ids: Sequence[str], findings: int) -> set[tuple[int, str]]:
    place = {concern: column for column, concern in enumerate(ids)}
    pairs = [
        (each.proposal.finding, place[each.proposal.concern])
        for each in checked
        if each.refused is None and each.proposal.concern in place
    ]
    return {(row, ids[column]) for row, column in maximum_matching(pairs, findings, len(ids)).items()}
