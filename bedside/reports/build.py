"""The report of a run: each table in each format, and one HTML page with all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bedside.analysis.agreement import named_turns, rated_apart
from bedside.analysis.estimation import estimate
from bedside.analysis.findings import (
    ALPHA,
    Finding,
    agreement_findings,
    comparison_findings,
    estimate_findings,
    validation_findings,
)
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.ratings_view import PEOPLE, RatingsView, open_ratings_view
from bedside.analysis.selection import quality_metrics
from bedside.core.errors import DataError, RunError, one_of
from bedside.core.files import (
    file_digest,
    make_folder,
    read_sealed,
    saying_where,
    write_bytes,
    write_sealed,
    write_text,
)
from bedside.core.json_shape import TEXT, ObjectOf
from bedside.core.stopping import phase
from bedside.core.words import counted
from bedside.ratings.names import ALGORITHMS, JUDGES, JURIES, is_human, is_judge, turn_indices
from bedside.ratings.run import Run
from bedside.ratings.suites import Suite
from bedside.ratings.table import missing_counts, wordless
from bedside.ratings.values import failures
from bedside.reports.checklist import checklists
from bedside.reports.comparison_notes import with_version_notes
from bedside.reports.contents import PlannedTable, ReportPart, main_measures, make_parts, make_tables
from bedside.reports.estimation import estimate_table
from bedside.reports.figure_kind import PHONE, RenderedFigure
from bedside.reports.figures import FIGURES, Drawing
from bedside.reports.finding_words import in_past, sentences
from bedside.reports.measures import TableMeasure
from bedside.reports.methods import methods
from bedside.reports.number_text import number, rater_words
from bedside.reports.renderers.html import LONG_WORD, attribute, templates
from bedside.reports.renderers.latex import LatexPaper, latex
from bedside.reports.renderers.records import csv_text
from bedside.reports.report_settings import ReportSettings
from bedside.reports.samples import measure
from bedside.reports.table import Table, Tables
from bedside.reports.table_content import TableContent
from bedside.reports.table_formats import DOCUMENT_FORMATS, TABLE_FORMATS, text_formats
from bedside.reports.table_notes import BY_WHERE, with_averaging_notes
from bedside.reports.tables import TABLES
from bedside.reports.tables.agreement import AgreementOptions, agreements_of
from bedside.reports.tables.comparison import ComparisonOptions, comparisons_of
from bedside.reports.validation import card_tables, cards_of
from bedside.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from markupsafe import Markup


# -- How large a table is set where the page is printed -------------------------------------------------

#: Points between the margins of the smaller of A4 and letter, which is A4 upright and letter across.
_UPRIGHT, _ACROSS = 510.0, 690.0
#: Points of a letter: of tables that are narrow, of those that are read without strain, and of the widest.
_LARGEST, _READ, _SMALLEST = 9.0, 6.5, 4.0
#: Em of a letter, taken wide, and of the space between two columns.
_LETTER, _GAP = 0.6, 0.75
#: Letters of the column of a long word, which is broken.
_BROKEN = 20


@dataclass(frozen=True, slots=True)
class PrintSize:
    """How a table is set on paper.

    Attributes:
        points: the size of its letters.
        landscape: whether its page lies across.
        broken: whether its numbers stand in several lines, too: mean, standard deviation and n below each other.
    """

    points: float
    landscape: bool = False
    broken: bool = False


def print_size(table: TableContent) -> PrintSize:
    """How a table fits the paper: upright, else across, and if it must be with its numbers broken."""
    unbroken, broken = _letters(table, broken=False), _letters(table, broken=True)
    for landscape in (False, True):
        points = _size(_ACROSS if landscape else _UPRIGHT, unbroken)
        if points >= _READ:
            return PrintSize(min(points, _LARGEST), landscape)
    return PrintSize(max(min(_size(_ACROSS, broken), _READ), _SMALLEST), landscape=True, broken=True)


def _letters(table: TableContent, *, broken: bool) -> list[int]:
    """Letters that each column needs at least: titles and sentences stand in lines, numbers and names only where they
    are ``broken``."""
    letters = []
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        texts = [cell.text + cell.marks for cell in cells]
        widths = [
            len(text) if not broken and (column.align == "right" or len(text) <= LONG_WORD) else _longest_word(text)
            for text in texts
        ]
        letters.append(max([*widths, _longest_word(column.title)]))
    return letters


def _size(width: float, letters: list[int]) -> float:
    """Points of a letter at which columns of that many letters fit a width."""
    return width / (sum(letters) * _LETTER + len(letters) * _GAP)


def _longest_word(text: str) -> int:
    longest = max(map(len, text.split()), default=0)
    return longest if longest <= LONG_WORD else _BROKEN


# -- The transcripts at either end of each metric -------------------------------------------------------

#: Metrics shown; turns marked for one score, where turns are coded and where they have values; words that a quote must
#: have to be looked for.
MOST_METRICS = 16
MOST_MARKS = 24
MOST_PEAKS = 6
_QUOTE_WORDS = 3
#: Labels that say a turn has nothing of what is coded.
_NOTHING = frozenset(("none", "neutral", "other", "0"))
_QUOTES = re.compile(r"“([^”]+)”|\"([^\"]+)\"|‘([^’]{12,})’|«([^»]+)»")


@dataclass(frozen=True, slots=True)
class Mark:
    """A turn that made a score, and what is said of it."""

    turn: int
    why: str


@dataclass(frozen=True, slots=True)
class Extreme(MetricRatings):
    """A transcript at one end of a metric.

    Attributes:
        facts, raters: what was rated, by whom.
        end: ``highest`` or ``lowest``.
        transcript, system: which.
        value: its value.
        shared: how many transcripts have this value.
        reasons: (rater, reason) as given.
    """

    raters: str
    end: str
    transcript: str
    system: str | None
    value: float
    shared: int
    reasons: tuple[tuple[str, str], ...]


def extremes(view: RatingsView) -> tuple[Extreme, ...]:
    """The highest and the lowest transcript of each metric that differs between transcripts.

    Metrics that say something of quality come first, then those whose turns can be pointed at, up to
    :data:`MOST_METRICS`.
    """
    names = quality_metrics(view)
    names += [name for name in view.metrics() if name not in names and _turn_metrics(name)]
    values = view.transcript_values(names).drop_nulls("value")
    both_ends: list[Extreme] = []
    used = 0
    for metric in names:
        metric_values = values.filter(pl.col("metric") == metric)
        groups = sorted(metric_values["group"].unique(), key=lambda name: (name != PEOPLE, name))
        if used == MOST_METRICS:
            break
        used += bool(groups)
        for group in groups:
            rows = metric_values.filter(pl.col("group") == group).sort("value", "transcript_id")
            if rows["value"].n_unique() < 2:
                continue
            worst_first = view.facts(metric).direction != "lower"
            ends = [("lowest", rows["value"].min()), ("highest", rows["value"].max())]
            for end, value in ends if worst_first else reversed(ends):
                at = rows.filter(pl.col("value") == value)
                both_ends.append(_extreme(view, metric, group, end, at))
    return tuple(both_ends)


def _extreme(view: RatingsView, metric: str, group: str, end: str, rows: pl.DataFrame) -> Extreme:
    row = rows.row(0, named=True)
    group_ratings = _ratings_by(view, row["transcript_id"], group)
    with_reason = group_ratings.filter((pl.col("metric") == metric) & pl.col("reason").is_not_null()).sort(
        "rater", "replicate"
    )
    reasons = tuple(dict.fromkeys(with_reason.select("rater", "reason").iter_rows()))
    return Extreme(
        facts=view.facts(metric),
        raters=group,
        end=end,
        transcript=row["transcript_id"],
        system=row["system"],
        value=row["value"],
        shared=rows.height,
        reasons=reasons,
    )


def _turn_metrics(metric: str) -> tuple[str, ...]:
    """The metrics of turns that a metric of transcripts is made of."""
    from bedside.metrics import FAMILIES
    from bedside.scoring.plan import families_by_metric

    base = metric.partition(".")[0]
    owner = families_by_metric().get(base)
    return FAMILIES.load(owner).metric(base).turns if owner is not None else ()


def _ratings_by(view: RatingsView, transcript: str, group: str) -> pl.DataFrame:
    """What a group of raters said of a transcript."""
    return view.ratings.filter(pl.col("transcript_id") == transcript, view.rater_group() == group)


def _turns_rated(view: RatingsView, ratings: pl.DataFrame, metric: str, transcript: Transcript) -> Iterator[Mark]:
    """The turns whose own ratings the score is made of: those with the highest values, or coded with something."""
    names = _turn_metrics(metric)
    of_its_turns = pl.col("metric").str.split(".").list.first().is_in(names)
    rows = ratings.filter(of_its_turns & pl.col("error").is_null()).with_columns(turn_indices().alias("turn"))
    role = metric.partition(".")[2]
    if role:
        # A measure of one role is made of that role's turns.
        rows = rows.filter(pl.col("turn").is_in([turn.index for turn in transcript.turns if turn.role == role]))
    numbers = rows.drop_nulls(["value", "turn"]).sort(["value", "turn"], descending=[True, False])
    labels = rows.drop_nulls(["label", "turn"]).filter(~pl.col("label").is_in(_NOTHING)).sort("turn", "rater")
    turns = labels["turn"].unique(maintain_order=True).head(MOST_MARKS)
    marked = pl.concat([numbers.head(MOST_PEAKS), labels.filter(pl.col("turn").is_in(turns.implode()))])
    for row in marked.iter_rows(named=True):
        what = row["label"] if row["label"] is not None else f"{row['value']:.2f}"
        title = view.facts(row["metric"]).title
        because = f" ({row['reason']})" if row["reason"] else ""
        yield Mark(row["turn"], f"{title}: {what}{because}")
        # The turn it was held against, as with two turns that contradict each other.
        for other in dict.fromkeys(chain(*named_turns(row["reason"] or ""))):
            yield Mark(other, f"{title} of turn {row['turn']}: {what}")


def cited(reason: str, transcript: Transcript) -> Iterator[Mark]:
    """The turns that a reason names by number or quotes."""
    numbers = dict.fromkeys(chain(*named_turns(reason)))
    yield from (Mark(number, "named in the reason") for number in numbers if number < len(transcript.turns))
    for match in _QUOTES.finditer(reason):
        quote = next(filter(None, match.groups()))
        folded = _without_punctuation(quote) if len(quote.split()) >= _QUOTE_WORDS else ""
        for turn in transcript.turns:
            if folded and folded in _without_punctuation(turn.text):
                yield Mark(turn.index, f"quoted: “{quote}”")


def _without_punctuation(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


@dataclass(frozen=True, slots=True)
class Review:
    """What the report shows of transcripts: the ends of each metric, and the transcripts with their marked turns.

    Attributes:
        extremes: as :func:`extremes` gives them.
        transcripts: those that are shown, by id; empty where the run keeps no text or none is wanted.
        marks: of each transcript, by turn: the metric with its end, and what is said.
        left_out: how many extreme transcripts are not shown, to keep the page small.
    """

    extremes: tuple[Extreme, ...]
    transcripts: Mapping[str, Transcript]
    marks: Mapping[str, Mapping[int, tuple[str, ...]]]
    left_out: int


def review(
    view: RatingsView, run: Run, *, linked: Iterable[str] = (), text: bool = True, most_characters: int = 1_500_000
) -> Review:
    """Gather what the report shows of transcripts.

    Args:
        view: the ratings.
        run: their run.
        linked: ids of transcripts that tables link to; they come first.
        text: whether to show what was said.
        most_characters: of turns, over all transcripts shown.
    """
    both_ends = extremes(view)
    if not text:
        return Review(tuple(replace(extreme, reasons=()) for extreme in both_ends), {}, {}, 0)  # reasons may quote
    transcripts: dict[str, Transcript] = {}
    left_out = 0
    if run.manifest["transcripts"]["text"]:
        room = most_characters
        names = dict.fromkeys((*linked, *(extreme.transcript for extreme in both_ends)))
        by_name = {transcript.id: transcript for transcript in run.transcripts_named(names)}
        for name in names:
            transcript = by_name[name]
            size = sum(len(turn.text) for turn in transcript.turns)
            if size > room:
                left_out += 1
                continue
            room -= size
            transcripts[name] = transcript
    return Review(both_ends, transcripts, _marked_turns(view, both_ends, transcripts), left_out)


def _marked_turns(
    view: RatingsView, both_ends: Sequence[Extreme], transcripts: Mapping[str, Transcript]
) -> dict[str, dict[int, tuple[str, ...]]]:
    """What is said of the turns of each transcript, each sentence once."""
    marks: dict[str, dict[int, dict[str, None]]] = {}
    for extreme in both_ends:
        if extreme.transcript not in transcripts:
            continue
        transcript = transcripts[extreme.transcript]
        ratings = _ratings_by(view, extreme.transcript, extreme.raters)
        quoted = [mark for _, reason in extreme.reasons for mark in cited(reason, transcript)]
        for mark in (*_turns_rated(view, ratings, extreme.metric, transcript), *quoted):
            sentences = marks.setdefault(extreme.transcript, {}).setdefault(mark.turn, {})
            sentences[f"{_title(extreme)}: {mark.why}"] = None
    return {name: {turn: tuple(sentences) for turn, sentences in turns.items()} for name, turns in marks.items()}


def _title(extreme: Extreme) -> str:
    return f"{extreme.facts.title} ({rater_words(extreme.raters)}), {extreme.end}"


def turns_of(review_: Review, extreme: Extreme) -> Sequence[int]:
    """The marked turns of one extreme, in order."""
    title = f"{_title(extreme)}: "
    turns = review_.marks.get(extreme.transcript, {})
    return sorted(turn for turn, words in turns.items() if any(text.startswith(title) for text in words))


# -- The report as one HTML file that needs nothing else ------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure of the page.

    Attributes:
        name: of its files.
        title: what it shows, for the caption.
        notes: what the marks are.
        svg, narrow: the drawing, and the same for a phone where there is one.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    svg: str
    narrow: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: heading, paragraphs (plain text), tables, figures, transcripts; what can be copied of it."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    review: Review | None = None
    folded: bool = False
    paste: str = ""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What a question of the ratings comes to.

    Attributes:
        question: the heading.
        findings: what is found, as the command of the question prints it.
        table: the name of the table that stands behind it.
    """

    question: str
    findings: tuple[Finding, ...]
    table: str

    @property
    def sentences(self) -> list[str]:
        """The findings in words, without warnings."""
        return sentences(replace(finding, warning=None) for finding in self.findings)

    @property
    def of_all(self) -> tuple[Finding, ...]:
        """The findings that a paragraph tells: of three systems or more what holds of all; the table has each two."""
        many = any(finding.kind == "pairs differ" for finding in self.findings)
        return tuple(own for own in self.findings if not (many and len(own.systems) == 2 and own.kind != "not rated"))


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What a page opens with: answers, how many of how many entered, warnings, the figure of the main measures."""

    answers: tuple[PageAnswer, ...] = ()
    counts: str = ""
    warnings: tuple[str, ...] = ()
    figure: PageFigure | None = None


def page(title: str, lead: str, sections: Sequence[Section], first: FirstScreen = FirstScreen()) -> str:
    """A whole HTML page.

    Args:
        title: the heading.
        lead: one sentence above it.
        sections: the parts, in order.
        first: what it opens with.
    """
    listings = _listings(sections, first)
    return (
        templates()
        .get_template("page.html")
        .render(
            title=title,
            lead=lead,
            sections=sections,
            first=first,
            listings=listings,
            places={name: at for own in sections if own.review for at, name in enumerate(own.review.transcripts, 1)},
            labels={id: label for _, entries in listings for id, label, _ in entries},
            print_size=print_size,
            counted=counted,
            drawing=_drawing,
            sources=lambda table: (("LaTeX", latex(table)), ("CSV", csv_text(table))),
            extremes_by_metric=_extremes_by_metric,
            number=number,
            rater_words=rater_words,
            turns_of=turns_of,
        )
    )


def _listings(sections: Sequence[Section], first: FirstScreen) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The tables and the figures, numbered through the page: how many there are, and of each id, label and title."""
    tables = [("table", table.name, table.title) for section in sections for table in section.tables]
    drawn = [*([first.figure] if first.figure else []), *(figure for section in sections for figure in section.figures)]
    figures = [("figure", figure.name, figure.title) for figure in drawn]
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


def _extremes_by_metric(review: Review) -> list[tuple[str, list[Extreme]]]:
    """The ends of each metric and raters, under their heading."""
    extremes: dict[tuple[MetricFacts, str], list[Extreme]] = {}
    for extreme in review.extremes:
        extremes.setdefault((extreme.facts, extreme.raters), []).append(extreme)
    return [
        (f"{metric_facts.title} ({rater_words(raters)})", ends) for (metric_facts, raters), ends in extremes.items()
    ]


# -- The report of a run --------------------------------------------------------------------------------

PAGE = "report.html"
#: Name of the file of all tables, without its ending.
TOGETHER = "tables"
_CHECKLISTS = "What reporting guidelines ask for, as far as the run knows it. The rest is for the authors to say."


#: Formats of figures.
FIGURE_FORMATS = ("svg", "pdf", "png")


#: Formats that need a library of an extra: its module, and what a report is without.
_OPTIONAL = {
    "docx": ("docx", 'No Word document: pip install "bedside[forms]".'),
    "svg": ("matplotlib", 'No figures: pip install "bedside[figures]".'),
}


def absent_formats() -> dict[str, str]:
    """The formats of :func:`usual_formats` whose library isn't installed, with what to say of each."""
    return {name: words for name, (module, words) in _OPTIONAL.items() if find_spec(module) is None}


def usual_formats() -> tuple[str, ...]:
    """The formats of a report where none are named: those whose library is installed, and of figures SVG, as PDF and
    PNG take longer than all else."""
    absent = absent_formats()
    return tuple(name for name in (*TABLE_FORMATS, *DOCUMENT_FORMATS, "svg") if name not in absent)


def build_tables(view: RatingsView, names: Sequence[str] | None = None, seed: int = 0) -> tuple[Table, ...]:
    """The tables named, or all, that the ratings have something for, in the order of a report.

    Raises:
        RegistryError: a name is unknown.
        DataError: a table that was asked for by name has nothing to show.
    """
    return make_tables(view, names, settings=ReportSettings(seed=seed))


@phase("writing")
def write_tables(
    tables: Sequence[Table],
    folder: Path,
    formats: Sequence[str] = ("md", "latex", "csv"),
    *,
    paper: LatexPaper | None = None,
    together: bool = False,
) -> tuple[Path, ...]:
    """Write each table in each format into ``folder``, named after the table.

    Args:
        tables: the tables.
        folder: is made if it isn't there.
        formats: by name.
        paper: what LaTeX's tables are set for.
        together: whether a format of an office program has one file of all tables, ``tables.docx``, instead.

    Raises:
        MissingExtraError: a format's library isn't installed; nothing is written.
    """
    texts = text_formats(paper)
    contents: dict[str, bytes] = {}
    for name in formats:
        if name in texts:
            form = texts[name]
            contents |= {f"{table.name}.{form.ending}": form.render(table).encode() for table in tables}
            continue
        if together:
            contents[f"{TOGETHER}.{name}"] = DOCUMENT_FORMATS[name](tables)
        else:
            contents |= {f"{table.name}.{name}": DOCUMENT_FORMATS[name]([table]) for table in tables}
    with saying_where(folder):
        make_folder(folder)
    for name, content in contents.items():
        write_bytes(folder / name, content)
    return tuple(folder / name for name in contents)


@phase("writing")
def write_figures(
    rendered: Mapping[str, Mapping[str, bytes]], folder: Path, formats: Sequence[str]
) -> tuple[Path, ...]:
    """Write figures, each by its name and in each format, into ``folder``."""
    written = []
    with saying_where(folder):
        make_folder(folder)
    for name, contents in rendered.items():
        for ending in formats:
            written.append(folder / f"{name}.{ending}")
            write_bytes(written[-1], contents[ending])
    return tuple(written)


#: Says of a report's files their SHA-256, and the seal of the run that each was made from.
WRITTEN = "written.json"


def read_written(folder: Path) -> dict[str, dict[str, str]]:
    """What a folder says of a report's files, by name; nothing where it holds no such record, or a damaged one."""
    with suppress(RunError):
        shape = {"files": ObjectOf({"sha256": TEXT, "run": TEXT})}
        files: dict[str, dict[str, str]] = read_sealed(folder / WRITTEN, "record of the report", shape)["files"]
        return files
    return {}


def write_report(
    run: Run,
    ratings: RatingsView | None = None,
    *,
    tables: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    out: Path | None = None,
    text: bool = True,
    suite: Suite | None = None,
    reference: RatingsView | None = None,
    settings: ReportSettings | None = None,
    paper: LatexPaper | None = None,
) -> tuple[Tables[None], tuple[Path, ...]]:
    """Write a run's report.

    Args:
        run: the run.
        ratings: the part of its ratings that the report is about; all of them unless given.
        tables: names of tables, of the run's suites or kinds of tables; all and all figures unless named.
        formats: of ``md``, ``latex``, ``html``, ``csv``, ``docx`` and ``xlsx`` for tables, ``svg``, ``pdf`` and
            ``png`` for figures; :func:`usual_formats` unless named. ``html`` is one
            page with every table and figure. ``docx`` and ``xlsx`` are one file of all tables, ``tables.docx``; of
            tables that are named, one of each.
        out: the folder; ``report`` in the run unless named.
        text: whether the page shows what was said at either end of each metric, and raters' reasons.
        suite: whose tables to make in place of those of the suites the run was scored by.
        reference: a corpus that systems are held against.
        settings: what is the same for all tables.
        paper: what LaTeX's tables are set for; a paper of one column unless given.

    Returns:
        The tables, with what the ratings come to where none were named; and the files written.

    Raises:
        DataError: a format is unknown, or a table that is named has nothing to show.
        MissingExtraError: the library of a format that is named isn't installed.
    """
    all_formats = (*TABLE_FORMATS, *DOCUMENT_FORMATS, *FIGURE_FORMATS)
    format_names = list(formats) if formats is not None else list(usual_formats())
    for name in format_names:
        one_of(name, all_formats, "format", DataError, where="`formats`")
    chosen_settings = settings or ReportSettings()
    view = replace(ratings or open_ratings_view(run.path), reference=reference)
    if not text:
        view = replace(view, ratings=wordless(view.ratings.lazy()).collect())
    figure_formats = [name for name in format_names if name in FIGURE_FORMATS]
    drawn_on_page = ["svg"] if "html" in format_names and "svg" in usual_formats() else []
    drawn_formats = sorted({*figure_formats, *drawn_on_page})
    if tables is None:
        parts = make_parts(view, suite=suite, settings=chosen_settings, figures=bool(drawn_formats))
    else:
        tables_named = make_tables(view, tables, suite=suite, settings=chosen_settings)
        parts = tuple(ReportPart(table.title, tables=(table,)) for table in tables_named)
    all_tables = tuple(table for part in parts for table in part.tables)
    folder = out or run.path / "report"
    table_formats = [name for name in format_names if name not in FIGURE_FORMATS and name != "html"]
    drawings = [drawing for part in parts for drawing in part.figures]
    drawn = {drawing.name: drawing.written(drawn_formats) for drawing in drawings}
    written = list(write_tables(all_tables, folder, table_formats, paper=paper, together=tables is None))
    contents = {name: figure.contents for name, figure in drawn.items()}
    written += write_figures(contents, folder, figure_formats)
    answers, behind = answers_of(view, chosen_settings) if tables is None or "html" in format_names else ([], [])
    if "html" in format_names:
        html_page = _page(
            run, view, parts, answers, behind, text=text, settings=chosen_settings, whole=tables is None,
            figures={drawing.name: _page_figure(drawing, drawn[drawing.name]) for drawing in drawings},
        )  # fmt: skip
        write_text(folder / PAGE, html_page)
        written.append(folder / PAGE)
    digests = {file.name: {"sha256": file_digest(file), "run": run.seal} for file in written}
    write_sealed(folder / WRITTEN, {"files": {**read_written(folder), **digests}})
    findings = _first_of_each(answers) if tables is None else ()
    return Tables(all_tables, None, findings=findings), tuple(written)


def _first_of_each(answers: Sequence[PageAnswer]) -> tuple[Finding, ...]:
    """The findings of all answers: two on systems and one on each other question before the rest."""
    of_all = [(answer.findings, 2 if answer.table == "comparison" else 1) for answer in answers]
    first = (finding for findings, count in of_all for finding in findings[:count])
    return (*first, *(finding for findings, count in of_all for finding in findings[count:]))


def _page(
    run: Run,
    view: RatingsView,
    parts: Sequence[ReportPart],
    answers: Sequence[PageAnswer],
    tables_behind: Sequence[Table],
    *,
    figures: Mapping[str, PageFigure],
    text: bool,
    settings: ReportSettings,
    whole: bool,
) -> str:
    """The page; ``figures`` has each figure by its name, and ``whole`` says that no tables were named."""
    main = _main_figure(view, settings) if "svg" in usual_formats() else None
    card = list(judge_cards(view, settings.seed))
    behind = [table for part in parts for table in part.tables] + card
    added = [table for table in tables_behind if table.name not in {other.name for other in behind}]
    parts = [*parts, *(ReportPart("Comparison", tables=(table,)) for table in added if table.name == "comparison")]
    card += [table for table in added if table.name == "estimate"]
    sections = [_part_section(part, figures, whole=whole) for part in sorted(parts, key=_rank)]
    sections += [Section("Judge card", tables=tuple(card))] if card else []
    sections = [replace(section, tables=tuple(map(_shown_first, section.tables))) for section in sections]
    first = FirstScreen(
        tuple(answers), _count_words(view), tuple(_warnings(answers, [*behind, *added]))[:_MOST_WARNINGS], main
    )
    tables = tuple(table for part in parts for table in part.tables)
    past = in_past(finding for answer in answers for finding in answer.of_all)
    told = " ".join([*past, *_warnings(answers, ())])
    paragraphs = (f"{_count_words(view)} {told}", *methods(run, view, tables))
    sections.append(Section("Methods", paragraphs, paste="\n\n".join(paragraphs)))
    linked = {cell.transcript: None for table in tables for row in table.rows for cell in row.cells if cell.transcript}
    sections += _review_sections(view, run, text, linked)
    sections.append(Section("Checklists", (_CHECKLISTS,), checklists(run, view, tables), folded=whole))
    sections.sort(key=lambda section: section.folded)
    return page(_question(view), f"Report on {run.path.name}", sections, first)


#: Warnings and measures that a page opens with, and the most systems that its heading names.
_MOST_WARNINGS, _MOST_MAIN, _MOST_NAMED = 3, 5, 4
#: Rows of a comparison that are all shown.
_MANY_ROWS = 40
#: Places of the parts that stand open below the suites' and the results, by their first table.
_OPEN = {"safety_cases": 1, "comparison": 1, "strengths": 2, "win_rates": 2, "agreement": 3}


def _rank(part: ReportPart) -> int:
    """Where a part stands: outcomes, comparison, agreement, the rest."""
    first = part.tables[0].name if part.tables else ""
    return 0 if part.about or first in ("leaderboard", "results", "safety_card") else _OPEN.get(first, 4)


def _shown_first(table: Table) -> Table:
    """A table of many comparisons, those of which nothing is shown standing back."""
    if table.name != "comparison" or len(table.rows) <= _MANY_ROWS:
        return table
    shown = {place for place, record in enumerate(table.records) if (record.get("p_corrected") or 1) < ALPHA}
    rows = (replace(row, brief=any(cell.record in shown for cell in row.cells)) for row in table.rows)
    return replace(table, rows=tuple(rows)) if shown else table


def _question(view: RatingsView) -> str:
    """The question that a page answers."""
    systems = [view.order.system_label(system) for system in view.systems()]
    if len(systems) < 2:
        return f"What do {counted(view.transcripts().height, 'conversation')} show?"
    if len(systems) > _MOST_NAMED:
        return f"Which of {len(systems)} systems is best?"
    return f"Which is {'better' if len(systems) == 2 else 'best'}: {', '.join(systems[:-1])} or {systems[-1]}?"


def answers_of(view: RatingsView, settings: ReportSettings) -> tuple[list[PageAnswer], list[Table]]:
    """What the ratings say of each question that they answer, and the tables that no report has without being asked."""
    answers, tables = [], []
    with suppress(DataError):
        options = ComparisonOptions(against=settings.against)
        comparisons = comparisons_of(view, options, settings.seed)
        table = PlannedTable(TABLES.load("comparison"), options).build(view, settings)
        if table is not None:
            answers.append(PageAnswer("Which is better?", comparison_findings(comparisons), table.name))
            tables.append(table)
    agreements = agreements_of(view, AgreementOptions(), settings.seed)
    if agreements:
        findings = agreement_findings(agreements, rated_apart(view, agreements))
        answers.append(PageAnswer("How well do raters agree?", findings, "agreement"))
    cards = cards_of(view, settings.seed)
    if cards:
        answers.append(PageAnswer("May the judge stand in for people?", validation_findings(cards), "validation_1"))
    with suppress(DataError):
        estimates = estimate(view, judge=JUDGES)
        known = [finding for finding in estimate_findings(estimates) if finding.kind != "correction not known"]
        if known:
            answers.append(PageAnswer("What is left once people correct the judge?", tuple(known), "estimate"))
            table = with_averaging_notes(estimate_table(estimates), view, shown=BY_WHERE)
            tables.append(with_version_notes(table, view))
    return [answer for answer in answers if answer.findings], tables


def _warnings(answers: Sequence[PageAnswer], tables: Sequence[Table]) -> list[str]:
    """What could change how the answers are read: of findings, then of the tables behind them."""
    findings = [finding for answer in answers for finding in answer.findings]
    behind = {answer.table for answer in answers}
    noted = [note for table in tables if table.name in behind for note in table.notes if getattr(note, "warns", False)]
    return list(dict.fromkeys([*sentences(findings)[len(findings) :], *noted]))


def _count_words(view: RatingsView) -> str:
    """How many conversations there are, and how many of them who rated."""
    talks = view.transcripts()
    systems, cases = len(view.systems()), talks["case_id"].drop_nulls().n_unique()
    said = [counted(talks.height, "conversation") + (f" of {counted(systems, 'system')}" if systems > 1 else "")]
    said[0] += f" on {counted(cases, 'case')}" if 0 < cases < talks.height else ""
    rated = view.ratings.filter(pl.col("error").is_null())
    for kind, belongs in (("people", is_human), ("judges", is_judge)):
        raters = list(filter(belongs, view.raters()))
        count = rated.filter(pl.col("rater").is_in(raters))["transcript_id"].n_unique()
        who = rater_words(raters[0]) if len(raters) == 1 else f"{len(raters)} {kind}"
        said += [f"{who} rated {count:,} of {talks.height:,}"] if raters else []
    missing = failures(missing_counts(view.ratings.lazy()))
    return f"{'; '.join(said)}. {missing:,} of {counted(rated.height + missing, 'rating')} could not be made."


def _main_figure(view: RatingsView, settings: ReportSettings) -> PageFigure | None:
    """The measures that the user names; else the suites' main ones, of the first part of transcripts that has any."""
    named = (
        [("", view, [TableMeasure(metric=name) for name in settings.main])] if settings.main else main_measures(view)
    )
    part, chosen, measures = next(iter(named), ("", view, ()))
    names, quality = [each.metric for each in measures], quality_metrics(chosen) or view.metrics()
    if not settings.main and names == quality[: len(names)]:  # no suite names any
        measures = [TableMeasure(metric=name) for name in quality]
    raters = (PEOPLE, JUDGES, JURIES, ALGORITHMS)
    shown = [item.measure for item, _ in measure(chosen, {"": measures}, raters=raters).items[:_MOST_MAIN]]
    title = f"Main measures ({part})" if part else "Main measures"
    figure = FIGURES.load("points")
    options = {"id": "main-measures", "title": title, "metrics": {"": tuple(shown)}, "raters": raters}
    drawing = figure.build(chosen, settings.seed, figure.options.model_validate(options)) if shown else None
    return None if drawing is None else _page_figure(drawing, drawing.written(["svg"]))


def _page_figure(drawing: Drawing, rendered: RenderedFigure) -> PageFigure:
    """A figure as the page shows it: as it is written, and drawn again for a phone."""
    narrow = drawing.written(["svg"], PHONE).contents["svg"].decode()
    notes = (*drawing.notes, *rendered.notes)
    return PageFigure(drawing.name, drawing.title, notes, rendered.contents["svg"].decode(), narrow)


def judge_cards(view: RatingsView, seed: int) -> tuple[Table, ...]:
    """The cards of all judges, saying what they average over; none where no judge rated what a person rated."""
    noted = (with_averaging_notes(table, view, shown=BY_WHERE) for table in card_tables(view, seed))
    return tuple(with_version_notes(table, view) for table in noted)


def _part_section(part: ReportPart, figures: Mapping[str, PageFigure], *, whole: bool) -> Section:
    """The section of a part; ``figures`` has each figure by its name. Of tables that were named nothing is folded."""
    paragraphs = [part.about] if part.about else []
    if part.left_out:
        paragraphs.append("Left out. " + " ".join(part.left_out))
    if any(table.name == "missing" for table in part.tables):
        paragraphs.append("Nothing is scored 0 for want of a value.")
    drawn = tuple(figures[drawing.name] for drawing in part.figures)
    folded = whole and _rank(part) > max(_OPEN.values())
    return Section(part.title, tuple(paragraphs), part.tables, drawn, folded=folded)


def _review_sections(view: RatingsView, run: Run, text: bool, linked: Iterable[str]) -> list[Section]:
    """The section of the transcripts at either end of each metric, and of those that tables link to."""
    reviewed = review(view, run, linked=linked, text=text)
    if not reviewed.extremes:
        return []
    paragraphs = [
        "For each metric the transcript with the lowest and the highest value, and the turns that made it so."
    ]
    if not text or not run.manifest["transcripts"]["text"]:
        paragraphs.append("What was said is left out.")
    elif reviewed.left_out:
        paragraphs.append(f"{reviewed.left_out} of these transcripts are not shown, to keep the page small.")
    return [Section("Transcripts to look at", tuple(paragraphs), review=reviewed, folded=True)]
