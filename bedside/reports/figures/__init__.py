"""The figures of a report, one file each; the file's name is the figure's name."""

from bedside.reports.figure_kind import FIGURES, Drawing, FigureKind

__all__ = ["FIGURES", "Drawing", "FigureKind"]
