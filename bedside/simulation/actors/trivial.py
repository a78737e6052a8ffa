"""``trivial:NAME``: a clinician that listens to nobody, the same in every protocol; ``trivial`` is all fifteen.

What a benchmark must be won against: whoever is not better than the best of them has shown nothing. Lines and forms
stand in ``trivial.yaml``.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import InputError, one_of
from bedside.core.model_errors import to_model
from bedside.core.yaml_files import keys_and_values
from bedside.judges.llm.queue import CallRecord
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, CallPlace, LocalActor
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import Simulator
from bedside.transcripts.simulation_folder import FLOOR

#: All of them, and what their names begin with.
TRIVIAL = "trivial"
_ONE = f"{TRIVIAL}:"
_FILE = Path(__file__).with_suffix(".yaml")
#: The language of their lines for cases in any other.
_USUAL = "en"


class TrivialClinician(Strict):
    """One of them, as the file holds it.

    Attributes:
        title: what it does, in a few words.
        lines: what it says, by language.
        drawn: whether a line is drawn each time; else they come in turn.
        form: by language, what it replies to calls for objects under a name; of several words, the first that may be.
    """

    title: Text
    lines: Mapping[str, tuple[Text, ...]]
    drawn: bool = False
    form: Mapping[str, Mapping[str, Any]] = {}


class _TrivialFile(Strict):
    form: Mapping[str, Any]
    clinicians: Mapping[str, TrivialClinician]


@cache
def _file() -> _TrivialFile:
    see = "CONTRIBUTING.md"
    return to_model(keys_and_values(_FILE, "trivial clinicians", see), _TrivialFile, str(_FILE), todo=f"see {see}")


def trivial_clinicians() -> Mapping[str, TrivialClinician]:
    """All of them by name, in the file's order."""
    return _file().clinicians


def trivial_reply(clinician: TrivialClinician, call: Call, language: str, seed: int) -> ActorReply:
    """What it replies to a call: words, or an object that fits the call's schema.

    Args:
        clinician: which.
        call: what is asked.
        language: code of the case's language; English lines where there are none in it.
        seed: of what is drawn.
    """
    language = language if language in clinician.lines else _USUAL
    lines = clinician.lines[language]
    line = random.Random(seed).choice(lines) if clinician.drawn else lines[(call.ordinal - 1) % len(lines)]
    heard = next((line.text for line in reversed(call.history) if line.role != call.actor), "")
    # There is nothing to say back before the patient has spoken.
    text = line.replace("{heard}", heard or "…")
    if call.schema is None:
        return ActorReply(text)
    form = {**_file().form, **clinician.form.get(language, {})}
    return ActorReply(orjson.dumps(_filled(call.schema, text, form)).decode())


def _filled(schema: Mapping[str, Any], text: str, form: Mapping[str, Any], name: str = "") -> Any:
    """The least that fits a schema, with what a form holds under its names and the text wherever words are wanted."""
    if "enum" in schema:
        wanted = form.get(name, ())
        return next((value for value in schema["enum"] if value in wanted), schema["enum"][0])
    if name in form:
        return form[name]
    kind = schema.get("type")
    if kind == "object":
        parts = schema.get("properties", {})
        return {each: _filled(parts[each], text, form, each) for each in schema.get("required", parts)}
    if kind == "array":
        return [_filled(schema.get("items", {}), text, form) for _ in range(schema.get("minItems", 0))]
    plain = {"string": text, "integer": schema.get("minimum", 0), "number": schema.get("minimum", 0), "boolean": False}
    return plain.get(str(kind))


class _TrivialActor(LocalActor):
    """One that is asked."""

    def __init__(self, clinician: TrivialClinician, room: int) -> None:
        super().__init__(None, room)
        self._clinician = clinician

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Reply to a call; see :class:`.Actor`."""
        return trivial_reply(self._clinician, call, place.language, place.seed)


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [_named(each) for name in names for each in (_all() if name == TRIVIAL else [name])]


def _all() -> list[str]:
    return [f"{_ONE}{name}" for name in trivial_clinicians()]


def _named(text: str) -> ActorName:
    known = trivial_clinicians()
    own = known[one_of(text.partition(":")[2], known, "trivial clinician", InputError, where="`clinician`")]
    digest = hashlib.sha256(own.model_dump_json().encode()).hexdigest()
    return ActorName(text, TRIVIAL, text, algorithm_rater(text, digest[:8]), digest, toy=True, detail=own)


ACTOR = ActorKind(
    name=TRIVIAL,
    title="a clinician that listens to nobody, what a benchmark must be won against",
    takes=lambda text: text == TRIVIAL or text.startswith((_ONE, FLOOR)),
    read=_read,
    open=lambda name, settings: _TrivialActor(name.detail, settings.max_concurrency),
    free=True,
)
