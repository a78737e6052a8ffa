"""Comments beside ratings: which texts of a file are some, and of which ratings.

Answers are comments, and no labels, where none is a number, most of them are different (of more than twelve different
ones, a quarter), and half of them or more have four words or thirty letters (ten, where blanks part no words). Shorter
ones are where their column's name says so: those of ``empathy_comment`` beside a metric ``empathy``, and of
``Justification`` where most of them are different.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bedside.ratings.rated_cells import RatedCell, is_no_answer, is_number
from bedside.ratings.scales import number_in, word_scales
from bedside.ratings.spellings import metric_key, plain
from bedside.support.unspaced_scripts import UNSPACED

#: Words and letters of a text, and letters where no blanks part words.
_WORDS, _LETTERS, _UNSPACED_LETTERS = 4, 30, 10
#: Most labels that a metric has.
_MOST_LABELS = 12
_UNSPACED = re.compile(f"[{UNSPACED}]")
_COMMENT = "comments?|notes?|reasons?|rationales?|justifications?|explanations?|remarks?|feedback|why"
_AFTER = re.compile(f"(?:(?P<about>.+)_)?(?:free_text_)?(?:{_COMMENT})(?:_text)?")
_BEFORE = re.compile(f"(?:{_COMMENT})_(?:(?:for|on|about|of|to)_)?(?P<about>.+)")
#: Columns that hold what was said in a conversation.
_SAID = re.compile(
    "(^|_)(text|utterance|transcript|dialogue|dialog|conversation|prompt|response|message|said)(_|$)"
)


def comment_about(name: str) -> str | None:
    """What a column of comments is about by its name: empty where it doesn't say, None where it is named otherwise.

    >>> comment_about("Empathy – comment"), comment_about("reason for empathy"), comment_about("Justification")
    ('empathy', 'empathy', '')
    >>> comment_about("Reasonableness")
    """
    word = plain(name)
    match = _AFTER.fullmatch(word) or _BEFORE.fullmatch(word)
    return None if match is None else match["about"] or ""


def holds_speech(name: str) -> bool:
    """Whether a column of this name holds what was said in a conversation, and no remark on it."""
    return bool(_SAID.search(plain(name)))


def is_free_text(answers: Sequence[str]) -> bool:
    """Whether answers are texts that somebody wrote, and no labels: words, most of them different, and long.

    >>> is_free_text(["She listens and waits", "He asks too many questions"]), is_free_text(["open", "closed"])
    (True, False)
    """
    texts = _differing_words(answers)
    return bool(texts) and not word_scales(texts) and median(map(_is_long, texts)) >= 0.5


def _differing_words(answers: Iterable[str]) -> list[str]:
    """The answers without blanks around them, where none is a number and most are different; else none."""
    texts = [answer.strip() for answer in answers if not is_no_answer(answer)]
    numbers = any(number_in(text) is not None for text in texts) or all(map(is_number, texts))
    different = len(set(texts))
    many = 2 * different > len(texts) or (different > _MOST_LABELS and 4 * different > len(texts))
    return texts if many and not numbers else []


def are_comments(name: str, answers: Sequence[str], metrics: Collection[str] = ()) -> bool:
    """Whether a column's answers are comments, by its name or by what they are.

    Args:
        name: the column's name.
        answers: its cells.
        metrics: keys (:func:`~bedside.ratings.spellings.metric_key`) of the metrics beside it.
    """
    about = comment_about(name)
    if about and metric_key(about) in metrics and metric_key(name) not in metrics:
        return not any(map(is_number, answers))
    return bool(_differing_words(answers)) if about == "" else is_free_text(answers)


def _is_long(text: str) -> bool:
    if _UNSPACED.search(text):
        return len(text) >= _UNSPACED_LETTERS
    return len(text.split()) >= _WORDS or len(text) >= _LETTERS


@dataclass(slots=True)
class FileComments:
    """What people remarked beside their ratings.

    Attributes:
        taken: column → how many of its cells became reasons of ratings.
        alone: how many stand beside no rating.
        first_alone: where the first of those stands.
    """

    taken: Counter[str] = field(default_factory=Counter)
    alone: int = 0
    first_alone: str = ""

    def beside(self, ratings: Sequence[RatedCell], comments: Iterable[RatedCell]) -> list[RatedCell]:
        """The ratings with the comments as their reasons.

        A comment is of the rating that its column's name says, else of the only one that its rater gave the unit. One
        on several is kept with each of them, behind the column's name.
        """
        by_row: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for position, cell in enumerate(ratings):
            if not is_no_answer(cell.value):
                by_row[_row(cell)].append(position)
        metrics = {metric_key(cell.metric) for cell in ratings}
        reasons: Mapping[int, list[str]] = defaultdict(list)
        for comment in comments:
            name = metric_key(comment.metric)
            about = name if name in metrics else metric_key(comment_about(comment.metric) or "")
            row = by_row[_row(comment)]
            if about in metrics:
                row = [position for position in row if metric_key(ratings[position].metric) == about]
            text = " ".join(comment.value.split())
            text = text if len(row) == 1 else f"{comment.metric}: {text}"
            for position in row:
                reasons[position].append(text)
            self.taken[comment.metric] += bool(row)
            self.alone += not row
            self.first_alone = self.first_alone or ("" if row else comment.where)
        return [
            cell._replace(reason="; ".join(filter(None, (cell.reason, *reasons[position]))))
            if position in reasons
            else cell
            for position, cell in enumerate(ratings)
        ]


def _row(cell: RatedCell) -> tuple[str, ...]:
    """Whose rating of what a cell is, whatever the metric."""
    return cell.item, cell.second, cell.turn, cell.rater, cell.replicate, cell.round
