"""People who answer a plan in another annotation tool: a rater's folder in, the tool's export out.

The forms of the exports are those that the tools document and that the tools themselves wrote of such a folder where
they could be installed (Argilla 2.8, doccano 1.8.4, potato 2.12).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

#: Task and question → what the rater chooses or writes; nothing leaves the question open, None skips the task.
Answers = Callable[[str, str], Sequence[str] | None]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def put_lines(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def argilla(folder: Path, answers: Answers, flat: bool = False) -> Path:
    """``records.json`` as ``to_disk`` writes it; flat as ``records.to_list(flatten=True)`` gives it, with states."""
    settings = json.loads((folder / ".argilla/settings.json").read_text("utf-8"))
    records = json.loads((folder / "records.json").read_text("utf-8"))
    user = f"00000000-0000-4000-8000-{folder.name:0>12}"
    for record in records:
        for question in settings["questions"]:
            given = answers(record["id"], question["name"])
            if not given:
                continue
            kind = question["settings"]["type"]
            if kind != "text":
                assert set(given) <= {option["value"] for option in question["settings"]["options"]}
            value = list(given) if kind == "multi_label_selection" else given[0]
            record["responses"][question["name"]] = [{"value": value, "user_id": user}]
        record["status"], record["_server_id"] = "completed", "1"
    if flat:
        records = [_flattened(record) for record in records]
    path = folder / "export.json"
    path.write_text(json.dumps(records), "utf-8")
    return path


def _flattened(record: Mapping[str, Any]) -> dict[str, Any]:
    row = {"id": record["id"], **record["fields"], **record["metadata"]}
    for question, responses in record["responses"].items():
        row[f"{question}.responses"] = [response["value"] for response in responses]
        row[f"{question}.responses.users"] = [response["user_id"] for response in responses]
        row[f"{question}.responses.status"] = ["submitted"] * len(responses)
    return row


def doccano(folder: Path, answers: Answers) -> Path:
    """The JSONL of a text classification project."""
    labels = [label["text"] for label in json.loads((folder / "labels.json").read_text("utf-8"))]
    questions = dict.fromkeys(label.partition(" = ")[0] for label in labels)
    records = []
    for number, task in enumerate(lines(folder / "tasks.jsonl"), 1):
        chosen = [f"{name} = {choice}" for name in questions for choice in answers(task["task"], name) or ()]
        assert set(chosen) <= set(labels)
        notes = list(answers(task["task"], "notes") or ())
        records.append({"id": number, **task, "label": sorted(chosen), "Comments": notes})
    return put_lines(folder / "export.jsonl", records)


def prodigy(folder: Path, answers: Answers) -> Path:
    """``db-out`` after ``mark`` with ``choice``, of both sessions where there are two."""
    records = []
    for path in sorted(folder.rglob("tasks.jsonl")):
        style = json.loads((path.parent / "prodigy.json").read_text("utf-8"))["choice_style"]
        for task in lines(path):
            given = answers(task["task"], task["question"])
            assert set(given or ()) <= {option["id"] for option in task["options"]}
            assert style == "multiple" or len(given or ()) < 2
            answer = {"answer": "ignore"} if given is None else {"accept": list(given), "answer": "accept"}
            session = f"{folder.name}-2026-03-01_10-00-00"
            records.append({
                **task, "config": {"choice_style": style}, **answer, "_view_id": "choice", "_timestamp": 1772359200,
                "_annotator_id": session, "_session_id": session,
            })  # fmt: skip
    return put_lines(folder / "export.jsonl", records)


def potato(folder: Path, answers: Answers, version: int = 2) -> Path:
    """``annotations.jsonl`` of potato 2, or ``annotated_instances.jsonl`` of potato 1."""
    config = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    records = []
    for task in lines(folder / "tasks.jsonl"):
        labels: dict[str, dict[str, Any]] = {}
        for scheme in config["annotation_schemes"]:
            given = answers(task["id"], scheme["name"])
            if given and scheme["annotation_type"] == "text":
                labels[scheme["name"]] = {"text_box": given[0]}
            elif given:
                assert set(given) <= {label["name"] for label in scheme["labels"]}
                labels[scheme["name"]] = {choice: choice for choice in given}
        head = {"user_id": config["user_config"]["users"][0]}
        if version == 1:
            records.append({**head, "id": task["id"], "label_annotations": labels, "span_annotations": {}})
        else:
            records.append({**head, "instance_id": task["id"], "labels": labels, "spans": {}, "links": {}})
    return put_lines(folder / "export.jsonl", records)


STAND_INS = {"argilla": argilla, "doccano": doccano, "potato": potato, "prodigy": prodigy}
