"""Means and differences of systems from a judge on everything, corrected by people on the sample they rated."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from bedside.analysis.averaging import matched_rows, planned_cases
from bedside.analysis.case_values import own_case
from bedside.analysis.choices import ESTIMATE_ABOUT, ESTIMATE_METHODS, EstimateAbout, EstimateMethod, check_at_looks
from bedside.analysis.fresh_view import fresh_view_of
from bedside.analysis.label_numbers import at_level
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.plan_draws import MERGED_RUN, cell_levels, drawn_by, drawn_rounds, misdrawn_rounds
from bedside.analysis.rater_effects import RaterDesign, rater_design
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.analysis.selection import by_raters, chosen_systems
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.ratings.names import TRANSCRIPT, rated_by_humans
from bedside.ratings.run import Run
from bedside.stats.result import Result
from bedside.stats.sampling_cells import FEWEST_CASES, Levels, sampling_cells
from bedside.stats.stratified_means import JudgedUnits, Ratings, judged_units

# -- The transcripts that a judge rated -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PeopleSample:
    """A system's transcripts on one metric.

    Attributes:
        units: those that the judge rated, with people's ratings of those they rated and the cells they were drawn by.
        by: the factors that divide the cells, beside the system.
        cells: how many of the cells the transcripts are in, before any were joined.
        joined: the levels of cells that were joined because people rated fewer than two cases of one.
        picked: transcripts that people rated and that were left out, because they were picked for what they are.
        assumed: in a file of ratings, transcripts that people rated of which it isn't said with what chance they were
            drawn; 0 where they rated all.
        unjudged: transcripts that people rated and the judge didn't.
        adjudicated: transcripts that people and the judge rated whose final label stands in place of people's mean.
        undrawn: why what people rated is no random sample; None where it is one, or they rated all.
        unsampled: of a merged run, those runs of whose transcripts people rated fewer than two cases: what they rated
            of the others' says nothing of them.
    """

    units: JudgedUnits
    by: tuple[str, ...]
    cells: int
    joined: tuple[tuple[Levels, ...], ...]
    picked: int
    assumed: int
    unjudged: int
    adjudicated: int
    undrawn: str | None = None
    unsampled: tuple[str, ...] = ()

    @property
    def labelled(self) -> int:
        """Transcripts that people and the judge rated."""
        return int(self.units.labelled.sum())

    @property
    def labelled_cases(self) -> frozenset[str]:
        """The cases of those."""
        return frozenset(self.units.cases[self.units.labelled].tolist())

    @property
    def has_repeated_cases(self) -> bool:
        """Whether a case has several transcripts that the judge rated."""
        return bool(np.unique(self.units.cases).size < self.units.cases.size)


def is_share(view: RatingsView, metric: str, judge: str) -> bool:
    """Whether a metric is of zeros and ones: its scale has no other level, and nobody gave another value."""
    scale = view.scales.get(metric)
    if scale is not None and not set(scale.levels) <= {0.0, 1.0}:
        return False
    rated = view.ratings.filter(
        pl.col("metric") == metric, pl.col("unit") == TRANSCRIPT, rated_by_humans() | (pl.col("rater") == judge)
    )
    final = view.final.filter(pl.col("metric") == metric, pl.col("unit") == TRANSCRIPT)
    values = pl.concat([rated["value"], final["value"]]).drop_nulls()
    return bool(values.is_in([0.0, 1.0]).all())


def people_samples(view: RatingsView, metric: str, judge: str, systems: Sequence[str]) -> dict[str, PeopleSample]:
    """The transcripts of each system on one metric; none where people or the judge rated nothing by it.

    Ratings of transcripts that were picked for what they are (with chance 0) are left out: they are no random sample.
    """
    rated = view.ratings.filter(pl.col("metric") == metric, pl.col("unit") == TRANSCRIPT)
    of_people = rated.filter(rated_by_humans(), pl.col("value").is_not_null())
    if of_people.is_empty() or rated.filter(pl.col("rater") == judge)["value"].drop_nulls().is_empty():
        return {}
    rounds = of_people["round"].unique().to_list()
    by = drawn_by(view.run, rounds)
    levels = cell_levels(view.run, by, rounds)
    drawn = _drawn(view.run, of_people)
    settled = pl.col("transcript_id").is_in([name for name, unit in view.final_labels(metric) if unit == TRANSCRIPT])
    values = (
        _values(view, metric, judge)
        .join(drawn, on="transcript_id", how="left")
        .with_columns((settled & pl.col("human").is_not_null()).alias("settled"))
    )
    return {
        system: _sample(values.filter(pl.col("system") == system), by=by, levels=levels, in_run=view.run is not None)
        for system in systems
    }


def _drawn(run: Run | None, of_people: pl.DataFrame) -> pl.DataFrame:
    """Of each transcript that people rated, how that came to be.

    Columns: whether it was ``picked``; ``unknown``, the round in which it was rated where nothing says that it was
    drawn; ``chance`` with which it was drawn by no known plan; ``misdrawn``, the plan whose chances are wrong.
    """
    misdrawn = {} if run is None else misdrawn_rounds(run)
    planned = pl.col("round").is_in([] if run is None else list(drawn_rounds(run)))
    picked = (pl.col("drawn") == 0).fill_null(False)
    stated = (pl.col("drawn") > 0).fill_null(False)
    drawn = (stated | (planned & ~picked)).any()
    plans = pl.col("round").replace_strict(misdrawn, default=None, return_dtype=pl.String())
    return of_people.group_by("transcript_id").agg(
        picked.all().alias("picked"),
        pl.when(~drawn).then(pl.col("round").filter(~picked).first()).alias("unknown"),
        pl.col("drawn").filter(stated & ~planned).first().alias("chance"),
        plans.drop_nulls().first().alias("misdrawn"),
    )


def _why_undrawn(judged: pl.DataFrame, in_run: bool) -> str | None:
    """Why what people rated of a system is no random sample with known strata; None where it is, or all was rated.

    Args:
        judged: what the judge rated, as :func:`_values` has it beside :func:`_drawn`, with the ``cell`` of each.
        in_run: whether it is known by which plans people rated.
    """
    rated = judged.filter(pl.col("human").is_not_null())
    if rated.height == judged.height:
        return None
    rounds, plans = (rated[name].drop_nulls().unique().sort() for name in ("unknown", "misdrawn"))
    if plans.len():
        return (
            f"plan {' and '.join(plans)} drew the transcripts of a case together, and so those of a case of many "
            "systems more rarely than it states: draw another sample"
        )
    if in_run and rounds.len():
        names = " and ".join(f"round {name}" if name else "a round without a name" for name in rounds)
        return (
            f"no draw is known for these ratings: no plan of the run drew what people rated in {names}. Import them "
            "again with their plan, or with a column drawn that says each one's chance"
        )
    if (rated.drop_nulls("chance").group_by("cell").agg(pl.col("chance").n_unique())["chance"] > 1).any():
        return "the chances stated for these ratings differ, and by which strata they were drawn is not known"
    return None


def _values(view: RatingsView, metric: str, judge: str) -> pl.DataFrame:
    """A row a transcript: the judge's value and people's, of those of their ratings that were not picked."""
    picked = rated_by_humans() & (pl.col("drawn") == 0).fill_null(False)
    everything = view.transcript_values([metric]).with_columns(pl.col("system").fill_null(ALL))
    drawn = replace(view, ratings=view.ratings.filter(~picked))
    people = drawn.transcript_values([metric]).filter(pl.col("group") == PEOPLE)
    columns = ("transcript_id", "system", "case_id")
    judged = everything.filter(pl.col("group") == judge).select("transcript_id", pl.col("value").alias("judge"))
    return (
        everything.select(columns)
        .unique(maintain_order=True)
        .join(judged, on="transcript_id", how="left")
        .join(people.select("transcript_id", pl.col("value").alias("human")), on="transcript_id", how="left")
        .with_columns(own_case())
        .sort("transcript_id")
    )


def _sample(values: pl.DataFrame, *, by: tuple[str, ...], levels: dict[str, Levels], in_run: bool) -> PeopleSample:
    judged = values.filter(pl.col("judge").is_not_null())
    human = judged["human"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    cases = judged["case"].to_numpy().astype(str)
    judge = judged["judge"].to_numpy().astype(np.float64)
    own = [levels.get(name, ()) for name in judged["transcript_id"]]
    labelled = ~np.isnan(human)
    # No cell is joined with one of another merged run: what people rated there is no sample of it.
    parts = np.array([level[0] if by[:1] == (MERGED_RUN,) else "" for level in own], dtype=str)
    numbers, joined = np.zeros(len(own), dtype=np.intp), list[tuple[Levels, ...]]()
    unsampled, following = [], 0
    for part in sorted(set(parts.tolist())):
        inside = np.flatnonzero(parts == part)
        cells = sampling_cells([own[place] for place in inside], judge[inside], labelled[inside], cases[inside])
        numbers[inside] = cells.numbers + following
        following += int(cells.numbers.max()) + 1
        joined += cells.joined
        if part and np.unique(cases[inside][labelled[inside]]).size < FEWEST_CASES:
            unsampled.append(part)
    picked = pl.col("picked").fill_null(False)
    return PeopleSample(
        units=judged_units(judge, human, cells=numbers, cases=cases), by=by, cells=len(set(own)),
        joined=tuple(joined), picked=values.filter(picked).height,
        assumed=0 if in_run or labelled.all() else judged["unknown"].count(),
        unjudged=values.filter(pl.col("judge").is_null(), pl.col("human").is_not_null()).height,
        adjudicated=judged.filter("settled").height,
        undrawn=_why_undrawn(judged.with_columns(pl.Series("cell", numbers)), in_run), unsampled=tuple(unsampled),
    )  # fmt: skip


# -- Means and differences of systems from a judge on everything ----------------------------------------

#: With fewer cases rated by people, nothing is corrected: the judge's error can't be told from chance.
FEWEST_LABELLED = 10
#: Whose ratings the naive, the human and the corrected figure are of.
_WHOSE: tuple[Ratings, Ratings, Ratings] = ("judge", "people", "both")


@dataclass(frozen=True, slots=True)
class Estimate(MetricRatings):
    """One quantity in three ways, so that the corrected one is never taken for the naive one.

    Attributes:
        facts, judge: what was rated, and by which judge (or algorithm).
        quantity: a system's name, or ``A − B`` for a difference.
        systems: the system, or the two.
        about: what it is about: cases like these (``cases``), or this run's transcripts alone (``run``).
        samples: the transcripts of the system; of both systems for a difference, none where people rated none of them.
        labelled: transcripts that people and the judge rated.
        labelled_cases: cases of those.
        judged: transcripts that the judge rated.
        of: transcripts that are there, rated or not.
        learnt: transcripts left out because the judge learnt from people's ratings of them or of their cases.
        matched_by: the factors that the systems of a difference are matched by, where that leaves transcripts out.
        unmatched: the transcripts that are left out of a difference, as the other system has no counterpart to them.
        naive: from the judge's ratings alone, as if the judge made no error.
        human: from people's ratings of the sample alone, weighted as it was drawn.
        people: of a difference, who rated the two systems; None of a mean, and where no person rated both.
        corrected: prediction-powered (or Rogan–Gladen where asked for), unbiased where the sample is random by cell.
    """

    judge: str
    quantity: str
    systems: tuple[str, ...]
    about: EstimateAbout
    samples: tuple[PeopleSample, ...]
    labelled: int
    labelled_cases: int
    judged: int
    of: int
    learnt: int
    naive: Result
    human: Result
    corrected: Result
    matched_by: tuple[str, ...] = ()
    unmatched: int = 0
    people: RaterDesign | None = None

    @property
    def labelled_pairs(self) -> int | None:
        """Cases that people rated of both systems of a difference; None of a mean."""
        if len(self.samples) != 2:
            return None
        first, second = (sample.labelled_cases for sample in self.samples)
        return len(first & second)


@dataclass(frozen=True, slots=True)
class _EstimateQuestion:
    """What is asked of each metric: as the arguments of :func:`estimate`; ``share`` for zeros and ones,
    ``learnt`` as in :class:`Estimate`; ``planned`` has the cases of each system that people are to rate, and ``ends``
    the least and greatest value, where intervals hold at every look."""

    facts: MetricFacts
    judge: str
    about: EstimateAbout
    method: EstimateMethod
    share: bool
    learnt: int
    planned: Mapping[str, int] | None
    ends: tuple[float, float] | None


def estimate(
    view: RatingsView,
    *,
    judge: str,
    people: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    about: EstimateAbout = "cases",
    method: EstimateMethod = "prediction-powered",
    looks: Collection[str] | None = None,
) -> tuple[Estimate, ...]:
    """Corrected means of each system, and differences of each pair, on every metric that people and the judge rated;
    of a flow's results, and of its questions that are named, the share of each level.

    The sample that people rated is weighted as it was drawn: by system and the factors of the plan it comes from
    (:func:`~bedside.stats.stratified_means.mean`). A difference is that of the two means, of the transcripts to which
    the other system has a counterpart (:func:`~bedside.analysis.averaging.matched_rows`); cases that both systems have
    count as pairs. Transcripts that people rated because of what they are, and not by a random draw, are
    left out.

    Args:
        view: the ratings. In a run, those that people rated of were drawn by its plans, or say with which chance
            they were drawn, or are all; else nothing of people's is estimated, and the reason stands in its place. Of a
            file, they must be a random sample of those the judge rated.
        judge: the rater that rated everything, or a pattern that one rater matches.
        people: the people whose ratings count, or patterns such as ``human:a*``; all of them unless named.
        systems: the systems; all unless named.
        metrics: metrics or patterns; every one that both rated unless named.
        about: ``cases``: cases like these, as a paper's claims are; or ``run``: this run's transcripts alone.
        method: ``prediction-powered``, or ``rogan-gladen`` (1978) for metrics of zeros and ones.
        looks: for intervals of people's and corrected figures that hold at every look at a study that runs: the
            transcripts that people are to rate, none where no plan says it. The judge's own are as for one look: it
            has rated all.

    Raises:
        DataError: no such judge, more than one, no such person, no metric that people and the judge rated, Rogan and
            Gladen's method for the run's transcripts alone, either of these at every look, or a metric that follows
            from several people's labels of one transcript.
    """
    name = _the_judge(view, judge)
    of_transcripts = view.transcripts()["system"].fill_null(ALL)
    if people is not None:
        view = by_raters(view, [*people, name])
    _check(about, method)
    if looks is not None:
        check_at_looks("about", about, "cases")
        check_at_looks("method", method, "prediction-powered")
    view = fresh_view_of(view, name)
    compared = chosen_systems(view, systems, fewest=1) if view.systems() else [ALL]
    planned = None if looks is None else planned_cases(view, looks)
    estimates: list[Estimate] = []
    of_all = view
    parts = (
        (metric, part) for metric in of_all.metrics(metrics) for part in _parts(of_all, metric, metrics is not None)
    )
    for original, view in parts:
        metric = original if view is of_all else str(view.ratings["metric"][0])
        samples = people_samples(view, metric, name, compared)
        if not samples:
            continue
        _check_label_sets(view, metric)
        share = is_share(view, metric, name)
        facts = view.facts(original)
        if metric != original:
            facts = replace(facts, name=metric, title=f"{facts.title}: {metric.partition('=')[2]}")
        question = _EstimateQuestion(
            facts, name, about=about, method=method, share=share,
            learnt=view.learnt.get((name, original), 0), planned=planned,
            ends=(0.0, 1.0) if share else view.value_ends(metric),
        )  # fmt: skip
        means = {
            system: _mean(question, system, sample, of=int((of_transcripts == system).sum()))
            for system, sample in samples.items()
        }
        estimates += means.values()
        for pair in combinations(compared, 2):
            design = rater_design(view, metric, pair)
            people_apart = design and replace(design, facts=question.facts)
            estimates.append(replace(_matched_difference(view, question, means, pair), people=people_apart))
    view = of_all
    if not estimates:
        labelled = view.ratings.filter(pl.col("label").is_not_null(), pl.col("metric").is_in(view.metrics(metrics)))
        of_people, of_judge = (labelled.filter(own)["metric"] for own in (rated_by_humans(), pl.col("rater") == name))
        for metric in sorted({*of_people} & {*of_judge})[:1]:
            if metric in _flow_labels(view):
                raise DataError(
                    f"{metric} is a question that a flow asks of some transcripts only: a share of these says nothing "
                    "of all",
                    where=view.name,
                    todo="name the results of its dimensions",
                )
            raise DataError(
                f"{metric} is rated by labels, and a mean needs numbers",
                where=view.name,
                todo="give 0 and 1 in place of two labels; bedside validate and bedside compare take labels",
            )
        raise DataError(
            f"no metric was rated by people and by {name}",
            where=view.name,
            todo="import people's ratings of a random sample with bedside ratings import",
        )
    return tuple(estimates)


def _flow_labels(view: RatingsView) -> dict[str, tuple[str, ...]]:
    """Question or result of a flow → its labels."""
    flows = (rubric for rubric in view.rubrics.values() if rubric.kind == "flow")
    return {measure.name: tuple(label.label for label in measure.labels) for flow in flows for measure in flow.measures}


def _parts(view: RatingsView, metric: str, named: bool) -> Iterator[RatingsView]:
    """The view itself; of a flow, for each level a view of one metric, ``<metric>=<level>``, which is 1 where that is
    the result and 0 where another is. Of questions only those that are named and that every walk reaches."""
    from bedside.judges.rubric_ratings import NOT_REACHED

    labels = _flow_labels(view).get(metric)
    if labels is None:
        yield view
        return
    own = view.ratings.filter(pl.col("metric") == metric)
    if not named and any(
        metric == part.name for rubric in view.rubrics.values() for part in rubric.question_rubrics if rubric.questions
    ):
        return
    if own["error"].str.ends_with(NOT_REACHED).any() or own["label"].drop_nulls().is_empty():
        return
    for label in labels:
        rows = [at_level(table, metric, label) for table in (view.ratings, view.final)]
        yield replace(view, ratings=rows[0], final=rows[1])


def _check_label_sets(view: RatingsView, metric: str) -> None:
    """Raise DataError where people's mean of a metric would mix what follows from labels of different things."""
    if metric not in view.label_sets():
        return
    rated = view.ratings.filter(pl.col("metric") == metric, rated_by_humans())
    raters = sorted(rated["rater"].unique())
    raise DataError(
        f"{metric} follows from labels, and {' and '.join(raters)} laid theirs over the same transcripts, each perhaps "
        "of something else: what people say of these is either one's or the other's",
        where=view.name,
        todo=f"choose with `people={raters[0]}`, or name other metrics with `metrics`",
    )


def _check(about: EstimateAbout, method: EstimateMethod) -> None:
    one_of(about, ESTIMATE_ABOUT, "choice", DataError, where="`about`")
    one_of(method, ESTIMATE_METHODS, "method", DataError, where="`method`")
    if method == "rogan-gladen" and about == "run":
        raise DataError(
            "Rogan and Gladen's interval is about cases like these, not about the run's transcripts alone",
            where="`about`",
            todo="leave it out, or choose `method=prediction-powered`",
        )


def _the_judge(view: RatingsView, judge: str) -> str:
    matching = view.raters([judge])
    if len(matching) > 1:
        raise DataError(
            f"{len(matching)} raters match {judge!r}", where="`judge`", todo=f"name one: {', '.join(matching)}"
        )
    return matching[0]


def _mean(question: _EstimateQuestion, system: str, sample: PeopleSample, *, of: int) -> Estimate:
    from bedside.stats.stratified_means import mean

    naive, human, corrected = (
        mean(sample.units, ratings=ratings, about=question.about, share=question.share, scale=question.ends)
        for ratings in _WHOSE
    )
    if question.method == "rogan-gladen":
        corrected = _rogan_gladen(sample, question)
    cases = len(sample.labelled_cases)
    human, corrected = (_looked_at(result, question, (system,), (sample,)) for result in (human, corrected))
    human = _sampled(human, (sample,))
    return Estimate(
        facts=question.facts, judge=question.judge, quantity=system, systems=(system,), about=question.about,
        samples=(sample,),
        labelled=sample.labelled, labelled_cases=cases, judged=sample.units.judge.size, of=of,
        learnt=question.learnt,
        naive=naive, human=human, corrected=_sampled(_enough(corrected, cases), (sample,)),
    )  # fmt: skip


def _looked_at(
    result: Result, question: _EstimateQuestion, systems: tuple[str, ...], samples: tuple[PeopleSample, ...]
) -> Result:
    """The result with an interval and a p-value that hold at every look, where these are asked for."""
    from bedside.stats import confidence_sequences as sequences

    if question.planned is None or result.estimate is None:
        return result
    cases = [len(sample.labelled_cases) for sample in samples]
    means = [result.details[f"mean of {arm}"] or 0.0 for arm in "xy"] if len(samples) == 2 else [result.estimate]
    error = sequences.error_with_unseen(result.standard_error, means, cases, question.ends)
    if not error:
        return replace(result, interval=None)
    # The judge's part of the error has more degrees of freedom, and does not shrink.
    free = float(sum(cases) - len(cases))
    sequence = sequences.any_estimate(
        result.estimate,
        error,
        cases=sum(cases),
        df=min(result.details.get("degrees of freedom") or free, free),
        planned=sum(question.planned.get(system, 0) for system in systems) or sequences.USUAL_CASES,
        ends=question.ends if question.ends is not None and len(samples) == 1 else (-np.inf, np.inf),
    )  # fmt: skip
    words = f"{result.method.partition(', of ')[0]}, of cases like these, {sequence.method}"
    return replace(
        result, method=words, interval=sequence.interval, p=sequence.p, standard_error=error, missing=sequence.missing
    )


def _sampled(result: Result, samples: Sequence[PeopleSample]) -> Result:
    """A result that people's ratings are in, or why they are no sample of all transcripts."""
    parts = list(dict.fromkeys(part for sample in samples for part in sample.unsampled))
    undrawn = next((sample.undrawn for sample in samples if sample.undrawn is not None), None)
    if not parts and undrawn is None:
        return result
    merged = (
        f"runs were merged, and people rated fewer than two cases of the transcripts from {', '.join(parts)}: "
        "what they rated of others was not drawn from these"
    )
    return replace(result, estimate=None, interval=None, missing=merged if parts else undrawn)


def _rogan_gladen(sample: PeopleSample, question: _EstimateQuestion) -> Result:
    """Rogan and Gladen's share, or why the sample allows none."""
    from bedside.stats import prediction_powered

    units = sample.units
    reason = None
    if not question.share:
        reason = "Rogan and Gladen's method is for zeros and ones"
    elif units.cells.any():
        reason = "Rogan and Gladen's method takes one simple random sample, and this one was drawn by cell"
    elif sample.has_repeated_cases:
        reason = "Rogan and Gladen's method takes one transcript a case"
    elif not set(units.human[units.labelled]) | set(units.judge) <= {0.0, 1.0}:
        reason = "Rogan and Gladen's method needs one answer to each transcript, and here raters or passes disagree"
    if reason is not None:
        return Result(name="corrected share", method="Rogan–Gladen", missing=reason)
    seen = units.labelled
    return prediction_powered.rogan_gladen(units.human[seen], units.judge[seen], units.judge)


def _enough(corrected: Result, cases: int, of: str = "") -> Result:
    """The corrected result, or the reason why there are too few labels for one."""
    if cases >= FEWEST_LABELLED:
        return corrected
    return replace(
        corrected,
        estimate=None,
        interval=None,
        missing=f"people rated {counted(cases, 'case')}{of}, and a judge is corrected by {FEWEST_LABELLED} or more",
    )


def _matched_difference(
    view: RatingsView, question: _EstimateQuestion, means: Mapping[str, Estimate], pair: tuple[str, str]
) -> Estimate:
    """The difference of two systems' means, of the transcripts to which the other has a counterpart."""
    metric = question.facts.name
    rated = view.transcript_values([metric]).filter(pl.col("group") == question.judge)
    matched = matched_rows(view, rated, *pair)
    if not any(matched.left_out):
        return _difference(question, means[pair[0]], means[pair[1]])
    kept = pl.col("transcript_id").is_in(matched.rows["transcript_id"].implode())
    samples = people_samples(replace(view, ratings=view.ratings.filter(kept)), metric, question.judge, pair)
    if samples:
        x, y = (_mean(question, system, samples[system], of=means[system].of) for system in pair)
        difference = _difference(question, x, y)
    else:
        difference = _difference(question, means[pair[0]], means[pair[1]])
        reason = f"people rated no transcript at levels of {' and '.join(matched.by)} that both systems have"
        results = (difference.naive, difference.human, difference.corrected)
        naive, human, corrected = (replace(result, estimate=None, interval=None, missing=reason) for result in results)
        difference = replace(
            difference, samples=(), labelled=0, labelled_cases=0, judged=matched.rows["value"].count(),
            naive=naive, human=human, corrected=corrected,
        )  # fmt: skip
    return replace(difference, matched_by=matched.by, unmatched=sum(matched.left_out))


def _difference(question: _EstimateQuestion, x: Estimate, y: Estimate) -> Estimate:
    from bedside.stats.prediction_powered import rogan_gladen_difference
    from bedside.stats.stratified_means import difference

    (first,), (second,) = x.samples, y.samples
    naive, human, corrected = (
        difference(first.units, second.units, ratings=ratings, about=question.about, share=question.share)
        for ratings in _WHOSE
    )
    if question.method == "rogan-gladen":
        corrected = rogan_gladen_difference(x.corrected, y.corrected)
    systems, samples = (x.quantity, y.quantity), (first, second)
    human, corrected = (_looked_at(result, question, systems, samples) for result in (human, corrected))
    for mean in (x, y):
        corrected = _enough(corrected, mean.labelled_cases, f" of {mean.quantity}")
    human, corrected = _sampled(human, samples), _sampled(corrected, samples)
    return Estimate(
        facts=question.facts, judge=question.judge, quantity=f"{x.quantity} − {y.quantity}",
        systems=systems, about=question.about,
        samples=samples, labelled=x.labelled + y.labelled,
        labelled_cases=len(first.labelled_cases | second.labelled_cases), judged=x.judged + y.judged, of=x.of + y.of,
        learnt=question.learnt,
        naive=naive, human=human, corrected=corrected,
    )  # fmt: skip
