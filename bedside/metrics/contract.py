"""What every metric family states about itself, and what it returns.

A family is one file in ``bedside/metrics/families``; it sets ``FAMILY`` to a :class:`Family`. One test walks every
family and checks that what it states holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bedside.core.errors import RegistryError, one_of
from bedside.core.model_files import find_model
from bedside.core.registry import Registry
from bedside.ratings.names import algorithm_rater
from bedside.ratings.values import NO_MODEL, Direction, Value
from bedside.transcripts.transcript import Role

Unit = Literal["transcript", "turn"]


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: the value of a metric on a short conversation, and where the value comes from.

    Attributes:
        turns: (role, text) or (role, text, meta) of each turn.
        value: the expected value (float), label (str), or None where it must be missing.
        source: how the value was found: a publication, another implementation, or the arithmetic by hand.
        role: for a metric kept per role, the role.
        turn: for a metric of turns, the turn's index.
        rater: for a metric with several raters, the rater's name without version, e.g. ``human:anna``.
        transcript: further fields of the transcript, e.g. ``{"factors": {"target_length": 20}}``.
        parameters: parameters that differ from the defaults.
        tolerance: absolute difference allowed.
    """

    turns: tuple[tuple[Any, ...], ...]
    value: float | str | None
    source: str
    role: Role | None = None
    turn: int | None = None
    rater: str | None = None
    transcript: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-9


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric's own facts.

    Attributes:
        name: as in the ratings table; a metric kept per role has the role after a dot there:
            ``smog.clinician``.
        title: as in a table's row.
        unit: whether it rates transcripts or turns.
        roles: the roles it is kept for; empty where it rates the transcript as a whole or a turn.
        whole: with roles: whether it is also kept for the transcript as a whole.
        low, high: the range of its values; None where open.
        labels: for a nominal code, its labels; such a metric has labels and no value.
        direction: whether higher is better, lower is better, or neither.
        definition: what is computed, with formula and unit of measurement.
        needs: what it needs beside the turns, in words, e.g. ``codes of clinician turns``.
        turns: of a metric of transcripts, the metrics of turns it is made of, without role: a report points at them.
        source: citation.
        examples: worked examples, at least one with a value.
        digits: decimals to print.
        aliases: other names by which people's sheets may call it.
    """

    name: str
    title: str
    unit: Unit
    definition: str
    source: str
    examples: tuple[Example, ...]
    roles: tuple[Role, ...] = ()
    whole: bool = False
    low: float | None = None
    high: float | None = None
    labels: tuple[str, ...] = ()
    direction: Direction = "none"
    needs: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    digits: int = 2
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a family: its default, another value that changes some result, and what it does."""

    default: Any
    alternative: Any
    description: str


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that are computed together.

    Attributes:
        name: equal to the file's name.
        title: what the family measures, in a few words.
        description: a short paragraph of Markdown for the docs.
        version: of the algorithm; changes when values change. It stands in the rater's name.
        metrics: the metrics.
        compute: ``compute(transcript, wanted, **parameters)`` yields a :class:`Value` for every metric named
            in ``wanted`` (a frozen set of names), on every unit and role it applies to: missing with the
            reason where it can't be computed, never left out.
        parameters: by name.
        model: what model it needs, in words; empty where it needs none. Such a family has a parameter ``model``: a
            folder, a file or a name as :func:`bedside.core.model_files.find_model` takes it. By default it is empty,
            and every value is missing as :attr:`no_model` says.
        labelled: whether it is computed from a rater's labels of the whole conversation, as protocols have them.
        demonstration: turns (role, text[, meta]) on which every parameter changes some value.
        demonstration_fields: further fields of that transcript, e.g. ``{"language": "de"}``.
    """

    name: str
    title: str
    description: str
    version: str
    metrics: tuple[Metric, ...]
    compute: Callable[..., Iterable[Value]]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    model: str = ""
    labelled: bool = False
    demonstration: tuple[tuple[Any, ...], ...] = ()
    demonstration_fields: Mapping[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """The metric called ``name``, without role."""
        by_name = {metric.name: metric for metric in self.metrics}
        return by_name[one_of(name, by_name, f"{self.name} metric", RegistryError)]

    def settings(self, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """All parameters with their values: the defaults, and what was ``parameters``.

        Raises:
            RegistryError: an unknown parameter, or a value of another type than the default.
        """
        values = {name: parameter.default for name, parameter in self.parameters.items()}
        for name, value in (parameters or {}).items():
            one_of(name, values, f"{self.name} parameter", RegistryError)
            default = values[name]
            wanted = (float, int) if isinstance(default, float) else type(default)
            if not isinstance(value, wanted) or isinstance(value, bool) != isinstance(default, bool):
                raise RegistryError(f"{self.name}.{name} can't be {value!r}", todo=f"give a value like {default!r}")
            values[name] = value
        return values

    @property
    def no_model(self) -> str:
        """Why values are missing where no model is named."""
        return f"{NO_MODEL}: {self.name}.model, {self.model}"

    def rater(self, parameters: Mapping[str, Any] | None = None) -> str:
        """The rater's name: ``algorithm:NAME@VERSION``, with every parameter that is not the default.

        Of a model it has the name and digits that stand for its content, and not where it lies.

        Raises:
            ModelError: there is no such model.
        """
        changed = {
            name: value for name, value in self.settings(parameters).items() if value != self.parameters[name].default
        }
        if self.model and "model" in changed:
            changed["model"] = find_model(changed["model"]).name
        extra = "".join(f"+{name}={value}" for name, value in sorted(changed.items()))
        return algorithm_rater(self.name, f"{self.version}{extra}")


FAMILIES: Registry[Family] = Registry(
    "bedside.metrics.families", "FAMILY", "metric family", Family, group="bedside.metrics"
)
