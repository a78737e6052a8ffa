"""What the columns of a table of ratings are called, and which of them never hold ratings."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: bedside's names of columns, each with other spellings of it in the form of :func:`plain`, the surest first.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "transcript_id", "transcript", "conversation", "conversation_id", "dialogue_id",
             "dialog_id", "external_id", "id"),
    "metric": ("metric", "rubric", "code", "dimension"),
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
)
_ABOUT_START = re.compile("redcap_|unnamed|column_?[0-9]*$")
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
#: Columns that are sums: of raters something computed, of metrics a metric of its own.
_SUMS = frozenset(("total", "sum", "total_score", "sum_score", "overall_mean"))
_KIND = re.compile("(human|judge|algorithm):.")
#: What nobody calls a metric: a word for people who rate, with a number or a letter.
_RATER = re.compile(
    "(human:|judge:|algorithm:).+"
    "|(rater|annotator|coder|evaluator|expert|reviewer|assessor|judge|grader|scorer|labell?er)_?([0-9]+|[a-z])"
)


def plain(name: str) -> str:
    """A column's name in lower case, with one underscore for whatever is no letter and no digit.

    >>> plain("Email Address ")
    'email_address'
    """
    return re.sub(r"[\W_]+", "_", name.strip().casefold()).strip("_")


def is_about_the_row(name: str) -> bool:
    """Whether a column of this name says something of a row, and so is neither a rater's nor a metric's.

    >>> [is_about_the_row(name) for name in ("Timestamp", "Duration (s)", "rater_1", "participant_id")]
    [True, True, False, True]
    """
    word = plain(name)
    spellings = {*ITEM_NAMES, *(spelling for others in COLUMN_NAMES.values() for spelling in others)}
    return (
        not word
        or word in _ABOUT
        or word in spellings
        or bool(_ABOUT_START.match(word))
        or bool(_ABOUT_END.search(word))
        or bool(re.match("(duration|date|time)_", word))
    )


def is_derived(name: str) -> bool:
    """Whether a column of this name was computed from ratings, such as their mean."""
    word = plain(name)
    return word in _DERIVED or bool(_DERIVED_PARTS.search(word))


def is_sum(name: str) -> bool:
    """Whether a column of this name is a sum: of raters something computed, of metrics a metric of its own."""
    return plain(name) in _SUMS


def has_rater_kind(name: str) -> bool:
    """Whether a name has the kind of rater before it, ``human:``, ``judge:`` or ``algorithm:``: no metric's has."""
    return bool(_KIND.match(name.strip().casefold()))


def names_rater(name: str) -> bool:
    """Whether a name can only be that of somebody who rates: ``rater 2``, ``annotator_b``, ``human:anna``."""
    return bool(_RATER.fullmatch(name.strip().casefold())) or bool(_RATER.fullmatch(plain(name)))
