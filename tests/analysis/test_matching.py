"""What systems are matched by: numbers by hand, a rank test of SciPy, and simulations of known truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import bedside
from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.estimation import estimate
from bedside.analysis.gate import gate
from bedside.analysis.leaderboard import standings
from bedside.analysis.non_inferiority import margins_of
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import StudyPart, checked_match
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.ratings.study_design import NO_CASE, NOT_CROSSED
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_tables
from bedside.scoring.transcript_pairs import paired_transcripts
from bedside.stats.unpaired import permutation
from bedside.transcripts.transcript import Transcript
from tests.analysis.builders import definite, has_note, rating
from tests.conftest import conversation
from tests.soak import budget

#: A transcript: its name, system, case, value and factors.
Talk = tuple[str, str, str | None, float, dict[str, Any]]
METRIC = "empathy"


def study(
    talks: Sequence[Talk],
    match: tuple[str, ...] | None = None,
    raters: Sequence[str] = ("judge:m",),
    declared: Mapping[str, Any] | None = None,
) -> RatingsView:
    """A view of these transcripts, each rated by all raters alike."""
    rows = [
        rating(name, system, case, METRIC, rater, value) for name, system, case, value, _ in talks for rater in raters
    ]
    columns = sorted({column for *_, own in talks for column in own})
    factors = pl.DataFrame(
        [
            {"transcript_id": name, **{c: None if own.get(c) is None else str(own[c]) for c in columns}}
            for name, *_, own in talks
        ],
        schema={"transcript_id": pl.String(), **dict.fromkeys(columns, pl.String())},
    )
    part = StudyPart(match=match)
    return RatingsView(frame_of(rows), {}, factors, "study", part=part, declared=dict(declared or {}))


def only(view: RatingsView) -> Comparison:
    (pair,) = compare(view).pairs
    return pair


def by_of(view: RatingsView) -> tuple[str, ...]:
    return view.matching(tuple(view.systems())).by


# -- an outcome ------------------------------------------------------------------------------------------


def half_completed(outcome: str = "completed", **more: Any) -> list[Talk]:
    """12 cases at two lengths: A always completes and gets 4, B completes half: 5 where it does, 1 where not."""
    talks: list[Talk] = []
    for case in range(12):
        for place, length in enumerate((20, 40)):
            for system in "AB":
                done = system == "A" or (case + place) % 2 == 0
                value = 4.0 if system == "A" else 5.0 if done else 1.0
                factors = {"target_length": length, outcome: done, **more}
                talks.append((f"{system}{case}-{length}", system, f"c{case}", value, factors))
    return talks


def transcripts_of(talks: Sequence[Talk]) -> list[Transcript]:
    return [
        conversation(("clinician", "Hello?"), ("patient", "Hello."), id=name, system=system, case_id=case, factors=own)
        for name, system, case, _, own in talks
    ]  # fmt: skip


@pytest.mark.parametrize(
    "talks",
    [half_completed(), half_completed(synthetic=True), half_completed("symptom_free")],
    ids=["completed", "simulated", "a name that nobody knows"],
)
def test_an_outcome_is_never_matched(talks: list[Talk]) -> None:
    """It was: of B only what it completed was left, A − B was −1.00, and the gate passed the worse system."""
    view = study(talks, raters=("judge:m", "human:anna"))
    for pair in compare(view).pairs:
        assert pair.difference.estimate == pytest.approx(1.0)
        assert (pair.mean_a, pair.mean_b, pair.unmatched_a, pair.unmatched_b) == (4.0, 3.0, 0, 0)
    assert by_of(view) == ("target_length",)
    (results,) = make_tables(view, ["results"])
    values = {(r["system"], r["value"]) for r in results.records if r["metric"] == METRIC}
    assert values == {("A", 4.0), ("B", 3.0)}
    for board in standings(view, METRIC):
        assert [(place.system, place.mean.estimate) for place in board.systems] == [("A", 4.0), ("B", 3.0)]
        assert (board.against_means, board.systems[0].ranks) == ((), (1, 1))
    verdict = gate(view, baseline="A", margins=margins_of({METRIC: 0.5}), raters=["judge:m"])
    assert not verdict.passed
    assert verdict.margins[0].test.estimate == pytest.approx(-1.0)
    difference = {each.quantity: each for each in estimate(view, judge="judge:m")}["A − B"]
    assert (difference.naive.estimate, difference.human.estimate) == pytest.approx((1.0, 1.0))


def test_no_conversations_are_paired_by_how_they_came_out(tmp_path: Path) -> None:
    """Judges and people compare A's conversation with B's at the same length, completed or not."""
    run = bedside.score(transcripts_of(half_completed()), tmp_path / "run", metrics=["structure"]).run
    pairs = paired_transcripts(run)
    assert (pairs.matched_by, len(pairs.pairs), pairs.without_partner) == (("target_length",), 24, ())
    lengths = [[name.partition("-")[2] for name in pair.transcripts] for pair in pairs.pairs]
    assert all(a == b for a, b in lengths)


# -- what is asked ---------------------------------------------------------------------------------------


def test_what_was_asked_goes_before() -> None:
    talks = half_completed("symptom_free")
    matched = only(study(talks, match=("symptom_free",)))
    # Of B the completed half is left, and of A what it has beside them.
    assert matched.difference.estimate == pytest.approx(-1.0)
    assert matched.unmatched_b == 12
    assert only(study(talks, match=())).difference.estimate == pytest.approx(1.0)
    assert by_of(study(talks, declared={"symptom_free": "condition"})) == ("symptom_free", "target_length")
    assert by_of(study(talks, declared={"target_length": "outcome"})) == ()


def test_what_is_asked_must_be_there_and_no_outcome(tmp_path: Path) -> None:
    run = bedside.score(transcripts_of(half_completed(arm="x")), tmp_path / "run", metrics=["structure"]).run
    for match, words in (("target_lenght", "'target_lenght'"), ("completed", "`match`: completed")):
        with pytest.raises(bedside.BedsideError, match=words):
            bedside.compare(run, match=match)
    assert has_note(bedside.compare(run, match="none")["comparison"], "matched by no factor")


def test_kinds_are_declared_where_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_bytes(b"".join(talk.to_json() + b"\n" for talk in transcripts_of(half_completed("calm"))))

    def scored(folder: str, **options: Any) -> Run:
        read = bedside.ReadOptions(**options)
        return bedside.score(file, tmp_path / folder, metrics=["structure"], options=read).run

    kinds = {"calm": "condition", "target_length": "outcome"}
    run = scored("run", conditions=("calm",), outcomes=("target_length",))
    assert run.declared_kinds == kinds
    assert open_ratings_view(run).matching(("A", "B")).by == ("calm",)
    options = bedside.ReadOptions(conditions=("calm",), outcomes=("target_length",))
    assert bedside.read_account(file, options).kinds_of_factors() == kinds
    # Scored again, what is declared then takes the place of it.
    assert scored("run", outcomes=("calm",)).declared_kinds == {"calm": "outcome"}
    assert scored("run").declared_kinds == {"calm": "outcome"}
    for wrong, words in (
        ({"conditions": ("clam",)}, "`conditions`: .*'clam'"),
        ({"conditions": ("calm",), "outcomes": ("calm",)}, "`conditions`: calm"),
    ):
        with pytest.raises(bedside.BedsideError, match=words):
            scored("new", **wrong)
        assert not (tmp_path / "new").exists()


# -- where no case pairs ---------------------------------------------------------------------------------


def unpaired(with_case: bool, seed: int = 1) -> list[Talk]:
    """84 and 16 sessions of one kind each, with a topic of 44 levels."""
    draw = np.random.default_rng(seed)
    talks: list[Talk] = []
    for place in range(100):
        system = "high" if place < 84 else "low"
        value = float(np.round(draw.normal(3.0 if system == "high" else 2.4, 1.0), 1))
        topic = f"topic {draw.integers(44)}"
        talks.append((f"s{place}", system, f"c{place}" if with_case else None, value, {"topic": topic}))
    return talks


@pytest.mark.parametrize("with_case", [False, True])
def test_an_incidental_column_changes_nothing_where_no_case_pairs(with_case: bool) -> None:
    talks = unpaired(with_case)
    values = [[value for _, own, _, value, _ in talks if own == system] for system in ("high", "low")]
    expected = permutation(*values)
    plain: list[Talk] = [(*talk[:4], {}) for talk in talks]
    for rows in (talks, plain):
        pair = only(study(rows))
        assert (pair.cases_a, pair.cases_b) == (84, 16)
        assert pair.test.p == expected.p
    view = study(talks)
    (factor,) = view.matching(("high", "low")).unmatched
    assert (factor.name, factor.why) == ("topic", NO_CASE)
    # As the systems' rows would be kept by hand: at topics that both have.
    high, low = ({own["topic"] for _, name, _, _, own in talks if name == system} for system in ("high", "low"))
    assert factor.kept == sum(own["topic"] in high & low for *_, own in talks)
    (table,) = make_tables(view, ["comparison"])
    assert has_note(table, f"Not matched by topic, as {NO_CASE}", f"--match topic keeps {factor.kept} of 100 ")


@pytest.mark.slow
def test_all_sessions_of_a_corpus_enter(annomi: Path, tmp_path: Path) -> None:
    """AnnoMI by its quality of counselling: 38 and 15 sessions entered, by topics that both kinds have."""
    options = bedside.ReadOptions(columns={"system": "mi_quality"})
    view = open_ratings_view(bedside.score(annomi, tmp_path / "run", options=options).run)
    values = view.transcript_values(["percent_change_talk"]).drop_nulls("value").filter(group="people")
    by_system = [values.filter(system=system)["value"].to_numpy() for system in ("high", "low")]
    expected = scipy.stats.mannwhitneyu(*by_system, method="asymptotic")
    pairs = compare(view, metrics=["percent_change_talk"], test="mannwhitney").pairs
    (pair,) = (p for p in pairs if p.raters == "people")
    assert (pair.cases_a, pair.cases_b) == (by_system[0].size, by_system[1].size) == (78, 14)
    assert pair.test.p == pytest.approx(expected.pvalue)
    assert round(expected.pvalue, 3) == 0.025
    (whole,) = (p for p in compare(view, metrics=["open_question_ratio"]).pairs if p.raters == "people")
    assert (whole.cases_a, whole.cases_b) == (84, 16)


def lost_levels(cases: int, name: str = "variant", levels: int = 3) -> list[Talk]:
    """Twelve cases of two systems, of which B lost a level of some."""
    return crossed(levels, lambda system, case, level: system == "B" and case < cases and level == levels - 1, name)


# -- what the design decides -----------------------------------------------------------------------------


def crossed(levels: int, lost: Callable[[str, int, int], bool] = lambda *_: False, name: str = "variant") -> list[Talk]:
    """12 cases of two systems at each level, less what is lost."""
    return [
        (f"{system}{case}-{level}", system, f"c{case}", float(level), {name: f"v{level}"})
        for system in "AB"
        for case in range(12)
        for level in range(levels)
        if not lost(system, case, level)
    ]


def test_a_factor_of_unknown_kind_is_matched_where_it_is_crossed_with_systems_on_cases() -> None:
    # B lost a level of two cases: compared with all of A, it would be off by the level.
    pair = only(study(lost_levels(2)))
    assert pair.difference.estimate == pytest.approx(0.0)
    assert (pair.unmatched_a, pair.unmatched_b) == (2, 0)
    # Where most of it is another's, it is said, and nothing is left out.
    view = study(lost_levels(8))
    assert by_of(view) == ()
    (factor,) = view.matching(("A", "B")).unmatched
    assert (factor.name, factor.why, factor.kept) == ("variant", NOT_CROSSED, 72 - 8 - 8)


@pytest.mark.parametrize(
    ("name", "levels", "why"),
    [
        ("model", ("small", "large"), "provenance is no condition"),
        ("time", ("before", "after"), "provenance is no condition"),
        ("grade", ("low", "high"), "a label is no condition"),
        ("sample", ("students", "patients"), "a repeat is no condition"),
        ("model", ("small", "small"), None),
        ("sample", ("1", "2"), None),
    ],
)
def test_a_condition_under_a_name_that_says_otherwise_is_named(
    name: str, levels: tuple[str, str], why: str | None
) -> None:
    """A was run at two levels of which the second is 2.5 easier, B at the first, where it is .5 better."""
    talks: list[Talk] = []
    for case in range(12):
        base = 1 + case % 3 / 2
        talks += [
            (f"a{case}", "A", f"c{case}", base, {name: levels[0]}),
            (f"a{case}x", "A", f"c{case}", base + 2.5, {name: levels[1]}),
            (f"b{case}", "B", f"c{case}", base + 0.5, {name: levels[0]}),
        ]
    view = study(talks)
    assert only(view).difference.estimate == pytest.approx(0.75)
    unmatched = [(each.name, each.why, each.kept) for each in view.matching(("A", "B")).unmatched]
    assert unmatched == ([] if why is None else [(name, why, 24)])
    if why is not None:
        assert only(study(talks, match=(name,))).difference.estimate == pytest.approx(-0.5)


@pytest.mark.parametrize("name", ["model", "day", "label", "source"])
def test_what_comes_about_by_chance_is_not_named_under_such_a_name(name: str) -> None:
    draw = np.random.default_rng(5)
    talks: list[Talk] = [
        (f"{system}{place}", system, f"c{place // 3}", 1.0, {name: f"l{draw.integers(3)}"})
        for system in "AB"
        for place in range(60)
    ]
    assert study(talks).matching(("A", "B")).unmatched == ()


@pytest.mark.parametrize(
    "name", ["len", "value", "n", "level", "share", "there", "systems", "metric", "group", "weight"]
)
def test_a_factor_may_be_called_as_columns_are(name: str) -> None:
    lost = lost_levels(2, name)
    for view in (study(lost), study(lost, match=(name,)), study(lost, declared={name: "condition"})):
        pair = only(view)
        assert by_of(view) == (name,)
        assert pair.difference.estimate == pytest.approx(0.0)
        assert (pair.unmatched_a, pair.unmatched_b) == (2, 0)


@pytest.mark.parametrize("name", ["system", "case_id"])
def test_nothing_is_matched_by_what_is_called_as_systems_and_cases_are(name: str) -> None:
    view = study(lost_levels(2, name))
    assert by_of(view) == ()
    assert only(view).difference.estimate == pytest.approx(1.0 - (10 * 1.0 + 2 * 0.5) / 12)
    with pytest.raises(bedside.BedsideError, match=f"`match`: .*{name}"):
        checked_match([name], view.factors, view.kinds(), "study")


def test_the_gate_asks_where_it_hangs_on_a_factor_whether_a_system_passes() -> None:
    """B at two engines, of which the second is 2.5 easier, and A at the first: B is better by .5, and worse by .75."""
    talks: list[Talk] = []
    for case in range(16):
        base, wobble = 3 + 0.1 * (case % 5), 0.1 * (-1) ** case
        talks.append((f"A{case}", "A", f"c{case}", base + wobble, {"engine": "x"}))
        for engine, extra in (("x", -0.75), ("y", 1.75)):
            talks.append((f"B{case}{engine}", "B", f"c{case}", base + extra, {"engine": engine}))
    margin = margins_of({METRIC: "0.3:higher"})
    with pytest.raises(DataError, match=r"engine: .* \+0\.5, and -0\.75 .*`match=engine`"):
        gate(study(talks), baseline="A", margins=margin)
    assert gate(study(talks, match=()), baseline="A", margins=margin).passed
    assert not gate(study(talks, match=("engine",)), baseline="A", margins=margin).passed


def test_a_factor_of_many_levels_is_asked_about_only_where_it_matters() -> None:
    assert by_of(study(crossed(12))) == ("variant",)
    lost = lost_levels(1, levels=12)
    with pytest.raises(bedside.BedsideError, match=r"286 of 287 .*`match=variant` or `match=none`"):
        compare(study(lost))
    assert only(study(lost, match=("variant",))).unmatched_a == 1
    assert only(study(lost, match=())).unmatched_a == 0
    assert only(study(lost, declared={"variant": "condition"})).unmatched_a == 1
    assert only(study(lost_levels(1, "persona", 12))).unmatched_a == 1


def test_a_level_with_one_transcript_a_system_matches_nothing() -> None:
    talks: list[Talk] = [
        (f"{system}{place}", system, f"c{place // 2}", 1.0, {"setting": f"{place}"})
        for system in "AB"
        for place in range(8)
    ]
    assert by_of(study(talks)) == ()


def test_an_estimate_is_of_the_settings_that_both_have() -> None:
    """A was run at 8 and 16 turns, B at 8: the difference is of 8, as a comparison's."""
    draw = np.random.default_rng(3)
    talks: list[Talk] = []
    for case in range(20):
        for system, setting, mean in (("A", "8", 2.0), ("A", "16", 4.0), ("B", "8", 2.5)):
            value = mean + float(np.round(draw.normal(0, 0.3), 2))
            talks.append((f"{system}{case}-{setting}", system, f"c{case}", value, {"setting": setting}))
    view = study(talks, raters=("judge:m", "human:anna"))
    differences = {each.quantity: each for each in estimate(view, judge="judge:m")}
    expected = np.mean([v for _, s, _, v, f in talks if s == "A" and f["setting"] == "8"]) - np.mean(
        [v for _, s, _, v, _ in talks if s == "B"]
    )
    both = differences["A − B"]
    for result in (both.naive, both.human, both.corrected):
        assert result.estimate == pytest.approx(expected)
    assert (both.matched_by, both.judged, both.unmatched) == (("setting",), 40, 20)
    assert compare(view).pairs[0].difference.estimate == pytest.approx(expected)


# -- simulations of known truth --------------------------------------------------------------------------


def _unlike(low: str, high: str) -> Callable[[np.random.Generator, float], object]:
    """Levels that say whether a score was high, but for one in ten."""
    return lambda draw, score: high if (score > 0) != (draw.random() < 0.1) else low


#: Columns that nobody means to match by, by the draw and the score: of chance, of the transcript, or of the score.
COLUMNS: dict[str, Callable[[np.random.Generator, float], object]] = {
    "nothing": lambda draw, score: None,
    "constant": lambda draw, score: "same",
    "unique": lambda draw, score: f"n{draw.integers(10**9)}",
    "two levels": lambda draw, score: f"v{draw.integers(2)}",
    "five levels": lambda draw, score: f"v{draw.integers(5)}",
    "44 levels": lambda draw, score: f"v{draw.integers(44)}",
    "dates": lambda draw, score: f"2026-0{draw.integers(1, 4)}-1{draw.integers(4)}",
    "an outcome": _unlike("calm", "upset"),
}
LENGTHS = (20, 40)


#: What B has: the first 18 of A's 24 cases, these three times, or 18 of its own.
DESIGNS = ("shared", "repeated", "apart")


def simulated(seed: int, effect: float, column: str, design: str, name: str = "x") -> list[Talk]:
    """A study with random dropout and unequal arms, A better by ``effect``; scores don't depend on the column.

    Args:
        seed: of the scores; the column is drawn by itself.
        effect: the true difference, in standard deviations of a conversation.
        column: what the column holds.
        design: one of :data:`DESIGNS`.
        name: of the column.
    """
    draw, apart = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    of_case = draw.normal(0, 0.7, 42)
    cases = {"A": range(24), "B": range(24, 42) if design == "apart" else range(18)}
    repeats = range(3 if design == "repeated" else 1)
    talks: list[Talk] = []
    for (system, lost), length, repeat in product((("A", 0.05), ("B", 0.25)), LENGTHS, repeats):
        for case in cases[system]:
            score = of_case[case] + 0.5 * (length == 40) + draw.normal(0, 1) + effect * (system == "A")
            if draw.random() >= lost:
                own = {"target_length": length, "repeat": repeat, name: COLUMNS[column](apart, score - effect / 2)}
                talks.append((f"{system}{case}-{length}-{repeat}", system, f"c{case}", float(score), own))
    return talks


@dataclass
class Tally:
    """Of studies with one column: whose interval covers the truth, which reject, and whose difference it moved."""

    covered: int = 0
    rejected: int = 0
    moved: int = 0


def tallies(seeds: Iterable[int], design: str) -> dict[str, Tally]:
    """What comes of comparisons of studies without a difference, and with one of two standard deviations."""
    counts = {column: Tally() for column in COLUMNS}
    for seed in seeds:
        for effect in (0.0, 2.0):
            plain = only(study(simulated(seed, effect, "nothing", design)))
            for column, tally in counts.items():
                pair = only(study(simulated(seed, effect, column, design)))
                interval = definite(pair.difference.interval)
                tally.covered += interval.low <= effect <= interval.high
                tally.rejected += effect == 0 and definite(pair.test.p) < 0.05
                tally.moved += pair.difference.estimate != pytest.approx(plain.difference.estimate)
                if effect:
                    assert (pair.difference.estimate or 0) > 0
                    assert (pair.test.estimate or 0) > 0
    return counts


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_incidental_columns_neither_turn_nor_hide_a_difference(design: str) -> None:
    """Of a large difference the sign is right each time; intervals cover 93–97 %; 3.5–6.5 % of nulls are rejected."""
    studies = budget(4, 400)
    for column, tally in tallies(range(studies), design).items():
        covered, rejected = tally.covered / (2 * studies), tally.rejected / studies
        # What chance does to so many studies is allowed for, at three standard errors.
        assert abs(covered - 0.95) <= 0.02 + 3 * math.sqrt(0.95 * 0.05 / (2 * studies)), column
        assert abs(rejected - 0.05) <= 0.015 + 3 * math.sqrt(0.95 * 0.05 / studies), column
        assert tally.moved <= 0.02 * studies, column


@pytest.mark.slow
def test_a_known_outcome_never_moves_a_number() -> None:
    for seed in range(10):
        for effect in (0.0, 2.0):
            talks = simulated(seed, effect, "an outcome", "repeated", name="dropout")
            plain = simulated(seed, effect, "nothing", "repeated")
            differences = [only(study(each)).difference for each in (talks, plain)]
            assert differences[0].estimate == pytest.approx(differences[1].estimate)
            assert differences[0].p == pytest.approx(differences[1].p)
