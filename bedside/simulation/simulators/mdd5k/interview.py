"""The interview: a tree's topics one after the other, or a free talk; story, patient's answers, closing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from bedside.simulation.simulators.asking import (
    ATTEMPTS,
    CLINICIAN_ATTEMPTS,
    Decided,
    Spoken,
    ask_for_data,
    flag_reader,
    part_of,
    texts_of,
)
from bedside.simulation.simulators.calls import ActorRole, Exchange, together
from bedside.simulation.simulators.contract import Draws, Outcome, Situation
from bedside.simulation.simulators.ledger import ProtocolTalk
from bedside.simulation.simulators.mdd5k.case_fields import FOLDER, patient_lines, record_of
from bedside.simulation.simulators.mdd5k.doctor import (
    CAP,
    FREE,
    PARSE,
    WORDS,
    AskedTopic,
    DoctorPersona,
    TopicTree,
    doctor_brief,
    draw_doctor,
    find_doctors,
    find_tree,
    topic_wish,
)
from bedside.simulation.simulators.mdd5k.story import PatientStory, draw_story, find_graphs, written_story

# -- What the evaluator says of an interview while it is held -------------------------------------------
# It is told nothing of the case: it reads what was said, and the topics.

#: Angles that are asked for at once, at least and at most.
FEWEST_ANGLES, MOST_ANGLES = 2, 3
#: Letters and figures that words must have to be quoted as an answer.
SHORTEST_QUOTE = 4
_SPEAKERS: Mapping[str, Mapping[str, str]] = {
    "zh": {"clinician": "医生：", "patient": "患者："},
    "en": {"clinician": "Doctor: ", "patient": "Patient: "},
}


def _items(value: Any, name: str, *keys: str) -> list[tuple[Any, ...]]:
    """The parts of each object in a list."""
    items = part_of(value, name)
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
            topics = self._topics()
            for topic, quote in (yield from self.steps.answered(topics)).items() if topics else ():
                self._leave_out(topic, "answered", quote)
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
#: Most words of a reply, bedside's own: of Chinese that is 450 characters, and the longest of 3,000 replies that were
#: read of the released dialogues has 423.
WORDS_OF_A_REPLY = 300
_WHOLE = ("every topic", "evaluator ends", "exchange limit")


class TopicInterview(ProtocolTalk):
    """One interview while it is held: the steps that a schedule asks for."""

    folder = FOLDER

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self.record = record_of(self.case)
        self.diagnosis: str = (self.case.hidden.diagnosis or "").strip()
        self.free = situation.setting == FREE
        self.persona: DoctorPersona | None = None
        if not self.free:
            doctors = find_doctors(str(self.options["doctors"]), self.language)
            self.persona = draw_doctor(doctors, situation.shared_draws, situation.repeat)
        self.brief = doctor_brief(self.language, self.record, self.persona)
        self.story = PatientStory(None, "", "a free interview has none")
        self.graphs_digest = ""
        self.told_at: int | None = None
        self.schedule: CorrectedSchedule | ReleasedSchedule | None = None
        self.exchanges = 0
        self.diagnoses: tuple[str, ...] | None = None
        #: The evaluator's calls at each site so far.
        self.numbers: Counter[str] = Counter()

    # -- the course --------------------------------------------------------------------------------

    def course(self) -> Exchange[str]:
        """Topics or a free talk, and the last words; why it ended."""
        stop = yield from (self._free_course() if self.free else self._topic_course())
        if stop in _WHOLE:
            stop = (yield from self._closing()) or stop
        return stop

    def _topic_course(self) -> Exchange[str]:
        """The topics one after the other; why they ended."""
        yield from self._take_story()
        options, draws = self.situation.options, self.situation.shared_draws
        tree = find_tree(self.record, self.language, str(options["trees"]))
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
            material = {"dialogue": self._dialogue()}
            if self.spoken and (yield from self._asked("interview_end", material, flag_reader("ended"))):
                return "evaluator ends"
            stop = yield from self.ask(AskedTopic(opening=not self.spoken))
            if stop:
                return stop
        return "exchange limit"

    def _take_story(self) -> Exchange[None]:
        """The case's story of this repeat, which all clinicians' patients share."""
        name, number = str(self.situation.options["graphs"]), self.situation.repeat
        graphs = find_graphs(name, self.language)
        self.graphs_digest = graphs.digest
        graph = graphs.graph_for(self.record)
        if graph is None:
            self.story = PatientStory(None, "", "no graph for this age")
        else:
            seed = draw_story(graph, self.situation.shared_draws.stream("story", number))
            self.story = yield from written_story(
                self.record, str(self.case.hidden.diagnosis), self.language, seed, number
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

    @property
    def told_story(self) -> str:
        """What the patient is told of its past: it stays there once it is to be told."""
        return "" if self.told_at is None else self.story.text

    def ask(self, topic: AskedTopic) -> Exchange[str]:
        """One message of the doctor and the answer to it; why the interview ends with it, empty where it goes on."""
        ledger, number = self.ledger, self.exchanges + 1
        about = {"topic": topic.text, "follow_up": topic.follow_up, "parsed": topic.parsed} if topic.text else {}
        material = {
            "topic": topic.text,
            "follow_up": topic.follow_up,
            "opening": topic.opening,
            "language": self.language,
        }
        wish = topic_wish(self.language, topic)
        spoken = yield from self.ask_clinician(number, self.brief, wish, material=material)
        ledger.note_refused("message", spoken)
        if not spoken.text:
            return ledger.silence(spoken.flags)
        ledger.say("clinician", spoken, about)
        # The story goes to the patient once the evaluator says that it is to be told, and stays there.
        untold = self.story.text and self.told_at is None
        if untold and (yield from self._asked("trigger", {"dialogue": self._dialogue()}, flag_reader("due"))):
            self.told_at = self.spoken
        ledger.say("patient", (yield from self._reply(number, topic.text)), about)
        self.exchanges = number
        return ledger.repeated()

    # -- the evaluator ---------------------------------------------------------------------------------

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        material = {"topic": topic, "dialogue": self._dialogue(start)}
        decided: bool = yield from self._asked("topic_end", material, flag_reader("ended"), about={"topic": topic})
        return decided

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them.

        A topic counts only where the words that are quoted are the patient's own.
        """
        said = list(map(_plain, self.ledger.texts("patient")))

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
            distinct = tuple(dict.fromkeys(angle.strip() for angle in texts_of(value, "angles")))
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
        named = _numbered_lines(angles)
        verdicts = yield from together(
            *(
                self._asked(
                    "same_topic", {"topic": topic, "angles": named}, flag_reader("same"), about={"topic": topic}
                )
                for topic in topics
            )
        )
        return tuple(topic for topic, same in zip(topics, verdicts, strict=True) if same)

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
        filled = self.prompt(purpose, **material)
        call = self.call(
            "evaluator",
            purpose,
            self.numbers[purpose],
            filled,
            schema=_bounded(filled.schema, most or {}),
            material={"language": self.language, **material},
        )
        decided = yield from self.decide(call, read)
        refused = {"refused": decided.refused} if decided.refused else {}
        self.ledger.note_last(purpose, **(about or {}), value=decided.value, **refused)
        return decided.value

    def _dialogue(self, start: int = 0) -> str:
        speakers, lines = _SPEAKERS[self.language], self.ledger.lines[start:]
        return "\n".join(f"{speakers[line.role]}{' '.join(line.text.split())}" for line in lines)

    # -- the patient -----------------------------------------------------------------------------------

    def _reply(self, number: int, topic: str) -> Exchange[Spoken]:
        """The patient's answer to the doctor's last message; ``topic`` is what that was to be about."""
        language, facts, story = self.language, patient_lines(self.case), self.told_story
        rules = [self.prompt(f"unknown_{self.options['unknown']}")]
        if self.options["knows_diagnosis"] and self.diagnosis:
            rules.append(self.prompt("diagnosis_told", diagnosis=self.diagnosis))
        topic = "" if topic == PARSE else topic
        about: dict[str, Any] = {"age": self.record.age, "sex": WORDS[language][self.record.sex]}
        call = self.call(
            "patient",
            "reply",
            number,
            self.prompt("patient", **about, record="\n".join(facts), rules="\n".join(rule.brief for rule in rules)),
            self.prompt("story_told", story=story) if story else None,
            self.prompt("answer_topic", topic=topic) if topic else None,
            sources=[rule.reference for rule in rules],
            material={
                "facts": facts,
                "story": story,
                "topic": topic,
                "unknown": self.options["unknown"],
                "language": language,
            },
        )
        spoken = yield from self.ask_patient(call, sentences=None, words=WORDS_OF_A_REPLY)
        self.ledger.note_refused("reply", spoken)
        return spoken

    # -- what is said at the end ----------------------------------------------------------------------

    def _closing(self) -> Exchange[str]:
        """The last words of the doctor, if there are to be any; why the interview ends where there are none."""
        closing = self.situation.options["closing"]
        if closing == "case":
            text = STATED[self.language].format(
                diagnosis=str(self.case.hidden.diagnosis).strip(), advice=self.record.treatment_advice.strip()
            )
            self.ledger.say("clinician", Spoken(text), {"closing": "case"})
        if closing != "inferred":
            return ""
        ledger = self.ledger
        spoken, named = yield from self._ask_diagnosis()
        ledger.note_refused("closing", spoken)
        self.diagnoses = named.value
        ledger.note("closing", diagnoses=named.value, readable=named.readable)
        if not named.readable:
            ledger.count_unreadable("closing")
        text = spoken.text or "\n".join(f"{rank}. {name}" for rank, name in enumerate(named.value, start=1))
        if not text:
            return ledger.silence(spoken.flags)
        ledger.say("clinician", replace(spoken, text=text), {"closing": "inferred"})
        return ""

    def _ask_diagnosis(self) -> Exchange[tuple[Spoken, Decided]]:
        """The diagnosis that the clinician infers from the interview, in its own words, and what it names in them, the
        likeliest first."""
        material = {"language": self.language}
        spoken = yield from self.ask_clinician(
            1, self.brief, self.prompt("closing"), purpose="closing", material=material
        )
        if spoken.fields is not None:
            try:
                return spoken, Decided(_read_diagnoses(spoken.fields))
            except ValueError:
                pass
        if not spoken.text:
            return spoken, Decided((), readable=False)
        filled = self.prompt("diagnoses", message=spoken.text)
        material = {"message": spoken.text, **material}
        call = self.call("clinician", "diagnoses", 1, filled, kind="data", material=material, history=())
        return spoken, (yield from ask_for_data(call, _read_diagnoses, neutral=()))

    # -- what it came to -------------------------------------------------------------------------------

    def outcome(self, stop: str) -> Outcome:
        """What it came to."""
        reference: dict[str, Any] = {"diagnosis": self.diagnosis}
        if self.record.icd_codes:
            reference["icd_code"] = ",".join(self.record.icd_codes)
        if self.diagnoses is not None:
            reference["ranked_diagnoses"] = list(self.diagnoses)
        factors: dict[str, Any] = {"sex": self.record.sex, "age": self.record.age}
        if self.persona is not None:
            factors |= {"doctor": self.persona.id, "empathy": self.persona.empathy}
        return self.ledger.outcome(
            stop, completed=stop in _WHOLE, reference=reference, factors=factors, simulation=self._simulation()
        )

    def _simulation(self) -> dict[str, Any]:
        simulation: dict[str, Any] = {"exchanges": self.exchanges}
        if self.schedule is None or self.persona is None:
            return {**simulation, "exchange_cap": FREE_EXCHANGES}
        tree = self.schedule.tree
        rule = "released" if isinstance(self.schedule, ReleasedSchedule) else "corrected"
        simulation["tree"] = {"rule": rule, "file": tree.name, "sha256": tree.digest, **self.schedule.log.content()}
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


def _read_diagnoses(value: Any) -> tuple[str, ...]:
    return tuple(name.strip() for name in texts_of(value, "diagnoses", "names", blank=True) if name.strip())


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
