"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bedside.analysis.choices import WEIGHTS
from bedside.cli import completion as _complete

#: Headings of ``--help``.
WHICH, HOW, READING, JUDGES, OUTPUT = (
    "Which ratings",
    "How",
    "How the files are read",
    "Judges",
    "Output",
)

# -- what every command has ----------------------------------------------------------------------------

JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print an array of tables as JSON, with all digits of their numbers; lines go to standard error.",
        rich_help_panel=OUTPUT,
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="NUMBER",
        help="Seed of everything that is drawn at random; the same seed gives the same result.",
        rich_help_panel=HOW,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder to write the tables to, as Markdown, LaTeX and CSV. Without it, they are printed alone.",
        rich_help_panel=OUTPUT,
    ),
]

# -- which ratings a question is about -----------------------------------------------------------------

_METRICS = ("--metrics", "--rubric", "--rubrics")
#: What options of metrics have in common.
_OF_METRICS: dict[str, Any] = {
    "metavar": "A,B*",
    "autocompletion": _complete.rated,
    "rich_help_panel": WHICH,
}
MetricsOption = Annotated[
    str | None,
    typer.Option(
        *_METRICS,
        help="Metrics or rubrics to look at; * stands for any letters. Without it, all of them.",
        **_OF_METRICS,
    ),
]
QualityOption = Annotated[
    str | None,
    typer.Option(
        *_METRICS,
        help="Metrics or rubrics to look at; * stands for any letters. Without it, those that people rated, and those "
        "of which higher or lower is better.",
        **_OF_METRICS,
    ),
]
SystemsOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Systems to look at. Without it, all of them.", rich_help_panel=WHICH),
]
RatersOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B*",
        help="Raters whose ratings count, such as human:anna or judge:*. Without it, all of them.",
        autocompletion=_complete.raters,
        rich_help_panel=WHICH,
    ),
]
RoundOption = Annotated[
    str | None,
    typer.Option(
        "--round",
        "--rounds",
        metavar="A,B",
        help="Rounds of annotation whose ratings by people count; all takes every round together. Needed where people "
        "rated a metric in several rounds.",
        autocompletion=_complete.rounds,
        rich_help_panel=WHICH,
    ),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=LEVEL,…",
        help="Only transcripts with this level of a factor, such as setting=8. May be repeated: several levels of one "
        "factor are taken together.",
        rich_help_panel=WHICH,
    ),
]
MatchOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Factors that systems are matched by; none matches nothing. Without it, conditions that vary within cases "
        "that systems share.",
        rich_help_panel=WHICH,
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FACTOR",
        help="Compare the levels of a factor, such as mi_quality, in place of systems; they pair by case where they "
        "share cases.",
        rich_help_panel=WHICH,
    ),
]
WithinOption = Annotated[
    str | None,
    typer.Option(
        metavar="FACTOR",
        help="Factor of the transcripts, such as setting: one answer for each of its levels.",
        rich_help_panel=WHICH,
    ),
]
WeightsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Weights of kappa on ordered scales: quadratic, linear or none. Without it, quadratic.",
        autocompletion=_complete.choices(*WEIGHTS),
        rich_help_panel=HOW,
    ),
]

# -- how a file of ratings is read -----------------------------------------------------------------------

ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCALE",
        help="Scale of the ratings, such as 1-5, 0,1,2, none/open/closed or 'mild<moderate<severe' (labels in "
        "order); METRIC=SCALE is the scale of one metric. "
        "May be repeated.",
        rich_help_panel=READING,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=COLUMN,…",
        help="Which columns of the file hold what bedside needs, such as item=Session,rater=Coder.",
        rich_help_panel=READING,
    ),
]

# -- how transcripts are read ----------------------------------------------------------------------------

# -- how a judge is asked --------------------------------------------------------------------------------

RubricFolderOption = Annotated[
    Path | None, typer.Option("--rubric-folder", metavar="FOLDER", help="Folder of your own rubrics.")
]
