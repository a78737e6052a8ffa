"""The bundled example: whole, paired, coded validly, and plainly marked as invented."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score

from bedside.transcripts.reading import read_transcripts
from bedside.transcripts.transcript import Transcript

EXAMPLES = Path(str(files("bedside") / "examples"))
SYSTEMS = ("steady", "brisk", "careless")
CASES = ("alcohol", "sleep", "diabetes", "heart")
CODERS = ("anna", "ben")
STAGES = {
    "fostering the relationship",
    "gathering information",
    "providing information",
    "decision making",
    "responding to emotions",
    "exit",
}
CATEGORIES = {
    "misinformation or misconception",
    "emotional discomfort or fear",
    "communication barrier",
    "financial or insurance concern",
}
CODES = {
    "clinician": {
        "question": {"none", "open", "closed"},
        "reflection": {"none", "simple", "complex"},
        "therapist_input": {"none", "information", "advice", "options", "negotiation"},
        "main_behaviour": {"question", "reflection", "therapist_input", "other"},
    },
    "patient": {"client_talk": {"change", "sustain", "neutral"}},
}
RUBRICS = {"empathy", "partnership", "goal_alignment"}


@pytest.fixture(scope="module")
def transcripts() -> dict[str, Transcript]:
    read = list(read_transcripts(EXAMPLES / "transcripts.jsonl"))
    by_id = {transcript.id: transcript for transcript in read}
    assert len(by_id) == len(read)
    return by_id


def rows(name: str) -> list[dict[str, str]]:
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def coded(transcript: Transcript, role: str, coder: str, code: str) -> list[str]:
    return [turn.meta["codes"][coder][code] for turn in transcript.turns if turn.role == role]


def test_every_system_meets_every_case(transcripts: dict[str, Transcript]) -> None:
    assert {(t.system, t.case_id) for t in transcripts.values()} == set(product(SYSTEMS, CASES))
    assert len(transcripts) == len(SYSTEMS) * len(CASES)
    for transcript in transcripts.values():
        assert transcript.id == f"{transcript.system}-{transcript.case_id}"
        assert transcript.language == "en"


def test_a_case_is_the_same_for_every_system(transcripts: dict[str, Transcript]) -> None:
    for case in CASES:
        of_case = [t for t in transcripts.values() if t.case_id == case]
        assert all(t.reference == of_case[0].reference for t in of_case)
        conditions = [{k: v for k, v in t.factors.items() if k != "completed"} for t in of_case]
        assert all(c == conditions[0] for c in conditions)


def test_personas_and_literacy_are_crossed(transcripts: dict[str, Transcript]) -> None:
    cells = Counter((t.factors["persona"], t.factors["health_literacy"]) for t in transcripts.values())
    assert cells == Counter(dict.fromkeys(product(("outgoing", "reserved"), ("low", "high")), len(SYSTEMS)))


def test_roles_take_turns_and_lengths_are_as_stated(transcripts: dict[str, Transcript]) -> None:
    for transcript in transcripts.values():
        roles = [turn.role for turn in transcript.turns]
        assert roles == ["clinician", "patient"] * (len(roles) // 2)
        assert isinstance(transcript.factors["target_length"], int)
        assert transcript.factors["completed"] is (len(roles) >= transcript.factors["target_length"])
    assert [t.id for t in transcripts.values() if not t.factors["completed"]] == ["careless-heart"]


def test_texts_suffice_for_smog(transcripts: dict[str, Transcript]) -> None:
    for transcript, role in product(transcripts.values(), ("clinician", "patient")):
        text = " ".join(turn.text for turn in transcript.turns if turn.role == role)
        assert len(re.findall(r"[.!?](?=\s|$)", text)) >= 3


def test_no_text_is_used_twice(transcripts: dict[str, Transcript]) -> None:
    texts = Counter(turn.text for t in transcripts.values() for turn in t.turns if len(turn.text) > 30)
    assert [text for text, count in texts.items() if count > 1] == []


def test_references(transcripts: dict[str, Transcript]) -> None:
    categories, ids = set(), defaultdict(set)
    for transcript in transcripts.values():
        assert set(transcript.reference) == {"background", "goal", "concerns", "diagnosis"}
        assert sum(concern.get("primary", False) for concern in transcript.reference["concerns"]) == 1
        for concern in transcript.reference["concerns"]:
            assert set(concern) - {"primary"} == {"id", "category", "text"}
            categories.add(concern["category"])
            ids[concern["id"]].add(transcript.case_id)
    assert categories == CATEGORIES
    assert all(len(cases) == 1 for cases in ids.values())


def test_codes_and_stages_are_valid(transcripts: dict[str, Transcript]) -> None:
    seen = defaultdict(set)
    for transcript in transcripts.values():
        assert any("stage" in turn.meta for turn in transcript.turns)
        for turn in transcript.turns:
            assert set(turn.meta) <= {"stage", "codes"}
            assert turn.meta.get("stage", "exit") in STAGES
            seen["stage"].add(turn.meta.get("stage"))
            assert set(turn.meta["codes"]) == set(CODERS)
            for codes in turn.meta["codes"].values():
                assert set(codes) == set(CODES[turn.role])
                for code, label in codes.items():
                    assert label in CODES[turn.role][code]
                    seen[code].add(label)
    assert seen["stage"] >= STAGES
    for code in ("question", "reflection", "therapist_input", "client_talk"):
        assert seen[code] == (CODES["clinician"] | CODES["patient"])[code]


@pytest.mark.parametrize("coder", CODERS)
def test_codes_of_a_turn_fit_each_other_and_its_words(transcripts: dict[str, Transcript], coder: str) -> None:
    for transcript in transcripts.values():
        for turn in transcript.of("clinician"):
            codes = turn.meta["codes"][coder]
            main = codes["main_behaviour"]
            assert main == "other" or codes[main] != "none", (transcript.id, turn.index)
            assert codes["question"] != "closed" or "?" in turn.text, (transcript.id, turn.index)


def test_coders_agree_well_but_not_fully(transcripts: dict[str, Transcript]) -> None:
    def pairs(code: str) -> tuple[list[str], list[str]]:
        role = "patient" if code == "client_talk" else "clinician"
        first, second = ([x for t in transcripts.values() for x in coded(t, role, c, code)] for c in CODERS)
        return first, second

    kappa = {
        code: cohen_kappa_score(*pairs(code))
        for code in ("question", "reflection", "therapist_input", "main_behaviour", "client_talk")
    }
    assert all(0.6 < value < 0.9 for value in kappa.values()), kappa

    asked = cohen_kappa_score(*([x != "none" for x in labels] for labels in pairs("question")))
    both = [pair for pair in zip(*pairs("reflection"), strict=True) if "none" not in pair]
    kind = cohen_kappa_score(*zip(*both, strict=True))
    assert kind < min(kappa.values()) < max(kappa.values()) < asked < 1


@pytest.mark.parametrize("coder", CODERS)
def test_systems_come_out_as_written(transcripts: dict[str, Transcript], coder: str) -> None:
    open_share, per_question = {}, {}
    for system in SYSTEMS:
        of_system = [t for t in transcripts.values() if t.system == system]
        shares, ratios = [], []
        for transcript in of_system:
            questions = [q for q in coded(transcript, "clinician", coder, "question") if q != "none"]
            reflections = [r for r in coded(transcript, "clinician", coder, "reflection") if r != "none"]
            shares.append(questions.count("open") / len(questions))
            ratios.append(len(reflections) / len(questions))
        open_share[system] = sum(shares) / len(shares)
        per_question[system] = sum(ratios) / len(ratios)
    assert open_share["steady"] > open_share["brisk"] > open_share["careless"]
    assert per_question["steady"] >= 1 > per_question["brisk"] > per_question["careless"]


def test_ratings_are_of_the_transcripts(transcripts: dict[str, Transcript]) -> None:
    long = rows("ratings.csv")
    assert list(long[0]) == ["item", "rater", "metric", "value"]
    keys = [(row["item"], row["metric"], row["rater"]) for row in long]
    assert len(set(keys)) == len(keys)
    assert set(product(transcripts, RUBRICS, CODERS)) - set(keys) == {("careless-heart", "partnership", "anna")}
    assert set(keys) <= set(product(transcripts, RUBRICS, CODERS))
    assert {row["value"] for row in long} == set("12345")


def test_both_forms_hold_the_same_ratings() -> None:
    long = {(row["item"], row["metric"], row["rater"]): row["value"] for row in rows("ratings.csv")}
    wide_rows = rows("ratings-wide.csv")
    assert list(wide_rows[0]) == ["item", "metric", *CODERS]
    wide = {(row["item"], row["metric"], rater): row[rater] for row in wide_rows for rater in CODERS}
    assert {key: value for key, value in wide.items() if value} == long
    assert len(wide) == len(long) + 1


@pytest.mark.parametrize("rubric", sorted(RUBRICS))
def test_raters_agree_well_but_not_fully(rubric: str) -> None:
    pairs = [
        (int(r["anna"]), int(r["ben"]))
        for r in rows("ratings-wide.csv")
        if r["metric"] == rubric and r["anna"] and r["ben"]
    ]
    kappa = cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic", labels=[1, 2, 3, 4, 5])
    assert 0.6 < kappa < 0.9


def test_the_readme_says_that_all_is_invented() -> None:
    text = " ".join((EXAMPLES / "README.md").read_text(encoding="utf-8").split())
    assert "Everything here is invented" in text
    assert "illustrative" in text
    assert "not evidence about any system" in text
    for name in (path.name for path in EXAMPLES.iterdir() if path.suffix != ".md"):
        assert f"`{name}`" in text
