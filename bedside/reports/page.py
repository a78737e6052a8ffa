"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bedside.analysis.ratings_view import MetricFacts
from bedside.reports.cell_names import rater_words
from bedside.reports.extremes import Extreme, Review, turns_of
from bedside.reports.number_text import number
from bedside.reports.renderers.csv import csv_text
from bedside.reports.renderers.html import attribute, templates
from bedside.reports.renderers.latex import latex
from bedside.reports.table import Table

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: heading, paragraphs (plain text), tables, figures (SVG with caption), transcripts."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    review: Review | None = None


def page(title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """A whole HTML page.

    Args:
        title: the heading.
        lead: one sentence below it.
        facts: label and figure of each fact shown large.
        sections: the parts, in order.
    """
    return (
        templates()
        .get_template("page.html")
        .render(
            title=title,
            lead=lead,
            facts=facts,
            sections=sections,
            drawing=_drawing,
            sources=_sources,
            extremes_by_metric=_extremes_by_metric,
            number=number,
            rater_words=rater_words,
            turns_of=turns_of,
        )
    )


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
