"""How language models are asked to write, by role: a few options that every simulation has, beside the simulator's own.

A simulator that has an option of the same name says what its default is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bedside.core.errors import InputError, one_of
from bedside.judges.llm.protocol import Sampling
from bedside.simulation.simulators.calls import ActorRole
from bedside.simulation.simulators.contract import Simulator, SimulatorOption

#: What stands for a temperature that is left to the provider.
PROVIDERS_OWN = "none"
_MOST_TOKENS = 4096


def _temperature(role: ActorRole) -> SimulatorOption:
    return SimulatorOption(
        f"{role}_temperature",
        PROVIDERS_OWN,
        f"Temperature that the {role}'s model writes with, from 0 to 2; none leaves it to the provider.",
        own=True,
    )


def _max_tokens(role: ActorRole) -> SimulatorOption:
    return SimulatorOption(
        f"{role}_max_tokens", _MOST_TOKENS, f"Most tokens of a reply of the {role}'s model.", own=True
    )


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """A value for each option.

    Attributes:
        own: those of the simulator.
        sampling: how each role's model is asked to write.
    """

    own: Mapping[str, Any]
    sampling: Mapping[ActorRole, Sampling]

    def digest(self) -> str:
        """SHA-256 of the simulator's options (64 hexadecimal digits)."""
        return hashlib.sha256(orjson.dumps(dict(self.own), option=orjson.OPT_SORT_KEYS)).hexdigest()


def options_of(simulator: Simulator) -> tuple[SimulatorOption, ...]:
    """All options of a simulation: the simulator's, and those that every simulation has."""
    names = {option.name for option in simulator.options}
    by_role = (option for role in simulator.roles for option in (_temperature(role), _max_tokens(role)))
    return (*simulator.options, *(option for option in by_role if option.name not in names))


def read_options(
    simulator: Simulator, values: Mapping[str, Any], *, seed: int, time_limit: float
) -> SimulationOptions:
    """The values that are set, checked, with the defaults of the others.

    Raises:
        InputError: there is no such option, or its value can't be.
    """
    known = {option.name: option for option in options_of(simulator)}
    for name in values:
        one_of(name, known, f"{simulator.name} option", InputError, where="`options`")
    chosen = {
        name: _value(option, values[name]) if name in values else option.default
        for name, option in known.items()
    }
    sampling = {
        role: Sampling(
            temperature=_degrees(role, chosen[f"{role}_temperature"]),
            max_tokens=_tokens(role, chosen[f"{role}_max_tokens"]),
            seed=seed,
            timeout=time_limit,
        )
        for role in simulator.roles
    }
    own = {option.name: chosen[option.name] for option in simulator.options}
    return SimulationOptions(own, sampling)


def _value(option: SimulatorOption, value: Any) -> Any:
    """A value of an option, of the option's type."""
    if option.choices and value not in option.choices:
        raise _wrong(option.name, value, f"one of {', '.join(map(str, option.choices))}")
    if option.name.endswith("_temperature"):
        return value
    kind = type(option.default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        raise _wrong(option.name, value, words[kind])
    return value


def _degrees(role: ActorRole, value: Any) -> float | None:
    if value is None or value == PROVIDERS_OWN:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise _wrong(f"{role}_temperature", value, f"a number from 0 to 2, or {PROVIDERS_OWN}")
    return float(value)


def _tokens(role: ActorRole, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(f"{role}_max_tokens", value, "a whole number from 1")
    return value


def _wrong(name: str, value: Any, todo: str) -> InputError:
    return InputError(f"the option {name} can't be {value!r:.60}", where="`options`", todo=f"give {todo}")
