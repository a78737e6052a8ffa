"""Every metric states its own facts; what it states is checked here, for all of them."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import ModelError, RegistryError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES, Example, Family, Metric
from bedside.ratings.values import Value
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.tiny import MAKERS

FAMILY_NAMES = FAMILIES.names()
METRICS = [(FAMILIES.load(name), metric) for name in FAMILY_NAMES for metric in FAMILIES.load(name).metrics]
EXAMPLES = [(family, metric, example) for family, metric in METRICS for example in metric.examples]
MODELLED = [name for name in FAMILY_NAMES if FAMILIES.load(name).model]
#: Families with what they are tried with: one that needs a model without it, and with a tiny one.
TRIALS = [
    *(pytest.param((name, False), id=name) for name in FAMILY_NAMES),
    *(pytest.param((name, True), id=f"{name}-model", marks=pytest.mark.model) for name in MODELLED),
]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes, once, a tiny model for a family and returns the parameters that name it."""

    @cache
    def make(name: str) -> dict[str, Any]:
        pytest.importorskip("torch")
        folder: Path = tmp_path_factory.mktemp(name)
        return MAKERS[name](folder)

    return make


@pytest.fixture(params=TRIALS)
def trial(request: pytest.FixtureRequest, tiny: Any) -> tuple[Family, dict[str, Any]]:
    """A family and the parameters to try it with."""
    name, modelled = request.param
    return FAMILIES.load(name), tiny(name) if modelled else {}


def compute(family: Family, transcript: Transcript, wanted: set[str], **given: Any) -> list[Value]:
    return list(family.compute(transcript, frozenset(wanted), **family.settings(given)))


def all_metrics(family: Family) -> set[str]:
    return {metric.name for metric in family.metrics}


def title(pair: Any) -> str:
    return pair.name if isinstance(pair, Family | Metric) else ""


def test_names_are_unique() -> None:
    names = [metric.name for _, metric in METRICS]
    assert len(names) == len(set(names))
    assert not set(names) & set(FAMILY_NAMES)


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_family_states_its_facts(name: str) -> None:
    family = FAMILIES.load(name)
    assert family.name == name
    assert all((family.version, family.title, family.description))
    assert family.rater() == f"algorithm:{name}@{family.version}"


@pytest.mark.parametrize(("family", "metric"), METRICS, ids=title)
def test_metric_states_its_facts(family: Family, metric: Metric) -> None:
    assert metric.source, "a source"
    assert metric.definition.rstrip().endswith("."), "a definition in sentences"
    assert metric.examples
    if not family.model:  # no model ships, whose value could be stated
        assert any(example.value is not None for example in metric.examples), "an example with a value"
    assert metric.low is None or metric.high is None or metric.low < metric.high
    assert not (metric.labels and metric.unit != "turn")


@pytest.mark.parametrize(("family", "metric", "example"), EXAMPLES, ids=title)
def test_example_holds(family: Family, metric: Metric, example: Example) -> None:
    transcript = conversation(*example.turns, **example.transcript)
    values = compute(family, transcript, {metric.name}, **example.parameters)
    matching = [
        value
        for value in values
        if value.metric == metric.name
        and value.role == example.role
        and (value.turn == example.turn or example.value is None)
        and (example.rater is None or (value.rater or family.rater()).split("@")[0] == example.rater)
    ]
    assert matching, "the example's metric, role, turn and rater are given"
    found = matching[0]
    if example.value is None:
        assert found.value is None
        assert found.label is None
        assert found.error
    elif isinstance(example.value, str):
        assert found.label == example.value
    else:
        assert found.value == pytest.approx(example.value, abs=example.tolerance)


def test_each_family_that_needs_a_model_is_tried_with_one() -> None:
    assert set(MAKERS) == set(MODELLED)
    for name in MODELLED:
        assert FAMILIES.load(name).parameters["model"].default == ""


@pytest.mark.parametrize("name", MODELLED)
def test_without_a_model_every_value_is_missing_and_says_so(name: str) -> None:
    family = FAMILIES.load(name)
    for transcript in demonstrations(family):
        values = compute(family, transcript, all_metrics(family))
        assert {value.metric for value in values} == all_metrics(family)
        assert {(value.value, value.label, value.error) for value in values} == {(None, None, family.no_model)}


@pytest.mark.parametrize("name", MODELLED)
def test_a_model_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    family = FAMILIES.load(name)
    with pytest.raises(ModelError):
        family.rater({"model": str(tmp_path / "none")})
    with pytest.raises(ModelError):
        compute(family, conversation(*family.demonstration), all_metrics(family), model=str(tmp_path / "none"))


@pytest.mark.model
@pytest.mark.parametrize("name", MODELLED)
def test_with_a_model_every_metric_has_values(name: str, tiny: Any) -> None:
    family, given = FAMILIES.load(name), tiny(name)
    values = [v for each in demonstrations(family) for v in compute(family, each, all_metrics(family), **given)]
    assert {v.metric for v in values if v.value is not None or v.label is not None} == all_metrics(family)
    assert str(given["model"]) not in family.rater(given), "a model's place is nobody's business"
    assert "+model=" in family.rater(given)


def test_empty_and_one_turn_transcripts_give_missing_values(trial: tuple[Family, dict[str, Any]]) -> None:
    family, given = trial
    values = compute(family, conversation(), all_metrics(family), **given)
    assert {value.metric for value in values} == all_metrics(family), "nothing is left out silently"
    for value in values:
        assert value.value is None, f"{value.metric} of nothing is missing, not {value.value}"
        assert value.label is None
        assert value.error
    one = compute(family, conversation(("clinician", "Hm")), all_metrics(family), **given)
    assert {value.metric for value in one} == all_metrics(family)
    for value in one:
        assert (value.value is None and value.label is None) == (value.error is not None)


def test_only_what_is_wanted_is_computed(trial: tuple[Family, dict[str, Any]]) -> None:
    family, given = trial
    for transcript in demonstrations(family):
        for metric in family.metrics:
            values = compute(family, transcript, {metric.name}, **given)
            assert {value.metric for value in values} == {metric.name}


def demonstrations(family: Family) -> list[Transcript]:
    examples = [e for metric in family.metrics for e in metric.examples]
    made = [conversation(*example.turns, **example.transcript) for example in examples]
    return [*made, conversation(*family.demonstration, **family.demonstration_fields)] if family.demonstration else made


def test_values_lie_in_range_on_known_units(trial: tuple[Family, dict[str, Any]]) -> None:
    family, given = trial
    for transcript in demonstrations(family):
        for value in compute(family, transcript, all_metrics(family), **given):
            metric = family.metric(value.metric)
            assert (value.error is None) == (value.value is not None or value.label is not None)
            if value.error is None:
                assert (value.turn is None) == (metric.unit == "transcript")
            assert value.turn is None or 0 <= value.turn < len(transcript.turns)
            assert value.role is None or value.role in metric.roles
            if value.value is not None:
                assert not metric.labels
                assert metric.low is None or value.value >= metric.low
                assert metric.high is None or value.value <= metric.high
            if value.label is not None and metric.labels:
                assert value.label in metric.labels


def test_same_values_twice_and_no_change_of_the_input(trial: tuple[Family, dict[str, Any]]) -> None:
    family, given = trial
    for transcript in demonstrations(family):
        before = copy.deepcopy(transcript)
        first = compute(family, transcript, all_metrics(family), **given)
        assert compute(family, transcript, all_metrics(family), **given) == first
        assert transcript == before


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        pytest.param(name, parameter, marks=pytest.mark.model if name in MODELLED else ())
        for name in FAMILY_NAMES
        for parameter in FAMILIES.load(name).parameters
    ],
)
def test_each_parameter_changes_something(name: str, parameter: str, tiny: Any) -> None:
    family = FAMILIES.load(name)
    transcript = conversation(*family.demonstration, **family.demonstration_fields)
    facts = family.parameters[parameter]
    assert facts.description
    before = tiny(name) if name in MODELLED and parameter != "model" else {}
    after = before | (tiny(name) if parameter == "model" else {parameter: facts.alternative})
    changed = compute(family, transcript, all_metrics(family), **after)
    assert changed != compute(family, transcript, all_metrics(family), **before)
    assert family.rater(after) != family.rater(before)


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_unknown_parameters_are_refused(name: str) -> None:
    with pytest.raises(RegistryError, match="'nonsense'"):
        FAMILIES.load(name).settings({"nonsense": 1})


def test_parameters_of_another_type_are_refused() -> None:
    for given in ({"min_words": "ten"}, {"min_words": True}, {"raw": 1}, {"min_words": None}):
        with pytest.raises(RegistryError, match=r"readability\."):
            FAMILIES.load("readability").settings(given)


@pytest.mark.parametrize("role", ["clinician", "patient"])
def test_of_a_side_that_has_no_turn_nothing_is_known(trial: tuple[Family, dict[str, Any]], role: str) -> None:
    family, given = trial
    other = {"clinician": "patient", "patient": "clinician"}[role]
    alone = conversation((role, "How do you sleep?"), (role, "I feel tired."), (role, "It is the work, I think."))
    for value in compute(family, alone, all_metrics(family), **given):
        if value.role == other or value.metric in ("talk_share", "talk_time_balance", "exchanges"):
            assert value.error, value


def test_no_shipped_rubric_is_called_like_a_metric() -> None:
    """What is known of a rubric's name is known without the families."""
    names = {metric.name for family in FAMILIES.all().values() for metric in family.metrics}
    assert not names & set(RUBRICS.names())
