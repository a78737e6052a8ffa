"""What the page is given of one conversation: its turns, and all ratings of it."""

from __future__ import annotations

from typing import Any

from bedside.ratings.names import is_pair, is_turn, second_id, turn_index
from bedside.ratings.run import run_simulations
from bedside.reports.viewer.list_query import FACTOR
from bedside.reports.viewer.viewed_run import ViewedRun, rater_kind

#: What is told of a rating beside its unit.
_TOLD = ("metric", "rater", "replicate", "value", "label", "reason", "error", "round")


def conversation(viewed: ViewedRun, name: str) -> dict[str, Any]:
    """A conversation with its ratings, those of its turns beside them.

    Raises:
        NoSuchTranscriptError: there is none of this id.
        RunError: a table is damaged.
    """
    row = viewed.described(name)
    transcript = viewed.transcript(name)
    ratings = []
    for rating in viewed.ratings(name).iter_rows(named=True):
        unit, first = rating["unit"], rating["transcript_id"]
        content = {key: rating[key] for key in _TOLD}
        content |= {
            "unit": unit,
            "kind": rater_kind(rating["rater"]),
            "turn": None,
            "first": None,
            "second": None,
        }
        if is_turn(unit):
            content["turn"] = turn_index(unit)
        elif is_pair(unit):
            content |= {"first": first, "second": second_id(unit)}
            content["there"] = all(map(viewed.has, (first, content["second"])))
        ratings.append(content)
    return {
        "id": name,
        "system": row["system"],
        "case": row["case_id"],
        "language": row["language"],
        "factors": {key.removeprefix(FACTOR): level for key, level in row.items() if key.startswith(FACTOR)},
        "count": row["turns"],
        "source": None if transcript is None else transcript.source,
        "reference": None if transcript is None else dict(transcript.reference),
        "turns": None
        if transcript is None
        else [
            {"role": turn.role, "speaker": turn.speaker, "text": turn.text, "meta": dict(turn.meta)}
            for turn in transcript.turns
        ],
        "provenance": []
        if transcript is None
        else [
            {"kind": item.kind, "before": item.before, "speaker": item.speaker, "text": item.text}
            for item in transcript.provenance
        ],
        "ratings": ratings,
        "same": viewed.of_case(row["case_id"]),
        "simulated": bool(run_simulations(viewed.path)),
    }
