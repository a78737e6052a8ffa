"""The rating page of a study that people enrol in: from information and consent to how their part ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import FOLDER, plan_folder, raters_in
from bedside.annotation.answers import time_now
from bedside.annotation.assignment_by_need import Supply
from bedside.annotation.rating_page.page_database import EntryConflictError, Mark, SentEntry, read_sent
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.rating_page.page_state import (
    Fresh,
    IncompleteEntryError,
    NoSuchItemError,
    PageState,
    Stage,
    study_words,
)
from bedside.annotation.rating_page.study_people import ACTIVE, EnrolledPerson, People, Recruitment
from bedside.annotation.study_file import MOST_ANSWER, MOST_PARAMETER, PLACES, EndingKind, StudyFile, slots_of
from bedside.annotation.training_cases import TrainingResult
from bedside.annotation.withdrawal import withdraw
from bedside.core.errors import InputError, RunError
from bedside.ratings.run import Run

#: Whose the secret of the enrolment link is, in the file of links: nobody's name.
ENROLMENT = "*"
_Word = Annotated[str, StringConstraints(max_length=60)]


class _Sent(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)

    mark: Mark


class SentEnrolment(_Sent):
    """What a browser sends that came by the enrolment link.

    Attributes:
        parameters: of the link.
        decision: None before the person has decided.
        version: of what was shown.
        mark: the browser's own; by it a person without parameters is known again.
    """

    parameters: Annotated[dict[Annotated[str, StringConstraints(max_length=200)], str], Field(max_length=100)] = {}
    decision: Literal["agreed", "declined"] | None = None
    version: Annotated[str, StringConstraints(max_length=64)] = ""


class SentQuestionnaire(_Sent):
    """Answers to the questionnaire: name → texts."""

    answers: Annotated[
        dict[_Word, Annotated[list[Annotated[str, StringConstraints(max_length=MOST_ANSWER)]], Field(max_length=100)]],
        Field(max_length=500),
    ]


class RecruitedPage(PageState):
    """A page as :class:`~.page_state.PageState`, on which people enrol; for one thread at a time.

    Args:
        plan: the plan.
        run: its run.
        folder: the page's folder.
        text: what raters read first, as Markdown.
        study: what people are shown, asked and promised.
        others, help_text: as of any page; the study's help unless there is another.
    """

    def __init__(
        self, plan: AnnotationPlan, run: Run, folder: PageFolder, text: str, study: StudyFile,
        others: Sequence[str] = (), help_text: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(plan, run, folder, text, others, study.help if help_text is None else help_text)
        self.study = study
        self.people = People(folder.people)
        self.people.keep_study(study)
        who = run, plan, self.people, self.database, self._positions
        self.recruitment = Recruitment(*who, lambda: self.plan, lambda: self.need)
        folders, own = run.path / FOLDER, plan_folder(run, plan)
        self._taken = Fresh(
            lambda: sorted(file for file in folders.glob("*/*.json") if file.parent != own), lambda: raters_in(run)
        )
        self.recruitment.settle()

    def close(self) -> None:
        """End the connections."""
        self.people.close()
        super().close()

    def _linked(self) -> Sequence[str]:
        slots = set(slots_of(self._drawn.raters))
        return [ENROLMENT, *(rater for rater in self.plan.people if rater not in slots)]

    def enrol(self, asker: str, body: bytes) -> dict[str, Any]:
        """What somebody who came by the enrolment link is answered: the study, how it ends, or a link of their own.

        Raises:
            NoSuchItemError: it was another link.
            InputError: a parameter is missing or can't be one.
            EntryConflictError: the person agreed to another text than is shown now.
        """
        if asker != ENROLMENT:
            raise NoSuchItemError(self.words.say("no_such_item"))
        sent = read_sent(SentEnrolment, body)
        parameters = {name: self._parameter(sent.parameters, name) for name in self.study.parameters}
        key = f"id:{next(iter(parameters.values()))}" if parameters else f"mark:{sent.mark}"
        known = self.people.person(key, "person")
        if known is not None:
            return self._let_in(known)
        if sent.decision == "declined":
            self.people.log("", "declined", version=self.study.version)
            return {"ending": self.study.ending("declined", parameters, debriefing=False)}
        free = self.recruitment.free()
        closed: EndingKind = "closed" if self.need is not None and self.need.stopped else "full"
        ending = self.study.ending(closed, parameters, debriefing=False)
        if sent.decision is None:
            study = self.study
            words = {"title": study.title, "statements": study.consent, "contact": study.contact}
            texts = {"information": study.html("information"), "version": study.version}
            return {"welcome": {**words, **texts, "ending": None if self.people.free_slot(free) else ending}}
        if sent.version != self.study.version:
            raise EntryConflictError(self.words.say("study_changed"))
        taken = {*self.plan.raters, *self._taken.value()}
        person = self.people.enrol(key, parameters, self.study, free, taken)
        return {"ending": ending} if person is None else self._let_in(person)

    def _parameter(self, parameters: Mapping[str, str], name: str) -> str:
        value = parameters.get(name, "").strip()
        # By the first people are known again: what no service filled in is nobody's.
        unfilled = {name.upper(), *PLACES.values()} if name == self.study.parameters[0] else set[str]()
        if not value or len(value) > MOST_PARAMETER or not value.isprintable() or value in unfilled:
            raise InputError(self.words.say("study_link", name=name))
        return value

    def _let_in(self, person: EnrolledPerson) -> dict[str, Any]:
        self.recruitment.settle()
        return {"secret": self._folder.links.secrets([person.rater])[person.rater]}

    def share(self, rater: str) -> dict[str, Any]:
        """As of any page; what stands there begins with where the person is."""
        if rater in self.plan.raters:
            self._show_second_set(rater)
            self.recruitment.advance(rater, here=True)
        return super().share(rater)

    def _supply(self, rater: str, states: Mapping[str, Any], training: TrainingResult) -> Supply | None:
        person = self.people.person(rater)
        return super()._supply(rater, states, training) if person is None else self.recruitment.supply(person)

    def save(self, rater: str, item: str, sent: SentEntry) -> dict[str, Any]:
        """As of any page; the person is then where that puts them."""
        kept = super().save(rater, item, sent)
        if sent.state != "draft":
            self._show_second_set(rater)
            self.recruitment.advance(rater, here=True)
        return kept

    def answer_questionnaire(self, rater: str, body: bytes) -> dict[str, Any]:
        """Keep what a person says of themselves, once; what the page shows then.

        Raises:
            NoSuchItemError: it is nobody who enrolled.
            IncompleteEntryError: an answer is wanting or none of those that can be chosen.
        """
        person = self._enrolled(rater)
        sent = read_sent(SentQuestionnaire, body)
        if person.state == "questionnaire":
            wanting = {}
            for question in self.study.questionnaire:
                problem = question.problem(sent.answers.get(question.name, []))
                if problem is not None:
                    wanting[question.name] = self.words.say(problem, title=question.question.rstrip("?.？。"))
            if wanting:
                raise IncompleteEntryError(wanting)
            answers = {
                question.name: [text.strip() for text in sent.answers.get(question.name, []) if text.strip()]
                for question in self.study.questionnaire
            }
            ends = [q.name for q in self.study.questionnaire if set(q.ends) & set(answers[q.name])]
            with self.people.changing():
                self.people.keep(rater, answers=orjson.dumps(answers))
                if not ends:
                    self.people.move(rater, "training", "questionnaire answered")
                else:
                    self.recruitment.end(rater, "screened_out", "questionnaire", question=ends[0])
        return self.share(rater)

    def withdraw(self, rater: str, body: bytes) -> dict[str, Any]:
        """Remove all that is known of a person, everywhere.

        Raises:
            NoSuchItemError: it is nobody who enrolled.
        """
        person = self._enrolled(rater)
        read_sent(_Sent, body)
        ending = self.study.ending("withdrawn", person.parameters, person.code)
        self.recruitment.begin_withdrawal(rater)
        # Where another command holds the run, it is decided, and done as soon as that ends.
        with suppress(RunError):
            withdraw(self._run, self._drawn, self._folder, rater)
        return {"ending": ending}

    def _enrolled(self, rater: str) -> EnrolledPerson:
        person = self.people.person(rater)
        if person is None:
            raise NoSuchItemError(self.words.say("no_such_item"))
        return person

    def stage(self, rater: str) -> Stage:
        """Where a person is now; who is invited rates."""
        self.recruitment.advance(rater)
        person = self.people.person(rater)
        if person is None:
            return super().stage(rater)
        return person.state if person.state in ACTIVE else "ended"  # type: ignore[return-value]

    def _study(self, rater: str, stage: Stage) -> dict[str, Any]:
        person = self.people.person(rater)
        words = {"title": self.study.title, "contact": self.study.contact, "help": self._help}
        if person is None:
            return {**(super()._study(rater, stage) or study_words()), **words}
        ending, until = None, person.until
        if until is not None:  # as pages tell the time, by the clock as it stands now
            until = (datetime.now(UTC) + (datetime.fromisoformat(until) - time_now())).isoformat(
                timespec="milliseconds"
            )
        if person.state not in ACTIVE:
            who, items = (person.parameters, person.code), self.recruitment.items_done(rater)
            ending, until = self.study.ending(person.state, *who, items=items), None  # type: ignore[arg-type]
        shown = {"name", "question", "kind", "choices", "required"}
        questions = [question.model_dump(include=shown) for question in self.study.questionnaire]
        return study_words(**words, questions=questions, ending=ending, until=until, can_withdraw=True)

    def sweep(self) -> None:
        """Put everybody where they are by now, as who is out of time, or withdrew while the run was held."""
        for person in self.people.persons():
            self.recruitment.advance(person.rater)
            if person.state == "withdrawn":
                withdraw(self._run, self._drawn, self._folder, person.rater)
