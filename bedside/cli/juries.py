"""``bedside judge jury``, and what ``bedside score`` says of juries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bedside.cli import completion as complete
from bedside.cli.options import (
    HOW,
    JUDGES,
    MetricsOption,
    OutOption,
    RoundOption,
    ScaleOption,
    SeedOption,
)
from bedside.cli.output import show_and_write
from bedside.cli.parsing import check_choice, read_names, read_rounds
from bedside.core.errors import InputError
from bedside.core.registry import nearest
from bedside.core.words import typed

if TYPE_CHECKING:
    from bedside.reports.table import Table

#: As ``bedside.ratings.juries.JURY_RULES``, which is not loaded for a help text.
_RULES = ("mean", "median", "majority", "weights")

_JURY_HELP = (
    "Judges that rate as one, such as panel=judge:a,judge:b,judge:c: their ratings are combined, and stand beside "
    "theirs. judge: may be left out."
)
JuryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--jury", metavar="NAME=A,B,C", help=f"{_JURY_HELP} May be repeated.", rich_help_panel=JUDGES
    ),
]
JuryRuleOption = Annotated[
    str,
    typer.Option(
        "--jury-by",
        metavar="RULE",
        help="How a jury's judges are combined: median; mean, the level nearest it; or majority, the most frequent "
        "level. Labels go by most votes. Ties are missing.",
        autocompletion=complete.one_of(*_RULES[:-1]),
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
        raise InputError(
            f"{text!r:.60} is no jury", where="--jury", todo="write --jury panel=judge:a,judge:b,judge:c"
        )
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
            else "add --judge MODEL for each judge, or make "
            "it of judges that have rated: bedside judge jury RUN",
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
            autocompletion=complete.one_of(*_RULES),
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
