"""How fast answers become ratings: 5 000 tasks answered by two raters, from a Label Studio export to the run.

    python benchmarks/annotation_answers.py

Prints annotations a second of reading, of putting them into the run, and of putting the same in again; and the time to
draw the plan.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bedside.annotation.answer_store import keep_answers
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.transcripts.transcript import Transcript, Turn

TASKS = 5_000
RUBRIC_NAMES = ("empathy", "partnership", "reflection_quality", "question_quality")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = (Turn(0, "clinician", "c", "How are you?"), Turn(1, "patient", "p", "Fine."))
        lines = [Transcript(f"t{number}", turns, system="s").to_json() for number in range(TASKS)]
        (folder / "in.jsonl").write_bytes(b"\n".join(lines))
        run = score([folder / "in.jsonl"], folder / "run", metrics=["structure"]).run
        start = time.perf_counter()
        rubrics = [RUBRICS.load(rubric) for rubric in RUBRIC_NAMES]
        plan = make_plan(run, mode="rate", rubrics=rubrics, raters=("anna", "ben", "cleo"))
        print(f"plan of {TASKS:,} items: {time.perf_counter() - start:.2f} s")
        users = {rater: number for number, rater in enumerate(plan.raters, 1)}
        tasks = [
            {
                "id": number,
                "data": {"external_id": item},
                "annotations": [
                    {
                        "unique_id": f"{item}{rater}", "completed_by": users[rater], "updated_by": users[rater],
                        "was_cancelled": False, "created_at": "2026-01-01T00:00:00Z",
                        "updated_at": "2026-01-01T00:00:00Z", "lead_time": 30.0,
                        "result": [
                            {"from_name": rubric, "type": "choices", "value": {"choices": [str(1 + number % 5)]}}
                            for rubric in RUBRIC_NAMES
                        ],
                    }
                    for rater in raters
                ],
            }
            for number, (item, raters) in enumerate(plan.raters_of.items())
        ]  # fmt: skip
        count = sum(len(task["annotations"]) for task in tasks)
        named: dict[int | str, str] = {number: rater for rater, number in users.items()}
        start = time.perf_counter()
        answers = read_export(plan, tasks, named, where="export").answers
        read = time.perf_counter() - start
        start = time.perf_counter()
        kept = keep_answers(run, plan, answers)
        put = time.perf_counter() - start
        start = time.perf_counter()
        again = keep_answers(Run(run.path), plan, answers)
        twice = time.perf_counter() - start
        assert (kept.new, again.unchanged, again.ratings) == (count, count, count * len(RUBRIC_NAMES))
        print(f"{count:,} annotations: read {count / read:,.0f}/s, put into the run {count / put:,.0f}/s,")
        print(f"from export to ratings {count / (read + put):,.0f}/s; the same again {count / (read + twice):,.0f}/s")


if __name__ == "__main__":
    main()
