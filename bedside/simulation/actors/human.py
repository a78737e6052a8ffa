"""``human:NAME``: a person at the keyboard or a page. Lines are kept as they are typed, and aren't asked for again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bedside.core.errors import InputError
from bedside.core.stopping import in_thread
from bedside.judges.llm.queue import CallRecord
from bedside.ratings.names import human_rater, is_human, person_name
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings, CallPlace, LocalActor
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Simulator
from bedside.transcripts.simulation_folder import TYPED_LINES


class HumanActor(LocalActor):
    """Asks a person in the terminal or at a page, one conversation at a time."""

    conversations: int | None = 1

    def __init__(self, identity: str, settings: ActorSettings) -> None:
        from bedside.simulation.person import PersonAtKeyboard, TerminalScreen, TypedLines

        self._at_page = settings.page is not None
        self._person = PersonAtKeyboard(
            TerminalScreen() if settings.page is None else settings.page.screen(identity, settings.role),
            TypedLines(settings.folder / TYPED_LINES),
            minutes=settings.minutes,
            early_form=settings.simulator.early_form,
        )
        super().__init__(None, 1)
        if settings.minutes is not None:
            self.parameters = {"minutes": settings.minutes}

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Wait for what the person types; at the keyboard, nothing else goes on meanwhile.

        Raises:
            KeyboardInterrupt: they want to stop, by Ctrl-C or Ctrl-D.
        """
        try:
            if self._at_page:
                return await in_thread(partial(self._person.reply, place.conversation, call))
            return self._person.reply(place.conversation, call)
        except EOFError:
            raise KeyboardInterrupt from None


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [_name(text) for text in names]


def _name(text: str) -> ActorName:
    person = person_name(text)
    if not person or not person.isprintable() or set(person) & set("/ "):
        raise InputError(
            f"{text!r} names no person", todo="write human:NAME, such as human:anna, without spaces or slashes"
        )
    return ActorName(text, "human", text, human_rater(person), detail=person)


def _open(name: ActorName, settings: ActorSettings) -> HumanActor:
    return HumanActor(name.identity, settings)


ACTOR = ActorKind(
    name="human",
    title="a person at the keyboard or a page",
    takes=is_human,
    read=_read,
    open=_open,
    words_only=lambda name, purposes: "a person types words, and no objects",
    free=True,
)
