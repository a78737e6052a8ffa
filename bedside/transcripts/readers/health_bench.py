"""HealthBench: conversations with a rubric each, with or without a model's answer (Arora et al., 2025)."""

from __future__ import annotations

from typing import Any

from bedside.core.errors import InputError
from bedside.core.json_shape import json_kind
from bedside.transcripts.json_source import line_spans
from bedside.transcripts.request_answers import one_talk, record_reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.transcript import Transcript

_SEE = "see bedside show health_bench"


def _transcript(source: SourceFile, item: Any, where: str, name: str) -> Transcript:
    if not isinstance(item, dict) or not isinstance(item.get("prompt"), list):
        what = "no list called 'prompt'" if isinstance(item, dict) else f"no object but {json_kind(item)}"
        raise InputError(f"there is {what}", where=where, todo=_SEE)
    # Rubrics are no turns, whatever they are written in; the canary says only that the file is a test.
    apart = {key: item[key] for key in ("rubrics", "ideal_completions_data") if key in item}
    rest = {key: value for key, value in item.items() if key not in (*apart, "canary", "example_tags", "prompt_id")}
    talk = one_talk(source, rest, where)
    tags = item["example_tags"] if isinstance(item.get("example_tags"), list) else []
    themes = [tag.partition(":")[2] for tag in tags if isinstance(tag, str) and tag.startswith("theme:")]
    fields = talk.fields()
    fields["reference"] |= apart
    if len(themes) == 1:
        fields["factors"]["theme"] = themes[0]
    if tags:
        fields["reference"]["tags"] = tags
    owner = item.get("prompt_id") or name
    # Several models answer one prompt.
    fields.setdefault("case_id", owner)
    fields["id"] = f"{owner}/{fields['system']}" if fields.get("system") else owner
    return talk.transcript(name, fields)


READER = record_reader(
    lambda first: "prompt_id" in first and isinstance(first.get("prompt"), list),
    _transcript,
    name="health_bench",
    title="HealthBench (JSON lines)",
    description="One example a line. With the system (`model` or `system`), `prompt_id` is the id.",
    example=(
        '{"prompt_id": "p-1", "prompt": [{"role": "user", "content": "I sleep badly."}], "completion": "Since when?", '
        '"example_tags": ["theme:context_seeking"], "rubrics": [{"criterion": "Asks since when.", "points": 5, "tags": '
        "[]}]}\n"
    ),
    example_name="healthbench.jsonl",
    facts={
        "family": "logs",
        "known_by": "`prompt_id` and `prompt`, a list",
        "turns": "messages of the prompt; the answer beside",
        "kept": "`prompt_id` as case, the theme as factor; rubrics, tags, ideal answers in the reference",
        "left": "not counted: the canary",
        "decided_by": "`--leave-out KEY`",
    },
    endings=(".jsonl", ".ndjson", ".json"),
    spans=line_spans,
)
