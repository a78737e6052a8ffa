"""Questions are their settings: the function, its text and its command have the same fields and defaults."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.cli import command_line, main
from bedside.cli.question_commands import ComparedSettings
from bedside.core.errors import InputError
from bedside.core.question_settings import changed_fields, option, options, question, settings_class

STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")
QUESTIONS = {name: getattr(bedside, name) for name in bedside.__all__ if hasattr(getattr(bedside, name), "settings")}
#: The commands of the functions that have another name.
COMMANDS = {
    "judge_pairs": "judge pairs", "judge_drift": "judge drift",
    "tune_judge": "judge tune", "learn_rater": "judge learn", "jury": "judge jury",
    "cascade": "judge cascade", "route": "judge route",
    "import_ratings": "ratings import", "benchmark": "benchmark run", "extend_benchmark": "benchmark add",
    "simulation_quality": "simulate quality", "adjudicate": "annotate adjudicate",
    "annotation_status": "annotate status", "answer_revisions": "annotate revisions",
    "export_tasks": "annotate export", "import_answers": "annotate import", "propose_next": "annotate next",
    "study_people": "annotate people",
    "pull": "annotate pull", "push": "annotate push", "rating_page": "annotate page", "plan_kappa": "plan kappa",
    "plan_judge": "plan judge", "plan_raters": "plan raters",
    "plan_difference": "plan difference", "train_coder": "train coder", "evaluate_coder": "train test-coder",
    "fit_redirection": "train redirection", "judgements": "judge answers list", "reassign": "annotate reassign",
    "import_judgements": "judge answers import", "export_judgements": "judge answers export",
    "merge_judgements": "judge answers merge", "serve_label_studio": "annotate serve", "simulate": "simulate run",
    **dict.fromkeys(("preferences", "drift", "trend", "deviation"), "compare"),
}  # fmt: skip
#: What ``compare`` calls fields of the questions that it puts for an option.
CALLED = {("preferences", "rubrics"): "metrics", ("deviation", "reference"): "against"}
#: Functions that no command has, but with others.
ALONE = {"judge", "probe", "tables", "figure", "read_ratings", "withdraw"}
COMMANDED = sorted(name for name in QUESTIONS if name not in ALONE and not name.startswith("preview_"))


def command(name: str) -> Any:
    found: Any = command_line()
    for word in COMMANDS.get(name, name).split():
        found = found.commands[word]
    return found


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_a_function_takes_and_names_each_field(name: str) -> None:
    ask = QUESTIONS[name]
    taken = inspect.signature(ask).parameters
    for each in fields(ask.settings):
        assert each.name in taken
        if each.default is not MISSING:
            assert taken[each.name].default == each.default
        field = options(ask.settings)[each.name]
        words = field.help.replace(" ({protocols})", "").replace(" ({engines})", "").replace(" ({probes})", "")
        if field.form == "unless":  # typed, it takes something away: the argument is then false
            words = f"If false: {words[0].lower()}{words[1:]}"
        assert f"    {each.name}: {words}" in ask.__doc__


def helps_of(option: str, name: str) -> list[str]:
    """What the questions of the command that puts this one say of an option; ``compare`` has words of its own too."""
    beside = [other for other in QUESTIONS if COMMANDS.get(other, other) == COMMANDS.get(name, name)]
    settings = [*((other, QUESTIONS[other].settings) for other in beside), ("compare", ComparedSettings)]
    return [
        each.help
        for other, own in (settings if len(beside) > 1 else settings[:1])
        for field, each in options(own).items()
        if CALLED.get((other, field), field) == option
    ]


@pytest.mark.parametrize("name", COMMANDED)
def test_a_command_takes_what_can_be_typed(name: str) -> None:
    typed = {parameter.name: parameter for parameter in command(name).params}
    for field, each in options(QUESTIONS[name].settings).items():
        if each.heading is not None:
            # Of what several questions take, one has the words.
            option = typed[CALLED.get((name, field), field)]
            assert any(option.help.startswith(words) for words in helps_of(option.name, name)) or "{" in each.help


def test_settings_as_an_object_give_the_same_answer() -> None:
    asked = bedside.agree.settings(icc="2,k", scales=SCALES)
    assert bedside.agree.with_settings(STUDY, asked) == bedside.agree(STUDY, icc="2,k", scales=SCALES)
    assert changed_fields(asked) == ["scales", "icc"]
    with pytest.raises(AttributeError):
        asked.icc = "1,1"


def test_what_says_how_a_file_is_read_is_refused_of_a_run(tmp_path: Path) -> None:
    """It was ignored: the run was read as it is, whatever was said."""
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns").run
    for source in (run, run.path):
        with pytest.raises(InputError, match="`columns` and `sheet` say how a file of ratings is read"):
            bedside.tables(source, columns={"item": "id"}, sheet="two")
    with pytest.raises(InputError, match="`exact` says"):
        bedside.agree(bedside.read_ratings(STUDY), exact=True)


def test_how_a_file_is_read_is_said_to_any_question(tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(STUDY.read_text().replace("item,", "Session,", 1))
    (table, *_) = bedside.agree(renamed, columns={"item": "Session"}, rename={"anna": "ada"}, scales=SCALES)
    (same, *_) = bedside.agree(STUDY, scales=SCALES)
    assert "ada" in str(table)
    assert str(table).count("ada") == str(same).count("anna") > 0


def test_a_field_without_a_default_must_be_given() -> None:
    @settings_class
    class Needed:
        """What is needed."""

        word: str = option("A word.", heading=None)

    @question(Needed, "Where it is said.")
    def said(place: str, settings: Needed) -> str:
        """Raises:
        ValueError: never.
        """
        return place + settings.word

    assert said("a", word="b") == "ab"
    assert said.__doc__ == (
        "What is needed.\n\nArgs:\n    place: Where it is said.\n    word: A word.\n\nRaises:\n    ValueError: never.\n"
    )
    with pytest.raises(TypeError, match=r"^said\(\) missing 1 required keyword-only argument: 'word'$"):
        said("a")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^said\(\) got an unexpected keyword argument 'words'$"):
        said("a", words="b")  # type: ignore[call-arg]


@pytest.mark.parametrize("columns", [0, 3])
def test_a_number_that_is_no_choice_is_refused(
    tmp_path: Path, columns: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was taken for a paper of two columns."""
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns").run
    with pytest.raises(InputError, match="`columns`: there is no choice"):
        bedside.report(run, tmp_path / "report", columns=columns)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run.path), "--columns", str(columns)])
    assert ended.value.code == 2
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("part", ["--card", "--methods", "--checklist"])
def test_published_numbers_are_those_of_the_source_whatever_is_printed(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="turns").run
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run.path), part, "--published-numbers"])
    assert ended.value.code == 2
    assert "--published-numbers: published numbers stand in the tables of the source" in capsys.readouterr().err
