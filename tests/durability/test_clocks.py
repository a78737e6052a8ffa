"""A clock that jumps while a command runs: it comes to the same as by one that doesn't."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import ServedPage, impatient, serving
from tests.annotation.rating_page.recruiting import Participant, enrolment_secret, write_study
from tests.annotation.study import new_study, rating_plan
from tests.durability import children
from tests.durability.bench import Bench
from tests.durability.clocks import jumping
from tests.durability.states import comparable, files_of, is_temporary
from tests.durability.test_full import one_line

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_clock_that_jumps(bench: Bench) -> None:
    folder = bench.copy()
    code, said, _ = children.run(bench.call, folder, [jumping])
    if code == 2:  # no archive is of 1970
        assert "the clock of this machine" in one_line(said)
        bench.look(files_of(folder))
        return
    assert code == 0, said
    files = files_of(folder)
    assert not [name for name in files if is_temporary(name)]
    assert comparable(files) == bench.after


class JumpingPage(ServedPage):
    """A page whose server's clock jumps."""

    before = (impatient, jumping)


@pytest.mark.server
def test_a_page_whose_clock_jumps(tmp_path: Path) -> None:
    """Nobody's time is over, and every answer counts, in the order in which it was given."""
    run = new_study(tmp_path, cases=2)
    plan = rating_plan(run, raters=("rater-1", "rater-2"), overlap=2)
    with serving(plan, run, "--study", str(write_study(tmp_path / "study")), kind=JumpingPage) as page:
        for number in range(2):
            person = Participant(page, enrolment_secret(page), f"pid{number:024x}")
            assert person.agree()
            person.answer("longer")
            person.rate(2)
            page.kill()
            page.start()
            person.rate()
            assert (person.ending or {})["kind"] == "completed"
        code, printed = page.stop()
    assert (code, "Traceback" in printed) == (0, False), printed
    assert Run(run.path).ratings.filter(rated_by_humans()).height == 16
    with closing(PageDatabase(page_folder(run, plan).database, plan)) as database:
        for times in zip(*((answer.created, answer.updated) for answer in database.answers()), strict=True):
            assert sorted(times) == list(times)
