"""A clock that jumps by hours and by years while a command runs: it comes to the same as by one that doesn't."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from bedside.annotation.answer_store import read_store
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.study_people import People
from bedside.annotation.reassignment import as_assigned
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import ServedPage
from tests.annotation.rating_page.recruiting import Participant, enrolment_secret, write_study
from tests.annotation.study import new_study, rating_plan
from tests.durability import children
from tests.durability.bench import Bench
from tests.durability.clocks import jumping
from tests.durability.states import comparable, files_of, is_temporary, see_run
from tests.durability.test_full import one_line

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_clock_that_jumps(bench: Bench) -> None:
    folder = bench.copy()
    code, said, _ = children.run(bench.call, folder, [jumping])
    if code == 2:  # no archive is of 1970
        assert "the clock of this machine" in one_line(said)
        bench.look(folder)
        bench.go_on(folder)
        return
    assert code == 0, said
    files = files_of(folder)
    assert not [name for name in files if is_temporary(name)]
    after = comparable(files)
    assert after.keys() == bench.after.keys()
    assert not {name for name, content in after.items() if content != bench.after[name]}
    for name in bench.case.runs:
        assert see_run(folder / name) in bench.runs[name]


class JumpingPage(ServedPage):
    """A page whose server's clock jumps."""

    def command(self, *more: str) -> list[str]:
        python, option, code, *typed = super().command(*more)
        return [python, option, f"from tests.durability.clocks import jumping\njumping()\n{code}", *typed]


@pytest.mark.server
def test_a_page_whose_clock_jumps(tmp_path: Path) -> None:
    """Nobody's time is over, every answer counts in the order it was given, also where the server was killed."""
    run = new_study(tmp_path, cases=2)
    page = JumpingPage(rating_plan(run, raters=("rater-1", "rater-2"), overlap=2), run, "--study",
                       str(write_study(tmp_path / "study")))  # fmt: skip
    page.start()
    people = [Participant(page, enrolment_secret(page), f"pid{number}") for number in range(2)]
    for person in people:
        assert person.agree()
        person.answer("longer")
        person.rate(2)
        page.kill()
        page.start()
    for person in people:
        person.rate()
        assert person.ending is not None
        assert person.ending["kind"] == "completed"
    code, printed = page.stop()
    assert (code, "Traceback" in printed) == (0, False), printed
    plan = as_assigned(run, rating_plan(run, raters=("rater-1", "rater-2"), overlap=2))
    assert len(read_store(Run(run.path), plan).answers()) == 8
    with closing(PageDatabase(page_folder(run, plan).database, plan)) as database:
        for times in zip(*((answer.created, answer.updated) for answer in database.answers()), strict=True):
            assert sorted(times) == list(times)
    with closing(People(page_folder(run, plan).people)) as kept:
        assert [person.state for person in kept.persons()] == ["completed", "completed"]
