"""``bedside judge pairs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    OrderOption,
    PassesOption,
    PriceOption,
    PromptLanguageOption,
    ReasoningEffortOption,
    ShowOption,
    TemperatureOption,
    read_price,
    read_shown,
    read_temperature,
)
from bedside.cli.option_names import in_options
from bedside.cli.options import JUDGES, SeedOption
from bedside.cli.output import note, say, say_limit, show_tables
from bedside.cli.parsing import read_names
from bedside.cli.progress import judging_progress
from bedside.core.errors import DataError

ComparedSystemsOption = Annotated[
    str | None,
    typer.Option(
        "--systems",
        metavar="A,B",
        help="Systems whose conversations are compared; all of the run's unless named.",
    ),
]
PairsOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Most pairs of conversations, drawn so that every two systems are compared about equally often and cases "
        "are used about equally often. A larger number with the same --seed adds to what was asked.",
    ),
]


def pairs(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run with conversations of two systems or more.")
    ],
    judge: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL",
            help="Language model that compares: openai/MODEL, http://host:port/v1#MODEL …, or a YAML file of "
            "addresses. May be repeated.",
            autocompletion=complete.judges,
            rich_help_panel=JUDGES,
        ),
    ],
    rubrics: Annotated[
        str,
        typer.Option(
            "--rubrics",
            "--rubric",
            metavar="A,B",
            help="Rubrics to compare by: those that rate whole conversations on levels; bedside rubrics lists them.",
            autocompletion=complete.rubrics,
            rich_help_panel=JUDGES,
        ),
    ],
    systems: ComparedSystemsOption = None,
    pairs: PairsOption = None,
    rubric_folder: JudgeFolderOption = None,
    prompt_language: PromptLanguageOption = None,
    show: ShowOption = None,
    passes: PassesOption = 1,
    temperature: TemperatureOption = "0",
    reasoning_effort: ReasoningEffortOption = None,
    max_concurrency: ConcurrencyOption = 8,
    max_calls: MaxCallsOption = None,
    max_cost: MaxCostOption = None,
    max_prompt_tokens: MaxPromptTokensOption = None,
    max_tokens: MaxTokensOption = 4096,
    order: OrderOption = "transcript-first",
    price: PriceOption = None,
    dry_run: DryRunOption = False,
    seed: SeedOption = 0,
) -> None:
    """Have judges say which of two conversations on one case is better, in both orders.

    Every two systems are compared on every case that both have; ties are allowed. The same command again asks only what
    is missing.

    Examples:
        $ bedside judge pairs run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge pairs run --systems A,B --rubric empathy --judge openai/gpt-5-mini
    """
    from bedside.api.pairwise import judge_pairs, preview_pairs
    from bedside.judges.counts import spent
    from bedside.reports.preference_tables import preferred_of
    from bedside.scoring.judging_orders import chosen_rubrics

    names = read_names(rubrics) or []
    paid = read_price(price)
    asked: dict[str, Any] = {
        "rubrics": names
        if rubric_folder is None and prompt_language is None and show is None
        else chosen_rubrics(names, rubric_folder, prompt_language, read_shown(show)),
        "systems": read_names(systems),
        "pairs": pairs,
        "passes": passes,
        "temperature": read_temperature(temperature),
        "reasoning_effort": reasoning_effort,
        "max_concurrency": max_concurrency,
        "max_prompt_tokens": max_prompt_tokens,
        "max_tokens": max_tokens,
        "order": order,
        "price": None if paid is None else paid.numbers,
        "seed": seed,
    }
    if dry_run:
        show_tables(preview_pairs(run, judge, **asked))
        return
    with judging_progress() as progress:
        compared = judge_pairs(
            run,
            judge,
            **asked,
            max_calls=max_calls,
            max_cost=max_cost,
            progress=progress,
        )
    tables = [compared.table]
    try:
        tables += preferred_of(run, compared.rubrics)
    except DataError as error:  # the answers are kept; what they don't come to is said
        note(in_options(str(error)))
    show_tables(tables)
    if not compared.complete:
        say_limit(spent(compared.judges), max_cost, say)
        say("Not everything was answered: the same command asks what is missing.")
