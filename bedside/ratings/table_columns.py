"""Which column of a table of ratings holds what: by what columns are called, and by what stands in them.

Answers are comments, and no labels, where none is a number, most of them are different (of more than twelve different
ones, a quarter), and half of them or more have four words or thirty letters (ten, where blanks part no words). Shorter
ones are where their column's name says so: those of ``empathy_comment`` beside a metric ``empathy``, and of
``Justification`` where most of them are different.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.words import UNSPACED
from bedside.ratings.rated_cells import is_no_answer, is_number, whole_of
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.scales import number_in, word_scales
from bedside.ratings.spellings import metric_key, plain
from bedside.transcripts.text_table import TextTable

#: bedside's names of columns, each with other spellings of it in the form of :func:`plain`, the surest first.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "transcript_id", "transcript", "conversation", "conversation_id", "dialogue_id",
             "dialog_id", "external_id", "id"),
    "metric": ("metric", "measure", "rubric", "criterion", "code", "dimension"),
    "value": ("value", "score", "rating", "label"),
    "rater": ("rater", "rater_id", "annotator", "annotator_id", "coder", "coder_id", "evaluator", "evaluator_id",
              "email_address", "email", "e_mail", "recipientemail"),
    "system": ("system", "model"),
    "case": ("case", "case_id", "patient_id"),
    "turn": ("turn", "utterance", "utterance_id"),
    "replicate": ("replicate", "pass"),
    "reason": ("reason", "comment", "comments", "notes"),
    "round": ("round", "wave"),
    "drawn": ("drawn", "probability"),
}  # fmt: skip

#: What the item of a table may be called besides, where no column has one of its own names but ``id``: each such column
#: may be about the row, too. A case is an item only where nothing else is, and no system: of those each has the case.
ITEM_NAMES = ("session", "session_id", "vignette", "vignette_id", "conv_id", "chat", "chat_id", "interview",
              "interview_id", "recording", "recording_id", "stimulus", "stimulus_id")  # fmt: skip

#: Columns of a table of pairs, which are these only where all three are there: two raters may be called first and
#: second.
PAIR_NAMES: Mapping[str, tuple[str, ...]] = {
    "first": ("first", "first_id", "first_item", "first_transcript", "first_conversation"),
    "second": ("second", "second_id", "second_item", "second_transcript", "second_conversation"),
    "preferred": ("preferred", "preference", "preferred_id", "better", "winner"),
}

#: Columns that say something of a row and hold no rating: when, how long, from where, its number, what was said.
_ABOUT = frozenset(
    """date time timestamp datetime day start end started ended finished progress status submitted created updated
    modified duration duration_in_seconds seconds minutes lead_time time_spent elapsed startdate enddate recordeddate
    submitdate ip ipaddress ip_address responseid responseset recipientlastname recipientfirstname externalreference
    externaldatareference locationlatitude locationlongitude distributionchannel userlanguage no nr number index row
    row_number n uuid hash order position batch version project task annotation source sheet url link file filename path
    text dialogue dialog conversation_text transcript_text language name remark remarks note feedback
    """.split()
).union(ITEM_NAMES, *COLUMN_NAMES.values())
_ABOUT_START = re.compile("redcap_|unnamed|column_?[0-9]*$|(duration|date|time)_")
_ABOUT_END = re.compile(
    "_(id|ids|uuid|hash|date|time|timestamp|at|duration|seconds|complete|comment|comments|note|notes|reason|reasons|url)$"
)
#: Columns that were computed from ratings.
_DERIVED = frozenset(
    """mean average avg median mode sd std stdev standard_deviation variance min max range difference diff agreement
    agree disagreement kappa consensus majority adjudicated n_raters
    """.split()
)
_DERIVED_PARTS = re.compile("^(mean|avg|average|median|sd|std)_|_(mean|avg|average|median|sd|std)$")
#: Columns that are sums and the like: of raters something computed or agreed on, of metrics a metric of its own.
_SUMS = frozenset(
    "total sum total_score sum_score overall_mean final final_score final_rating gold gold_standard icc".split()
)
#: Columns that count or describe something, and are no rater's.
_FACT = re.compile(
    "(.+_)?(age|sex|gender)|years?|(n|num|no|nr|number|count)_.+|(.+_)?(words?|turns?|tokens?|characters|chars|length|count|wpm|minutes)"
)
_KIND = re.compile("(human|judge|algorithm):.")
#: What nobody calls a metric: a word for people who rate, with a number or a letter.
_RATER = re.compile(
    "(human:|judge:|algorithm:).+"
    "|(rater|annotator|coder|evaluator|expert|reviewer|assessor|judge|grader|scorer|labell?er)_?([0-9]+|[a-z])"
)
#: A cell that is longer is no rating.
_LONGEST_RATING = 80
#: Different words in a column that may yet be labels, however few cells it has.
_MOST_LABELS = 12
_MOMENT = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(:\d{2})?.*"
)
#: Words and letters of a text, and letters where no blanks part words.
_WORDS, _LETTERS, _UNSPACED_LETTERS = 4, 30, 10
_UNSPACED = re.compile(f"[{UNSPACED}]")
_COMMENT = "comments?|notes?|reasons?|rationales?|justifications?|explanations?|remarks?|feedback|why"
_AFTER = re.compile(f"(?:(?P<about>.+)_)?(?:free_text_)?(?:{_COMMENT})(?:_text)?")
_BEFORE = re.compile(f"(?:{_COMMENT})_(?:(?:for|on|about|of|to)_)?(?P<about>.+)")
#: Columns of whom or what an item is of, each with an id of its own: no rater's and no metric's.
_OWNER = re.compile("(participant|client|patient|subject|proband|dyad|couple)(?P<id>_?(id|no|nr|number|code))?")
#: Such columns of which a rater may be as well as an item.
_PLACE = re.compile(
    "(site|centre|center|clinic|hospital|ward|practice|team|school|group|condition|arm)(_?(id|no|nr|number|code))?"
)
#: What says which rating a row's is.
_OF_KEY = ("item", "second", "rater", "metric", "turn", "replicate", "round")
#: Answers, whoever gives one of them only.
_YES_NO = frozenset("yes no y n true false ja nein oui non sí si sì não sim present absent".split())
#: Words that look like ids: ``P1``, ``family-03``.
_ID = re.compile(r"[^\W\d_]+[-_. ]?[0-9]+")
#: Columns that say who a rater is.
_OF_RATER = re.compile(
    "(^|_)(rater|annotator|coder|evaluator|expert|reviewer|assessor|judge|grader|scorer|labell?er|user|worker|prolific"
    "|respondent|response|submission|assignment|form|survey)s?(_|$)"
)
#: Columns that hold what was said in a conversation.
_SAID = re.compile("(^|_)(text|utterance|transcript|dialogue|dialog|conversation|prompt|response|message|said)(_|$)")


def is_about_the_row(name: str) -> bool:
    """Whether a column of this name says something of a row, and so is neither a rater's nor a metric's.

    >>> [is_about_the_row(name) for name in ("Timestamp", "Duration (s)", "rater_1", "participant_id")]
    [True, True, False, True]
    """
    word = plain(name)
    return not word or word in _ABOUT or bool(_ABOUT_START.match(word) or _ABOUT_END.search(word))


def is_derived(name: str) -> bool:
    """Whether a column of this name was computed from ratings, such as their mean."""
    word = plain(name)
    return word in _DERIVED or bool(_DERIVED_PARTS.search(word))


def has_rater_kind(name: str) -> bool:
    """Whether a name has the kind of rater before it, ``human:``, ``judge:`` or ``algorithm:``: no metric's has."""
    return bool(_KIND.match(name.strip().casefold()))


def names_rater(name: str) -> bool:
    """Whether a name can only be that of somebody who rates: ``rater 2``, ``annotator_b``, ``human:anna``."""
    return bool(_RATER.fullmatch(name.strip().casefold())) or bool(_RATER.fullmatch(plain(name)))


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Which column of a table holds what.

    Attributes:
        header: all columns.
        names: bedside's name of a column → the table's.
        rated: columns that can hold ratings of raters or metrics.
        comments: columns of what people remarked.
        place: the table, for messages.
        before_item: columns of which an item's id has the cells before its own, as of a session within a participant.
    """

    header: tuple[str, ...]
    names: Mapping[str, str]
    rated: tuple[str, ...]
    comments: tuple[str, ...]
    place: str
    before_item: tuple[str, ...] = ()

    def of_raters(self) -> list[str]:
        """Columns that can be raters': sums are something computed there, and an age or a number of words is none."""
        return [name for name in self.rated if plain(name) not in _SUMS and not _FACT.fullmatch(plain(name))]

    def twice(self, rows: TextTable) -> str:
        """What to do where somebody rates an item twice: a column may tell the rows apart."""
        todo = "remove one of the rows"
        names = self.names
        of_key = [*self.before_item, *(names[name] for name in _OF_KEY if name in names)]
        at = [self.header.index(name) for name in of_key]
        keys = list(zip(*map(rows.column, at), strict=True))
        doubled = len(keys) - len(set(keys))
        likely: dict[str, bool] = {}
        left = {"", *of_key, *self.comments, *(names.get(name, "") for name in ("value", "reason", "drawn"))}
        rated = set(self.rated)
        for position, name in enumerate(self.header):
            cells = rows.column(position)
            # A number of the row's own tells nothing, and few ratings may differ by chance.
            if (
                not doubled
                or name in left
                or not len(set(zip(keys, cells, strict=True))) == len(keys) > len(set(cells))
            ):
                continue
            if name not in rated or doubled > 2 or all(map(_ID.fullmatch, cells)):
                likely[name] = name in rated and all(map(is_number, cells))
        if not likely or "item" not in names:
            return todo
        name = min(likely, key=likely.__getitem__)
        ways = [f"`columns=item={'+'.join((*self.before_item, name, names['item']))}` for items of their own"]
        if "round" not in names:
            ways.append(f"`columns=round={name}` for another round of the same")
        if "rater" not in names and not any(map(names_rater, self.rated)):
            ways.append(f"`columns=rater={name}` for other raters")
        return f"{name!r} tells the rows apart: say {', '.join(ways)}; else {todo}"

    def missing(self, name: str) -> InputError:
        """The message for a column that is needed and isn't there."""
        if name == "value" and self.comments:
            return self.without_ratings(f"no column holds the {name}")
        return _missing(name, self.header, self.place)

    def without_ratings(self, lack: str) -> InputError:
        """The message for a table of whose columns none can be ratings, and of which texts are taken for comments."""
        if not self.comments:
            return InputError(lack, where=self.place, todo=f"columns: {', '.join(self.header)}")
        texts = " and ".join(map(repr, self.comments))
        return InputError(
            f"{lack}: the texts in {texts} look like comments",
            where=self.place,
            todo=f"if they are labels, say which there are with `scales=A/B/…`, or `metrics={self.comments[0]}`",
        )


def _missing(name: str, header: Iterable[str], place: str) -> InputError:
    return InputError(
        f"no column holds the {name}",
        where=place,
        todo=f"say which with `columns={name}=NAME`; columns: {', '.join(header)}",
    )


def table_columns(header: Sequence[str], rows: TextTable, reading: RatingReading, where: str) -> TableColumns:
    """Which column holds what, by the user's word, by its name, and by what stands in it.

    Args:
        header: the columns' names.
        rows: place and cells of each row.
        reading: what the user said.
        where: the header's place, for messages.

    Raises:
        AmbiguousError: several columns may be the item.
        InputError: the user named a column that isn't there.
    """
    if not isinstance(reading.columns, Mapping):
        raise InputError(
            f"{reading.columns!r:.40} says no names of columns",
            where="`columns`",
            todo='give a dict, {"item": "Session"}',
        )
    mapping = dict(reading.columns)
    before: list[str] = []
    if mapping.get("item", "") not in header and "+" in mapping.get("item", ""):
        *before, mapping["item"] = mapping["item"].split("+")
        for name in before:
            _check_column(name, header, where)
    names = _named_columns(header, mapping, where)
    cells_of = _Cells(header, rows)
    owners = [
        name
        for name in header
        if (_OWNER.fullmatch(plain(name)) or _PLACE.fullmatch(plain(name)))
        and name not in names.values()
        and not (reading.knows_metric(name) or _is_decimal(cells_of[name]))
    ]
    if "item" not in mapping:
        _check_items(cells_of, rows, names)
        before = [name for name in owners if _is_within(name, cells_of, rows, names)]
    taken = {"", *names.values(), *owners, *before}
    nested = _of_the_raters([name for name in header if name not in taken], cells_of, names, reading)
    if nested and "item" not in mapping:
        raise _one_or_two(nested[0], cells_of, rows, names, f", or `scales={nested[0]}=…` where raters said it")
    left = taken.union(nested)
    free = [name for name in header if name not in left and not reading.is_among(name, reading.without)]
    chosen = list(filter(reading.is_chosen, free))
    rated = chosen or [
        name
        for name in free
        if reading.knows_metric(name)
        or (
            not (is_derived(name) or is_about_the_row(name) or comment_about(name) is not None)
            and _may_be_labels(cells_of[name], reading)
        )
    ]
    known = set(rated)
    texts = [name for name in free if name not in known and (chosen or not is_derived(name))]
    metrics = set(map(metric_key, rated))
    items = cells_of[names["item"]] if texts and "item" in names else []
    comments = [
        name
        for name in texts
        if are_comments(name, cells_of[name], metrics) and _is_of_raters(name, cells_of[name], items)
    ]
    known.update(
        # A name such as a comment's may be that of a metric, too.
        name
        for name in set(texts).difference(comments)
        if not (chosen or is_about_the_row(name)) and _may_be_labels(cells_of[name], reading)
    )
    rated = [name for name in header if name in known]
    return TableColumns(tuple(header), names, tuple(rated), tuple(comments), where, tuple(before))


class _Cells(Mapping[str, list[str]]):
    """The cells of the columns by their names, each column of which is read when it is asked for."""

    def __init__(self, header: Sequence[str], rows: TextTable) -> None:
        self._at = {name: position for position, name in enumerate(header)}
        self._rows = rows

    def __getitem__(self, name: str) -> list[str]:
        return self._rows.column(self._at[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)


def _may_be_labels(cells: Sequence[str], reading: RatingReading) -> bool:
    """Whether cells can be ratings, and no texts."""
    answers = [cell for cell in cells if not is_no_answer(cell)]
    return bool(answers and reading.has_labels(answers)) or (may_be_answers(cells) and not is_free_text(cells))


def _is_of_raters(name: str, cells: Sequence[str], items: Sequence[str]) -> bool:
    """Whether texts may be what raters remarked, and not what is said of an item in each of its rows."""
    if comment_about(name) is not None:
        return True
    if is_about_the_row(name) or is_derived(name) or _SAID.search(plain(name)):
        return False
    of_item: dict[str, list[str]] = defaultdict(list)
    for item, cell in zip(items, cells, strict=False):
        of_item[item].append(cell)
    several = [texts for texts in of_item.values() if len(texts) > 1]
    return not several or any(len(set(texts)) > 1 for texts in several)


def _named_columns(header: Sequence[str], mapping: Mapping[str, str], where: str) -> dict[str, str]:
    by_word: dict[str, str] = {}
    for column in header:
        by_word.setdefault(plain(column), column)
    for name, column in mapping.items():
        if name not in COLUMN_NAMES.keys() | PAIR_NAMES.keys():
            raise InputError(
                f"a file of ratings has no {name!r}", where="`columns`", todo=f"name one of {', '.join(COLUMN_NAMES)}"
            )
        if column:
            _check_column(column, header, where)
    names = {name: column for name, column in mapping.items() if column}
    names = _pair_columns(by_word, names, header, where)
    for name, spellings in COLUMN_NAMES.items():
        if name not in mapping and name not in names:
            match = next((by_word[word] for word in spellings if word in by_word), None)
            if match is not None and match not in names.values():
                names[name] = match
    if "item" not in mapping and "second" not in names:
        _find_item(by_word, names, where, may_be_case="case" not in mapping)
    return names


def _check_column(column: str, header: Sequence[str], where: str) -> None:
    if column not in header:
        raise InputError(f"there is no column {column!r}", where=where, todo=f"columns: {', '.join(header)}")


def _find_item(by_word: Mapping[str, str], names: dict[str, str], where: str, *, may_be_case: bool) -> None:
    """Find the item among columns that may be it: a session, or where nothing else is a case.
    AmbiguousError where several may be."""
    likely = [by_word[word] for word in ITEM_NAMES if word in by_word and by_word[word] not in names.values()]
    item = names.get("item")
    # An id may be the transcript's or the response's.
    if item is not None and plain(item) == "id":
        likely.append(item)
    elif item is not None:
        return
    if len(likely) > 1:
        raise AmbiguousError(
            f"the item may be {' or '.join(map(repr, likely))}",
            where=where,
            todo=f"say which with {' or '.join(f'`columns=item={name}`' for name in likely)}",
        )
    if likely:
        names["item"] = likely[0]
    elif item is None and may_be_case and "case" in names and "system" not in names:
        names["item"] = names.pop("case")


def _check_items(cells_of: Mapping[str, list[str]], rows: TextTable, names: Mapping[str, str]) -> None:
    """See that what was taken for the item, such as a session, is no number within a case or a system."""
    column = names.get("item", "")
    if plain(column) not in ITEM_NAMES:
        return
    for name in filter(names.__contains__, ("case", "system")):
        first: dict[str, str] = {}
        for where, item, cell in zip(rows.places, cells_of[column], cells_of[names[name]], strict=True):
            other = first.setdefault(item, cell)
            if other != cell:
                raise AmbiguousError(
                    f"{column} {item!r} is of the {name}s {other!r} and {cell!r}: it may be one item or two",
                    where=where,
                    todo=f"say `columns=item={names[name]}+{column}` for two, or `columns=item={column}` for one",
                )


def _is_decimal(cells: Sequence[str]) -> bool:
    """Whether cells are numbers and some have decimals, as no id has."""
    numbers = [number_in(cell.replace(",", ".", 1)) for cell in cells if not is_no_answer(cell)]
    return None not in numbers and any(number != int(number) for number in numbers if number is not None)


def _is_within(owner: str, cells_of: Mapping[str, list[str]], rows: TextTable, names: Mapping[str, str]) -> bool:
    """Whether the items' ids repeat for each participant, site and the like, so that an item is told by both.

    Raises:
        AmbiguousError: they do, but may be the same items, rated elsewhere or by the participants.
    """
    if "item" not in names:
        return False
    cells = cells_of[owner]
    if _parted(cells_of[names["item"]], cells) is None:
        return False
    has_raters = "rater" in names or any(map(names_rater, cells_of))
    # What one rater rated twice is two items.
    of_key = [
        cells_of[names[name]] for name in ("item", "rater", "metric", "turn", "replicate", "round") if name in names
    ]
    owner_of: dict[tuple[str, ...], str] = {}
    is_doubled = any(owner_of.setdefault(tuple(key), cell) != cell for *key, cell in zip(*of_key, cells, strict=True))
    if has_raters and not is_doubled and "rater" in names and "metric" in names:
        # Who rated one metric of an item here and another there rated one item.
        both = zip(cells_of[names["item"]], cells_of[names["rater"]], strict=True)
        of_both: dict[tuple[str, str], str] = {}
        if any(of_both.setdefault(key, cell) != cell for key, cell in zip(both, cells, strict=True)):
            return False
    match = _OWNER.fullmatch(plain(owner))
    has_ids = match is not None and (match["id"] or not all(map(is_number, cells)))
    if has_raters and (is_doubled or has_ids):
        return True
    rater = "" if has_raters else f", or `columns=rater={owner}` where each rated"
    raise _one_or_two(owner, cells_of, rows, names, rater)


def _parted(items: Sequence[str], cells: Sequence[str]) -> tuple[int, int] | None:
    """The first two rows of one item in which a column says different things; None where there are none."""
    first: dict[str, int] = {}
    rows = ((first.setdefault(item, at), at) for at, item in enumerate(items))
    return next(((one, at) for one, at in rows if cells[one] != cells[at]), None)


def _one_or_two(
    owner: str, cells_of: Mapping[str, list[str]], rows: TextTable, names: Mapping[str, str], more: str
) -> AmbiguousError:
    """The message for an item's id that stands beside two cells of a column."""
    column, cells = names["item"], cells_of[owner]
    one, at = _parted(cells_of[column], cells) or (0, 0)
    return AmbiguousError(
        f"{column} {cells_of[column][at]!r} is of {owner} {cells[one]!r} and {cells[at]!r}: it may be one item or two",
        where=rows.places[at],
        todo=f"say `columns=item={owner}+{column}` for two, `columns=item={column}` for one{more}",
    )


def _of_the_raters(
    header: Iterable[str], cells_of: Mapping[str, list[str]], names: Mapping[str, str], reading: RatingReading
) -> list[str]:
    """Columns that say the same in all rows of a rater and other things of other raters, whatever the item: of whom or
    what the rater's items are, or who the rater is, and no answers."""
    header = list(header)
    if not header or not {"item", "rater"} <= names.keys():
        return []
    raters = cells_of[names["rater"]]
    items = cells_of[names["item"]]
    rated = [at for at, (item, rater) in enumerate(zip(items, raters, strict=True)) if item and rater]
    again = len({(items[at], raters[at]) for at in rated}) - len({raters[at] for at in rated})
    owners: list[str] = []
    if again < 2:
        return owners
    for name in header:
        word, cells = plain(name), cells_of[name]
        if reading.knows_metric(name) or _OF_RATER.search(word) or is_derived(name):
            continue
        if word in _ABOUT or comment_about(name) is not None or (is_about_the_row(name) and word[-3:] != "_id"):
            continue
        of_rater: dict[str, str] = {}
        if not all(cells[at] and of_rater.setdefault(raters[at], cells[at]) == cells[at] for at in rated):
            continue
        values = {cells[at] for at in rated}
        shared = [items[at] for at in rated], [cells[at] for at in rated]
        # Few answers of few raters may be the same by chance.
        chance = 1 if all(map(_ID.fullmatch, values)) else 2 if not all(map(is_number, values)) else 3
        if len(values) < max(2, chance) or again <= chance or _parted(*shared) is None:
            continue
        answers = any(map(is_no_answer, values)) or word_scales(values) or _is_decimal(list(values))
        if not answers and not {value.casefold() for value in values} <= _YES_NO:
            owners.append(name)
    return owners


def _pair_columns(
    by_word: Mapping[str, str], names: Mapping[str, str], header: Sequence[str], where: str
) -> dict[str, str]:
    """The names with those of a table of pairs, where it is one: the first is the item, and who is preferred the value.
    InputError where the user named some of its columns, and others are not there."""
    of_pair = {
        name: names.get(name) or next((by_word[word] for word in spellings if word in by_word), None)
        for name, spellings in PAIR_NAMES.items()
    }
    others = {name: column for name, column in names.items() if name not in PAIR_NAMES}
    lacking = next((name for name, column in of_pair.items() if column is None), None)
    if lacking is None:
        first, second, preferred = of_pair.values()
        return {**others, "item": str(first), "second": str(second), "value": str(preferred)}
    if len(others) < len(names):
        raise _missing(lacking, header, where)
    return others


def may_be_answers(cells: Sequence[str]) -> bool:
    """Whether cells can be ratings: some answers, none of them long, not all of them moments, and not one text after
    the other."""
    answers = [cell for cell in cells if not is_no_answer(cell)]
    if not answers or any(len(cell) > _LONGEST_RATING for cell in answers):
        return False
    if whole_of(answers) is not None:
        return True
    words = [cell for cell in answers if number_in(cell.replace(",", ".", 1)) is None]
    if len(set(words)) > max(_MOST_LABELS, len(answers) / 2):
        return False
    return not all(_MOMENT.fullmatch(cell.strip()) for cell in answers)


def comment_about(name: str) -> str | None:
    """What a column of comments is about by its name: empty where it doesn't say, None where it is named otherwise.

    >>> comment_about("Empathy – comment"), comment_about("reason for empathy"), comment_about("Justification")
    ('empathy', 'empathy', '')
    >>> comment_about("Reasonableness")
    """
    word = plain(name)
    match = _AFTER.fullmatch(word) or _BEFORE.fullmatch(word)
    return None if match is None else match["about"] or ""


def is_free_text(answers: Iterable[str]) -> bool:
    """Whether answers are texts that somebody wrote, and no labels: words, most of them different, and long.

    >>> is_free_text(["She listens and waits", "He asks too many questions"]), is_free_text(["open", "closed"])
    (True, False)
    """
    texts = _differing_words(answers)
    long = sum(times for text, times in texts.items() if _is_long(text))
    return bool(texts) and not word_scales(texts) and 2 * long >= texts.total()


def _differing_words(answers: Iterable[str]) -> Counter[str]:
    """The answers without blanks around them, how often each is given, where none is a number and most are different;
    else none."""
    texts = Counter[str]()
    for answer, times in Counter(answers).items():
        if not is_no_answer(answer):
            texts[answer.strip()] += times
    numbers = any(number_in(text) is not None for text in texts) or all(map(is_number, texts))
    different, total = len(texts), texts.total()
    many = 2 * different > total or (different > _MOST_LABELS and 4 * different > total)
    return texts if many and not numbers else Counter()


def are_comments(name: str, answers: Collection[str], metrics: Collection[str] = ()) -> bool:
    """Whether a column's answers are comments, by its name or by what they are.

    Args:
        name: the column's name.
        answers: its cells; of a counter, each as often as it counts.
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
