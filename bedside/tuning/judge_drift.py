"""Does a judge still rate as it did? It is asked again about some of a run's transcripts, its anchors.

A run keeps the anchors of each judge and rubric, so that every later asking is of the same transcripts. What a judge
says on one day at one address is in a store of its own: the same again asks only what is missing.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from bedside.analysis.case_values import own_case
from bedside.analysis.estimation import estimate
from bedside.analysis.findings import Finding, FindingKind, measured
from bedside.analysis.judge_versions import unversioned, version_counts
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.errors import DataError, InputError, RegistryError, RunError, nearest
from bedside.core.files import make_folder, read_sealed, write_sealed
from bedside.core.json_shape import INTEGER, TEXT, ObjectOf
from bedside.judges.call_plan import CallPlanner, RubricPlan
from bedside.judges.counts import JudgingProgress, RubricCount
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.contract import check_models
from bedside.judges.llm.endpoints import is_endpoint_file, model_name
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client
from bedside.judges.prompt import Question
from bedside.judges.questions import QuestionGroup, QuestionSet
from bedside.judges.raters import rubric_rater
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import own_rubrics
from bedside.judges.settings import JudgeSettings, price_before, settings_before
from bedside.ratings.names import is_judge, judge_model, rates_pair
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import rubrics_of
from bedside.scoring.run_transcripts import without_failed
from bedside.stats.families import family
from bedside.stats.intervals import wilson
from bedside.stats.rater_change import EQUIVALENCE, anchors_for_change, rater_change
from bedside.stats.result import Result
from bedside.stats.stratified_means import JudgedUnits, Ratings, difference, judged_units, mean

# -- Which transcripts are anchors, and what the judge says of them now ---------------------------------

#: A run's folder of what judges said when they were asked again, and the file of their anchors.
FOLDER, FILE = "drift", "anchors.json"
_SHAPE = {"anchors": ObjectOf(ObjectOf({"version": TEXT, "drawn": [
    {"transcript": TEXT, "stratum": TEXT, "size": INTEGER}
]}))}  # fmt: skip
#: The least of a stratum that is drawn, where it has so many; with fewer, nothing is said of a level, and a stratum
#: doesn't tell how far its transcripts vary.
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Anchor:
    """A transcript that a judge is asked about again.

    Attributes:
        transcript: its id.
        stratum: what it was drawn in: its system and the level that the judge gave it.
        size: how many transcripts of the run are in that.
    """

    transcript: str
    stratum: str
    size: int


@dataclass(frozen=True, slots=True)
class DriftOrder:
    """What a judge is asked again.

    Attributes:
        rater: the judge in the run's ratings.
        name: the model that is asked.
        settings: as it was asked before.
        anchors: by rubric.
        rubrics: by name; each gives one level or label.
    """

    rater: str
    name: ModelName
    settings: JudgeSettings
    anchors: Mapping[str, tuple[Anchor, ...]]
    rubrics: Mapping[str, Rubric]

    def questions(self) -> QuestionSet:
        """Its rubrics, each asked once."""
        return QuestionSet(map(Question, self.rubrics.values()), 1)

    def groups(self, run: Run, questions: QuestionSet) -> Iterator[QuestionGroup]:
        """What is asked, rubric by rubric of each anchor."""
        for rubric, anchors in self.anchors.items():
            names = {anchor.transcript for anchor in anchors}
            talks = without_failed(lambda names=names: run.transcripts_named(names))  # type: ignore[misc]
            yield from questions.groups(talks(), [rubric])


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What a judge said now.

    Attributes:
        values: ``transcript_id, unit, metric, value, label``; neither value nor label where there was no answer.
        counts: by rubric, what became of the questions, and which versions answered.
    """

    values: pl.DataFrame
    counts: Mapping[str, RubricCount]


def drift_order(
    run: Run, judge: str | None, rubrics: Sequence[str] | None, size: Callable[[int], int], settings: JudgeSettings
) -> DriftOrder:
    """What a judge of a run is asked again; anchors that the run keeps stay.

    Args:
        run: it keeps its text.
        judge: the judge in the run's ratings, or its model, whose address may have changed; the only one unless given.
        rubrics: names; all that it rated whole answers by unless given.
        size: how many anchors of a rubric, given how many strata there are.
        settings: limits; what the model is asked with is as before.

    Raises:
        InputError, DataError: no such judge or rubric, or a rubric whose wording has changed since.
    """
    if not run.keeps_text:
        raise InputError("the run keeps no text, so that nothing can be asked again", where=str(run.path))
    asked: dict[str, dict[str, Any]] = {}
    versions: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in run.manifest["scorings"]:
        for name_in_run, how in (entry.get("judges") or {}).items():
            if is_judge(name_in_run) and how.get("prompts"):
                asked[name_in_run] = how
                versions[name_in_run] |= how["prompts"]
    rater, model = _the_judge(asked, judge, run)
    how, prompts, name = asked[rater], versions[rater], model_name(model)
    values = _judged_values(run, rater)
    known = sorted(set(values["metric"]) & set(prompts))
    for chosen in rubrics or ():
        if chosen not in known:
            raise DataError(f"{rater} rated nothing by {chosen!r}", where="`rubrics`", todo=nearest(chosen, known))
    chosen_rubrics: dict[str, Rubric] = {}
    own = own_rubrics(run)
    keys = ((rubric, f"{rubric}@{prompts[rubric]}") for rubric in rubrics or known)
    for rubric in (rubrics_of(key if key in own else name, run)[0] for name, key in keys):
        if Question(rubric).version != prompts[rubric.name]:
            raise DataError(
                f"the wording of {rubric.name} is another than when {rater} was asked", where=str(run.path),
                todo="name other rubrics with `rubrics`",
            )  # fmt: skip
        if rubric.kind in ("level", "label") and rubric_rater(name, [rubric]) == rater:
            chosen_rubrics[rubric.name] = rubric
    if not chosen_rubrics:
        raise DataError(f"{rater} rated by no rubric of one level or label", where=str(run.path))
    kept = kept_anchors(run.path).get(rater, {})
    anchors = {}
    for rubric_name in chosen_rubrics:
        drawn = draw_anchors(values.filter(pl.col("metric") == rubric_name), size, settings.seed)
        version, earlier = kept.get(rubric_name, ("", ()))
        anchors[rubric_name] = earlier if version == prompts[rubric_name] else drawn
    again = replace(settings, passes=1, price=settings.price or price_before(how), **settings_before(how))
    return DriftOrder(rater, name, again, anchors, chosen_rubrics)


def _judged_values(run: Run, rater: str) -> pl.DataFrame:
    """What a judge rated in its first pass: ``transcript_id, system, unit, metric, value, label``."""
    given = pl.col("value").is_not_null() | pl.col("label").is_not_null()
    rows = run.scan().filter(pl.col("rater") == rater, pl.col("replicate") == 0, given, ~rates_pair()).collect()
    return rows.select("transcript_id", "system", "unit", "metric", "value", "label")


def _the_judge(asked: Mapping[str, Any], judge: str | None, run: Run) -> tuple[str, str]:
    """The judge that is meant, and the model to ask: as it was asked, or where an address is given, there."""
    if judge is None and len(asked) != 1:
        what = "no judge has rated the run" if not asked else f"{len(asked)} judges have rated the run"
        raise DataError(what, where=str(run.path), todo=f"name one with `judge`: {', '.join(asked)}")
    named = next(iter(asked)) if judge is None else unversioned(run, judge)
    if judge is not None and named not in asked:
        try:
            named_rater = rubric_rater(model_name(judge), ())
        except RegistryError:  # it may be a short name
            if is_endpoint_file(judge):
                raise
            named_rater = ""
        if named_rater in asked:
            return named_rater, judge
        own = [rater for rater in asked if named in (judge_model(rater), judge_model(rater).rpartition("/")[2])]
        if len(own) != 1:
            what = f"{judge!r} has not rated the run" if not own else f"{len(own)} judges are called {judge!r}"
            raise DataError(what, where="`judge`", todo=f"name one of {', '.join(own or asked)}")
        named = own[0]
    return named, asked[named]["model"]


def draw_anchors(values: pl.DataFrame, size: Callable[[int], int], seed: int) -> tuple[Anchor, ...]:
    """Anchors drawn in strata of system and level, in proportion to them and two of each at least.

    Args:
        values: a judge's ratings by one rubric: ``transcript_id, system, value, label``. A transcript's level is the
            mean of its units', rounded, or the label that most of them have.
        size: how many, given the number of strata.
        seed: of the draw.
    """
    level = pl.coalesce(pl.col("value").mean().round(0).cast(pl.String()), pl.col("label").drop_nulls().mode().min())
    rows = values.group_by("transcript_id", "system").agg(level.alias("level")).sort("transcript_id")
    strata: dict[str, list[str]] = defaultdict(list)
    for transcript, system, of_level in rows.iter_rows():
        strata[f"{system or ''} / {of_level}"].append(transcript)
    wanted = min(size(len(strata)), rows.height)
    share = {name: min(len(own), max(_FEWEST, wanted * len(own) // rows.height)) for name, own in strata.items()}
    while sum(share.values()) < wanted:  # to the one that is furthest below its part
        open_ones = [name for name, own in strata.items() if share[name] < len(own)]
        share[max(open_ones, key=lambda name: (wanted * len(strata[name]) / rows.height - share[name], name))] += 1
    draws = random.Random(seed)
    return tuple(
        Anchor(transcript, name, len(strata[name]))
        for name in sorted(strata)
        for transcript in sorted(draws.sample(strata[name], share[name]))
    )


def kept_anchors(folder: Path) -> dict[str, dict[str, tuple[str, tuple[Anchor, ...]]]]:
    """The anchors that a run keeps, by judge and rubric, each with the rubric's version.

    Raises:
        RunError: the file is damaged.
    """
    path = folder / FOLDER / FILE
    if not path.is_file():
        return {}
    kept = read_sealed(path, "list of a judge's anchors", _SHAPE, todo="remove it, and ask the judge again")
    return {
        rater: {
            rubric: (entry["version"], tuple(Anchor(**anchor) for anchor in entry["drawn"]))
            for rubric, entry in rubrics.items()
        }
        for rater, rubrics in kept["anchors"].items()
    }


def _keep(run: Run, order: DriftOrder) -> None:
    """Keep the anchors of an order."""
    folder = run.path / FOLDER
    if folder.is_symlink():
        raise RunError("a folder of the run is a link, and none is followed", where=str(folder), todo="remove it")
    make_folder(folder)
    kept = kept_anchors(run.path)
    kept.setdefault(order.rater, {}).update(
        {name: (Question(order.rubrics[name]).version, anchors) for name, anchors in order.anchors.items()}
    )
    data = {
        rater: {
            rubric: {"version": version, "drawn": list(map(asdict, anchors))}
            for rubric, (version, anchors) in rubrics.items()
        }
        for rater, rubrics in kept.items()
    }
    write_sealed(folder / FILE, {"anchors": data})


def _store(run: Run, name: ModelName) -> Path:
    """Where a day's answers are kept, apart for each address: the same model may be another one elsewhere."""
    at = "" if name.url is None else f"-{hashlib.sha256(name.url.encode()).hexdigest()[:8]}"
    return run.path / FOLDER / f"{datetime.now(UTC):%Y-%m-%d}{at}.sqlite"


def plan_again(run: Run, order: DriftOrder) -> tuple[RubricPlan, ...]:
    """What asking again would send; nothing is sent or written."""
    questions, planner = order.questions(), CallPlanner(order.name, order.settings, _store(run, order.name))
    for group in order.groups(run, questions):
        planner.count(group)
    return tuple(planner.plan(name, questions.tallies[name], [order.rubrics[name]]) for name in order.rubrics)


def ask_again(
    run: Run,
    order: DriftOrder,
    *,
    progress: Callable[[str, JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
) -> AskedAgain:
    """Ask a judge again about its anchors, and keep what it says beside the run's ratings, never among them.

    Raises:
        LanguageModelError: it can't be asked; what was finished is kept.
        RunError: another process uses the run, or the store can't be used.
    """
    if client is None:
        check_models([order.name])
    questions = order.questions()
    rows: list[tuple[str, str, str, float | None, str | None]] = []

    def emit(group: QuestionGroup) -> None:
        for unit, metric, value, label, *_ in ratings_of(group.question.rubric, group.transcript, group.answers):
            if metric == group.question.rubric.name:
                rows.append((group.transcript.id, unit, metric, value, label))

    stage = JudgingStage(lambda: order.groups(run, questions), emit, sum(map(len, order.anchors.values())))
    watch = None if progress is None else partial(progress, order.name.shown)
    with run.locked():
        _keep(run, order)
        store = _store(run, order.name)
        ask_judge(order.name, order.settings, store, [stage], progress=watch, client=client)
        run.note(f"{FOLDER}/{FILE}", f"{FOLDER}/{store.name}")
    names = ("transcript_id", "unit", "metric")
    schema = {**dict.fromkeys(names, pl.String()), "value": pl.Float64(), "label": pl.String()}
    counts = {count.rubric: count for count in questions.counts()}
    return AskedAgain(pl.DataFrame(rows, schema, orient="row"), counts)


# -- Whether it rates as it did, and what that makes of the run's numbers -------------------------------

#: The level of each test, and the standard deviation of one transcript's change that anchors are planned with.
ALPHA, SPREAD = 0.05, 0.9


@dataclass(frozen=True, slots=True)
class LevelChange:
    """What a judge says now of what it gave one level or label.

    Attributes:
        level: the level or label before.
        units: anchors of it that were answered now.
        kept: the share of them that have it still, with Wilson's interval; of a wavering judge that is below 1, too.
        share: of labels, the change of the share that has it; None of levels.
    """

    level: str
    units: int
    kept: Result
    share: Result | None = None


NumberKind = Literal["mean", "difference", "corrected"]


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number of the run as it is, and as it would be if the judge rated everything now.

    Attributes:
        kind: ``mean``, ``difference``, or ``corrected``, by people.
        quantity: the system, or the two.
        before, now: with intervals of 95 % over the population of cases; that of now holds the anchors' error, too.
    """

    kind: NumberKind
    quantity: str
    before: Result
    now: Result


@dataclass(frozen=True, slots=True)
class JudgeDrift(MetricRatings):
    """How a judge rates now by one rubric, beside how it rated.

    Attributes:
        facts: the rubric.
        rater: the judge.
        anchors: how many it is asked about again; ``answered`` of them have a value now, and ``left`` are still to be
            asked, as a limit was reached or no reply was had.
        change: of levels, the mean change over the run's transcripts, with p and the test of no change within the
            margin in its details; of labels, that of the label whose share changed most. p is corrected by Holm over
            rubrics and labels.
        moved: the share of units whose level or label is another now, weighted as anchors were drawn.
        levels: level by level.
        numbers: numbers of the run, before and now.
        needed: anchors that find a change by the margin with a power of .8, planned before.
        versions: by which versions it was answered before, and now.
    """

    rater: str
    anchors: int
    answered: int
    left: int
    change: Result
    moved: Result
    levels: tuple[LevelChange, ...]
    numbers: tuple[NumberChange, ...]
    needed: int
    versions: tuple[Mapping[str, int], Mapping[str, int]]

    @property
    def verdict(self) -> Literal["changed", "same", "not known"]:
        """Whether a change is shown, or that there is none beyond the margin."""
        p = self.change.p if self.change.p_adjusted is None else self.change.p_adjusted
        if p is not None and p < ALPHA:
            return "changed"
        alike = self.change.details.get(EQUIVALENCE)
        return "same" if alike is not None and alike < ALPHA else "not known"


def judge_drifts(view: RatingsView, order: DriftOrder, asked: AskedAgain, margin: float) -> tuple[JudgeDrift, ...]:
    """Whether a judge rates its anchors as it did, by rubric, and what that makes of the run's numbers.

    Args:
        view: the run's ratings.
        order: what the judge was asked again.
        asked: what it says now.
        margin: change of a mean level, or of a label's share, below which it counts as the same.

    Raises:
        NothingError: no anchor has a rating now.
    """
    drifts = [_judge_drift(view, order, asked, rubric, margin) for rubric in order.anchors]
    if not any(own.answered for own in drifts):
        raise NothingError(
            f"no anchor has a rating now, and {sum(own.left for own in drifts):,} are still to be asked",
            where=view.name,
            todo="run the same again today, with a higher limit where one was reached",
        )
    tested = family([own.change for own in drifts], "changes of the judge by rubric", method="holm")
    return tuple(replace(own, change=change) for own, change in zip(drifts, tested, strict=True))


def _judge_drift(view: RatingsView, order: DriftOrder, asked: AskedAgain, rubric: str, margin: float) -> JudgeDrift:
    rater, anchors = order.rater, order.anchors[rubric]
    old = view.ratings.filter(
        pl.col("metric") == rubric, pl.col("rater") == rater, pl.col("replicate") == 0
    ).with_columns(own_case())  # fmt: skip
    schema = {"transcript_id": pl.String(), "stratum": pl.String(), "size": pl.Int64()}
    drawn = pl.DataFrame([(anchor.transcript, anchor.stratum, anchor.size) for anchor in anchors], schema, orient="row")
    now = asked.values.filter(pl.col("metric") == rubric)
    both = old.join(drawn, on="transcript_id").join(
        now.select("transcript_id", "unit", now_value="value", now_label="label"), on=("transcript_id", "unit"),
    )  # fmt: skip
    of_labels = bool(old["label"].is_not_null().any())
    earlier, later = ("label", "now_label") if of_labels else ("value", "now_value")
    both = both.drop_nulls([earlier, later])
    ends = view.value_ends(rubric)
    span = None if ends is None else ends[1] - ends[0]
    by_talk = both.group_by("transcript_id", "case", "system", "stratum", "size", maintain_order=True)

    def changed(before: pl.Expr, after: pl.Expr) -> Result:
        rows = by_talk.agg(before.cast(pl.Float64).mean().alias("before"), after.cast(pl.Float64).mean().alias("after"))
        return rater_change(
            rows["before"], rows["after"], margin=margin, strata=rows["stratum"].to_list(), sizes=rows["size"],
            clusters=rows["case"].to_list(), span=1.0 if of_labels else span, alpha=ALPHA,
        )  # fmt: skip

    levels = sorted({*both[earlier], *both[later]}, key=lambda level: (isinstance(level, str), level))
    shares = {level: changed(pl.col(earlier) == level, pl.col(later) == level) for level in levels} if of_labels else {}
    if of_labels:
        tested = family(list(shares.values()), "changes of labels' shares", method="holm")
        shares = dict(zip(shares, tested, strict=True))
        change = min(shares.values(), key=lambda own: 2.0 if own.p_adjusted is None else own.p_adjusted,
                     default=changed(pl.lit(0.0), pl.lit(0.0)))  # fmt: skip
        change = replace(change, p=change.p_adjusted)
    else:
        change = changed(pl.col(earlier), pl.col(later))
    by_level = tuple(
        LevelChange(
            level if isinstance(level, str) else f"{level:g}", rows.height,
            wilson(rows.filter(pl.col(earlier) == pl.col(later)).height, rows.height), shares.get(level),
        )
        for level in levels if (rows := both.filter(pl.col(earlier) == level)).height >= _FEWEST
    )  # fmt: skip
    return JudgeDrift(
        facts=view.facts(rubric), rater=rater, anchors=len(anchors), answered=both["transcript_id"].n_unique(),
        left=asked.counts[rubric].not_asked + asked.counts[rubric].failed, change=change,
        moved=changed(pl.lit(0.0), pl.col(earlier) != pl.col(later)), levels=by_level,
        numbers=() if of_labels else _numbers(view, rater, rubric, both, drawn),
        needed=anchors_for_change(margin, spread=SPREAD, strata=drawn["stratum"].n_unique()),
        versions=(version_counts(view, [rubric]).get(rater, {}), asked.counts[rubric].served),
    )  # fmt: skip


def _numbers(
    view: RatingsView, rater: str, rubric: str, both: pl.DataFrame, drawn: pl.DataFrame
) -> tuple[NumberChange, ...]:
    """The run's means, differences and corrected means before, and if the judge rated everything as it does now."""
    strata = drawn.select("transcript_id", "stratum")
    answers = both.group_by("transcript_id").agg(now=pl.col("now_value").mean())
    values = view.transcript_values([rubric]).filter(pl.col("group") == rater).drop_nulls("value")
    if values.is_empty():
        return ()
    level = pl.concat_str(pl.col("system").fill_null(""), pl.lit(" / "), pl.col("value").round(0).cast(pl.String()))
    values = values.with_columns(own_case(), pl.col("system").fill_null(ALL), level=level)
    values = values.join(answers, on="transcript_id", how="left").join(strata, on="transcript_id", how="left")
    values = values.with_columns(cell=pl.coalesce("stratum", "level"))
    before: dict[str, JudgedUnits] = {}
    after: dict[str, JudgedUnits] = {}
    for system in view.order.ordered_systems(values["system"].unique()):
        rated = values.filter(pl.col("system") == system).sort("transcript_id")
        cases_now = pl.col("case").filter(pl.col("now").is_not_null()).n_unique()
        sizes = rated.group_by("cell").agg(cases_now.alias("cases"), pl.len())
        sizes = sizes.sort("cases", "len", "cell", descending=True)
        if sizes["cases"][0] < _FEWEST:
            continue
        # A stratum whose anchors are of too few cases is joined with the largest of its system.
        small = sizes.filter(pl.col("cases") < _FEWEST)["cell"].to_list()
        cells = np.where(rated["cell"].is_in(small), sizes["cell"][0], rated["cell"])
        cases = rated["case"].to_numpy().astype(str)
        numbered = np.unique(cells.astype(str), return_inverse=True)[1]
        before[system] = judged_units(rated["value"], rated["value"], cases=cases)
        after[system] = judged_units(rated["value"], rated["now"], cells=numbered, cases=cases)
    pairs = zip(_figures(before, "judge"), _figures(after, "both"), strict=True)
    numbers = [NumberChange(kind, quantity, old, new) for (kind, quantity, old), (*_, new) in pairs]
    try:
        corrected = estimate(view, judge=rater, metrics=[rubric])
    except DataError:  # people rated nothing by it
        return tuple(numbers)
    shifts = both.group_by("stratum").agg(shift=(pl.col("now_value") - pl.col("value")).mean())
    moved = values.join(shifts, left_on="cell", right_on="stratum", how="left").select(
        "transcript_id", "now", pl.col("shift").fill_null(0.0)
    )  # fmt: skip
    is_own = (pl.col("rater") == rater) & (pl.col("metric") == rubric)
    ratings = view.ratings.join(moved, on="transcript_id", how="left", maintain_order="left").with_columns(
        value=pl.when(is_own).then(pl.coalesce("now", pl.col("value") + pl.col("shift"))).otherwise("value")
    )  # fmt: skip
    later = estimate(replace(view, ratings=ratings.drop("now", "shift")), judge=rater, metrics=[rubric])
    numbers += [NumberChange("corrected", old.quantity, old.corrected, new.corrected)
                for old, new in zip(corrected, later, strict=True) if old.corrected.estimate is not None]  # fmt: skip
    return tuple(numbers)


def _figures(units: Mapping[str, JudgedUnits], ratings: Ratings) -> Iterator[tuple[NumberKind, str, Result]]:
    """The mean of each system, and the difference of every two, both of the population of cases: their cells are
    levels, of which another sample of cases has others."""
    for system, own in units.items():
        yield "mean", system, mean(own, ratings=ratings, about="population")
    for a, b in combinations(units, 2):
        yield "difference", f"{a} − {b}", difference(units[a], units[b], ratings=ratings, about="population")


def judge_drift_findings(drifts: Sequence[JudgeDrift]) -> tuple[Finding, ...]:
    """By which rubrics a judge that is asked again has changed, by which it rates as it did, and what isn't known."""
    kinds: dict[str, FindingKind] = {
        "changed": "judge changed", "same": "judge the same", "not known": "judge change not known",
    }  # fmt: skip
    findings = []
    for verdict, kind in kinds.items():
        for drift in (drift for drift in drifts if drift.verdict == verdict):
            measure = measured(drift.metric, drift.facts.title, drift.change, drift.answered, drift.anchors)
            figure = "share" if not drift.numbers and any(level.share for level in drift.levels) else "level"
            limit, needed = float(drift.change.options["margin"]), drift.needed
            measure = replace(measure, figure=figure, limit=limit, needed=needed)
            findings.append(Finding(kind, drift.rater, measures=(measure,), of=len(drifts)))
            numbers = [number for number in drift.numbers if number.kind != "corrected"]
            numbers.sort(key=lambda number: number.kind != "difference")
            if kind == "judge changed" and numbers:
                moved = tuple(
                    replace(measured(drift.metric, number.quantity, number.now, drift.answered, None),
                            limit=number.before.estimate)
                    for number in numbers
                )  # fmt: skip
                findings.append(Finding("numbers moved", drift.rater, measures=moved, of=len(moved)))
    return tuple(findings)
