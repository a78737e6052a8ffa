"""``bedside judge tune``."""

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
    OrderOption,
    PriceOption,
    TemperatureOption,
    read_price,
    read_temperature,
)
from bedside.cli.options import HOW, JUDGES, RoundOption, SeedOption
from bedside.cli.output import note, say, show_tables
from bedside.cli.parsing import read_rounds
from bedside.cli.progress import judging_progress
from bedside.core.shell_words import typed


def tune(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that people rated by the rubric.")],
    rubric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The rubric to tune, or its file: one that asks for one level of a conversation or turn.",
            autocompletion=complete.rubrics,
            rich_help_panel=JUDGES,
        ),
    ],
    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Language model to tune it for: openai/MODEL, http://host:port/v1#MODEL …, or a YAML file of "
            "addresses.",
            autocompletion=complete.judges,
            rich_help_panel=JUDGES,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="YAML file to write the tuned rubric to, whether or not a gain is shown, which it says. With examples "
            "it holds parts of transcripts. Without --out, nothing is written.",
        ),
    ] = None,
    split: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of cases to learn from; what tuning brought is shown on the others.",
            rich_help_panel=HOW,
        ),
    ] = 0.5,
    wordings: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="How many wordings the judge proposes; 0 leaves the wording as it is.",
            rich_help_panel=HOW,
        ),
    ] = 4,
    examples: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="How many examples that people rated the judge is shown; 0 for a rubric without text of transcripts.",
            rich_help_panel=HOW,
        ),
    ] = 3,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="CALLS",
            help="Most judgements to ask for in all; fewer wordings are tried where it is small.",
            rich_help_panel=HOW,
        ),
    ] = None,
    rubric_folder: JudgeFolderOption = None,
    rounds: RoundOption = None,
    temperature: TemperatureOption = "0",
    max_concurrency: ConcurrencyOption = 8,
    max_calls: MaxCallsOption = None,
    max_cost: MaxCostOption = None,
    max_prompt_tokens: MaxPromptTokensOption = None,
    order: OrderOption = "transcript-first",
    price: PriceOption = None,
    dry_run: DryRunOption = False,
    seed: SeedOption = 0,
) -> None:
    """Tune a rubric for a judge by people's ratings; show the gain on held-out cases.

    On some cases the judge proposes wordings, examples are chosen, and a map of levels is learnt. The same command
    again asks only what is missing.

    Examples:
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --out tuned.yaml
    """
    from bedside.api.judge_tuning import preview_tuning, tune_judge
    from bedside.scoring.judging_orders import chosen_rubrics

    named: Any = rubric if rubric_folder is None else chosen_rubrics([rubric], rubric_folder)[0]
    paid = read_price(price)
    how: dict[str, Any] = {
        "rubric": named,
        "split": split,
        "wordings": wordings,
        "examples": examples,
        "budget": budget,
        "rounds": read_rounds(rounds),
        "temperature": read_temperature(temperature),
        "max_prompt_tokens": max_prompt_tokens,
        "order": order,
        "price": None if paid is None else paid.numbers,
        "seed": seed,
    }
    if dry_run:
        show_tables(preview_tuning(run, judge, **how))
        return
    with judging_progress() as progress:
        tuned = tune_judge(
            run,
            judge,
            out=out,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
            max_cost=max_cost,
            progress=progress,
            **how,
        )
    show_tables(tuned.tables)
    if tuned.rubric is None or out is None:
        return
    holds = ", which holds parts of transcripts: keep it as you keep them" if tuned.rubric.examples else ""
    note(f"Wrote {out}{holds}")
    say(f"Next: bedside score FILES --out {typed(run)} --rubrics {typed(out)} --judge {typed(judge)}")
