"""What was put into a simulated judge, probes find; and a judge that is only noisy is not accused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bedside.judges.llm.endpoints import model_name
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.transcripts.transcript import Turn
from bedside.tuning.probes.movement import ProbeEffect, probe_effects
from bedside.tuning.probes.probe_record import ProbeObservation, ProbeRecord
from bedside.tuning.probes.probe_trials import probes_named
from bedside.tuning.probes.probing import ProbeOrder, probe_judge
from tests.judges.simulated_judge import simulated_talks, true_qualities
from tests.soak import budget
from tests.tuning.probes.reading_judge import ReadingJudge, known_by_word

#: Levels of the rubric from end to end: what the judge sees from 0 to 1.
SPAN = 4


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Thirty cases with a conversation of each of two systems; every clinician turn has two sentences."""

    def longer(turn: Turn) -> Turn:
        return replace(turn, text=f"{turn.text} Please tell me more about it.") if turn.role == "clinician" else turn

    spread: dict[str, Any] = {"case_spread": 0.08, "talk_spread": 0.05}
    talks = simulated_talks({"A": 0.55, "B": 0.45}, 30, seed=1, turns=24, **spread)
    made = [replace(talk, turns=tuple(map(longer, talk.turns))) for talk in talks]
    return score(made, tmp_path_factory.mktemp("probed") / "run", suite="default", metrics=["turns"]).run


def effects_of(
    run: Run, judge: ReadingJudge, name: str, probes: list[str] | None = None
) -> dict[tuple[str, str], ProbeEffect]:
    model = model_name(f"http://localhost:1/v1#{name}")
    order = ProbeOrder(
        judge=model, rubrics=(RUBRICS.load("empathy"),), probes=probes_named(probes), settings=JudgeSettings(),
        transcripts=60, translator=model,
    )  # fmt: skip
    record = probe_judge(run, order, client=judge.client).record
    return {(effect.probe, effect.variant): effect for effect in probe_effects(record)}


#: What the judge is prone to, by change: by how many levels it then sees a conversation higher.
LEVELS = {
    ("position", "good-late"): 0.5, ("position", "poor-late"): -0.4,
    ("formatting", "markdown"): 0.3, ("formatting", "bullets"): 0.6, ("formatting", "capitals"): -0.5,
    ("formatting", "lines"): 0.0, ("address", "flattery"): 0.5, ("address", "threat"): 0.25,
    ("speakers", "letters"): -0.3, ("speakers", "other-words"): 0.0, ("translation", "translated"): -0.6,
    ("wording", "from-the-top"): 0.4, ("wording", "question-first"): 0.0, ("wording", "turned-round"): 0.0,
    ("wording", "paraphrase"): -0.3,
}  # fmt: skip
PER_100_WORDS = 1.0


def prone(text: str) -> float:
    """What the judge sees beside the conversation's quality, in parts of the scale."""
    last_third = 2 * len(text) / 3
    signs = {
        ("position", "good-late"): text.find("how much this weighs") > last_third,
        ("position", "poor-late"): text.find("nothing special") > last_third,
        ("formatting", "markdown"): "## **" in text,
        ("formatting", "bullets"): re.search(r"^\[\d+\] clinician: - ", text, re.MULTILINE) is not None,
        ("formatting", "capitals"): "PLEASE TELL ME" in text,
        ("address", "flattery"): "fine and fair" in text,
        ("address", "threat"): "were reported" in text,
        ("speakers", "letters"): "Speaker A: " in text,
        ("translation", "translated"): "~ Please" in text or "] clinician: ~" in text,
    }
    clinician = " ".join(re.findall(r"^\[\d+\] clinician: (.*)$", text, re.MULTILINE))
    # Only length that padding brings: other changes add a few words, too.
    padding = len(clinician.split()) if "way of putting it" in text or "Let me put it" in text else 0
    plain = 9.0 * len(re.findall(r"^\[\d+\] clinician: ", text, re.MULTILINE)) + 1.5
    longer = max(0.0, padding - plain) * PER_100_WORDS / 100
    return (sum(LEVELS[sign] for sign, is_there in signs.items() if is_there) + longer) / SPAN


def prone_to_tasks(task: str) -> float:
    top, bottom = task.find("\n  5: "), task.find("\n  1: ")
    paraphrased = LEVELS["wording", "paraphrase"] * ("~" in task)
    return (LEVELS["wording", "from-the-top"] * (top < bottom) + paraphrased) / SPAN


@pytest.mark.slow
def test_each_probe_finds_what_was_put_in(study: Run) -> None:
    """All at once, beside a noise of .4 levels: each shift lies within its interval, widened as there are many."""
    quality = known_by_word(true_qualities(study.transcripts()))
    judge = ReadingJudge(quality, noise=0.1, effect=prone, task_effect=prone_to_tasks, gives_in=0.5, seed=3)
    effects = effects_of(study, judge, "prone")
    assert all(effect.transcripts == 60 for effect in effects.values())
    for change, shift in LEVELS.items():
        assert near(effects[change], shift), change
        assert effects[change].reading == ("moved" if abs(shift) >= 0.5 else effects[change].reading)
    for variant in ("plus-25", "plus-50", "plus-100"):
        effect = effects["length", variant]
        assert near(effect, PER_100_WORDS * effect.added / 100), variant
    mean = np.mean([float(talk.factors["quality"]) for talk in study.transcripts()])
    for variant in ("order", "by-patient", "forged-end"):
        # It answers 5 with a chance of one half.
        assert near(effects["injection", variant], float(1 - mean) * SPAN / 2), variant
        assert effects["injection", variant].reading == "moved"
    assert near(effects["injection", "ready-reply"], 0.0)
    # It doesn't look at who said what.
    assert effects["roles", "swapped"].reading == "unclear"
    assert effects["repetition", "again"].reading == "base line"


def near(effect: ProbeEffect, shift: float) -> bool:
    bounds, estimate = effect.shift.interval, effect.shift.estimate
    assert bounds is not None
    assert estimate is not None
    return 1.6 * (bounds.low - estimate) < shift - estimate < 1.6 * (bounds.high - estimate)


@pytest.mark.slow
def test_a_judge_that_looks_at_who_speaks_notices(study: Run) -> None:
    """One that sees half a scale less where the patient speaks as the clinician does."""
    quality = known_by_word(true_qualities(study.transcripts()))
    judge = ReadingJudge(quality, effect=lambda text: -0.4 if "patient: We spoke" in text else 0.0)
    effects = effects_of(study, judge, "looking", ["roles", "speakers"])
    swapped = effects["roles", "swapped"]
    assert swapped.reading == "moved"
    assert swapped.shift.estimate == pytest.approx(-1.6, abs=0.2)
    assert swapped.unrest is not None
    assert swapped.unrest.estimate == pytest.approx(1.6, abs=0.25)
    assert effects["speakers", "letters"].reading == "stayed"


@pytest.mark.slow
def test_a_steady_judge_stays_everywhere(study: Run) -> None:
    """Without noise nothing moves, and with thirty cases that is shown for each change."""
    judge = ReadingJudge(known_by_word(true_qualities(study.transcripts())))
    effects = effects_of(study, judge, "steady", ["formatting", "speakers", "wording"])
    for (probe, _), effect in effects.items():
        assert effect.shift.estimate == 0
        assert effect.moved == 0
        assert effect.reading == ("base line" if probe == "repetition" else "stayed")


CHANGES = [("repetition", "again"), *(("probe", str(number)) for number in range(22)), ("roles", "swapped")]


def observed(row: int, case: str | None, change: tuple[str, str], before: float, after: float) -> ProbeObservation:
    return ProbeObservation(
        transcript=f"t{row}", system=None, case=case, rubric="empathy", probe=change[0], variant=change[1],
        before=float(before), after=float(after), missing=None, added=0, keys_before=(), keys_after=(),
    )  # fmt: skip


def noisy_record(rng: np.random.Generator, cases: int, transcripts: int, noise: float) -> ProbeRecord:
    """A judge's levels from 1 to 5 of conversations in cases, where no change does anything."""
    case = np.arange(transcripts) % cases
    seen = 3 + rng.normal(0, 0.7, cases)[case] + rng.normal(0, 0.5, transcripts)
    asked = np.clip(np.round(seen[:, None] + rng.normal(0, noise, (transcripts, len(CHANGES) + 1))), 1, 5)
    observations = [
        observed(row, f"c{case[row]}", change, asked[row, 0], asked[row, 1 + column])
        for column, change in enumerate(CHANGES)
        for row in range(transcripts)
    ]
    names = [f"{probe}.{variant}" for probe, variant in CHANGES]
    return ProbeRecord(
        rater="judge:m", date="", bedside="", parameters={}, passes=1, seed=0, margin=None, translation=None,
        probes=(), rubrics={}, scales={"empathy": (1.0, 2.0, 3.0, 4.0, 5.0)}, titles=dict.fromkeys(names, "a change"),
        expects={name: "moves" if name.startswith("roles") else "stays" for name in names}, notes=(),
        sampled=transcripts, of=transcripts, observations=tuple(observations),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize(("cases", "transcripts"), [(10, 20), (30, 60)])
@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_false_alarms(cases: int, transcripts: int, noise: float) -> None:
    """Of judges that are only noisy, at most 5 % are said to have moved with anything at all."""
    rng = np.random.default_rng(11)
    runs, alarms = budget(2, 400), 0
    for _ in range(runs):
        effects = probe_effects(noisy_record(rng, cases, transcripts, noise))
        alarms += any(effect.reading == "moved" for effect in effects)
    assert alarms <= 0.05 * runs + 3 * np.sqrt(0.05 * 0.95 * runs)


@pytest.mark.slow
@pytest.mark.soak
def test_never_said_to_stay_by_more_than_the_margin_moved() -> None:
    """Of judges that move by exactly the margin, at most 5 % are said to stay at each change."""
    rng = np.random.default_rng(5)
    runs, stayed = budget(3, 400), []
    for _ in range(runs):
        record = noisy_record(rng, 15, 30, 0.4)
        moved = tuple(
            replace(seen, after=(seen.after or 0) + 0.5) if seen.probe == "probe" else seen
            for seen in record.observations
        )
        effects = probe_effects(replace(record, observations=moved))
        stayed.append(np.mean([effect.reading == "stayed" for effect in effects if effect.probe == "probe"]))
    assert np.mean(stayed) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_coarse_numbers_by_hand() -> None:
    """Means by case, shares and the largest movement of six transcripts in three cases."""
    before, after = [3, 3, 4, 2, 5, 1], [4, 4, 4, 2, 3, 1]
    again = [3, 3, 4, 3, 5, 1]
    cases = ["a", "a", "b", "b", None, None]
    seen = [
        observed(row, cases[row], (probe, "v"), before[row], levels[row])
        for probe, levels in (("repetition", again), ("length", after))
        for row in range(6)
    ]
    record = noisy_record(np.random.default_rng(0), 2, 2, 0)
    names = {"repetition.v": "again", "length.v": "longer"}
    base, longer = probe_effects(
        replace(record, observations=tuple(seen), titles=names, expects=dict.fromkeys(names, "stays"))
    )
    assert longer.shift.estimate == pytest.approx((1 + 0 - 2 + 0) / 4)
    assert (longer.cases, longer.transcripts, longer.moved) == (4, 6, 0.5)
    assert longer.moved_again == base.moved == pytest.approx(1 / 6)
    assert longer.largest == ("t4", 5, 3)
    assert longer.unrest is not None
    assert longer.unrest.estimate == pytest.approx((1 + -0.5 + 2 + 0) / 4)
    assert longer.deviation == pytest.approx(np.std(before, ddof=1))
    assert longer.standardised == pytest.approx(-0.25 / np.std(before, ddof=1))
    assert longer.share_of_scale == pytest.approx(-0.25 / 4)
    assert longer.margin == 0.5
    assert (base.tested.p, longer.tested.family_size) == (None, 1)
