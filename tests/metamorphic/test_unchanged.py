"""Numbers that no fact has changed stay: the same study in another dress, asked every question."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bedside.ratings.run import Run
from tests.metamorphic.changes import UNCHANGED, UNCHANGED_UNCODED, Change
from tests.metamorphic.questions import QUESTIONS, Numbers, Rewriting, answers, moved
from tests.metamorphic.studies import Study, study, without_codes, written_run
from tests.soak import budget

#: Asked after every change; of the others each change has one, and all of them in `make soak`.
_ALWAYS = ("compare", "estimate")
_OTHERS = tuple(name for name in QUESTIONS if name not in _ALWAYS)
_IS_SOAK = budget(0, 1) > 0
#: Studies that the fast tests share: with two lengths, with a drawn sample, with repeats.
_SHARED = (0, 1, 3)
#: In `make soak`, how many of the studies from there on.
_FIRST, _MANY = 2, 12

#: A study by its seed, its run, and what the run answers.
Answered = Callable[[int, bool], tuple[Study, Callable[..., dict[str, Numbers]]]]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """A study as it was made, asked once what several tests ask."""
    runs: dict[tuple[int, bool], tuple[Study, Run]] = {}
    kept: dict[tuple[int, bool, str], Numbers] = {}

    def asked(
        seed: int, coded: bool, questions: tuple[str, ...], rewriting: Rewriting | None
    ) -> dict[str, Numbers]:
        made, run = runs[seed, coded]
        if rewriting is not None:
            return answers(run, made.systems, questions, rewriting=rewriting)
        for name in questions:
            if (seed, coded, name) not in kept:
                kept[seed, coded, name] = answers(run, made.systems, [name])[name]
        return {name: kept[seed, coded, name] for name in questions}

    def of_seed(seed: int, coded: bool) -> tuple[Study, Callable[..., dict[str, Numbers]]]:
        if (seed, coded) not in runs:
            made = study(seed) if coded else without_codes(study(seed))
            runs[seed, coded] = made, written_run(made, tmp_path_factory.mktemp("study"))
        return runs[seed, coded][0], partial(asked, seed, coded)

    return of_seed


def _check(name: str, change: Change, place: int, answered: Answered, folder: Path, *, coded: bool) -> None:
    for seed in range(_FIRST, _FIRST + budget(0, _MANY)) if _IS_SOAK else [_SHARED[place % len(_SHARED)]]:
        questions = tuple(QUESTIONS) if _IS_SOAK else (*_ALWAYS, _OTHERS[place % len(_OTHERS)])
        made, before = answered(seed, coded)
        variant = change(made, folder / str(seed), seed)
        now = {first: new for new, first in variant.renamed.items()}
        after = answers(
            variant.run, [now.get(system, system) for system in made.systems], questions,
            renamed=variant.renamed, rewriting=variant.rewriting,
        )  # fmt: skip
        for question, numbers in before(questions, variant.rewriting).items():
            changes = moved(numbers, after[question])
            assert not changes, f"{name}, seed {seed}, {question}: {len(changes)} moved\n" + "\n".join(
                changes[:12]
            )
        shutil.rmtree(folder / str(seed))


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", UNCHANGED)
def test_nothing_moves(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(name, UNCHANGED[name], list(UNCHANGED).index(name), answered, tmp_path, coded=True)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", UNCHANGED_UNCODED)
def test_nothing_moves_where_no_turn_is_coded(name: str, answered: Answered, tmp_path: Path) -> None:
    _check(
        name, UNCHANGED_UNCODED[name], list(UNCHANGED_UNCODED).index(name), answered, tmp_path, coded=False
    )
