"""Every protocol says what its labels are and which metrics follow from them; what it says is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.metrics import FAMILIES
from bedside.metrics.protocols.contract import PROTOCOLS
from bedside.ratings.suites import SUITES
from tests.conftest import conversation

ROOT = Path(__file__).parents[3]


def test_a_listing_opens_no_protocol_and_knows_folders_only() -> None:
    names = {path.parent.name for path in (ROOT / "bedside" / "metrics" / "protocols").glob("*/__init__.py")}
    assert set(PROTOCOLS.names()) == names >= {"medconceal", "note2chat"}
    assert "contract" not in PROTOCOLS


@pytest.mark.parametrize("name", PROTOCOLS.names())
def test_what_a_protocol_says_is_there(name: str) -> None:
    protocol = PROTOCOLS.load(name)
    assert protocol.name == name, "a protocol's labels stand under the name of its folder"
    family = FAMILIES.load(protocol.family)
    assert protocol.title in family.title
    assert set(SUITES.load(name).metrics) & {family.name, *(metric.name for metric in family.metrics)}
    assert (ROOT / protocol.labels.page).is_file()


@pytest.mark.parametrize("name", PROTOCOLS.names())
def test_ones_labels_replace_all_others_of_the_protocol(name: str) -> None:
    form = PROTOCOLS.load(name).labels
    labelled = conversation(
        ("clinician", "Hello.", {name: {"human:a": {"x": 1}}, "kept": 1}),
        ("patient", "Hi.", {name: {"human:b": {"x": 1}}}),
        reference={name: {"human:c": {"x": 1}}, "kept": 1},
    )
    assert form.raters(labelled) == ["human:a", "human:b", "human:c"]
    replaced = form.replaced(labelled, "judge:m", {"y": 1}, {1: {"z": 2}})
    assert form.raters(replaced) == ["judge:m"]
    assert [turn.meta for turn in replaced.turns] == [{"kept": 1}, {name: {"judge:m": {"z": 2}}}]
    assert replaced.reference == {"kept": 1, name: {"judge:m": {"y": 1}}}
