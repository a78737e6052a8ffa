"""Candidates for single messages of the doctor: a model writes several for each turn, and each gets a reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.api.note2chat_training import NOTE_GUIDED, Asking, source_digest, spoken_lines
from bedside.core.errors import InputError

if TYPE_CHECKING:
    from bedside.metrics.protocols.note2chat.case_split import CaseSplit
    from bedside.metrics.protocols.note2chat.preferences import Pair, Preferences
    from bedside.metrics.protocols.note2chat.turn_candidates import CandidateInterview, TurnReward
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.record_making import MadeRecord, RecordPlan, RecordTask
    from bedside.simulation.simulate import SimulationSummary
    from bedside.simulation.simulators.calls import Exchange
    from bedside.simulation.simulators.note2chat.interview_candidates import CandidateMaterial
    from bedside.transcripts import Transcript

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
    _check(asking, patient, reward, number)
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


def _check(asking: Asking, patient: Named | None, reward: TurnReward, number: int) -> None:
    from bedside.metrics.protocols.note2chat.turn_candidates import TURN_REWARDS

    if reward not in TURN_REWARDS:
        raise InputError(f"`reward` must be one of {', '.join(TURN_REWARDS)}, and is {reward!r}")
    if isinstance(number, bool) or not isinstance(number, int) or number < 2:
        raise InputError(f"`number` must be 2 or more, and is {number!r}")
    if reward == "finding" and patient is None:
        raise InputError(
            "for the reward finding a patient must answer the questions", where="`patient`", todo="name one"
        )
    if reward == "answerable" and patient is not None:
        raise InputError(
            "for the reward answerable no patient is asked", where="`patient`", todo="leave it out"
        )
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
    from bedside.simulation.simulators.note2chat.fixed_sentences import SENTENCES, FixedSentences
    from bedside.simulation.simulators.note2chat.interview_candidates import CandidateMaterial
    from bedside.simulation.simulators.note2chat.training_records import doctor_states

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
        interview = record.to_model(
            CandidateInterview, "name the file that bedside note2chat candidates wrote"
        )
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
