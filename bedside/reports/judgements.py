"""Tables of judging: what it would take, what it took, and the judgements kept in a run."""

from __future__ import annotations

import statistics
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
from bedside.judges.prompt import unsent_lines
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.store import Judgement, read_judgements, read_prompt
from bedside.ratings.names import is_pair, rated_by_judges, second_id
from bedside.ratings.run import Run
from bedside.reports.number_text import DASH, money
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.scoring.judging_orders import STORE


def plan_table(plans: Sequence[RubricPlan], rubrics: Iterable[Rubric] = (), endpoints: Iterable[str] = ()) -> Table:
    """What judging would send, rubric by rubric.

    Args:
        plans: what would be sent.
        rubrics: those asked by, the user's own among them.
        endpoints: lines on where judges are served and the like, for the notes.
    """
    rubrics_by_name = {rubric.name: rubric for rubric in rubrics}
    rows = [
        Row(
            tuple(
                map(
                    Cell,
                    (
                        facts(plan.rubric, rubrics_by_name).title,
                        f"{plan.calls:,}", f"{plan.stored:,}", f"{plan.not_askable:,}",
                        f"{plan.input_tokens:,}", f"{plan.output_tokens:,}", money(plan.cost),
                    ),
                )
            ),
            plan.judge,
        )
        for plan in plans
    ]  # fmt: skip
    calls, tokens = sum(plan.calls for plan in plans), sum(plan.input_tokens for plan in plans)
    costs = [plan.cost for plan in plans]
    total = None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)
    return Table(
        name="judging_plan",
        title="What would be asked (nothing was)",
        columns=(
            Column("Rubric", "left"), Column("Calls"), Column("Kept already"), Column("Can't be asked"),
            Column("Tokens in"), Column("Tokens out"), Column("Cost"),
        ),
        rows=tuple(rows),
        notes=(
            f"{counted(calls, 'call')}, about {counted(tokens, 'token')} in; cost {money(total)}. Tokens are "
            "estimates; replies asked for again come on top, and the reasoning of models that reason.",
            *_hanging(plans),
            *endpoints,
        ),
        records=tuple(asdict(plan) for plan in plans),
    )  # fmt: skip


def _hanging(plans: Sequence[RubricPlan]) -> list[str]:
    """A note on metrics that may ask more than is planned."""
    notes = {
        AT_LEAST: "At least: the more is replied, the more such a metric asks. These are the fewest calls.",
        ABOUT: "About: how much a graph asks hangs on the way that the replies take through it.",
    }
    return [note for ending, note in notes.items() if any(plan.rubric.endswith(ending) for plan in plans)]


def judged_table(judged: Sequence[JudgingSummary], rubrics: Iterable[Rubric] = (), lines: Iterable[str] = ()) -> Table:
    """What judging took, rubric by rubric.

    Args:
        judged: what each judge did.
        rubrics: those asked by, the user's own among them.
        lines: on what was judged, for the notes.
    """
    rubrics_by_name = {rubric.name: rubric for rubric in rubrics}
    rows, records = [], []
    for asked_judge in judged:
        for count in asked_judge.rubrics:
            missing = count.unusable + count.refused + count.filtered + count.failed
            missing += count.not_asked + count.not_askable
            cells = (
                facts(count.rubric, rubrics_by_name).title,
                f"{count.judgements:,}", f"{count.stored:,}", f"{count.calls:,}",
                f"{missing:,}", f"{count.input_tokens:,}", f"{count.output_tokens:,}", money(count.cost),
            )  # fmt: skip
            rows.append(Row(tuple(map(Cell, cells)), asked_judge.rater))
            records.append({"judge": asked_judge.rater, **asdict(count)})
    notes = []
    for name, words in (
        ("unusable", "replies that could not be used, after asking again"),
        (
            "cut",
            "of these were cut off at the limit of tokens: with a larger --max-tokens, only they are asked again",
        ),
        ("refused", "refused by the judge"),
        ("filtered", "stopped by the provider's content filter"),
        ("failed", "requests that failed"),
        (
            "not_asked",
            "not answered yet: --max-calls or --max-cost was reached, they wait for a batch, or nobody was asked",
        ),
        ("not_askable", "not askable, for want of an input or for length"),
    ):
        total = sum(int(str(record[name])) for record in records)
        if total:
            notes.append(f"{total:,} {words}.")
    notes += unsent_lines((asked_judge.rater, asked_judge.parameters) for asked_judge in judged)
    notes += _token_notes(judged)
    return Table(
        name="judged",
        title="Judgements",
        columns=(
            Column("Rubric", "left"), Column("Judgements"), Column("Kept from before"), Column("Calls"),
            Column("Missing"), Column("Tokens in"), Column("Tokens out"), Column("Cost"),
        ),
        rows=tuple(rows),
        notes=(*lines, *notes),
        records=tuple(records),
    )  # fmt: skip


def _token_notes(judged: Sequence[JudgingSummary]) -> Iterator[str]:
    """What is said of tokens of reasoning, and of those that a provider had in its cache."""
    counts = [count for summary in judged for count in summary.rubrics]
    reasoning = sum(count.reasoning_tokens for count in counts)
    if reasoning:
        yield f"Of the tokens out, {reasoning:,} are of reasoning before the replies."
    cached = sum(count.cached_tokens for count in counts)
    if cached:
        yield (
            f"Of the tokens in, {cached:,} were in the provider's cache; they cost as the others do unless --price "
            "says what they cost (cached=N)."
        )


def judgements_table(
    path: Path, *, rubric: str | None = None, transcript: str | None = None, state: str | None = None
) -> Table:
    """The judgements of a run that match."""
    store = Run(path).path / STORE
    rows, records = [], []
    for judgement in read_judgements(store):
        if (
            rubric not in (None, judgement.rubric)
            or transcript not in (None, judgement.transcript, _second(judgement))
            or state not in (None, judgement.state)
        ):
            continue
        answer = DASH if judgement.answer is None else orjson.dumps(judgement.answer).decode()
        shown = judgement.error or answer
        cells = (
            judgement.key[:10], judgement.transcript, judgement.unit, judgement.rubric, str(judgement.number),
            judgement.state, shown if len(shown) <= 60 else shown[:59] + "…",
        )  # fmt: skip
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "key": judgement.key, "model": judgement.model, "transcript": judgement.transcript,
                "unit": judgement.unit, "rubric": judgement.rubric, "version": judgement.version,
                "pass": judgement.number, "state": judgement.state, "answer": judgement.answer,
                "error": judgement.error, "calls": judgement.calls, "input_tokens": judgement.input_tokens,
                "output_tokens": judgement.output_tokens, "cached_tokens": judgement.cached_tokens,
                "reasoning_tokens": judgement.reasoning_tokens, "not_taken": list(judgement.unsent),
                "cost": judgement.cost, "finished": judgement.finished,
            }
        )  # fmt: skip
    return Table(
        name="judgements",
        title=f"{len(rows):,} judgements",
        columns=tuple(
            Column(title, "left") for title in ("Key", "Transcript", "Unit", "Rubric", "Pass", "State", "Answer")
        ),
        rows=tuple(rows),
        notes=(f"See one whole: bedside judgements show {typed(path)} KEY.",),
        records=tuple(records),
    )


def _second(judgement: Judgement) -> str | None:
    """The transcript that a judgement's is compared with; None where it stands alone."""
    return second_id(judgement.unit) if is_pair(judgement.unit) else None


def passes_table(view: RatingsView) -> Table:
    """What the passes of judges come to, aggregated in three ways, how far they spread, and how far they agree.

    Each unit's passes are aggregated first (mean, median, or the most frequent), then the mean over units is taken.

    Raises:
        DataError: no judge was asked more than once.
    """
    rows, records = [], []
    ratings = view.ratings.filter(rated_by_judges())
    for metric in view.metrics():
        for (rater,), passes in ratings.filter(metric=metric).group_by("rater", maintain_order=True):
            if passes["replicate"].n_unique() < 2:
                continue
            summary = _passes(passes)
            alpha = self_agreement(passes, view, metric, 0)
            record = {"metric": metric, "rater": rater, **summary, "alpha": alpha.estimate}
            cells = [view.facts(metric).title, f"{summary['units']:,}", str(summary["passes"])]
            cells += [
                DASH if (value := record[key]) is None else f"{value:.2f}"
                for key in ("mean", "median", "mode", "spread", "unanimous", "alpha")
            ]
            rows.append(Row(tuple(map(Cell, cells)), str(rater)))
            records.append(record)
    if not rows:
        raise DataError(
            "no judge was asked more than once",
            where=view.name,
            todo="ask several times: bedside score FILES --judge MODEL --passes 3 --out RUN",
        )
    titles = ("Units", "Passes", "Mean", "Median", "Mode", "Spread", "Unanimous", "α")
    return Table(
        name="passes",
        title="Passes of judges",
        columns=(Column("Rubric", "left"), *map(Column, titles)),
        rows=tuple(rows),
        notes=(
            "Of units with two passes or more. Mean, median and mode: of each unit's passes, then the mean over units; "
            "units without a single most frequent level are left out of the mode. Spread: standard deviation of a "
            "unit's passes, the mean over units. Unanimous: share of the units whose passes are all alike. α: "
            "Krippendorff's alpha of the passes as if each were a rater.",
        ),
        records=tuple(records),
    )


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
        raise DataError(f"{what} a key that begins {key!r}", where=str(path), todo="see bedside judgements list")
    judgement = matches[0]
    prompt = read_prompt(store, judgement.prompt)
    facts_of = [
        ("Key", judgement.key),
        ("Model", judgement.model),
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
