"""``bedside validate``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_type_hints

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
from bedside.cli.options import (
    HOW,
    WHICH,
    ColumnsOption,
    MetricsOption,
    OutOption,
    RoundOption,
    ScaleOption,
    SeedOption,
    WeightsOption,
    WhereOption,
    WithinOption,
)
from bedside.cli.output import note, show_and_write, show_tables
from bedside.cli.parsing import read_names, read_pairs, read_rounds, read_where
from bedside.cli.progress import judging_progress
from bedside.cli.rating_source import TYPED_NOTHING, TypedReading, rating_source, reads_ratings
from bedside.core.errors import InputError
from bedside.core.words import typed

# -- The options of ``bedside validate`` that probe a judge ---------------------------------------------

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
    def probes_judge(self) -> bool:
        """Whether a judge is to be probed."""
        return self.probe or self.probes is not None

    def check_unasked(self) -> None:
        """Raise InputError where something is typed that says how to probe, and no probe is asked for."""
        for option in fields(self):
            if getattr(self, option.name) != option.default:
                raise InputError("no judge is probed", where=f"--{option.name.replace('_', '-')}", todo="add --probe")


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
                inspect.Parameter(option.name, parameter.kind, default=option.default, annotation=own[option.name])
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
    from bedside import preview_probe, probe
    from bedside.scoring.judging_orders import chosen_rubrics

    if not judges:
        raise InputError("no judge is named", where="--probe", todo="add --judge MODEL")
    price = read_price(probing.price)
    asked: dict[str, Any] = {
        "probes": read_names(probing.probes),
        "rubrics": chosen_rubrics(rubrics, probing.rubric_folder) if rubrics and probing.rubric_folder else rubrics,
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


# -- ``bedside validate`` -------------------------------------------------------------------------------

MadeByOption = Annotated[
    str | None,
    typer.Option(
        metavar="SYSTEM=MODEL,…",
        help="Models that made the systems' conversations, such as A=openai/gpt-5-mini, where the run doesn't know it: "
        "a judge's levels of its own model's conversations are set against people's.",
        rich_help_panel=HOW,
    ),
]


@reads_ratings
@asks_probes
def validate(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="A run, or a file of ratings by people and judges.")],
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "--judge",
            metavar="A,B*",
            help="Raters to check, such as judge:* or an algorithm; without it, all raters that are not people. With "
            "--probe, the models to ask: openai/MODEL, http://host:port/v1#MODEL …",
            autocompletion=complete.raters,
            rich_help_panel=WHICH,
        ),
    ] = None,
    metrics: MetricsOption = None,
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="How much worse than a person the judge may be, in return for what it saves: .2 where the people "
            "are experts, .15 where they are skilled, .1 where they are crowd workers.",
            rich_help_panel=HOW,
        ),
    ] = 0.2,
    weights: WeightsOption = None,
    rounds: RoundOption = None,
    where: WhereOption = None,
    within: WithinOption = None,
    scale: ScaleOption = None,
    columns: ColumnsOption = None,
    reading: TypedReading = TYPED_NOTHING,
    made_by: MadeByOption = None,
    probing: TypedProbing = NO_PROBING,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Answer "may this judge stand in for people?".

    It shows the judge's agreement with people beside people's own, the alternative annotator test by case, its bias,
    how well it finds what is rare, its sensitivity and specificity where there are two levels, and whether the levels
    that it expects come true. There is no yes for a judge that always gives the same level, that may agree by chance
    only, or that never gives a level that people use.

    With --probe it asks models about changed conversations instead, and shows whether their levels move with what they
    must not move with. The same command again asks only what is missing.

    Examples:
        $ bedside validate run
        $ bedside validate run --judges 'judge:openai/*' --metrics empathy
        $ bedside validate run --probe --judge openai/gpt-5-mini --rubrics empathy --dry-run
    """
    from bedside import validate as validation_tables

    makers = read_pairs(made_by, "--made-by")
    if probing.probes_judge:
        probe_judges(
            source,
            probing,
            judges=read_names(judges),
            rubrics=read_names(metrics),
            made_by=makers,
            seed=seed,
            out=out,
        )
        return
    probing.check_unasked()
    tables = validation_tables(
        rating_source(source, scale, columns, reading),
        judges=read_names(judges),
        metrics=read_names(metrics),
        epsilon=epsilon,
        weights=cast(Any, weights),
        scales=scale or (),
        rounds=read_rounds(rounds),
        where=read_where(where),
        within=within,
        made_by=makers,
        seed=seed,
    )
    next_commands = f"bedside estimate {typed(source)}; bedside report {typed(source)}"
    show_and_write(tables, source=source, out=out, next_commands=next_commands)
