"""The options that say what judges are asked, and how; juries and learned raters that ``bedside score`` is told of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from bedside.api.judging import JudgingSettings
from bedside.cli.output import note
from bedside.cli.parsing import check_choice, read_names
from bedside.core.errors import InputError, nearest
from bedside.core.question_settings import COST, JUDGES, OPTIONS, OUTPUT, changed_fields, option, settings_class
from bedside.core.words import Names, listed
from bedside.ratings.names import FIXED_RULES, JURY_RULES

if TYPE_CHECKING:
    from bedside.reports.table import Table
    from bedside.transcripts.read_options import ReadOptions


# -- The options that say what judges are asked ---------------------------------------------------------


@settings_class
class DryRun:
    """Whether judges are asked, or only counted what they would be."""

    dry_run: bool = option(
        "Print how many requests and tokens each rubric and judge takes; ask and write nothing.",
        default=False, heading=COST,
    )  # fmt: skip


@settings_class
class ScoredJudging(JudgingSettings):
    """How judges rate what algorithms have scored, where judges are named."""

    judges: Names = option(
        "Language model that rates by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …, or a YAML "
        "file of addresses; addresses of one model share its requests.",
        "--judge", default=(), heading=JUDGES, metavar="MODEL", form="repeated", offers="judges",
    )  # fmt: skip


def check_no_judge_options(judging: ScoredJudging, **others: object) -> None:
    """Raise InputError where an option is only for judges, and none is named."""
    of_judges = [name for name in changed_fields(judging) if name != "seed"] + [
        name for name, value in others.items() if value
    ]
    if of_judges:
        raise InputError("no judge is named", where=f"`{of_judges[0]}`", todo="add --judge MODEL")


# -- What ``bedside score`` says of juries ----------------------------------

JURY_HELP = (
    "Judges that rate as one, such as panel=judge:a,judge:b,judge:c: their ratings are combined, and stand beside "
    "theirs. judge: may be left out."
)


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


@settings_class
class JudgedTogether(DryRun):
    """Judges that rate as one, and a batch of what they are asked."""

    jury: Sequence[str] = option(JURY_HELP, default=(), heading=JUDGES, metavar="NAME=A,B,C", form="repeated")
    jury_by: Literal["median", "mean", "majority"] = option(
        "How a jury's judges are combined: median; mean, the level nearest it; or majority, the most frequent level. "
        "Labels go by most votes. Ties are missing.",
        default="median", heading=JUDGES, metavar="RULE",
    )  # fmt: skip
    batch_out: str | os.PathLike[str] | None = option(
        "JSONL file to write the requests to, for a service that answers batches; nothing is asked.",
        default=None, heading=COST, metavar="FILE", form="path",
    )  # fmt: skip

    def read_juries(self, judging: ScoredJudging) -> ScoredJuries:
        """The juries; what can't be one stops here, before anything is asked."""
        if cast(str, self.jury_by) in JURY_RULES[len(FIXED_RULES) :]:
            raise InputError(
                "this rule learns from ratings, when there are some",
                where="--jury-by",
                todo=f"score first, then bedside judge jury RUN --jury-by {self.jury_by}",
            )
        check_choice(self.jury_by, FIXED_RULES, "--jury-by")
        if not self.jury:
            return ScoredJuries((), self.jury_by)
        from bedside.judges.llm.endpoints import named_models
        from bedside.judges.raters import coding_rater, rater_of
        from bedside.ratings.names import is_judge

        names = named_models(listed(judging.judges, "judge"))
        if not names or self.batch_out is not None:
            raise InputError(
                "a jury is made when its judges have rated",
                where="--jury",
                todo="make it then, with bedside judge jury RUN"
                if self.batch_out is not None
                else "add --judge MODEL for each judge, or make it of judges that have rated: bedside judge jury RUN",
            )
        own = coding_rater if judging.codes else rater_of
        aliases = {text: own(name) for name in names for text in (name.text, name.identity, rater_of(name))}
        juries = [read_jury(text, aliases) for text in self.jury]
        asked = set(aliases.values())
        for member in (member for _, members in juries for member in members):
            # One that the run has already may be named as its ratings name it.
            if member not in asked and not is_judge(member):
                raise InputError(
                    f"{member!r} is none of the judges that are asked", where="--jury", todo=nearest(member, aliases)
                )
        return ScoredJuries(juries, self.jury_by)


@settings_class
class BesideScoring:
    """Learned raters that rate too, and where spans of the work are sent."""

    rater: Sequence[str] = option(
        "File of a rater that learnt from people, as bedside judge learn writes it; it rates too.",
        default=(), heading=OPTIONS, metavar="FILE", form="repeated",
    )  # fmt: skip
    trace: str | None = option(
        "Collector that spans of scoring and of judgements are sent to, by OTLP over HTTP. They hold names of models "
        "and rubrics, counts, tokens and costs, and no text.",
        default=None, heading=OUTPUT, metavar="URL",
    )  # fmt: skip

    def check_learned_raters(self) -> None:
        """Raise where a file is no learned rater's, before anything is scored."""
        for file in self.rater:
            from bedside.tuning.learned_rater import load_rater

            load_rater(file)

    def rate(self, run: Path, transcripts: list[str], options: ReadOptions | None) -> None:
        """Have learned raters rate a run that was scored."""
        for file in self.rater:
            from bedside.api.judge_tuning import rate

            note(f"{rate(run, file, transcripts=transcripts, options=options)} has rated.")
