"""What files of this room build: rows of ratings and views of them, tables, scored conversations, and runs of made-up
ratings with everything that a suite's report can show."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import bedside
from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.reports.table import Table
from bedside.reports.tables import TABLES
from bedside.scoring.score import score
from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation

Rating = tuple[Any, ...]
TALKS, PEOPLE = bedside.EXAMPLES / "transcripts.jsonl", bedside.EXAMPLES / "ratings.csv"
PROTOCOLS = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")

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
ENDS = ("full_reveal", "concern_addressed", "matched_without_reveal")
DELAYS = ("turns_to_full_reveal", "turns_to_address", "reveal_to_address_lag")
TASKS = ("confirmation", "intervention")
HISTORY = (
    "history_f1", "history_recall", "history_precision", "recall_site", "recall_onset", "recall_timing",
    "information_control_rate", "factual_conflict_rate", "dont_know_share", "history_f1_by_messages",
    "history_precision_by_messages",
)  # fmt: skip
STAGES = ("fostering the relationship", "gathering information", "exit")
JUDGE = "judge:made-up"


def rating(
    transcript: str,
    system: str | None,
    case: str | None,
    metric: str,
    value: float | None,
    rater: str = "judge:m",
    *,
    unit: str = "transcript",
    replicate: int = 0,
    label: str | None = None,
) -> Rating:
    """A row of ratings; without value and label it is missing."""
    error = "as drawn" if value is None and label is None else None
    return transcript, system, case, unit, metric, rater, replicate, value, label, None, error


def rated(system: str, case: int, rater: str = "judge:m", **values: float | None) -> list[Rating]:
    """A transcript's ratings; a metric's role stands after two underscores."""
    return [
        rating(f"{system}-{case}", system, f"c{case}", metric.replace("__", "."), value, rater)
        for metric, value in values.items()
    ]


def by_system(values: Mapping[str, Sequence[float]], metric: str = "empathy") -> RatingsView:
    """A judge's value of each system's transcripts, one a case."""
    return view_of(
        rating(f"{system}-{case}", system, f"c{case}", metric, float(value))
        for system, own in values.items()
        for case, value in enumerate(own)
    )


def view_of(rows: Iterable[Rating], factors: pl.DataFrame | None = None, **fields: Any) -> RatingsView:
    return RatingsView(frame_of(rows), fields.pop("scales", {}), factors, "ratings", **fields)


def table_of(name: str, view: RatingsView, **options: Any) -> Table | None:
    """A table of the registry, as a suite's options say."""
    kind = TABLES.load(name)
    return kind.make(view, 0, kind.options.model_validate(options) if kind.options else None)


def full_table(name: str, view: RatingsView, **options: Any) -> Table:
    table = table_of(name, view, **options)
    assert table is not None
    return table


def cells_of(table: Table) -> list[list[str]]:
    """The texts of each row."""
    return [[cell.text for cell in row.cells] for row in table.rows]


def cells_by_title(table: Table) -> dict[str, list[str]]:
    return {title: texts for title, *texts in cells_of(table)}


def titles_of(table: Table) -> list[str]:
    return [column.title for column in table.columns]


def file_of(folder: Path, *talks: Transcript) -> Path:
    """The transcripts in a file."""
    path = folder / "talks.jsonl"
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    return path


def scored(folder: Path, talks: Any = TALKS, metrics: Sequence[str] | None = None, **options: Any) -> Run:
    """Transcripts, or files of them, scored into ``folder/run``."""
    own = talks if isinstance(talks, list) else [talks]
    return Run(score(own, folder / "run", metrics=metrics, **options).run.path)


def people_rated(run: Run, file: Path = PEOPLE) -> Run:
    """The run with people's ratings from a file, on scales from 1 to 5."""
    bedside.import_ratings(run, file, scales="1-5")
    return Run(run.path)


def reasoned_run(folder: Path) -> Run:
    """A run whose ratings have reasons that quote turns, as a judge's have."""
    run = scored(folder, metrics=["words", "open_question_ratio", "question", "percent_complex_reflections"])
    rows = ["item,rater,metric,value,reason"]
    for position, talk in enumerate(read_transcripts([TALKS])):
        said = talk.turns[3].text.replace('"', "'")
        reason = f'See turn 2: ""{said}"" <script>alert(1)</script> & more'
        rows += [f'{talk.id},{rater},empathy,{1 + (position + extra) % 5},"{reason}"'
                 for extra, rater in enumerate(("anna", "ben"))]  # fmt: skip
    file = folder / "ratings.csv"
    file.write_text("\n".join(rows) + "\n", "utf-8")
    return people_rated(run, file)


def with_rows(run: Run, rows: Iterable[Rating], round: str = "") -> Run:
    with run.locked():
        run.add(frame_of(rows, round).lazy(), run.manifest)
    return run


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
                    choices = ("well", "sleep", "medication", "difficult")
                    words = " ".join(draw.choice(choices) for _ in range(5))
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
    metrics = ["structure", "smog", "flesch_reading_ease", "dale_chall"]
    run = scored(folder, file_of(folder, *talks), metrics, suite=suite)
    run.manifest["scorings"][0] |= {"suite": suite}
    rows = []
    for talk in talks:
        head = (talk.id, talk.system, talk.case_id)
        better = 0.4 if talk.system == "steady & sure" else 0.0
        for name in SUITES.load(suite).rubrics:
            rows += [(*head, *row) for row in _rated(RUBRICS.load(name), better, draw)]
        if suite == "calm-it":
            for name, (low, high) in MODELLED.items():
                value = draw.uniform(low, high) if draw.random() < 0.95 else None
                rows.append((*head, *_value(name, "algorithm:made@1", value)))
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
    rows = []
    true = min(len(levels) - 1, int(draw.random() * (0.6 + better) * len(levels)))
    for rater in (JUDGE, "human:anna", "human:ben"):
        if rater != JUDGE and draw.random() < 0.4:
            continue
        place = min(len(levels) - 1, max(0, true + draw.choice((-1, 0, 0, 0, 1))))
        rows.append(_value(rubric.name, rater, levels[place] if draw.random() < 0.96 else None))
    return rows


def _protocol(suite: str, draw: random.Random, turns: int) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []

    def add(name: str, value: float | None, unit: str = "transcript", rater: str = JUDGE) -> None:
        rows.append(_value(name, rater, value, unit))

    if suite == "medconceal":
        gold, submitted = draw.randint(2, 4), draw.randint(2, 4)
        matched, revealed = draw.randint(0, 2), draw.randint(1, 2)
        counts = (gold, submitted, matched, draw.randint(0, matched), 2, min(matched, revealed), revealed, revealed - 1,
                  turns // 2, draw.randint(0, 2))  # fmt: skip
        for name, count in zip(COUNTS, counts, strict=True):
            add(name, float(count))
        for name in SHARES:
            add(name, draw.choice((0.25, 0.5, 0.75, 1.0)))
        for name in ENDS:
            add(name, float(draw.random() < 0.5))
        for name in DELAYS:
            add(name, float(draw.randint(3, 9)) if draw.random() < 0.6 else None)
        for name, step in (("revealed_by_turn", 0.5), ("addressed_by_turn", 1.0)):
            level = 0.0
            for turn in range(0, turns, 2):
                level = min(1.0, level + draw.choice((0, 0, step)))
                add(name, level, f"turn:{turn}")
        return rows
    for name in HISTORY:
        add(name, draw.choice((0.2, 0.5, 0.8)))
    # As in a run: the questions are counted, the findings judged.
    add("history_questions", float(draw.randint(3, 9)), rater="algorithm:history_taking@1")
    add("elicited_findings", float(draw.randint(0, 5)))
    add("counted_findings", 5.0)
    for category in ("site", "onset", "timing"):
        add(f"elicited_{category}", float(draw.randint(0, 2)))
        add(f"counted_{category}", 2.0)
    rank = draw.choice((0, 1, 2, 3, None))
    add("diagnosis_rank", rank)
    for k in range(1, 6):
        add(f"diagnosis_top_{k}", float(rank is not None and rank < k))
    return rows
