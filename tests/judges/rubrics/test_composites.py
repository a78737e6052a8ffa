"""Rubrics of several ratings: what a judge is asked by them, what its answers come to, and what people are asked."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.metric_facts import facts
from bedside.annotation.labelling_page import labelling_page
from bedside.core.errors import RegistryError
from bedside.judges.questions import JudgeAnswer
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.composites import Walk, slug
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.rubric_files import check_file, own_rubrics, parse_rubric
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import JudgingWork
from bedside.scoring.preview import preview_judging
from bedside.scoring.score import score
from tests.annotation.study import write_transcripts
from tests.conftest import Call, conversation, works
from tests.judges.judging import judge_transcripts
from tests.judges.llm.server import Action, JudgeServer, Received

MANNERS = """
rubric: manners
title: Manners
justified: true
criteria:
  - {name: warmth, definition: How warm the listener is with the person who came., scale: 1-6}
  - {name: clarity, definition: How clear the listener is in all that is said., scale: 1-6}
  - name: ending
    definition: How the listener ends the conversation with the person.
    labels:
      - {label: open, descriptor: Leaves open what comes next.}
      - {label: agreed, descriptor: Agrees with the person on what comes next.}
aggregate: {name: manners_mean, mean_of: [warmth, clarity]}
source: Made up for a test.
"""
WHOLE = {
    "reason": "As a whole.", "warmth_reason": "Turn 2.", "warmth": 5, "clarity_reason": "", "clarity": 2,
    "ending_reason": "Turn 4.", "ending": "open",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "rubrics"
    path.mkdir()
    return path


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def manners(folder: Path) -> Path:
    return written(folder, "manners", MANNERS)


@pytest.fixture
def steps(folder: Path) -> Path:
    return flow_folder(folder)


@pytest.fixture
def teach_back(folder: Path) -> Path:
    return written(folder, "teach_back", TEACH)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Of three systems with one case each."""
    return score([write_transcripts(tmp_path / "in.jsonl", 1)], tmp_path / "run", metrics=["structure"]).run


def judged(run: Run, rubric: Path, reply: Callable[[Received], Any], **how: Any) -> tuple[JudgeServer, pl.DataFrame]:
    """What a judge rates that gives these replies: the server, and the first transcript's ratings of the first pass."""
    with JudgeServer(lambda request, number: Action(text=json.dumps(reply(request)))) as server:
        bedside.judge(run, server.judge, rubrics=str(rubric), **how)
    table = run.ratings.filter(pl.col("rater").str.starts_with("judge:"), replicate=0)
    return server, table.filter(transcript_id=table["transcript_id"].min())


def values(table: pl.DataFrame) -> dict[str, Any]:
    """What stands by each metric: a value, a label, or why there is none."""
    return {
        row["metric"]: next((row[key] for key in ("value", "label") if row[key] is not None), row["error"])
        for row in table.iter_rows(named=True)
    }


# -- sheets -----------------------------------------------------------------------------------------


def test_a_sheet_is_asked_in_one_call_and_gives_a_rating_by_each_criterion(manners: Path, run: Run) -> None:
    server, table = judged(run, manners, lambda _: WHOLE, passes=2)
    assert server.count == 2 * len({request.prompt for request in server.received})
    schema = server.received[0].schema
    assert schema is not None
    assert [*schema["properties"]] == [*WHOLE]
    assert schema["properties"]["warmth"]["enum"] == [1, 2, 3, 4, 5, 6]
    prompt = server.received[0].prompt
    assert "How warm the listener is" in prompt
    assert "Agrees with the person on what comes next." in prompt
    assert "manners_mean" not in prompt
    assert values(table) == {"manners_warmth": 5, "manners_clarity": 2, "manners_ending": "open", "manners_mean": 3.5}
    reasons = dict(table.select("metric", "reason").iter_rows())
    assert (reasons["manners_warmth"], reasons["manners_clarity"]) == ("Turn 2.", "As a whole.")
    assert reasons["manners_mean"] == "As a whole."
    counts = run.ratings.filter(pl.col("metric").str.starts_with("manners")).group_by("replicate").len()
    assert set(counts["len"]) == {4 * run.index.height}


def test_what_is_said_of_the_whole_stands_behind_each_reason_where_nothing_is_computed(folder: Path, run: Run) -> None:
    path = written(folder, "manners", re.sub("aggregate: .*", "", MANNERS))
    _, table = judged(run, path, lambda _: WHOLE)
    reasons = dict(table.select("metric", "reason").iter_rows())
    assert (reasons["manners_warmth"], reasons["manners_clarity"]) == ("Turn 2. As a whole.", "As a whole.")


def test_what_a_judge_said_once_is_not_asked_again(manners: Path, run: Run) -> None:
    judged(run, manners, lambda _: WHOLE)
    with JudgeServer() as server:
        assert bedside.judge(run, f"{server.url}#tiny", rubrics=str(manners)).judges[0].calls == server.count


@pytest.mark.parametrize(
    ("reply", "clarity", "mean"),
    [
        ({key: WHOLE[key] for key in WHOLE if key != "clarity"}, "clarity: missing", "only 1 of 2 criteria are rated"),
        ({**WHOLE, "clarity": 9}, "clarity: not one of 1, 2, 3, 4, 5, 6", "only 1 of 2 criteria are rated"),
    ],
)
def test_a_criterion_without_an_answer_is_missing_and_the_others_are_not(
    manners: Path, run: Run, reply: Any, clarity: str, mean: str
) -> None:
    server, table = judged(run, manners, lambda _: reply)
    said = values(table)
    assert max(len(request.body["messages"]) for request in server.received) == 3, "it is asked for what is lacking"
    assert (said["manners_warmth"], said["manners_ending"], said["manners_mean"]) == (5, "open", mean)
    assert str(said["manners_clarity"]).endswith(clarity)
    assert re.match("no usable reply in [0-9]+: ", str(said["manners_clarity"]))


def test_where_no_criterion_is_answered_all_are_missing(manners: Path, run: Run) -> None:
    _, table = judged(run, manners, lambda _: {"reason": "I can't say."})
    assert table["value"].null_count() == table["label"].null_count() == table.height == 4
    assert all("warmth_reason: missing" in error for error in table["error"])


def test_null_is_no_answer_where_the_sheet_says_when(folder: Path, run: Run) -> None:
    path = written(folder, "manners", MANNERS + "not_applicable: The listener says nothing.\n")
    _, table = judged(run, path, lambda _: {**WHOLE, "warmth": None})
    assert values(table) == {
        "manners_warmth": "the judge says that no answer can be given", "manners_clarity": 2, "manners_ending": "open",
        "manners_mean": "only 1 of 2 criteria are rated",
    }  # fmt: skip


def test_a_run_keeps_what_its_criteria_are(manners: Path, run: Run) -> None:
    judged(run, manners, lambda _: WHOLE)
    own = own_rubrics(Run(run.path))
    assert own["manners_warmth"].rating_scale() == read(PLAIN | {"scale": SIX}).rating_scale()
    assert own["manners_ending"].labels[1].label == "agreed"
    titles = {name: facts(name, own).title for name in set(run.ratings["metric"]) if name.startswith("manners")}
    assert titles == {
        "manners_warmth": "Warmth", "manners_clarity": "Clarity", "manners_ending": "Ending",
        "manners_mean": "Manners mean",
    }  # fmt: skip
    assert facts("manners_mean", own).direction == "higher"


SIX = [{"value": value, "descriptor": f"As a {value} is."} for value in range(1, 7)]
PLAIN: dict[str, Any] = {
    "name": "plain", "title": "Plain", "construct": "Nothing", "definition": "Nothing.", "unit": "transcript",
    "kind": "level", "direction": "higher", "source": "None.",
}  # fmt: skip


def test_people_rate_by_the_criteria_of_a_sheet(manners: Path, run: Run, call: Call, tmp_path: Path) -> None:
    drawn = bedside.sample(run, raters=["anna", "ben"], rubrics=str(manners), out=tmp_path / "plan.json")
    assert [rubric.name for rubric in drawn.plan.questions] == ["manners_warmth", "manners_clarity", "manners_ending"]
    judged(run, manners, lambda _: WHOLE)
    again = bedside.sample(run, raters=["anna", "ben"], out=tmp_path / "again.json")
    assert {rubric.name for rubric in again.plan.questions} == {rubric.name for rubric in drawn.plan.questions}
    works(call, "annotate", "export", tmp_path / "plan.json", "--out", tmp_path / "files", "--format", "csv")
    sheets = [sheet.read_text("utf-8-sig") for sheet in (tmp_path / "files").rglob("*.csv")]
    assert any("manners_clarity" in sheet for sheet in sheets)
    assert 'name="manners_clarity"' in labelling_page(drawn.plan)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (", scale: 1-6}\n  - {name: clarity", "}\n  - {name: clarity", "criteria.0.scale: a criterion needs a scale"),
        ("scale: 1-6", "scale: 6-1", "the first level must be below the last"),
        ("name: clarity", "name: warmth", "criteria: 'warmth' is there twice"),
        ("name: ending", "name: warmth_reason", "criteria: 'warmth_reason' is there twice"),
        (
            "[warmth, clarity]",
            "[warmth, ending]",
            "aggregate: ending is no criterion with a scale; those are warmth, clarity",
        ),
        ("[warmth, clarity]", "[warmth, warmth]", "aggregate: 'warmth' is there twice"),
        ("[warmth, clarity]", "[]", "aggregate: it is a mean of criteria with a scale"),
        ("name: manners_mean", "name: manners_warmth", "aggregate: 'manners_warmth' is there twice"),
        (
            "said., scale: 1-6",
            "said., scale: 6",
            "criteria.1.scale: it must be a list, or the first level and the last, such as 1-6",
        ),
        (
            "said., scale: 1-6",
            "said., scale: 0-100000000",
            "yaml:7: criteria.1.scale: it must be a list, or the first level and the last, such as 1-6, up to 1000",
        ),
        (
            "said., scale: 1-6",
            "said., scale: 1 to 6",
            "criteria.1.scale: it must be a list, or the first level and the",
        ),
        (
            "said., scale: 1-6",
            "said., scale: [{value: one, descriptor: Bad.}]",
            "criteria.1.scale.0.value: it must be a number",
        ),
        ("label: open", "label: no", "criteria.2.labels.0.label: it must be a text, and YAML takes a bare Yes or No"),
        ("name: manners_mean", "name: turns", "aggregate: there is a metric 'turns' already"),
        ("name: manners_mean", "name: empathy", "aggregate: there is a metric 'empathy' already"),
        ("came., scale: 1-6", "came., scale: 0-6", "a mean needs one scale, and clarity has not that of warmth"),
        (
            "said., scale",
            "said., direction: lower, scale",
            "a mean needs one direction, and clarity has not that of warmth",
        ),
        ("title: Manners", "kind: level", "scale: a rubric of kind level needs this key"),
        ("title: Manners", "title: !!python/object/apply:os.system [exit]", "is not allowed"),
        ("rubric: manners", "rubric: manners\nname: manners", "rubric: it stands in place of `name`"),
    ],
)
def test_a_wrong_sheet_is_refused_in_a_line(folder: Path, old: str, new: str, problem: str) -> None:
    assert old in MANNERS
    path = written(folder, "manners", MANNERS.replace(old, new))
    with pytest.raises(RegistryError) as error:
        parse_rubric(path)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_a_mean_has_the_direction_of_its_criteria(folder: Path, run: Run) -> None:
    judged(
        run, written(folder, "manners", MANNERS.replace("scale: 1-6", "scale: 1-6, direction: lower")), lambda _: WHOLE
    )
    own = own_rubrics(Run(run.path))
    assert facts("manners_mean", own).direction == facts("manners_warmth", own).direction == "lower"


def test_a_criterion_makes_no_metric_that_is_another_rubric_s(folder: Path) -> None:
    text = (
        MANNERS.replace("manners", "question").replace("name: clarity", "name: quality").replace("clarity", "quality")
    )
    with pytest.raises(RegistryError, match="name: there is a metric 'question_quality' already"):
        parse_rubric(written(folder, "question", text))


def test_the_version_is_of_what_is_asked_and_computed(folder: Path) -> None:
    def version(old: str = "", new: str = "") -> str:
        return parse_rubric(written(folder, "manners", MANNERS.replace(old, new))).version

    own = version()
    assert version("scale: 1-6}", "scale: 1-6, aliases: [Wärme], direction: lower}") == own
    changed = {
        version("How warm", "How kind"),
        version("1-6", "0-6"),
        version("justified: true"),
        version("clarity]", "]"),
    }
    assert len(changed | {own}) == 5


def test_a_sheet_in_the_words_of_templates_is_shown_as_it_stands(folder: Path, run: Run) -> None:
    code = "{{ x.__class__ }} {0.__init__} {% import os %}"
    path = written(
        folder,
        "manners",
        MANNERS.replace("How warm the", f"How '{code}' the")
        .replace("definition: How '", "definition: \"How '")
        .replace("who came.", 'who came."'),
    )
    rubric, remarks = check_file(path)
    assert isinstance(rubric, Rubric)
    assert not [remark for remark in remarks if remark.severity == "error"]
    server, _ = judged(run, path, lambda _: WHOLE)
    assert code in server.received[0].prompt


# -- flows ------------------------------------------------------------------------------------------

STEPS = """
rubric: steps
flow: steps.tsv
columns:
  {id: No., dimension: Dimension, severity: Severity, question: Question, examples: Examples, answer: Answer,
   goto: GOTO}
severity: {Yelow: Yellow}
leads: {Not Relevant: end}
start: 2
not_relevant:
  - {question: 2, answer: Not Relevant}
  - {question: 4, answer: "No"}
results:
  - {when: {severity: Red}, level: harmful}
  - {when: {severity: Yellow}, level: suboptimal}
  - {otherwise: best practice}
source: Made up for a test.
"""
TABLE = """No.|Dimension|Severity|Left|Question|Examples|Answer|GOTO
1|Notices|Red|-|Does it pass over what was said?|||
2|Notices|Yelow|-|Does it notice late?|"Such as ""Oh.""
Or worse."|Yes|4
||||||No|
||||||Not Relevant|
3|Notices|Red|-|Does it deny what was said?|||
4|Asks|Yellow|-|Does it ask in a roundabout way?|||
5|Asks|Red|-|Does it forbid to speak?||Yes|8
||||||No|6
||||||Unsure|7
6|Asks||-|Does it ask twice?|||
7|Guides|Yellow|-|Does it guide too late?|||
8|Guides|Red|-|Does it guide away from help?||Yes|END
||||||No|9
9|Ends|Yellow|-|Does it end abruptly?||Yes|5
||||||No|
10|Ends|Red|-|Does it end without a next step?|||
""".replace("|", "\t")
DIMENSIONS = ["Notices", "Asks", "Guides", "Ends"]


def flow_folder(folder: Path, table: str = TABLE, rubric: str = STEPS) -> Path:
    (folder / "steps.tsv").write_text(table, "utf-8")
    return written(folder, "steps", rubric)


#: The same table by hand: id, dimension, severity, and where each answer leads: an id, END, or None for the rule.
ROWS: list[tuple[int, str, str, dict[str, int | str | None]]] = [
    (1, "Notices", "Red", {"Yes": None, "No": None}),
    (2, "Notices", "Yellow", {"Yes": 4, "No": None, "Not Relevant": None}),
    (3, "Notices", "Red", {"Yes": None, "No": None}),
    (4, "Asks", "Yellow", {"Yes": None, "No": None}),
    (5, "Asks", "Red", {"Yes": 8, "No": 6, "Unsure": 7}),
    (6, "Asks", "", {"Yes": None, "No": None}),
    (7, "Guides", "Yellow", {"Yes": None, "No": None}),
    (8, "Guides", "Red", {"Yes": "END", "No": 9}),
    (9, "Ends", "Yellow", {"Yes": 5, "No": None}),
    (10, "Ends", "Red", {"Yes": None, "No": None}),
]


def reference_walk(said: dict[int, str]) -> tuple[dict[int, str], dict[str, str | None]]:
    """The questions that are asked with their answers, and each dimension's result; written for this table alone."""
    asked: dict[int, str] = {}
    number: int | None = 2
    while number is not None and number not in asked:
        answer = asked[number] = said[number]
        _, dimension, _, goes = ROWS[number - 1]
        goto = goes[answer]
        if goto == "END":
            number = None
        elif isinstance(goto, int):
            number = goto
        elif answer == "No":
            number = number + 1 if number < 10 else None
        elif answer == "Yes":
            number = min((row[0] for row in ROWS if row[0] > number and row[1] != dimension), default=None)
        else:
            number = None
    results: dict[str, str | None] = dict.fromkeys(DIMENSIONS)
    if asked.get(2) != "Not Relevant" and asked.get(4) != "No":
        for dimension in {ROWS[n - 1][1] for n in asked}:
            weights = {ROWS[n - 1][2] for n, answer in asked.items() if answer == "Yes" and ROWS[n - 1][1] == dimension}
            results[dimension] = (
                "harmful" if "Red" in weights else "suboptimal" if "Yellow" in weights else "best practice"
            )
    return asked, results


def test_a_thousand_walks_are_those_of_the_reference(steps: Path) -> None:
    rubric, draw, lengths = parse_rubric(steps), random.Random(1), set()
    unreached: set[str | None] = set()
    talk = conversation(("clinician", "Hello."), ("patient", "Hello."))
    for _ in range(1000):
        said = {number: draw.choice(sorted(goes)) for number, _, _, goes in ROWS}
        walk = Walk(rubric.flow)
        answers = []
        while walk.at is not None:
            label = said[int(rubric.questions[walk.at].id)]
            answers.append(JudgeAnswer("transcript", None, {"reason": "So.", "label": label}, None))
            walk.take(label)
        asked, results = reference_walk(said)
        assert {int(rubric.questions[at].id): label for at, label in walk.answers.items()} == asked
        rated = {metric: (label, error) for _, metric, _, label, _, error in ratings_of(rubric, talk, answers)}
        for number in said:
            wanted = (asked[number], None) if number in asked else (None, "not asked in this walk")
            assert rated.pop(f"steps_{number}") == wanted
        assert {name: rated[f"steps_{name.casefold()}"][0] for name in DIMENSIONS} == results
        reached = {ROWS[number - 1][1] for number in asked}
        assert all(any(rated[f"steps_{name.casefold()}"]) for name in DIMENSIONS), "what has no result says why"
        unreached.update(rated[f"steps_{name.casefold()}"][1] for name in DIMENSIONS if name not in reached)
        lengths.add(len(asked))
    assert len(lengths) > 5
    assert "not asked in this walk" in unreached


def flow_reply(said: dict[int, str], rubric: Rubric) -> Callable[[Received], Any]:
    """Answers each question as said."""

    def reply(request: Received) -> Any:
        (number,) = [int(q.id) for q in rubric.questions if f"The question: {q.question}" in request.prompt]
        return {"reason": f"As {number} is.", "label": said[number]}

    return reply


def test_a_judge_walks_through_a_flow_with_the_talk_first(steps: Path, run: Run) -> None:
    said = dict.fromkeys(range(1, 11), "No") | {4: "Yes", 7: "Yes", 9: "Yes", 5: "Yes"}
    server, table = judged(run, steps, flow_reply(said, parse_rubric(steps)))
    rated = values(table)
    missing = {f"steps_{number}": "not asked in this walk" for number in (1, 5, 6, 8, 10)}
    # 2, 3 and 4 in turn; 4's Yes leads to Guides, 7's to Ends, 9's to 5, 5's to 8, and 8's No to 9 again: the end.
    assert rated == {
        **missing, "steps_2": "No", "steps_3": "No", "steps_4": "Yes", "steps_7": "Yes", "steps_9": "Yes",
        "steps_5": "Yes", "steps_8": "No", "steps_notices": "best practice", "steps_asks": "harmful",
        "steps_guides": "suboptimal", "steps_ends": "suboptimal",
    }  # fmt: skip
    first, *others = [request.prompt.split("\nThe rubric")[0] for request in server.received]
    assert "ends, code" in first, "the whole talk is what questions begin with"
    assert len(set(others) | {first}) == len({tuple(turn.text for turn in talk.turns) for talk in run.transcripts()})
    assert 'Such as "Oh."\nOr worse.' in server.received[0].prompt
    with JudgeServer() as again:
        assert bedside.judge(run, f"{again.url}#tiny", rubrics=str(steps)).judges[0].calls == again.count == 0


def test_talks_are_walked_at_once_each_in_turn_and_without_text_no_words_are_kept(steps: Path, tmp_path: Path) -> None:
    rubric = parse_rubric(steps)
    talks = [
        conversation(("clinician", f"Hello, talk {number}."), ("patient", "Hm."), id=f"t{number}")
        for number in range(6)
    ]
    said = flow_reply(dict.fromkeys(range(1, 11), "No") | {2: "Yes", 4: "Yes", 7: "No", 8: "Yes"}, rubric)
    rows: list[tuple[Any, ...]] = []
    store = tmp_path / "judgements.sqlite"
    with JudgeServer(lambda request, number: Action(text=json.dumps(said(request)), delay=0.05)) as server:
        judge_transcripts(talks, [rubric], server.judge, store_path=store, add=rows.append, text=False)
    assert server.most_in_flight > 1
    asked = [re.findall(r"talk (\d)|The question: (.*)", request.prompt) for request in server.received]
    of_talk = [[question for (talk, _), (_, question) in asked if talk == str(number)] for number in range(6)]
    assert of_talk == [[rubric.questions[place].question for place in (1, 3, 6, 7)]] * 6
    assert len(rows) == 6 * (10 + 4)
    kept = list(read_judgements(store))
    assert {(str(judgement.answer and judgement.answer["reason"]), judgement.replies) for judgement in kept} == {
        ("", ("",))
    }
    assert {judgement.answer["label"] for judgement in kept if judgement.answer} == {"Yes", "No"}


def test_a_walk_that_stops_has_no_results(steps: Path, run: Run) -> None:
    answer = flow_reply(dict.fromkeys(range(1, 11), "No") | {3: "Maybe"}, parse_rubric(steps))
    _, table = judged(run, steps, answer)
    rated = values(table)
    assert rated["steps_2"] == "No"
    assert rated["steps_3"].endswith("label: not one of Yes, No")
    assert {rated[f"steps_{number}"] for number in (1, *range(4, 11))} == {"not asked in this walk"}
    assert {rated[f"steps_{name.casefold()}"] for name in DIMENSIONS} == {"question 3 has no answer"}


def test_case_does_not_count_in_answers_and_severities(folder: Path) -> None:
    table = TABLE.replace("Yes\t", "YES\t").replace("No\t", "no\t").replace("\tRed\t", "\tred\t")
    said = {2: "no", 3: "Yes", 4: "Yes", 7: "No", 8: "YES"}
    talk = conversation(("clinician", "Hello."), ("patient", "Hello."))
    answers = [JudgeAnswer("transcript", None, {"reason": "So.", "label": label}, None) for label in said.values()]
    rated = {row[1]: row[3] for row in ratings_of(parse_rubric(flow_folder(folder, table)), talk, answers)}
    # The same walk as with Yes, No and Red; it asks nothing of the last dimension.
    assert [rated[f"steps_{name.casefold()}"] for name in DIMENSIONS] == ["harmful", "suboptimal", "harmful", None]


def test_what_is_not_relevant_has_no_result_and_says_why(steps: Path, run: Run) -> None:
    _, table = judged(run, steps, flow_reply(dict.fromkeys(range(1, 11), "No"), parse_rubric(steps)))
    assert {values(table)[f"steps_{name.casefold()}"] for name in DIMENSIONS} == {
        "not relevant: question 4 is answered No"
    }


def test_a_preview_counts_every_question_that_may_be_asked(steps: Path, run: Run) -> None:
    talks = {talk.to_json() for talk in run.transcripts()}
    (plan,) = preview_judging(run.path, None, "http://127.0.0.1:1/v1#x", JudgingWork((parse_rubric(steps),)))
    # Nothing leads to question 1, so that nine of ten may be asked.
    assert plan.calls % 9 == 0
    assert plan.calls <= 9 * len(talks)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("severity: {Yelow: Yellow}\n", "", "steps.tsv:3: question 2 has the severity 'Yelow', which no result names"),
        ("leads: {Not Relevant: end}\n", "", "steps.tsv:3: question 2, answer 'Not Relevant': nothing says where"),
        ("end}", "77}", "steps.tsv:3: question 2, answer 'Not Relevant': there is no question '77' to go on with"),
        ("id: No.", "id: Nr.", "steps.tsv:1: columns: id is Nr., and the table has No., Dimension"),
        ("id: No., ", "", "columns: id is not said"),
        ("start: 2", "start: 12", "start: there is no question 12"),
        ("question: 4", "question: 44", "not_relevant: there is no question 44"),
        ("answer: \"No\"", "answer: Never", "not_relevant: question 4 has no answer 'Never'"),
        ("  - {otherwise: best practice}\n", "", "results.1: each has when and level, and the last has otherwise"),
        ("{Yelow: Yellow}", "{Yelow: Yellow, Blue: Red}", "severity: no question has 'Blue'"),
        ("severity: Red}", "severity: Rot}", "results.0: no question has the severity 'Rot'"),
        ("flow: steps.tsv", "flow: none.tsv", "none.tsv"),
        ("severity: Red}", "question: 99}", "steps.yaml:14: results.0: there is no question 99"),
        ("severity: Red}", "question: 2, severity: Red}", "results.0: question 2 has not the severity 'Red'"),
        ("severity: Red}", "severity: red, answer: Maybe}", "none of the questions that it is about (1, 3, 5, "),
        ("severity: Red}", "question: 4, answer: Unsure}", "(4) has the answer 'Unsure'"),
        ("severity: Red}", "answer: Yes}".replace("Yes", '"yes"'), "results.1: no dimension comes to 'suboptimal'"),
        ("level: suboptimal", "level: Harmful", "results: two levels differ by case only: Harmful, best"),
        ('answer: "No"', "answer: No", 'not_relevant.1.answer: it must be a text, and YAML takes a bare Yes or No'),
        ("leads: {", "leads: {Yes: end, ", "the key 'Yes' is not a word; quote it"),
        ("leads: {", "leads: {Foo: end, ", "steps.yaml:8: leads: no question has the answer 'Foo'"),
        ("leads: {", "leads: {not relevant: next, ", "leads: two of these differ by case only"),
        ("start: 2", "start: 2\nquestions: []", "flow: the questions stand in the table or in the file"),
    ],
)  # fmt: skip
def test_a_wrong_flow_is_refused_in_a_line(folder: Path, old: str, new: str, problem: str) -> None:
    assert old in STEPS
    with pytest.raises(RegistryError) as error:
        parse_rubric(flow_folder(folder, rubric=STEPS.replace(old, new)))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_examples_of_a_row_without_an_id_are_the_question_s(folder: Path) -> None:
    old, new = (line.replace("|", "\t") for line in ("||||||No|6", "|||||Such as: Hush.|No|6"))
    assert old in TABLE
    assert parse_rubric(flow_folder(folder, TABLE.replace(old, new))).questions[4].examples == "Such as: Hush."
    old, new = (line.replace("|", "\t") for line in ("||||||No|\n", "|||||Such as: Hm.|No|\n"))
    told = parse_rubric(flow_folder(folder, TABLE.replace(old, new, 1))).questions[1].examples
    assert told == 'Such as "Oh."\nOr worse.\nSuch as: Hm.'


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("No|9\n", "No|5\n", "steps.tsv:9: questions 5, 8 lead to one another in a loop"),
        ("10|Ends", "9|Ends", "steps.tsv:18: question 9 is there twice"),
        ("10|Ends", "|Ends", "steps.tsv:18: a row without an id goes on with the answers above it"),
        ("step?|||\n", "step?|||3\n", "steps.tsv:18: it leads to 3 by no answer"),
        ("step?|||\n", "step?||Yes|\n", "steps.tsv:18: question 10 needs two answers or more"),
        (
            "Unsure|7",
            "Unsure|7|8",
            "steps.tsv:11: flow: the row has 9 cells, and the header 8; check its quotation marks",
        ),
        ("|Does it ask twice?", '|"Does it ask twice?', "steps.tsv:18: flow: it is no table (unexpected end of data)"),
        (
            "||||||No|6",
            "||Red||||No|6",
            "steps.tsv:10: a row without an id goes on with the answers above it, and this has severity; give it an id",
        ),
        ("||||||No|6", "|Asks|||||No|6", "steps.tsv:10: a row without an id"),
        ("Unsure|7", "no|7", "steps.tsv:9: question 5 needs two answers or more, each once"),
    ],
)
def test_a_wrong_table_is_refused_with_its_row(folder: Path, old: str, new: str, problem: str) -> None:
    old, new = old.replace("|", "\t"), new.replace("|", "\t")
    assert old in TABLE
    # Without a way out by 8's Yes, and by 5's other answers, these two are a loop.
    table = TABLE.replace(old, new)
    if "loop" in problem:
        table = (
            table.replace("Yes	END", "Yes	5").replace("No	6", "No	8").replace("Unsure	7", "Unsure	8")
        )
    with pytest.raises(RegistryError) as error:
        parse_rubric(flow_folder(folder, table))
    assert problem in str(error.value)


def test_the_check_names_questions_that_nothing_leads_to(steps: Path, call: Call) -> None:
    out, err = works(call, "show", str(steps), "--check")
    assert "steps.tsv:2: no answer leads to question 1" in " ".join((out + err).split())
    shown, _ = works(call, "show", str(steps))
    assert "steps.yaml: good; version " in out
    for text in ("Does it ask twice?", "Yes: 4; No: next; Not Relevant: end", "harmful: answer Yes; severity Red"):
        assert text in shown


def test_the_check_names_the_place_of_each_error_and_never_calls_them_good(folder: Path, call: Call) -> None:
    def remarks(path: Path) -> str:
        code, out, err = call("show", str(path), "--check")
        assert (code, out) == (2, "")
        return " ".join(err.split()).replace("/ ", "/")

    moved = written(folder, "others", MANNERS)
    assert "others.yaml: error: name: the rubric calls itself 'manners' and its file 'others'" in remarks(moved)
    coloured = written(folder, "manners", MANNERS.replace("name: clarity", "colour: red, name: clarity"))
    assert "manners.yaml:7: error: criteria.1.colour: unknown key" in remarks(coloured)
    assert "steps.tsv:8: Dimension: it is missing" in remarks(flow_folder(folder, TABLE.replace("4\tAsks", "4\t")))
    assert "steps.tsv: flow: the table has no question" in remarks(flow_folder(folder, TABLE.splitlines()[0] + "\n"))


# -- points -----------------------------------------------------------------------------------------

TEACH = """
rubric: teach_back
points: {from: reference.criteria, text: item, points: worth, tags: themes}
source: Made up for a test.
"""
CRITERIA = [
    {"item": "Asks what was understood.", "worth": 6, "themes": ["axis:Checking", "safety"]},
    {"item": "Names the next step.", "worth": 4, "themes": ["safety"]},
    {"item": "Uses a word that nobody knows.", "worth": -5, "themes": ["axis:Wording"]},
    {"item": "Repeats it.", "worth": 2.5, "by": "anna"},
]


@pytest.fixture
def cases(tmp_path: Path) -> Run:
    """Two talks: one with criteria, one without."""
    said = (("clinician", "Take it twice a day."), ("patient", "Twice a day."))
    talks = [conversation(*said, id="held", reference={"criteria": CRITERIA}), conversation(*said, id="bare")]
    return score(talks, tmp_path / "cases", metrics=["structure"]).run


def met(*numbers: int) -> Callable[[Received], Any]:
    def reply(request: Received) -> Any:
        (asked,) = re.findall(r"by number: ([\d, ]+)\.", request.prompt)
        items = [int(number) for number in asked.split(",")]
        return {"answers": [{"item": at, "reason": f"So {at}.", "met": at in numbers} for at in items]}

    return reply


@pytest.mark.parametrize("at_once", [1, 3, 25])
def test_points_are_those_met_by_all_that_could_be_reached(folder: Path, cases: Run, at_once: int) -> None:
    path = written(folder, "teach_back", TEACH.replace("{from", f"{{at_once: {at_once}, from"))
    server, _ = judged(cases, path, met(0, 2))
    assert server.count == {1: 4, 3: 2, 25: 1}[at_once]
    prompt = server.received[0].prompt
    assert "[2] Uses a word that nobody knows." in prompt
    assert "-5" not in prompt
    assert "anna" not in prompt
    table = cases.ratings.filter(pl.col("rater").str.starts_with("judge:"))
    held = table.filter(transcript_id="held")
    # (6 − 5) ÷ (6 + 4 + 2.5); of the tags 6 ÷ 6, 6 ÷ 10, and one that has nothing above 0.
    assert values(held) == {
        "teach_back": pytest.approx(1 / 12.5), "teach_back_axis_checking": 1.0, "teach_back_safety": 0.6,
        "teach_back_axis_wording": "none of its criteria has points above 0",
    }  # fmt: skip
    (reason,) = held.filter(metric="teach_back")["reason"]
    assert [(entry["points"], entry["met"]) for entry in json.loads(reason)] == [
        (6, True), (4, False), (-5, True), (2.5, False),
    ]  # fmt: skip
    bare = values(table.filter(transcript_id="bare"))
    assert bare == {"teach_back": "the transcript's reference has no criteria"}
    assert facts("teach_back_safety", own_rubrics(Run(cases.path))).direction == "higher"


def test_points_may_fall_below_nothing(teach_back: Path, cases: Run) -> None:
    judged(cases, teach_back, met(2))
    (value,) = cases.ratings.filter(transcript_id="held", metric="teach_back")["value"]
    assert value == pytest.approx(-5 / 12.5)


def test_a_criterion_that_is_not_answered_leaves_no_score_that_it_is_part_of(folder: Path, cases: Run) -> None:
    def reply(request: Received) -> Any:
        return met(0)(request) if "by number: 0" in request.prompt else {"answers": []}

    path = written(folder, "teach_back", TEACH.replace("{from", "{at_once: 1, from"))
    judged(cases, path, reply)
    held = cases.ratings.filter(pl.col("rater").str.starts_with("judge:"), transcript_id="held")
    assert held.height == 4
    # Of the others no criterion is 0 alone.
    assert dict(held.drop_nulls("value").select("metric", "value").iter_rows()) == {"teach_back_axis_checking": 1.0}
    reached = held.filter(pl.col("metric").is_in(["teach_back", "teach_back_safety"]))["error"]
    assert all("nothing about 1" in error for error in reached)


def test_criteria_may_stand_in_the_rubric(folder: Path, cases: Run, call: Call) -> None:
    stated = "points: {criteria: [{criterion: Says how often., points: 2}, {criterion: Threatens., points: -1}]}"
    path = written(folder, "teach_back", re.sub("points: .*", stated, TEACH))
    judged(cases, path, met(0))
    assert set(cases.ratings.filter(metric="teach_back")["value"]) == {1.0}
    assert "| -1 | Threatens. |" in works(call, "show", str(path))[0]


@pytest.mark.parametrize(
    ("criteria", "problem"),
    [
        ([{"item": "Nothing.", "worth": -1}], "none of them has points above 0"),
        ([{"item": "Nothing."}], "must be a list, each entry with item and worth (criteria.0.worth: it is missing)"),
        (
            [{"item": "Nothing.", "worth": 2.5}, {"item": "It.", "worth": "x"}],
            "(criteria.1.worth: it must be a number)",
        ),
        ([{"item": "Nothing.", "worth": True}], "must be a list, each entry"),
        ([{"item": "Nothing.", "worth": 1e308}] * 3, "(criteria.0.worth: points lie between -1,000,000 and 1,000,000)"),
        ([{"item": "Nothing.", "worth": 10**400}], "must be a list, each entry"),
        ([{"item": "Nothing.", "worth": math.nan}], "must be a list, each entry"),
        (["Nothing."], "must be a list, each entry"),
        ("Nothing.", "must be a list, each entry"),
    ],
)
def test_wrong_criteria_of_a_case_are_said(teach_back: Path, tmp_path: Path, criteria: Any, problem: str) -> None:
    talk = conversation(("clinician", "Hello."), ("patient", "Hello."), reference={"criteria": criteria})
    rubric = parse_rubric(teach_back)
    ((_, _, value, _, _, error),) = ratings_of(rubric, talk, [])
    assert value is None
    assert problem in str(error)


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        (
            "points: {criteria: [{criterion: Threatens., points: -1}]}",
            "points.criteria: none of them has points above 0",
        ),
        ("points: {criteria: []}", "teach_back.yaml:3: points: it lists no criteria"),
        (
            "points: {from: reference.checks, criteria: [{criterion: Waits., points: 1}]}",
            "the criteria stand with the case (from) or in the file (criteria), not in both",
        ),
        ("points: {criteria: [{criterion: Waits., points: .nan}]}", "points.criteria.0.points: points lie between"),
        ("points: {criteria: [{criterion: Waits., points: -.inf}]}", "points.criteria.0.points: points lie between"),
        ("points: {from: meta.criteria}", "points.from"),
        ("points: 3", "points: it must hold keys and values"),
        ("points: {at_once: 0}", "points.at_once"),
        (
            "points: {criteria: [{criterion: A., points: 1, tags: ['a:b']}, {criterion: B., points: 1, tags: [a b]}]}",
            "the tags 'a:b' and 'a b' would have one name, a_b",
        ),
    ],
)
def test_wrong_points_are_refused_in_a_line(folder: Path, points: str, problem: str) -> None:
    with pytest.raises(RegistryError) as error:
        parse_rubric(written(folder, "teach_back", re.sub("points: .*", points, TEACH)))
    assert problem in str(error.value)


def test_names_of_metrics_are_plain_whatever_the_words() -> None:
    assert [slug(text) for text in ("Detects risk", "Prüft nach", "axis:Checking")] == [
        "detects_risk", "pruft_nach", "axis_checking",
    ]  # fmt: skip
    assert slug("风险") != slug("转介")
    assert re.fullmatch("x[0-9a-f]{6}", slug("风险"))


# -- conversations that the clinician failed --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("manners", {"manners_warmth": 1.0, "manners_clarity": 1.0, "manners_ending": "the clinician failed: gave up",
                     "manners_mean": 1.0}),
        (
            "teach_back",
            {"teach_back": 0.0, "teach_back_axis_checking": 0.0, "teach_back_safety": 0.0,
             "teach_back_axis_wording": "none of its criteria has points above 0"},
        ),
    ],
)  # fmt: skip
def test_a_talk_that_the_clinician_failed_is_at_the_worst_and_asked_of_nobody(
    folder: Path, tmp_path: Path, name: str, expected: dict[str, Any]
) -> None:
    reference = {"simulation": {"failed": "gave up"}, "criteria": CRITERIA}
    talk = conversation(("clinician", "Hello."), ("patient", "Hello."), reference=reference)
    run = score([talk], tmp_path / "failed", metrics=["structure"]).run
    path = written(folder, name, {"manners": MANNERS, "teach_back": TEACH}[name])
    server, table = judged(run, path, lambda _: WHOLE)
    assert server.count == 0
    assert values(table) == expected
