"""Tuning recovers the fault that was put into a judge, and nothing held out reaches a prompt that learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.protocol import LanguageModelError
from bedside.judges.rubrics.rubric_files import RUBRICS, parse_rubric
from bedside.judges.settings import JudgeSettings
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import JudgingOrder, JudgingWork
from bedside.scoring.run_judging import judging
from bedside.scoring.run_transcripts import kept_transcripts
from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome, prepared_split, tune
from bedside.tuning.tuned_rubric import with_history, write_tuned_rubric
from tests.tuning.tuned_run import SENTENCE, FaultyJudge, compressed, needs_examples, needs_sentence, rated_run

pytestmark = pytest.mark.slow
JUDGE = "http://127.0.0.1:1/v1#tiny"
PROPOSAL = [{"part": "instructions", "text": f"Warmth is not enough. {SENTENCE}"}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return rated_run(tmp_path_factory.mktemp("tuned"))


def tuned(run: Run, judge: FaultyJudge, **order: Any) -> tuple[TuningOutcome, TuningOrder]:
    asked = TuningOrder(model_name(JUDGE), RUBRICS.load("empathy"), **{"settings": JudgeSettings(), **order})
    split = prepared_split(open_ratings_view(run), asked)
    (run.path / "judgements.sqlite").unlink(missing_ok=True)
    return tune(run, split, asked, client=lambda: judge), asked


def test_a_map_repairs_a_compressed_scale(run: Run) -> None:
    outcome, _ = tuned(run, FaultyJudge(compressed), wordings=0, examples=0)
    assert outcome.tuned is not None
    assert outcome.tuned.level_map
    assert outcome.shown
    assert outcome.figures.before.estimate is not None
    assert (outcome.gain.estimate or 0) > 0.15
    assert outcome.tuned.definition == outcome.base.definition


def test_a_sentence_that_is_missing_is_proposed_and_kept(run: Run) -> None:
    outcome, _ = tuned(run, FaultyJudge(needs_sentence, PROPOSAL), wordings=2, examples=0)
    assert outcome.tuned is not None
    assert SENTENCE in str(outcome.tuned.instructions)
    assert outcome.shown
    assert any("proposed before" in line for line in outcome.rejected)


def test_examples_are_chosen_where_they_help(run: Run) -> None:
    outcome, _ = tuned(run, FaultyJudge(needs_examples), wordings=0, examples=3)
    assert outcome.tuned is not None
    assert len(outcome.tuned.examples) == 3
    assert len({example.level for example in outcome.tuned.examples}) == 3
    assert outcome.shown


def test_nothing_held_out_reaches_a_prompt_that_learns(run: Run) -> None:
    judge = FaultyJudge(needs_examples, PROPOSAL)
    outcome, _ = tuned(run, judge, wordings=2, examples=3)
    parts = (outcome.split.held_out, outcome.split.training)
    held_out, training = ({unit.transcript.partition("-")[2] for unit in part} for part in parts)
    assert not held_out & training
    results = 0
    for prompt in judge.prompts:
        of_held_out = [number for number in held_out if f"Held{number}" in prompt]
        rated = prompt.partition("--- conversation begins")[2].partition("--- conversation ends")[0]
        if of_held_out:
            # The one that is rated, at the very end, and nothing of any other.
            assert [number for number in held_out if f"Held{number}" in rated] == of_held_out
            assert len(of_held_out) == 1
            results += 1
        for words in ("Remark{}", "talk-{}", "at {}."):
            assert not [number for number in held_out if words.format(number) in prompt]
    assert results == 2 * len(held_out)
    # And those come last, once everything is chosen.
    places = [any(f"Held{number}" in prompt for number in held_out) for prompt in judge.prompts]
    assert places == sorted(places)


def test_no_example_is_of_the_case_that_is_rated(run: Run) -> None:
    judge = FaultyJudge(needs_examples)
    outcome, _ = tuned(run, judge, wordings=0, examples=3)
    case_of = {unit.transcript.partition("-")[2]: unit.case for unit in outcome.split.training}
    seen = 0
    for prompt in judge.prompts:
        rated, _, rest = prompt.partition("--- conversation begins")[2].partition("--- conversation ends")
        own = next((case for number, case in case_of.items() if f"Held{number}" in rated), None)
        shown = {case for number, case in case_of.items() if f"Held{number}" in rest}
        seen += bool(shown)
        assert own is None or own not in shown
    assert seen >= 60


def test_after_a_stop_nothing_is_asked_twice_and_the_result_is_the_same(run: Run) -> None:
    whole = FaultyJudge(needs_sentence, PROPOSAL)
    outcome, order = tuned(run, whole, wordings=2, examples=2)

    class Stopped(FaultyJudge):
        async def complete(self, request: Any) -> Any:
            if len(self.prompts) >= 70:
                raise KeyboardInterrupt
            return await super().complete(request)

    first, second = Stopped(needs_sentence, PROPOSAL), FaultyJudge(needs_sentence, PROPOSAL)
    with pytest.raises(KeyboardInterrupt):
        tuned(run, first, wordings=2, examples=2)
    again = tune(run, outcome.split, order, client=lambda: second)
    assert (again.tuned, again.gain, again.candidates) == (outcome.tuned, outcome.gain, outcome.candidates)
    answered = len(first.prompts)
    assert len(second.prompts) <= len(whole.prompts) - answered + order.settings.max_concurrency
    assert tune(run, outcome.split, order, client=lambda: FaultyJudge(compressed)).calls == 0


def test_a_limit_that_is_reached_stops_it_and_the_same_call_goes_on(run: Run) -> None:
    judge = FaultyJudge(needs_examples)
    with pytest.raises(LanguageModelError, match="isn't finished") as stopped:
        tuned(run, judge, wordings=0, examples=2, settings=JudgeSettings(max_calls=45))
    assert "the same command again" in str(stopped.value.todo)
    assert len(judge.prompts) == 45
    order = TuningOrder(model_name(JUDGE), RUBRICS.load("empathy"), JudgeSettings(), wordings=0, examples=2)
    split = prepared_split(open_ratings_view(run), order)
    outcome = tune(run, split, order, client=lambda: judge)
    assert len(judge.prompts) == 45 + outcome.calls == 120


def test_a_lone_round_is_one_and_a_preview_asks_nothing(run: Run) -> None:
    (run.path / "judgements.sqlite").unlink(missing_ok=True)
    asked: dict[str, Any] = {"rubric": "empathy", "examples": 2, "wordings": 2, "price": (1, 2)}
    plan = bedside.preview_tuning(run, JUDGE, rounds="all", **asked)
    assert plan == bedside.preview_tuning(run, JUDGE, rounds=["all"], **asked)
    assert {step.rubric: step.calls for step in plan.results} == {
        "training units": 30, "wordings proposed": 2, "wordings tried": 45, "with examples": 30,
        "held out, before": 30, "held out, after": 30,
    }  # fmt: skip
    assert not (run.path / "judgements.sqlite").exists()
    for wrong in (bedside.preview_tuning, bedside.tune_judge):
        with pytest.raises(bedside.BedsideError, match=r"`rounds`: .*3"):
            wrong(run, JUDGE, rubric="empathy", rounds=3)  # type: ignore[arg-type]


def test_the_budget_decides_how_many_wordings_are_tried(run: Run) -> None:
    judge = FaultyJudge(needs_sentence, PROPOSAL)
    outcome, _ = tuned(run, judge, wordings=4, examples=0, budget=130)
    assert outcome.calls == len(judge.prompts) <= 130
    assert outcome.fewer > 0
    with pytest.raises(bedside.BedsideError, match="90"):
        tuned(run, FaultyJudge(compressed), examples=0, budget=80)


def test_the_file_holds_the_history_and_is_read_as_it_was_written(run: Run, tmp_path: Path) -> None:
    outcome, order = tuned(run, FaultyJudge(needs_examples), wordings=0, examples=2)
    rubric = with_history(outcome, order, open_ratings_view(run))
    assert rubric is not None
    path = tmp_path / "ours.yaml"
    write_tuned_rubric(rubric, path)
    assert parse_rubric(path) == rubric
    text = path.read_text("utf-8")
    assert "as confidential as they are" in text
    (record,) = rubric.history
    assert (record.rubric, record.version, record.judge) == (
        "empathy", RUBRICS.load("empathy").version, "judge:tiny",
    )  # fmt: skip
    assert set(record.training.digests) == rubric.learnt_from == set(outcome.split.digests())
    assert record.gain.low is not None
    assert record.shown
    assert "talk-" not in text
    assert "case-" not in text


def test_a_judge_by_the_tuned_rubric_is_another_rater_validated_on_what_was_held_out(run: Run, tmp_path: Path) -> None:
    outcome, order = tuned(run, FaultyJudge(compressed), wordings=0, examples=2)
    rubric = with_history(outcome, order, open_ratings_view(run))
    assert rubric is not None
    client = FaultyJudge(compressed)
    for work in (JudgingWork((RUBRICS.load("empathy"),)), JudgingWork((rubric,))):
        asked = JudgingOrder(model_name(JUDGE), work, JudgeSettings())
        with run.locked(), judging(run, kept_transcripts(run), asked, client=lambda: client) as finished:
            finished.add(run)
    rater = f"judge:tiny+empathy@{rubric.version}"
    fresh = Run(run.path)
    assert {"judge:tiny", rater} <= set(fresh.ratings["rater"])
    cards = {card.rater: card.validations[0] for card in bedside.validate(fresh).results}
    assert cards[rater].with_people == len(outcome.split.held_out)
    assert cards[rater].learnt == len(outcome.split.training)
    assert cards["judge:tiny"].with_people == 60
    # What was asked before is not asked again: only what training units are shown differs from the trials.
    assert all("conversation begins" in prompt for prompt in client.prompts)
