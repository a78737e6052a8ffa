"""What a labelling page asks, read back from its XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree


def controls(page: str) -> dict[str, tuple[str, ...]]:
    """What a page asks, whatever it looks like: the name of each control → what can be recorded."""
    root = ElementTree.fromstring(page)
    recorded: dict[str, tuple[str, ...]] = {}
    for control in [*root.iter("Choices"), *root.iter("TextArea")]:
        values = [str(choice.get("alias", choice.get("value"))) for choice in control.iter("Choice")]
        recorded[str(control.get("name"))] = tuple(values)
    for control in root.iter("ParagraphLabels"):
        labels = [str(label.get("alias", label.get("value"))) for label in control.iter("Label")]
        recorded[str(control.get("name"))] = tuple(labels)
    for shown in root.iter("Paragraphs"):
        recorded[f"${shown.get('name')}"] = (str(shown.get("value")),)
    return recorded
