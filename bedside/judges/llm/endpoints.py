"""Models that several endpoints serve: which addresses are one model, and how many calls each of them takes.

Addresses that serve the same model count as one, because ratings and stores record the model's name only. They are
named one by one, or in a YAML file with a list of them, each as it would be named on its own or with settings::

    - http://gpu1:8000/v1#llama
    - address: http://gpu2:8000/v1#llama
      weight: 2
      max_concurrency: 64
      key_env: GPU2_KEY
      rpm: 500
      stream: true
      extra:
        enable_thinking: false

A weight is an endpoint's share beside the others' (1 unless given), ``max_concurrency`` how many requests it is sent at
once, ``rpm`` and ``tpm`` how many requests and tokens a minute, ``key_env`` the environment variable with its key.
``extra`` are fields that are added to each request, and ``stream`` has replies come as a stream of events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from bedside.core.errors import RegistryError
from bedside.core.model_errors import complaints, key_name
from bedside.core.yaml_files import plain_yaml
from bedside.judges.llm.contract import read_name
from bedside.judges.llm.extra_fields import STREAM, checked_extra, with_fields
from bedside.judges.llm.model_names import Endpoint, ModelName
from bedside.judges.llm.protocol import Request, Sampling, WrongFormError

# -- Models that several endpoints serve ----------------------------------------------------------------

_SUFFIXES = (".yaml", ".yml")
_VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"
_TODO = "see the docs on judges, Several endpoints"


def is_endpoint_file(text: str) -> bool:
    """Whether a model's name is a file of endpoints."""
    return text.lower().endswith(_SUFFIXES)


def _no_file(address: str) -> str:
    if is_endpoint_file(address):
        raise ValueError("a file of endpoints can't name another one")
    return address


def _variable(name: str) -> str:
    # What it is isn't repeated: it may be the key itself.
    if not re.fullmatch(_VARIABLE, name):
        raise ValueError("not the name of an environment variable: export the key, and give the variable's name")
    return name


Address = Annotated[
    str,
    Field(
        pattern=r"\S",
        description="Where a model is served, such as http://host:port/v1#MODEL or openai/MODEL.",
        json_schema_extra={"not": {"pattern": r"\.[yY][aA]?[mM][lL]$"}},
    ),
    AfterValidator(_no_file),
]


class EndpointEntry(BaseModel):
    """An address with settings.

    Attributes:
        weight: the endpoint's share of the requests beside the others'.
        max_concurrency: the most requests that the endpoint is sent at once.
        key_env: the environment variable that holds the key; never the key itself.
        rpm, tpm: requests and tokens a minute that it is sent.
        extra: fields that are added to each request.
        stream: whether replies come as a stream of events.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    address: Address
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    max_concurrency: int | None = Field(default=None, ge=1)
    key_env: Annotated[str, AfterValidator(_variable), Field(json_schema_extra={"pattern": _VARIABLE})] | None = None
    rpm: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tpm: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    extra: dict[str, Any] = Field(default_factory=dict)
    stream: bool | None = None


#: A file of endpoints.
EndpointFile = Annotated[
    list[Annotated[Address | EndpointEntry, Field(description="An address on its own, or with settings.")]],
    Field(min_length=1, description="Addresses that serve models; those of one model share its requests."),
]


def model_name(name: str | ModelName) -> ModelName:
    """Take a model's name apart; a name that was taken apart already is given back.

    Raises:
        RegistryError: no client takes the name, or it is a file of endpoints of several models.
    """
    if isinstance(name, ModelName):
        return name
    if not is_endpoint_file(name):
        return read_name(name)
    names = named_models([name])
    if len(names) > 1:
        models = ", ".join(model.identity for model in names)
        raise RegistryError(f"the file names several models ({models})", where=name, todo="name a single model here")
    return names[0]


def named_models(names: Iterable[str]) -> tuple[ModelName, ...]:
    """The models that are named, each once, with the endpoints that serve it.

    Args:
        names: names and files of endpoints, see :mod:`bedside.judges.llm.contract`.

    Raises:
        RegistryError: no client takes a name, or a file can't be read.
    """
    by_model: dict[str, list[Endpoint]] = {}
    for name in names:
        for endpoint in _in_file(Path(name)) if is_endpoint_file(name) else [Endpoint(read_name(name))]:
            endpoints = by_model.setdefault(endpoint.name.identity, [])
            same = next((other for other in endpoints if label(other) == label(endpoint)), None)
            if same is None:
                endpoints.append(endpoint)
            elif same != endpoint:
                raise RegistryError(
                    f"{label(endpoint)} is named twice, with other settings", where=name, todo="name it once"
                )
    return tuple(map(_joined, by_model.values()))


def _joined(endpoints: list[Endpoint]) -> ModelName:
    first = endpoints[0]
    if len(endpoints) == 1 and first.plain:
        return first.name
    own = dict.fromkeys(endpoint.name.extra for endpoint in endpoints)
    extra = first.name.extra
    if len(own) > 1:  # what tells its judgements apart is all of them
        extra = orjson.dumps({"endpoints": [orjson.loads(text or "{}") for text in sorted(own)]}).decode()
    return replace(first.name, endpoints=tuple(endpoints), extra=extra)


def with_endpoint_fields(sampling: Sampling, name: ModelName) -> Sampling:
    """How a model is asked, with the fields that are added at its endpoint; those of the sampling go before."""
    if not name.extra:
        return sampling
    return replace(sampling, extra=with_fields(orjson.loads(name.extra), sampling.extra))


def rooms(endpoints: Sequence[Endpoint], max_concurrency: int) -> list[int]:
    """How many requests each endpoint is sent at once.

    The one of the largest weight is sent ``max_concurrency``, the others in proportion, and each one at least.
    """
    most = max(endpoint.weight for endpoint in endpoints)
    return [
        endpoint.max_concurrency or max(1, round(max_concurrency * endpoint.weight / most)) for endpoint in endpoints
    ]


def label(endpoint: Endpoint) -> str:
    """What an endpoint is called in messages; no two of a model are called alike."""
    name = endpoint.name
    address = name.url or name.text
    usual = name.key == read_name(name.text).key
    return address if usual else f"{address} (key in {name.key})"


def places(name: ModelName, max_concurrency: int) -> str:
    """Where a model's endpoints are, and what each is sent at once; empty where it has none of its own."""
    if not name.endpoints:
        return ""
    sizes = rooms(name.endpoints, max_concurrency)
    return ", ".join(
        f"{label(endpoint)} (weight {endpoint.weight:g}, {room} at once)"
        for endpoint, room in zip(name.endpoints, sizes, strict=True)
    )


def _in_file(path: Path) -> list[Endpoint]:
    data = plain_yaml(path, "file of endpoints")
    if not isinstance(data, list) or not data:
        raise RegistryError("a file of endpoints must hold a list of them", where=str(path), todo=_TODO)
    return [_endpoint(entry, f"{path}, entry {number}") for number, entry in enumerate(data, 1)]


def _endpoint(entry: Any, where: str) -> Endpoint:
    if not isinstance(entry, str | Mapping):
        raise RegistryError("an endpoint needs an address, such as http://host:port/v1#model", where=where)
    try:
        settings = EndpointEntry.model_validate({"address": entry} if isinstance(entry, str) else entry)
    except ValidationError as error:
        key, text = complaints(error, EndpointEntry)[0]
        raise RegistryError(f"{key_name(key)}: {text}", where=where, todo=_TODO) from error
    try:
        name = read_name(settings.address)
    except RegistryError as error:
        raise RegistryError(error.what, where=where, todo=error.todo) from error
    if settings.key_env is not None:
        if name.url is None:
            raise RegistryError(f"{name.text} is asked without a key_env", where=where, todo=_TODO)
        name = replace(name, key=settings.key_env)
    extra = checked_extra(settings.extra, where)
    if settings.stream is not None:
        extra[STREAM] = settings.stream
    if extra:
        name = replace(name, extra=orjson.dumps(extra, option=orjson.OPT_SORT_KEYS).decode())
    return Endpoint(name, settings.weight, settings.max_concurrency, settings.rpm, settings.tpm)


# -- Forms of structured output -------------------------------------------------------------------------


class Forms:
    """Which form of structured output an endpoint takes, found out by using it.

    Forms are numbered from the strictest; the last asks in words only and always works. A form that worked once is
    kept. One that didn't is given up when another worked in its place: at once where the endpoint refused it (4xx),
    after a second time where it failed (500), as that may have been chance: a request is first sent again as it was.
    """

    def __init__(self, last: int, first: int = 0) -> None:
        self.last = last
        self._start = first
        self._worked: set[int] = set()
        self._failed: dict[int, int] = {}
        self._chances: set[tuple[str, int]] = set()

    def choose(self, request: Request) -> int:
        """The form to send a request in; what asks for free text has no form but words."""
        return self.last if request.schema is None else max(request.form, self._start)

    def worked(self, form: int) -> None:
        """Note that an answer came in this form."""
        self._worked.add(form)
        while self._start < form and self._start not in self._worked and self._failed.get(self._start, 0) >= 2:
            self._start += 1

    def failed(self, form: int, refused: bool, key: str = "") -> None:
        """Note that the request of this key failed in this form.

        Raises:
            WrongFormError: the form has never worked here, there is another, and it is refused or failed before.
        """
        if form in self._worked or form == self.last:
            return
        self._failed[form] = self._failed.get(form, 0) + (2 if refused else 1)
        if refused or (key, form) in self._chances:
            raise WrongFormError(form + 1)
        self._chances.add((key, form))

    @property
    def start(self) -> int:
        """The form that requests are sent in first."""
        return self._start

    def recall(self, start: object) -> None:
        """Begin with the form that was arrived at before."""
        if isinstance(start, int) and start <= self.last:
            self._start = max(self._start, start)
