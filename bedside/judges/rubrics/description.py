"""A rubric's own facts as Markdown, for the command line and the docs."""

from __future__ import annotations

from collections.abc import Sequence

from bedside.judges.rubrics.answer_form import Label, Level, RubricPart
from bedside.judges.rubrics.rubric import FROM_TRANSCRIPT, Rubric, TuningRecord, plain_name

_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", "none": "neither direction is better"}


def describe(rubric: Rubric) -> str:
    """Everything a rubric states of itself."""
    shown = rubric.shown()
    lines = [f"## {shown.title} (`{shown.name}`)", "", f"*{shown.construct}.* {shown.definition}", ""]
    lines += [f"- rates: {_rated(shown)}", f"- answer: {answer_in_words(rubric)}; {_DIRECTIONS[rubric.direction]}"]
    if rubric.fails_at is not None:
        lines.append(f"- a transcript fails at {rubric.fails_at} or worse")
    if not shown.transcript:
        lines.append("- the conversation is not shown")
    if rubric.stage is not None:
        whose = f"the {rubric.role}'s turns" if rubric.role else "the turns"
        lines.append(
            f"- shown: {whose} of the stage “{rubric.stage}” where turns carry it, else the whole conversation"
        )
    for item in shown.inputs:
        origin = ", from the conversation" if item.name in FROM_TRANSCRIPT else ""
        lines.append(f"- needs: `{item.name}`{origin}: {item.description}")
    if shown.not_applicable:
        lines.append(f"- missing where: {shown.not_applicable}")
    if rubric.aliases:
        lines.append(f"- in sheets also: {', '.join(f'`{alias}`' for alias in rubric.aliases)}")
    lines.append(f"- version: `{rubric.version}`")
    if rubric.translated_from:
        lines.append(f"- language: {rubric.words.language}; a translation of version `{rubric.translated_from}`")
    if shown.scale:
        lines += ["", *_levels(shown.scale)]
    if shown.labels:
        lines += ["", *_labels(shown.labels)]
    if shown.answer:
        lines += ["", *_parts(shown.answer, "")]
    for criterion, measure in zip(shown.criteria, shown.measures if shown.criteria else (), strict=True):
        lines += ["", f"**{measure.title}** (`{measure.name}`). {measure.definition}", ""]
        plain = isinstance(criterion.scale, str)
        described = _levels(measure.scale) if measure.scale else _labels(measure.labels)
        lines += [f"Levels {criterion.scale}, which are not described."] if plain else described
    lines += [*_flow(shown), *_points(shown)]
    if shown.aggregate is not None:
        of = ", ".join(shown.aggregate.mean_of)
        lines += ["", f"**Computed.** `{shown.aggregate.name}`: the mean of {of}; missing where one of them is."]
    for heading, text in (("Instructions", shown.instructions), ("Source", rubric.source), ("Notes", rubric.notes)):
        if text:
            lines += ["", f"**{heading}.** {text}"]
    if rubric.deviations:
        lines += ["", "**Deviates from its source.**", "", *(f"- {text}" for text in rubric.deviations)]
    lines += _tuning(rubric)
    return "\n".join(lines)


def _points(rubric: Rubric) -> list[str]:
    """The criteria that are met or not, or where they stand."""
    points = rubric.points
    if points is None:
        return []
    rows = [f"| {one.points:g} | {_cell(one.criterion)} | {', '.join(one.tags)} |" for one in points.criteria]
    if rows:
        return ["", "| points | criterion | tags |", "| --- | --- | --- |", *rows]
    return ["", f"**Criteria** stand in each transcript's reference under `{points.key}`, each with its points."]


def _flow(rubric: Rubric) -> list[str]:
    """The questions of a flow, where their answers lead, and what each dimension may come to."""
    if not rubric.questions:
        return []
    lines = ["", "| question | dimension | severity | answers, and where they lead |", "| --- | --- | --- | --- |"]
    for question in rubric.questions:
        leads = "; ".join(f"{answer.answer}: {rubric.flow.lead(answer)}" for answer in question.answers)
        cells = (f"{question.id}: {question.question}", question.dimension, question.severity or "", leads)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    lines += ["", f"**Result of a dimension** (such as `{rubric.metrics[-1]}`), the first that holds:", ""]
    for result in rubric.results:
        when = result.when
        told = when and [("answer", when.answer), ("severity", when.severity), ("question", when.question)]
        where = "; ".join(f"{key} {value}" for key, value in told or () if value)
        lines.append(f"- {result.name}: {where or 'otherwise'}")
    exits = "; ".join(f"question {way.question} is answered {way.answer}" for way in rubric.not_relevant)
    return [*lines, f"- missing: {exits}"] if exits else lines


def tuning_words(rubric: Rubric) -> str:
    """How a tuned rubric came to be, and what its tuning brought on what was held out, in a sentence."""
    return _record_words(rubric.history[-1])


def _tuning(rubric: Rubric) -> list[str]:
    """What a tuned rubric has besides its wording."""
    lines = []
    if rubric.level_map:
        steps = ", ".join(f"{step.said:g} as {step.level:g}" for step in rubric.level_map if step.said != step.level)
        lines += ["", f"**Map of levels.** Recorded are the judge's level {steps}."]
    if rubric.examples:
        levels = ", ".join(f"{example.level:g}" for example in rubric.examples)
        lines += [
            "",
            f"**Examples.** A judge is shown {len(rubric.examples)} that people rated (levels {levels}); people "
            "aren't. They are parts of transcripts: the file is as confidential as these.",
        ]
    for record in rubric.history:
        lines += ["", f"**Tuned** {_record_words(record)}. {len(record.candidates)} candidates were tried in training."]
    return lines


def _record_words(record: TuningRecord) -> str:
    gain = record.gain
    bounds = "" if gain.low is None or gain.high is None else f" [{gain.low:.2f}, {gain.high:.2f}]"
    brought = "no gain could be worked out" if gain.estimate is None else f"κ {gain.estimate:+.2f}{bounds}"
    return (
        f"from {record.rubric} {record.version} for {record.judge} on {record.training.units} units of "
        f"{record.training.cases} cases (run {record.run}, seed {record.seed}, bedside {record.bedside}); on "
        f"{record.held_out.units} units held out, {brought}: a gain is {'shown' if record.shown else 'not shown'}"
    )


def answer_in_words(rubric: Rubric) -> str:
    """The form of the answer in a few words, such as ``1 to 5`` or ``open, closed or none``."""
    match rubric.kind:
        case "level":
            low, high = rubric.scale[0].value, rubric.scale[-1].value
            return f"{low} or {high}" if len(rubric.scale) == 2 else f"{low} to {high}"
        case "label" if len(rubric.labels) <= 4:
            labels = [label.label for label in rubric.labels]
            return f"{', '.join(labels[:-1])} or {labels[-1]}"
        case "label":
            return f"one of {len(rubric.labels)} labels"
        case "set":
            return f"any of {len(rubric.labels)} labels"
        case "sheet":
            return f"{len(rubric.criteria)} criteria in one reply"
        case "flow":
            return f"answers to up to {len(rubric.questions)} questions, one after the other"
        case "points":
            return "which of the criteria are met; the score is their points by all points above 0"
        case "vector":
            numbers = sum(part.type == "number" for part in rubric.answer)
            return f"{numbers} numbers from 0 to 1{' and more' if numbers < len(rubric.answer) else ''}"
        case "index":
            part = next(part for part in rubric.answer if part.type == "index")
            return f"the number of one of the {plain_name(str(part.of))}{', or none' if part.optional else ''}"
        case "pairs":
            first, second = (str(item.of) for item in rubric.answer[0].items if item.type == "index")
            return f"pairs of {plain_name(first)} and {plain_name(second)}"
        case "list":
            return f"a list of {plain_name(rubric.answer[0].name)}"


def unit_in_words(rubric: Rubric) -> str:
    """What is rated, in a few words, such as ``turn, clinician``."""
    role = f", {rubric.role}" if rubric.role else ""
    each = f", each of the {plain_name(rubric.each)}" if rubric.each not in (None, "turns") else ""
    return f"{rubric.unit}{role}{each}"


def _rated(rubric: Rubric) -> str:
    rated = unit_in_words(rubric)
    if rubric.unit == "transcript":
        return rated
    if rubric.each == "turns":
        return f"{rated}; all turns in one reply"
    whose = "turns" if rubric.window_role is None else f"{rubric.window_role} turns"
    before = f"all {whose} before it" if rubric.window is None else f"the {rubric.window} {whose} before it"
    return f"{rated}; one by one, with {before} shown"


def _levels(scale: Sequence[Level]) -> list[str]:
    rows = [f"| {level.value} | {_cell(level.descriptor)} |" for level in scale]
    return ["| level | what it looks like |", "| --- | --- |", *rows]


def _labels(labels: Sequence[Label]) -> list[str]:
    rows = [f"| {_cell(label.label)} | {_cell(label.descriptor)} |" for label in labels]
    return ["| label | when it is given |", "| --- | --- |", *rows]


def _parts(parts: Sequence[RubricPart], indent: str) -> list[str]:
    lines = []
    for part in parts:
        of = f" of {plain_name(part.of)}" if part.of else ""
        null = ", or null" if part.optional else ""
        lines.append(f"{indent}- `{part.name}` ({part.type}{of}{null}): {part.descriptor}")
        lines += [f"{indent}  - {level.value}: {level.descriptor}" for level in part.scale]
        lines += [f"{indent}  - {label.label}: {label.descriptor}" for label in part.labels]
        lines += _parts(part.items, indent + "  ")
    return lines


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
