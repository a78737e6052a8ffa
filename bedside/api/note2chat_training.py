"""Making Note2Chat's training data: cases of notes, interviews written from them, rollouts, thoughts, candidates.

What is to be made is a plan of records, and :meth:`Asking.carry_out` makes them: each is played over a log as
simulations are, so that the same plan goes on where it was stopped, and asks nothing twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from bedside.core.errors import InputError, one_of
from bedside.simulation.simulators.calls import ACTOR_ROLES
from bedside.transcripts.simulation_folder import TRANSCRIPTS

if TYPE_CHECKING:
    from bedside.core.records import PathOrPaths
    from bedside.metrics.protocols.note2chat.labels import CaseSplit
    from bedside.metrics.protocols.note2chat.preferences import BestRollouts
    from bedside.metrics.protocols.note2chat.turn_candidates import TurnReward
    from bedside.simulation.actor_contract import ActorName, Named
    from bedside.simulation.call_preview import RecordPreview, SimulationPreview
    from bedside.simulation.logged_actors import SimulationProgress
    from bedside.simulation.record_making import RecordPlan, RecordTask
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary
    from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
    from bedside.simulation.simulators.calls import ActorRole, Exchange
    from bedside.simulation.simulators.case import Case
    from bedside.simulation.simulators.contract import MadeRecord
    from bedside.transcripts.transcript import Transcript

#: The file of cases in the folder of prepared notes, and that of interviews with candidates in theirs.
CASES_FILE, CANDIDATES_FILE = "cases.jsonl", "candidates.jsonl"
#: What is made of the interviews of rollouts, in the folder's words.
_CHECKED = "checked interviews"
#: Candidates of a turn, unless told otherwise.
NUMBER = 10
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
        """Make the records of a plan into a folder, or go on with them.

        Raises:
            BedsideError: somebody can't be asked, or the folder can't be written.
        """
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

    def plan(self, what: str, tasks: Iterable[RecordTask], file: str = TRANSCRIPTS, **options: Any) -> RecordPlan:
        """The records that are to be made, and who is asked; ``options`` are what else they depend on."""
        from bedside.judges.llm.protocol import Sampling
        from bedside.simulation.record_making import RecordPlan

        return RecordPlan(
            what,
            VERSION,
            _simulator(),
            tuple(tasks),
            self.cast(),
            options,
            Sampling(temperature=self.temperature, max_tokens=_MOST_TOKENS, seed=self.seed, timeout=self.time_limit),
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
    from bedside.simulation.simulators.note2chat.rule_actors import TRAINING_RULES

    return replace(SIMULATORS.load("note2chat"), rules=TRAINING_RULES)


# -- records ----------------------------------------------------------------------------------------


def note_plan(notes: PathOrPaths, asking: Asking) -> RecordPlan:
    """Cases of notes, for ``cases.jsonl``.

    Args:
        notes: files or folders of notes.
        asking: who splits histories, writes findings and answers questions on them.

    Raises:
        BedsideError: a file can't be read, or nobody is called so.
    """
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.preparation import read_notes
    from bedside.simulation.simulators.note2chat.record_kinds import case_record

    tasks = [
        RecordTask(
            note.id, note.id, note.language, source_digest(note.model_dump(mode="json")), partial(case_record, note)
        )
        for note in read_notes(notes)
    ]
    return asking.plan("cases of notes", tasks, CASES_FILE)


def dialogue_plan(cases: Sequence[Case], asking: Asking, *, rounds: int = 1) -> RecordPlan:
    """An interview written from each case's note, with labels of its findings and its diagnosis's rank.

    Args:
        cases: as :func:`usable_cases` reads them.
        asking: who writes; calls to another critic or check are named by their purpose.
        rounds: rounds of the critic at most, 0 to 3.

    Raises:
        BedsideError: a number is out of range, or nobody is called so.
    """
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.guided_dialogue import MOST_ROUNDS
    from bedside.simulation.simulators.note2chat.record_kinds import NOTE_GUIDED, dialogue_record

    if isinstance(rounds, bool) or not 0 <= rounds <= MOST_ROUNDS:
        raise InputError(f"`rounds` must be 0 to {MOST_ROUNDS}, and is {rounds!r}")
    rater, made_by = asking.rater(), asking.provenance()
    tasks = [
        RecordTask(
            f"note2chat/{NOTE_GUIDED}/{case.id}",
            case.id,
            case.language,
            case.digest(),
            partial(dialogue_record, case, rounds, rater, made_by),
        )
        for case in cases
    ]
    return asking.plan("interviews written from notes", tasks, rounds=rounds)


def write_dialogues(cases: PathOrPaths, out: Path, asking: Asking, *, rounds: int = 1) -> SimulationSummary:
    """Write interviews, and the cases with the openings that these have, so that all systems share them.

    Args:
        cases: files or folders of cases.
        out: the folder; its ``transcripts.jsonl`` can be scored and trained on.
        asking, rounds: as for :func:`dialogue_plan`.

    Raises:
        BedsideError: as :func:`dialogue_plan` and :meth:`Asking.carry_out`.
    """
    from bedside.core.files import write_text

    read = usable_cases(cases)
    summary = asking.carry_out(dialogue_plan(read, asking, rounds=rounds), out)
    openings = {talk.case_id: talk.turns[0].text for talk in read_talks(out / TRANSCRIPTS)}
    lines = []
    for case in read:
        if case.id in openings and case.note is not None and not case.note.opening:
            case = case.model_copy(update={"note": case.note.model_copy(update={"opening": openings[case.id]})})
        lines.append(orjson.dumps(case.model_dump(mode="json", exclude_defaults=True)).decode() + "\n")
    write_text(out / CASES_FILE, "".join(lines))
    return summary


def thought_plan(transcripts: Sequence[Transcript], asking: Asking) -> RecordPlan:
    """Interviews with what their doctor would note and think before each message, in the turns' ``meta``.

    Args:
        transcripts: the interviews, such as those of :func:`dialogue_plan` and the best rollouts.
        asking: who writes.

    Raises:
        InputError: two interviews are called alike, or nobody is called so.
    """
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.record_kinds import thought_record

    _check_names(transcripts)
    tasks = [
        RecordTask(
            talk.id,
            talk.case_id or talk.id,
            talk.language or "en",
            source_digest(talk.content_hash()),
            partial(thought_record, talk),
        )
        for talk in transcripts
    ]
    return asking.plan("interviews with thoughts", tasks)


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
    """Several messages that a model writes for each turn of the doctor, and their rewards, for ``candidates.jsonl``.

    Args:
        transcripts: interviews with thoughts, as :func:`thought_plan` makes them; those that were written from the
            cases' notes must be among them, with their labels, for diagnosing messages to have a reward.
        asking: who judges the messages.
        clinician: the model that writes them.
        patient: who answers them, for the reward ``finding``.
        reward: what asking messages are rewarded for.
        number: messages of a turn.
        split: cases that are kept for testing are left out.

    Raises:
        BedsideError: an interview can't be used, or an argument can't be.
    """
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulators.note2chat.record_kinds import candidate_material, candidate_record

    _check_candidates(asking, patient, reward, number)
    others = {**asking.others, "candidate": clinician, **({} if patient is None else {"reply": patient})}
    recalls = _generated_recalls(transcripts)
    used = [
        talk
        for talk in transcripts
        if talk.case_id is not None and (split is None or split.side(talk.case_id) == "train")
    ]
    _check_names(used)
    if not used:
        raise InputError("no interview of a case to train on is left", todo="check the lists of cases")
    if not any(turn.meta.get("thought") for talk in used for turn in talk.of("clinician")):
        raise InputError(
            "no message of the interviews has a thought",
            todo="have them written by bedside train note2chat thoughts, and name its file",
        )
    tasks = []
    for talk in used:
        recall = recalls.get(talk.case_id or "")
        material = candidate_material(talk, recall)
        digest = source_digest([talk.to_json().decode(), recall])
        make = partial(candidate_record, talk, material, reward, number)
        tasks.append(RecordTask(talk.id, talk.case_id or talk.id, material.language, digest, make))
    named = replace(asking, others=others)
    return named.plan("interviews with candidates", tasks, CANDIDATES_FILE, reward=reward, number=number)


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
    from bedside.simulation.simulators.note2chat.record_kinds import NOTE_GUIDED

    recalls = {}
    for talk in transcripts:
        raters = label_raters(talk) if talk.system == NOTE_GUIDED and talk.case_id is not None else ()
        if len(raters) != 1:
            continue
        outcome = history(talk, rater_labels(talk, raters[0]))
        if not isinstance(outcome, str) and outcome.recall.value is not None:
            recalls[talk.case_id or ""] = outcome.recall.value
    return recalls


def _check_names(transcripts: Iterable[Transcript]) -> None:
    doubled = [name for name, count in Counter(talk.id for talk in transcripts).items() if count > 1]
    if doubled:
        raise InputError(f"two interviews are called {min(doubled)!r}", todo="rename one of them")


# -- rollouts ---------------------------------------------------------------------------------------


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


def rollout_plan(
    cases: PathOrPaths,
    asking: Asking,
    *,
    clinician: Named,
    patient: Named,
    repeats: int = 15,
    setting: str | None = None,
    options: Mapping[str, Any] | None = None,
    split: CaseSplit | None = None,
) -> SimulationPlan:
    """The interviews of a model with the patient of each training case, several of each.

    Args:
        cases: files or folders of cases.
        asking: its temperature, time limit and seed are the interviews' too.
        clinician, patient: the actors, as for :func:`bedside.simulate`; the evaluator of the interview is ``asking``'s.
        repeats: interviews of each case.
        setting, options: of the simulation; ``options`` go before ``asking``'s temperature.
        split: cases that are kept for testing are not rolled out.

    Raises:
        BedsideError: as :func:`bedside.simulate`.
    """
    from bedside.simulation.simulation_plan import SimulationRequest

    used = [case for case in usable_cases(cases) if split is None or split.side(case.id) == "train"]
    if not used:
        raise InputError("no case is left to train on", where="`cases`", todo="check the lists of cases")
    temperature = asking.temperature
    of_all = {} if temperature is None else {f"{role}_temperature": temperature for role in ACTOR_ROLES}
    return SimulationRequest(
        "note2chat",
        clinician,
        patient=patient,
        evaluator=asking.evaluator,
        cases=used,
        settings=() if setting is None else (setting,),
        repeats=repeats,
        options={**of_all, **(options or {})},
        seed=asking.seed,
        time_limit=asking.time_limit,
    ).plan()


def roll_out(plan: SimulationPlan, out: Path, asking: Asking, *, require_correct: bool = True) -> Rollouts:
    """Have interviews, label them, and find the best of each case.

    The simulation goes into ``talks``, its interviews with labels of findings and rank into ``checked``, the best of
    them into ``best.jsonl``.

    Args:
        plan: the interviews, see :func:`rollout_plan`.
        out: the folder; the same call goes on where it was stopped.
        asking: who looks for the findings in the interviews. Its settings are the interviews' too; its limits of calls
            and costs are for both together.
        require_correct: whether only interviews that name the true diagnosis can be best.

    Raises:
        BedsideError: as :func:`bedside.simulate`.
    """
    from bedside.core.files import write_text
    from bedside.metrics.protocols.note2chat.preferences import best_rollouts
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulate import SimulationSettings, simulate_plan
    from bedside.simulation.simulators.note2chat.record_kinds import checked_record

    settings = asking.settings or SimulationSettings()
    if settings.by_batch:
        raise InputError(
            "interviews and their check are two simulations, and a batch file is of one",
            where="`batch_out`",
            todo="have the interviews by bedside simulate with batch files, or leave it out",
        )
    talks = simulate_plan(plan, out / "talks", settings, asking.progress)
    asking = _with_the_rest(asking, settings, talks)
    cases, rater = {case.id: case for case in plan.cases}, asking.rater()
    tasks = [
        RecordTask(
            talk.id,
            case.id,
            case.language,
            source_digest([talk.content_hash(), case.digest()]),
            partial(checked_record, talk, case, rater),
        )
        for talk in read_talks(out / "talks" / TRANSCRIPTS)
        for case in (cases[talk.case_id or ""],)
    ]
    checked = asking.carry_out(asking.plan(_CHECKED, tasks), out / "checked")
    best = best_rollouts(read_talks(out / "checked" / TRANSCRIPTS), require_correct=require_correct)
    write_text(out / "best.jsonl", "".join(talk.to_json().decode() + "\n" for talk in best.best))
    return Rollouts(talks, checked, best)


def preview_rollouts(plan: SimulationPlan, asking: Asking) -> tuple[SimulationPreview, RecordPreview]:
    """What :func:`roll_out` with the same arguments would ask: for the interviews, and for their check.

    The check is counted on interviews of toys. Nothing is asked or written.

    Raises:
        BedsideError: as :func:`bedside.api.simulating.preview_simulation`.
    """
    from bedside.simulation.call_preview import played, preview_plan, preview_records
    from bedside.simulation.record_making import RecordTask
    from bedside.simulation.simulate import SimulationSettings
    from bedside.simulation.simulators.contract import UnusableConversationError
    from bedside.simulation.simulators.note2chat.record_kinds import checked_record
    from bedside.transcripts.transcript import Transcript, Turn

    settings, rater = asking.settings or SimulationSettings(), asking.rater()

    def check(planned: PlannedConversation) -> Exchange[MadeRecord]:
        """The check of an interview that toys have."""
        _, outcome = played(plan.simulator.converse(plan.situation(planned)), plan.simulator.rules)
        if outcome is None:
            raise UnusableConversationError("material", "the toys' interview can't be used")
        turns = tuple(Turn(number, turn.role, turn.role, turn.text, {}) for number, turn in enumerate(outcome.turns))
        talk = Transcript(planned.id, turns, case_id=planned.case.id, reference=dict(outcome.reference))
        return (yield from checked_record(talk, planned.case, rater))

    tasks = [
        RecordTask(planned.id, planned.case.id, planned.case.language, planned.case.digest(), partial(check, planned))
        for planned in plan.conversations()
    ]
    return preview_plan(plan, settings), preview_records(asking.plan(_CHECKED, tasks), settings)


def _with_the_rest(asking: Asking, settings: SimulationSettings, spent: SimulationSummary) -> Asking:
    """Who is asked after something was spent: limits are of what is left, prices of those who are still asked."""
    calls = None if settings.max_calls is None else settings.max_calls - spent.requests
    cost = None if settings.max_cost is None else settings.max_cost - spent.cost
    if cost is not None and cost <= 0:
        calls, cost = 0, None
    names = {text for name in asking.cast().values() for text in (name.text, name.identity)}
    prices = {text: price for text, price in settings.prices.items() if text in names}
    return replace(asking, settings=replace(settings, max_calls=calls, max_cost=cost, prices=prices))


# -- what they share --------------------------------------------------------------------------------


def read_talks(path: Path) -> tuple[Transcript, ...]:
    """The transcripts of a file that was made here; none of an empty one."""
    from bedside.transcripts.reading import read_transcripts

    return tuple(read_transcripts(path)) if path.stat().st_size else ()


def usable_cases(paths: PathOrPaths) -> tuple[Case, ...]:
    """Cases that the protocol can use."""
    from bedside.simulation.simulation_plan import check_cases
    from bedside.simulation.simulators.case_files import read_cases

    placed = read_cases(paths)
    check_cases(_simulator(), placed)
    return tuple(case for _, case in placed)


def source_digest(content: Any) -> str:
    """SHA-256 of what a record is made of (64 hexadecimal digits)."""
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
