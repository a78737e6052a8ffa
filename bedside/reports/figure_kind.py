"""What a kind of figure states about itself, and what it makes."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, from_extra
from bedside.core.files import cache_folder, saying_where, write_bytes
from bedside.core.registry import Registry
from bedside.core.words import visible
from bedside.reports.table_kind import Options

_FONT = "DejaVu Sans"
#: Inches that a figure is drawn to: as wide as can still be read at the width of a page, and for a phone.
ROOM, PHONE = 10.8, 3.5
#: Of axes and letters, of what stands back, and of lines across: the page's own, which it turns round in the dark.
INK, SOFT, LINE = "#1b2430", "#4a5563", "#c3cad3"
_STYLE: Any = {
    "svg.hashsalt": "bedside",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.sans-serif": [_FONT],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    # Names are no formulas.
    "text.parse_math": False,
}  # fmt: skip
#: A name in another script takes the first of these that is installed and has its letters.
_SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Microsoft YaHei", "PingFang SC",
            "Noto Sans Hebrew", "Noto Sans Arabic")  # fmt: skip
#: No date and no version in any format.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
#: Inches that a page of a journal is high between its margins, and how high it is beside its width: what is wider than
#: a page is set smaller.
_PAGE_HEIGHT, _PAGE_SHAPE = 9.0, 1.38
#: Letters that a note names.
_NAMED = 12
#: Dots an inch of a PNG, and the most dots of its height or width.
_RESOLUTION = 160
_MOST_DOTS = 60_000


def _keep_out_of_home() -> None:
    """Have matplotlib keep its files in our cache where the user has no settings for it: it would make a folder."""
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "matplotlib"
    if not settings.exists() and not (Path.home() / ".matplotlib").exists():
        os.environ.setdefault("MPLCONFIGDIR", str(cache_folder("matplotlib")))


@contextmanager
def styled(room: float = ROOM) -> Iterator[None]:
    """Matplotlib as figures want it, to be so many inches wide; without its remarks on letters that no font has."""
    _keep_out_of_home()
    with from_extra("figures", "figures need matplotlib"):
        import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    # Fonts that aren't there would be looked for at every word.
    installed = set(fontManager.get_font_names())
    families = [_FONT, *(name for name in _SCRIPTS if name in installed), "sans-serif"]
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    with mpl.rc_context({**_STYLE, "font.family": families, "figure.figsize": (room, room)}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)


def _without_font(figure: Any) -> str:
    """The letters in a figure that no installed font of ours has, in order."""
    from matplotlib.font_manager import fontManager, get_font
    from matplotlib.text import Text

    texts = (text.get_text() for text in figure.findobj(Text) if text.get_visible())
    letters = sorted({letter for text in texts for letter in text if not letter.isascii() and letter.isprintable()})
    if not letters:
        return ""
    installed = set(fontManager.get_font_names())
    fonts = [get_font(fontManager.findfont(name)) for name in (_FONT, *_SCRIPTS) if name in installed]
    return "".join(letter for letter in letters if not any(font.get_char_index(ord(letter)) for font in fonts))


#: A panel, and its top and its foot in inches above the foot of its figure.
_PlacedPanel = tuple[Any, float, float]


def _pdf(figure: Any) -> bytes:
    """A figure as PDF, its rows of panels on as many pages as they take."""
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.transforms import Bbox

    width, height = map(float, figure.get_size_inches())
    boxes = ((axis, axis.get_tightbbox()) for axis in figure.axes if axis.get_visible())
    panels = [(axis, box.y1 / figure.dpi, box.y0 / figure.dpi) for axis, box in boxes if box is not None]
    edges = [height, *_page_ends(panels, height, max(_PAGE_HEIGHT, _PAGE_SHAPE * width)), 0.0]
    out = io.BytesIO()
    with PdfPages(out, metadata=_METADATA["pdf"]) as pages:
        for top, bottom in pairwise(edges):
            for axis, above, below in panels:
                axis.set_visible(below < top and above > bottom)
            part = Bbox([[0.0, bottom], [width, top]])
            pages.savefig(figure, bbox_inches=None if len(edges) == 2 else part)
        for axis, _, _ in panels:
            axis.set_visible(True)
    return out.getvalue()


def _page_ends(panels: Iterable[_PlacedPanel], height: float, most: float) -> list[float]:
    """Where pages end between rows of panels, in inches above a figure's foot, from the top.

    Args:
        panels: where each stands.
        height: of the figure, in inches.
        most: how high a page may be, in inches; one row of panels may be higher.
    """
    if height <= most:
        return []
    rows: list[tuple[float, float]] = []
    for top, foot in sorted(((top, foot) for _, top, foot in panels), reverse=True):
        if rows and top > rows[-1][1]:
            rows[-1] = (rows[-1][0], min(foot, rows[-1][1]))
        else:
            rows.append((top, foot))
    ends: list[float] = []
    begin = height
    for place, (top, foot) in enumerate(rows[1:], start=1):
        # The last page has what stands below all panels, too.
        if begin - (0.0 if place == len(rows) - 1 else foot) > most:
            begin = (rows[place - 1][1] + top) / 2
            ends.append(begin)
    return ends


@dataclass(frozen=True, slots=True)
class RenderedFigure:
    """A figure as it is written.

    Attributes:
        contents: of the files, by format.
        boxes: the letters that PNG and PDF show as boxes, as no font is installed that has them; SVG keeps all text.
    """

    contents: dict[str, bytes]
    boxes: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said below the figure of letters that stand as boxes in some of its files."""
        formats = " and ".join(name.upper() for name in self.contents if name != "svg")
        if not self.boxes or not formats:
            return ()
        more = "…" if len(self.boxes) > _NAMED else ""
        return (
            f"In the files as {formats}, boxes stand for {self.boxes[:_NAMED]}{more}: no font that is installed has "
            f"these letters. Install one that does, such as {_SCRIPTS[0]}, and make the report again.",
        )


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure ready to be written.

    Attributes:
        name: of its files.
        title: what it shows, for the caption.
        notes: what the marks are.
        draw: makes the matplotlib figure; called within :func:`styled`.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    draw: Callable[[], Any] = field(repr=False)

    def written(self, formats: Iterable[str] = ("svg", "pdf", "png"), room: float = ROOM) -> RenderedFigure:
        """The figure in each format, up to ``room`` inches wide, its layout found once; the same data, the same bytes.

        SVG keeps text as text and begins with its ``svg`` element, so that it can stand in a page. A PDF has several
        pages where its rows of panels are more than a page of a journal holds.
        """
        contents = {}
        with styled(room):
            from matplotlib.layout_engine import ConstrainedLayoutEngine

            figure = self.draw()
            # A figure that has an engine itself is drawn twice for each format.
            ConstrainedLayoutEngine().execute(figure)
            # A tall figure has fewer dots an inch rather than more dots than a picture can have.
            dots = min(_RESOLUTION, _MOST_DOTS / max(figure.get_size_inches()))
            for name in formats:
                if name == "pdf":
                    contents[name] = _pdf(figure)
                    continue
                out = io.BytesIO()
                figure.savefig(out, format=name, metadata=_METADATA[name], dpi=dots)
                content = out.getvalue()
                if name == "svg":  # XML can't hold what names may
                    content = visible(content[content.index(b"<svg") :].decode()).encode()
                contents[name] = content
            return RenderedFigure(contents, _without_font(figure))

    def svg(self) -> str:
        """The figure as SVG."""
        return self.written(["svg"]).contents["svg"].decode()

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as SVG, PDF or PNG, as the ending of the path says.

        Args:
            path: the file. Its folder is made where there is none, and an older file of the name is replaced.

        Returns:
            The path.

        Raises:
            DataError: the path has another ending.
            RunError: the file can't be written.
        """
        file = Path(path)
        form = file.suffix.lower().removeprefix(".")
        if form not in _METADATA:
            raise DataError(
                "a figure is saved as SVG, PDF or PNG", where=str(file), todo="end the path in .svg, .pdf or .png"
            )
        with saying_where(file):
            write_bytes(file, self.written([form]).contents[form])
        return file


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One kind of figure.

    Attributes:
        name: equal to the file's name.
        title: what it shows, in a few words.
        order: position in a report.
        build: the figure of a view's ratings with its options, its random draws from a seed; None where there is
            nothing to show.
        options: what a suite can say of such a figure.
        general: whether every report has it, or only a suite that names it.
        beside: the kind of table that it stands with; that of its own name unless given.
        shows: systems, side by side; raters, beside each other; or counts, which average nothing.
        weighted: whether its numbers are weighted by the chances with which units were drawn, and it says so itself.
    """

    name: str
    title: str
    order: int
    build: Callable[[RatingsView, int, Any], Drawing | None]
    options: type[Options]
    general: bool = False
    beside: str = ""
    shows: Literal["systems", "raters", "counts"] = "systems"
    weighted: bool = False


FIGURES: Registry[FigureKind] = Registry(
    "bedside.reports.figures", "FIGURE", "figure", FigureKind, group="bedside.figures"
)
