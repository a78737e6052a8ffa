"""What a user can say of conversations that are to be simulated: who talks, what about, and what it may cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import InputError
from bedside.core.question_settings import HOW, OPTIONS, PageServing, changed_fields, option, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import ExtraFields
from bedside.judges.llm.extra_fields import checked_extra

if TYPE_CHECKING:
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.simulation_plan import ActorInput, CaseInput, PersonaInput, SimulationRequest
    from bedside.simulation.talk_page import TalkPage
    from bedside.transcripts.reading import Paths

#: All that conversations depend on but protocol, cases and clinicians.
PLANNED = (
    "patient", "evaluator", "ranker", "reviewer", "personas", "settings", "lengths", "repeats", "sample", "seed",
    "options", "extra", "cast",
)  # fmt: skip
ACTORS, CASES, COST = "Who talks", "What about", "Cost and speed"

CLINICIAN: Any = option(
    "Who is under test: openai/MODEL, http://host:port/v1#MODEL …, package.module:function, webhook:URL, human:NAME, "
    "script:FILE, script:NAME of the protocol, rules (a toy), or trivial (fifteen that listen to nobody; one: "
    "trivial:NAME). Each is a system.",
    default=(), heading=ACTORS, metavar="ACTOR", form="repeated", offers="clinicians",
)  # fmt: skip
MOST_CALLS: Any = option(
    "Most calls under way at once to an address, whatever models it serves, or to an agent.",
    default=8, heading=COST, metavar="NUMBER",
)  # fmt: skip
PRICES: Any = option(
    "US dollars for a million tokens in and out, by model, where bedside doesn't know them.",
    default=None, heading=None,
)  # fmt: skip


@settings_class
class TalkSettings(ExtraFields):
    """Who talks, and what about."""

    clinician: ActorInput = CLINICIAN
    patient: Named | None = option(
        "Who plays the patient, as for the clinician. Without it, the cast's, or rules: a toy that needs no model.",
        default=None, heading=ACTORS, metavar="ACTOR", form="word", offers="actors",
    )  # fmt: skip
    evaluator: Named | None = option(
        "Who labels turns, checks facts and the like. Without it, whoever plays the patient; needed where that is a "
        "person.",
        default=None, heading=ACTORS, metavar="ACTOR", form="word", offers="actors",
    )  # fmt: skip
    ranker: Named | None = option(
        "Who ranks candidates for a message, in protocols that have any: likelihood:MODEL (a causal language model of "
        "this computer: a folder, a .gguf file or a name on the Hugging Face hub), none (the first is taken), a model, "
        "or package.module:function. Without it, a toy.",
        default=None, heading=ACTORS, metavar="RANKER", form="word",
    )  # fmt: skip
    reviewer: Named | None = option(
        "Model that reviews each conversation after the rules, by the rubric patient_faults: a faulty one is had "
        "again, within the same bounds. Neither side hears of it.",
        default=None, heading=ACTORS, metavar="MODEL", form="word", offers="judges",
    )  # fmt: skip
    personas: PersonaInput | None = option(
        "Personas of the patients, in place of the protocol's; for protocols that have a use for them.",
        default=None, heading=CASES, metavar="FILE", form="path",
    )  # fmt: skip
    settings: Names = option(
        "Settings of the protocol; bedside show NAME --kind protocols lists them. Without it, its first.",
        "--setting", "--settings", default=(), heading=CASES, metavar="A,B", form="names", offers="simulator_settings",
    )  # fmt: skip
    lengths: int | Sequence[int] = option(
        "Target lengths of the conversations, for protocols that have them.",
        default=(), heading=CASES, metavar="N,N", form="whole_numbers",
    )  # fmt: skip
    cast: str | os.PathLike[str] | None = option(
        "File of a cast that bedside benchmark --write-cast wrote: patient, evaluator, parameters, prompts and seed; "
        "what differs from it stops the command.",
        default=None, heading=ACTORS, metavar="FILE", form="path",
    )  # fmt: skip
    repeats: int = option(
        "How many times each conversation is simulated.", default=1, heading=CASES, metavar="NUMBER", least=1
    )
    sample: int | None = option(
        "How many cases to draw. Without it, all.", default=None, heading=CASES, metavar="NUMBER", least=1
    )
    seed: int | None = option(
        "Seed of everything that is drawn at random; the same seed gives the same result. Without it, the cast's, or "
        "0.",
        default=None, heading=HOW, metavar="NUMBER", least=0,
    )  # fmt: skip
    options: Mapping[str, Any] | None = option(
        "Values of the protocol's options by name, and for each role ROLE_temperature and ROLE_max_tokens.",
        default=None, heading=None,
    )  # fmt: skip
    prices: Mapping[str, tuple[float, float]] | None = PRICES

    def request(self, protocol: str, cases: CaseInput | None, **more: Any) -> SimulationRequest:
        """What is asked for, as the simulation takes it."""
        from bedside.simulation.simulation_plan import SimulationRequest

        return SimulationRequest(protocol, self.clinician, cases=cases, **self.planned(), **more)

    def planned(self) -> dict[str, Any]:
        """All that conversations depend on but protocol, cases and clinicians, by its name."""
        return {
            **{name: getattr(self, name) for name in PLANNED},
            "settings": tuple(listed(self.settings, "settings")),
            "lengths": (self.lengths,) if isinstance(self.lengths, int) else tuple(self.lengths),
            "options": self.options or {},
            "extra": checked_extra(self.extra or {}, "`extra`"),
        }


@settings_class
class RequestLimits:
    """What requests may cost, and how fast they are sent."""

    max_concurrency: int = MOST_CALLS
    max_calls: int | None = option(
        "Most requests to send before stopping; the same again goes on from there.",
        default=None, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    max_cost: float | None = option(
        "US dollars after which nothing more is sent; the same again goes on from there.",
        default=None, heading=COST, metavar="DOLLARS",
    )  # fmt: skip
    time_limit: float = option(
        "Seconds until a call counts as unanswered.", default=120.0, heading=COST, metavar="SECONDS"
    )


@settings_class
class Sitting(PageServing):
    """Where people who take part sit, and for how long."""

    minutes: float | None = option(
        "Minutes that a person has for each conversation; they are told when two are left.",
        default=None, heading=ACTORS, metavar="NUMBER",
    )  # fmt: skip
    page: bool = option(
        "People sit at a page that this machine serves, several at once: each has a link. Without it, one after the "
        "other at this keyboard.",
        default=False, heading=ACTORS,
    )  # fmt: skip
    page_address: str | None = option(
        "Address that people's links begin with, where it is another, as behind a proxy.",
        default=None, heading=OPTIONS, metavar="URL",
    )  # fmt: skip
    links: Callable[[Mapping[str, str]], None] | None = option(
        "Called with each person's link once the page is served.", default=None, heading=None
    )

    def __post_init__(self) -> None:
        changed = [*changed_fields(self, PageServing), *([] if self.page_address is None else ["page_address"])]
        if changed and not self.page:
            raise InputError("no page is served", where=f"`{changed[0]}`", todo="leave it out, or give `page`")

    def seats(self) -> dict[str, Any]:
        """All of it by name."""
        return {each.name: getattr(self, each.name) for each in fields(Sitting)}

    def talk_page(self, folder: Path) -> TalkPage | None:
        """The page for a simulation's people; None where they sit at the keyboard."""
        if not self.page:
            return None
        from bedside.simulation.talk_page import TalkPage

        return TalkPage(self.place(self.page_address, "page_address"), folder, self.links)


@settings_class
class TalkLimits(RequestLimits, Sitting):
    """What conversations may cost, how fast they are had, and where people sit."""


@settings_class
class Replaying:
    """Whether all replies come from what was kept."""

    replay: bool = option(
        "Ask nobody: take every reply from the folder's log, and write the same files again.",
        default=False, heading=COST,
    )  # fmt: skip


@settings_class
class Batched:
    """Calls that a service answers in batches."""

    batch_out: str | os.PathLike[str] | None = option(
        "JSONL file to write the open calls to language models to, for a service that answers batches; they are not "
        "asked. The same command with --batch-in goes on.",
        default=None, heading=COST, metavar="FILE", form="path",
    )  # fmt: skip
    batch_in: Paths = option(
        "File of a service's answers to the calls that --batch-out wrote.",
        default=(), heading=COST, metavar="FILE", form="repeated",
    )  # fmt: skip
