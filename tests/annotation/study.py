"""A small study for the tests: conversations of two systems, a judge's ratings of them, and people who answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.items import label_studio_tasks
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.scoring.score import score

EMPATHY, GOAL = RUBRICS.load("empathy"), RUBRICS.load("goal_alignment")
JUDGE = "judge:invented/model"
SYSTEMS = ("GPT-Secret", "Llama-Hidden")


def write_transcripts(path: Path, cases: int = 6) -> Path:
    """``cases`` conversations of each system, with a goal, in bedside's own form."""
    lines = []
    for case in range(cases):
        for system in SYSTEMS:
            said = (
                f"How was week {case}?", 'Hard <b>&</b> "long"\nvery.', "So it was hard for you.",
                "=SUM(1) I want to change that.",
            )  # fmt: skip
            speakers = (("clinician", f"{system} bot"), ("patient", "Pat")) * 2
            turns = [
                {"role": role, "speaker": speaker, "text": text, "meta": {}}
                for (role, speaker), text in zip(speakers, said, strict=True)
            ]
            data = {
                "id": f"secretfile-{system}-{case}", "system": system, "case_id": f"hushcase{case}", "turns": turns,
                "factors": {"length": 10 + 10 * (case % 2)}, "reference": {"goal": f"sleep better {case}"},
                "language": "en",
            }  # fmt: skip
            lines.append(json.dumps(data))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def new_study(folder: Path, cases: int = 6) -> Run:
    """A run of :func:`write_transcripts` with only the structure metrics, rated twice by :data:`JUDGE`."""
    run = score([write_transcripts(folder / "in.jsonl", cases)], folder / "run", metrics=["structure"]).run
    units = sorted(run.index.select("id", "system", "case_id").iter_rows())
    rows = [
        (*unit, "transcript", metric, JUDGE, replicate, float(1 + (number + replicate * (number % 3)) % 5), None,
         "Because.", None)
        for number, unit in enumerate(units)
        for metric in ("empathy", "goal_alignment")
        for replicate in (0, 1)
    ]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


def rating_plan(run: Run, **options: Any) -> AnnotationPlan:
    given = {"mode": "rate", "rubrics": (EMPATHY, GOAL), "raters": ("anna", "ben", "cleo"), "seed": 7}
    return make_plan(run, **{**given, **options})


Say = Callable[[str, str], Mapping[str, Any] | None]


def exported(
    plan: AnnotationPlan, say: Say, users: Mapping[str, int], run: Run | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """An export of Label Studio in which raters answer what ``say(item, rater)`` gives; None leaves the item open.

    The answer maps fields to what :func:`results` takes. With the run, tasks hold what they show.
    """
    tasks = []
    data_of = [] if run is None else [task["data"] for task in label_studio_tasks(plan, run)]
    shown = {data["external_id"]: data for data in data_of}
    for number, (item, raters) in enumerate(sorted(plan.raters_of.items())):
        annotations = []
        for rater in raters:
            given = say(item, rater)
            if given is None:
                continue
            annotations.append({
                "id": number * 10 + users[rater], "unique_id": f"{item}-{rater}", "completed_by": users[rater],
                "updated_by": users[rater], "was_cancelled": False, "created_at": "2026-03-01T10:00:00.000000Z",
                "updated_at": "2026-03-01T10:05:00.000000Z", "lead_time": 60.0, "result": results(given), **fields,
            })  # fmt: skip
        data = shown.get(item, {"external_id": item})
        tasks.append({"id": number, "data": data, "annotations": annotations, "drafts": []})
    return tasks


def results(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Answers in the form of Label Studio's results.

    A field maps to a choice, a list of choices, for text areas ``("text", …)``, for evidence a list of turns, and for a
    code ``{turn: label}``.
    """
    return list(_results(given))


def _results(given: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for name, value in given.items():
        if isinstance(value, dict) or name.startswith("evidence__"):
            yield from _regions(name, value)
            continue
        if isinstance(value, tuple):
            kind, inner = "textarea", {"text": list(value[1:])}
        else:
            kind, inner = "choices", {"choices": value if isinstance(value, list) else [value]}
        yield {"from_name": name, "to_name": "chat", "type": kind, "value": inner}


def _regions(name: str, value: Any) -> Iterable[dict[str, Any]]:
    """What belongs to marked turns: the label of each, or that it is evidence."""
    for turn in value:
        said = {"choices": [value[turn]]} if isinstance(value, dict) else {"paragraphlabels": ["evidence"]}
        place = {"start": str(turn), "end": str(turn), "startOffset": 0, "endOffset": 4}
        kind = "choices" if isinstance(value, dict) else "paragraphlabels"
        yield {"from_name": name, "to_name": "chat", "type": kind, "value": {**place, **said}}


USERS = {"anna": 1, "ben": 2, "cleo": 3}
RATERS: dict[int | str, str] = {1: "anna", 2: "ben", 3: "cleo"}


def level_of(item: str, rater: str) -> int:
    """A level that depends on the item most and on the rater a little."""
    return 1 + (int(item[1:7], 16) % 4 + (len(rater) % 2)) % 5


def reasoned_levels(item: str, rater: str) -> dict[str, Any]:
    """As :func:`levels`, with why on one rubric, and the turns that show it on both."""
    said = {"reason__empathy": ("text", f"why by {rater}")}
    return {**levels(item, rater), **said, "evidence__empathy": [3, 1], "evidence__goal_alignment": [2]}


def levels(item: str, rater: str) -> dict[str, Any]:
    level = level_of(item, rater)
    return {"empathy": str(level), "goal_alignment": str(6 - level), "notes": ("text", f"note by {rater}")}
