"""Tables of judges made better, or asked again: what a tuning came to, a jury, a learned rater beside people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bedside.analysis.judge_accuracy import level_words
from bedside.analysis.judge_versions import version_words
from bedside.analysis.jury_agreement import shared_families
from bedside.core.words import counted
from bedside.ratings.names import LABEL_FREE_WORDS
from bedside.reports.columns import Block, Part, bounded, grid_of, parts_of, record_of, recorded, table_of
from bedside.reports.notes import Note, NoteText, note, noted
from bedside.reports.number_text import (
    DASH,
    between,
    decimal,
    money,
    number,
    p_value,
    plain_words,
    rater_words,
    share_words,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.stats.kappa_bands import reading
from bedside.stats.rater_change import EQUIVALENCE
from bedside.stats.result import Result

if TYPE_CHECKING:
    from bedside.analysis.jury_agreement import JuryAgreement
    from bedside.tuning.cascade import CascadeFit, Routed
    from bedside.tuning.judge_drift import JudgeDrift
    from bedside.tuning.rater_training import LearnedRaterTrial
    from bedside.tuning.tuned_judge import TuningOutcome
    from bedside.tuning.tuning_ledger import TuningTry


def _title(row: Part) -> str:
    """The heading of rows about parts: the metric."""
    return str(row.whole.facts.title)


# -- A tuning: the figures of what was held out -------------------------------------------------------------------

#: The one record: of the whole tuning.
OUTCOME_RECORD = (
    recorded(
        metric="split.metric", judge="rater",
        tuned_version=lambda outcome: None if outcome.tuned is None else outcome.tuned.version,
        units=lambda outcome: len(outcome.split.held_out), people="figures.people", shown="shown",
    ),
    bounded(**{name: f"figures.{name}" for name in ("before", "after", "gain", "ceiling")}),
)  # fmt: skip
HELD_OUT_COLUMNS = Block((
    Column("Who", "left", value=lambda row: row[0]),
    Column("κ [95 % CI]", value=lambda row: row[1]),
))  # fmt: skip


def verdict(outcome: TuningOutcome) -> str:
    """What tuning brought, in a sentence."""
    if outcome.tuned is None:
        return (
            "Nothing that was tried agreed better with people in training than the rubric as it is: there is no tuned "
            "rubric."
        )
    if outcome.shown:
        return (
            "The tuned judge agrees better with people on what was held out: the whole interval of the gain lies above "
            "0."
        )
    why = f" ({outcome.gain.missing})" if outcome.gain.missing else ""
    return (
        f"A gain is not shown{why}: the tuned judge may agree with people no better, or worse, than the judge as it "
        "was. More units rated by people would tell."
    )


@note("tuning.meaning")
def meaning(outcome: TuningOutcome) -> Iterator[str]:
    """What a tuning brought, and what the figures are."""
    yield verdict(outcome)
    split = outcome.split
    training, held_out = split.record()["training"], split.record()["held_out"]
    yield (
        "κ: quadratic kappa with each person, the mean; gain: after minus before on the same units; intervals leave "
        "out one case at a time. One person and the others: the mean kappa of pairs of people, on the same units."
    )
    yield (
        f"Learnt from {counted(training['units'], 'unit')} of {counted(training['cases'], 'case')}, shown on "
        f"{counted(held_out['units'], 'unit')} of {counted(held_out['cases'], 'other case')}, drawn with seed "
        f"{split.seed}. Whatever is said later of this tuned judge leaves out what it learnt from."
    )


@note("tuning.units")
def units(outcome: TuningOutcome) -> Iterator[str]:
    """Which units were not held out, and how they were drawn."""
    split = outcome.split
    if split.earlier:
        yield f"{counted(split.earlier, 'case')} could not be held out, as an earlier tuning learnt from them."
    if split.chances == "unequal":
        yield "Units were drawn with unequal chances, and weigh by how many they stand for."
    if split.picked:
        yield f"{counted(split.picked, 'unit')} picked for what they are, and not drawn, are left out."
    if outcome.unanswered:
        yield f"{counted(outcome.unanswered, 'held-out unit')} without a usable answer of the judge are left out."


def _held_out(outcome: TuningOutcome, title: str) -> Table:
    figures = outcome.figures
    rows = (
        ("The judge as it was", share_words(figures.before)),
        ("The tuned judge", share_words(figures.after)),
        ("Gain", plain_words(figures.gain)),
        ("One person and the others", share_words(figures.ceiling)),
    )
    caption = f"{title}: agreement with people on what was held out, before and after tuning"
    table = grid_of("tuning", caption, rows, (HELD_OUT_COLUMNS,), notes=noted((meaning, units), outcome))
    return replace(table, records=(record_of(OUTCOME_RECORD, outcome),))


# -- A tuning: what was tried in training -------------------------------------------------------------------------

CANDIDATE_COLUMNS = (
    recorded(wording="part.wording"),
    Column("Wording", "left", value=lambda row: row.whole[row.part.wording]),
    Column("Examples", field="examples", value="part.examples", form=str),
    Column("Map of levels", "left", field="map", value="part.level_map"),
    Column("Units", field="units", value="part.units"),
    Column("κ in training", field="training_kappa", value="part.kappa", form=decimal),
)
CANDIDATES_MEANING = Note(
    "tuning candidates.meaning",
    "κ in training chose among candidates: the best of many looks better than it is, so these figures are no "
    "result. Maps were tried on other cases than they were learnt on, wordings on other cases than they were "
    "proposed from. Examples are never of the case they are shown with.",
)


@note("tuning candidates.not tried")
def not_tried(outcome: TuningOutcome) -> Iterator[str]:
    """Wordings that were proposed and not tried."""
    yield from (f"Not tried, {line}." for line in outcome.rejected)
    if outcome.fewer:
        yield f"The budget left no room for {counted(outcome.fewer, 'more wording')}."


def tuning_tables(outcome: TuningOutcome, title: str, tries: Sequence[TuningTry] = ()) -> tuple[Table, ...]:
    """The figures of what was held out, then the candidates; ``title`` is the rubric's, ``tries`` all tunings so far on
    the same labels."""
    from bedside.tuning.tuning_ledger import tries_words

    names = _wording_names(outcome)
    rows = [Part(names, candidate) for candidate in outcome.candidates]
    candidates = table_of("tuning_candidates", "What was tried in training", rows, CANDIDATE_COLUMNS,
                          notes=noted((CANDIDATES_MEANING, not_tried), outcome))  # fmt: skip
    held_out, words = _held_out(outcome, title), tries_words(tries)
    if words:
        held_out = replace(held_out, notes=(*held_out.notes, NoteText(words, "tuning.tries", warns=True)))
    return held_out, candidates


def _wording_names(outcome: TuningOutcome) -> dict[str, str]:
    """What each wording is called: as it was, or by its number among the proposed."""
    versions = dict.fromkeys(candidate.wording for candidate in outcome.candidates)
    versions.pop(outcome.base.version, None)
    names = {outcome.base.version: "as it was"}
    return names | {version: f"proposed {number} ({version})" for number, version in enumerate(versions, 1)}


# -- How much better one rater agrees with people than another ------------------------------------------

# Rows are gains, parts of a jury's agreement or of a learned rater's trial.


def _gain_number(name: str) -> Callable[[Part], str]:
    """What prints a rater's figure: a kappa, or a distance."""
    return lambda row: (decimal if row.part.by_kappa else number)(getattr(row.part, name))


def _difference(row: Part) -> str:
    gain: Result = row.part.gain
    return f"{DASH} ({gain.missing})" if gain.estimate is None else plain_words(gain)


def _gain_columns(other: Column, own: str, others: str, *verdict: Column) -> tuple[Column | Recorded, ...]:
    """The columns of a table of gains.

    Args:
        other: whom a rater is held against, or who is.
        own, others: whose figures stand beside each other.
        verdict: what is said of the difference.
    """
    return (
        recorded(**{name: f"part.{name}" for name in ("metric", "rater", "other", "units", "cases", "people")},
                 measure=lambda row: "kappa" if row.part.by_kappa else "distance", own="part.own",
                 others="part.others"),
        bounded(difference="part.gain"),
        recorded(better="part.better"),
        other,
        Column(f"{own} κ", text=_gain_number("own")),
        Column(f"{others} κ", text=_gain_number("others")),
        Column("Difference [95 % CI]", text=_difference),
        *verdict,
        Column("Units", value="part.units"),
        Column("Cases", value="part.cases"),
        Column("People", value="part.people"),
    )  # fmt: skip


@note("gains.measure")
def gain_measure(rows: Sequence[Part]) -> Iterator[str]:
    """What the numbers of gains are."""
    if any(gain.by_kappa for gain in (row.part for row in rows)):
        yield (
            "κ: mean of Cohen's kappa with each person, on the units that both and a person rated. The difference's "
            "interval is the jackknife's by case, with t: above 0, the first agrees better."
        )
    titles = [gain.facts.title for gain in (row.part for row in rows) if not gain.by_kappa]
    if titles:
        yield (
            f"{', '.join(dict.fromkeys(titles))} {'is' if len(set(titles)) == 1 else 'are'} on no scale. In place of κ "
            "stands the mean distance from people's mean; the difference is how much nearer the first is."
        )


# -- A jury ---------------------------------------------------------------------------------------------

#: How a jury's rule makes one rating of several, in words.
_RULES: Mapping[str, str] = {
    "mean": "the level nearest the mean of the members' levels; halfway between two levels it is missing",
    "median": "the median of the members' levels; between two different ones it is missing",
    "majority": "the level that most members gave; where several have as many votes it is missing",
    **dict.fromkeys(LABEL_FREE_WORDS, "the level that is most likely, given how often each member errs"),
    "weights": "the level nearest the weighted mean of the members' levels; halfway between two levels it is missing",
}


def _statistic(name: str) -> Callable[[Any], Result | None]:
    """A statistic of the agreement among members."""
    return lambda agreement: agreement.statistics.get(name)


def _missing_ratings(agreement: JuryAgreement) -> int:
    return sum(agreement.missing.values())


MEMBER_COLUMNS = (
    recorded(jury="jury.rater", metric="metric", ratings="ratings", missing=_missing_ratings, units="units",
             cases="cases"),
    recorded(lambda own: {f"weight of {member}": weight for member, weight in own.weights.items()}),
    bounded(**{name: _statistic(name) for name in ("kappa", "alpha", "ac")}),
    Column("Metric", "left", value="facts.title"),
    Column("Ratings", value="ratings"),
    Column("Missing", value=_missing_ratings),
    Column("Members' κ [95 % CI]", value=_statistic("kappa"), form=share_words),
    Column("α [95 % CI]", value=_statistic("alpha"), form=share_words),
    Column("AC [95 % CI]", value=_statistic("ac"), form=share_words),
    Column("Units", value="units"),
    Column("Cases", value="cases"),
)  # fmt: skip


@note("jury.rule")
def jury_rule(agreements: Sequence[JuryAgreement]) -> Iterator[str]:
    """Who is in the jury, and how it makes one rating of several."""
    jury = agreements[0].jury
    yield f"A jury of {len(jury.members)}: {', '.join(jury.members)}."
    levels = any(agreement.jury.metrics[agreement.metric].levels for agreement in agreements)
    weighed = "votes by weight" if jury.rule == "weights" else "votes"
    rule = _RULES[jury.rule] if levels else f"the {jury.rule} of the members' numbers"
    if jury.rule in LABEL_FREE_WORDS:
        rule, weighed = _RULES[jury.rule], "chances"
    yield f"Its rating: {rule}. Labels go by most {weighed}; a tie is missing."
    passes = "their mean" if jury.rule in ("mean", "weights") else "the most frequent, else the one nearest their mean"
    yield f"A member's passes are taken together first: {passes}."
    if jury.quorum < len(jury.members):
        yield f"A unit needs ratings by {jury.quorum} of the members; the others are left out of it."


@note("jury.weights and gaps", "Missing")
def jury_gaps(agreements: Sequence[JuryAgreement]) -> Iterator[str]:
    """What each member weighs, and why ratings are missing."""
    jury = agreements[0].jury
    for agreement in agreements:
        if jury.rule == "weights":
            shares = ", ".join(f"{member} {decimal(weight)}" for member, weight in agreement.weights.items())
            learning = jury.learning[agreement.metric]
            yield (
                f"{agreement.facts.title}: weights {shares}, learnt from people's ratings of "
                f"{counted(learning['training']['units'], 'unit')} of "
                f"{counted(learning['training']['cases'], 'case')}"
                + (", too few or too much alike to tell the judges apart" if _are_equal(agreement) else "")
                + "."
            )
        for reason, count in agreement.missing.items():
            yield f"{agreement.facts.title}: {counted(count, 'rating')} missing: {reason}."
    yield "Members' κ: the mean over pairs of members; Units: those that two members rated."


def _are_equal(agreement: JuryAgreement) -> bool:
    weights = list(agreement.weights.values())
    return max(weights) - min(weights) < 1e-9


@note("jury gain.verdict", "Difference [95 % CI]")
def jury_verdict(agreements: Sequence[JuryAgreement]) -> Iterator[str]:
    """Whether the jury beats its best member."""
    for agreement in agreements:
        title = agreement.facts.title
        if agreement.learnt:
            yield (
                f"{title}: of the units that people rated, {agreement.learnt:,} don't count: the jury or a member "
                "learnt from them or their cases."
            )
        verdict = {
            True: "the jury agrees with people better than its best member",
            False: "that the jury agrees with people better than its best member is not shown",
            None: "whether the jury agrees with people better than its best member can't be said",
        }[agreement.beats_best]
        yield f"{title}: {verdict}."
    yield (
        "It beats its best member where it beats every member with its whole interval. For the member that looks best "
        "on these units may do so by luck."
    )


ERROR_COLUMNS = (
    recorded(jury="whole.jury.rater", metric="whole.metric", member="part.member", units="part.reliability.n"),
    bounded(reliability="part.reliability", with_people="part.with_people"),
    Column("Member", "left", value="part.member"),
    Column("Right, by agreement alone [95 % CI]", value="part.reliability", form=share_words),
    Column("Right, by people [95 % CI]", value="part.with_people", form=share_words,
           dash="people rated none of the units, or they are tied"),
    Column("Units", value="part.reliability.n"),
)  # fmt: skip


@note("jury errors.model", "Right, by agreement alone [95 % CI]")
def error_model(rows: Sequence[Part]) -> Iterator[str]:
    """What tells members' errors, and what it takes for granted."""
    jury = rows[0].whole.jury
    yield (
        f"Right, by agreement alone: the share of units whose true level the member gives, by "
        f"{LABEL_FREE_WORDS[jury.rule]} (crowd-kit). Its interval: {rows[0].part.reliability.interval.method}."
    )


def _independence(rows: Sequence[Part]) -> Iterator[str]:
    """That errors which members share pass for the truth."""
    shared = shared_families(rows[0].whole.jury.members)
    if shared:
        yield f"{' and '.join(shared[0])} are models of one family. Errors that they share pass for the truth here."
    else:
        yield "The model takes members to err independently. Errors that they share pass for the truth."


INDEPENDENCE = Note("jury errors.independence", _independence, ("Right, by agreement alone [95 % CI]",), warns=True)


#: Rows are parts of rows of errors.
CONFUSION_COLUMNS = (
    recorded(member="whole.part.member", true="part.true", given="part.given", chance="part.chance", low="part.low",
             high="part.high", metric="whole.whole.metric"),
    Column("Member", "left", value="whole.part.member"),
    Column("True level", value="part.true", form=level_words),
    Column("Given", value="part.given", form=level_words),
    Column("Chance [95 % CI]", text=lambda row: f"{decimal(row.part.chance)} {between(row.part.low, row.part.high)}"),
)  # fmt: skip
#: Levels that a member gives more rarely than this are not in the table.
_NEVER = 0.005


def jury_tables(agreements: Sequence[JuryAgreement]) -> tuple[Table, ...]:
    """A jury's members and what they come to; and where people rated, the jury beside each member."""
    jury = agreements[0].jury.rater
    members = table_of("jury", f"{jury}: its members among themselves", agreements, MEMBER_COLUMNS,
                       notes=(jury_rule, jury_gaps))  # fmt: skip
    tables = (*_error_tables(agreements), members)
    gains = parts_of(agreements, "gains")
    if not gains:
        return tables
    columns = _gain_columns(Column("Member", "left", value="part.other"), "Jury's", "Member's")
    columns = (recorded(beats_best="whole.beats_best"), *columns)
    gain = table_of("jury_gain", f"{jury} and its members beside people", gains, columns,
                    group=_title,
                    notes=(gain_measure, *jury_verdict.texts(agreements)))  # fmt: skip
    return *tables, gain


def _error_tables(agreements: Sequence[JuryAgreement]) -> tuple[Table, ...]:
    """How often members err, where their agreement told it."""
    rows = parts_of(agreements, "errors")
    if not rows:
        return ()
    jury = agreements[0].jury
    chances = [Part(row, chance) for row in rows for chance in row.part.chances if chance.chance >= _NEVER]
    return (
        table_of("jury_errors", f"{jury.rater}: how often its members are right", rows, ERROR_COLUMNS,
                 group=_title, notes=(error_model, INDEPENDENCE)),
        table_of("jury_confusion", f"{jury.rater}: which level its members give", chances, CONFUSION_COLUMNS,
                 group=lambda row: _title(row.whole)),
    )  # fmt: skip


# -- A cascade ------------------------------------------------------------------------------------------

#: Rows are stages of a fit; and tests of thresholds, parts of such rows.
STAGE_COLUMNS = (
    recorded(metric="whole.metric"),
    Column("Judge", "left", field="judge", value="part.judge"),
    Column("Asked", field="asked", value="part.asked", form=decimal),
    Column("Settles", field="share", value="part.settled.share", form=decimal),
    Column("If as sure as", field="threshold", value="part.settled.threshold", form=decimal,
           dash="no threshold keeps the bound", optional=True),
    Column("Wrong", field="wrong", value="part.settled.wrong", form=decimal, dash="it settles nothing", optional=True),
    Column("At most", field="bound", value="part.settled.bound", form=decimal, dash="it settles nothing",
           optional=True),
    Column("A unit costs", field="cost", value="part.cost", form=lambda cost: DASH if cost is None else money(cost),
           dash="the run keeps no costs of its calls", optional=True),
    recorded(units="whole.units", cases="whole.cases"),
)  # fmt: skip
TEST_COLUMNS = (
    recorded(metric="whole.whole.metric"),
    Column("Judge", "left", field="judge", value="whole.part.judge"),
    Column("If as sure as", field="threshold", value="part.threshold", form=decimal),
    Column("Units", field="settled", value="part.settled"),
    Column("Share", field="share", value="part.share", form=decimal),
    Column("Wrong", field="wrong", value="part.wrong", form=decimal),
    Column("At most", field="bound", value="part.bound", form=decimal),
    Column("Keeps the bound", "left", field="passed", value="part.passed"),
)  # fmt: skip


@note("cascade.bound", "At most")
def cascade_bound(rows: Sequence[Part]) -> Iterator[str]:
    """What the bound is, and on what it rests."""
    terms = rows[0].whole.terms
    yield (
        "Wrong: the share of what a judge settles that people disagree with. At most: its upper bound. No judge's "
        f"share is above {100 * terms.disagreement:g} %, with a confidence of {100 * terms.confidence:g} % "
        "(fixed-sequence tests, by case where cases have several units)."
    )
    yield "Asked and Settles are shares of all units. It holds for units drawn like the labelled ones."


def cascade_tables(fits: Sequence[CascadeFit]) -> tuple[Table, ...]:
    """What each judge of a cascade settles; and the thresholds that were tried."""
    stages = parts_of(fits, "stages")
    tests = [Part(row, test) for row in stages for test in row.part.settled.tests]
    tables = (
        table_of("cascade", "What each judge settles", stages, STAGE_COLUMNS, group=_title, notes=(cascade_bound,)),
        table_of("cascade_thresholds", "Thresholds tried, from the highest on", tests, TEST_COLUMNS,
                 group=lambda row: _title(row.whole)),
    )  # fmt: skip
    return tables if tests else tables[:1]


ROUTED_COLUMNS = (
    recorded(metric="whole.metric", jury="whole.jury.rater"),
    Column("Judge", "left", field="judge", value="part.judge"),
    Column("Asked about", field="asked", value="part.asked"),
    Column("Settled", field="settled", value="part.settled"),
    Column("Calls now", field="calls", value="part.calls"),
    recorded(people="whole.people", waiting="whole.waiting", units="whole.units"),
)


def routed_tables(routed: Sequence[Routed]) -> tuple[Table, ...]:
    """What became of a run's units in a cascade."""
    title = f"{routed[0].jury.rater}: who settled what"
    return (table_of("cascade_routes", title, parts_of(routed, "judges"), ROUTED_COLUMNS, group=_title),)


# -- A learned rater beside people ----------------------------------------------------------------------


def _of_trial(agreement: str) -> Callable[[Any], Result | None]:
    """Kappa of one of a trial's agreements."""

    def kappa(trial: LearnedRaterTrial) -> Result | None:
        own = getattr(trial, agreement)
        return None if own is None else own.statistics.get("kappa")

    return kappa


def _reading(trial: LearnedRaterTrial) -> str:
    kappa = _of_trial("mean")(trial)
    return reading(kappa.estimate if kappa else None) or DASH


TRIAL_COLUMNS = (
    recorded("metric", "rater", "training_units", "training_cases", "out_of_fold",
             units=lambda trial: trial.mean.units if trial.mean else 0,
             cases=lambda trial: trial.mean.cases if trial.mean else 0),
    Column("Metric", "left", value="facts.title"),
    Column("κ [95 % CI]", field="kappa", value=_of_trial("mean"), form=share_words),
    Column("Reading", "left", text=_reading),
    Column("People's κ", field="kappa_people", value=_of_trial("people"), form=share_words),
    Column("κ with consensus", field="kappa_consensus", value=_of_trial("consensus"), form=share_words),
    Column("Human ceiling", field="kappa_ceiling", value=_of_trial("ceiling"), form=share_words),
    Column("Units", value=lambda trial: trial.mean.units if trial.mean else 0),
    Column("Cases", value=lambda trial: trial.mean.cases if trial.mean else 0),
)  # fmt: skip
TRIAL_MEANING = (
    Note(
        "learned rater.baseline",
        "The cheap baseline: a rater that knows the words and nothing of the rubric. Any judge should beat it.",
    ),
    Note(
        "learned rater.meaning",
        "κ: mean of Cohen's kappa with each person; People's κ: the mean over pairs of people. κ with consensus stands "
        "beside the human ceiling: one person against the consensus of the others.",
    ),
)
BEATS = Note(
    "learned rater.beats", "A judge beats it where the whole interval of the difference lies above 0.", ("Beats it",)
)


@note("learned rater.training")
def training(trials: Sequence[LearnedRaterTrial]) -> Iterator[str]:
    """What it learnt from, and what it was tried on."""
    for trial in trials:
        learnt = f"{counted(trial.training_units, 'unit')} of {counted(trial.training_cases, 'case')}"
        yield (
            f"{trial.facts.title}: learnt from {learnt}, and tried on the same by raters like it. Each of these learnt "
            "from four fifths of the cases and rated the others."
            if trial.out_of_fold
            else f"{trial.facts.title}: learnt from {learnt}, and tried on others."
        )


def trial_tables(trials: Sequence[LearnedRaterTrial]) -> tuple[Table, ...]:
    """Learned raters beside people; and each judge beside the learned rater, where judges rated too."""
    rater = trials[0].rater
    beside_people = table_of("learned_rater", f"{rater} beside people", trials, TRIAL_COLUMNS,
                             notes=(*TRIAL_MEANING, training))  # fmt: skip
    gains = parts_of(trials, "gains")
    if not gains:
        return (beside_people,)
    verdicts = {True: "yes", False: "not shown", None: "can't be said"}
    columns = _gain_columns(Column("Judge", "left", value="part.rater"), "Judge's", "Learned rater's",
                            Column("Beats it", "left", text=lambda row: verdicts[row.part.better]))  # fmt: skip
    judges = table_of("learned_rater_judges", f"Judges beside {rater}", gains, columns,
                      group=_title, notes=(gain_measure, BEATS))  # fmt: skip
    return beside_people, judges


# -- A judge that was asked again -----------------------------------------------------------------------


CHANGE_COLUMNS = (
    recorded("metric", "rater", "anchors", "answered", "needed", p="change.p",
             p_equivalence=lambda drift: drift.change.details.get(EQUIVALENCE),
             margin=lambda drift: drift.change.options["margin"], before=lambda drift: dict(drift.versions[0]),
             now=lambda drift: dict(drift.versions[1])),
    Column("Rubric", "left", value="facts.title", brief=True),
    Column("Anchors", text=lambda drift: f"{drift.answered} of {drift.anchors}", brief=True),
    Column("Change [95 % CI]", field="change", form=plain_words, brief=True),
    Column("p", field="p_adjusted", value="change.p_adjusted", form=p_value, brief=True,
           dash="where there is no test"),
    Column("Now another", field="moved", form=share_words, brief=True),
    Column("Verdict", "left", field="verdict", brief=True),
)  # fmt: skip
LEVEL_COLUMNS = (
    recorded(metric="whole.metric"),
    Column("Before", "left", field="level", value="part.level", brief=True),
    Column("Anchors", field="units", value="part.units", brief=True),
    Column("Still so [95 % CI]", field="kept", value="part.kept", form=share_words, brief=True),
    Column("Change of its share", field="share", value="part.share", form=share_words, dash="of labels only",
           brief=True),
)  # fmt: skip
NUMBER_COLUMNS = (
    recorded(metric="whole.metric", kind="part.kind", quantity="part.quantity"),
    Column("Number", "left", brief=True,
           text=lambda row: row.part.quantity + (", corrected by people" if row.part.kind == "corrected" else "")),
    Column("Before [95 % CI]", field="before", value="part.before", form=plain_words, brief=True),
    Column("Now [95 % CI]", field="now", value="part.now", form=plain_words, brief=True),
)  # fmt: skip


def drift_tables(drifts: Sequence[JudgeDrift]) -> tuple[Table, ...]:
    """What a judge's anchors come to; the numbers of the run and the levels where there are any."""
    who = rater_words(drifts[0].rater)
    numbers, levels = parts_of(drifts, "numbers"), parts_of(drifts, "levels")
    tables = [table_of("judge_drift", f"{who}, asked again", drifts, CHANGE_COLUMNS, notes=tuple(_drift_notes(drifts)))]
    if numbers:
        notes = (
            "Now: were every transcript rated as the anchors are now. It is the old ratings, corrected stratum by "
            "stratum by what the anchors changed by. Both intervals are over the population of cases; that of now "
            "holds the anchors' error, too. Corrected by people: the same ratings in bedside estimate, with its "
            "interval. Transcripts beside the anchors change by their stratum's mean.",
        )
        tables.append(table_of("judge_drift_numbers", f"{who}: numbers of the run", numbers, NUMBER_COLUMNS,
                               group=_title, notes=notes))  # fmt: skip
    if levels:
        notes = (
            "Still so: share of the anchors of this level that have it now. A judge that wavers keeps less than all of "
            "them without any change, and its extreme levels move towards the middle.",
        )
        tables.append(table_of("judge_drift_levels", f"{who}: level by level", levels, LEVEL_COLUMNS, group=_title,
                               notes=notes))  # fmt: skip
    return tuple(tables)


def _drift_notes(drifts: Sequence[JudgeDrift]) -> Iterator[str]:
    margin, left = drifts[0].change.options["margin"], sum(drift.left for drift in drifts)
    if left:
        every = sum(drift.anchors for drift in drifts)
        yield NoteText(
            f"Stopped early: {every - left:,} of {every:,} anchors were asked. Run the same again today, with a higher "
            "limit where one was reached: it asks the rest.", "judge drift.left", warns=True,
        )  # fmt: skip
    before: dict[str, int] = {}
    now: dict[str, int] = {}
    for drift in drifts:
        for versions, own in zip((before, now), drift.versions, strict=True):
            for version, n in own.items():
                versions[version] = versions.get(version, 0) + n
    if before or now:
        said = (version_words("", each) or "not known" for each in (before, now))
        yield NoteText("Before: {}. Now: {}.".format(*said), "judge drift.versions", warns=True)
    yield (
        "Change: of the mean level over the run's transcripts, or of the label's share that changed most. Anchors are "
        "weighted as they were drawn, by system and level. The interval is by case. p: of no change, corrected by "
        f"Holm over rubrics. The same: the two one-sided tests show that the change lies within ± {margin:g} (5 %). "
        "Now another: share of units whose level or label is another now."
    )
