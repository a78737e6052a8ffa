"""What a user can say of conversations that are to be simulated: who talks, what about, and what it may cost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bedside.core.question_settings import Seeded, option, settings_class
from bedside.core.words import Names, listed

if TYPE_CHECKING:
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.simulation_plan import ActorInput, CaseInput, PersonaInput, SimulationRequest
    from bedside.transcripts.reading import Paths

ACTORS, CASES, COST = "Who talks", "What about", "Cost and speed"

CLINICIAN: Any = option(
    "Who is under test: openai/MODEL, http://host:port/v1#MODEL …, package.module:function, webhook:URL, human:NAME, "
    "script:FILE, script:NAME of the protocol, or rules (a toy). Each is a system.",
    default=(), heading=ACTORS, metavar="ACTOR", form="repeated", offers="clinicians",
)  # fmt: skip


@settings_class
class TalkSettings(Seeded):
    """Who talks, and what about."""

    clinician: ActorInput = CLINICIAN
    patient: Named = option(
        "Who plays the patient, as for the clinician. Without it, rules: a toy that needs no model.",
        default="rules", heading=ACTORS, metavar="ACTOR", form="word", offers="actors",
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
    repeats: int = option(
        "How many times each conversation is simulated.", default=1, heading=CASES, metavar="NUMBER", least=1
    )
    sample: int | None = option(
        "How many cases to draw. Without it, all.", default=None, heading=CASES, metavar="NUMBER", least=1
    )
    options: Mapping[str, Any] | None = option(
        "Values of the protocol's options by name, and for each role ROLE_temperature and ROLE_max_tokens.",
        default=None, heading=None,
    )  # fmt: skip
    prices: Mapping[str, tuple[float, float]] | None = option(
        "US dollars for a million tokens in and out, by model, where bedside doesn't know them.",
        default=None, heading=None,
    )  # fmt: skip

    def request(self, protocol: str, cases: CaseInput | None, **more: Any) -> SimulationRequest:
        """What is asked for, as the simulation takes it."""
        from bedside.simulation.simulation_plan import SimulationRequest

        return SimulationRequest(protocol, self.clinician, cases=cases, **self.planned(), **more)

    def planned(self) -> dict[str, Any]:
        """All that conversations depend on but protocol, cases and clinicians, by its name."""
        names = ("patient", "evaluator", "ranker", "personas", "repeats", "sample", "seed")
        return {
            **{name: getattr(self, name) for name in names},
            "settings": tuple(listed(self.settings, "settings")),
            "lengths": (self.lengths,) if isinstance(self.lengths, int) else tuple(self.lengths),
            "options": self.options or {},
        }


@settings_class
class RequestLimits:
    """What requests may cost, and how fast they are sent."""

    max_concurrency: int = option(
        "Most calls under way at once to a model or agent, or to each address that serves it.",
        default=8, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    max_calls: int | None = option(
        "Most requests to send before stopping; the same again goes on from there.",
        default=None,
        heading=COST,
        metavar="NUMBER",
    )
    max_cost: float | None = option(
        "US dollars after which nothing more is sent; the same again goes on from there.",
        default=None, heading=COST, metavar="DOLLARS",
    )  # fmt: skip
    time_limit: float = option(
        "Seconds until a call counts as unanswered.", default=120.0, heading=COST, metavar="SECONDS"
    )


@settings_class
class TalkLimits(RequestLimits):
    """What conversations may cost, and how fast they are had."""

    minutes: float | None = option(
        "Minutes that a person at the keyboard has for each conversation; they are told when two are left.",
        default=None, heading=ACTORS, metavar="NUMBER",
    )  # fmt: skip


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
