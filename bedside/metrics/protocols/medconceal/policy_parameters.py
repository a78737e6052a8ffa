"""The form of a parameter file, and the registry of those that ship."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from bedside.core.errors import RegistryError
from bedside.core.files import write_text
from bedside.core.registry import DataRegistry, nearest
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text, complaint
from bedside.metrics.protocols.medconceal.labels import FEATURES, Category

#: What the reveal weights are of: the ten features and the overlap with the concern.
REVEAL_FEATURES: tuple[str, ...] = (*FEATURES, "overlap")

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Decay = Annotated[float, Field(ge=0, lt=1, strict=True)]
Threshold = Annotated[float, Field(gt=0, lt=1, strict=True)]
Times = Annotated[int, Field(ge=1, strict=True)]


def _of(features: tuple[str, ...], *, every: bool) -> Callable[[Mapping[str, float]], Mapping[str, float]]:
    def check(weights: Mapping[str, float]) -> Mapping[str, float]:
        for name in weights:
            if name not in features:
                raise ValueError(f"no feature is called {name!r}; {nearest(name, features)}")
        lacking = [name for name in features if name not in weights]
        if every and lacking:
            raise ValueError(f"no weight of {lacking[0]}")
        return weights

    return check


def _form(features: tuple[str, ...], *, every: bool) -> Any:
    """The same for whoever reads the JSON Schema."""
    form: dict[str, Any] = {"propertyNames": {"enum": list(features)}}
    return Field(json_schema_extra=form | ({"required": list(features)} if every else {}))


Weights = Mapping[str, Number]
RevealWeights = Annotated[
    Weights, AfterValidator(_of(REVEAL_FEATURES, every=True)), _form(REVEAL_FEATURES, every=True)
]
CategoryWeights = Annotated[
    Weights, AfterValidator(_of(REVEAL_FEATURES, every=False)), _form(REVEAL_FEATURES, every=False)
]
AddressWeights = Annotated[Weights, AfterValidator(_of(FEATURES, every=True)), _form(FEATURES, every=True)]
AddressCategoryWeights = Annotated[
    Weights, AfterValidator(_of(FEATURES, every=False)), _form(FEATURES, every=False)
]


class Reveal(Strict):
    """When a hidden concern is revealed.

    Attributes:
        weights: w, of the ten features and the overlap.
        by_category: δ, added to w for concerns of a category; what isn't given is 0.
        decay: α, how much of the evidence stays from turn to turn.
        high: T_hi, the evidence that reveals at once.
        low: T_lo, the evidence that reveals when it holds for ``consecutive`` turns.
        consecutive: N.
        progressive: share of the way to 1 that both thresholds go with each concern revealed before.
    """

    weights: RevealWeights
    by_category: Mapping[Category, CategoryWeights]
    decay: Decay
    high: Threshold
    low: Threshold
    consecutive: Times
    progressive: Annotated[float, Field(ge=0, lt=1, strict=True)]

    @model_validator(mode="after")
    def _ordered(self) -> Reveal:
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Address(Strict):
    """When the primary concern is addressed.

    Attributes:
        weights: v, of the ten features.
        by_category: δ, added to v where the primary concern is of a category; what isn't given is 0. The equations of
            the publication have it for the reveal only, its appendix for both.
        decay: β.
        probability: η, the least p of a hit.
        evidence: T_A, the least evidence of a hit.
        lag: L, the least number of turns between the reveal and a hit.
        consecutive: K, hits in a row.
    """

    weights: AddressWeights
    by_category: Mapping[Category, AddressCategoryWeights] = {}
    decay: Decay
    probability: Threshold
    evidence: Threshold
    lag: Annotated[int, Field(ge=0, strict=True)]
    consecutive: Times


class GuardThresholds(Strict):
    """When a simulated patient's reply gives away what is hidden, and when it says what it is to say.

    Attributes:
        leak_share, leak_words: a reply with at least this share of a hidden concern's distinctive words, and this many
            of them, gives it away.
        disclosure_share: a reply with at least this share of a concern's words, or of one of its voiced sentences,
            says it.
    """

    leak_share: Threshold
    leak_words: Times
    disclosure_share: Threshold


class Measures(Strict):
    """Settings of the measures taken from a trace.

    Attributes:
        turn_limit: number of clinician turns for the revealed share by the limit.
        open_coder: coder of questions after the concern was addressed.
    """

    turn_limit: Times
    open_coder: Text


class Parameters(Strict):
    """All parameters of the trace.

    Attributes:
        name: stands in the rater's name where it is not ``default``.
        title: what kind of patient it describes.
        origin: where the numbers come from.
        reveal, address: the latent policy.
        meta_probe_by: what blocks a turn as probing for categories: its intent alone, as published, or a risk of
            ``meta_probe`` or more as well.
        meta_probe: the risk that blocks; where the intent alone counts, only that of turns whose labels name none.
        guard: what is checked of a simulated patient's replies; scoring doesn't use it.
        measures: settings of the measures.
    """

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    title: Text
    origin: Text
    reveal: Reveal
    address: Address
    meta_probe_by: Literal["intent", "intent or risk"]
    meta_probe: Annotated[float, Field(gt=0, le=1, strict=True)]
    guard: GuardThresholds
    measures: Measures

    def digest(self) -> str:
        """SHA-256 of all parameters (64 hexadecimal digits), however a file puts them."""
        return hashlib.sha256(
            orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
        ).hexdigest()


def parse_parameters(path: Path) -> Parameters:
    """Read a parameter file. With ``extends: NAME`` a shipped file gives what this one leaves out.

    Raises:
        RegistryError: it can't be read, isn't plain YAML, or has an unknown, missing or wrong key, which is named.
    """
    data = keys_and_values(path, "parameter file", "docs/medconceal.md")
    base = data.pop("extends", None)
    if base is not None:
        if base == path.stem or not isinstance(base, str):
            raise RegistryError(
                f"it can't extend {base!r}", where=str(path), todo="name a shipped parameter file"
            )
        data = _over(PARAMETERS.load(base).model_dump(), data)
    try:
        return Parameters.model_validate(data)
    except ValidationError as error:
        raise RegistryError(complaint(error), where=str(path), todo="mend this key") from error


def _over(base: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees of keys, with the values of the upper one where both have some."""
    merged = {**base, **upper}
    for name in base.keys() & upper.keys():
        if isinstance(base[name], Mapping) and isinstance(upper[name], Mapping):
            merged[name] = _over(base[name], upper[name])
    return merged


def write_parameters(parameters: Parameters, path: str | os.PathLike[str]) -> None:
    """Write a parameter file that :func:`parse_parameters` reads back unchanged."""
    text = yaml.safe_dump(parameters.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=110)
    write_text(Path(path), text)


#: Parameter files by name; ``find`` also takes the path of a file of the user's own.
PARAMETERS: DataRegistry[Parameters] = DataRegistry(
    "bedside.metrics.protocols.medconceal.parameters", ".yaml", "parameter file", Parameters, parse_parameters,
    group="bedside.medconceal_parameters",
)  # fmt: skip


def find_parameters(name: str) -> Parameters:
    """The parameter file of this name or path; one of the user's own is read once, not for every transcript.

    Raises:
        RegistryError: it is unknown, can't be read, or isn't of the form.
    """
    path = Path(name)
    if path.suffix == ".yaml" and path.is_file():
        return _read_once(name, path.stat().st_mtime_ns)
    return PARAMETERS.find(name)


@lru_cache(maxsize=8)
def _read_once(name: str, _changed: int) -> Parameters:
    return PARAMETERS.find(name)
