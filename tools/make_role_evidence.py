"""Trains the small model in bedside/transcripts/role_evidence.json and measures it on whole sets that it never saw.

    python tools/make_role_evidence.py FOLDER

FOLDER holds the public sets, each as its repository is cloned (``git clone https://github.com/OWNER/NAME FOLDER/SET``):
:data:`SETS` says which repository belongs into which folder, and which of its files are read. Sets that are not there
are left out. Nothing of their text is kept, only coefficients and figures.

A talk of a clinical set is taken twice: as a log with the clinician as assistant, which is right, and with the patient
as assistant, which must be noticed. A talk of a user with a general assistant is right. Beside whole talks, pieces of
2, 4 and 8 turns are learned from, so that little text makes a small claim. Every set counts as much as any other.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from bedside.transcripts import role_evidence
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.role_evidence import (
    FEW,
    MEASURES,
    STOP_SIDE,
    SURE,
    WORDS,
    Model,
    counts,
    may_be_exchanged,
    measures,
    stop_from,
)
from bedside.transcripts.told_roles import told_role
from bedside.transcripts.transcript import Role

TARGET = Path(__file__).parent.parent / "bedside" / "transcripts" / "role_evidence.json"
#: Most talks of a set, drawn evenly; lengths of the pieces, and what they weigh beside whole talks.
MOST, PIECES = 600, {2: 0.3, 4: 0.3, 8: 0.4}
#: Inverse of the penalty, for measures of mean 0 and spread 1.
STRENGTH = 3.0

Talk = list[tuple[Role, str]]


@dataclass(frozen=True)
class Set:
    """One public set.

    Attributes:
        repository: where it is had.
        files: which of its files are read, below its folder.
        language: of its talks.
        roles: of its speakers, where bedside doesn't know them.
        columns: where its messages stand.
        exchanged: talks whose speakers are exchanged in the set itself, found by reading them; they are left out.
        keys: list, user's key and assistant's key, where a record holds pairs.
        general: whether users ask an assistant for anything.
    """

    repository: str
    files: str
    language: str = "en"
    roles: Mapping[str, Role] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    exchanged: Sequence[str] = ()
    keys: tuple[str, str, str] | None = None
    general: bool = False


SETS: Mapping[str, Set] = {
    "annomi": Set("uccollab/AnnoMI", "AnnoMI-full.csv"),
    "esconv": Set("thu-coai/Emotional-Support-Conversation", "*ESConv.json"),
    "smile": Set("qiuhuachuan/smile", "data/*.json", "zh"),
    "cpsycoun": Set("CAS-SIAT-XinHai/CPsyCoun", "CPsyCounD/Data/*.txt", "zh"),
    "mdd5k": Set("lemonsis/MDD-5k", "**/patient_*.json", "zh"),
    "emollm": Set("SmartFlowAI/EmoLLM", "datasets/[ad]*a*.json", "zh", keys=("conversation", "input", "output")),
    "aci-bench": Set(
        "wyim/aci-bench",
        "data/challenge_data/*[0-9nd].csv",
        roles={"patient_guest": "other"},
        exchanged=("D2N034", "D2N038", "D2N056", "D2N057", "D2N059", "D2N082", "D2N114", "D2N190"),
    ),
    "mts-dialog": Set(
        "abachaa/MTS-Dialog", "Main-Dataset/*.csv", roles={"Guest_clinician": "other", "Guest_family": "other"}
    ),
    "primock57": Set("babylonhealth/primock57", "transcripts/*.TextGrid"),
    "craft-md": Set(
        "rajpurkarlab/craft-md", "results/*/*.json", columns={"messages": "trial_0.multiturn_conversation"}
    ),
    "oasst": Set("TurkuNLP/oasst-fi", "original-data/en-validation.jsonl", general=True),
    "multi-challenge": Set("ekwinox117/multi-challenge", "data/benchmark_questions.jsonl", general=True),
    "healthbench": Set("m42-health/healthbench", "data/generations/sample.jsonl", general=True),
    "mt-bench-101": Set(
        "mtbench101/mt-bench-101", "data/subjective/*.jsonl", keys=("history", "user", "bot"), general=True
    ),
    "mt-eval": Set("KwanWaiChung/MT-Eval", "data/*.jsonl", keys=("conv", "user", "sys"), general=True),
    "hh-rlhf": Set("anthropics/hh-rlhf", "harmless-base/test.jsonl.gz", general=True),
}


def talks(folder: Path, source: Set) -> list[Talk]:
    """A set's talks of two sides, at most :data:`MOST`, drawn evenly; what bedside can't read is left out."""
    paths = sorted(folder.glob(source.files))
    if source.keys:
        found = [pairs(record, *source.keys) for path in paths for record in records(path)]
    elif source.repository == "anthropics/hh-rlhf":
        found = [labelled(record["chosen"]) for path in paths for record in records(path)]
    elif source.repository == "TurkuNLP/oasst-fi":
        found = [talk for path in paths for talk in threads(records(path))]
    else:
        roles: dict[str, Role] = {"user": "patient", "assistant": "clinician", **source.roles}
        options = ReadOptions(roles=roles, columns=source.columns, on_error="skip")
        found = [
            [(turn.role, turn.text) for turn in transcript.turns if turn.role != "other"]
            for transcript in Reading(paths, options)
            if transcript.id not in source.exchanged
        ]
    found = [talk[1:] if told_role(talk[0][1]) else talk for talk in found if talk]
    found = [talk for talk in found if len({role for role, _ in talk}) == 2]
    return found[:: max(1, len(found) // MOST)][:MOST]


def records(path: Path) -> list[dict]:
    """Objects of a JSON file or of JSON lines."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return json.loads(text) if text.lstrip().startswith("[") else list(map(json.loads, text.splitlines()))


def pairs(record: dict, key: str, user: str, assistant: str) -> Talk:
    """The talk of a record that lists exchanges."""
    sides: tuple[tuple[str, Role], ...] = ((user, "patient"), (assistant, "clinician"))
    return [(role, turn[name]) for turn in record[key] for name, role in sides if turn.get(name)]


def labelled(text: str) -> Talk:
    """The talk of a text with ``Human:`` and ``Assistant:``."""
    _, *parts = re.split(r"\n\n(Human|Assistant): ?", text)
    names: Mapping[str, Role] = {"Human": "patient", "Assistant": "clinician"}
    return [(names[name], said) for name, said in zip(parts[::2], parts[1::2], strict=True) if said.strip()]


def threads(messages: Sequence[dict]) -> Iterator[Talk]:
    """The branches of OpenAssistant's trees: from each last answer back to the first question."""
    by_id = {message["message_id"]: message for message in messages}
    names: Mapping[str, Role] = {"prompter": "patient", "assistant": "clinician"}
    for last in sorted(by_id.keys() - {message["parent_id"] for message in messages}):
        talk, place = [], last
        while place in by_id:
            talk.append((names[by_id[place]["role"]], by_id[place]["text"]))
            place = by_id[place]["parent_id"]
        yield talk[::-1]


def of(role: Role, talk: Talk) -> list[str]:
    """What one side says."""
    return [text for said, text in talk if said == role]


def pieces(talk: Talk, chance: random.Random) -> Iterator[tuple[int, Talk]]:
    """A piece of each length, from one of the first turns on."""
    for length in PIECES:
        if len(talk) > length:
            start = chance.randrange(min(4, len(talk) - length + 1))
            piece = talk[start : start + length]
            if len({role for role, _ in piece}) == 2:
                yield length, piece


@dataclass(frozen=True)
class Measured:
    """Talks, or pieces, of one length.

    Attributes:
        clinician: measures of the clinician, shape (talks, measures).
        patient: measures of the patient, likewise.
        looked_at: whether a log is measured at all: as it is right, and exchanged; shape (2, talks).
        turns: of the side that has fewer; shape (talks,).
    """

    clinician: np.ndarray
    patient: np.ndarray
    looked_at: np.ndarray
    turns: np.ndarray

    def __len__(self) -> int:
        return len(self.clinician)


#: What was measured of a set, by length; 0 for whole talks.
OfSet = dict[int, Measured]


def measured(found: Sequence[Talk], usual: Sequence[float]) -> OfSet:
    """What is measured of a set's talks and their pieces."""
    chance = random.Random(1)
    by_length: dict[int, list[Talk]] = {0: list(found), **{length: [] for length in PIECES}}
    for talk in found:
        for length, piece in pieces(talk, chance):
            by_length[length].append(piece)
    result = {}
    for length, some in by_length.items():
        sides = [(of("clinician", talk), of("patient", talk)) for talk in some]
        if sides:
            result[length] = Measured(
                np.array([measures(clinician, usual) for clinician, _ in sides]),
                np.array([measures(patient, usual) for _, patient in sides]),
                np.array(
                    [
                        [may_be_exchanged(clinician, patient) for clinician, patient in sides],
                        [may_be_exchanged(patient, clinician) for clinician, patient in sides],
                    ]
                ),
                np.array([min(map(len, both)) for both in sides]),
            )
    return result


def log_odds(probability: float) -> float:
    """The log odds of a probability."""
    return float(np.log(probability / (1 - probability)))


def learned(sets: Mapping[str, OfSet], usual: Sequence[float]) -> Model:
    """The model of some sets."""
    rows, exchanged, weights = [], [], []
    for name, by_length in sets.items():
        for length, some in by_length.items():
            for order in (0,) if SETS[name].general else (0, 1):
                both = [some.clinician, some.patient]
                rows.append(np.hstack(both[::-1] if order else both))
                exchanged += [order] * len(some)
                weights += [PIECES.get(length, 1.0) / len(some)] * len(some)
    table, weight = np.vstack(rows), np.array(weights)
    middle, spread = table.mean(0), table.std(0)
    fitted = LogisticRegression(C=STRENGTH, max_iter=5000).fit(
        (table - middle) / spread, exchanged, sample_weight=weight * len(weight) / weight.sum()
    )
    slopes = fitted.coef_[0] / spread
    half = len(MEASURES)
    return Model(usual, slopes[:half], slopes[half:], float(fitted.intercept_[0] - slopes @ middle))


def stopped(model: Model, some: Measured, order: int) -> np.ndarray:
    """Which logs stop: as they are right (0), or exchanged (1)."""
    assistant, user = (some.patient, some.clinician) if order else (some.clinician, some.patient)
    odds = assistant @ model.assistant + user @ model.user + model.intercept
    least = np.array([log_odds(stop_from(turns)) for turns in some.turns])
    return (odds >= least) & (sides(model, user, assistant) >= log_odds(STOP_SIDE)) & some.looked_at[order]


def sides(model: Model, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Log odds that each of these is the clinician and the other the patient."""
    return (one - other) @ (np.array(model.user) - model.assistant) / 2


def percent(which: np.ndarray) -> float:
    """How many of all."""
    return round(100 * float(np.mean(which)), 1)


def held_out(source: Set, model: Model, by_length: OfSet) -> dict:
    """Figures of a set that the model never saw."""
    figures: dict = {
        "source": f"https://github.com/{source.repository}",
        "language": source.language,
        "kind": "general assistant" if source.general else "clinical",
        "exchanged_in_the_set": len(source.exchanged),
    }
    whole = by_length[0]
    if not source.general:
        odds = sides(model, whole.clinician, whole.patient)
        figures["unlabelled"] = {
            "right": percent(odds > 0),
            "sure": percent(np.abs(odds) > log_odds(SURE)),
            "sure_and_wrong": percent(odds < -log_odds(SURE)),
        }
    kinds = {
        f"{FEW} turns a side or more": (whole, whole.turns >= FEW),
        f"fewer than {FEW} turns of a side": (whole, whole.turns < FEW),
        **{f"pieces of {length} turns": (by_length[length], ...) for length in PIECES if length in by_length},
    }
    figures["logs"] = {
        kind: {
            "talks": int(np.size(some.turns[which])),
            "stopped_though_right": percent(stopped(model, some, 0)[which]),
            **({} if source.general else {"stopped_of_exchanged": percent(stopped(model, some, 1)[which])}),
        }
        for kind, (some, which) in kinds.items()
        if np.size(some.turns[which])
    }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    # Reading guesses who unknown speakers are; what was learned before may be of other kinds of words.
    none = [0.0] * len(MEASURES)
    role_evidence.model = lambda: Model([0.0] * len(WORDS), none, none, 0.0)
    found = {name: talks(folder / name, source) for name, source in SETS.items()}
    found = {name: some for name, some in found.items() if some}
    shares = []
    for name, some in found.items():
        if not SETS[name].general:
            sides = [counts(of(side, talk)) for talk in some for side in ("clinician", "patient")]
            shares.append(np.sum([said for said, _ in sides], axis=0) / sum(length for _, length in sides))
    usual = [round(float(part), 4) for part in np.mean(shares, axis=0)]
    sets = {name: measured(some, usual) for name, some in found.items()}
    figures = {}
    for name in sets:
        others = {other: measured for other, measured in sets.items() if other != name}
        figures[name] = held_out(SETS[name], learned(others, usual), sets[name])
        print(name, json.dumps(figures[name]))
    model = learned(sets, usual)
    weights = {
        measure: {"assistant": round(float(model.assistant[at]), 3), "user": round(float(model.user[at]), 3)}
        for at, measure in enumerate(MEASURES)
    }
    TARGET.write_text(
        json.dumps(
            {
                "about": "Logistic regression: log odds that the assistant of a log is the patient, made by "
                "tools/make_role_evidence.py. Figures of a set, in percent, are of a model that never saw it.",
                "intercept": round(model.intercept, 3),
                "usual": dict(zip(WORDS, usual, strict=True)),
                "weights": weights,
                "sets": figures,
            },
            indent=1,
        )
        + "\n",
        "utf-8",
    )


if __name__ == "__main__":
    main()
