"""Training files of interviews, with a card; candidates for single messages of the doctor; rollouts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bedside.api.note2chat_training import (
    NOTE_GUIDED,
    Asking,
    place_labels,
    read_talks,
    source_digest,
    spoken_lines,
    usable_cases,
)
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.files import file_digest
from bedside.simulation.simulators.calls import ACTOR_ROLES
from bedside.transcripts.simulation_folder import TRANSCRIPTS

if TYPE_CHECKING:
    from bedside.core.records import PathOrPaths
    from bedside.metrics.protocols.note2chat.labels import CaseSplit
    from bedside.metrics.protocols.note2chat.preferences import BestRollouts, Pair, Preferences
    from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview, TurnReward
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.call_preview import SimulationPreview
    from bedside.simulation.record_making import MadeRecord, RecordPlan, RecordTask
    from bedside.simulation.record_preview import RecordPreview
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary
    from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
    from bedside.simulation.simulators.calls import Exchange
    from bedside.simulation.simulators.case import Case
    from bedside.simulation.simulators.note2chat.interview_candidates import CandidateMaterial
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
    whole = {
        "unit": f"pair of {unit}s",
        "form": "trl",
        **about,
        **_origins(notes),
        **_sources(sources),
    }
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
        raise DataError("there is nothing to train on", where=str(out), todo=_first_reason(left_out))
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
        yield from (
            f"      - split: {name.removeprefix('note2chat_')}",
            f"        path: {entry['file_name']}",
        )
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


def _first_reason(left_out: Iterable[tuple[str, str]]) -> str:
    return next((f"{name}: {reason}" for name, reason in left_out), "name files of interviews")


# -- Candidates for single messages of the doctor -------------------------------------------------------

#: The file of interviews with candidates, in their folder.
CANDIDATES_FILE = "candidates.jsonl"
#: Candidates of a turn, unless told otherwise.
NUMBER = 10


def write_candidates(
    transcripts: Sequence[Transcript],
    out: Path,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named | None = None,
    reward: TurnReward = "finding",
    number: int = NUMBER,
    split: CaseSplit | None = None,
) -> SimulationSummary:
    """Have a model write several messages for each turn of the doctor, and reward them, into ``candidates.jsonl``.

    Args:
        transcripts: interviews with thoughts, as :func:`bedside.api.note2chat_training.write_thoughts` writes them;
            those that were written from the cases' notes must be among them, with their labels, for diagnosing
            messages to have a reward.
        out: the folder; the same call goes on where it was stopped.
        asking: who judges the messages.
        clinician: the model that writes them.
        patient: who answers them, for the reward ``finding``.
        reward: what asking messages are rewarded for.
        number: messages of a turn.
        split: cases that are kept for testing are left out.

    Raises:
        BedsideError: as :func:`bedside.api.note2chat_training.prepare_notes`.
    """
    plan = candidate_plan(
        transcripts,
        asking,
        clinician=clinician,
        patient=patient,
        reward=reward,
        number=number,
        split=split,
    )
    return asking.carry_out(plan, out)


def candidate_plan(
    transcripts: Sequence[Transcript],
    asking: Asking,
    *,
    clinician: Named,
    patient: Named | None = None,
    reward: TurnReward = "finding",
    number: int = NUMBER,
    split: CaseSplit | None = None,
) -> RecordPlan:
    """What :func:`write_candidates` with the same arguments makes.

    Raises:
        BedsideError: an interview can't be used, or an argument can't be.
    """
    _check_candidates(asking, patient, reward, number)
    others = {**asking.others, "candidate": clinician, **({} if patient is None else {"reply": patient})}
    recalls = _generated_recalls(transcripts)
    used = [
        talk
        for talk in transcripts
        if talk.case_id is not None and (split is None or split.side(talk.case_id) == "train")
    ]
    doubled = [name for name, count in Counter(talk.id for talk in used).items() if count > 1]
    if doubled:
        raise InputError(f"two interviews are called {min(doubled)!r}", todo="rename one of them")
    if not used:
        raise InputError("no interview of a case to train on is left", todo="check the lists of cases")
    if not any(turn.meta.get("thought") for talk in used for turn in talk.of("clinician")):
        raise InputError(
            "no message of the interviews has a thought",
            todo="have them written by bedside note2chat thoughts, and name its file",
        )
    tasks = [_task(talk, recalls.get(talk.case_id or ""), reward, number) for talk in used]
    options = {"reward": reward, "number": number}
    return replace(asking, others=others).plan("interviews with candidates", tasks, options, CANDIDATES_FILE)


def _check_candidates(asking: Asking, patient: Named | None, reward: TurnReward, number: int) -> None:
    from bedside.metrics.protocols.note2chat.turn_candidates import TURN_REWARDS

    one_of(reward, TURN_REWARDS, "reward", InputError, where="`reward`")
    if isinstance(number, bool) or not isinstance(number, int) or number < 2:
        raise InputError(f"`number` must be 2 or more, and is {number!r}")
    if reward == "finding" and patient is None:
        raise InputError(
            "for the reward finding a patient must answer the questions", where="`patient`", todo="name one"
        )
    if reward == "answerable" and patient is not None:
        raise InputError("for the reward answerable no patient is asked", where="`patient`", todo="leave it out")
    if asking.temperature == 0:
        raise InputError(
            "at a temperature of 0 all candidates of a turn would be the same",
            where="`temperature`",
            todo="set it higher, or leave it to the provider",
        )


def _generated_recalls(transcripts: Iterable[Transcript]) -> dict[str, float]:
    """By case, the recall of the interview that was written from the note, where its labels say it."""
    from bedside.metrics.protocols.note2chat.history import history
    from bedside.metrics.protocols.note2chat.labels import label_raters, rater_labels

    recalls = {}
    for talk in transcripts:
        raters = label_raters(talk) if talk.system == NOTE_GUIDED and talk.case_id is not None else ()
        if len(raters) != 1:
            continue
        outcome = history(talk, rater_labels(talk, raters[0]))
        if not isinstance(outcome, str) and outcome.recall.value is not None:
            recalls[talk.case_id or ""] = outcome.recall.value
    return recalls


def _task(talk: Transcript, recall: float | None, reward: TurnReward, number: int) -> RecordTask:
    from bedside.simulation.record_making import RecordTask

    material = _material(talk, recall)
    return RecordTask(
        talk.id,
        talk.case_id or talk.id,
        material.language,
        source_digest([talk.to_json().decode(), recall]),
        _rewarding(talk, material, reward, number),
    )


def _material(talk: Transcript, recall: float | None) -> CandidateMaterial:
    """What an interview's candidates are made of.

    Raises:
        InputError: the interview doesn't hold its note.
    """
    from bedside.simulation.simulators.note2chat.interview_candidates import CandidateMaterial
    from bedside.simulation.simulators.note2chat.training_records import doctor_states
    from bedside.simulation.simulators.note2chat.vignette import SENTENCES, FixedSentences

    reference, language = talk.reference, talk.language or "en"
    findings, vignette, diagnosis = (reference.get(key) for key in ("findings", "note", "diagnosis"))
    texts = [entry.get("text") for entry in findings or () if isinstance(entry, Mapping)]
    if not texts or not all(isinstance(text, str) for text in [*texts, vignette, diagnosis]):
        raise InputError(
            f"interview {talk.id!r} doesn't hold its case's findings, note and diagnosis in `reference`",
            todo="name interviews that bedside note2chat dialogues or rollouts made",
        )
    own = reference.get("patient_sentences")
    return CandidateMaterial(
        lines=spoken_lines(talk),
        states=tuple(doctor_states(talk)),
        vignette=str(vignette),
        findings=tuple(map(str, texts)),
        diagnosis=str(diagnosis),
        language=language,
        fixed=FixedSentences(**own) if isinstance(own, dict) else SENTENCES[language],
        generated_recall=recall,
    )


def _rewarding(
    talk: Transcript, material: CandidateMaterial, reward: TurnReward, number: int
) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.contract import UnusableConversationError
        from bedside.simulation.simulators.note2chat.interview_candidates import interview_candidates
        from bedside.simulation.simulators.note2chat.training_records import form_problem

        problem = form_problem(talk)
        if problem is not None:
            raise UnusableConversationError("material", problem)
        turns = yield from interview_candidates(material, number=number, reward=reward)
        interview = CandidateInterview(
            id=talk.id,
            case=talk.case_id or talk.id,
            language=material.language,
            reward=reward,
            generated_recall=material.generated_recall,
            origin=str(talk.reference.get("origin") or ""),
            licence=str(talk.reference.get("licence") or ""),
            turns=turns,
        )
        candidates = [candidate for turn in turns for candidate in turn.candidates]
        flags = Counter(f"candidate without reward: {entry.missing}" for entry in candidates if entry.missing)
        flags.update({"turn without a thought before it": len(material.lines) // 2 - len(turns)})
        return MadeRecord(
            interview.model_dump(mode="json"), flags={name: count for name, count in flags.items() if count}
        )

    return make


def read_candidates(files: Iterable[str | Path]) -> tuple[CandidateInterview, ...]:
    """The interviews with candidates of files that :func:`write_candidates` wrote.

    Raises:
        InputError: a file can't be read, is something else, or holds an interview twice.
    """
    from bedside.core.records import records
    from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview

    interviews: dict[str, CandidateInterview] = {}
    for record in records([str(file) for file in files], "file of candidates"):
        interview = record.to_model(CandidateInterview, "name the file that bedside note2chat candidates wrote")
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


# -- Rollouts -------------------------------------------------------------------------------------------

#: What is made of the interviews, in the folder's words.
_CHECKED = "checked interviews"


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Interviews of a model with each case's patient, several of each, labelled.

    Attributes:
        talks: what the simulation did.
        checked: what the check of its interviews did.
        best: the best of each case, see :func:`bedside.metrics.protocols.note2chat.preferences.best_rollouts`.
    """

    talks: SimulationSummary
    checked: SimulationSummary
    best: BestRollouts


def roll_out(
    cases: PathOrPaths,
    out: Path,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int = 15,
    setting: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: CaseSplit | None = None,
    require_correct: bool = True,
) -> Rollouts:
    """Have a model interview the patient of each training case several times, and find the best of each case.

    The simulation goes into ``talks``, its interviews with labels of findings and rank into ``checked``, the best of
    them into ``best.jsonl``.

    Args:
        cases: files or folders of cases.
        out: the folder; the same call goes on where it was stopped.
        asking: who looks for the findings in the interviews. Its temperature, time limit, seed and settings are the
            interviews' too; its limits of calls and costs are for both together.
        clinician, patient: the actors, as for :func:`bedside.simulate`; the evaluator of the interview is ``asking``'s.
        repeats: interviews of each case.
        setting, options: of the simulation; ``options`` go before ``asking``'s temperature.
        split: cases that are kept for testing are not rolled out.
        require_correct: whether only interviews that name the true diagnosis can be best.

    Raises:
        BedsideError: as :func:`bedside.simulate`.
    """
    from bedside.simulation.simulate import SimulationSettings, simulate_plan

    settings = asking.settings or SimulationSettings()
    if settings.by_batch:
        raise InputError(
            "interviews and their check are two simulations, and a batch file is of one",
            where="`batch_out`",
            todo="have the interviews by bedside simulate with batch files, or leave it out",
        )
    plan = _talk_plan(
        cases,
        asking,
        clinician=clinician,
        patient=patient,
        repeats=repeats,
        setting=setting,
        options=options,
        split=split,
    )
    talks = simulate_plan(plan, out / "talks", settings, asking.progress)
    checked = _check_rollouts(
        read_talks(out / "talks" / TRANSCRIPTS),
        {case.id: case for case in plan.cases},
        out / "checked",
        _with_the_rest(asking, settings, talks),
    )
    return Rollouts(talks, checked, _write_best(out, require_correct))


def preview_rollouts(
    cases: PathOrPaths,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int = 15,
    setting: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: CaseSplit | None = None,
) -> tuple[SimulationPreview, RecordPreview]:
    """What :func:`roll_out` with the same arguments would ask: for the interviews, and for their check.

    The check is counted on interviews of toys. Nothing is asked or written.

    Raises:
        BedsideError: as :func:`bedside.api.simulating.preview_simulation`.
    """
    from bedside.simulation.call_preview import preview_plan
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.record_preview import preview_records
    from bedside.simulation.simulate import SimulationSettings

    settings = asking.settings or SimulationSettings()
    plan = _talk_plan(
        cases,
        asking,
        clinician=clinician,
        patient=patient,
        repeats=repeats,
        setting=setting,
        options=options,
        split=split,
    )
    rater = asking.rater()
    tasks = [
        RecordTask(
            planned.id,
            planned.case.id,
            planned.case.language,
            planned.case.digest(),
            _checking_a_toy(plan, planned, rater),
        )
        for planned in plan.conversations()
    ]
    checks = asking.plan(_CHECKED, tasks, {}, TRANSCRIPTS)
    return preview_plan(plan, settings), preview_records(checks, settings)


def _talk_plan(
    cases: PathOrPaths,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int,
    setting: str | None,
    options: Mapping[str, Any] | None,
    split: CaseSplit | None,
) -> SimulationPlan:
    from bedside.simulation.requested_plan import SimulationRequest

    used = [case for case in usable_cases(cases) if split is None or split.side(case.id) == "train"]
    if not used:
        raise InputError("no case is left to train on", where="`cases`", todo="check the lists of cases")
    return SimulationRequest(
        "note2chat",
        clinician,
        patient=patient,
        evaluator=asking.evaluator,
        cases=used,
        settings=() if setting is None else (setting,),
        repeats=repeats,
        options={**_temperatures(asking), **(options or {})},
        seed=asking.seed,
        time_limit=asking.time_limit,
    ).plan()


def _checking_a_toy(
    plan: SimulationPlan, planned: PlannedConversation, rater: str
) -> Callable[[], Exchange[MadeRecord]]:
    """The check of an interview that toys have."""

    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.call_preview import played
        from bedside.simulation.simulators.contract import UnusableConversationError
        from bedside.transcripts.transcript import Transcript, Turn

        _, outcome = played(plan.simulator.converse(plan.situation(planned)), plan.simulator.rules)
        if outcome is None:
            raise UnusableConversationError("material", "the toys' interview can't be used")
        turns = tuple(Turn(number, turn.role, turn.role, turn.text, {}) for number, turn in enumerate(outcome.turns))
        talk = Transcript(planned.id, turns, case_id=planned.case.id, reference=dict(outcome.reference))
        return (yield from _checking(talk, planned.case, rater)())

    return make


def _temperatures(asking: Asking) -> dict[str, float]:
    """The temperature of all models, as an option of each role."""
    if asking.temperature is None:
        return {}
    return {f"{role}_temperature": asking.temperature for role in ACTOR_ROLES}


def _with_the_rest(asking: Asking, settings: SimulationSettings, spent: SimulationSummary) -> Asking:
    """Who is asked after something was spent: limits are of what is left, prices of those who are still asked."""
    calls = None if settings.max_calls is None else settings.max_calls - spent.requests
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost
    if cost is not None and cost <= 0:
        calls, cost = 0, None
    names = {text for name in asking.cast().values() for text in (name.text, name.identity)}
    prices = {text: price for text, price in settings.prices.items() if text in names}
    return replace(asking, settings=replace(settings, max_calls=calls, max_cost=cost, prices=prices))


def _write_best(out: Path, require_correct: bool) -> BestRollouts:
    from bedside.core.files import write_text
    from bedside.metrics.protocols.note2chat.preferences import best_rollouts

    best = best_rollouts(read_talks(out / "checked" / TRANSCRIPTS), require_correct=require_correct)
    write_text(out / "best.jsonl", "".join(talk.to_json().decode() + "\n" for talk in best.best))
    return best


def _check_rollouts(
    transcripts: Iterable[Transcript], cases: Mapping[str, Case], out: Path, asking: Asking
) -> SimulationSummary:
    """Label interviews with where they convey the findings, and with the diagnosis's rank."""
    from bedside.simulation.record_making import RecordTask

    rater = asking.rater()
    tasks = [
        RecordTask(
            talk.id,
            case.id,
            case.language,
            source_digest([talk.content_hash(), case.digest()]),
            _checking(talk, case, rater),
        )
        for talk in transcripts
        for case in (cases[talk.case_id or ""],)
    ]
    return asking.carry_out(asking.plan(_CHECKED, tasks, {}, TRANSCRIPTS), out)


def _checking(talk: Transcript, case: Case, rater: str) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.calls import together
        from bedside.simulation.simulators.note2chat.finding_places import diagnosis_rank, finding_places

        findings = [finding.text for finding in (case.note.findings if case.note else ())]
        places, rank = yield from together(
            finding_places(spoken_lines(talk), findings, case.language),
            diagnosis_rank(case.hidden.diagnosis or "", talk.reference.get("ranked_diagnoses", ()), case.language),
        )
        reference = {
            **talk.reference,
            "origin": case.origin,
            "licence": case.licence,
            "note2chat": {rater: place_labels(case, places, rank)},
        }
        return MadeRecord(orjson.loads(replace(talk, reference=reference).to_json()))

    return make
