"""Tables of judging: what it would take, what it took, and the judgements kept in a run."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import orjson
import polars as pl

from bedside.analysis.metric_facts import facts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.validation import self_agreement
from bedside.core.errors import DataError
from bedside.core.words import counted, typed
from bedside.judges.call_plan import RubricPlan
from bedside.judges.counts import JudgingSummary
from bedside.judges.deepeval_raters.ratings import ABOUT, AT_LEAST
from bedside.judges.llm.prices import list_date
from bedside.judges.prompt import unsent_lines
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.store import Judgement, read_judgements, read_prompt
from bedside.ratings.names import is_pair, judge_model, rated_by_judges, second_id
from bedside.ratings.run import Run
from bedside.reports.columns import Column, Part, Recorded, Table, parts_of, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import DASH, money
from bedside.scoring.judging_orders import STORE
from bedside.simulation.simulated_costs import total_cost

# -- What judging would take, and took ------------------------------------------------------------------

# Rows are about the numbers of one rubric, of a judge.


def _rubric_column(rubrics: Iterable[Rubric]) -> Column:
    """The title of the rubric that a row is about; ``rubrics`` has the user's own among those asked by."""
    own = {rubric.name: rubric for rubric in rubrics}
    return Column("Rubric", "left", value=lambda row: facts(row.part.rubric, own).title)


_TOKENS = (
    Column("Tokens in", value="part.input_tokens"),
    Column("Tokens out", value="part.output_tokens"),
    Column("Cost", value="part.cost", form=money),
)
PLAN_COLUMNS = (
    recorded(lambda row: asdict(row.part)),
    Column("Calls", value="part.calls"),
    Column("Kept already", value="part.stored"),
    Column("Can't be asked", value="part.not_askable"),
    *_TOKENS,
)


@note("judging plan.estimates")
def estimates(plans: Sequence[RubricPlan]) -> Iterator[str]:
    """What is asked in all, and what isn't known of it."""
    calls, tokens = sum(plan.calls for plan in plans), sum(plan.input_tokens for plan in plans)
    yield (
        f"{counted(calls, 'call')}, about {counted(tokens, 'token')} in; cost "
        f"{money(total_cost([plan.cost for plan in plans]))}. Tokens are "
        "estimates; replies asked for again come on top, and the reasoning of models that reason."
    )
    if any(plan.cost for plan in plans):
        yield f"Prices that --price doesn't give are of {list_date()}."
    for ending, words in (
        (AT_LEAST, "At least: the more is replied, the more such a metric asks. These are the fewest calls."),
        (ABOUT, "About: how much a graph asks hangs on the way that the replies take through it."),
    ):
        if any(plan.rubric.endswith(ending) for plan in plans):
            yield words


@note("judging plan.under way")
def under_way(plans: Sequence[RubricPlan]) -> Iterator[str]:
    """Which calls wait for a batch, judge by judge, and what becomes of them."""
    for judge in dict.fromkeys(plan.judge for plan in plans if plan.under_way):
        calls = sum(plan.calls for plan in plans if plan.judge == judge)
        waiting = sum(plan.under_way for plan in plans if plan.judge == judge)
        yield (
            f"Under way in a batch at the provider: {waiting:,} of {counted(calls, 'call')} of "
            f"{judge_model(judge)}. --batch doesn't send them again; without it they are paid twice."
        )


def plan_table(plans: Sequence[RubricPlan], rubrics: Iterable[Rubric] = (), endpoints: Iterable[str] = ()) -> Table:
    """What judging would send, rubric by rubric.

    Args:
        plans: what would be sent.
        rubrics: those asked by, the user's own among them.
        endpoints: lines on where judges are served and the like, for the notes.
    """
    return table_of("judging_plan", "What would be asked (nothing was)", [Part(plan.judge, plan) for plan in plans],
                    (_rubric_column(rubrics), *PLAN_COLUMNS), group=lambda row: row.whole,
                    notes=(*noted((under_way, estimates), plans), *endpoints))  # fmt: skip


#: Why judgements are missing, and what a note says of each reason; what isn't asked says its reasons itself.
_MISSING = {
    "unusable": ("reply", "that could not be used"),
    "cut": ("", "of these cut off at the limit of tokens: with a larger --max-tokens, no others are asked again"),
    "refused": ("", "refused by the judge"),
    "filtered": ("", "stopped by the provider's content filter"),
    "failed": ("request", "that failed"),
    "not_asked": ("", ""),
    "not_askable": ("", "not askable, for want of an input or for length"),
}


JUDGED_COLUMNS = (
    recorded(lambda row: {"judge": row.whole.rater, **asdict(row.part)}),
    Column("Judgements", value="part.judgements"),
    Column("Kept from before", value="part.stored"),
    Column("Calls", value="part.calls"),
    Column("Missing", value=lambda row: sum(getattr(row.part, reason) for reason in _MISSING if reason != "cut")),
    *_TOKENS,
)


@note("judged.missing", "Missing")
def missing(judged: Sequence[JudgingSummary]) -> Iterator[str]:
    """Why judgements are missing, and what models didn't take."""
    counts = [count for summary in judged for count in summary.rubrics]
    for reason, (noun, words) in _MISSING.items():
        total = sum(getattr(count, reason) for count in counts)
        if total and words:
            yield f"{counted(total, noun) if noun else f'{total:,}'} {words}."
    for why, number in sum((Counter(count.unasked) for count in counts), Counter[str]()).most_common(3):
        yield f"{number:,} {why if why.startswith('not ') else f'not answered yet: {why}'}."
    yield from unsent_lines((summary.rater, summary.parameters) for summary in judged)


@note("judged.tokens", "Tokens in", "Tokens out")
def token_words(judged: Sequence[JudgingSummary]) -> Iterator[str]:
    """What is said of tokens of reasoning, and of those that a provider had in its cache."""
    counts = [count for summary in judged for count in summary.rubrics]
    reasoning = sum(count.reasoning_tokens for count in counts)
    if reasoning:
        yield f"Of the tokens out, {reasoning:,} are of reasoning before the replies."
    cached = sum(count.cached_tokens for count in counts)
    if cached:
        yield (
            f"Of the tokens in, {cached:,} were in the provider's cache; they count at its lower price where that is "
            "known (--price cached=N)."
        )


def judged_table(judged: Sequence[JudgingSummary], rubrics: Iterable[Rubric] = (), lines: Iterable[str] = ()) -> Table:
    """What judging took, rubric by rubric.

    Args:
        judged: what each judge did.
        rubrics: those asked by, the user's own among them.
        lines: on what was judged, for the notes.
    """
    said = (*lines, *noted((missing, token_words), judged))
    return table_of("judged", "Judgements", parts_of(judged, "rubrics"), (_rubric_column(rubrics), *JUDGED_COLUMNS),
                    group=lambda row: row.whole.rater, notes=said)  # fmt: skip


# -- The judgements of a run ----------------------------------------------------------------------------


def _answer(judgement: Judgement) -> str:
    """The answer, or why there is none, cut short."""
    answer = DASH if judgement.answer is None else orjson.dumps(judgement.answer).decode()
    shown = judgement.error or answer
    return shown if len(shown) <= 60 else shown[:59] + "…"


JUDGEMENT_COLUMNS = (
    Column("Key", "left", field="key", form=lambda key: key[:10]),
    recorded("model"),
    Column("Transcript", "left", field="transcript"),
    Column("Unit", "left", field="unit"),
    Column("Rubric", "left", field="rubric"),
    recorded("version"),
    Column("Pass", "left", field="pass", value="number", form=str),
    Column("State", "left", field="state"),
    Column("Answer", "left", text=_answer),
    recorded("answer", "error", "calls", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens",
             not_taken=lambda judgement: list(judgement.unsent),
             served=lambda judgement: judgement.served and judgement.served.version, cost="cost", finished="finished"),
)  # fmt: skip


def judgements_table(
    path: Path, *, rubric: str | None = None, transcript: str | None = None, state: str | None = None
) -> Table:
    """The judgements of a run that match."""
    shown = [
        judgement
        for judgement in read_judgements(Run(path).path / STORE)
        if rubric in (None, judgement.rubric)
        and transcript in (None, judgement.transcript, second_id(judgement.unit) if is_pair(judgement.unit) else None)
        and state in (None, judgement.state)
    ]
    return table_of("judgements", f"{len(shown):,} judgements", shown, JUDGEMENT_COLUMNS,
                    notes=(f"See one whole: bedside judge answers show {typed(path)} KEY.",))  # fmt: skip


def _two_decimals(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


#: Of entries that are recorded as they are.
PASS_COLUMNS: tuple[Column | Recorded, ...] = (
    recorded(lambda row: row.part),
    Column("Rubric", "left", value="whole"),
    Column("Units", value=lambda row: row.part["units"]),
    Column("Passes", value=lambda row: row.part["passes"], form=str),
    *(
        Column(title, value=lambda row, name=name: row.part[name], form=_two_decimals)  # type: ignore[misc]
        for title, name in (("Mean", "mean"), ("Median", "median"), ("Mode", "mode"), ("Spread", "spread"),
                            ("Unanimous", "unanimous"), ("α", "alpha"))
    ),
)  # fmt: skip
PASSES_MEANING = Note(
    "passes.meaning",
    "Of units with two passes or more. Mean, median and mode: of each unit's passes, then the mean over units. "
    "Units without a single most frequent level are left out of the mode. Spread: standard deviation of a "
    "unit's passes, the mean over units. Unanimous: share of the units whose passes are all alike. α: "
    "Krippendorff's alpha of the passes as if each were a rater.",
)


def passes_table(view: RatingsView) -> Table:
    """What the passes of judges come to, aggregated in three ways, how far they spread, and how far they agree.

    Each unit's passes are aggregated first (mean, median, or the most frequent), then the mean over units is taken.

    Raises:
        DataError: no judge was asked more than once.
    """
    ratings = view.ratings.filter(rated_by_judges())
    rows = [
        Part(
            view.facts(metric).title,
            {"metric": metric, "rater": rater, **_passes(passes),
             "alpha": self_agreement(passes, view, metric, 0).estimate},
        )
        for metric in view.metrics()
        for (rater,), passes in ratings.filter(metric=metric).group_by("rater", maintain_order=True)
        if passes["replicate"].n_unique() > 1
    ]  # fmt: skip
    if not rows:
        raise DataError(
            "no judge was asked more than once",
            where=view.name,
            todo="ask several times: bedside score FILES --judge MODEL --passes 3 --out RUN",
        )
    return table_of("passes", "Passes of judges", rows, PASS_COLUMNS, group=lambda row: str(row.part["rater"]),
                    notes=(PASSES_MEANING,))  # fmt: skip


def _passes(ratings: pl.DataFrame) -> dict[str, int | float | None]:
    """Of one rater's ratings of one metric: units, passes and what these come to."""
    labels = bool(ratings["label"].is_not_null().any())
    column = pl.col("label" if labels else "value")
    units = (
        ratings.filter(column.is_not_null())
        .group_by("transcript_id", "unit", maintain_order=True)
        .agg(column.alias("given"))
        .filter(pl.col("given").list.len() > 1)["given"]
        .to_list()
    )
    summary: dict[str, int | float | None] = {
        "units": len(units), "passes": ratings["replicate"].n_unique(),
        **dict.fromkeys(("mean", "median", "mode", "spread", "unanimous")),
    }  # fmt: skip
    if units:
        summary["unanimous"] = statistics.fmean(len(set(values)) == 1 for values in units)
    if units and not labels:
        modes = [multiple[0] for values in units if len(multiple := statistics.multimode(values)) == 1]
        summary["mean"] = statistics.fmean(map(statistics.fmean, units))
        summary["median"] = statistics.fmean(map(statistics.median, units))
        summary["mode"] = statistics.fmean(modes) if modes else None
        summary["spread"] = statistics.fmean(map(statistics.stdev, units))
    return summary


def judgement_text(path: Path, key: str) -> str:
    """One judgement with its prompt and raw replies.

    Raises:
        DataError: no judgement, or more than one, has a key that begins so.
    """
    store = Run(path).path / STORE
    matches = [judgement for judgement in read_judgements(store) if judgement.key.startswith(key.lower())]
    if len(matches) != 1:
        what = "no judgement has" if not matches else f"{len(matches)} judgements have"
        raise DataError(f"{what} a key that begins {key!r}", where=str(path), todo="see bedside judge answers list")
    judgement = matches[0]
    prompt = read_prompt(store, judgement.prompt)
    facts_of = [
        ("Key", judgement.key),
        ("Model", judgement.model),
        ("Version that replied", judgement.served and judgement.served.version),
        ("Parameters", judgement.parameters),
        ("Transcript", judgement.transcript),
        ("Unit", judgement.unit),
        ("Rubric", f"{judgement.rubric} ({judgement.version})"),
        ("Pass", str(judgement.number)),
        ("State", judgement.state),
        ("Error", judgement.error),
        ("Calls", str(judgement.calls)),
        ("Faults", "; ".join(judgement.faults)),
        ("Not taken by the model", ", ".join(judgement.unsent)),
        ("Tokens", f"{judgement.input_tokens} in, {judgement.output_tokens} out"),
        ("Tokens of reasoning", judgement.reasoning_tokens),
        ("Tokens in the provider's cache", judgement.cached_tokens),
        ("Finished", judgement.finished),
        ("Endpoint", judgement.endpoint),
    ]  # fmt: skip
    lines = [f"{what}: {value}" for what, value in facts_of if value]
    answer = (
        orjson.dumps(judgement.answer, option=orjson.OPT_INDENT_2).decode() if judgement.answer is not None else "none"
    )
    lines += ["", "--- what was asked", prompt if prompt is not None else "(not kept: the run keeps no text)"]
    for number, reply in enumerate(judgement.replies, 1):
        lines += ["", f"--- reply {number}", reply]
    return "\n".join([*lines, "", "--- what was made of it", answer])
