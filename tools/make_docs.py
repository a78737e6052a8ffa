"""Writes docs/metrics.md from what the metrics state of themselves. ``--check`` only says whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from bedside.metrics import FAMILIES
from bedside.metrics._describe import describe_family
from bedside.ratings import COLUMNS

DOCS = Path(__file__).parents[1] / "docs"
MARK = "<!-- made by tools/make_docs.py: "


def metrics_page() -> str:
    """The page on metrics."""
    lines = [
        "# Metrics",
        "",
        f"{MARK}edit the metrics' own files instead -->",
        "",
        "What each metric states of itself, as `bedside metrics show NAME` prints it. A metric kept for a role has",
        "the role after a dot in the ratings table: `smog.clinician`. What can't be computed is missing, with",
        "its reason.",
        "",
        "| family | metrics |",
        "| --- | --- |",
    ]
    families = FAMILIES.all()
    for name, family in families.items():
        listed = ", ".join(f"`{metric.name}`" for metric in family.metrics)
        lines.append(f"| [{family.title}](#{_anchor(family.title, name)}) | {listed} |")
    for family in families.values():
        lines += ["", describe_family(family)]
    return "\n".join(lines) + "\n"


def _anchor(title: str, name: str) -> str:
    text = f"{title} {name}".lower()
    return "".join(
        character for character in text.replace(" ", "-") if character.isalnum() or character in "-_"
    )


def ratings_table() -> str:
    """The columns of the ratings table, for the page on ratings and runs."""
    rows = [f"| `{name}` | {kind} | {about} |" for name, (kind, about) in COLUMNS.items()]
    return "\n".join(["| column | type | what it holds |", "| --- | --- | --- |", *rows])


def pages() -> dict[Path, str]:
    """Each page that is made, with its text."""
    ratings = DOCS / "ratings-and-runs.md"
    before, rest = ratings.read_text("utf-8").split(f"{MARK}columns -->\n", 1)
    after = rest.split("<!-- end -->", 1)[1]
    made = f"{before}{MARK}columns -->\n{ratings_table()}\n<!-- end -->{after}"
    return {DOCS / "metrics.md": metrics_page(), ratings: made}


def main() -> None:
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        sys.exit(f"not current: {', '.join(path.name for path in stale)}; run make docs" if stale else 0)
    for path in stale:
        path.write_text(pages()[path], "utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
