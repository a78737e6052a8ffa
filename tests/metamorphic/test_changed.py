"""Facts that change move their numbers as arithmetic says, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.ratings.run import Run
from bedside.reports.table import Table
from tests.metamorphic.questions import JUDGE, Numbers, answers, moved
from tests.metamorphic.studies import Row, Study, study, written_run
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SEEDS = budget(1, 60)
LEVELS = ("empathy", "partnership")


def records(tables: Iterable[Table], name: str, *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The records of a table by some of their fields."""
    return {
        tuple(record[key] for key in keys): dict(record)
        for table in tables if table.name == name for record in table.records
    }  # fmt: skip


def _seeds(first: int) -> range:
    """Studies that have what a test needs: every third begins at ``first``."""
    return range(first, first + 3 * SEEDS, 3)


def _means(run: Run) -> dict[tuple[Any, ...], dict[str, Any]]:
    return records(bedside.tables(run, ["results"]), "results", "metric", "raters", "system")


def _again(made: Study, talks: Iterable[Row]) -> Study:
    """The study with these conversations once more, as other cases, with all their ratings."""
    again = {talk["id"]: talk for talk in talks}
    return replace(
        made,
        talks=(
            *made.talks,
            *({**talk, "id": f"{name} again", "case_id": f"{talk['case_id']} again"} for name, talk in again.items()),
        ),
        ratings=(
            *made.ratings,
            *({**row, "item": f"{row['item']} again"} for row in made.ratings if row["item"] in again),
        ),
        pairs=(),
    )


def test_all_cases_doubled_leave_means_and_kappas_and_double_n(tmp_path: Path) -> None:
    for seed in _seeds(1):
        made = replace(study(seed), pairs=())
        one = written_run(made, tmp_path / f"{seed}")
        two = written_run(_again(made, made.talks), tmp_path / f"{seed}-twice")
        before, after = _means(one), _means(two)
        assert before.keys() == after.keys()
        for key, record in before.items():
            assert after[key]["value"] == pytest.approx(record["value"], abs=1e-9), key
            assert after[key]["n"] == 2 * record["n"], key
        kappas = [records(bedside.agree(run), "agreement", "metric", "between", "statistic") for run in (one, two)]
        for key, record in kappas[0].items():
            other = kappas[1][key]
            assert (other["units"], other["cases"]) == (2 * record["units"], 2 * record["cases"])
            if key[2] in ("kappa", "ac", "percent agreement", "mae"):
                assert other["estimate"] == pytest.approx(record["estimate"], abs=1e-9, nan_ok=True), key
        differences = [records(bedside.compare(run), "comparison", "metric", "raters", "a", "b") for run in (one, two)]
        for key, record in differences[0].items():
            # Where ratings are missing, cases are weighed by variances, whose estimates divide by cases less one.
            if "with gaps" not in record["method"]:
                assert differences[1][key]["difference"] == pytest.approx(record["difference"], abs=1e-9), key
            assert differences[1][key]["n"] == 2 * record["n"], key


def test_one_conversation_doubled_counts_twice_in_the_mean(tmp_path: Path) -> None:
    for seed in _seeds(1):
        made = replace(study(seed), pairs=())
        talk = next(talk for talk in made.talks if talk["system"] == made.systems[0])
        before = _means(written_run(made, tmp_path / f"{seed}"))
        after = _means(written_run(_again(made, [talk]), tmp_path / f"{seed}-again"))
        passes = [
            row["value"]
            for row in made.ratings
            if (row["item"], row["rater"], row["metric"]) == (talk["id"], JUDGE, "empathy")
        ]
        own = sum(passes) / len(passes)
        for key, record in before.items():
            if key[2] != made.systems[0]:
                assert after[key] == record
            elif key[:2] == ("empathy", "lab/model") or key[:2] == ("empathy", JUDGE):
                n = record["n"]
                assert after[key]["n"] == n + 1
                assert after[key]["value"] == pytest.approx((n * record["value"] + own) / (n + 1))


def test_without_a_rater_their_pairs_vanish_and_the_others_stay(tmp_path: Path) -> None:
    for seed in _seeds(2):
        made = replace(study(seed), pairs=())
        kept = made.ratings if seed < 0 else tuple(row for row in made.ratings if row["rater"] != "cleo")
        runs = (
            written_run(made, tmp_path / f"{seed}"),
            written_run(replace(made, ratings=kept), tmp_path / f"{seed}-without"),
        )
        keys = ("metric", "kind", "between", "statistic")
        before, after = (records(bedside.agree(run), "agreement", *keys) for run in runs)
        pairs = {key: record for key, record in before.items() if " and human:" in key[2] and "cleo" not in key[2]}
        assert pairs
        assert {key: after[key] for key in pairs} == pairs
        assert not any("cleo" in key[2] or "cleo" in record["raters"] for key, record in after.items())
        assert any("cleo" in key[2] for key in before)


def _two_raters(made: Study, metric: str) -> tuple[list[str], list[str]]:
    by_rater = [
        {row["item"]: str(row["value"]) for row in made.ratings if (row["rater"], row["metric"]) == (rater, metric)}
        for rater in ("anna", "ben")
    ]
    shared = sorted(by_rater[0].keys() & by_rater[1].keys())
    return [by_rater[0][item] for item in shared], [by_rater[1][item] for item in shared]


def test_a_label_flipped_moves_kappa_as_scikit_learn_says(tmp_path: Path) -> None:
    for seed in _seeds(0):
        made = replace(study(seed), pairs=())
        flipped = {"yes": "no", "no": "yes"}
        place = next(
            place for place, row in enumerate(made.ratings) if (row["rater"], row["metric"]) == ("anna", "plan_agreed")
        )
        row = made.ratings[place]
        other = replace(
            made, ratings=(*made.ratings[:place], {**row, "value": flipped[row["value"]]}, *made.ratings[place + 1 :])
        )
        for number, one in enumerate((made, other)):
            run = written_run(one, tmp_path / f"{seed}-{number}")
            tables = bedside.agree(run, metrics=["plan_agreed", "empathy"], raters=["human:anna", "human:ben"])
            found = records(tables, "agreement", "metric", "kind", "statistic")
            assert found["plan_agreed", "people", "kappa"]["estimate"] == pytest.approx(
                cohen_kappa_score(*_two_raters(one, "plan_agreed"))
            )
            assert found["empathy", "people", "kappa"]["estimate"] == pytest.approx(
                cohen_kappa_score(*_two_raters(one, "empathy"), weights="quadratic", labels=list("12345"))
            )


def test_half_the_chance_is_twice_the_weight(tmp_path: Path) -> None:
    for seed in _seeds(0):
        made = replace(study(seed), pairs=())
        shared = sorted({row["item"] for row in made.ratings})
        seldom = set(shared[::2])

        def drawn(row: Row, seldom: set[str] = seldom) -> Row:
            return {**row, "drawn": 0.25 if row["item"] in seldom else 0.5} if ":" not in row["rater"] else row

        run = written_run(made.with_ratings(drawn), tmp_path / f"{seed}")
        tables = bedside.agree(run, metrics=["plan_agreed"], raters=["human:anna", "human:ben"])
        kappa = records(tables, "agreement", "kind", "statistic")["people", "kappa"]
        by_rater = [
            {
                row["item"]: row["value"]
                for row in made.ratings
                if (row["rater"], row["metric"]) == (rater, "plan_agreed")
            }
            for rater in ("anna", "ben")
        ]
        items = sorted(by_rater[0].keys() & by_rater[1].keys())
        twice = [2 if item in seldom else 1 for item in items]
        # Each system's units together stand for all of its conversations.
        system_of = {talk["id"]: talk["system"] for talk in made.talks}
        shares = {
            system: sum(own == system for own in system_of.values())
            / sum(weight for item, weight in zip(items, twice, strict=True) if system_of[item] == system)
            for system in made.systems
        }
        weights = [weight * shares[system_of[item]] for item, weight in zip(items, twice, strict=True)]
        expected = cohen_kappa_score(*([rated[item] for item in items] for rated in by_rater), sample_weight=weights)
        assert kappa["estimate"] == pytest.approx(expected)


#: Fields of a comparison whose sign turns when its systems change places.
_SIGNED = ("difference", "estimate", "effect_estimate")
_ENDS = (("difference_low", "difference_high"), ("low", "high"), ("effect_low", "effect_high"))
_OF_BOTH = ("p", "p_corrected", "n", "paired", "zeros", "ties", "shared", "method", "missing")


def _renamed(names: Mapping[str, str], talk: Row) -> Row:
    return {**talk, "system": names[talk["system"]]}


@pytest.mark.parametrize("test", ["auto", "permutation", "t", "wilcoxon", "mannwhitney", "welch"])
def test_systems_that_change_places_turn_signs(test: Any, tmp_path: Path) -> None:
    for seed in _seeds(1):
        made = replace(study(seed), pairs=())
        first, last = made.systems[0], made.systems[-1]
        names = {**dict(zip(made.systems, made.systems, strict=True)), first: "zz", last: "aa"}
        other = made.with_talks(partial(_renamed, names))
        runs = written_run(made, tmp_path / f"{seed}"), written_run(other, tmp_path / f"{seed}-turned")
        before, after = (
            records(
                bedside.compare(run, test=test, metrics=[*LEVELS, "turns"]), "comparison", "metric", "raters", "a", "b"
            )
            for run in runs
        )
        compared = 0
        for (metric, raters, a, b), record in before.items():
            if {a, b} != {first, last}:
                continue
            compared += 1
            turned = after[metric, raters, "aa", "zz"]
            for field in _OF_BOTH:
                assert turned[field] == pytest.approx(record[field], abs=1e-9), (metric, raters, field)
            assert (turned["mean_a"], turned["mean_b"]) == pytest.approx((record["mean_b"], record["mean_a"]))
            if "odds ratio" in str(record["effect"]):
                continue
            for field in _SIGNED:
                if record[field] is not None:
                    assert turned[field] == pytest.approx(-record[field], abs=1e-9), (metric, raters, field)
            for low, high in _ENDS:
                if record[low] is not None:
                    assert turned[low] == pytest.approx(-record[high], abs=1e-9), (metric, raters, low)
                    assert turned[high] == pytest.approx(-record[low], abs=1e-9), (metric, raters, high)
        assert compared


def test_a_scale_reversed_mirrors_means_and_leaves_kappa_and_p(tmp_path: Path) -> None:
    for seed in _seeds(0):
        made = replace(study(seed), pairs=())
        other = made.with_ratings(lambda row: {**row, "value": 6 - row["value"]} if row["metric"] in LEVELS else row)
        runs = written_run(made, tmp_path / f"{seed}"), written_run(other, tmp_path / f"{seed}-turned")
        before, after = (_means(run) for run in runs)
        for key, record in before.items():
            if key[0] in LEVELS:
                assert after[key]["value"] == pytest.approx(6 - record["value"])
                assert after[key]["sd"] == pytest.approx(record["sd"])
                assert after[key]["low"] == pytest.approx(6 - record["high"])
        kappas, others = (
            records(bedside.agree(run, metrics=[*LEVELS]), "agreement", "metric", "between", "statistic")
            for run in runs
        )
        for key, record in kappas.items():
            if key[2] in ("kappa", "alpha", "ac", "icc", "percent agreement", "mae", "spearman"):
                for field in ("estimate", "low", "high", "n"):
                    assert others[key][field] == pytest.approx(record[field], abs=1e-9, nan_ok=True), (key, field)
        compared, turned = (
            records(bedside.compare(run, metrics=[*LEVELS]), "comparison", "metric", "raters", "a", "b") for run in runs
        )
        for key, record in compared.items():
            for field in ("p", "p_corrected", "n"):
                assert turned[key][field] == pytest.approx(record[field], abs=1e-9), (key, field)
            assert turned[key]["difference"] == pytest.approx(-record["difference"], abs=1e-9)
        estimates, mirrored = (
            records(bedside.estimate(run, metrics=[*LEVELS]), "estimate", "metric", "quantity") for run in runs
        )
        for key, record in estimates.items():
            offset = 0 if "−" in key[1] else 6
            for field in ("naive", "human", "corrected"):
                if record[field] is not None:
                    assert mirrored[key][field] == pytest.approx(offset - record[field], abs=1e-9), (key, field)
                    assert mirrored[key][f"{field}_low"] == pytest.approx(offset - record[f"{field}_high"], abs=1e-9)


def test_preferences_told_the_other_way_round_turn_the_place_alone(tmp_path: Path) -> None:
    """Who was shown first is exchanged, and with it the answer: wins stay, and the place has the others' share."""
    turned = {"first": "second", "second": "first", "tie": "tie"}
    for seed in _seeds(1):
        made = study(seed)
        pairs = tuple(
            {**row, "first": row["second"], "second": row["first"], "preferred": turned[row["preferred"]]}
            for row in made.pairs
        )
        runs = (
            written_run(made, tmp_path / f"{seed}"),
            written_run(replace(made, pairs=pairs), tmp_path / f"{seed}-turned"),
        )
        asked: list[Numbers] = [answers(run, made.systems, ["preferences"])["preferences"] for run in runs]
        of_place = ("position_effect", "first")
        kept = [{key: value for key, value in numbers.items() if not key[2].startswith(of_place)} for numbers in asked]
        assert not moved(*kept, tolerance=1e-6)
        for key, value in asked[0].items():
            if key[0] == "position_bias" and key[2] == "first" and value is not None:
                assert asked[1][key] == pytest.approx(1 - value)
