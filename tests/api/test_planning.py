"""How many transcripts a study needs; how a run is looked at; what is said of other commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bedside
from bedside.cli import main
from bedside.cli.help import _ELSEWHERE
from bedside.core.errors import DataError, InputError, with_options
from bedside.stats.stand_in import no_worse_than_one_person
from tests.cli.test_errors import commands


def test_sizes_for_kappa_are_those_of_the_settings() -> None:
    sizes = bedside.plan_kappa(raters=[2], shares=[0.5, 0.5], half_width=0.2)
    assert sizes.results == bedside.plan_kappa.with_settings(
        bedside.plan_kappa.settings(raters=[2], shares=[0.5, 0.5], half_width=0.2)
    ).results  # fmt: skip
    with pytest.raises(TypeError, match=r"^plan_kappa\(\) got an unexpected keyword argument 'rater'$"):
        bedside.plan_kappa(rater=2)  # type: ignore[call-arg]


def test_so_many_cases_show_that_a_judge_may_stand_in() -> None:
    """In new studies of the planned size the test itself shows it in 80 %, within three standard errors."""
    (size,) = bedside.plan_judge(0.2, sensitivity=0.75, raters=[3]).results
    assert size.n is not None
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(150):
        truth = rng.random(size.n) < 0.2
        says = (rng.random((size.n, 4)) < np.where(truth, 0.75, 0.05)[:, None]).astype(float)
        shown += all(
            test.p is not None and test.p < 0.05
            for test in no_worse_than_one_person(says[:, 0], says[:, 1:], margin=0.2)
        )
    assert 0.7 < shown / 150 < 0.93


@pytest.mark.parametrize("arguments", [["--levels", "0"], ["--raters", "2.5"]])
def test_numbers_that_cannot_be_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No level was a traceback; two raters and a half were two."""
    with pytest.raises(SystemExit) as ended:
        main(["plan", "kappa", *arguments])
    assert ended.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_difference_needs_a_spread() -> None:
    assert bedside.plan_difference(0.5, sd=1.0).results.difference == 0.5
    with pytest.raises(DataError, match="give `sd`, or `pilot` with `metric` and `systems`"):
        bedside.plan_difference(0.5)
    with pytest.raises(DataError, match="`difference`: no study is large enough"):
        bedside.plan_difference(0, sd=1.0)


def test_a_copy_holds_what_is_chosen(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns").run
    copied = bedside.view(run, export=tmp_path / "copy", systems="steady", sample=2)
    assert copied is not None
    assert copied.transcripts == 2
    assert (tmp_path / "copy" / "index.html").is_file()
    with pytest.raises(InputError, match="`systems`, `sample`: this says what is in a copy, and no copy is written"):
        bedside.view(run, systems="steady", sample=2)


def test_a_citation_is_a_text_or_a_file(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns").run
    (tmp_path / "cite.bib").write_text("@article{a}\n")
    pages = []
    citations: tuple[str | Path, ...] = ("@article{a}\n", tmp_path / "cite.bib")
    for number, citation in enumerate(citations):
        out = tmp_path / str(number)
        bedside.export(run, "hf-folder", out, licence="unknown", origin="written", citation=citation)
        pages.append((out / "README.md").read_text("utf-8"))
    assert pages[0] == pages[1]
    assert "@article{a}" in pages[0]


def test_what_another_command_takes_is_written_as_its_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library named options of commands, which Python doesn't have."""
    assert with_options("without `text=False`, by `seed=1`", {"text": "--no-text", "seed": "--seed"}) == (
        "without --no-text, by --seed 1"
    )
    options = {option for command in commands() for parameter in command.params for option in parameter.opts}
    assert set(_ELSEWHERE.values()) <= options
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns", text=False).run
    with pytest.raises(bedside.BedsideError, match="without `text=False`"):
        list(run.transcripts())
    with pytest.raises(SystemExit):
        main(["sample", str(run.path), "--rubrics", "empathy", "--out", str(tmp_path / "plan.json")])
    assert "`" not in capsys.readouterr().err
