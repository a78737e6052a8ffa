"""Where systems stand: means, letters and ranks by hand, and the error rate of what is told apart, by simulation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import bedside
from bedside.analysis.leaderboard import Standings, standings
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.files import cells_digest
from bedside.ratings.table import frame_of
from bedside.simulation.simulated_costs import simulated_costs
from tests.soak import budget

#: Higher is better.
METRIC = "history_f1"


def view_of(
    values: Mapping[str, Mapping[Any, float | None]], *, metric: str = METRIC, rater: str = "judge:x"
) -> RatingsView:
    """Ratings by system, and by case, persona, setting and repeat."""
    rows, factors = [], []
    for system, own in values.items():
        for place, value in own.items():
            case, persona, setting, repeat = (*place, "p", "s", "1")[: len(place)] + ("p", "s", "1")[len(place) - 1 :]
            name = "/".join((system, case, persona, setting, repeat))
            error = "no answer" if value is None else None
            rows.append((name, system, case, "transcript", metric, rater, 0, value, None, None, error))
            factors.append(
                {"transcript_id": name, "persona": persona, "setting": setting, "repeat": repeat, "synthetic": "True"}
            )
    return RatingsView(frame_of(rows), {}, pl.DataFrame(factors), "invented")


def only(view: RatingsView) -> Standings:
    (found,) = standings(view, view.metrics()[0])
    return found


def test_means_letters_and_ranks_by_hand() -> None:
    draw = np.random.default_rng(1)
    noise = draw.normal(size=12) * 0.01
    values = {
        name: {(f"c{case}",): base + noise[case] * sign for case in range(12)}
        for name, base, sign in (("low", 0.2, 1.0), ("high", 0.8, -1.0), ("twin", 0.8, -1.0))
    }
    found = only(view_of(values))
    assert [standing.system for standing in found.systems] == ["high", "twin", "low"]
    assert [standing.letters for standing in found.systems] == ["a", "a", "b"]
    assert [standing.ranks for standing in found.systems] == [(1, 2), (1, 2), (3, 3)]
    own = np.array(list(values["high"].values()))
    interval = found.systems[0].mean.interval
    assert interval is not None
    for end in (interval.low, interval.high):
        # Each end lies t of its own standard errors off: of values from 0 to 1 these go with √(p(1 − p)).
        error = scipy.stats.sem(own) * np.sqrt(end * (1 - end) / (own.mean() * (1 - own.mean())))
        assert abs(end - own.mean()) == pytest.approx(scipy.stats.t.ppf(0.975, 11) * error)
    # Holm over the two pairs that differ; the twins' differences are all 0. One pattern of signs in 4,096 is as extreme
    # on each side, by ranks as by means, and counts half in mid-p.
    p = scipy.stats.wilcoxon(own, np.array(list(values["low"].values())), method="exact").pvalue
    tested = [pair.test for pair in found.comparisons if pair.test.p is not None]
    assert min(test.p_adjusted or 1.0 for test in tested) == pytest.approx(p / 2 * len(tested))


def test_lower_is_better_turns_the_order() -> None:
    values = {name: {(f"c{case}",): base + case / 100 for case in range(10)} for name, base in (("a", 5.0), ("b", 2.0))}
    found = only(view_of(values, metric="meta_probe_rate"))
    assert [(each.system, each.ranks) for each in found.systems] == [("b", (1, 1)), ("a", (2, 2))]


def test_a_case_counts_once_and_what_is_lost_is_matched() -> None:
    """The harder setting is lost for one system: where both have it, they are alike."""
    easy, hard = 0.9, 0.1
    full = {
        (f"c{case}", "p", setting): value + case / 1000
        for case, (setting, value) in product(range(8), (("easy", easy), ("hard", hard)))
    }
    partial = {place: value for place, value in full.items() if place[2] == "easy" or place[0] in ("c0", "c1")}
    found = only(view_of({"full": full, "partial": partial}))
    assert [standing.letters for standing in found.systems] == ["a", "a"]
    assert found.by_system["partial"].mean.estimate == pytest.approx(
        np.mean([0.5, 0.501, *(0.9 + case / 1000 for case in range(2, 8))])
    )
    (pair,) = found.comparisons
    assert pair.difference.estimate == pytest.approx(0)
    assert pair.unmatched_a == 6


def test_what_has_no_value_stands_last_without_letters() -> None:
    values: dict[str, dict[tuple[str, ...], float | None]] = {
        "b": {(f"c{case}",): 0.5 + case / 10 for case in range(5)},
        "a": {(f"c{case}",): None for case in range(5)},
    }
    found = only(view_of(values))
    assert [standing.system for standing in found.systems] == ["b", "a"]
    assert (found.systems[1].letters, found.systems[1].ranks, found.systems[1].values.missing_cases) == ("", None, 5)
    assert found.systems[0].ranks == (1, 1)
    assert found.why == "no answer"


def test_shares_have_wilsons_interval_and_one_system_is_told_from_nobody() -> None:
    found = only(view_of({"a": {(f"c{case}",): float(case < 3) for case in range(10)}}))
    standing = found.systems[0]
    reference = scipy.stats.binomtest(3, 10).proportion_ci(method="wilson")
    assert standing.mean.interval is not None
    assert (standing.mean.interval.low, standing.mean.interval.high) == pytest.approx(tuple(reference))
    assert (standing.letters, standing.ranks, found.comparisons) == ("a", (1, 1), ())


def test_a_case_that_is_had_twice_counts_once_in_wilsons_interval() -> None:
    twice = product(range(10), "12")
    values = {"a": {(f"c{case}", "p", "s", repeat): float(case < 10) for case, repeat in twice}}
    interval = only(view_of(values)).systems[0].mean.interval
    reference = scipy.stats.binomtest(10, 10).proportion_ci(method="wilson")
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(tuple(reference))
    # All cases have 1, and it is no share: of 1, 2, 3 … turns, the least.
    turns = only(view_of({"a": {(f"c{case}",): 1.0 for case in range(10)}}, metric="turns_to_address"))
    assert turns.systems[0].mean.interval is None


def drawn(draw: np.random.Generator, effects: dict[str, float], *, shares: bool) -> RatingsView:
    """Conversations as a benchmark has them: cases × personas × settings × repeats, some of them lost.

    What a case, and a case with a system, have in common makes its conversations alike; a system's mean over cases
    differs from another's by their effects alone.
    """
    cases, personas, settings, repeats = range(14), ("p", "q"), ("s", "t"), ("1", "2")
    of_case = draw.normal(size=len(cases))
    values: dict[str, dict[tuple[str, ...], float | None]] = {}
    for system, effect in effects.items():
        own = draw.normal(size=len(cases)) * 0.7
        values[system] = {}
        for case, persona, setting, repeat in product(cases, personas, settings, repeats):
            if draw.random() < 0.06:
                continue
            level = of_case[case] + own[case] + (setting == "t") - 0.5 * (persona == "q") + draw.normal()
            value = level + effect
            values[system][f"c{case}", persona, setting, repeat] = float(value > 0.3) if shares else value
    return view_of(values)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [False, True])
def test_what_is_told_apart_wrongly_where_nothing_differs(shares: bool) -> None:
    draw = np.random.default_rng(7 + shares)
    systems, times = dict.fromkeys("abcd", 0.0), budget(50, 2000)
    wrong = 0
    for _ in range(times):
        found = only(drawn(draw, systems, shares=shares))
        wrong += any(a.ranks != (1, 4) for a in found.systems)
        assert {standing.letters for standing in found.systems} >= {"a"}
    assert scipy.stats.binomtest(wrong, times, 0.05, alternative="greater").pvalue > 0.001, wrong / times


@pytest.mark.slow
def test_ranks_and_letters_hold_the_truth_where_some_differ() -> None:
    """Two that are alike are not told apart, and all ranges hold the true ranks, in 95 of 100 studies or more."""
    draw = np.random.default_rng(11)
    effects, times = {"best": 1.6, "also": 1.6, "middle": 0.5, "last": -1.2}, budget(40, 2000)
    true = {"best": (1, 2), "also": (1, 2), "middle": (3, 3), "last": (4, 4)}
    wrong = apart = 0
    for _ in range(times):
        found = only(drawn(draw, effects, shares=False))
        by_system = found.by_system
        told = [
            (a, b) for a, b in combinations(effects, 2) if not set(by_system[a].letters) & set(by_system[b].letters)
        ]
        ranks = {name: standing.ranks for name, standing in by_system.items()}
        held = all(r is not None and r[0] <= true[n][0] and true[n][1] <= r[1] for n, r in ranks.items())
        wrong += not held or ("best", "also") in told
        apart += ("best", "last") in told
    assert scipy.stats.binomtest(wrong, times, 0.05, alternative="greater").pvalue > 0.001, wrong / times
    assert apart > 0.9 * times


# -- costs ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "talks"
    bedside.simulate(None, "note2chat", folder, clinician=["script:brisk", "script:good"], sample=2)
    return folder


def priced(folder: Path, price: Callable[[str, str], float | None]) -> None:
    """Give each reply of the log a price by actor and model."""
    import sqlite3

    with sqlite3.connect(folder / "log.sqlite") as connection:
        connection.create_function("digest_of", -1, cells_digest)
        for actor, model in connection.execute("SELECT DISTINCT actor, model FROM replies").fetchall():
            connection.execute(
                "UPDATE replies SET cost = ? WHERE actor = ? AND model = ?", (price(actor, model), actor, model)
            )
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(replies)")]
        kept = ", ".join(sorted({*columns} - {"digest"}))
        connection.execute(f"UPDATE replies SET digest = digest_of({kept})")
    connection.close()


def test_costs_are_the_clinicians_own_by_system(talks: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "talks"
    shutil.copytree(talks, folder)
    run = bedside.score(folder, tmp_path / "run", metrics=["turns"]).run
    prices: dict[tuple[str, str], float | None] = {
        ("clinician", "script:good"): 0.5,
        ("clinician", "script:brisk"): None,
    }
    priced(folder, lambda actor, model: prices.get((actor, model), 0.25))
    import sqlite3

    with sqlite3.connect(folder / "log.sqlite") as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM replies WHERE actor = 'clinician' AND model = 'script:good'"
        ).fetchone()
    connection.close()
    costs = simulated_costs(open_ratings_view(run))
    assert costs is not None
    assert costs["script:good"].own == pytest.approx(0.5 * count)
    assert costs["script:good"].own_each == pytest.approx(0.25 * count)
    assert costs["script:brisk"].own is None
    assert costs["script:brisk"].others is not None
    # Both moved together, the simulation is found beside the run; by itself, it isn't.
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(folder, moved / "talks")
    assert simulated_costs(open_ratings_view(run)) is None
    shutil.move(run.path, moved / "run")
    assert simulated_costs(open_ratings_view(moved / "run")) == costs
    other: dict[str, Any] = json.loads((moved / "talks/manifest.json").read_text())
    (moved / "talks/manifest.json").write_text(json.dumps({**other, "seed": 9}))
    assert simulated_costs(open_ratings_view(moved / "run")) is None
