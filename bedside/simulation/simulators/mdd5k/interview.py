"""The interview: a tree's topics one after the other, or a free talk; story, patient's answers, closing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Fault,
    Spoken,
    ask_for_data,
    ask_patient,
    flag_reader,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, together
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Outcome, Situation
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.faults import patient_fault
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.mdd5k.case_fields import interview_prompt, patient_lines, record_of
from bedside.simulation.simulators.mdd5k.doctor import (
    CAP,
    FREE,
    PARSE,
    WORDS,
    AskedTopic,
    Doctor,
    TopicTree,
    draw_doctor,
    find_doctors,
    find_tree,
)
from bedside.simulation.simulators.mdd5k.story import PatientStory, draw_story, find_graphs, written_story

# -- What the evaluator says of an interview while it is held -------------------------------------------
# None of them is told anything of the case: they read what was said, and the topics.

#: Angles that are asked for at once, at least and at most.
FEWEST_ANGLES, MOST_ANGLES = 2, 3
#: Letters and figures that words must have to be quoted as an answer.
SHORTEST_QUOTE = 4
_SPEAKERS: Mapping[str, Mapping[str, str]] = {
    "zh": {"clinician": "医生：", "patient": "患者："},
    "en": {"clinician": "Doctor: ", "patient": "Patient: "},
}


@dataclass(slots=True)
class InterviewTools:
    """The evaluator's part of one interview.

    Attributes:
        language: code of the case's language.
        ledger: of the interview.
        numbers: calls at each site so far.
    """

    language: str
    ledger: Ledger
    numbers: Counter[str] = field(default_factory=Counter)

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        material = {"topic": topic, "dialogue": self._dialogue(start)}
        decided: bool = yield from self._asked("topic_end", material, flag_reader("ended"), about={"topic": topic})
        return decided

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them.

        A topic counts only where the words that are quoted are the patient's own.
        """
        said = [_plain(line.text) for line in self.ledger.lines if line.role == "patient"]

        def read(value: Any) -> dict[str, str]:
            pairs = _items(value, "answered", "topic", "quote")
            if not all(isinstance(quote, str) for _, quote in pairs):
                raise ValueError('each "quote" must be a text')
            return {topics[_place(number, topics, "topic")]: quote.strip() for number, quote in pairs}

        material = {"topics": _numbered_lines(topics), "dialogue": self._dialogue()}
        replied: dict[str, str] = yield from self._asked("duplicates", material, read, most={"topic": len(topics)})
        quoted = {
            topic: quote
            for topic, quote in replied.items()
            if len(_plain(quote)) >= SHORTEST_QUOTE and any(_plain(quote) in text for text in said)
        }
        unquoted = sorted(set(replied) - set(quoted))
        if unquoted:
            self.ledger.note_last("duplicates", **{"not the patient's words": unquoted})
        return quoted

    def angles(self, most: int) -> Exchange[tuple[str, ...]]:
        """Angles from which to go on asking about what the patient told, ``most`` of them at most."""

        def read(value: Any) -> tuple[str, ...]:
            angles = value.get("angles") if isinstance(value, dict) else None
            if not isinstance(angles, list) or not all(isinstance(angle, str) and angle.strip() for angle in angles):
                raise ValueError('"angles" must be a list of texts')
            distinct = tuple(dict.fromkeys(angle.strip() for angle in angles))
            if not FEWEST_ANGLES <= len(distinct) <= MOST_ANGLES:
                raise ValueError(f"there must be {FEWEST_ANGLES} or {MOST_ANGLES} different angles")
            return distinct

        texts: tuple[str, ...] = yield from self._asked("angles", {"dialogue": self._dialogue()}, read)
        return texts[:most]

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that mean the same as an angle, with the angle: all in one call."""

        def read(value: Any) -> dict[str, str]:
            return {
                topics[_place(topic, topics, "topic")]: angles[_place(angle, angles, "angle")]
                for topic, angle in _items(value, "covered", "topic", "angle")
            }

        material = {"topics": _numbered_lines(topics), "angles": _numbered_lines(angles)}
        most = {"topic": len(topics), "angle": len(angles)}
        replied: dict[str, str] = yield from self._asked("covered", material, read, most=most)
        return replied

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[tuple[str, ...]]:
        """Topics that mean the same as one of the angles, or nearly: each is asked about in a call of its own."""
        verdicts = yield from together(
            *(
                self._asked(
                    "same_topic",
                    {"topic": topic, "angles": _numbered_lines(angles)},
                    flag_reader("same"),
                    about={"topic": topic},
                )
                for topic in topics
            )
        )
        return tuple(topic for topic, same in zip(topics, verdicts, strict=True) if same)

    def story_is_due(self) -> Exchange[bool]:
        """Whether the patient should now tell what led to the illness."""
        due: bool = yield from self._asked("trigger", {"dialogue": self._dialogue()}, flag_reader("due"))
        return due

    def interview_ends(self) -> Exchange[bool]:
        """Whether an interview without topics should end."""
        ends: bool = yield from self._asked("interview_end", {"dialogue": self._dialogue()}, flag_reader("ended"))
        return ends

    def _asked(
        self,
        purpose: str,
        material: Mapping[str, str],
        read: Callable[[Any], Any],
        *,
        about: Mapping[str, Any] | None = None,
        most: Mapping[str, int] | None = None,
    ) -> Exchange[Any]:
        """What is replied to the prompt that is called after the purpose; ``most`` bounds numbers of listed things."""
        self.numbers[purpose] += 1
        filled = interview_prompt(purpose, self.language, **material)
        call = Call(
            "evaluator",
            purpose,
            self.numbers[purpose],
            instruction=filled.instruction,
            kind="data",
            schema=_bounded(filled.schema, most or {}),
            material={"language": self.language, **material},
            prompt=filled.reference,
        )
        decided = yield from ask_for_data(call, read)
        refused = {"refused": decided.refused} if decided.refused else {}
        self.ledger.note_last(purpose, **(about or {}), value=decided.value, **refused)
        return decided.value

    def _dialogue(self, start: int = 0) -> str:
        speakers, lines = _SPEAKERS[self.language], self.ledger.lines[start:]
        return "\n".join(f"{speakers[line.role]}{' '.join(line.text.split())}" for line in lines)


def _items(value: Any, name: str, *keys: str) -> list[tuple[Any, ...]]:
    """The parts of each object in a list."""
    items = value.get(name) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError(f'"{name}" must be a list')
    if not all(isinstance(item, dict) and set(keys) <= set(item) for item in items):
        raise ValueError(f'each item of "{name}" needs {" and ".join(map(repr, keys))}')
    return [tuple(item[key] for key in keys) for item in items]


def _place(number: Any, things: Sequence[str], noun: str) -> int:
    """Where a thing stands that a number from 1 names."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(things):
        raise ValueError(f"there is no {noun} {number!r}: they are numbered from 1 to {len(things)}")
    return number - 1


def _bounded(schema: Any, most: Mapping[str, int]) -> Any:
    """A schema whose numbers of listed things go no further than there are things."""
    if isinstance(schema, Mapping):
        return {
            key: {**part, "maximum": most[key]} if key in most and isinstance(part, Mapping) else _bounded(part, most)
            for key, part in schema.items()
        }
    return [_bounded(part, most) for part in schema] if isinstance(schema, list) else schema


def _numbered_lines(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _plain(text: str) -> str:
    """A text's letters and figures alone, in one form."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


# -- What a schedule has done and asks to be done -------------------------------------------------------


class InterviewSteps(Protocol):
    """What a schedule asks of whoever holds the interview; each step is a part of the controller."""

    @property
    def exchanges(self) -> int:
        """Exchanges so far."""
        ...

    @property
    def spoken(self) -> int:
        """Messages so far, of both sides."""
        ...

    def ask(self, topic: AskedTopic) -> Exchange[str]:
        """One message of the doctor and the answer to it; why the interview ends with it, empty where it goes on."""
        ...

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        ...

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them."""
        ...

    def angles(self, most: int) -> Exchange[tuple[str, ...]]:
        """Angles from which to go on asking about what the patient told."""
        ...

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that mean the same as an angle, with the angle."""
        ...

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[tuple[str, ...]]:
        """Topics that mean the same as one of the angles, each judged by itself."""
        ...


@dataclass(slots=True)
class ScheduleLog:
    """What a schedule did, for the transcript's ``reference.simulation.tree``.

    Attributes:
        order: the topics as they were drawn, the root first where it is one.
        asked: topics in the order in which they were first asked about.
        angles: topics that grew from what the patient said, with the topic that they grew under, or ``parse``.
        deletions: topics that weren't asked about, by whom (``answered``: the patient's words; ``angle``: an angle
            that means the same), with the evidence.
        notes: what else happened, such as angles for which there was no room.
    """

    order: tuple[str, ...]
    asked: list[str] = field(default_factory=list)
    angles: list[dict[str, str]] = field(default_factory=list)
    deletions: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def drop(self, topic: str, by: str, evidence: str) -> None:
        """Note that a topic is left out."""
        self.deletions.append({"topic": topic, "by": by, "evidence": evidence})

    def content(self) -> dict[str, Any]:
        """It, as it is written down."""
        return {
            "order": list(self.order),
            "asked": list(self.asked),
            "angles": list(self.angles),
            "deletions": list(self.deletions),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


# -- Which topic comes next -----------------------------------------------------------------------------
# Only women's interviews begin with the root; a man's begins with the first leaf of the events, whatever it is. The
# second topic is judged before it was asked about, so that an "ended" leaves it out. From the sixth verdict on,
# verdicts are overruled by chance. Duplicates are looked for only where angles grow, against the angles. The root is
# asked about once. Then come the leaves: up to two more questions on each, until the evaluator says that it is
# answered. On moving on, leaves that the patient's own words have answered are left out. In the place of ``parse``
# stand two or three angles that grow from what the patient told; from an angle that stays unanswered others may grow.

#: The verdict from which on they are overruled.
FIRST_OVERRULED = 6


def overruled(verdicts: Sequence[bool], draws: Draws) -> bool:
    """What the last verdict is taken as: whether its topic ends.

    Args:
        verdicts: those before it as they were taken, and the last as it was replied.
        draws: chance, a stream for each verdict.
    """
    last = verdicts[-1]
    if len(verdicts) < FIRST_OVERRULED:
        return last
    third = draws.stream("overruled verdict", len(verdicts)).randrange(3) == 0
    if not verdicts[-2]:
        # After two verdicts to go on it ends; after one, in two cases of three.
        return True if not verdicts[-3] or not third else last
    return last or third


@dataclass(slots=True)
class ReleasedSchedule:
    """The course of one interview.

    Attributes:
        tree: of topics.
        order: its leaves as they were drawn.
        steps: who asks.
        opening: whether the root is a topic.
        draws: chance in overruling verdicts.
        log: what was done.
    """

    tree: TopicTree
    order: tuple[str, ...]
    steps: InterviewSteps
    opening: bool
    draws: Draws
    log: ScheduleLog = field(init=False)
    _topics: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._topics = [*((self.tree.root,) if self.opening else ()), *self.order]
        self.log = ScheduleLog(tuple(self._topics))

    def hold(self) -> Exchange[str]:
        """The whole of it; why it ended early, empty where the last topic was dealt with."""
        self.log.asked.append(self._topics[0])
        stop = yield from self.steps.ask(AskedTopic(self._topics[0], opening=True))
        place, start, follow_up = 1, 0, 0
        verdicts: list[bool] = []
        while not stop:
            verdicts.append((yield from self.steps.topic_ends(self._topics[place], start)))
            verdicts[-1] = overruled(verdicts, self.draws)
            if verdicts[-1]:
                if not follow_up:
                    self.log.drop(self._topics[place], "verdict", "judged before it was asked about")
                if place == len(self._topics) - 1:
                    return ""
                place, start, follow_up = place + 1, self.steps.spoken, 0
            if self._topics[place] == PARSE:
                yield from self._grow(place)
            topic = self._topics[place]
            if not follow_up:
                self.log.asked.append(topic)
            stop = yield from self.steps.ask(AskedTopic(topic, follow_up, parsed=topic in self._parsed()))
            follow_up += 1
        return stop

    def _grow(self, place: int) -> Exchange[None]:
        """Put angles in the place of ``parse``, and leave out what means the same as one of them."""
        texts = yield from self.steps.angles(MOST_ANGLES)
        rest = self._topics[place + 1 :]
        same = yield from self.steps.same_topics(rest, texts)
        for topic in same:
            self.log.drop(topic, "angle", ", ".join(texts))
        self.log.angles += [{"topic": text, "under": PARSE} for text in texts]
        self._topics[place:] = [*texts, *(topic for topic in rest if topic not in same)]

    def _parsed(self) -> set[str]:
        return {angle["topic"] for angle in self.log.angles}


def most_released_exchanges(order: Sequence[str]) -> int:
    """The most exchanges that an interview can have: once verdicts are overruled, three on each topic at most."""
    return 1 + FIRST_OVERRULED + 3 * (len(order) + 1 + MOST_ANGLES)


# -- The patient of the interview -----------------------------------------------------------------------

#: What the patient does with questions that the record says nothing of.
Unknown = Literal["deny", "dont_know", "improvise"]
#: Most words of a reply, bedside's own: of Chinese that is 450 characters, and the longest of 3,000 replies that were
#: read of the released dialogues has 423.
WORDS_OF_A_REPLY = 300


@dataclass(slots=True)
class RecordPatient:
    """The patient's part of one interview.

    Attributes:
        case: whose record it knows.
        unknown: what it does with questions that the record says nothing of.
        diagnosis: what it was told that it has; empty where it doesn't know.
        ledger: of the interview.
        story: what happened to it; empty until that is to be told.
    """

    case: Case
    unknown: Unknown
    diagnosis: str
    ledger: Ledger
    story: str = ""

    def reply(self, number: int, topic: str) -> Exchange[Spoken]:
        """The answer to the doctor's last message.

        Args:
            number: of the reply, from 1.
            topic: what the doctor was to ask about; empty where nobody said.
        """
        language = self.case.language
        rules = [interview_prompt(f"unknown_{self.unknown}", language)]
        if self.diagnosis:
            rules.append(interview_prompt("diagnosis_told", language, diagnosis=self.diagnosis))
        record, facts = record_of(self.case), patient_lines(self.case)
        parts = [
            interview_prompt(
                "patient",
                language,
                age=record.age,
                sex=WORDS[language][record.sex],
                record="\n".join(facts),
                rules="\n".join(rule.brief for rule in rules),
            )
        ]
        if self.story:
            parts.append(interview_prompt("story_told", language, story=self.story))
        topic = "" if topic == PARSE else topic
        wish = interview_prompt("answer_topic", language, topic=topic) if topic else None
        call = Call(
            "patient",
            "reply",
            number,
            brief="\n\n".join(part.brief for part in parts),
            history=tuple(self.ledger.lines),
            instruction="" if wish is None else wish.instruction,
            material={
                "facts": facts,
                "story": self.story,
                "topic": topic,
                "unknown": self.unknown,
                "language": language,
            },
            prompt=" ".join(part.reference for part in (*parts, *rules, *(() if wish is None else (wish,)))),
        )
        earlier = [line.text for line in self.ledger.lines if line.role == "patient"]

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=language, earlier=earlier, sentences=None, words=WORDS_OF_A_REPLY)

        spoken = yield from ask_patient(call, check)
        self.ledger.note_refused("reply", spoken)
        return spoken


# -- Which topic comes next -----------------------------------------------------------------------------

#: Further questions on a topic at most.
FOLLOW_UPS = 2
#: How often angles may grow from angles, and angles of an interview at most.
DEPTH, ALL_ANGLES = 2, 6


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A topic to be asked about: of the tree where ``depth`` is 0, else an angle."""

    topic: str
    depth: int = 0


@dataclass(slots=True)
class CorrectedSchedule:
    """The course of one interview.

    Attributes:
        tree: of topics.
        order: its leaves as they were drawn.
        steps: who asks.
        cap: exchanges at most. When those that remain are no more than the leaves that remain, there are no further
            questions and no angles, so that every leaf is asked about.
        log: what was done.
    """

    tree: TopicTree
    order: tuple[str, ...]
    steps: InterviewSteps
    cap: int = CAP
    log: ScheduleLog = field(init=False)
    _left: list[_Leaf] = field(init=False)

    def __post_init__(self) -> None:
        self.log = ScheduleLog((self.tree.root, *self.order))
        self._left = [_Leaf(topic) for topic in self.order]

    def hold(self) -> Exchange[str]:
        """The whole of it; why it ended early, empty where every topic was dealt with."""
        self.log.asked.append(self.tree.root)
        stop = yield from self.steps.ask(AskedTopic(self.tree.root, opening=True))
        while not stop:
            yield from self._leave_out_answered()
            leaf = yield from self._next_leaf()
            if leaf is None:
                return ""
            stop = yield from self._about(leaf)
        return stop

    def _about(self, leaf: _Leaf) -> Exchange[str]:
        """All questions on a topic, and what grows from it."""
        start = self.steps.spoken
        self.log.asked.append(leaf.topic)
        for follow_up in range(FOLLOW_UPS + 1):
            stop = yield from self.steps.ask(AskedTopic(leaf.topic, follow_up, parsed=leaf.depth > 0))
            again = follow_up < FOLLOW_UPS and self._spare() > 0
            deeper = 0 < leaf.depth < DEPTH and self._room() > 0
            if stop or not (again or deeper):
                return stop
            if (yield from self.steps.topic_ends(leaf.topic, start)):
                return ""
            if not again:
                yield from self._grow(leaf.topic, leaf.depth + 1)
                return ""
        raise AssertionError("the last question on a topic is no follow-up's")

    def _next_leaf(self) -> Exchange[_Leaf | None]:
        while self._left:
            leaf = self._left.pop(0)
            if leaf.topic != PARSE:
                return leaf
            yield from self._grow(PARSE, 1)
        return None

    def _leave_out_answered(self) -> Exchange[None]:
        topics = self._topics()
        if topics:
            for topic, quote in (yield from self.steps.answered(topics)).items():
                self._leave_out(topic, "answered", quote)

    def _grow(self, under: str, depth: int) -> Exchange[None]:
        """Put angles in the place of what was just taken from the front."""
        room = min(MOST_ANGLES, self._room())
        if room <= 0:
            self.log.notes.append(f"no room for angles under {under}")
            return
        angles = yield from self.steps.angles(room)
        texts = [text for text in angles if text not in self.log.asked]
        self.log.notes += [f"asked about already: {text}" for text in angles if text in self.log.asked]
        # An angle in a leaf's own words takes its place; self-harm and the family stay where they are.
        for text in texts:
            if text in self._topics() and not self.tree.kept(text):
                self._leave_out(text, "angle", text)
        texts = [text for text in texts if text not in self._topics()]
        others = [topic for topic in self._topics() if not self.tree.kept(topic)]
        if texts and others:
            for topic, angle in (yield from self.steps.covered(others, texts)).items():
                self._leave_out(topic, "angle", angle)
        self.log.angles += [{"topic": text, "under": under} for text in texts]
        self._left[:0] = [_Leaf(text, depth) for text in texts]

    def _leave_out(self, topic: str, by: str, evidence: str) -> None:
        self._left = [leaf for leaf in self._left if leaf.topic != topic]
        self.log.drop(topic, by, evidence)

    def _topics(self) -> list[str]:
        return [leaf.topic for leaf in self._left if leaf.topic != PARSE]

    def _spare(self) -> int:
        """Exchanges that aren't needed for the leaves that remain."""
        return self.cap - self.steps.exchanges - len(self._topics())

    def _room(self) -> int:
        """Angles that there is room for."""
        return min(ALL_ANGLES - len(self.log.angles), self._spare())


def most_exchanges(order: Iterable[str], cap: int = CAP) -> int:
    """The most exchanges that an interview can have: the root, and every leaf and angle with its further questions."""
    leaves = sum(topic != PARSE for topic in order)
    return min(cap, 1 + (leaves + ALL_ANGLES) * (1 + FOLLOW_UPS))


# -- The interview --------------------------------------------------------------------------------------

#: Exchanges of a free interview at most: the source ends it when there are more than 22 messages.
FREE_EXCHANGES = 12
#: What the doctor says at the end where the case's own diagnosis and advice are stated, by language.
STATED: Mapping[str, str] = {
    "zh": "今天就问到这里。我的诊断是：{diagnosis}。处理意见：{advice}",
    "en": "That is all for today. My diagnosis is: {diagnosis}. What I advise: {advice}",
}
_WHOLE = ("every topic", "evaluator ends", "exchange limit")


def converse(situation: Situation) -> Exchange[Outcome]:
    """The controller; see :mod:`bedside.simulation.simulators.calls`."""
    interview = _TopicInterview(situation)
    return (yield from interview.ledger.keep(interview.whole()))


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
        self.ledger = Ledger()
        self.doctor = Doctor(case.language, self.record, self.persona)
        diagnosis = (case.hidden.diagnosis or "").strip() if options["knows_diagnosis"] else ""
        self.patient = RecordPatient(case, options["unknown"], diagnosis, self.ledger)
        self.tools = tools = InterviewTools(case.language, self.ledger)
        # What a schedule asks the evaluator.
        self.topic_ends, self.answered, self.angles = tools.topic_ends, tools.answered, tools.angles
        self.covered, self.same_topics = tools.covered, tools.same_topics
        self.story = PatientStory(None, "", "a free interview has none")
        self.graphs_digest = ""
        self.told_at: int | None = None
        self.schedule: CorrectedSchedule | ReleasedSchedule | None = None
        self.exchanges = 0
        self.diagnoses: tuple[str, ...] | None = None

    # -- the course --------------------------------------------------------------------------------

    def whole(self) -> Exchange[Outcome]:
        """All of it."""
        stop = yield from (self._free_course() if self.free else self._topic_course())
        if stop in _WHOLE:
            stop = (yield from self._closing()) or stop
        return self._outcome(stop)

    def _topic_course(self) -> Exchange[str]:
        """The topics one after the other; why they ended."""
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
        return (yield from self.schedule.hold()) or "every topic"

    def _free_course(self) -> Exchange[str]:
        while self.exchanges < FREE_EXCHANGES:
            if self.spoken and (yield from self.tools.interview_ends()):
                return "evaluator ends"
            stop = yield from self.ask(AskedTopic(opening=not self.spoken))
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
                self.ledger.flags["without a story"] += 1
        self.ledger.note(
            "story",
            story=self.story.text,
            reason=self.story.reason,
            seed=None if self.story.seed is None else self.story.seed.words(),
            refused=self.story.refused,
        )

    # -- the steps that a schedule asks for ----------------------------------------------------------

    @property
    def spoken(self) -> int:
        """Messages so far, of both sides."""
        return len(self.ledger.lines)

    def ask(self, topic: AskedTopic) -> Exchange[str]:
        """One message of the doctor and the answer to it; why the interview ends with it, empty where it goes on."""
        ledger, number = self.ledger, self.exchanges + 1
        about = {"topic": topic.text, "follow_up": topic.follow_up, "parsed": topic.parsed} if topic.text else {}
        spoken = yield from self.doctor.message(ledger.lines, number, topic)
        ledger.note_refused("message", spoken)
        if not spoken.text:
            return ledger.silence(spoken.flags)
        ledger.say("clinician", spoken, about)
        # The story goes to the patient once the evaluator says that it is to be told, and stays there.
        if self.story.text and self.told_at is None and (yield from self.tools.story_is_due()):
            self.told_at = self.spoken
            self.patient.story = self.story.text
        ledger.say("patient", (yield from self.patient.reply(number, topic.text)), about)
        self.exchanges = number
        return ledger.repeated()

    # -- what is said at the end ----------------------------------------------------------------------

    def _closing(self) -> Exchange[str]:
        """The last words of the doctor, if there are to be any; why the interview ends where there are none."""
        closing = self.situation.options["closing"]
        if closing == "case":
            text = STATED[self.case.language].format(
                diagnosis=str(self.case.hidden.diagnosis).strip(), advice=self.record.treatment_advice.strip()
            )
            self.ledger.say("clinician", Spoken(text), {"closing": "case"})
        if closing != "inferred":
            return ""
        ledger = self.ledger
        spoken, named = yield from self.doctor.closing(ledger.lines)
        ledger.note_refused("closing", spoken)
        self.diagnoses = named.value
        ledger.note("closing", diagnoses=named.value, readable=named.readable)
        if not named.readable:
            ledger.flags["clinician: closing can't be read"] += 1
        text = spoken.text or "\n".join(f"{rank}. {name}" for rank, name in enumerate(named.value, start=1))
        if not text:
            return ledger.silence(spoken.flags)
        ledger.say("clinician", replace(spoken, text=text), {"closing": "inferred"})
        return ""

    # -- what it came to -------------------------------------------------------------------------------

    def _outcome(self, stop: str) -> Outcome:
        """What it came to."""
        reference: dict[str, Any] = {"diagnosis": (self.case.hidden.diagnosis or "").strip()}
        if self.record.icd_codes:
            reference["icd_code"] = ",".join(self.record.icd_codes)
        if self.diagnoses is not None:
            reference["ranked_diagnoses"] = list(self.diagnoses)
        factors: dict[str, Any] = {"sex": self.record.sex, "age": self.record.age}
        if self.persona is not None:
            factors |= {"doctor": self.persona.id, "empathy": self.persona.empathy}
        return self.ledger.outcome(
            stop,
            completed=stop in _WHOLE,
            reference=reference,
            factors=factors,
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
