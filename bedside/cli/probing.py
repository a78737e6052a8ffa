"""The options of ``bedside validate`` that probe a judge, and what they do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from bedside.cli import completion as complete
from bedside.cli.judges import (
    ConcurrencyOption,
    DryRunOption,
    JudgeFolderOption,
    MaxCallsOption,
    MaxCostOption,
    MaxPromptTokensOption,
    MaxTokensOption,
    PassesOption,
    PriceOption,
    ReasoningEffortOption,
    TemperatureOption,
    read_price,
    read_temperature,
)
from bedside.cli.output import note, show_and_write, show_tables
from bedside.cli.parsing import read_names
from bedside.cli.progress import judging_progress
from bedside.core.errors import InputError
from bedside.core.shell_words import typed

Command = TypeVar("Command", bound=Callable[..., Any])
_PROBES = "Probes of a judge"

ProbeOption = Annotated[
    bool,
    typer.Option(
        "--probe",
        help="Ask the models that --judges names about changed conversations: do their levels move with length, order, "
        "formatting, flattery, orders to the judge, language or wording?",
        rich_help_panel=_PROBES,
    ),
]
ProbesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Probe with these only: {probes}.",
        autocompletion=complete.probes,
        rich_help_panel=_PROBES,
    ),
]
TranscriptsOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="How many conversations are drawn, as many of each system.",
        rich_help_panel=_PROBES,
    ),
]
ProbeMarginOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="By how much a level may move and still count as where it was. Without it, half a level.",
        rich_help_panel=_PROBES,
    ),
]
TranslatorOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Model that translates the conversations; it may be the judge.",
        autocompletion=complete.judges,
        rich_help_panel=_PROBES,
    ),
]
LanguageOption = Annotated[
    str | None,
    typer.Option(
        metavar="TAG",
        help="Language to translate into, such as de. Without it, English, and of English conversations Chinese.",
        rich_help_panel=_PROBES,
    ),
]
TranslationsOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Translated conversations with the ids of the originals, in place of a translator. May be repeated.",
        rich_help_panel=_PROBES,
    ),
]


@dataclass(frozen=True, slots=True)
class TypedProbing:
    """What was typed of probes; each attribute is the option of that name."""

    probe: ProbeOption = False
    probes: ProbesOption = None
    transcripts: TranscriptsOption = 30
    passes: PassesOption = 1
    margin: ProbeMarginOption = None
    translator: TranslatorOption = None
    language: LanguageOption = None
    translations: TranslationsOption = None
    rubric_folder: JudgeFolderOption = None
    temperature: TemperatureOption = "0"
    reasoning_effort: ReasoningEffortOption = None
    max_concurrency: ConcurrencyOption = 8
    max_calls: MaxCallsOption = None
    max_cost: MaxCostOption = None
    max_prompt_tokens: MaxPromptTokensOption = None
    max_tokens: MaxTokensOption = 4096
    price: PriceOption = None
    dry_run: DryRunOption = False

    @property
    def asked(self) -> bool:
        """Whether a judge is to be probed."""
        return self.probe or self.probes is not None

    def check_unasked(self) -> None:
        """Raise InputError where something is typed that says how to probe, and no probe is asked for."""
        for option in fields(self):
            if getattr(self, option.name) != option.default:
                raise InputError(
                    "no judge is probed", where=f"--{option.name.replace('_', '-')}", todo="add --probe"
                )


#: What is typed where no judge is probed.
NO_PROBING = TypedProbing()


def asks_probes(command: Command) -> Command:
    """A command with the options on probes; it is given them as its argument ``probing``."""
    hints = get_type_hints(command, include_extras=True)
    own = get_type_hints(TypedProbing, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name == "probing":
            parameters += [
                inspect.Parameter(
                    option.name, parameter.kind, default=option.default, annotation=own[option.name]
                )
                for option in fields(TypedProbing)
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def with_probing(**options: Any) -> Any:
        probing = TypedProbing(**{option.name: options.pop(option.name) for option in fields(TypedProbing)})
        return command(**options, probing=probing)

    with_probing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_probing.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_probing  # type: ignore[return-value]


def probe_judges(
    run: Path,
    probing: TypedProbing,
    *,
    judges: list[str] | None,
    rubrics: list[str] | None,
    made_by: dict[str, str],
    seed: int,
    out: Path | None,
) -> None:
    """Probe judges on a run and show what is seen, or what it would take."""
    from bedside.api import preview_probe, probe
    from bedside.scoring.judging_orders import chosen_rubrics

    if not judges:
        raise InputError("no judge is named", where="--probe", todo="add --judge MODEL")
    price = read_price(probing.price)
    asked: dict[str, Any] = {
        "probes": read_names(probing.probes),
        "rubrics": chosen_rubrics(rubrics, probing.rubric_folder)
        if rubrics and probing.rubric_folder
        else rubrics,
        "transcripts": probing.transcripts,
        "passes": probing.passes,
        "translator": probing.translator,
        "language": probing.language,
        "translations": probing.translations or None,
        "temperature": read_temperature(probing.temperature),
        "reasoning_effort": probing.reasoning_effort,
        "max_concurrency": probing.max_concurrency,
        "max_prompt_tokens": probing.max_prompt_tokens,
        "max_tokens": probing.max_tokens,
        "price": None if price is None else price.numbers,
        "seed": seed,
    }
    if probing.dry_run:
        show_tables(preview_probe(run, judges, **asked))
        return
    with judging_progress() as watch:
        tables = probe(
            run,
            judges,
            **asked,
            margin=probing.margin,
            made_by=made_by,
            max_calls=probing.max_calls,
            max_cost=probing.max_cost,
            progress=watch,
        )
    show_and_write(tables, source=run, out=out, next_commands=f"bedside report {typed(run)}")
    if not all(summary.complete for probed in tables.results for summary in probed.judged):
        note("Not everything was answered: the same command asks what is missing.")
