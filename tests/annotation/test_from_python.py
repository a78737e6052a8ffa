"""What people rate, handed out and brought back by the functions that the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

import bedside
from bedside.annotation.answers import CollectedAnswers
from bedside.annotation.label_studio_projects import PullSummary
from bedside.api.annotating import PlanOutcome, PushSettings, StatusSettings
from bedside.core.errors import BedsideError, InputError
from bedside.ratings.run import Run
from tests.annotation.builders import fill_xlsx
from tests.annotation.study import levels


@pytest.fixture
def drawn(run: Run, tmp_path: Path) -> Path:
    bedside.sample(run, tmp_path / "plan.json", raters=["anna", "ben"], rubrics="empathy", per=4, seed=7)
    return tmp_path / "plan.json"


def answered(plan: Path, folder: Path) -> tuple[Path, ...]:
    """The raters' files, filled in."""
    files = bedside.export_tasks(plan, out=folder).results

    def fill(row: dict[str, str]) -> None:
        row["empathy"] = levels(row["item"], row["rater"])["empathy"]

    for file in files:
        fill_xlsx(file, fill)
    return files


def test_from_a_plan_to_adjudication(run: Run, drawn: Path, tmp_path: Path) -> None:
    files = answered(drawn, tmp_path / "to-rate")
    assert [file.name for file in files] == ["anna.xlsx", "ben.xlsx"]
    imported = bedside.import_answers(drawn, files)
    assert isinstance(imported, PlanOutcome)
    assert imported.run.path == run.path.resolve()
    assert imported.results.collected.strangers == {}
    assert (imported.results.stored.new, imported.results.stored.drafts) == (8, 0)
    # The same again adds nothing; a lone file is one.
    assert bedside.import_answers(drawn, str(files[0])).results.stored.new == 0

    status = bedside.annotation_status(drawn)
    (progress,) = status.results
    assert {share.open for share in progress.results.shares} == {0}
    assert bedside.annotation_status(run)["status"] == status["status"]
    assert bedside.answer_revisions(drawn).results.revisions

    settled = bedside.adjudicate(drawn, "dora", out=tmp_path / "settled.json")
    assert settled.results.results.plan.raters == ("dora",)
    more = bedside.propose_next(drawn, count=2, out=tmp_path / "more.json")
    assert len(more.results.proposals) == 2
    assert (tmp_path / "more.json").is_file()


def test_who_drops_out_is_replaced(drawn: Path) -> None:
    done = bedside.reassign(drawn, "ben", to="dora").results
    assert (done.rater, dict(done.moved)) == ("ben", {"dora": 4})


def test_a_plan_that_is_no_file_needs_its_run(run: Run, drawn: Path, tmp_path: Path) -> None:
    plan = bedside.export_tasks(drawn, out=tmp_path / "one").plan
    assert bedside.export_tasks(plan, run=run, form="csv", out=tmp_path / "two").plan == plan
    with pytest.raises(BedsideError, match="doesn't say where its run is; name it with `run`"):
        bedside.export_tasks(plan)
    other = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "other", metrics="turns").run
    with pytest.raises(BedsideError, match="`plan`: the plan was made for another run"):
        bedside.export_tasks(plan, run=other)


def test_a_rating_page_gives_links_and_collects_without_being_served(drawn: Path) -> None:
    page = bedside.rating_page(drawn, links=True, address="https://rate.example.org/")
    assert set(page.links) == {"anna", "ben"}
    assert all(link.startswith("https://rate.example.org/#") for link in page.links.values())
    assert page.stored is None
    collected = bedside.rating_page(drawn, collect=True)
    assert collected.stored is not None
    assert collected.stored.new == 0


def test_a_server_is_asked_only_with_its_key(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    words = "NO_SUCH_KEY: the environment variable of the server's key is not set"
    with pytest.raises(InputError, match=words):
        bedside.push(drawn, "http://127.0.0.1:9", key_env="NO_SUCH_KEY")
    with pytest.raises(InputError, match=words):
        bedside.pull(drawn, "http://127.0.0.1:9", key_env="NO_SUCH_KEY")
    assert PushSettings(url="http://127.0.0.1:9").strict is None


def test_nothing_is_brought_in_unasked(drawn: Path) -> None:
    with pytest.raises(InputError, match="`url`: nothing is brought in unless it is asked for; add `live`"):
        StatusSettings(url="http://127.0.0.1:9")
    with pytest.raises(InputError, match="`live`: the plan has no rating page of bedside's own"):
        bedside.annotation_status(drawn, live=True)
    bedside.rating_page(drawn, collect=True)
    brought: list[PullSummary] = []
    bedside.annotation_status(drawn, live=True, pulled=brought.append)
    assert [pulled.collected for pulled in brought] == [CollectedAnswers(())]
