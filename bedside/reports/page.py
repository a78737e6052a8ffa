"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bedside.reports.cell_names import rater_words
from bedside.reports.extremes import Extreme, Review, turns_of
from bedside.reports.number_text import number
from bedside.reports.renderers.csv import csv_text
from bedside.reports.renderers.html import escape_html, html
from bedside.reports.renderers.latex import latex
from bedside.reports.table import Table

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #d5dbe3; --paper: #ffffff; --tint: #f4f6f9;
  --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf0; --soft: #a3afbd; --line: #3a4452; --paper: #12171e;
  --tint: #1b222c; --link: #7db8f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; }
a { color: var(--link); } nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.lead { color: var(--soft); margin-top: 0; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
dl.facts div { background: var(--tint); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; }
dl.facts dt { color: var(--soft); font-size: .85rem; } dl.facts dd { margin: 0; font-size: 1.3rem; font-weight: 600; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .87rem; margin-top: .5rem; }
figure.drawing { background: #fff; border: 1px solid var(--line); border-radius: .4rem; padding: 1rem; }
figure.drawing figcaption { color: #5a6675; } figure.drawing svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
thead th { border-top: 2px solid var(--ink); border-bottom: 1px solid var(--ink); vertical-align: bottom; }
th, td { padding: .22rem .75rem .22rem 0; text-align: left; font-weight: 400; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody:last-child tr:last-child > * { border-bottom: 2px solid var(--ink); }
tr.group th { font-style: italic; color: var(--soft); padding-top: .6rem; }
#table-missing td:nth-child(3), [id^="table-checklist"] td, [id^="table-judge-card"] td { white-space: normal; }
[id^="table-checklist"] td, [id^="table-checklist"] th { vertical-align: top; }
a.skip { position: absolute; left: -99rem; }
a.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
ul.ends { padding-left: 1.2rem; margin: .25rem 0; } ul.ends .why { color: var(--soft); }
details.transcript { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .9rem; }
details.transcript summary { cursor: pointer; font-weight: 600; }
ol.turns { list-style: none; padding: 0; }
ol.turns li { padding: .3rem .6rem; border-left: 4px solid transparent; white-space: pre-wrap;
  overflow-wrap: anywhere; }
ol.turns li.marked { border-color: #d55e00; background: var(--tint); }
ol.turns li:target { outline: 2px solid var(--link); }
ol.turns .who { color: var(--soft); font-size: .87rem; }
ol.turns .because { display: block; font-size: .85rem; color: var(--soft); white-space: normal; }
.copy { margin: .4rem .5rem 0 0; font: inherit; font-size: .82rem; padding: .15rem .6rem; border-radius: .3rem;
  border: 1px solid var(--line); background: var(--tint); color: var(--ink); cursor: pointer; }
"""
# Works from the file system: the clipboard of a page that isn't served needs the selection way.
_SCRIPT = """
document.addEventListener('click', async function (event) {
  const button = event.target.closest('button.copy');
  if (!button) return;
  const source = document.getElementById(button.dataset.source);
  const label = button.textContent;
  let done = false;
  try { await navigator.clipboard.writeText(source.value); done = true; } catch (refused) {
    source.hidden = false; source.select(); done = document.execCommand('copy'); source.hidden = true;
  }
  button.textContent = done ? 'Copied' : 'Could not copy';
  setTimeout(function () { button.textContent = label; }, 1500);
});
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target && target.closest('details:not([open])');
  if (closed) { closed.open = true; target.scrollIntoView(); }
}
window.addEventListener('hashchange', reveal);
reveal();
"""


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
    contents = "".join(
        f'<li><a href="#section-{number}">{escape_html(section.title)}</a></li>'
        for number, section in enumerate(sections, 1)
    )
    shown = "".join(
        f"<div><dt>{escape_html(label)}</dt><dd>{escape_html(value)}</dd></div>" for label, value in facts
    )
    body = "\n".join(_section(number, section) for number, section in enumerate(sections, 1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{escape_html(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>{escape_html(title)}</h1>
<p class="lead">{escape_html(lead)}</p>
<nav aria-label="Contents"><ul>{contents}</ul></nav>
<dl class="facts">{shown}</dl>
</header>
<main id="content">
{body}
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _section(number: int, section: Section) -> str:
    parts = [f'<section id="section-{number}"><h2>{escape_html(section.title)}</h2>']
    parts += [f"<p>{escape_html(paragraph)}</p>" for paragraph in section.paragraphs]
    for position, (svg, caption) in enumerate(section.figures, 1):
        # Two drawings on one page must not share the ids of their parts.
        drawing = svg.replace('id="', f'id="f{number}-{position}-').replace(
            'href="#', f'href="#f{number}-{position}-'
        )
        drawing = drawing.replace("url(#", f"url(#f{number}-{position}-")
        drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{escape_html(caption)}" ', 1)
        parts.append(
            f'<figure class="drawing">{drawing}<figcaption>{escape_html(caption)}</figcaption></figure>'
        )
    for table in section.tables:
        parts.append(html(table))
        for what, text in (("LaTeX", latex(table)), ("CSV", csv_text(table))):
            name = f"source-{table.name}-{what.lower()}"
            parts.append(f'<button type="button" class="copy" data-source="{name}">Copy as {what}</button>')
            parts.append(f'<textarea id="{name}" hidden readonly>{escape_html(text)}</textarea>')
    if section.review is not None:
        parts += _review(section.review)
    parts.append("</section>")
    return "\n".join(parts)


def _review(review: Review) -> list[str]:
    """The ends of each metric, and the transcripts they link to."""
    numbers = {name: position for position, name in enumerate(review.transcripts, 1)}
    parts = []
    for metric_facts, raters in dict.fromkeys((extreme.facts, extreme.raters) for extreme in review.extremes):
        parts.append(
            f'<h3>{escape_html(f"{metric_facts.title} ({rater_words(raters)})")}</h3><ul class="ends">'
        )
        parts += [
            _end(review, extreme, numbers.get(extreme.transcript))
            for extreme in review.extremes
            if (extreme.facts, extreme.raters) == (metric_facts, raters)
        ]
        parts.append("</ul>")
    if review.transcripts:
        parts.append("<h3>The transcripts</h3>")
    parts += [_transcript(review, name, position) for name, position in numbers.items()]
    return parts


def _end(review: Review, extreme: Extreme, position: int | None) -> str:
    name = escape_html(extreme.transcript)
    link = name if position is None else f'<a href="#transcript-{position}">{name}</a>'
    system = f" ({escape_html(extreme.system)})" if extreme.system else ""
    shared = f", as {extreme.shared - 1} more" if extreme.shared > 1 else ""
    text = (
        f"{extreme.end.capitalize()}: {number(extreme.value, extreme.facts.digits)}{shared}: {link}{system}"
    )
    turns = turns_of(review, extreme)
    if position is not None and turns:
        text += "; turns " + ", ".join(f'<a href="#turn-{position}-{turn}">{turn}</a>' for turn in turns)
    for rater, reason in extreme.reasons:
        text += f'<br><span class="why">{escape_html(rater_words(rater))}: {escape_html(reason)}</span>'
    return f"<li>{text}</li>"


def _transcript(review: Review, name: str, position: int) -> str:
    transcript = review.transcripts[name]
    marks = review.marks.get(name, {})
    turns = []
    for turn in transcript.turns:
        why = "".join(
            f'<span class="because">{escape_html(text)}</span>' for text in marks.get(turn.index, ())
        )
        marked = ' class="marked"' if why else ""
        who = f'<span class="who">[{turn.index}] {escape_html(turn.speaker)}:</span> '
        turns.append(f'<li id="turn-{position}-{turn.index}"{marked}>{who}{escape_html(turn.text)}{why}</li>')
    system = f", {escape_html(transcript.system)}" if transcript.system else ""
    about = f"{escape_html(name)}{system}, {len(transcript.turns)} turns, {len(marks)} marked"
    return (
        f'<details class="transcript" id="transcript-{position}"><summary>{about}</summary>'
        f'<ol class="turns">{"".join(turns)}</ol></details>'
    )
