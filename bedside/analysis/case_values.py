"""One value for each case of a system: the mean over the case's transcripts, with how many stand behind it.

Cases are what a study draws; transcripts, repeats, passes and raters of a case are not independent of one another. So
whatever tests, resamples or gives an interval starts from these values. A transcript without a case is a case of its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

#: Begins the name of a case that is one transcript's own; no case is called so by a person.
_OWN = "\0"


@dataclass(frozen=True, slots=True)
class CaseValues:
    """The values of one system on one metric under one group of raters, one for each case.

    Attributes:
        cases: names of the cases that have a value, sorted; transcripts without a case have names of their own, which
            no other transcript shares.
        values: for each case the mean of its transcripts' values, in the metric's unit.
        transcripts: for each case the number of transcripts with a value.
        missing: transcripts without a value, whether or not their case has another.
        missing_cases: cases without any value.
    """

    cases: tuple[str, ...]
    values: npt.NDArray[np.float64]
    transcripts: npt.NDArray[np.int64]
    missing: int = 0
    missing_cases: int = 0

    @property
    def n(self) -> int:
        """Cases with a value."""
        return len(self.cases)

    @property
    def n_transcripts(self) -> int:
        """Transcripts with a value."""
        return int(self.transcripts.sum())

    @property
    def n_caseless(self) -> int:
        """Transcripts that name no case, each of which counts as one."""
        return sum(case.startswith(_OWN) for case in self.cases)

    @property
    def is_single(self) -> bool:
        """Whether each case has one transcript, so that nothing was averaged over transcripts."""
        return self.n_transcripts == self.n

    def of(self, cases: tuple[str, ...]) -> CaseValues:
        """The values of these cases, in their order.

        Args:
            cases: names among :attr:`cases`.
        """
        places = {case: place for place, case in enumerate(self.cases)}
        taken = np.array([places[case] for case in cases], dtype=np.intp)
        return CaseValues(cases, self.values[taken], self.transcripts[taken], self.missing, self.missing_cases)


def most_cases_pair(shared: int, cases: Iterable[int]) -> bool:
    """Whether systems are compared on the cases they share alone: more than half of the cases of the smallest.

    Args:
        shared: cases that all of them have.
        cases: how many each has.
    """
    return 2 * shared > min(cases)


def mean_in_group(value: str | pl.Expr) -> pl.Expr:
    """The mean of a column or expression in each group, the same to the last digit in every call.

    Polars adds a group's parts in the order in which its threads finish; here values are added in order of size.
    """
    column = pl.col(value) if isinstance(value, str) else value
    return column.implode().list.sort().list.mean()


def means_within(values: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The mean of these metrics within each transcript, by group of raters; missing where one has no value.

    The values are as :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values` gives them.
    """
    whole = (pl.col("value").is_not_null().sum() == len(metrics)) & (pl.len() == len(metrics))
    return (
        values.filter(pl.col("metric").is_in(list(metrics)))
        .group_by("transcript_id", "system", "case_id", "group", maintain_order=True)
        .agg(
            pl.when(whole).then(mean_in_group("value")).alias("value"),
            pl.when(~whole)
            .then(pl.col("error").drop_nulls().first().fill_null("not all of its parts are there"))
            .alias("error"),
        )
    )


def own_case() -> pl.Expr:
    """The case of each row, as column ``case``; of a transcript without one a name that no case or transcript shares.

    It takes the columns ``case_id`` and ``transcript_id``.
    """
    return pl.coalesce("case_id", pl.lit(_OWN) + pl.col("transcript_id")).alias("case")


def case_means(values: pl.DataFrame) -> pl.DataFrame:
    """One row for each system, case, metric and group of raters.

    Args:
        values: as :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values` gives them, or some of its rows.

    Returns:
        Columns ``system, case, metric, group, value, transcripts, missing``, sorted by all but the last three.
        ``value`` is the mean of the case's transcripts that have one, null where none has; ``transcripts`` and
        ``missing`` count those with and without a value. ``case`` is the name of the case; a transcript without one
        has a name that no other shares.
    """
    return (
        values.lazy()
        .with_columns(own_case())
        .group_by("system", "case", "metric", "group", maintain_order=True)
        .agg(
            mean_in_group("value"),
            pl.col("value").count().cast(pl.Int64).alias("transcripts"),
            pl.col("value").null_count().cast(pl.Int64).alias("missing"),
        )
        .sort("system", "case", "metric", "group")
        .collect()
    )


def case_values(values: pl.DataFrame, system: str | None) -> CaseValues:
    """The values of one system by case.

    Args:
        values: transcripts' values of one metric under one group of raters, in the columns of
            :meth:`~bedside.analysis.ratings_view.RatingsView.transcript_values`.
        system: the system; None for transcripts that name none.
    """
    means = case_means(values.filter(pl.col("system").eq_missing(pl.lit(system))))
    present = means.drop_nulls("value")
    return CaseValues(
        cases=tuple(present["case"]),
        values=present["value"].to_numpy().astype(np.float64),
        transcripts=present["transcripts"].to_numpy().astype(np.int64),
        missing=int(means["missing"].sum()),
        missing_cases=means.height - present.height,
    )
