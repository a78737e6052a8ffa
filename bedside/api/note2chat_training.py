"""Making Note2Chat's training data: cases of notes, interviews written from them, rollouts, thoughts.

Each is played over a log as simulations are: the same call goes on where it was stopped, and asks nothing twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import InputError
from bedside.transcripts.simulation_folder import TRANSCRIPTS

if TYPE_CHECKING:
    from bedside.core.records import PathOrPaths
    from bedside.simulation.actor_contract import ActorName, Named
    from bedside.simulation.conversation_pool import SimulationProgress
    from bedside.simulation.record_making import MadeRecord, RecordPlan, RecordTask
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary
    from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
    from bedside.simulation.simulators.case import Case
    from bedside.simulation.simulators.note2chat.finding_places import FindingPlace
    from bedside.simulation.simulators.note2chat.preparation import DischargeNote
    from bedside.transcripts.transcript import Transcript

#: The system of interviews that were written and not had.
NOTE_GUIDED = "note-guided"
#: The file of cases in the folder of prepared notes.
CASES_FILE = "cases.jsonl"
#: Of the rules and prompts that make training data; part of every record's key.
VERSION = 1
#: The argument that names who is asked for a purpose, where it isn't the writer.
_ARGUMENTS = {"critic": "critic", "candidate": "clinician", "reply": "patient"}
#: Whom those play who are asked for a purpose, where it isn't the evaluator.
_ROLES: Mapping[str, ActorRole] = {"candidate": "clinician", "reply": "patient"}
#: Most tokens of a reply: a whole interview is one.
_MOST_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Asking:
    """Who is asked in making records, and how.

    Attributes:
        evaluator: who does what nobody else is named for, as judges are named; ``rules`` for a toy without a model.
        others: who is asked instead, by the purpose of the calls.
        temperature: of language models; None leaves it to the provider.
        time_limit: seconds until a request counts as unanswered.
        seed: of the actors' own chance.
        settings: limits and prices; None for none.
        progress: called whenever a record is made, or can't be.
    """

    evaluator: Named
    others: Mapping[str, Named] = field(default_factory=dict)
    temperature: float | None = None
    time_limit: float = 120.0
    seed: int = 0
    settings: SimulationSettings | None = None
    progress: Callable[[SimulationProgress], None] | None = None

    def carry_out(self, plan: RecordPlan, out: Path) -> SimulationSummary:
        """Make the records of a plan into a folder."""
        from bedside.simulation.record_making import make_records
        from bedside.simulation.simulate import SimulationSettings

        return make_records(plan, out, self.settings or SimulationSettings(), self.progress)

    def rater(self) -> str:
        """The evaluator as a rater."""
        return self.cast()[""].rater

    def provenance(self) -> dict[str, Any]:
        """Who makes the records, as they hold it."""
        cast = self.cast()
        return {
            "protocol": "note2chat",
            "version": VERSION,
            "actors": {purpose or "all other calls": name.identity for purpose, name in cast.items()},
            "toys": sorted({name.identity for name in cast.values() if name.toy}),
            "seed": self.seed,
        }

    def plan(self, what: str, tasks: Iterable[RecordTask], options: Mapping[str, Any], file: str) -> RecordPlan:
        """The records that are to be made, and who is asked."""
        from bedside.judges.llm.protocol import Sampling
        from bedside.simulation.record_making import RecordPlan

        return RecordPlan(
            what,
            VERSION,
            _simulator(),
            tuple(tasks),
            self.cast(),
            options,
            Sampling(
                temperature=self.temperature,
                max_tokens=_MOST_TOKENS,
                seed=self.seed,
                timeout=self.time_limit,
            ),
            self.seed,
            file,
            {purpose: role for purpose, role in _ROLES.items() if purpose in self.others},
        )

    def cast(self) -> dict[str, ActorName]:
        """Who is asked, by the purpose of the calls; ``""`` stands for all other purposes."""
        from bedside.ratings.names import is_human
        from bedside.simulation.actor_contract import actors_by_identity, read_actor

        simulator = _simulator()
        cast = {"": read_actor(self.evaluator, simulator, "evaluator")}
        cast |= {
            purpose: read_actor(name, simulator, _ARGUMENTS.get(purpose, "writer"))
            for purpose, name in self.others.items()
        }
        for name in actors_by_identity(cast.values()).values():
            if is_human(name.identity):
                raise InputError("a person can't make training data", where=name.text, todo="name a model")
        return cast


def _simulator() -> Any:
    from bedside.simulation.simulators.contract import SIMULATORS
    from bedside.simulation.simulators.note2chat.training_records import TRAINING_RULES

    return replace(SIMULATORS.load("note2chat"), rules=TRAINING_RULES)


# -- notes ------------------------------------------------------------------------------------------


def prepare_notes(notes: PathOrPaths, out: Path, asking: Asking) -> SimulationSummary:
    """Make cases of notes, into ``cases.jsonl`` in a folder.

    Args:
        notes: files or folders of notes.
        out: the folder; the same call goes on where it was stopped.
        asking: who splits histories, writes findings and answers questions on them.

    Raises:
        BedsideError: a file can't be read, somebody can't be asked, or the folder can't be written.
    """
    return asking.carry_out(note_plan(notes, asking), out)


def note_plan(notes: PathOrPaths, asking: Asking) -> RecordPlan:
    """What :func:`prepare_notes` with the same arguments makes."""
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.preparation import read_notes

    tasks = [
        RecordTask(note.id, note.id, note.language, source_digest(note.model_dump(mode="json")), _preparing(note))
        for note in read_notes(notes)
    ]
    return asking.plan("cases of notes", tasks, {}, CASES_FILE)


def _preparing(note: DischargeNote) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.contract import UnusableConversationError
        from bedside.simulation.simulators.note2chat.preparation import UnusableNoteError, prepared_case

        try:
            case = yield from prepared_case(note)
        except UnusableNoteError as error:
            by_evaluator = isinstance(error.__cause__, UnusableConversationError)
            raise UnusableConversationError(
                "evaluator" if by_evaluator else "material", error.reason, error.detail
            ) from error
        unanswered = sum(len(finding.unanswered) for finding in case.note.findings) if case.note else 0
        flags = {"question on a finding not answered": unanswered} if unanswered else {}
        return MadeRecord(case.model_dump(mode="json", exclude_defaults=True), flags=flags)

    return make


# -- interviews written from notes ------------------------------------------------------------------


def write_dialogues(cases: PathOrPaths, out: Path, asking: Asking, *, rounds: int = 1) -> SimulationSummary:
    """Write an interview from each case's note, with labels of its findings and its diagnosis's rank.

    Args:
        cases: files or folders of cases.
        out: the folder; its ``transcripts.jsonl`` can be scored and trained on.
        asking: who writes; calls to another critic or check are named by their purpose.
        rounds: rounds of the critic at most, 0 to 3.

    Raises:
        BedsideError: as :func:`prepare_notes`.
    """
    read = usable_cases(cases)
    summary = asking.carry_out(dialogue_plan(read, asking, rounds=rounds), out)
    _write_opened_cases(read, out)
    return summary


def dialogue_plan(cases: Sequence[Case], asking: Asking, *, rounds: int = 1) -> RecordPlan:
    """What :func:`write_dialogues` makes of cases."""
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.guided_dialogue import MOST_ROUNDS

    if isinstance(rounds, bool) or not 0 <= rounds <= MOST_ROUNDS:
        raise InputError(f"`rounds` must be 0 to {MOST_ROUNDS}, and is {rounds!r}")
    rater, made_by = asking.rater(), asking.provenance()
    tasks = [
        RecordTask(
            f"note2chat/{NOTE_GUIDED}/{case.id}",
            case.id,
            case.language,
            case.digest(),
            _writing(case, rounds, rater, made_by),
        )
        for case in cases
    ]
    return asking.plan("interviews written from notes", tasks, {"rounds": rounds}, TRANSCRIPTS)


def _write_opened_cases(cases: Sequence[Case], out: Path) -> None:
    """Write the cases with the openings of the interviews that were written, so that all systems share them."""
    from bedside.core.files import write_text

    openings = {talk.case_id: talk.turns[0].text for talk in read_talks(out / TRANSCRIPTS)}
    lines = []
    for case in cases:
        if case.id in openings and case.note is not None and not case.note.opening:
            case = case.model_copy(update={"note": case.note.model_copy(update={"opening": openings[case.id]})})
        lines.append(orjson.dumps(case.model_dump(mode="json", exclude_defaults=True)).decode() + "\n")
    write_text(out / CASES_FILE, "".join(lines))


def read_talks(path: Path) -> tuple[Transcript, ...]:
    """The transcripts of a file that was made here; none of an empty one."""
    from bedside.transcripts.reading import read_transcripts

    return tuple(read_transcripts(path)) if path.stat().st_size else ()


def _writing(case: Case, rounds: int, rater: str, made_by: Mapping[str, Any]) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.note2chat.guided_dialogue import guided_dialogue
        from bedside.transcripts.transcript import Transcript, Turn

        written = yield from guided_dialogue(case, rounds=rounds)
        turns = tuple(Turn(number, line.role, line.role, line.text, {}) for number, line in enumerate(written.lines))
        reference = {
            **_reference(case),
            "ranked_diagnoses": list(written.diagnoses),
            "note2chat": {rater: place_labels(case, written.places, written.rank)},
            "simulation": {
                **made_by,
                "case": case.digest(),
                "stop": "written",
                "flags": written.flags,
            },
        }
        factors = {**case.factors, "synthetic": True, "completed": True}
        transcript = Transcript(
            f"note2chat/{NOTE_GUIDED}/{case.id}",
            turns,
            NOTE_GUIDED,
            case.id,
            case.language,
            factors,
            reference,
        )
        return MadeRecord(orjson.loads(transcript.to_json()), written.states, written.flags)

    return make


# -- thoughts ---------------------------------------------------------------------------------------


def write_thoughts(transcripts: Sequence[Transcript], out: Path, asking: Asking) -> SimulationSummary:
    """Write what the doctor of interviews would note and think before each message, into the turns' ``meta``.

    Args:
        transcripts: the interviews, such as those of :func:`write_dialogues` and the best rollouts.
        out: the folder; its ``transcripts.jsonl`` holds the interviews with their thoughts.
        asking: who writes.

    Raises:
        BedsideError: as :func:`prepare_notes`.
    """
    return asking.carry_out(thought_plan(transcripts, asking), out)


def thought_plan(transcripts: Sequence[Transcript], asking: Asking) -> RecordPlan:
    """What :func:`write_thoughts` with the same arguments makes."""
    from bedside.simulation.record_making import RecordTask

    tasks = [
        RecordTask(
            talk.id,
            talk.case_id or talk.id,
            talk.language or "en",
            source_digest(talk.content_hash()),
            _thinking(talk),
        )
        for talk in transcripts
    ]
    doubled = [name for name, number in Counter(task.id for task in tasks).items() if number > 1]
    if doubled:
        raise InputError(f"two interviews are called {min(doubled)!r}", todo="rename one of them")
    return asking.plan("interviews with thoughts", tasks, {}, TRANSCRIPTS)


def _thinking(talk: Transcript) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        from bedside.simulation.record_making import MadeRecord
        from bedside.simulation.simulators.note2chat.training_records import message_thoughts

        thoughts = yield from message_thoughts(spoken_lines(talk), talk.language or "en")
        turns = list(talk.turns)
        for number, thought in enumerate(thoughts):
            turn = turns[2 * number + 1]
            meta = {key: value for key, value in turn.meta.items() if key != "thought"}
            if thought is not None:
                written = {"summary": thought.summary, "plan": thought.plan}
                meta["thought"] = orjson.dumps(written, option=orjson.OPT_INDENT_2).decode()
            turns[2 * number + 1] = replace(turn, meta=meta)
        missing = sum(thought is None for thought in thoughts)
        flags = {"thought missing": missing} if missing else {}
        return MadeRecord(orjson.loads(replace(talk, turns=tuple(turns)).to_json()), flags=flags)

    return make


def _reference(case: Case) -> dict[str, Any]:
    """What the suite needs of a case, and whose notes they are."""
    note = case.note
    return {
        "findings": [
            {"text": finding.text, "categories": list(finding.categories)}
            for finding in (note.findings if note else ())
        ],
        "diagnosis": case.hidden.diagnosis,
        "note": note.vignette if note else "",
        "origin": case.origin,
        "licence": case.licence,
    }


def place_labels(case: Case, places: Sequence[FindingPlace], rank: int | None) -> dict[str, Any]:
    """What was found of an interview, as labels of the protocol."""
    findings = case.note.findings if case.note else ()
    return {
        "findings": [
            {
                "text": finding.text,
                "categories": list(finding.categories),
                "opening": place.opening,
                "message": place.last,
            }
            for finding, place in zip(findings, places, strict=True)
        ],
        "diagnosis_rank": rank,
    }


def usable_cases(paths: PathOrPaths) -> tuple[Case, ...]:
    """Cases that the protocol can use."""
    from bedside.simulation.simulation_plan import check_cases
    from bedside.simulation.simulators.case_files import read_cases

    placed = read_cases(paths)
    check_cases(_simulator(), placed)
    return tuple(case for _, case in placed)


def spoken_lines(transcript: Transcript) -> tuple[Line, ...]:
    """The messages of an interview.

    Raises:
        InputError: somebody else speaks too.
    """
    from bedside.simulation.simulators.calls import Line

    lines = []
    for turn in transcript.turns:
        if turn.role == "other":
            raise InputError(
                f"turn {turn.index} of transcript {transcript.id!r} is neither the clinician's nor the patient's",
                todo="leave it out",
            )
        lines.append(Line(turn.role, turn.text))
    return tuple(lines)


def source_digest(content: Any) -> str:
    """SHA-256 of what a record is made of (64 hexadecimal digits)."""
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
