"""The interview: a tree's topics one after the other, or a free talk; story, patient's answers, closing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    CLINICIAN_REPEATS,
    Spoken,
    silent_stop,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, Line
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.mdd5k.case_fields import record_of
from bedside.simulation.simulators.mdd5k.corrected_schedule import (
    ALL_ANGLES,
    CorrectedSchedule,
    most_exchanges,
)
from bedside.simulation.simulators.mdd5k.doctor import FREE, AskedTopic, Doctor
from bedside.simulation.simulators.mdd5k.doctor_personas import draw_doctor, find_doctors
from bedside.simulation.simulators.mdd5k.interview_tools import InterviewTools
from bedside.simulation.simulators.mdd5k.record_patient import RecordPatient
from bedside.simulation.simulators.mdd5k.released_schedule import ReleasedSchedule, most_released_exchanges
from bedside.simulation.simulators.mdd5k.story import PatientStory, written_story
from bedside.simulation.simulators.mdd5k.story_graph import draw_story, find_graphs
from bedside.simulation.simulators.mdd5k.topic_tree import CAP, find_tree

#: Exchanges of a free interview at most: the source ends it when there are more than 22 messages.
FREE_EXCHANGES = 12
#: Messages in a row in which the clinician repeats itself that end the interview.
REPEATS = 3
#: What the doctor says at the end where the case's own diagnosis and advice are stated, by language.
STATED: Mapping[str, str] = {
    "zh": "今天就问到这里。我的诊断是：{diagnosis}。处理意见：{advice}",
    "en": "That is all for today. My diagnosis is: {diagnosis}. What I advise: {advice}",
}
_WHOLE = ("every topic", "evaluator ends", "exchange limit")


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    interview = _TopicInterview(situation)
    try:
        stop = yield from interview.held()
        if stop in _WHOLE:
            stop = (yield from interview.closed()) or stop
    except UnusableConversationError as error:
        raise UnusableConversationError(
            error.whose, error.reason, error.detail, interview.all_states()
        ) from error
    return interview.outcome(stop)


class _TopicInterview:
    """One conversation while it is held: the steps that a schedule asks for."""

    def __init__(self, situation: Situation) -> None:
        case, options = situation.case, situation.options
        self.situation = situation
        self.case = case
        self.record = record_of(case)
        self.free = situation.setting == FREE
        self.persona = (
            None
            if self.free
            else draw_doctor(
                find_doctors(str(options["doctors"]), case.language),
                situation.shared_draws,
                situation.repeat,
            )
        )
        self.doctor = Doctor(case.language, self.record, self.persona)
        diagnosis = (case.hidden.diagnosis or "").strip()
        self.patient = RecordPatient(
            case, options["unknown"], diagnosis if options["knows_diagnosis"] else ""
        )
        self.tools = InterviewTools(case.language)
        self.story = PatientStory(None, "", "a free interview has none")
        self.graphs_digest = ""
        self.told_at: int | None = None
        self.schedule: CorrectedSchedule | ReleasedSchedule | None = None
        self.turns: list[SpokenTurn] = []
        self.lines: list[Line] = []
        self.states: list[dict[str, Any]] = []
        self.flags: Counter[str] = Counter()
        self.exchanges = 0
        self.repeated = 0
        self.diagnoses: tuple[str, ...] | None = None

    # -- the course --------------------------------------------------------------------------------

    def held(self) -> Exchange[str]:
        """The whole of it up to the closing; why it ended."""
        if self.free:
            return (yield from self._held_freely())
        yield from self._take_story()
        options, draws = self.situation.options, self.situation.shared_draws
        tree = find_tree(self.record, self.case.language, str(options["trees"]))
        order = tree.order(draws, self.situation.repeat)
        if options["tree"] == "released":
            self.schedule = ReleasedSchedule(
                tree, order, self, opening=self.record.sex == "female", draws=self.situation.draws
            )
        else:
            self.schedule = CorrectedSchedule(tree, order, self)
        return (yield from self.schedule.held()) or "every topic"

    def _held_freely(self) -> Exchange[str]:
        while self.exchanges < FREE_EXCHANGES:
            if self.lines and (yield from self.tools.interview_ends(self.lines, turn=self.spoken - 1)):
                return "evaluator ends"
            stop = yield from self.ask(AskedTopic(opening=not self.lines))
            if stop:
                return stop
        return "exchange limit"

    def _take_story(self) -> Exchange[None]:
        """The case's story of this repeat, which all clinicians' patients share."""
        name, number = str(self.situation.options["graphs"]), self.situation.repeat
        graphs = find_graphs(name, self.case.language)
        self.graphs_digest = graphs.digest
        graph = graphs.graph_for(self.record)
        if graph is None:
            self.story = PatientStory(None, "", "no graph for this age")
        else:
            seed = draw_story(graph, self.situation.shared_draws.stream("story", number))
            self.story = yield from written_story(
                self.record, str(self.case.hidden.diagnosis), self.case.language, seed, number
            )
            if not self.story.text:
                self.flags["without a story"] += 1
        self.states.append(
            {
                "turn": 0,
                "purpose": "story",
                "story": self.story.text,
                "reason": self.story.reason,
                "seed": None if self.story.seed is None else self.story.seed.words(),
                "refused": [list(refused) for refused in self.story.refused],
            }
        )

    # -- the steps that a schedule asks for ----------------------------------------------------------

    @property
    def spoken(self) -> int:
        """Messages so far, of both sides."""
        return len(self.lines)

    def ask(self, topic: AskedTopic) -> Exchange[str]:
        """One message of the doctor and the answer to it; why the interview ends with it, empty where it goes on."""
        number = self.exchanges + 1
        spoken = yield from self.doctor.message(self.lines, number, topic)
        self._note_refused("message", spoken)
        if not spoken.text:
            self.flags.update(f"clinician: {flag}" for flag in spoken.flags)
            return silent_stop(spoken.flags)
        self._say("clinician", spoken, topic)
        yield from self._let_story_out()
        answer = yield from self.patient.reply(self.lines, number, topic.text)
        self._say("patient", answer, topic)
        self.exchanges = number
        self.repeated = self.repeated + 1 if "repeats itself" in spoken.flags else 0
        return CLINICIAN_REPEATS if self.repeated == REPEATS else ""

    def _let_story_out(self) -> Exchange[None]:
        """The story goes to the patient once the evaluator says that it is to be told, and stays there."""
        if not self.story.text or self.told_at is not None:
            return
        due = yield from self.tools.story_is_due(self.lines, turn=self.spoken - 1)
        if due:
            self.told_at = self.spoken
            self.patient.story = self.story.text

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        return (yield from self.tools.topic_ends(topic, self.lines[start:], turn=self.spoken - 1))

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them."""
        return (yield from self.tools.answered(topics, self.lines, turn=self.spoken - 1))

    def angles(self, most: int) -> Exchange[tuple[str, ...]]:
        """Angles from which to go on asking about what the patient told."""
        return (yield from self.tools.angles(most, self.lines, turn=self.spoken - 1))

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that mean the same as an angle, with the angle."""
        return (yield from self.tools.covered(topics, angles, turn=self.spoken - 1))

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[tuple[str, ...]]:
        """Topics that mean the same as one of the angles, each judged by itself."""
        return (yield from self.tools.same_topics(topics, angles, turn=self.spoken - 1))

    # -- what is said --------------------------------------------------------------------------------

    def closed(self) -> Exchange[str]:
        """The last words of the doctor, if there are to be any; why the interview ends where there are none."""
        closing = self.situation.options["closing"]
        if closing == "case":
            text = STATED[self.case.language].format(
                diagnosis=str(self.case.hidden.diagnosis).strip(), advice=self.record.treatment_advice.strip()
            )
            self.turns.append(SpokenTurn("clinician", text, {"closing": "case"}))
        if closing != "inferred":
            return ""
        words = yield from self.doctor.closing(self.lines)
        spoken = words.spoken
        self._note_refused("closing", spoken)
        self.diagnoses = words.diagnoses
        self.states.append(
            {
                "turn": self.spoken,
                "purpose": "closing",
                "diagnoses": list(words.diagnoses),
                "readable": words.readable,
            }
        )
        if not words.readable:
            self.flags["clinician: closing can't be read"] += 1
        self.flags.update(f"clinician: {flag}" for flag in spoken.flags)
        text = spoken.text or "\n".join(
            f"{rank}. {name}" for rank, name in enumerate(words.diagnoses, start=1)
        )
        if not text:
            return silent_stop(spoken.flags)
        self.turns.append(SpokenTurn("clinician", text, {"closing": "inferred", **_marks(spoken)}))
        return ""

    def _say(self, role: Any, spoken: Spoken, topic: AskedTopic) -> None:
        about = (
            {"topic": topic.text, "follow_up": topic.follow_up, "parsed": topic.parsed} if topic.text else {}
        )
        self.flags.update(f"{role}: {flag}" for flag in spoken.flags)
        if role == "patient":
            self.flags.update(f"patient, refused: {reason}" for _, reason in spoken.refused)
        self.turns.append(SpokenTurn(role, spoken.text, {**about, **_marks(spoken)}))
        self.lines.append(Line(role, spoken.text))

    def _note_refused(self, purpose: str, spoken: Spoken) -> None:
        self.states += [
            {"turn": self.spoken, "purpose": purpose, "refused": text, "reason": reason}
            for text, reason in spoken.refused
        ]

    # -- what it came to -------------------------------------------------------------------------------

    def all_states(self) -> tuple[dict[str, Any], ...]:
        """What was decided and refused, in the order of turns."""
        states = (*self.states, *self.patient.states, *self.tools.states)
        return tuple(sorted(states, key=lambda state: state["turn"]))

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        reference: dict[str, Any] = {"diagnosis": (self.case.hidden.diagnosis or "").strip()}
        if self.record.icd_codes:
            reference["icd_code"] = ",".join(self.record.icd_codes)
        if self.diagnoses is not None:
            reference["ranked_diagnoses"] = list(self.diagnoses)
        factors: dict[str, Any] = {"sex": self.record.sex, "age": self.record.age}
        if self.persona is not None:
            factors |= {"doctor": self.persona.id, "empathy": self.persona.empathy}
        return Outcome(
            turns=tuple(self.turns),
            stop=stop,
            completed=stop in _WHOLE,
            reference=reference,
            factors=factors,
            states=self.all_states(),
            flags=dict(self.flags),
            simulation=self._simulation(),
        )

    def _simulation(self) -> dict[str, Any]:
        simulation: dict[str, Any] = {"exchanges": self.exchanges}
        if self.schedule is None or self.persona is None:
            return {**simulation, "exchange_cap": FREE_EXCHANGES}
        tree = self.schedule.tree
        rule = "released" if isinstance(self.schedule, ReleasedSchedule) else "corrected"
        simulation["tree"] = {
            "rule": rule,
            "file": tree.name,
            "sha256": tree.digest,
            **self.schedule.log.content(),
        }
        if rule == "corrected":
            simulation["exchange_cap"] = CAP
        simulation["doctor"] = self.persona.model_dump(mode="json")
        story: dict[str, Any] = {"told_at": self.told_at, "graphs_sha256": self.graphs_digest}
        if self.story.reason:
            story["none"] = self.story.reason
        if self.story.seed is not None:
            story["drawn"] = self.story.seed.words()
        simulation["story"] = story
        return simulation


def _marks(spoken: Spoken) -> dict[str, Any]:
    marks: dict[str, Any] = {}
    if spoken.thought:
        marks["thought"] = spoken.thought
    if spoken.flags:
        marks["flags"] = list(spoken.flags)
    return marks


def most_calls(situation: Situation) -> Mapping[ActorRole, int]:
    """The most calls that an interview can take, by role, attempts included."""
    record, options = record_of(situation.case), situation.options
    inferred = options["closing"] == "inferred"
    if situation.setting == FREE:
        exchanges, evaluator = FREE_EXCHANGES, FREE_EXCHANGES - 1
    else:
        tree = find_tree(record, situation.case.language, str(options["trees"]))
        if options["tree"] == "released":
            exchanges = most_released_exchanges(tree.leaves)
            # A verdict after each exchange, the story and whether it is due, angles and what means the same.
            evaluator = 1 + 2 * exchanges + 1 + len(tree.leaves)
        else:
            exchanges = most_exchanges(tree.leaves)
            # Beside those, what is answered already; each angle may have others grow from it.
            evaluator = 1 + 3 * exchanges + 2 * (1 + ALL_ANGLES)
    return {
        "clinician": exchanges * CLINICIAN_ATTEMPTS + (CLINICIAN_ATTEMPTS + ATTEMPTS if inferred else 0),
        "patient": exchanges * ATTEMPTS,
        "evaluator": evaluator * ATTEMPTS,
    }
