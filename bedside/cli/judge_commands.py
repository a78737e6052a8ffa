"""``bedside judge``: what judges are asked of a run that is there, beside ``bedside score``.

A command is a function of a file of its own, and is added to the group here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.help import App
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
    jury,
    learn,
    read_price,
    read_shown,
    read_temperature,
)
from bedside.cli.options import HOW, JUDGES, RoundOption, SeedOption
from bedside.cli.output import in_options, note, say, say_limit, show_tables
from bedside.cli.parsing import read_names, read_rounds
from bedside.cli.progress import judging_progress
from bedside.core.errors import DataError
from bedside.core.words import typed

# -- ``bedside judge tune`` -----------------------------------------------------------------------------


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


# -- ``bedside judge pairs`` ----------------------------------------------------------------------------

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
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with conversations of two systems or more.")],
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


# -- ``bedside judge``: what judges are asked of a run that is there ------------------------------------

judge_app: App = App(
    """Have judges compare conversations, join judges, and make them better by people's ratings.

    To have a judge rate conversations one by one, use bedside score --judge.

    Examples:
        $ bedside judge pairs run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c
        $ bedside judge learn run --rubric empathy --out empathy.npz
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --out tuned.yaml
    """
)
judge_app.command("pairs")(pairs)
judge_app.command("jury")(jury)
judge_app.command("learn")(learn)
judge_app.command("tune")(tune)
