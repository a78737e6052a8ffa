"""The options that say what judges are asked, and how; juries (``bedside judge jury``) and learned raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bedside.cli import completion as complete
from bedside.cli.options import (
    HOW,
    JUDGES,
    WHICH,
    MetricsOption,
    OutOption,
    RoundOption,
    ScaleOption,
    SeedOption,
)
from bedside.cli.output import note, show_and_write, show_tables
from bedside.cli.parsing import check_choice, read_names, read_numbers, read_pairs, read_rounds
from bedside.core.errors import InputError, nearest
from bedside.core.words import typed

if TYPE_CHECKING:
    from bedside.judges.llm.prices import Price
    from bedside.judges.settings import JudgeSettings
    from bedside.ratings.suites import Suite
    from bedside.reports.table import Table
    from bedside.scoring.judging_orders import JudgingWork
    from bedside.transcripts import ReadOptions
    from bedside.transcripts.transcript import ProvenanceKind


# -- The options that say what judges are asked ---------------------------------------------------------

_COST = "Judges: cost and speed"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_ORDERS = ("transcript-first", "rubric-first")

JudgeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODEL",
        help="Language model that rates by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …, or a YAML "
        "file of addresses. May be repeated; addresses of one model share its requests.",
        autocompletion=complete.judges,
        rich_help_panel=JUDGES,
    ),
]
RubricsOption = Annotated[
    str | None,
    typer.Option(
        "--rubrics",
        "--rubric",
        metavar="A,B",
        help="Rubrics to rate by in place of the suite's; bedside rubrics lists them.",
        autocompletion=complete.rubrics,
        rich_help_panel=JUDGES,
    ),
]
ShowOption = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="system,tools",
        help="Show raters system messages, or calls of tools, too. Without it nobody who rates sees them; the report "
        "says so where they do.",
        rich_help_panel=JUDGES,
    ),
]
CodesOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Behaviour codes that the judge gives to turns, in place of rubrics: question,reflection … or all.",
        autocompletion=complete.codes,
        rich_help_panel=JUDGES,
    ),
]
JudgeFolderOption = Annotated[
    Path | None,
    typer.Option("--rubric-folder", metavar="FOLDER", help="Folder of your own rubrics.", rich_help_panel=JUDGES),
]
PromptLanguageOption = Annotated[
    str | None,
    typer.Option(
        "--prompt-language",
        metavar="LANGUAGE",
        help="Ask in this language: en, de or zh. Each rubric is asked in its own unless you name one; a judge asked "
        "in another is a rater of its own in the tables.",
        rich_help_panel=JUDGES,
    ),
]
PassesOption = Annotated[
    int, typer.Option(metavar="NUMBER", help="How often each question is asked.", rich_help_panel=JUDGES)
]
TemperatureOption = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        help="Temperature of the model's answers, from 0 to 2; none leaves it to the provider.",
        rich_help_panel=JUDGES,
    ),
]
ReasoningEffortOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How much a model that reasons may do so: none, minimal, low, medium, high or xhigh; models take some "
        "of these. Without it, the provider decides.",
        autocompletion=complete.choices(*_EFFORTS),
        rich_help_panel=JUDGES,
    ),
]
ExpectedOption = Annotated[
    bool,
    typer.Option(
        "--expected",
        help="Rate the expected level too, from the probabilities of the answer's tokens.",
        rich_help_panel=JUDGES,
    ),
]
ConcurrencyOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="Most requests under way at once to a judge, or to each address that serves it.",
        rich_help_panel=_COST,
    ),
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="Most requests to send before stopping.", rich_help_panel=_COST),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        metavar="DOLLARS",
        help="US dollars after which nothing more is sent; the same command goes on.",
        rich_help_panel=_COST,
    ),
]
MaxTokensOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="Most tokens of a reply, those of the reasoning before it included.",
        rich_help_panel=_COST,
    ),
]
MaxPromptTokensOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Most tokens in a prompt, by an estimate. Longer prompts are not sent, and their ratings say so.",
        rich_help_panel=_COST,
    ),
]
OrderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What a prompt begins with, which a provider may cache: transcript-first or rubric-first.",
        autocompletion=complete.choices(*_ORDERS),
        rich_help_panel=_COST,
    ),
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        metavar="in=N,out=N[,cached=N]",
        help="US dollars for a million tokens, where bedside doesn't know the price, such as in=0.25,out=2; cached is "
        "that of tokens in the provider's cache.",
        rich_help_panel=_COST,
    ),
]
BatchOutOption = Annotated[
    Path | None,
    typer.Option(
        "--batch-out",
        metavar="FILE",
        help="JSONL file to write the requests to, for a service that answers batches; nothing is asked.",
        rich_help_panel=_COST,
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many requests and tokens each rubric and judge takes; ask and write nothing.",
        rich_help_panel=_COST,
    ),
]


def read_shown(text: str | None) -> tuple[ProvenanceKind, ...]:
    """``system,tools`` as kinds of provenance.

    Raises:
        InputError: there is none of a name.
    """
    from bedside.transcripts.transcript import PROVENANCE_KINDS

    names = read_names(text) or []
    for name in names:
        check_choice(name, PROVENANCE_KINDS, "--show")
    return tuple(kind for kind in PROVENANCE_KINDS if kind in names)


def check_no_judge_options(
    *,
    dry_run: bool,
    batch_out: Path | None,
    rubrics: str | None,
    rubric_folder: Path | None,
    prompt_language: str | None,
    codes: str | None,
    show: str | None,
) -> None:
    """Raise InputError where an option is only for judges, and none is named."""
    of_judges = {
        "--dry-run": dry_run,
        "--batch-out": batch_out,
        "--rubrics": rubrics,
        "--rubric-folder": rubric_folder,
        "--prompt-language": prompt_language,
        "--codes": codes,
        "--show": show,
    }
    for option, value in of_judges.items():
        if value:
            raise InputError("no judge is named", where=option, todo="add --judge MODEL")


def codes_named(text: str | None) -> tuple[str, ...]:
    """The behaviour codes that are named, or all of them for ``all``."""
    from bedside.scoring.judging_orders import chosen_codes

    return chosen_codes(text if text == "all" else read_names(text) or ())


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What is typed for judges; each attribute is the option of that name.

    Attributes:
        models: names of language models, and files of their addresses.
        rubrics: in place of the suite's.
        codes: in place of rubrics.
        temperature: a number, or ``none``.
        price: ``in=N,out=N``, with ``cached=N`` or without.
        deepeval: those of the metrics that are deepeval's; unless rubrics or codes are named beside them, the judge
            rates by them alone.
        deepeval_parameters: of theirs.
        prompt_language: of the rubrics' texts; codes are asked in English.
        show: what was behind the conversation and is shown.
    """

    models: list[str]
    rubrics: list[str] | None
    codes: tuple[str, ...]
    rubric_folder: Path | None
    passes: int
    temperature: str
    max_concurrency: int
    max_calls: int | None
    max_prompt_tokens: int | None
    order: Any
    expected: bool
    price: str | None
    seed: int
    max_cost: float | None = None
    deepeval: tuple[str, ...] = ()
    deepeval_parameters: dict[str, Any] = field(default_factory=dict)
    max_tokens: int = 4096
    reasoning_effort: str | None = None
    prompt_language: str | None = None
    show: tuple[ProvenanceKind, ...] = ()

    def work(self, suite: Suite) -> JudgingWork:
        """What the judges are asked, by the suite's rubrics unless rubrics or codes are named."""
        from bedside.judges.deepeval_raters.chosen_metrics import chosen_metrics
        from bedside.judges.llm.endpoints import named_models
        from bedside.scoring.judging_orders import JudgingWork, chosen_rubrics

        named_models(self.models)
        if self.codes and self.prompt_language not in (None, "en"):
            raise InputError(
                "behaviour codes are asked in English only",
                where="--prompt-language",
                todo="leave it out, or name rubrics",
            )
        deepeval = chosen_metrics(self.deepeval, self.deepeval_parameters) if self.deepeval else ()
        if self.codes or (deepeval and not self.rubrics):
            if self.show:
                raise InputError("only rubrics are asked with it", where="--show", todo="leave it out, or name rubrics")
            return JudgingWork((), self.codes, deepeval=deepeval)
        names = self.rubrics or suite.rubrics
        rubrics = chosen_rubrics(names, self.rubric_folder, self.prompt_language, self.show)
        return JudgingWork(rubrics, (), suite.name, from_suite=not self.rubrics, deepeval=deepeval)

    def check_batchable(self) -> None:
        """Raise where a model's calls can't be written to a file."""
        from bedside.judges.llm.batch_files import check_batchable
        from bedside.judges.llm.endpoints import named_models

        for name in named_models(self.models):
            check_batchable(name)

    def settings(self) -> JudgeSettings:
        """How the judges are asked."""
        from bedside.judges.settings import JudgeSettings

        return JudgeSettings(
            passes=self.passes,
            temperature=read_temperature(self.temperature),
            max_concurrency=self.max_concurrency,
            max_calls=self.max_calls,
            max_cost=self.max_cost,
            max_prompt_tokens=self.max_prompt_tokens,
            order=self.order,
            expected=self.expected,
            price=read_price(self.price),
            seed=self.seed,
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
        )


def read_temperature(typed: str) -> float | None:
    """The temperature that ``--temperature`` states; None where it is left to the provider."""
    return None if typed == "none" else read_numbers(typed, "--temperature")[0]


def read_price(typed: str | None) -> Price | None:
    """The price that ``--price in=N,out=N,cached=N`` states; None where nothing was typed."""
    from bedside.judges.llm.prices import Price

    if typed is None:
        return None
    parts = read_pairs(typed, "--price")
    if parts.keys() - {"cached"} != {"in", "out"}:
        raise InputError(f"{typed!r} is not a price", where="--price", todo="write --price in=0.25,out=2")
    return Price(*(read_numbers(parts[key], "--price")[0] for key in ("in", "out", "cached") if key in parts))


# -- ``bedside judge jury``, and what ``bedside score`` says of juries ----------------------------------

#: As ``bedside.ratings.juries.JURY_RULES``, which is not loaded for a help text.
_RULES = ("mean", "median", "majority", "weights")

_JURY_HELP = (
    "Judges that rate as one, such as panel=judge:a,judge:b,judge:c: their ratings are combined, and stand beside "
    "theirs. judge: may be left out."
)
JuryOption = Annotated[
    list[str] | None,
    typer.Option("--jury", metavar="NAME=A,B,C", help=f"{_JURY_HELP} May be repeated.", rich_help_panel=JUDGES),
]
JuryRuleOption = Annotated[
    str,
    typer.Option(
        "--jury-by",
        metavar="RULE",
        help="How a jury's judges are combined: median; mean, the level nearest it; or majority, the most frequent "
        "level. Labels go by most votes. Ties are missing.",
        autocompletion=complete.choices(*_RULES[:-1]),
        rich_help_panel=JUDGES,
    ),
]


def read_jury(text: str, aliases: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """The name and the members that ``NAME=A,B,C`` states.

    Args:
        text: as typed.
        aliases: raters by what they were called in another option.
    """
    name, equals, rest = text.partition("=")
    members = read_names(rest) or []
    if not equals or not name.strip() or len(members) < 2:
        raise InputError(f"{text!r:.60} is no jury", where="--jury", todo="write --jury panel=judge:a,judge:b,judge:c")
    return name.strip(), [(aliases or {}).get(member, member) for member in members]


@dataclass(frozen=True, slots=True)
class ScoredJuries:
    """The juries of a call that has judges rate.

    Attributes:
        juries: name and members of each.
        rule: how they combine.
    """

    juries: Sequence[tuple[str, list[str]]]
    rule: str

    def add(self, run: Path) -> list[Table]:
        """Make them of judges that have rated; the tables say whether their members agree."""
        from bedside.analysis.study_parts import ALL_ROUNDS
        from bedside.api.judge_tuning import jury as make_jury

        tables: list[Table] = []
        for name, members in self.juries:
            tables += make_jury(run, name, members, by=cast(Any, self.rule), rounds=ALL_ROUNDS)[:1]
        return tables


def read_scored_juries(
    texts: Sequence[str] | None, rule: str, models: Iterable[str], *, codes: bool, batch: bool
) -> ScoredJuries:
    """The juries of a call that has judges rate; what can't be one stops here, before anything is asked.

    Args:
        texts: as typed for ``--jury``.
        rule: as typed for ``--jury-by``.
        models: as typed for ``--judge``: judges can be named like that, too.
        codes: whether judges code turns.
        batch: whether nothing is asked, but written to a file.
    """
    if rule == "weights":
        raise InputError(
            "weights are learnt from people's ratings, when there are some",
            where="--jury-by",
            todo="score first, then bedside judge jury RUN --jury-by weights",
        )
    check_choice(rule, _RULES[:-1], "--jury-by")
    if not texts:
        return ScoredJuries((), rule)
    from bedside.judges.llm.endpoints import named_models
    from bedside.judges.raters import coding_rater, rater_of
    from bedside.ratings.names import is_judge

    names = named_models(list(models))
    if not names or batch:
        raise InputError(
            "a jury is made when its judges have rated",
            where="--jury",
            todo="make it then, with bedside judge jury RUN"
            if batch
            else "add --judge MODEL for each judge, or make it of judges that have rated: bedside judge jury RUN",
        )
    own = coding_rater if codes else rater_of
    aliases = {text: own(name) for name in names for text in (name.text, name.identity, rater_of(name))}
    juries = [read_jury(text, aliases) for text in texts]
    asked = set(aliases.values())
    for member in (member for _, members in juries for member in members):
        # One that the run has already may be named as its ratings name it.
        if member not in asked and not is_judge(member):
            raise InputError(
                f"{member!r} is none of the judges that are asked",
                where="--jury",
                todo=nearest(member, aliases),
            )
    return ScoredJuries(juries, rule)


def jury(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that judges have rated.")],
    jury: Annotated[str, typer.Option("--jury", metavar="NAME=A,B,C", help=_JURY_HELP)],
    rule: Annotated[
        str,
        typer.Option(
            "--jury-by",
            metavar="RULE",
            help="How its judges are combined: median; mean, the level nearest it; majority, the most frequent level; "
            "or weights, learnt from people's ratings. Labels go by most votes. Ties are missing.",
            autocompletion=complete.choices(*_RULES),
            rich_help_panel=HOW,
        ),
    ] = "median",
    quorum: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="How many of the judges must have rated a unit for the jury to rate it. Without it, all.",
            rich_help_panel=HOW,
        ),
    ] = None,
    split: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of cases from which weights are learnt; what the jury is worth is shown on the others.",
            rich_help_panel=HOW,
        ),
    ] = 0.5,
    metrics: MetricsOption = None,
    rounds: RoundOption = None,
    scale: ScaleOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
) -> None:
    """Make several judges one rater, and show whether it beats the best of them.

    The jury's ratings join the run, and are made anew whenever its judges' change. No model is asked anything.

    Examples:
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c --jury-by weights --split .5
    """
    from bedside.api.judge_tuning import jury as make_jury

    name, members = read_jury(jury)
    tables = make_jury(
        run,
        name,
        members,
        by=cast(Any, rule),
        quorum=quorum,
        metrics=read_names(metrics),
        split=split,
        rounds=read_rounds(rounds),
        scales=scale or (),
        seed=seed,
    )
    rater = tables.results[0].jury.rater
    following = f"bedside validate {typed(run)} --judges {typed(rater)}"
    show_and_write(tables, source=run, out=out, next_commands=following)


# -- ``bedside judge learn``, and the raters that ``bedside score`` is told of --------------------------

LearnedRaterOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--rater",
        metavar="FILE",
        help="File of a rater that learnt from people, as bedside judge learn writes it; it rates too. May be "
        "repeated.",
    ),
]


def check_learned_raters(files: Sequence[Path] | None) -> None:
    """Raise where a file is no learned rater's, before anything is scored."""
    for file in files or ():
        from bedside.tuning.learned_rater import load_rater

        load_rater(file)


def rate_with(run: Path, files: Sequence[Path] | None, transcripts: list[str], options: ReadOptions) -> None:
    """Have learned raters rate a run that was scored."""
    for file in files or ():
        from bedside.api.judge_tuning import rate

        note(f"{rate(run, file, transcripts=transcripts, options=options)} has rated.")


def learn(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run with people's ratings.")],
    rubric: Annotated[
        str,
        typer.Option(
            "--rubric",
            "--metric",
            metavar="NAME",
            help="Rubric, metric or code that people rated.",
            autocompletion=complete.rated,
            rich_help_panel=WHICH,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="The rater's file to write; its name ends in .npz."),
    ],
    split: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of cases to learn from; the rater is tried on the others. With 1 it learns from all, and "
            "raters like it are tried on what each has not learnt from.",
            rich_help_panel=HOW,
        ),
    ] = 0.5,
    features: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What it looks at: text, or embeddings:MODEL with the folder of a sentence-embedding model or the "
            "name of a package that ships one.",
            rich_help_panel=HOW,
        ),
    ] = "text",
    rounds: RoundOption = None,
    scale: ScaleOption = None,
    seed: SeedOption = 0,
) -> None:
    """Learn to rate from people's ratings: the cheap baseline that any judge should beat.

    The rater knows words, and nothing of the rubric. It rates the run, and its file rates other runs. What it learnt
    from counts in no validation of it.

    Examples:
        $ bedside judge learn run --rubric empathy --split .5 --out empathy.npz
        $ bedside score talks/ --rater empathy.npz
    """
    from bedside.api.judge_tuning import learn_rater

    tables = learn_rater(
        run,
        rubric,
        out,
        split=split,
        features=features,
        rounds=read_rounds(rounds),
        scales=scale or (),
        seed=seed,
    )
    show_tables(tables)
    note(f"Wrote {out}: {tables.results.rater}. Next: bedside score FILES --rater {typed(out)}")
