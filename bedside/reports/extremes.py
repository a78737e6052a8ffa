"""The transcripts at either end of each metric, and the turns that made their score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.ratings.names import turn_indices
from bedside.ratings.run import Run
from bedside.reports.cell_names import rater_words
from bedside.transcripts.transcript import Transcript

#: Metrics shown; turns marked for one score, where turns are coded and where they have values; words that a quote must
#: have to be looked for.
MOST_METRICS = 16
MOST_MARKS = 24
MOST_PEAKS = 6
_QUOTE_WORDS = 3
#: Labels that say a turn has nothing of what is coded.
_NOTHING = frozenset(("none", "neutral", "other", "0"))
_QUOTES = re.compile(r"“([^”]+)”|\"([^\"]+)\"|‘([^’]{12,})’|«([^»]+)»")
_TURNS = re.compile(r"\bturns?\s+((?:\[?\d+\]?(?:\s*(?:,|and|to|–|-)\s*)?)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mark:
    """A turn that made a score, and what is said of it."""

    turn: int
    why: str


@dataclass(frozen=True, slots=True)
class Extreme(MetricRatings):
    """A transcript at one end of a metric.

    Attributes:
        facts, raters: what was rated, by whom.
        end: ``highest`` or ``lowest``.
        transcript, system: which.
        value: its value.
        shared: how many transcripts have this value.
        reasons: (rater, reason) as given.
    """

    raters: str
    end: str
    transcript: str
    system: str | None
    value: float
    shared: int
    reasons: tuple[tuple[str, str], ...]


def extremes(view: RatingsView) -> tuple[Extreme, ...]:
    """The highest and the lowest transcript of each metric that differs between transcripts.

    Metrics that say something of quality come first, then those whose turns can be pointed at, up to
    :data:`MOST_METRICS`.
    """
    names = quality_metrics(view)
    names += [name for name in view.metrics() if name not in names and _turn_metrics(name)]
    values = view.transcript_values(names).drop_nulls("value")
    both_ends: list[Extreme] = []
    used = 0
    for metric in names:
        metric_values = values.filter(pl.col("metric") == metric)
        groups = sorted(metric_values["group"].unique(), key=lambda name: (name != PEOPLE, name))
        if used == MOST_METRICS:
            break
        used += bool(groups)
        for group in groups:
            rows = metric_values.filter(pl.col("group") == group).sort("value", "transcript_id")
            if rows["value"].n_unique() < 2:
                continue
            worst_first = view.facts(metric).direction != "lower"
            ends = [("lowest", rows["value"].min()), ("highest", rows["value"].max())]
            for end, value in ends if worst_first else reversed(ends):
                at = rows.filter(pl.col("value") == value)
                both_ends.append(_extreme(view, metric, group, end, at))
    return tuple(both_ends)


def _extreme(view: RatingsView, metric: str, group: str, end: str, rows: pl.DataFrame) -> Extreme:
    row = rows.row(0, named=True)
    group_ratings = _ratings_by(view, row["transcript_id"], group)
    with_reason = group_ratings.filter((pl.col("metric") == metric) & pl.col("reason").is_not_null()).sort(
        "rater", "replicate"
    )
    reasons = tuple(dict.fromkeys(with_reason.select("rater", "reason").iter_rows()))
    return Extreme(
        facts=view.facts(metric),
        raters=group,
        end=end,
        transcript=row["transcript_id"],
        system=row["system"],
        value=row["value"],
        shared=rows.height,
        reasons=reasons,
    )


def _turn_metrics(metric: str) -> tuple[str, ...]:
    """The metrics of turns that a metric of transcripts is made of."""
    from bedside.metrics import FAMILIES
    from bedside.scoring.plan import families_by_metric

    base = metric.partition(".")[0]
    owner = families_by_metric().get(base)
    return FAMILIES.load(owner).metric(base).turns if owner is not None else ()


def _ratings_by(view: RatingsView, transcript: str, group: str) -> pl.DataFrame:
    """What a group of raters said of a transcript."""
    return view.ratings.filter(pl.col("transcript_id") == transcript, view.rater_group() == group)


def _turns_rated(
    view: RatingsView, ratings: pl.DataFrame, metric: str, transcript: Transcript
) -> Iterator[Mark]:
    """The turns whose own ratings the score is made of: those with the highest values, or coded with something."""
    names = _turn_metrics(metric)
    of_its_turns = pl.col("metric").str.split(".").list.first().is_in(names)
    rows = ratings.filter(of_its_turns & pl.col("error").is_null()).with_columns(turn_indices().alias("turn"))
    role = metric.partition(".")[2]
    if role:
        # A measure of one role is made of that role's turns.
        rows = rows.filter(
            pl.col("turn").is_in([turn.index for turn in transcript.turns if turn.role == role])
        )
    numbers = rows.drop_nulls(["value", "turn"]).sort(["value", "turn"], descending=[True, False])
    labels = rows.drop_nulls(["label", "turn"]).filter(~pl.col("label").is_in(_NOTHING)).sort("turn", "rater")
    turns = labels["turn"].unique(maintain_order=True).head(MOST_MARKS)
    marked = pl.concat([numbers.head(MOST_PEAKS), labels.filter(pl.col("turn").is_in(turns.implode()))])
    for row in marked.iter_rows(named=True):
        what = row["label"] if row["label"] is not None else f"{row['value']:.2f}"
        title = view.facts(row["metric"]).title
        because = f" ({row['reason']})" if row["reason"] else ""
        yield Mark(row["turn"], f"{title}: {what}{because}")
        # The turn it was held against, as with two turns that contradict each other.
        for other in _turn_numbers(row["reason"] or ""):
            yield Mark(other, f"{title} of turn {row['turn']}: {what}")


def cited(reason: str, transcript: Transcript) -> Iterator[Mark]:
    """The turns that a reason names by number or quotes."""
    for number in _turn_numbers(reason):
        if number < len(transcript.turns):
            yield Mark(number, "named in the reason")
    for match in _QUOTES.finditer(reason):
        quote = next(filter(None, match.groups()))
        if len(quote.split()) < _QUOTE_WORDS:
            continue
        folded = _without_punctuation(quote)
        for turn in transcript.turns:
            if folded and folded in _without_punctuation(turn.text):
                yield Mark(turn.index, f"quoted: “{quote}”")


def _turn_numbers(reason: str) -> Iterator[int]:
    """The numbers of the turns that a reason names."""
    for match in _TURNS.finditer(reason):
        yield from map(int, re.findall(r"\d+", match[1]))


def _without_punctuation(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


@dataclass(frozen=True, slots=True)
class Review:
    """What the report shows of transcripts: the ends of each metric, and the transcripts with their marked turns.

    Attributes:
        extremes: as :func:`extremes` gives them.
        transcripts: those that are shown, by id; empty where the run keeps no text or none is wanted.
        marks: of each transcript, by turn: the metric with its end, and what is said.
        left_out: how many extreme transcripts are not shown, to keep the page small.
    """

    extremes: tuple[Extreme, ...]
    transcripts: Mapping[str, Transcript]
    marks: Mapping[str, Mapping[int, tuple[str, ...]]]
    left_out: int


def review(view: RatingsView, run: Run, *, text: bool = True, most_characters: int = 1_500_000) -> Review:
    """Gather what the report shows of transcripts.

    Args:
        view: the ratings.
        run: their run.
        text: whether to show what was said.
        most_characters: of turns, over all transcripts shown.
    """
    both_ends = extremes(view)
    if not text:
        return Review(tuple(_without_words(extreme) for extreme in both_ends), {}, {}, 0)
    transcripts: dict[str, Transcript] = {}
    left_out = 0
    if run.manifest["transcripts"]["text"]:
        room = most_characters
        names = dict.fromkeys(extreme.transcript for extreme in both_ends)
        by_name = {transcript.id: transcript for transcript in run.transcripts_named(names)}
        for name in names:
            transcript = by_name[name]
            size = sum(len(turn.text) for turn in transcript.turns)
            if size > room:
                left_out += 1
                continue
            room -= size
            transcripts[name] = transcript
    return Review(both_ends, transcripts, _marked_turns(view, both_ends, transcripts), left_out)


def _marked_turns(
    view: RatingsView, both_ends: Sequence[Extreme], transcripts: Mapping[str, Transcript]
) -> dict[str, dict[int, tuple[str, ...]]]:
    """What is said of the turns of each transcript, each sentence once."""
    marks: dict[str, dict[int, dict[str, None]]] = {}
    for extreme in both_ends:
        if extreme.transcript not in transcripts:
            continue
        transcript = transcripts[extreme.transcript]
        ratings = _ratings_by(view, extreme.transcript, extreme.raters)
        quoted = [mark for _, reason in extreme.reasons for mark in cited(reason, transcript)]
        for mark in (*_turns_rated(view, ratings, extreme.metric, transcript), *quoted):
            sentences = marks.setdefault(extreme.transcript, {}).setdefault(mark.turn, {})
            sentences[f"{_title(extreme)}: {mark.why}"] = None
    return {
        name: {turn: tuple(sentences) for turn, sentences in turns.items()} for name, turns in marks.items()
    }


def _title(extreme: Extreme) -> str:
    return f"{extreme.facts.title} ({rater_words(extreme.raters)}), {extreme.end}"


def _without_words(extreme: Extreme) -> Extreme:
    """The same without what may quote a transcript."""
    return replace(extreme, reasons=())


def turns_of(review_: Review, extreme: Extreme) -> Sequence[int]:
    """The marked turns of one extreme, in order."""
    title = f"{_title(extreme)}: "
    turns = review_.marks.get(extreme.transcript, {})
    return sorted(turn for turn, words in turns.items() if any(text.startswith(title) for text in words))
