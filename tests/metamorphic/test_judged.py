"""A judge's ratings are one study, whatever the order in which it is asked and what stands beside what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

import bedside
from bedside.ratings.run import Run
from tests.judges.llm.server import Action, JudgeServer, faulty
from tests.metamorphic.changes import (
    Change,
    Variant,
    as_chat,
    cases_renamed,
    files_split,
    ids_renamed,
    imported_twice,
    rows_shuffled,
    systems_renamed,
    with_factor,
)
from tests.metamorphic.questions import Numbers, answers, moved
from tests.metamorphic.studies import Study, study, without_codes, written_run
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.soak]
RUBRICS = ("empathy", "partnership")
ASKED = ("validate", "estimate", "compare", "report")[: budget(2, 4)]


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    """A judge whose levels hang on the prompt alone."""
    with JudgeServer() as started:
        yield started


def _by_people(seed: int) -> Study:
    """A study that no judge has rated, whose turns nobody coded."""
    made = without_codes(study(seed))
    return replace(made, ratings=tuple(row for row in made.ratings if ":" not in row["rater"]), pairs=())


def _judged(run: Run, server: JudgeServer, **options: Any) -> Run:
    bedside.judge(run, server.judge, **{"rubrics": list(RUBRICS), "passes": 2, **options})
    return bedside.read_run(run.path)


Way = Callable[[Run, JudgeServer], object]


def in_two_goes(run: Run, server: JudgeServer) -> None:
    """Stopped after some calls, and gone on with."""
    _judged(run, server, max_calls=17, max_concurrency=1)
    _judged(run, server)


def rubric_by_rubric(run: Run, server: JudgeServer) -> None:
    for rubric in reversed(RUBRICS):
        _judged(run, server, rubrics=[rubric])


def pass_by_pass(run: Run, server: JudgeServer) -> None:
    for passes in (1, 2):
        _judged(run, server, passes=passes)


def one_at_a_time(run: Run, server: JudgeServer) -> None:
    _judged(run, server, max_concurrency=1)


def twice(run: Run, server: JudgeServer) -> None:
    for _ in range(2):
        _judged(run, server)


def refused_at_times(run: Run, server: JudgeServer) -> None:
    """The server is busy now and then, and answers when it is asked again."""
    usual = server.script
    server.script = faulty(0.2, 3, (Action(status=429, headers={"Retry-After": "0"}),))
    try:
        _judged(run, server)
    finally:
        server.script = usual


WAYS: Mapping[str, Way] = {
    "rubric by rubric": rubric_by_rubric,
    "in two goes": in_two_goes,
    "pass by pass": pass_by_pass,
    "one at a time": one_at_a_time,
    "twice": twice,
    "refused at times": refused_at_times,
}
CHANGES: Mapping[str, Change] = {
    "a chat with prompts and tools": as_chat(True),
    "ids renamed": ids_renamed,
    "rows shuffled": rows_shuffled,
    "files split": files_split,
    "cases renamed": cases_renamed,
    "systems renamed": systems_renamed,
    "imported twice": imported_twice,
    "two random levels": with_factor(lambda rng, place, talk: rng.choice("xy")),
}


T = TypeVar("T")


def _some(named: Mapping[str, T]) -> Mapping[str, T]:
    """In `make soak` all of them; else the first."""
    return dict(list(named.items())[: budget(1, len(named))])


def _numbers(variant: Variant, systems: list[str]) -> dict[str, Numbers]:
    now = {first: new for new, first in variant.renamed.items()}
    return answers(variant.run, [now.get(system, system) for system in systems], ASKED, renamed=variant.renamed)


def _check(before: dict[str, Numbers], after: dict[str, Numbers], name: str) -> None:
    for question in ASKED:
        changes = moved(*(numbers[question] for numbers in (before, after)))
        assert not changes, f"{name}, {question}: {len(changes)} moved\n" + "\n".join(changes[:12])


def test_the_way_of_asking_moves_nothing(server: JudgeServer, tmp_path: Path) -> None:
    for seed in range(budget(1, 8)):
        made = _by_people(seed)
        run = _judged(written_run(made, tmp_path / f"{seed}"), server)
        before = _numbers(Variant(run), made.systems)
        for name, way in _some(WAYS).items():
            other = written_run(made, tmp_path / f"{seed}-{name}")
            way(other, server)
            _check(before, _numbers(Variant(bedside.read_run(other.path)), made.systems), f"{name}, {seed}")


def test_what_changes_no_prompt_changes_no_number(server: JudgeServer, tmp_path: Path) -> None:
    for seed in range(1, 1 + budget(1, 8)):
        made = _by_people(seed)
        run = _judged(written_run(made, tmp_path / f"{seed}"), server)
        before = _numbers(Variant(run), made.systems)
        for name, change in _some(CHANGES).items():
            variant = change(made, tmp_path / f"{seed}-{name}", seed)
            judged = _judged(variant.run, server)
            _check(before, _numbers(replace(variant, run=judged), made.systems), f"{name}, {seed}")
