"""Tables of a judge's validation, of its probes, and of its preference for what its own model made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from operator import itemgetter
from typing import Any

from bedside.analysis.agreement import Agreement
from bedside.analysis.checked_units import Chances
from bedside.analysis.findings import validated
from bedside.analysis.fresh_view import learnt_words
from bedside.analysis.judge_accuracy import FEWEST_OF_LEVEL, LevelAccuracy, LevelDecision, is_worse, level_words
from bedside.analysis.metric_facts import facts
from bedside.analysis.rater_kinds import is_carded
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.self_preference import SelfPreference
from bedside.analysis.validation import FEWEST_CASES, FEWEST_UNITS, JudgeCard, Validation, validate
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import is_human
from bedside.reports.columns import recorded, table_of
from bedside.reports.finding_words import stand_in_reason
from bedside.reports.notes import Note, NoteText, note
from bedside.reports.number_text import (
    DASH,
    bounded_record,
    decimal,
    number,
    p_value,
    plain_words,
    rater_words,
    share_words,
)
from bedside.reports.preference_notes import position_words
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.stats.diagnostic_accuracy import DiagnosticAccuracy
from bedside.stats.equivalence import CASES, PLANNED_POWER
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result
from bedside.stats.stand_in import FEWEST_EFFECTIVE, FEWEST_OF_LOSS, JUDGE, PERSON, cases_needed
from bedside.tuning.probes.contract import BASE_LINE
from bedside.tuning.probes.movement import ProbeEffect, probe_effects
from bedside.tuning.probes.probe_record import ProbeRecord, probe_records
from bedside.tuning.tuning_ledger import label_digests, tries_words, tuning_tries

# -- A judge's preference for what its own model made ---------------------------------------------------


def self_preference_words(preference: SelfPreference) -> str:
    """How much a judge favours its own model's conversations, in one line."""
    how = "within cases" if preference.paired else "between cases"
    return (
        f"own systems ({', '.join(preference.own)}) minus others, each beside {_beside(preference)}: "
        f"{plain_words(preference.preference)} ({counted(preference.cases, 'case')}, {how})"
    )


def _beside(preference: SelfPreference) -> str:
    return "people" if preference.beside == "people" else "other judges"


@note("self-preference.meaning")
def _preference_notes(preferences: Sequence[SelfPreference]) -> Iterator[str]:
    """What the columns are, and what can't be told."""
    yield (
        "Own, Others: mean over cases of the judge's level minus the others' level of the same conversation. Own: of "
        "systems that are the judge's model; Others: of the rest. Preference: the first minus the second, t over "
        "cases; within cases where most have both kinds. p is not corrected."
    )
    judges = sorted({name for preference in preferences for name in preference.others})
    if judges:
        yield (
            f"Where nobody rated, other judges stand in for people: {', '.join(judges)}; those that made a system are "
            "left out. That shows that judges differ about its own systems, not which of them is right."
        )


PREFERENCE_COLUMNS = (
    recorded("metric"),
    Recorded(lambda preference: {
        each.name: getattr(preference, each.name)
        for each in fields(preference) if each.name not in ("facts", "preference")
    }),
    Column("Metric", "left", text=lambda preference: preference.facts.title),
    Column("Beside", "left", text=_beside),
    Column("Own systems", "left", text=lambda preference: ", ".join(preference.own)),
    Column("Cases", value="cases"),
    Column("Own", value="of_own", form=number),
    Column("Others", value="of_others", form=number),
    Column("Preference [95 % CI]", field="preference", form=plain_words),
    Column("p", field="p", value="preference.p", form=p_value),
)  # fmt: skip


def self_preference_table(preferences: Sequence[SelfPreference]) -> Table | None:
    """What a judge's levels are beside others' on its own systems and on the rest; None where nothing is known."""
    if not preferences:
        return None
    title = f"{preferences[0].rater}: self-preference"
    return table_of("self_preference", title, preferences, PREFERENCE_COLUMNS, notes=(_preference_notes,))


# -- The table of a judge's probes ----------------------------------------------------------------------

#: Cases beyond this are said as more than so many.
_MOST_CASES = 10_000


def kept_probe_tables(view: RatingsView) -> dict[str, Table]:
    """The table of each judge that was probed on the view's run, by rater; none outside a run.

    The sample was drawn from the whole run: where a part of the study is chosen, there is none.
    """
    if view.run is None or view.part.where:
        return {}
    return {record.rater: probe_table(record, view.rubrics) for record in probe_records(view.run.path)}


def _largest(effect: ProbeEffect) -> str:
    if effect.largest is None:
        return DASH
    transcript, before, after = effect.largest
    return f"{number(before, 1)} → {number(after, 1)} ({transcript})"


def reading_words(effect: ProbeEffect) -> str:
    """What is seen of a change, in words with its numbers."""
    span, margin = f"{effect.span:g}", f"{effect.margin:g}"
    if not effect.transcripts:
        return "nothing to compare"
    if effect.reading == "base line":
        return f"base line: {decimal(effect.moved)} of the levels move by themselves"
    if effect.shift.interval is None:
        return f"can't be said: {effect.shift.missing}"
    if effect.expects == "moves":
        moved = plain_words(effect.unrest)
        if effect.reading == "moved":
            return f"noticed: levels moved by {moved} of {span} more than when asked again"
        return f"not seen to be noticed: {moved} of {span}"
    shift = plain_words(effect.shift)
    if effect.reading == "moved":
        return f"moved by {shift} of {span}" + (f", by less than {margin}" if effect.within_margin else "")
    if effect.reading == "stayed":
        return f"stayed within ± {margin} of {span}: {shift}"
    return f"can't be said: between {_ends(effect)} of {span}{_wanted(effect)}"


def _ends(effect: ProbeEffect) -> str:
    bounds = effect.shift.interval
    assert bounds is not None
    return f"{number(bounds.low)} and {number(bounds.high)}"


def _wanted(effect: ProbeEffect) -> str:
    """How many cases would show that a level stays, where it does."""
    cases = effect.equivalence.details.get(CASES)
    if cases is None or cases <= effect.cases:
        return ""
    words = f"{cases:,.0f}" if cases <= _MOST_CASES else f"more than {_MOST_CASES:,}"
    return f"; {words} cases might show it"


def _notes(record: ProbeRecord, effects: Sequence[ProbeEffect]) -> Iterator[str]:
    judged = "once" if record.passes == 1 else f"{record.passes} times"
    yield (
        f"{counted(record.sampled, 'transcript')} of {record.of:,}, drawn with seed {record.seed}, as many of each "
        f"system as there are; each prompt asked {judged}, the original twice as often. Effects speak of such a sample."
    )
    yield (
        "Shift: the level with the change minus the level without it; of a good or poor answer, late minus early. It "
        "is the mean over cases, in the rubric's levels; a transcript without a case is a case of its own. In SDs: of "
        "the original levels. Moved: share of transcripts whose level moved."
    )
    yield (
        "Beyond asking again: how much more levels move, in either direction, than when the same prompt is asked "
        "again. It is tested only where clinician and patient are swapped, which a judge must notice."
    )
    tested = [effect for effect in effects if effect.tested.p is not None]
    if tested:
        margins = ", ".join(dict.fromkeys(f"± {effect.margin:g}" for effect in effects))
        yield (
            f"Levels are said to have moved where p, corrected by Holm for {counted(len(tested), 'test')}, is below "
            f".05. They are said to have stayed where the 90 % interval, not corrected, lies within {margins}. What "
            "is neither is left open: a wide interval is no sign of a steady judge. Cases that might show it: for a "
            f"chance of {100 * PLANNED_POWER:.0f} %, were there no shift at all."
        )
    padded = [f"{effect.title}: {effect.added:,.0f}" for effect in effects if effect.added]
    if padded:
        yield f"Words added to a conversation, on average: {'; '.join(dict.fromkeys(padded))}."
    if record.translation is not None:
        yield (
            f"Translations: {record.translation}. What they lose can't be told from what the judge does with the "
            "language."
        )
    yield from record.notes
    yield from _missing_notes(effects)


def _missing_notes(effects: Sequence[ProbeEffect]) -> Iterator[str]:
    """Why transcripts aren't compared; reasons that several changes share stand once."""
    titles: dict[str, list[str]] = {}
    for effect in effects:
        for reason, count in effect.missing.items():
            titles.setdefault(reason, []).append(f"{effect.title} ({count:,})")
    for reason, changes in titles.items():
        several = list(dict.fromkeys(changes))
        listed = ", ".join(several) if len(several) < len(effects) or len(several) < 4 else "all changes"
        yield f"Not compared, {listed}: {reason}."


def _probe_record(effect: ProbeEffect) -> dict[str, Any]:
    equivalence = effect.equivalence.interval
    largest = effect.largest or (None, None, None)
    return {
        "rubric": effect.rubric, "probe": effect.probe, "variant": effect.variant,
        "title": effect.title, "expects": effect.expects, "transcripts": effect.transcripts, "cases": effect.cases,
        **bounded_record("shift", effect.shift), "p": effect.tested.p, "p_adjusted": effect.tested.p_adjusted,
        "tests": effect.tested.family_size, "in_sds": effect.standardised, "of_scale": effect.share_of_scale,
        "span": effect.span, "moved": effect.moved, "moved_again": effect.moved_again,
        **bounded_record("beyond_asking_again", effect.unrest), "margin": effect.margin,
        "p_equivalence": effect.equivalence.p,
        "equivalence_low": None if equivalence is None else equivalence.low,
        "equivalence_high": None if equivalence is None else equivalence.high,
        "cases_needed": effect.equivalence.details.get(CASES),
        "words_added": effect.added, "largest_transcript": largest[0], "largest_before": largest[1],
        "largest_after": largest[2], "missing": sum(effect.missing.values()),
        "missing_reasons": "; ".join(f"{reason} ({count:,})" for reason, count in effect.missing.items()),
        "reading": effect.reading,
        "words": reading_words(effect), "base_line": effect.probe == BASE_LINE,
    }  # fmt: skip


PROBE_COLUMNS = (
    Recorded(_probe_record),
    Column("Change", "left", text=lambda effect: effect.title[0].upper() + effect.title[1:]),
    Column("Transcripts", value="transcripts"),
    Column("Cases", value="cases"),
    Column("Shift [95 % CI]", value=lambda effect: effect.shift, form=plain_words),
    Column("In SDs", value="standardised", form=number),
    Column("Moved", value="moved", form=decimal),
    Column("Beyond asking again [95 % CI]", value="unrest", form=plain_words),
    Column("Largest", "left", text=_largest),
    Column("What is seen", "left", text=reading_words),
)


def probe_table(record: ProbeRecord, rubrics: Mapping[str, Rubric] | None = None, *, name: str = "probes") -> Table:
    """What each change does to a judge's levels.

    Args:
        record: what the judge was probed with.
        rubrics: those of the user's own.
        name: of the table's files.
    """
    effects = probe_effects(record)
    return table_of(
        name,
        f"{record.rater}: probes",
        effects,
        (Recorded(lambda effect: {"rater": record.rater}), *PROBE_COLUMNS),
        group=lambda effect: facts(effect.rubric, rubrics or {}).title,
        notes=tuple(_notes(record, effects)),
    )


# -- Tables of how well a judge tells yes from no -------------------------------------------------------

#: The rows of a metric: who is set against people.
_AGAINST = ("judge", "people")


def accuracy_tables(card: JudgeCard, position: int) -> tuple[Table, ...]:
    """The tables of a card that have something to show."""
    decided = [(validation, decision) for validation in card.validations for decision in validation.decisions]
    with_yes = [validation for validation in card.validations if validation.accuracy is not None]
    with_expected = [validation for validation in card.validations if validation.calibration is not None]
    tables = [_decisions(card.rater, decided, position)] if decided else []
    if with_yes:
        tables.append(table_of(
            f"accuracy_{position}", f"{card.rater}: yes or no beside people", _accuracy_rows(with_yes),
            ACCURACY_COLUMNS, group=lambda row: f"{row.validation.facts.title}: {level_words(row.accuracy.level)}",
            notes=ACCURACY_NOTES,
        ))  # fmt: skip
    if with_expected:
        title = f"{card.rater}: expected levels beside people"
        name, notes = f"calibration_{position}", (CALIBRATION_NOTE,)
        tables.append(table_of(name, title, with_expected, CALIBRATION_COLUMNS, notes=notes))
    return tuple(tables)


def _of_test(name: str, form: Callable[[Result], Any]) -> Callable[[tuple[Validation, LevelDecision]], Any]:
    """What a cell or record has of one of a decision's tests."""
    return lambda row: next((form(test) for test in row[1].tests if test.name.startswith(name)), DASH)


def _two_shares(test: Result) -> str:
    return f"{decimal(test.details.get(JUDGE))}, {decimal(test.details.get(PERSON))}"


def _decided(row: tuple[Validation, LevelDecision]) -> str:
    decision = row[1]
    tests = sum(len(other.tests) for other in row[0].decisions)
    worse = any(is_worse(test, tests) for test in decision.tests)
    return "yes" if decision.is_shown else "no" if worse else "not known"


def _needed(row: tuple[Validation, LevelDecision]) -> str:
    tests = row[1].tests
    most = cases_needed(tests) if _decided(row) == "not known" else None
    if most is None or most <= tests[0].n:
        return DASH
    return f"{most:,.0f}" if most <= _MOST_CASES else f"over {_MOST_CASES:,}"


def _decision_record(row: tuple[Validation, LevelDecision]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for test in row[1].tests:
        name = test.name.partition(",")[0]
        record |= {**bounded_record(f"{name}_difference", test), f"{name}_p": test.p, f"{name}_missing": test.missing}
        record |= {f"{name}_{key.replace(' ', '_')}": value for key, value in test.details.items()}
    return record


_NOT_GIVEN = "people gave it to no unit, or to all"
_NO_LOSS = "where there are more than two levels, and none at which a transcript fails"
_LOSS_COLUMNS = (
    Column("Judge, person", group="Loss", text=_of_test("loss", _two_shares), dash=_NO_LOSS),
    Column("Difference [90 % CI]", group="Loss", text=_of_test("loss", share_words), dash=_NO_LOSS),
)
DECISION_COLUMNS = (
    recorded(metric=lambda row: row[0].metric, rater=lambda row: row[0].rater, decision=lambda row: row[1].words,
             given_by_people=lambda row: row[1].given, units=lambda row: row[1].units),
    Recorded(_decision_record),
    Column("Decision", "left", text=lambda row: row[1].words),
    Column("Given by people", text=lambda row: f"{row[1].given:,} of {row[1].units:,}"),
    Column("Judge, person", group="Sensitivity", text=_of_test("sensitivity", _two_shares), dash=_NOT_GIVEN),
    Column("Difference [90 % CI]", group="Sensitivity", text=_of_test("sensitivity", share_words), dash=_NOT_GIVEN),
    Column("Judge, person", group="Specificity", text=_of_test("specificity", _two_shares), dash=_NOT_GIVEN),
    Column("Difference [90 % CI]", group="Specificity", text=_of_test("specificity", share_words), dash=_NOT_GIVEN),
)  # fmt: skip


@note("decisions.meaning")
def _decision_notes(rows: Sequence[tuple[Validation, LevelDecision]]) -> Iterator[str]:
    margin = rows[0][1].tests[0].options["margin"]
    yield (
        "Each person in turn says what is so. The judge, and each other person, is set beside them. Units count that "
        "two people or more rated. Difference: judge minus one person; of losses the person's minus the judge's."
    )
    yield (
        f"No worse: by one-sided tests of 5 % over cases, within a margin of {decimal(margin)}, or of half of one "
        f"person's share where that is less. Nothing is shown with fewer than {FEWEST_EFFECTIVE} cases in effect, or "
        f"{FEWEST_OF_LOSS} of a loss. No: worse by more, corrected over a metric's tests. Cases needed: for a "
        "chance of 80 %, were the judge as good as a person."
    )
    if any(validation.has_loss for validation, _ in rows):
        yield (
            "Loss: what misses and false alarms cost, as a share of what a rater loses who never looks and takes the "
            "cheaper answer throughout."
        )


def _decisions(rater: str, rows: Sequence[tuple[Validation, LevelDecision]], position: int) -> Table:
    columns = (
        *DECISION_COLUMNS,
        *(_LOSS_COLUMNS if any(validation.has_loss for validation, _ in rows) else ()),
        Column("No worse", "left", text=_decided),
        Column("Cases needed", text=_needed, dash="it is shown already, as many are there, or it can't be told"),
    )
    return table_of(f"decisions_{position}", f"{rater}: no worse than one person in each decision?", rows, columns,
                    group=lambda row: row[0].facts.title, notes=(_decision_notes,))  # fmt: skip


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """How well the judge, or one person, tells yes from no."""

    validation: Validation
    accuracy: LevelAccuracy
    who: str
    shares: DiagnosticAccuracy


def _accuracy_rows(validations: Sequence[Validation]) -> Iterator[AccuracyRow]:
    for validation in validations:
        for against in _AGAINST:
            shares: DiagnosticAccuracy | None = getattr(validation.accuracy, against)
            if validation.accuracy is not None and shares is not None:
                yield AccuracyRow(validation, validation.accuracy, against, shares)


def _share(title: str, name: str) -> Column:
    return Column(title, field=name, value=f"shares.{name}", form=share_words,
                  dash="no unit of that answer to take a share of")  # fmt: skip


ACCURACY_COLUMNS = (
    recorded(
        metric="validation.metric", rater="validation.rater", who="who",
        level=lambda row: level_words(row.accuracy.level), given_by_people="accuracy.given", units="accuracy.units",
        cases="validation.cases",
    ),
    Column("Who", "left", text=lambda row: "the judge" if row.who == "judge" else "one person"),
    Column("Yes by people", text=lambda row: f"{row.accuracy.given:,} of {row.accuracy.units:,}"),
    Recorded(lambda row: bounded_record("prevalence", row.shares.prevalence)),
    _share("Sensitivity [95 % CI]", "sensitivity"),
    _share("Specificity [95 % CI]", "specificity"),
    _share("Predictive value of yes", "positive_predictive_value"),
    _share("Predictive value of no", "negative_predictive_value"),
)  # fmt: skip
ACCURACY_NOTES = (
    Note(
        "accuracy.meaning",
        "Each person in turn is the truth, and each unit has one vote. Sensitivity: of people's yeses, the share to "
        "which it says yes, too; specificity: of their noes, the share to which it says no. One person: the same of "
        "one person against each other person, the figure to set it against.",
    ),
    Note(
        "accuracy.yes",
        "Yes by people: units to which at least one person said yes. Predictive values hold where yes is as frequent "
        "as here. Intervals are by case (jackknife on the logit scale; Wilson's where each unit is a case of its own "
        "with one rating).",
    ),
)


CALIBRATION_COLUMNS = (
    Column("Metric", "left", text=lambda validation: validation.facts.title),
    recorded("metric", "rater"),
    Column("Units", field="units", value="calibration.units"),
    Column("Expected − people [95 % CI]", field="surplus", value="calibration.curve.surplus", form=plain_words),
    Column("Calibration error", field="calibration_error", value="calibration.curve.error.estimate", form=number),
    Column("By chance", field="calibration_error_by_chance", value="calibration.curve.by_chance", form=number),
    Column("AUC [95 % CI]", field="auc", value="calibration.area", form=share_words),
    recorded(points=lambda validation: "; ".join(
        f"{decimal(point.expected)} → {decimal(point.observed.estimate)}"
        for point in validation.calibration.curve.points
    )),
)  # fmt: skip
CALIBRATION_NOTE = Note(
    "calibration.meaning",
    "Expected: the mean of the levels by the judge's own probabilities; of 0 and 1 the probability of a 1. Calibration "
    "error: how far people's mean lies from it, the mean over up to ten groups of units of like expectation, in "
    "levels. By chance: the error that a judge whose expectations hold would show on as many units. AUC: how often a "
    "yes of people is expected more than a no; of two levels only.",
)


# -- Tables of a judge's validation ---------------------------------------------------------------------


def validation_tables(cards: Sequence[JudgeCard], view: RatingsView | None = None) -> tuple[Table, ...]:
    """For each judge: what it is (the judge card), its agreement with people, its bias and steadiness.

    Where there are two levels, its sensitivity and specificity; where it gives expected levels, whether they come true;
    where the view's run keeps probes of it, what was seen.
    """
    probes = {} if view is None else kept_probe_tables(view)
    tables: list[Table] = []
    for position, card in enumerate(cards, 1):
        title = f"{card.rater} beside people"
        agreement = table_of(f"validation_{position}", title, card.validations, AGREEMENT_COLUMNS,
                             notes=tuple(_agreement_notes(card)))  # fmt: skip
        agreement = replace(agreement, notes=(*agreement.notes, *_tries_notes(card, view)))
        tables += [_card(card, position), agreement, _bias(card, position)]
        tables += accuracy_tables(card, position)
        if card.rater in probes:
            tables.append(replace(probes[card.rater], name=f"probes_{position}"))
    return tuple(tables)


def _tries_notes(card: JudgeCard, view: RatingsView | None) -> Iterator[NoteText]:
    """How many tunings were tried on the labels that a tuned judge is checked by."""
    if view is None or view.run is None or "+" not in card.rater:
        return
    for validation in card.validations:
        metric = validation.metric
        tries = tuning_tries(view.run.path, metric, label_digests(view, metric))
        if any(card.rater.startswith(f"{each.judge}+") for each in tries) and (words := tries_words(tries)):
            yield NoteText(f"{validation.facts.title}: {words}", "validation.tries", warns=True)


def cards_of(view: RatingsView, seed: int = 0) -> tuple[JudgeCard, ...]:
    """The cards of a run's judges, juries and learned raters, computed once; none where no person rated the same."""

    def compute() -> tuple[JudgeCard, ...]:
        judges = [rater for rater in view.raters() if is_carded(view, rater)]
        with suppress(DataError):
            return validate(view, judges=judges, seed=seed) if judges else ()
        return ()

    return view.once(("judge cards", seed), compute)


def card_tables(view: RatingsView, seed: int = 0) -> tuple[Table, ...]:
    """The cards of a run's judges, juries and learned raters; none where none of them and no person rated the same.

    Probes of judges without a card follow.
    """
    cards = cards_of(view, seed)
    carded = {card.rater for card in cards}
    without_card = [table for rater, table in kept_probe_tables(view).items() if rater not in carded]
    numbered = (
        replace(table, name=f"probes_{position}") for position, table in enumerate(without_card, len(cards) + 1)
    )
    return (*validation_tables(cards, view), *numbered)


def _card(card: JudgeCard, position: int) -> Table:
    facts = [
        *card.facts,
        *((f"Position, {bias.facts.title}", position_words(bias)) for bias in card.positions),
        *(
            (f"Self-preference, {preference.facts.title}", self_preference_words(preference))
            for preference in card.self_preferences
        ),
    ]
    columns = (
        Recorded(lambda fact: {"rater": card.rater, "what": fact[0], "value": fact[1]}),
        Column("", "left", text=itemgetter(0)),
        Column("", "left", text=itemgetter(1)),
    )
    return table_of(f"judge_card_{position}", f"Judge card: {card.rater}", facts, columns)


def _kappa(validation: Validation) -> Result | None:
    return _statistic(validation.mean, "kappa")


def _agreement_notes(card: JudgeCard) -> Iterator[str]:
    """What the columns are, how the units were drawn, and why there is no yes."""
    yield (
        "κ: mean of Cohen's kappa of the judge with each person; People's κ: the mean over pairs of people, the figure "
        "to set it against."
    )
    tests = [validation.alternative for validation in card.validations if validation.alternative is not None]
    if tests:
        yield (
            "ω: share of people whom the judge is shown to equal, up to a shortfall of ε = "
            f"{tests[0].epsilon:g} (Calderon et al. 2025). ρ: mean share of units on which it is at least as close to "
            "the other people as the one left out."
        )
        yield (
            "It may stand in for one of these people where it is shown no worse than one in every decision. A decision "
            "is a level, or a cut of an ordered scale. Of numbers without levels, ω must be .5 or more. It takes "
            f"{FEWEST_UNITS} units or more of {FEWEST_CASES} cases or more. κ (or α) must be above 0 with its whole "
            f"interval. It must give every level that people gave to {FEWEST_OF_LEVEL} units or more."
        )
        methods = dict.fromkeys(test.method.capitalize() for test in tests)
        by_case = any("clusters" in test.method for test in tests)
        cases = " Clusters are cases; a transcript without one is a case of its own." if by_case else ""
        yield f"{'; '.join(methods)}.{cases}"
    lacking = [validation.alternative for validation in card.validations]
    for reason in dict.fromkeys(
        "fewer than two people rated" if test is None else test.missing or ""
        for test in lacking
        if test is None or test.winning_rate is None
    ):
        yield f"{DASH} ω, ρ: {reason}."
    with_consensus = [
        f"{validation.facts.title} {validation.consensus.units:,} of {validation.with_people:,}"
        for validation in card.validations
        if validation.consensus is not None and "ac" in validation.consensus.statistics
    ]
    if with_consensus:
        yield (
            "AC: Gwet's, of the judge with the consensus of people, on the units where they reach one: "
            f"{', '.join(with_consensus)}."
        )
    yield from _drawing_notes(card.validations)
    if lacking_loss := [validation.facts.title for validation in card.validations if validation.lacks_loss]:
        text = f"The loss is not asked of {', '.join(lacking_loss)}: it takes two levels, or a level that fails."
        yield NoteText(text, "validation.no loss", warns=True)
    for validation in card.validations:
        constant = validation.mean.constant if validation.mean is not None else {}
        people = [f"{rater_words(rater)} only {level}" for rater, level in constant.items() if is_human(rater)]
        if people:
            text = (
                f"{validation.facts.title}: one level given to everything ({', '.join(people)}); a yes beside such a "
                "person says little."
            )
            yield NoteText(text, "validation.constant people", warns=True)
        if not validation.stands_in:
            yield f"{validation.facts.title}: {_MAY_STAND_IN[validation.stands_in]}, {_reason(validation)}."


_DRAWING: Mapping[Chances, str] = {
    "equal": "People's units were drawn with one chance each.",
    "unequal": "People's units were drawn with chances that differ. κ, AC, ω, ρ, bias, limits of agreement, "
    "sensitivity, specificity and calibration weigh each unit by one over its chance. So they speak of all units that "
    "were drawn from.",
    "unknown": "All figures are of the units that people rated: with what chance these were drawn is not known.",
    "none": "All figures are of the units that people rated: each was picked for what it is, and none was drawn.",
}


def _drawing_notes(validations: Sequence[Validation]) -> Iterator[str]:
    """How people's units were drawn, and which are left out; by metric where that differs."""
    for chances in dict.fromkeys(validation.chances for validation in validations):
        titles = [validation.facts.title for validation in validations if validation.chances == chances]
        text = (f"{', '.join(titles)}: " if len(titles) < len(validations) else "") + _DRAWING[chances]
        yield NoteText(text, "validation.drawing", warns=chances != "equal")
    for validation in validations:
        if validation.picked:
            yield (
                f"{validation.facts.title}: {counted(validation.picked, 'unit')} that people rated, picked for what "
                "they are (such as disagreement) and not drawn, are left out."
            )
        if validation.adjudicated:
            yield (
                f"{validation.facts.title}: {counted(validation.adjudicated, 'unit')} adjudicated. The consensus, "
                "bias, limits of agreement, sensitivity, specificity and calibration take the final label. κ with each "
                "person, people's κ, ω and ρ take what the raters said themselves."
            )
        if validation.learnt:
            units = counted(validation.learnt, "unit")
            yield learnt_words(validation.facts.title, validation.rater, units)


def _validation_record(validation: Validation) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "metric": validation.metric, "rater": validation.rater, "rated": validation.rated,
        "with_people": validation.with_people, "cases": validation.cases, "chances": validation.chances,
        "picked": validation.picked, "learnt": validation.learnt, "failures": validation.failures,
        "adjudicated": validation.adjudicated,
        "passes": validation.passes,
        "may_stand_in": validation.stands_in, "why": "" if validation.stands_in else _reason(validation),
    }  # fmt: skip
    results: dict[str, Result | None] = {
        "kappa": _kappa(validation),
        "kappa_people": _statistic(validation.people, "kappa"),
        "kappa_consensus": _statistic(validation.consensus, "kappa"),
        "kappa_ceiling": _statistic(validation.ceiling, "kappa"),
        "ac_consensus": _statistic(validation.consensus, "ac"),
        "self_alpha": validation.self_agreement,
        "bias": validation.bias,
        "length": validation.length,
    }
    for name, result in results.items():
        record |= bounded_record(name, result)
    limits = validation.limits.details if validation.limits else {}
    for name in ("lower limit", "upper limit"):
        column = name.replace(" ", "_")
        record[column] = limits.get(name)
        record |= {f"{column}_{end}": limits.get(f"{name}, {end}") for end in ("low", "high")}
    test = validation.alternative
    record |= {
        "omega": test.winning_rate if test else None, "rho": test.advantage if test else None,
        "epsilon": test.epsilon if test else None,
    }  # fmt: skip
    beside = _beside_people(validation)
    shares = beside.prevalence if beside else {}
    record["prevalence"] = "; ".join(f"{label} {share:.4f}" for label, share in shares.items())
    return record


_MAY_STAND_IN = {True: "yes", False: "no", None: "not known"}


def _reason(validation: Validation) -> str:
    return stand_in_reason((validated(validation),))


def _beside_people(validation: Validation) -> Agreement | None:
    """The consensus of people, or else the mean over them, that a judge stands beside."""
    return validation.consensus or validation.mean


def _statistic(agreement: Agreement | None, name: str) -> Result | None:
    return agreement.statistics.get(name) if agreement else None


def _reading(validation: Validation) -> str:
    kappa = _kappa(validation)
    return reading(kappa.estimate if kappa else None) or DASH


def _limits(validation: Validation) -> str:
    limits = validation.limits.details if validation.limits else {}
    low, high = limits.get("lower limit"), limits.get("upper limit")
    return f"{number(low)} to {number(high)}" if low is not None and high is not None else DASH


def _most_used(validation: Validation) -> str:
    beside = _beside_people(validation)
    if not beside or not beside.prevalence:
        return DASH
    most = max(beside.prevalence, key=lambda label: beside.prevalence[label])
    return f"{most} ({decimal(beside.prevalence[most])})"


_METRIC = (
    Recorded(_validation_record),
    Column("Metric", "left", text=lambda validation: validation.facts.title, brief=True),
)
AGREEMENT_COLUMNS = (
    *_METRIC,
    Column("Units", value="with_people", brief=True),
    Column("Cases", value="cases"),
    Column("κ [95 % CI]", text=lambda validation: share_words(_kappa(validation)), brief=True),
    Column("Reading", "left", text=_reading),
    Column("People's κ", text=lambda validation: share_words(_statistic(validation.people, "kappa")), brief=True),
    Column("AC [95 % CI]", text=lambda validation: share_words(_statistic(_beside_people(validation), "ac"))),
    Column("ω", value=lambda validation: getattr(validation.alternative, "winning_rate", None), form=decimal),
    Column("ρ", value=lambda validation: getattr(validation.alternative, "advantage", None), form=decimal),
    Column("May stand in", "left", brief=True,
           text=lambda validation: _MAY_STAND_IN[validation.stands_in]),
)  # fmt: skip
_NUMBERS = "of levels, and not of labels, on two units or more that differ"
BIAS_COLUMNS = (
    *_METRIC,
    Column("Bias [95 % CI]", text=lambda validation: plain_words(validation.bias), dash=_NUMBERS),
    Column("Limits of agreement", text=_limits, dash=_NUMBERS),
    Column("Length r [95 % CI]", text=lambda validation: share_words(validation.length), dash=_NUMBERS),
    Column("Own α [95 % CI]", text=lambda validation: share_words(validation.self_agreement),
           dash="of a judge that was asked several times"),
    Column("Most used level", text=_most_used, dash="of a metric that people rated too"),
)  # fmt: skip
BIAS_NOTE = Note(
    "bias.meaning",
    "Bias: mean of the judge minus people's mean, its interval by case. Limits of agreement: Bland and Altman's, 1.96 "
    "standard deviations; their intervals stand in the files of this table. Length r: Spearman's correlation of that "
    "difference, by transcript, with the number of turns. Own α: Krippendorff's alpha of the judge's passes. Most used "
    "level: among the ratings compared, with its share.",
)


def _bias(card: JudgeCard, position: int) -> Table:
    title = f"{card.rater}: bias and steadiness"
    return table_of(f"bias_{position}", title, card.validations, BIAS_COLUMNS, notes=(BIAS_NOTE,))
