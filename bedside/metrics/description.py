"""A family's and a metric's own facts as Markdown, for the command line and the docs."""

from __future__ import annotations

from bedside.metrics.contract import Example, Family, Metric

_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better", "none": "neither direction is better"}


def describe_metric(family: Family, name: str) -> str:
    """Everything a metric states of itself."""
    metric = family.metric(name)
    return "\n".join(
        [f"### {metric.title} (`{metric.name}`)", "", metric.definition, "", *_facts(family, metric), ""]
        + [f"- example: {_example(example)}" for example in metric.examples]
    )


def describe_family(family: Family) -> str:
    """A family with its parameters and all its metrics."""
    lines = [f"## {family.title} (`{family.name}`)", "", family.description, "", f"Rater: `{family.rater()}`"]
    if family.model:
        lines += ["", f"Needs {family.model}, named by `--set {family.name}.model=…`; missing without one."]
    if family.parameters:
        lines += ["", "| parameter | default | what it does |", "| --- | --- | --- |"]
        lines += [
            f"| `{name}` | `{parameter.default}` | {parameter.description} |"
            for name, parameter in family.parameters.items()
        ]
    for metric in family.metrics:
        lines += ["", describe_metric(family, metric.name)]
    return "\n".join(lines)


def _facts(family: Family, metric: Metric) -> list[str]:
    if metric.labels:
        scale = "labels " + ", ".join(f"`{label}`" for label in metric.labels)
    elif metric.low is None and metric.high is None:
        scale = "a label" if metric.unit == "turn" and metric.examples[0].turn is not None and isinstance(
            metric.examples[0].value, str
        ) else "any number"  # fmt: skip
    else:
        low = "−∞" if metric.low is None else f"{metric.low:g}"
        high = "∞" if metric.high is None else f"{metric.high:g}"
        scale = f"{low} to {high}"
    kept = ["whole transcript"] if metric.whole or not metric.roles else []
    unit = "turn" if metric.unit == "turn" else ", ".join([*kept, *metric.roles])
    lines = [f"- rates: {unit}", f"- range: {scale}; {_DIRECTIONS[metric.direction]}"]
    if metric.needs:
        lines.append(f"- needs: {', '.join(metric.needs)}")
    if metric.aliases:
        lines.append(f"- in sheets also: {', '.join(f'`{alias}`' for alias in metric.aliases)}")
    return [*lines, f"- source: {metric.source}"]


def _example(example: Example) -> str:
    turns = " / ".join(f"{role}: {text}" for role, text, *_ in example.turns)
    if len(turns) > 160:
        turns = turns[:160].rstrip() + " …"
    where = "".join(
        f", {word}" for word in (example.role, f"turn {example.turn}" if example.turn is not None else None) if word
    )
    value = (
        "missing"
        if example.value is None
        else example.value
        if isinstance(example.value, str)
        else f"{example.value:.6g}"
    )
    return f"*{turns}*{where} → **{value}** ({example.source})"
