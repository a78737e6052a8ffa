"""What is said of questions that the ratings don't answer, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.analysis.agreement import agree, retests
from bedside.analysis.audits import audits
from bedside.analysis.comparison import compare
from bedside.analysis.deviation import deviation
from bedside.analysis.drift import drift
from bedside.analysis.estimation import estimate
from bedside.analysis.gate import gate
from bedside.analysis.groups import group_view
from bedside.analysis.non_inferiority import margins_of, within_margins
from bedside.analysis.pair_preferences import chosen_preferences, system_preferences
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.self_preference import makers
from bedside.analysis.simulated_talks import with_complete_cases
from bedside.analysis.study_parts import checked_match
from bedside.analysis.study_size import pilot_differences
from bedside.analysis.trend import trend
from bedside.analysis.validation import validate
from bedside.core.errors import BedsideError
from bedside.ratings.scales import parse_scale
from bedside.ratings.table import frame_of
from tests.analysis.builders import rating
from tests.analysis.preference_study import PreferenceStudy
from tests.analysis.ratings_rows import Row, of_system, view
from tests.analysis.simulated_run import simulation

#: The metric empathy of two systems on six cases, by a judge and, on its second half, by two people.
TWO = [rating(f"{s}{n}", s, f"c{n}", "empathy", "judge:m", 1.0 + n % 3) for s in "AB" for n in range(6)]
PEOPLE = [rating(f"{s}{n}", s, f"c{n}", "empathy", f"human:{who}", 2.0) for s in "AB" for n in (4, 5) for who in "xy"]
MARGIN = margins_of({"empathy": 0.3})
LENGTHS = {"t": 20, "u": 80}


def ratings(*more: tuple[Any, ...], rows: list[tuple[Any, ...]] = TWO, **factors: list[str]) -> RatingsView:
    """A view of rows, with a factor's level for each transcript."""
    table = frame_of([*rows, *more])
    names = table["transcript_id"].unique(maintain_order=True).to_list()
    frame = pl.DataFrame({"transcript_id": names, **factors}) if factors else None
    return RatingsView(table, {}, frame, "the run")


def of_lengths(levels: dict[str, Any] | None) -> RatingsView:
    rows: list[Row] = [(name, "A", "1", "empathy", "human:x", 1.0) for name in levels or {"t": None}]
    return view(rows, levels)


def of_messages(*numbers: int) -> RatingsView:
    rows: list[Row] = [(f"t{n}", "A", None, "turns", "algorithm:r@1", float(n)) for n in numbers]
    return view([*rows, *((f"t{n}", "A", None, "empathy", "human:x", 1.0) for n in numbers)])


def other_metric(name: str) -> RatingsView:
    return ratings(rows=[(*row[:4], name, *row[5:]) for row in TWO])


def preferred(first: str = "A", second: str = "B", **named: Any) -> object:
    study = PreferenceStudy()
    study.prefer(("a0", first, "c0"), "b0", "human:x", 1.0)
    study.tell("b0", second, "c0")
    return system_preferences(chosen_preferences(study.view(), **named))


def hanging() -> RatingsView:
    """B at two engines, of which the second is easier, and A at the first: whether B is better hangs on them."""
    rows, engines = [], []
    for case in range(16):
        base = 3 + 0.1 * (case % 5)
        for name, system, value, engine in (
            ("A", "A", base + 0.1 * (-1) ** case, "x"),
            ("Bx", "B", base - 0.75, "x"),
            ("By", "B", base + 1.75, "y"),
        ):
            rows.append(rating(f"{name}{case}", system, f"c{case}", "empathy", "judge:m", value))
            engines.append(engine)
    return ratings(rows=rows, engine=engines)


def file_of(folder: Path, text: str) -> Path:
    path = folder / "r.csv"
    path.write_text(text)
    return path


def rounds(folder: Path, **chosen: Any) -> object:
    text = "item,rater,metric,value,round\n1,ann,empathy,2,r1\n1,ann,empathy,4,r2\n1,ben,empathy,4,r2\n"
    return open_ratings_view(file_of(folder, text), **chosen)


def one_person(folder: Path, *metrics: str, judge: str = "judge:m") -> RatingsView:
    """What two people and a judge rated."""
    rows = [
        f"i{n},{rater},{metric},{1 + (n + len(rater)) % 3}"
        for n in range(20)
        for metric in metrics
        for rater in ("anna", "ben", judge)
    ]
    return open_ratings_view(file_of(folder, "\n".join(["item,rater,metric,value", *rows]) + "\n"))


def run_of(folder: Path, *factors: dict[str, Any]) -> bedside.Run:
    """A run of a transcript for each of these factors, all of one system."""
    turns = [{"role": "clinician", "text": "How are you?"}, {"role": "patient", "text": "Well."}]
    lines = [
        json.dumps({"id": f"t{n}", "system": "A", "case_id": f"c{n}", "factors": own, "turns": turns})
        for n, own in enumerate(factors)
    ]
    (folder / "talks.jsonl").write_text("\n".join(lines) + "\n")
    return bedside.score(folder / "talks.jsonl", folder / "run", metrics=["structure"]).run


def copied_simulation(folder: Path) -> object:
    """Simulated conversations without the folder that says which failed."""
    talks = simulation(folder / "talks") / "transcripts.jsonl"
    (folder / "copied.jsonl").write_bytes(talks.read_bytes())
    run = bedside.score(folder / "copied.jsonl", folder / "run", metrics=["structure"]).run
    return with_complete_cases(open_ratings_view(run))


def harm() -> object:
    study = ratings(*((*row[:4], "harm", *row[5:]) for row in TWO))
    return gate(replace(study, scales={"harm": parse_scale("0-2")}), baseline="A", margins=MARGIN, safety={"harm": 1})


CASES: dict[str, Callable[[Path], object]] = {
    # agreement
    "nobody beside": lambda folder: agree(ratings()),
    "ids in two spellings": lambda folder: bedside.agree(
        file_of(folder, "item,rater,warmth\nA1,anna,1\nA2,anna,2\na1,ben,1\na2,ben,2\n")
    ),
    "form of alpha": lambda folder: agree(ratings(*PEOPLE), alpha="ratio"),  # type: ignore[arg-type]
    "form of weights": lambda folder: agree(ratings(*PEOPLE), weights="cubic"),  # type: ignore[arg-type]
    "form of the ICC": lambda folder: agree(ratings(*PEOPLE), icc="4,1"),  # type: ignore[arg-type]
    "nobody again": lambda folder: retests(ratings(*PEOPLE)),
    "no audits": lambda folder: audits(ratings(), metrics=["coldness"]),
    # systems and groups
    "no such metric": lambda folder: ratings().metrics(["warmth"]),
    "no such system": lambda folder: compare(ratings(), systems=["A", "Z"]),
    "one system": lambda folder: compare(ratings(rows=TWO[:6])),
    "one system of groups": lambda folder: compare(ratings(rows=TWO[:6], quality=[*"hlhlhl"])),
    "two for Friedman": lambda folder: compare(ratings(), test="friedman"),
    "no zeros and ones": lambda folder: compare(ratings(), test="mcnemar"),
    "adjusted by false discoveries": lambda folder: compare(ratings(), adjusted_intervals=True, correction="bh"),
    "labels without an order": lambda folder: bedside.compare(
        file_of(folder, "item,system,rater,danger\na,A,x,red\nb,A,x,blue\nc,B,x,green\nd,B,x,red\n"),
        metrics=["danger"],
    ),
    "no such factor": lambda folder: group_view(ratings(ward=[*"xy"] * 6), "wart"),
    "one group": lambda folder: group_view(ratings(ward=["x"] * 12), "ward"),
    "groups of a file": lambda folder: group_view(ratings(), "ward"),
    "groups of systems": lambda folder: group_view(
        ratings(rows=[(row[0], row[1], None, *row[3:]) for row in TWO], ward=[*"xy"] * 6), "ward"
    ),
    "no such group": lambda folder: compare(group_view(ratings(ward=["long", "short"] * 6), "ward"), reference="lng"),
    "matched by an outcome": lambda folder: bedside.compare(
        run_of(folder, {"completed": True}, {"completed": False}), match="completed"
    ),
    "matched by systems": lambda folder: checked_match(["system"], ratings(system=[*"xy"] * 6).factors, {}, "study"),
    # parts of a study
    "two rounds": rounds,
    "no such round": lambda folder: rounds(folder, rounds=["r3"]),
    "file without factors": lambda folder: rounds(folder, rounds=["r1"], where={"setting": ["8"]}),
    "no such level": lambda folder: open_ratings_view(run_of(folder, {"ward": "x"}), where={"ward": ["z"]}),
    "simulated and not": lambda folder: open_ratings_view(run_of(folder, {"synthetic": True}, {})),
    "nothing simulated": lambda folder: with_complete_cases(open_ratings_view(run_of(folder, {}))),
    "failures unknown": copied_simulation,
    # lengths
    "one length": lambda folder: drift(of_lengths({"t": 20}), "target_length"),
    "no such factor of lengths": lambda folder: drift(of_lengths(LENGTHS), "length"),
    "no number": lambda folder: drift(of_lengths({"t": "long"}), "target_length"),
    "no such length": lambda folder: drift(of_lengths(LENGTHS), "target_length", lengths=(20, 30)),
    "lengths that descend": lambda folder: drift(of_lengths(LENGTHS), "target_length", lengths=(80, 20)),
    "no lengths": lambda folder: drift(of_lengths(None), "target_length"),
    "no edges": lambda folder: trend(of_messages(4, 9, 20), edges=[], metrics=["empathy"]),
    "edges that descend": lambda folder: trend(of_messages(4, 9, 20), edges=[20, 10], metrics=["empathy"]),
    "no messages": lambda folder: trend(ratings()),
    "nothing to follow": lambda folder: trend(
        view([("t", "A", None, "turns", "algorithm:r@1", 4.0), ("t", "A", None, "empathy", "human:x", None)]),
        metrics=["empathy"],
    ),
    "other raters": lambda folder: deviation(
        view(of_system("A", [1.0])), view(of_system("X", [1.0], rater="algorithm:r@2"))
    ),
    "no such reference": lambda folder: deviation(view(of_system("A", [1.0])), "nobody"),
    "nothing beside": lambda folder: deviation(view(of_system("A", [1.0])), "A"),
    # margins and the gate
    "no margin": lambda folder: margins_of("0"),
    "no direction": lambda folder: margins_of("1:up"),
    "other direction": lambda folder: within_margins(ratings(), margins_of({"empathy": "0.3:lower"})),
    "no such reference of a margin": lambda folder: within_margins(ratings(), margins_of(0.3), reference="C"),
    "two systems to hold": lambda folder: gate(
        ratings(*((f"C{n}", "C", *row[2:]) for n, row in enumerate(TWO[:6]))), baseline="A", margins=MARGIN
    ),
    "no such baseline": lambda folder: gate(ratings(), baseline="Z", margins=MARGIN),
    "baseline itself": lambda folder: gate(ratings(), baseline="A", margins=MARGIN, system="A"),
    "people and a judge": lambda folder: gate(ratings(*PEOPLE), baseline="A", margins=MARGIN),
    "better unknown": lambda folder: gate(other_metric("warmth"), baseline="A", margins=margins_of({"warmth": 0.3})),
    "safe level unknown": lambda folder: harm(),
    "hanging on a factor": lambda folder: gate(hanging(), baseline="A", margins=margins_of({"empathy": "0.3:higher"})),
    # preferences
    "nothing compared": lambda folder: system_preferences(ratings()),
    "no such rubric": lambda folder: preferred(rubrics=["empaty"]),
    "no such rater of pairs": lambda folder: preferred(raters=["human:z"]),
    "no such compared system": lambda folder: preferred(systems=["E"]),
    "no two of these": lambda folder: preferred(systems=["A"]),
    "of one system": lambda folder: preferred(second="A"),
    "no such maker": lambda folder: makers(ratings(), {"D": "m"}),
    # people beside judges
    "no such judge": lambda folder: estimate(ratings(*PEOPLE), judge="judge:x"),
    "several judges": lambda folder: estimate(ratings(*PEOPLE), judge="*"),
    "about something": lambda folder: estimate(ratings(*PEOPLE), judge="judge:m", about="everything"),  # type: ignore[arg-type]
    "about the run alone": lambda folder: estimate(
        ratings(*PEOPLE), judge="judge:m", method="rogan-gladen", about="run"
    ),
    "labels of two people": lambda folder: estimate(one_person(folder, "concern_precision"), judge="judge:m"),
    "share of disagreement": lambda folder: validate(ratings(*PEOPLE), epsilon=2),
    "nobody beside a judge": lambda folder: validate(ratings()),
    # size
    "pilot of more": lambda folder: pilot_differences(ratings(), "empathy", None),
    "pilot of one case": lambda folder: pilot_differences(
        ratings(rows=[row for row in TWO if row[2] == "c0"]), "empathy", ["A", "B"]
    ),
}  # fmt: skip
GOLDEN = {
    "nobody beside":
        "the run: no two raters rated the same conversation or turn; see that they give it the same id, or import "
        "people's ratings with bedside ratings import",
    "ids in two spellings":
        "FOLDER/r.csv: no two raters rated the same conversation or turn; 'A1' and 'a1' may be one; see that they "
        "give it the same id, or import people's ratings with bedside ratings import",
    "form of alpha": "`alpha`: there is no form 'ratio'; known: interval, nominal, ordinal",
    "form of weights": "`weights`: there is no form 'cubic'; known: linear, none, quadratic",
    "form of the ICC": "`icc`: there is no form '4,1'; did you mean 3,1 or 2,1 or 1,1?",
    "nobody again": "the run: nobody rated a unit twice; draw a plan with bedside sample `repeat=0.1`",
    "no audits": "the run: no metric 'coldness' is rated; known: empathy",
    "no such metric": "the run: no metric 'warmth' is rated; known: empathy",
    "no such system": "the run: there is no system 'Z'; known: A, B",
    "one system":
        "the run: a comparison needs two systems, and there is only 'A'; score transcripts of two systems: see the "
        "docs on transcripts for how to name them",
    "one system of groups":
        "the run: a comparison needs two systems, and there is only 'A'; compare groups with `groups=quality` (h 3, "
        "l 3), or score transcripts of two systems: see the docs on transcripts for how to name them",
    "two for Friedman": "`test`: friedman needs three systems; use wilcoxon for two",
    "no zeros and ones": "`test=mcnemar`: empathy has values other than 0 and 1; use another test",
    "adjusted by false discoveries":
        "`adjusted_intervals`: no intervals hold all at once beside Benjamini and Hochberg's correction; use the "
        "correction holm or bonferroni",
    "labels without an order":
        "FOLDER/r.csv: no metric can be compared (danger: its 3 labels have no order; if they have one, give their "
        "scale as low<middle<high); name others with `metrics`, or rate whole transcripts",
    "no such factor": "`groups`: there is no factor 'wart'; did you mean ward?",
    "one group": "the run: a comparison needs two groups, and ward has 'x' only; choose another factor with `groups`",
    "groups of a file":
        "`groups`: a plain file of ratings has no factors; take the column for systems with `columns=system=ward`, "
        "or give a run",
    "groups of systems":
        "the run: the groups are of several systems (A, B), which share no case to match them by; name one with "
        "`systems=A`",
    "no such group": "the run: there is no group 'lng'; did you mean long?",
    "matched by an outcome":
        "`match`: completed is an outcome: matched by it, systems would be compared on what is left of them; name "
        "conditions; score with `conditions` where it was set before",
    "matched by systems":
        "`match`: systems are not matched by system: it is what they are compared by; name conditions, or none",
    "two rounds":
        "FOLDER/r.csv: people rated empathy in 2 rounds: r1, r2; choose one with `rounds=r2`, or take them together "
        "with `rounds=all`",
    "no such round": "FOLDER/r.csv: there is no round 'r3'; did you mean r2 or r1?",
    "file without factors":
        "FOLDER/r.csv: a plain file of ratings has no factors; give a run: bedside score makes one of transcripts, "
        "bedside ratings import adds the file",
    "no such level": "FOLDER/run: there is no ward 'z'; known: x",
    "simulated and not":
        "FOLDER/run: A has 1 simulated conversation and 1 not simulated, and no number is to be of both; choose one "
        "kind with `where=synthetic=True` or `where=synthetic=False`, or take them together with "
        "`where=synthetic=True,synthetic=False`",
    "nothing simulated": "FOLDER/run: no transcript was simulated",
    "failures unknown":
        "the run doesn't know which conversations failed; score the folder of the simulation, and not its "
        "transcripts alone",
    "one length":
        "the run: every transcript has target_length 20: a change needs two lengths; name another factor with `by`",
    "no such factor of lengths": "the run: there is no factor 'length'; did you mean target_length?",
    "no number":
        "the run: target_length of transcript 't' is 'long', which is no number; name a factor of numbers with `by`",
    "no such length": "the run: no transcript has target_length 30; there are 20, 80",
    "lengths that descend": "the run: 80 is not shorter than 20; swap them",
    "no lengths":
        "the run: a plain file of ratings has no factors; give a run: bedside score makes one of transcripts, "
        "bedside ratings import adds the file",
    "no edges": "`edges`: no edge is given; write `edges=10,20,40`",
    "edges that descend": "`edges`: edges must ascend from 1, and 20, 10 do not; write `edges=10,20,40`",
    "no messages":
        "the run: the ratings don't say how many messages a transcript has; give a run, or add the metric 'turns' to"
        " the file",
    "nothing to follow": "the run: no metric to follow has a value; name some with `metrics`",
    "other raters":
        "the run: no metric is rated by the same raters here and in the reference the run; score the reference with "
        "the same suite",
    "no such reference": "the run: there is no run or system 'nobody'; known: A",
    "nothing beside": "the run: there is no system beside 'A'",
    "no margin": "`margin`: '0' is no margin; give a number above 0, such as 0.3",
    "no direction": "`margin`: 'up' is no direction; write 1:higher or 1:lower",
    "other direction": "`margin`: of Empathy higher is better, and the margin says lower; leave :lower out",
    "no such reference of a margin": "the run: there is no system 'C'; known: A, B",
    "two systems to hold": "the run: 2 systems could be meant: B, C; name one with `system`",
    "no such baseline": "the run: there is no system 'Z'; known: A, B",
    "baseline itself":
        "the run: a comparison needs two systems, and there is only 'A'; score transcripts of two systems: see the "
        "docs on transcripts for how to name them",
    "people and a judge":
        "the run: empathy was rated by people and by judge:m; name whose ratings count with `raters`, such as "
        "human:* or judge:*",
    "better unknown":
        "`margin`: it isn't known whether higher or lower is better of warmth; write warmth=0.3:higher or "
        "warmth=0.3:lower",
    "safe level unknown":
        "`safety`: it isn't known whether higher or lower is better of harm; give the level at an end of its scale, "
        "and the scale with `scales`",
    "hanging on a factor":
        "the run: whether B passes hangs on engine: on empathy the difference from A is +0.5, and -0.75 at equal "
        "levels of engine; choose `match=engine`, or `match=none` if it is no condition of the study",
    "nothing compared":
        "the run: no two conversations were compared with each other; ask a judge with bedside judge pairs, or "
        "import people's preferences",
    "no such rubric": "the run: no conversations were compared by 'empaty'; did you mean empathy?",
    "no such rater of pairs": "the run: no rater compared anything that matches 'human:z'; did you mean human:x?",
    "no such compared system": "the run: there is no compared system 'E'; known: A, B",
    "no two of these": "the run: no two of these systems were compared; name others with `systems`",
    "of one system":
        "the run: of the comparisons of two conversations none counts: both conversations are of one system; compare"
        " conversations of two systems on one case, such as by bedside judge pairs",
    "no such maker": "`made_by`: there is no system 'D'; known: A, B",
    "no such judge": "the run: no rater matches 'judge:x'; did you mean judge:m?",
    "several judges": "`judge`: 3 raters match '*'; name one: human:x, human:y, judge:m",
    "about something": "`about`: there is no choice 'everything'; known: cases, run",
    "about the run alone":
        "`about`: Rogan and Gladen's interval is about cases like these, not about the run's transcripts alone; "
        "leave it out, or choose `method=prediction-powered`",
    "labels of two people":
        "FOLDER/r.csv: concern_precision follows from labels, and human:anna and human:ben laid theirs over the same"
        " transcripts, each perhaps of something else: what people say of these is either one's or the other's; "
        "choose with `people=human:anna`, or name other metrics with `metrics`",
    "share of disagreement":
        "`epsilon`: the share must be at least 0 and below 1, and 2 is not; give .2 for experts, .1 for crowd "
        "workers",
    "nobody beside a judge":
        "the run: no metric was rated by a judge and by a person; import people's ratings with bedside ratings "
        "import",
    "pilot of more": "`pilot`: a pilot needs one metric and two systems; add `metric` and `systems=A,B`",
    "pilot of one case": "`pilot`: fewer than two cases of Empathy pair; give `sd`",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_where_and_what_to_do(case: str, tmp_path: Path) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case](tmp_path)
    assert str(raised.value).replace(str(tmp_path), "FOLDER") == GOLDEN[case]
