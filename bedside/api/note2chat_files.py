"""Training files of interviews and of pairs, with a card."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import DataError, InputError
from bedside.core.files import file_digest

if TYPE_CHECKING:
    from bedside.metrics.protocols.note2chat.labels import CaseSplit
    from bedside.metrics.protocols.note2chat.preferences import Pair, Preferences
    from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview
    from bedside.simulation.simulators.note2chat.training_records import Form, Unit
    from bedside.transcripts.transcript import Transcript


# -- Training files of interviews -----------------------------------------------------------------------

INFO, CARD = "dataset_info.json", "README.md"
#: What LLaMA-Factory is told of a file, by unit and form of its records.
_COLUMNS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("dialogue", "llama-factory"): {
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system"},
    },
    ("message", "llama-factory"): {
        "formatting": "alpaca",
        "columns": {"prompt": "instruction", "query": "input", "response": "output"},
    },
    ("dialogue", "trl"): {
        "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": {
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
            "system_tag": "system",
        },
    },
}


@dataclass(frozen=True, slots=True)
class TrainingFiles:
    """Training files that were written.

    Attributes:
        rows: how many records there are, by side.
        cases: of how many cases, by side.
        left_out: (interview or case, reason) of what gave none.
    """

    rows: Mapping[str, int]
    cases: Mapping[str, int]
    left_out: tuple[tuple[str, str], ...]


def write_sft(
    transcripts: Iterable[Transcript],
    out: Path,
    *,
    unit: Unit = "dialogue",
    form: Form = "trl",
    split: CaseSplit | None = None,
    sources: Sequence[Path] = (),
) -> TrainingFiles:
    """Write interviews as files for supervised fine-tuning.

    Interviews in which the doctor was found to state a finding before the patient told it are left out: a model would
    learn to know what nobody said.

    Args:
        transcripts: the interviews.
        out: the folder: ``train.jsonl``, ``test.jsonl`` where cases are kept for testing, ``dataset_info.json`` and
            ``README.md``.
        unit: whole interviews, or single messages with their thoughts.
        form: whose trainer reads them.
        split: the division of cases; None to train on all.
        sources: the files that the interviews come from, for the card.

    Raises:
        DataError: there is nothing to write.
    """
    from bedside.metrics.protocols.note2chat.labels import read_split
    from bedside.simulation.simulators.note2chat.training_records import brief_reference, training_records

    split = split or read_split()
    rows: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    left_out: list[tuple[str, str]] = []
    talks: list[Transcript] = []
    for talk in transcripts:
        side = None if talk.case_id is None else split.side(talk.case_id)
        early = _flags(talk).get("doctor states a finding first", 0)
        if side is None:
            left_out.append((talk.id, "no case" if talk.case_id is None else "its case is in neither list"))
            continue
        records = "the doctor states a finding before the patient" if early else training_records(talk, unit, form)
        if isinstance(records, str):
            left_out.append((talk.id, records))
            continue
        talks.append(talk)
        rows[side] += records
    briefs = sorted({brief_reference(talk.language or "en") for talk in talks})
    about = {
        "unit": unit,
        "form": form,
        "systems": dict(sorted(Counter(talk.system or "" for talk in talks).items())),
        "prompts": briefs,
        **_origins(talk.reference for talk in talks),
        **_sources(sources),
    }
    return _write(out, rows, about, _COLUMNS.get((unit, form), {}), left_out)


def write_preference_files(
    pairs: Sequence[Pair],
    out: Path,
    *,
    about: Mapping[str, Any],
    unit: Unit = "dialogue",
    notes: Iterable[Mapping[str, Any]] = (),
    sources: Sequence[Path] = (),
    left_out: Iterable[tuple[str, str]] = (),
) -> TrainingFiles:
    """Write pairs as files for preference training in TRL's form; the same files as :func:`write_sft`.

    Args:
        pairs: the pairs, all of training cases.
        out: the folder.
        about: rule, seed and the like, for the card.
        unit: whether whole interviews were paired, or single messages.
        notes: ``origin`` and ``licence`` of the note of each interview that was paired.
        sources: the files that they come from.
        left_out: what gave no pair, with reasons.

    Raises:
        DataError: there is no pair.
    """
    from bedside.metrics.protocols.note2chat.preferences import pair_record

    rows = {"train": [pair_record(pair) for pair in pairs], "test": []}
    whole = {"unit": f"pair of {unit}s", "form": "trl", **about, **_origins(notes), **_sources(sources)}
    return _write(out, rows, whole, {}, left_out)


def _write(
    out: Path,
    rows: Mapping[str, list[dict[str, Any]]],
    about: Mapping[str, Any],
    columns: Mapping[str, Any],
    left_out: Iterable[tuple[str, str]],
) -> TrainingFiles:
    from bedside.core.files import make_folder, write_json, write_text

    if not any(rows.values()):
        todo = next((f"{name}: {reason}" for name, reason in left_out), "name files of interviews")
        raise DataError("there is nothing to train on", where=str(out), todo=todo)
    others = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if others and INFO not in others:
        raise InputError("the folder holds something else", where=str(out), todo="name another")
    make_folder(out)
    info: dict[str, Any] = {}
    for side, records in rows.items():
        path = out / f"{side}.jsonl"
        if not records:
            path.unlink(missing_ok=True)
            continue
        text = "".join(orjson.dumps(record).decode() + "\n" for record in records)
        write_text(path, text)
        info[f"note2chat_{side}"] = {
            "file_name": path.name,
            **columns,
            "rows": len(records),
            "cases": len({record["case"] for record in records}),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "about": dict(about),
        }
    write_json(out / INFO, info)
    reasons = Counter(reason for _, reason in left_out)
    write_text(out / CARD, "\n".join(_card(info, about, reasons)) + "\n")
    return TrainingFiles(
        {side: len(records) for side, records in rows.items()},
        {side: len({record["case"] for record in records}) for side, records in rows.items()},
        tuple(left_out),
    )


def _card(info: Mapping[str, Any], about: Mapping[str, Any], reasons: Mapping[str, int]) -> Iterator[str]:
    """The card, a line each; its head tells ``datasets`` which file is which side."""
    yield from ("---", "configs:", "  - config_name: default", "    data_files:")
    for name, entry in info.items():
        yield from (f"      - split: {name.removeprefix('note2chat_')}", f"        path: {entry['file_name']}")
    yield from ("---", "", "# Interviews to train on, made as Note2Chat does", "")
    for name, entry in info.items():
        yield (
            f"- {name.removeprefix('note2chat_')}: {entry['rows']:,} records of {entry['cases']:,} cases, "
            f"`{entry['file_name']}`, SHA-256 `{entry['sha256']}`"
        )
    yield ""
    for name, value in about.items():
        yield f"- {name}: {orjson.dumps(value).decode()}"
    if reasons:
        yield from ("", "Left out:", "")
        yield from (f"- {reason}: {count:,}" for reason, count in sorted(reasons.items()))
    yield from (
        "",
        "The patient is `user`, the clinician `assistant`; no case is on both sides. The conversations are synthetic,",
        "and what comes of notes is under the notes' licence. Not for clinical use.",
    )
    if about["unit"] == "pair of dialogues":
        yield from (
            "",
            "`chosen` and `rejected` are whole rests of interviews and hold the patient's messages too: the usual loss",
            "of DPO counts their tokens along with the clinician's.",
        )


def _origins(notes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Whose notes interviews come of, and under which licences."""
    stated = list(notes)
    names = {"origin": "origins of the notes", "licence": "licences of the notes"}
    return {
        title: dict(sorted(Counter(str(note.get(key) or "not stated") for note in stated).items()))
        for key, title in names.items()
    }


def _sources(paths: Sequence[Path]) -> dict[str, Any]:
    return {"sources": {path.name: file_digest(path) for path in paths}}


def _flags(talk: Transcript) -> Mapping[str, int]:
    simulation = talk.reference.get("simulation")
    flags = simulation.get("flags") if isinstance(simulation, Mapping) else None
    return flags if isinstance(flags, Mapping) else {}


# -- Pairs of candidates for single messages of the doctor ----------------------------------------------


def read_candidates(files: Iterable[str | Path]) -> tuple[CandidateInterview, ...]:
    """The interviews with candidates of files that :func:`bedside.api.note2chat_training.candidate_plan` wrote.

    Raises:
        InputError: a file can't be read, is something else, or holds an interview twice.
    """
    from bedside.core.records import records
    from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview

    interviews: dict[str, CandidateInterview] = {}
    for record in records([str(file) for file in files], "file of candidates"):
        interview = record.to_model(CandidateInterview, "name the file that bedside train note2chat candidates wrote")
        if interview.id in interviews:
            raise InputError(f"the interview {interview.id!r} is there twice", where=record.place(("id",)))
        interviews[interview.id] = interview
    return tuple(interviews.values())


def candidate_pairs(
    interviews: Iterable[CandidateInterview],
    *,
    seed: int,
    margin: float = 0.0,
    max_pairs_per_turn: int = 2,
    split: CaseSplit | None = None,
) -> Preferences:
    """Pairs of a better and a worse candidate of the same turn, of interviews of cases that are trained on.

    Args:
        interviews: as :func:`read_candidates` reads them.
        seed, margin: see :func:`bedside.metrics.protocols.note2chat.turn_candidates.turn_pairs`.
        max_pairs_per_turn: 1 or 2.
        split: the division of cases; None to train on all.

    Raises:
        InputError: a number is out of range.
    """
    from bedside.metrics.protocols.note2chat.preferences import Preferences
    from bedside.metrics.protocols.note2chat.turn_candidates import turn_pairs

    pairs: list[Pair] = []
    left_out: list[tuple[str, str]] = []
    for interview in interviews:
        if split is not None and split.side(interview.case) != "train":
            continue
        own, without = turn_pairs(interview, seed=seed, margin=margin, most=max_pairs_per_turn)
        pairs += own
        left_out += without
    return Preferences(tuple(pairs), tuple(left_out))
