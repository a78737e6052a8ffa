"""A run of made-up ratings with everything a suite's report can show: systems, factors, people, judges, gaps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from tests.conftest import conversation

#: Metrics of models and protocols that no run of a test computes, with their range.
MODELLED = {
    "self_consistency.clinician": (0.6, 1.0), "self_consistency.patient": (0.6, 1.0),
    "contradiction_rate.clinician": (0.0, 0.2), "contradiction_rate.patient": (0.0, 0.2),
    "entailment.clinician": (0.0, 0.5), "entailment.patient": (0.0, 0.5),
    "turn_likelihood.clinician": (-5.0, -2.0), "turn_likelihood.patient": (-5.0, -2.0),
    "redirection_ratio": (0.0, 1.0), "accepted_redirection": (0.0, 1.0), "greatest_redirection": (0.0, 9.0),
    "delta_change_talk": (-1.0, 1.0), "delta_sustain_talk": (-1.0, 1.0),
}  # fmt: skip
COUNTS = (
    "gold_concerns", "submitted_findings", "matched_concerns", "agreeing_matches", "coarse_matches",
    "grounded_matches", "revealed_concerns", "concerns_revealed_by_limit", "evaluated_turns", "blocked_turns",
)  # fmt: skip
SHARES = (
    "concern_precision", "concern_recall", "concern_f1", "concern_category_accuracy", "coarse_precision",
    "coarse_recall", "coarse_f1", "reveal_rate", "meta_probe_rate", "revealed_by_limit",
)  # fmt: skip
TASKS = ("confirmation", "intervention")
HISTORY = (
    "history_f1", "history_recall", "history_precision", "recall_site", "recall_onset", "recall_timing",
    "information_control_rate", "factual_conflict_rate", "dont_know_share",
)  # fmt: skip
STAGES = ("fostering the relationship", "gathering information", "exit")
JUDGE = "judge:made-up"


def made_run(folder: Path, suite: str, *, cases: int = 6, seed: int = 0) -> Run:
    """The run: two systems (one named with letters that need care), ``cases`` cases at two target lengths."""
    draw = random.Random(seed)
    talks = []
    for system in ("steady & sure", "brisk_2"):
        for case in range(cases):
            for length in (8, 16):
                turns: list[tuple[Any, ...]] = []
                for position in range(length + draw.choice((-2, 0))):
                    role = "patient" if position % 2 else "clinician"
                    words = " ".join(
                        draw.choice(("well", "sleep", "medication", "difficult")) for _ in range(5)
                    )
                    meta = {} if position % 2 else {"stage": draw.choice(STAGES)}
                    turns.append((role, f"{words.capitalize()}.", meta))
                talks.append(
                    conversation(
                        *turns,
                        id=f"{system}-{case}-{length}",
                        system=system,
                        # A case is one across lengths where the suite pairs lengths.
                        case_id=f"case-{case}" if suite == "calm-it" else f"case-{case}-{length}",
                        language="en",
                        factors={
                            "persona": ("calm", "anxious")[case % 2],
                            "health_literacy": ("low", "high")[case % 3 == 0],
                            "target_length": length,
                            "setting": ("open", "guarded")[length == 16],
                            **({"task": TASKS[case % 2]} if suite == "medconceal" else {}),
                        },
                    )
                )
    path = folder / "talks.jsonl"
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    run = score(
        [path],
        folder / "run",
        suite=suite,
        metrics=["structure", "smog", "flesch_reading_ease", "dale_chall"],
    ).run
    run.manifest["scorings"][0] |= {"suite": suite}
    rows = []
    for talk in talks:
        head = (talk.id, talk.system, talk.case_id)
        better = 0.4 if talk.system == "steady & sure" else 0.0
        for name in SUITES.load(suite).rubrics:
            rows += [(*head, *row) for row in _rated(RUBRICS.load(name), better, draw)]
        if suite == "calm-it":
            for name, (low, high) in MODELLED.items():
                rows.append(
                    (
                        *head,
                        *_value(
                            name,
                            "algorithm:made@1",
                            draw.uniform(low, high) if draw.random() < 0.95 else None,
                        ),
                    )
                )
        if suite in ("medconceal", "note2chat"):
            rows += [(*head, *row) for row in _protocol(suite, draw, len(talk.turns))]
    run.add(frame_of(rows).lazy(), run.manifest)
    return Run(run.path)


def _value(name: str, rater: str, value: float | None, unit: str = "transcript") -> tuple[Any, ...]:
    return unit, name, rater, 0, value, None, None, None if value is not None else "made to be missing"


def _rated(rubric: Rubric, better: float, draw: random.Random) -> list[tuple[Any, ...]]:
    scale = rubric.rating_scale()
    if scale is None or not scale.ordered:
        return []
    levels = [float(level) for level in scale.levels]
    found = []
    true = min(len(levels) - 1, int(draw.random() * (0.6 + better) * len(levels)))
    for rater in (JUDGE, "human:anna", "human:ben"):
        if rater != JUDGE and draw.random() < 0.4:
            continue
        place = min(len(levels) - 1, max(0, true + draw.choice((-1, 0, 0, 0, 1))))
        found.append(_value(rubric.name, rater, levels[place] if draw.random() < 0.96 else None))
    return found


def _protocol(suite: str, draw: random.Random, turns: int) -> list[tuple[Any, ...]]:
    found = []
    if suite == "medconceal":
        gold, submitted = draw.randint(2, 4), draw.randint(2, 4)
        matched, revealed = draw.randint(0, 2), draw.randint(1, 2)
        counts = (gold, submitted, matched, draw.randint(0, matched), 2, min(matched, revealed), revealed, revealed - 1,
                  turns // 2, draw.randint(0, 2))  # fmt: skip
        for name, count in zip(COUNTS, counts, strict=True):
            found.append(_value(name, JUDGE, float(count)))
        for name in SHARES:
            found.append(_value(name, JUDGE, draw.choice((0.25, 0.5, 0.75, 1.0))))
        for name in ("full_reveal", "concern_addressed", "matched_without_reveal"):
            found.append(_value(name, JUDGE, float(draw.random() < 0.5)))
        for name in ("turns_to_full_reveal", "turns_to_address", "reveal_to_address_lag"):
            found.append(_value(name, JUDGE, float(draw.randint(3, 9)) if draw.random() < 0.6 else None))
        for name in ("revealed_by_turn", "addressed_by_turn"):
            level = 0.0
            for turn in range(0, turns, 2):
                level = min(1.0, level + draw.choice((0, 0, 0.5 if name[0] == "r" else 1.0)))
                found.append(_value(name, JUDGE, level, f"turn:{turn}"))
    else:
        for name in HISTORY:
            found.append(_value(name, JUDGE, draw.choice((0.2, 0.5, 0.8))))
        questions = draw.randint(3, 9)
        # As in a run: the questions are counted, the findings judged.
        found.append(_value("history_questions", "algorithm:history_taking@1", float(questions)))
        found.append(_value("elicited_findings", JUDGE, float(draw.randint(0, 5))))
        found.append(_value("counted_findings", JUDGE, 5.0))
        for category in ("site", "onset", "timing"):
            found.append(_value(f"elicited_{category}", JUDGE, float(draw.randint(0, 2))))
            found.append(_value(f"counted_{category}", JUDGE, 2.0))
        rank = draw.choice((0, 1, 2, 3, None))
        found.append(_value("diagnosis_rank", JUDGE, rank))
        for k in range(1, 6):
            found.append(_value(f"diagnosis_top_{k}", JUDGE, float(rank is not None and rank < k)))
    return found
