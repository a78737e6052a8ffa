"""A plan states with what chance each unit came into it: against how often it does, over many seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from tests.annotation.study import EMPATHY, JUDGE

Unit = tuple[str, str]
#: Plans of each design.
SEEDS = 400

#: Case → how many transcripts each system has of it.
ISSUE = {"c1": "A", "c2": "A", "c3": "B", "c4": "ABCDE"}
BALANCED = {f"c{n}": "AB" for n in range(8)}
UNBALANCED = {f"c{n}": systems for n, systems in enumerate(("A", "AB", "ABC", "B", "ABC", "C", "A", "BC"))}
REPEATED = {f"c{n}": systems for n, systems in enumerate(("A", "AAB", "AABBB", "B", "AB", "BB", "A"))}
LOPSIDED = {"c0": "AAAAABBBB", **{f"c{n}": "A" for n in range(1, 8)}, **{f"c{n}": "B" for n in range(8, 11)}}


def study(folder: Path, systems_by_case: Mapping[str, str], judged: float = 1.0) -> Run:
    """A run with one transcript for each letter, some of them rated twice by a judge."""
    counts: Counter[tuple[str, str]] = Counter()
    lines, rows = [], []
    for case, systems in systems_by_case.items():
        for system in systems:
            counts[case, system] += 1
            name = f"{case}-{system}-{counts[case, system]}"
            turns = [
                {"role": role, "speaker": role, "text": f"Well, {name}.", "meta": {}}
                for role in ("clinician", "patient", "clinician")[: 2 + len(systems) % 2]
            ]
            data = {
                "id": name, "system": system, "case_id": case, "turns": turns, "reference": {}, "language": "en",
                "factors": {"setting": "ward" if int(case[1:]) % 3 else "clinic"},
            }  # fmt: skip
            lines.append(json.dumps(data))
            if (len(lines) * 0.37) % 1 < judged:
                for again in (0, 1):
                    level = float(1 + (len(lines) * (1 + again)) % 5)
                    unit = (name, system, case, "transcript", "empathy")
                    rows.append((*unit, JUDGE, again, level, None, "So.", None))
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


def drawn(run: Run, seed: int, **options: Any) -> AnnotationPlan:
    asked: dict[str, Any] = {"rubrics": (EMPATHY,), "raters": ("anna", "ben", "cleo"), "overlap": 1}
    return make_plan(run, mode="rate", seed=seed, **{**asked, **options})


def chances(plan: AnnotationPlan) -> dict[Unit, float]:
    """The units that the plan says it drew, with what it says of their chance."""
    items = [item for item in plan.items if not item.replicate]
    return {(item.transcript, item.unit): item.chance for item in items if item.chance}


def check(draws: Sequence[Mapping[Unit, float]], expected: Mapping[Unit, float] | None = None) -> None:
    """See that units came as often as is stated of them, each within 3 standard errors, and never on other terms."""
    stated: dict[Unit, set[float]] = {}
    for draw in draws:
        for unit, chance in draw.items():
            stated.setdefault(unit, set()).add(chance)
    assert all(len(by_unit) == 1 for by_unit in stated.values())
    told = {unit: by_unit.pop() for unit, by_unit in stated.items()} if expected is None else expected
    counts = Counter(unit for draw in draws for unit in draw)
    scores = []
    for unit, chance in told.items():
        if chance == 1:
            assert counts[unit] == len(draws)
            continue
        error = np.sqrt(chance * (1 - chance) / len(draws))
        scores.append((counts[unit] / len(draws) - chance) / error)
        assert abs(scores[-1]) < 3, (unit, chance, counts[unit] / len(draws))
    # Nor are many of them near that.
    assert not scores or np.mean(np.square(scores)) < 3


DESIGNS: dict[str, tuple[Mapping[str, str], dict[str, Any]]] = {
    "three cases of one system and one of five": (ISSUE, {"per": 2}),
    "the same, more of them": (ISSUE, {"per": 5}),
    "by system, where most have one": (ISSUE, {"per": 1, "by": ("system",)}),
    "balanced, undivided": (BALANCED, {"per": 5}),
    "balanced, by system": (BALANCED, {"per": 3, "by": ("system",)}),
    "balanced, by setting": (BALANCED, {"per": 3, "by": ("setting",)}),
    "unbalanced, undivided": (UNBALANCED, {"per": 6}),
    "unbalanced, by system": (UNBALANCED, {"per": 2, "by": ("system",)}),
    "unbalanced, by setting": (UNBALANCED, {"per": 3, "by": ("setting",)}),
    "unbalanced, by setting and system": (UNBALANCED, {"per": 1, "by": ("setting", "system")}),
    "unbalanced, by case": (UNBALANCED, {"per": 1, "by": ("case_id",)}),
    "repeats, undivided": (REPEATED, {"per": 5, "overlap": 2}),
    "repeats, by system": (REPEATED, {"per": 3, "by": ("system",), "overlap": 3}),
    "one large case": (LOPSIDED, {"per": 4, "shared": 2}),
    "one large case, by system": (LOPSIDED, {"per": 3, "by": ("system",), "repeat": 0.5}),
    "one large case, by setting": (LOPSIDED, {"per": 4, "by": ("setting",)}),
    "turns": (UNBALANCED, {"per": 7, "rubrics": (RUBRICS.load("open_question"),)}),
    "half by disagreement": (UNBALANCED, {"per": 6, "focus": "disagreement", "random_share": 0.5}),
    "a third by disagreement, by system": (
        REPEATED, {"per": 3, "by": ("system",), "focus": "disagreement", "random_share": 0.67}
    ),
    "half by uncertainty": (LOPSIDED, {"per": 8, "focus": "uncertain", "random_share": 0.5}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_units_come_as_often_as_the_plan_states(name: str, tmp_path: Path) -> None:
    systems_by_case, options = DESIGNS[name]
    run = study(tmp_path, systems_by_case, judged=0.8 if "focus" in options else 1.0)
    check([chances(drawn(run, seed, **options)) for seed in range(SEEDS)])


def test_a_case_of_many_systems_comes_as_often_as_others(tmp_path: Path) -> None:
    """Each of eight transcripts at .25, of which five are of one case: before, they came at .14, the others at .41."""
    run = study(tmp_path, ISSUE)
    draws = [chances(drawn(run, seed, per=2)) for seed in range(SEEDS)]
    check(draws, {(name, "transcript"): 0.25 for name in run.index["id"]})
    assert {chance for draw in draws for chance in draw.values()} == {0.25}


@pytest.mark.slow
def test_a_second_round_states_the_chance_of_what_the_first_left(tmp_path: Path) -> None:
    """After a round drawn at random, and after one by disagreement, whose units can't be drawn again."""
    run = study(tmp_path, UNBALANCED)
    for focus in ("random", "disagreement"):
        first = drawn(run, 1, per=4, focus=focus)
        left_out = {(item.transcript, item.unit) for item in first.items}
        second = [chances(drawn(run, seed, per=5, without=left_out)) for seed in range(SEEDS)]
        assert not left_out & {unit for draw in second for unit in draw}
        check(second)
    both = []
    for seed in range(SEEDS):
        first = drawn(run, seed, per=4)
        others = drawn(run, seed, per=5, without=chances(first))
        both.append({**chances(first), **chances(others)})
    size = run.index.height
    check([dict.fromkeys(draw, 9 / size) for draw in both], dict.fromkeys(both[0], 9 / size))


@pytest.mark.slow
def test_units_of_a_stratum_are_drawn_independently(tmp_path: Path) -> None:
    """Two transcripts of one case come together as often as two of different cases do: n (n − 1) / N (N − 1)."""
    run = study(tmp_path, UNBALANCED)
    size, seeds = run.index.height, 1500
    names = sorted(run.index["id"])
    place = {name: number for number, name in enumerate(names)}
    inside = np.zeros((seeds, size))
    for seed in range(seeds):
        inside[seed, [place[name] for name, _ in chances(drawn(run, seed, per=6))]] = 1
    together = inside.T @ inside / seeds
    expected = 6 * 5 / (size * (size - 1))
    error = np.sqrt(expected * (1 - expected) / seeds)
    of_case = np.array([name.partition("-")[0] for name in names])
    same = (of_case[:, None] == of_case) & ~np.eye(size, dtype=bool)
    assert abs(together[same].mean() - expected) < 3 * error / np.sqrt(same.sum() / 2)
    assert np.abs(together[~np.eye(size, dtype=bool)] - expected).max() < 4 * error
