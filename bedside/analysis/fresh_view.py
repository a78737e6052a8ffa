"""Views that raters are compared in: without ratings of units that they learnt from, and with what they link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
import polars as pl

from bedside.analysis.agreement_statistics import NO_LINK
from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import LinkForm, Rubric, link_form, links_in
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.learnt_units import LearntUnits, fresh_ratings, learnt_in
from bedside.ratings.names import JUDGE_VERSION, is_judge, rated_by_humans
from bedside.ratings.scales import Scale


def fresh_view(view: RatingsView) -> RatingsView:
    """A view without the ratings that raters gave to what they learnt from; ``learnt`` counts them."""
    fresh = fresh_ratings(view.ratings, _learnt(view))
    if not fresh.left_out:
        return view
    return replace(view, ratings=fresh.ratings, learnt={**view.learnt, **fresh.left_out})


def fresh_view_of(view: RatingsView, rater: str) -> RatingsView:
    """The same for one rater, without what people rated of what it learnt from, too: a study of the other cases."""
    fresh = fresh_ratings(view.ratings, [entry for entry in _learnt(view) if entry.rater == rater])
    ratings = fresh.ratings
    for (_, metric), transcripts in fresh.stale.items():
        of_people = rated_by_humans() & (pl.col("metric") == metric)
        ratings = ratings.filter(~(of_people & pl.col("transcript_id").is_in(transcripts)))
    return replace(view, ratings=ratings, learnt={**view.learnt, **fresh.left_out})


def _learnt(view: RatingsView) -> list[LearntUnits]:
    """What raters of a view's run learnt from; a version of a judge learnt what the judge did."""
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    versions = [name for name in view.ratings["rater"].unique().sort() if is_judge(name)] if learnt else []
    return [
        replace(entry, rater=rater)
        for entry in learnt
        for rater in (entry.rater, *(name for name in versions if name.startswith(f"{entry.rater}{JUDGE_VERSION}")))
    ]


def learnt_words(title: str, rater: str, units: str) -> str:
    """What a table says where ratings were left out; ``units`` is their number with its noun."""
    return (
        f"{title}, {rater}: {units} that people rated are left out, as the rater was made to fit people's ratings of "
        "them or of others of their cases."
    )


# -- What raters link, entry by entry --------------------------------------------------------------------

#: What stands after the rubric's name in the metric of links.
LINK = "link"


def linked_view(view: RatingsView) -> RatingsView:
    """A view with the ratings of links, where people made some and their lists are at hand; else the same view.

    Of a rubric of pairs or of an index, each entry's link is a rating by ``<rubric>.link``: of unit ``entry:<n>``, with
    the number of what it is linked to as label, or "no link". What else is said of it is one by ``<rubric>.<part>``,
    such as ``category_agrees``; of pairs on unit ``entry:<n>:<target>``, so that raters are compared on links that both
    make. Where a judge proposes several, its links are a largest one-to-one set of them.
    """
    rated = view.ratings.filter(rated_by_humans())["metric"].unique().sort().to_list()
    rubrics = [rubric for name in rated if (rubric := _linking(view, name)) is not None]
    if not rubrics or view.run is None or not view.run.keeps_text:
        return view
    links, final = (_of_entries(view, rubrics, table) for table in (view.ratings, view.final))
    labels = links.group_by("metric").agg(pl.col("label").unique().sort())
    scales = {
        metric: Scale(tuple(levels) if len(levels) > 1 else _other_levels(rubrics, metric, levels), False)
        for metric, levels in labels.iter_rows()
    }
    return replace(
        view, ratings=pl.concat([view.ratings, links]), final=pl.concat([view.final, final]),
        scales={**view.scales, **scales},
    )  # fmt: skip


def _of_entries(view: RatingsView, rubrics: Sequence[Rubric], table: pl.DataFrame) -> pl.DataFrame:
    """What the ratings in a table, or the final ones, say of each entry."""
    rows = list[dict[str, Any]]()
    for rubric in rubrics:
        ratings, form = table.filter(pl.col("metric") == rubric.name), link_form(rubric)
        counts = _row_counts(view, form, ratings) if form.rows else {}
        for row in ratings.iter_rows(named=True):
            for unit, part, label in _links(form, row, counts.get(row["transcript_id"], 0)):
                rows.append({**row, "unit": unit, "metric": f"{rubric.name}.{part}", "value": None, "label": label,
                             "error": None, "reason": None})  # fmt: skip
    return pl.DataFrame(rows, schema=table.schema)


def _other_levels(rubrics: Sequence[Rubric], metric: str, levels: Sequence[str]) -> tuple[str, ...]:
    """The level that everybody chose, with what else there was to choose."""
    name, _, part = metric.rpartition(".")
    parts = {of.name: of for rubric in rubrics if rubric.name == name for of in link_form(rubric).parts}
    others = ([label.label for label in parts[part].labels] or ["no", "yes"]) if part in parts else ["0", NO_LINK]
    return tuple(dict.fromkeys([*levels, *others]))


def _linking(view: RatingsView, name: str) -> Rubric | None:
    """The rubric of pairs or of an index that a metric is by; None where it is by none that people are asked."""
    rubric = view.rubrics.get(name) or (RUBRICS.load(name) if name in RUBRICS else None)
    if rubric is None or rubric.kind not in LINKED_KINDS:
        return None
    with suppress(ValueError):
        link_form(rubric)
        return rubric
    return None


def _row_counts(view: RatingsView, form: LinkForm, ratings: pl.DataFrame) -> Mapping[str, int]:
    """Transcript → how many entries its list has."""
    assert view.run is not None
    names = ratings.filter(rated_by_humans())["transcript_id"].unique().to_list()
    lists = {one.id: one.known(str(form.rows)) for one in view.run.transcripts_named(names)}
    return {name: len(entries) for name, entries in lists.items() if isinstance(entries, list | tuple)}


def linked_entries(form: LinkForm, answer: Any, count: int) -> dict[int, tuple[int | None, dict[str, Any]]]:
    """Number of an entry → what it is linked to, and what else is said of it.

    Where several links of an entry are proposed one to one, they are a largest set without two to the same.

    Args:
        form: of the rubric.
        answer: as :func:`~bedside.judges.rubrics.rubric.links_in` takes it.
        count: how many entries there are.

    Raises:
        TypeError, ValueError, KeyError, AttributeError: the answer holds no links.
    """
    links = [link for link in links_in(form, answer) if link[0] < count]
    targets = {entry: target for entry, target, _ in links}
    if form.one_to_one:
        from bedside.metrics.protocols.medconceal.matching import maximum_matching

        pairs = [(entry, int(target or 0)) for entry, target, _ in links]
        targets = {**maximum_matching(pairs, count, 1 + max((target for _, target in pairs), default=0))}
    return {entry: (target, said) for entry, target, said in links if targets.get(entry, -1) == target}


def _links(form: LinkForm, row: Mapping[str, Any], count: int) -> Iterator[tuple[str, str, str]]:
    """Unit, part and label of what a rating says of each entry; nothing where it is missing."""
    if form.rows is None:
        found_none = str(row["error"] or "").endswith(f"found no {form.target.name}")
        if row["value"] is not None or found_none:
            yield row["unit"], LINK, NO_LINK if row["value"] is None else f"{row['value']:g}"
        return
    if row["value"] is None:
        return
    try:
        links = linked_entries(form, orjson.loads(row["reason"]), count)
    except (TypeError, ValueError, KeyError, AttributeError):
        return  # a number from a file says nothing of single links
    for entry in range(count):
        target = links[entry][0] if entry in links else None
        yield f"entry:{entry}", LINK, NO_LINK if target is None else str(target)
    for entry, (target, said) in links.items():
        for part in form.parts:
            label = said[part.name] if part.labels else ("no", "yes")[said[part.name]]
            yield f"entry:{entry}:{target}" if form.one_to_one else f"entry:{entry}", part.name, label
