"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bedside.analysis.metric_facts import MetricFacts
from bedside.core.plurals import counted
from bedside.reports.cell_names import rater_words
from bedside.reports.extremes import Extreme, Review, turns_of
from bedside.reports.number_text import number
from bedside.reports.print_size import print_size
from bedside.reports.renderers.csv import csv_text
from bedside.reports.renderers.html import attribute, templates
from bedside.reports.renderers.latex import latex
from bedside.reports.table import Table

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure of the page.

    Attributes:
        name: of its files.
        title: what it shows, for the caption.
        notes: what the marks are.
        svg: the drawing.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    svg: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: heading, paragraphs (plain text), tables, figures, transcripts."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    review: Review | None = None


def page(title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """A whole HTML page.

    Args:
        title: the heading.
        lead: one sentence below it.
        facts: label and figure of each fact shown large.
        sections: the parts, in order.
    """
    listings = _listings(sections)
    return (
        templates()
        .get_template("page.html")
        .render(
            title=title,
            lead=lead,
            facts=facts,
            sections=sections,
            listings=listings,
            labels={id: label for _, entries in listings for id, label, _ in entries},
            print_size=print_size,
            counted=counted,
            drawing=_drawing,
            sources=_sources,
            extremes_by_metric=_extremes_by_metric,
            number=number,
            rater_words=rater_words,
            turns_of=turns_of,
        )
    )


def _listings(sections: Sequence[Section]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The tables and the figures, numbered through the page: how many there are, and of each id, label and title."""
    tables = [("table", table.name, table.title) for section in sections for table in section.tables]
    figures = [("figure", figure.name, figure.title) for section in sections for figure in section.figures]
    return [
        (
            counted(len(shown), shown[0][0]).capitalize(),
            [
                (f"{kind}-{name}", f"{kind.capitalize()} {position}", title)
                for position, (kind, name, title) in enumerate(shown, 1)
            ],
        )
        for shown in (tables, figures)
        if shown
    ]


def _drawing(svg: str, caption: str, prefix: str) -> Markup:
    """A drawing for a page: two must not share the ids of their parts, so these begin with ``prefix``."""
    from markupsafe import Markup

    own = svg.replace('id="', f'id="{prefix}').replace('href="#', f'href="#{prefix}')
    own = own.replace("url(#", f"url(#{prefix}")
    return Markup(own.replace("<svg ", f'<svg role="img" aria-label="{attribute(caption)}" ', 1))


def _sources(table: Table) -> tuple[tuple[str, str], ...]:
    """What a table can be copied as."""
    return (("LaTeX", latex(table)), ("CSV", csv_text(table)))


def _extremes_by_metric(review: Review) -> list[tuple[str, list[Extreme]]]:
    """The ends of each metric and raters, under their heading."""
    extremes: dict[tuple[MetricFacts, str], list[Extreme]] = {}
    for extreme in review.extremes:
        extremes.setdefault((extreme.facts, extreme.raters), []).append(extreme)
    return [
        (f"{metric_facts.title} ({rater_words(raters)})", ends)
        for (metric_facts, raters), ends in extremes.items()
    ]
