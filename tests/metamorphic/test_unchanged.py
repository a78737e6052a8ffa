"""Numbers that no fact has changed stay: the same study in another dress, asked every question."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bedside.ratings.run import Run
from tests.metamorphic.changes import UNCHANGED, UNCHANGED_CASELESS, UNCHANGED_UNCODED, UNCHANGED_UNPAIRED, Change
from tests.metamorphic.questions import QUESTIONS, Numbers, Rewriting, answers, moved
from tests.metamorphic.studies import Study, study, with_own_cases, without_cases, without_codes, written_run
from tests.soak import budget

#: Asked after every change; of the others each change has one, and all of them in `make soak`.
_ALWAYS = ("compare", "estimate")
_OTHERS = tuple(name for name in QUESTIONS if name not in _ALWAYS)
_IS_SOAK = budget(0, 1) > 0
#: Studies that the fast tests share: with two lengths, with a drawn sample, with repeats.
_SHARED = (0, 1, 3)
#: In `make soak`, how many of the studies from there on.
_FIRST, _MANY = 2, 12

#: A study of a seed.
Making = Callable[[int], Study]
#: A study by its making and seed, and what its run answers.
Answered = Callable[[Making, int], tuple[Study, Callable[..., dict[str, Numbers]]]]


def _uncoded(seed: int) -> Study:
    return without_codes(study(seed))


def _caseless(seed: int) -> Study:
    return without_cases(study(seed))


def _unpaired(seed: int) -> Study:
    return with_own_cases(study(seed))


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """A study as it was made, asked once what several tests ask."""
    runs: dict[tuple[Making, int], tuple[Study, Run]] = {}
    kept: dict[tuple[Making, int, str], Numbers] = {}

    def asked(making: Making, seed: int, questions: tuple[str, ...], rewriting: Rewriting | None) -> dict[str, Numbers]:
        made, run = runs[making, seed]
        if rewriting is not None:
            return answers(run, made.systems, questions, rewriting=rewriting)
        for name in questions:
            if (making, seed, name) not in kept:
                kept[making, seed, name] = answers(run, made.systems, [name])[name]
        return {name: kept[making, seed, name] for name in questions}

    def of_seed(making: Making, seed: int) -> tuple[Study, Callable[..., dict[str, Numbers]]]:
        if (making, seed) not in runs:
            made = making(seed)
            runs[making, seed] = made, written_run(made, tmp_path_factory.mktemp("study"))
        return runs[making, seed][0], partial(asked, making, seed)

    return of_seed


def _check(changes: Mapping[str, Change], name: str, making: Making, answered: Answered, folder: Path) -> None:
    place = list(changes).index(name)
    for seed in range(_FIRST, _FIRST + budget(0, _MANY)) if _IS_SOAK else [_SHARED[place % len(_SHARED)]]:
        questions = tuple(QUESTIONS) if _IS_SOAK else (*_ALWAYS, _OTHERS[place % len(_OTHERS)])
        made, before = answered(making, seed)
        variant = changes[name](made, folder / str(seed), seed)
        now = {first: new for new, first in variant.renamed.items()}
        after = answers(
            variant.run, [now.get(system, system) for system in made.systems], questions,
            renamed=variant.renamed, rewriting=variant.rewriting, **variant.part,
        )  # fmt: skip
        for question, numbers in before(questions, variant.rewriting).items():
            differences = moved(numbers, after[question])
            assert not differences, f"{name}, seed {seed}, {question}: {len(differences)} moved\n" + "\n".join(
                differences[:12]
            )
        shutil.rmtree(folder / str(seed))


def _tried(changes: Mapping[str, Change], in_every_run: int) -> list[Any]:
    """Names of changes; of those beyond the first, only where it is for long."""
    return [
        pytest.param(name, marks=[] if place < in_every_run else pytest.mark.soak_only)
        for place, name in enumerate(changes)
    ]


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", UNCHANGED)
def test_nothing_moves(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(UNCHANGED, name, study, answered, tmp_path)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", UNCHANGED_UNCODED)
def test_nothing_moves_where_no_turn_is_coded(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(UNCHANGED_UNCODED, name, _uncoded, answered, tmp_path)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", _tried(UNCHANGED_CASELESS, 3))
def test_nothing_moves_where_there_are_no_cases(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(UNCHANGED_CASELESS, name, _caseless, answered, tmp_path)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", _tried(UNCHANGED_UNPAIRED, 2))
def test_nothing_moves_where_no_case_pairs(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(UNCHANGED_UNPAIRED, name, _unpaired, answered, tmp_path)
