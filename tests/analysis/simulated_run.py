"""A small run of simulated conversations with known numbers: two systems, two personas, two repeats, some lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bedside
from bedside.ratings.run import Run

SYSTEMS, CASES, PERSONAS, REPEATS = (
    ("lab/doctor", "rules-toy"),
    ("asthma", "gout", "migraine"),
    ("open", "terse"),
    (1, 2),
)
#: Lost: by system, case, persona and repeat, with whose doing it is and why.
LOST = {
    ("lab/doctor", "gout", "terse", 1): ("patient", "wrong language"),
    ("lab/doctor", "gout", "terse", 2): ("patient", "wrong language"),
    ("lab/doctor", "migraine", "terse", 2): ("evaluator", "reply can't be read"),
}
MANIFEST: dict[str, Any] = {
    "bedside": "0.1.0",
    "protocol": "note2chat",
    "version": 1,
    "source": "A paper",
    "parameters of bedside's own": ["The patient says three sentences at most."],
    "clinicians": list(SYSTEMS),
    "patient": "lab/patient",
    "evaluator": "lab/judge",
    "toys": ["rules-toy"],
    "settings": ["26"],
    "lengths": [],
    "options": {"strict": True},
    "sampling": {"patient": {"temperature": 0.7, "top_p": None}},
    "seed": 3,
    "conversations": {"planned": 24, "finished": 21, "failed": 3, "unfinished": 0},
}


def words(system: str, case: str, repeat: int) -> str:
    """What a patient says: the number of words is of known spread."""
    number = {"asthma": 10, "gout": 20, "migraine": 30}[case] + (4 if system == SYSTEMS[0] else 0) + 2 * repeat
    return " ".join(["word"] * number)


def conversation(system: str, case: str, persona: str, repeat: int) -> dict[str, Any]:
    toy = ["clinician"] if system == "rules-toy" else []
    flags = {"patient: fallback": 2} if (system, case) == ("rules-toy", "asthma") else {}
    return {
        "id": f"note2chat/{system}/{case}/{persona}/26/{repeat}",
        "system": system,
        "case_id": case,
        "factors": {
            "persona": persona, "setting": "26 messages", "repeat": repeat, "completed": case != "asthma",
            "synthetic": True,
        },
        "reference": {
            "simulation": {
                "protocol": "note2chat", "version": 1, "stop": "diagnosis", "flags": flags, "toys": toy,
                "actors": {"clinician": system, "patient": "lab/patient", "evaluator": "lab/judge"},
            }
        },
        "turns": [
            {"role": "clinician", "text": "How are you?"},
            {"role": "patient", "text": words(system, case, repeat)},
        ],
    }  # fmt: skip


def simulation(folder: Path) -> Path:
    """The folder of the simulation."""
    folder.mkdir(parents=True)
    talks, failed, states = [], [], []
    for case in CASES:
        for persona in PERSONAS:
            for system in SYSTEMS:
                for repeat in REPEATS:
                    talk = conversation(system, case, persona, repeat)
                    if (system, case, persona, repeat) in LOST:
                        whose, reason = LOST[system, case, persona, repeat]
                        failed.append(
                            {
                                "id": talk["id"], "system": system, "case": case, "persona": persona,
                                "setting": "26", "repeat": repeat, "state": "failed", "whose": whose,
                                "reason": reason, "detail": "quoted words",
                            }
                        )  # fmt: skip
                    else:
                        talks.append(talk)
                        states.append({"id": talk["id"], "turn": 1, "purpose": "relevance", "finding": f"of {case}"})
    files = {"transcripts": talks, "failed": failed, "states": states}
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (folder / "manifest.json").write_text(json.dumps(MANIFEST), "utf-8")
    return folder


def simulated_run(folder: Path, **arguments: Any) -> Run:
    """The run of the scored simulation."""
    talks = simulation(folder / "talks")
    return bedside.score(talks, folder / "run", metrics=["structure"], **arguments).run
