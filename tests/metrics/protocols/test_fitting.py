"""Fitting: weights that made the labels come back, thresholds are found again, and another library agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.metrics.protocols.medconceal.fitting import address_data, fit, regressed, reveal_data
from bedside.metrics.protocols.medconceal.labels import CATEGORIES, FEATURES
from bedside.metrics.protocols.medconceal.policy import (
    PARAMETERS,
    Parameters,
    Step,
    address_probability,
    parse_parameters,
    reveal_probability,
    write_parameters,
)
from bedside.metrics.protocols.medconceal.trace import LabelledCourse, LabelledTurn, read_turns, replay
from bedside.stats.arrays import Array

SHAPE = PARAMETERS.load("published-shape")
#: A policy under which turns differ: p is .1 to .8, about .4 on average.
TRUTH = Parameters.model_validate(
    {
        **SHAPE.model_dump(),
        "reveal": {
            **SHAPE.reveal.model_dump(),
            "weights": {name: 1.5 if place % 2 else -1.6 for place, name in enumerate(SHAPE.reveal.weights)},
            "high": 0.6,
            "low": 0.45,
        },
        "address": {
            **SHAPE.address.model_dump(),
            "weights": {name: 1.4 if place % 2 else -1.5 for place, name in enumerate(FEATURES)},
            "probability": 0.3,
            "evidence": 0.3,
            "lag": 1,
            "consecutive": 2,
        },
    }
)
SMALL_REVEAL = {"decay": (0.5,), "high": (0.5, 0.6, 0.7), "low": (0.5, 0.6), "consecutive": (2,)}
SMALL_ADDRESS = {"decay": (0.5,), "probability": (0.5, 0.7), "evidence": (0.65,), "lag": (1, 2), "consecutive": (1, 2)}


def drawn_turns(
    cases: int, seed: int, *, turns: int = 8, replayed: bool, parameters: Parameters = TRUTH
) -> list[LabelledTurn]:
    """Cases whose labels come from the policy: by chance with p (to fit weights), or by its replay (for thresholds)."""
    draw = np.random.default_rng(seed)
    rows = []
    for case in range(cases):
        categories = [CATEGORIES[number] for number in draw.choice(4, size=2, replace=False)]
        concerns = ["a", "b"]
        skill = draw.uniform(-0.4, 0.4)
        made = []
        for turn in range(turns):
            z = np.round(np.clip(draw.random(10) + skill * np.tile([-1, 1], 5), 0, 1), 2)
            z[9] = round(0.4 * z[9], 2)  # not blocked
            made.append((turn, z.tolist(), np.round(draw.random(2), 2)))
        steps = [
            Step(
                turn,
                False,
                tuple(reveal_probability(z, o[place], categories[place], parameters) for place in (0, 1)),
                address_probability(z, None, parameters),
            )
            for turn, z, o in made
        ]
        trace = replay(steps, concerns, "a", parameters)
        for (turn, z, o), step in zip(made, steps, strict=True):
            for place, concern in enumerate(concerns):
                label = (
                    int(trace.revealed_at.get(concern) == turn + 1)
                    if replayed
                    else int(draw.random() < step.reveal[place])
                )
                addressed = None
                if concern == "a":
                    addressed = int(trace.addressed_at == turn + 1) if replayed else int(draw.random() < step.address)
                rows.append(
                    LabelledTurn.model_validate(
                        {
                            "case": str(case), "turn": turn, "concern": concern, "category": categories[place],
                            "z": dict(zip(FEATURES, z, strict=True)), "o": float(o[place]),
                            "revealed": label, "addressed": addressed,
                        }
                    )
                )  # fmt: skip
    return rows


def courses(rows: list[LabelledTurn]) -> list[LabelledCourse]:
    by_case: dict[str, list[LabelledTurn]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    return [LabelledCourse(case, given) for case, given in by_case.items()]


@pytest.mark.slow
def test_address_weights_equal_statsmodels_and_the_truth() -> None:
    import statsmodels.api as sm

    data = address_data(courses(drawn_turns(400, 1, replayed=False)), TRUTH)
    found = regressed(data, 1e-6, "x")
    model = sm.Logit(data.y, data.x).fit(disp=0, tol=1e-12)
    assert found == pytest.approx(model.params, abs=1e-3)
    truth = np.array([TRUTH.address.weights[name] for name in FEATURES])
    z = (found - truth) / model.bse
    assert np.abs(z).max() < 4
    assert (z**2).sum() < 30, "chi-square with 10 degrees of freedom"


def test_reveal_weights_equal_a_regression_of_each_category() -> None:
    import statsmodels.api as sm

    rows = drawn_turns(400, 2, replayed=False)
    data = reveal_data(courses(rows), TRUTH)
    found = regressed(data, 1e-6, "x")
    width = len(TRUTH.reveal.weights)
    for place in range(len(CATEGORIES)):
        part = data.x[:, (1 + place) * width : (2 + place) * width]
        mine = part.any(axis=1)
        model = sm.Logit(data.y[mine], part[mine]).fit(disp=0, tol=1e-12)
        assert found[:width] + found[(1 + place) * width : (2 + place) * width] == pytest.approx(model.params, abs=0.01)


@pytest.mark.slow
def test_probabilities_come_back() -> None:
    rows = drawn_turns(300, 2, replayed=False)
    found = fit(rows, seed=0, folds=2, reveal_grid=SMALL_REVEAL, address_grid=SMALL_ADDRESS)
    draw = np.random.default_rng(3)
    differences = [
        reveal_probability(z, o, category, found.parameters) - reveal_probability(z, o, category, TRUTH)
        for category in CATEGORIES
        for z, o in zip(draw.random((50, 10)), draw.random(50), strict=True)
    ]
    assert np.mean(np.abs(differences)) < 0.1
    reached, base = found.reveal.log_loss.value, found.reveal.base_log_loss.value
    assert reached is not None
    assert base is not None
    assert reached < base
    assert found.address is not None
    assert (found.address.auc.value or 0) > 0.6


def test_design_matrix_gives_the_formula() -> None:
    rows = drawn_turns(6, 4, replayed=False)
    data = reveal_data(courses(rows), SHAPE)
    weights = [
        *SHAPE.reveal.weights.values(),
        *(SHAPE.reveal.by_category[name].get(each, 0.0) for name in CATEGORIES for each in SHAPE.reveal.weights),
    ]
    p = 1 / (1 + np.exp(-data.x @ np.array(weights)))
    expected = []
    for course in courses(rows):
        for place, concern in enumerate(course.concerns):
            for row in course.rows[: course.revealed_at(concern)]:
                each = row[place]
                z = [getattr(each.z, name) for name in FEATURES]
                expected.append(reveal_probability(z, each.o, each.category, SHAPE))
    assert p == pytest.approx(expected)


def test_thresholds_are_searched_and_more_is_reported() -> None:
    rows = drawn_turns(80, 5, replayed=True)
    found = fit(rows, seed=0, origin="Made up.", reveal_grid=SMALL_REVEAL, address_grid=SMALL_ADDRESS)
    assert (found.cases, found.rows, found.folds) == (80, 1280, 5)
    assert len(found.reveal_grid) == 5, "six settings without the one with low over high"
    assert len(found.address_grid) == 8
    for grid in (found.reveal_grid, found.address_grid):
        assert [point.error for point in grid] == sorted(point.error for point in grid)
    assert found.parameters.reveal.high == found.reveal_grid[0].values["high"]
    assert found.parameters.address.lag == found.address_grid[0].values["lag"]
    assert found.parameters.origin.startswith("Made up. Weights by logistic regression")


@pytest.mark.slow
@pytest.mark.soak_only
def test_the_whole_grid_finds_turns_better_than_a_guess() -> None:
    rows = drawn_turns(150, 5, replayed=True)
    found = fit(rows, seed=0)
    turns = [course.revealed_at(concern) for course in courses(rows) for concern in course.concerns]
    guess = float(np.mean(np.abs(np.array(turns) - np.median(turns))))
    assert found.reveal_grid[0].error < 0.3 * guess
    assert len(found.reveal_grid) == 3 * 45 * 2


def test_replay_with_the_true_weights_has_no_error() -> None:
    for course in courses(drawn_turns(40, 9, replayed=True)):
        trace = course.replayed(course.steps(TRUTH), TRUTH)
        assert course.reveal_errors(trace) == [0, 0]
        assert course.address_errors(trace) == [0]


@pytest.mark.slow
def test_same_seed_same_fit_and_the_file_reads_back(tmp_path: Path) -> None:
    rows = drawn_turns(60, 6, replayed=False)
    given: dict[str, Any] = {"reveal_grid": SMALL_REVEAL, "address_grid": SMALL_ADDRESS, "folds": 3}
    found = fit(rows, seed=1, name="mine", **given)
    assert fit(rows, seed=1, name="mine", **given) == found
    assert fit(list(reversed(rows)), seed=1, **given).rows == found.rows
    write_parameters(found.parameters, tmp_path / "mine.yaml")
    assert parse_parameters(tmp_path / "mine.yaml") == found.parameters
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows))
    assert read_turns(path) == tuple(rows)


def test_without_address_labels_that_part_stays() -> None:
    rows = [row.model_copy(update={"addressed": None}) for row in drawn_turns(24, 7, replayed=False)]
    found = fit(rows, seed=0, reveal_grid=SMALL_REVEAL)
    assert found.parameters.address == SHAPE.address
    assert found.address is None
    assert found.address_grid == ()
    assert found.remarks == ("no turn has an 'addressed' label: the address part is that of default",)


def with_address_deltas() -> Parameters:
    address = {**TRUTH.address.model_dump(), "by_category": {CATEGORIES[0]: {}}}
    return Parameters.model_validate({**TRUTH.model_dump(), "address": address})


@pytest.mark.slow
def test_address_weights_of_categories_minimise_the_penalised_loss() -> None:
    from scipy.optimize import minimize

    made = courses(drawn_turns(120, 5, replayed=False))
    found = regressed(address_data(made, with_address_deltas()), 1.0, "x")
    plain = address_data(made, TRUTH)
    # Whose primary concern is of which category, from the courses themselves.
    category = np.array([CATEGORIES.index(made[case].rows[0][0].category) for case in plain.case])
    width = len(FEATURES)

    def loss(weights: Array) -> float:
        v, delta = weights[:width], weights[width:].reshape(len(CATEGORIES), width)
        logit = (plain.x * (v + delta[category])).sum(axis=1)
        return float(np.logaddexp(0, -np.where(plain.y, logit, -logit)).sum() + (weights**2).sum() / 2)

    direct = minimize(loss, np.zeros(5 * width), method="BFGS", options={"gtol": 1e-6})
    assert found == pytest.approx(direct.x, abs=2e-3)


@pytest.mark.slow
def test_a_fit_has_address_weights_of_categories_where_its_base_has_some() -> None:
    rows = drawn_turns(40, 5, replayed=False)
    for base, categories in ((with_address_deltas(), set(CATEGORIES)), (TRUTH, set())):
        found = fit(rows, seed=0, folds=2, base=base, reveal_grid=SMALL_REVEAL, address_grid=SMALL_ADDRESS)
        assert set(found.parameters.address.by_category) == categories
