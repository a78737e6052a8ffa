"""What its page shows can be used as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.mdd5k import SIMULATOR
from bedside.simulation.simulators.mdd5k.doctor import read_tree
from bedside.simulation.simulators.mdd5k.story import read_graphs

PAGE = (Path(__file__).parents[4] / "docs" / "simulators" / "mdd5k.md").read_text("utf-8")


def block(language: str, word: str) -> str:
    """The block of code in a language that holds a word."""
    (code,) = (code for code in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if word in code)
    return str(code)


def test_the_case_the_tree_and_the_graph_on_the_page_are_good(tmp_path: Path) -> None:
    case, graph, tree = tmp_path / "case.yaml", tmp_path / "graphs.yaml", tmp_path / "female_adult.json"
    case.write_text(block("yaml", "treatment_advice"), "utf-8")
    ((_, example),) = read_cases(case)
    assert list(SIMULATOR.check_case(example)) == []
    graph.write_text(block("yaml", "people"), "utf-8")
    assert list(read_graphs(graph).graphs) == ["female"]
    tree.write_text(block("json", "parse"), "utf-8")
    assert read_tree(tree).root == "state of mind"


def test_the_page_names_every_option_and_setting() -> None:
    options = [f"{SIMULATOR.name}.{option.name}" for option in SIMULATOR.options]
    for name in options + [each.name for each in SIMULATOR.settings]:
        assert f"`{name}`" in PAGE, name
