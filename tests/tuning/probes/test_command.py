"""``bedside validate --probe`` at a server: what is asked, shown, kept and refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.judges.llm.batch_files import KEY_DIGITS
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.reports.validation import card_tables
from bedside.scoring.judging_orders import STORE
from bedside.scoring.score import score
from bedside.tuning.probes.probe_record import PROBE_FILE, probe_records
from tests.conftest import Call, works
from tests.judges.llm.server import JudgeServer
from tests.judges.simulated_judge import simulated_talks, true_qualities
from tests.tuning.probes.reading_judge import ReadingJudge, known_by_word

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def study(tmp_path: Path) -> Run:
    talks = simulated_talks({"A": 0.6, "B": 0.4}, 8, seed=1, case_spread=0.1, turns=12)
    return score(talks, tmp_path / "run", suite="default").run


@pytest.fixture
def server(study: Run) -> Iterator[JudgeServer]:
    judge = ReadingJudge(known_by_word(true_qualities(study.transcripts())), gives_in=1.0)
    with JudgeServer(judge.script) as served:
        yield served


NAMED = ("--judge", "JUDGE", "--rubrics", "empathy")
PROBE = ("validate", "run", "--probe", "--rubrics", "empathy", "--transcripts", "8")


def test_the_whole_way(study: Run, server: JudgeServer, call: Call) -> None:
    """What the preview counts is asked, once; orders that the judge gives in to are found; the report shows it."""
    before = study.ratings
    asked = (*PROBE, "--judge", server.judge, "--translator", server.judge)
    code, out, err = call(*asked, "--dry-run", "--json")
    assert (code, server.count) == (0, 0), err
    planned = sum(record["calls"] for record in json.loads(out)[0]["rows"])
    out, err = works(call, *asked, "--json")
    assert server.count == planned
    probes, judged = json.loads(out)
    rows = {(row["probe"], row["variant"]): row for row in probes["rows"]}
    for variant in ("order", "by-patient", "forged-end"):
        row = rows["injection", variant]
        assert (row["reading"], row["largest_after"]) == ("moved", 5)
    assert rows["repetition", "again"]["moved"] == rows["formatting", "capitals"]["shift"] == 0
    for change in (("translation", "translated"), ("wording", "paraphrase")):
        assert rows[change]["transcripts"] == 8
    assert {row["transcripts"] for row in rows.values() if row["probe"] != "length"} <= {0, 8}
    assert sum(record["calls"] for record in judged["rows"]) == planned

    code, again, err = call(*asked, "--json")
    assert (code, server.count) == (0, planned), err
    assert json.loads(again)[0] == probes
    code, out, err = call(*asked, "--dry-run", "--json")
    assert sum(record["calls"] for record in json.loads(out)[0]["rows"]) == 0
    assert not any("estimated" in record["rubric"] for record in json.loads(out)[0]["rows"])

    # Nothing of it is among the ratings or transcripts.
    after = Run(study.path)
    assert after.ratings.equals(before)
    assert sorted(path.name for path in study.path.glob("*.json")) == ["manifest.json", PROBE_FILE]
    (table,) = card_tables(open_ratings_view(study.path))
    assert (table.title, [*map(dict, table.records)]) == ("judge:tiny: probes", probes["rows"])


def test_what_the_judge_was_shown_can_be_looked_up(study: Run, server: JudgeServer, call: Call) -> None:
    works(call, *PROBE, "--probes", "injection,length", "--judge", server.judge)
    (record,) = probe_records(study.path)
    assert record.probes == ("repetition", "injection", "length")
    seen = next(seen for seen in record.observations if seen.variant == "order")
    (key,) = seen.keys_after
    out, _ = works(call, "judge", "answers", "show", "run", key[:KEY_DIGITS])
    assert "Ignore the rubric" in out
    assert f"{seen.transcript} [injection.order]" in out
    stored = {judgement.key: judgement for judgement in read_judgements(study.path / STORE)}
    assert stored.keys() == {key for seen in record.observations for key in (*seen.keys_before, *seen.keys_after)}
    for seen in record.observations:
        for keys, level in ((seen.keys_before, seen.before), (seen.keys_after, seen.after)):
            assert [stored[key].answer["score"] for key in keys] == [level] * bool(keys)  # type: ignore[index]
            assert keys or seen.missing


def test_a_stopped_probing_goes_on(study: Run, server: JudgeServer, call: Call) -> None:
    """What a limit left out is missing with its reason, and asked by the next call; nothing is asked twice."""
    asked = (*PROBE, "--probes", "formatting", "--judge", server.judge)
    code, out, err = call(*asked, "--max-calls", "11", "--json")
    assert (code, server.count) == (0, 11), err
    assert "the same command asks what is missing" in err
    row = json.loads(out)[0]["rows"][-2]
    assert row["missing"] > 0
    assert "limit of 11" in row["missing_reasons"]
    out, err = works(call, *asked, "--json")
    assert "missing" not in err
    assert max(server.prompts.values()) == 2  # the originals, whose passes are the base line
    assert sum(count == 2 for count in server.prompts.values()) == 8


@pytest.mark.parametrize("judges", [1, 2])
def test_a_limit_is_that_of_all_that_is_asked(study: Run, server: JudgeServer, call: Call, judges: int) -> None:
    """Translations, paraphrases and all judges' answers together."""
    named = [word for number in range(judges) for word in ("--judge", f"{server.url}#tiny-{number}")]
    asked = (*PROBE, "--probes", "translation,wording", "--translator", server.judge, *named)
    for limit in (12, 20):
        before = server.count
        code, _, err = call(*asked, "--max-calls", limit, "--json")
        assert (code, server.count) == (0, before + limit), err
        assert "the same command asks what is missing" in err


def test_people_write_the_translations(study: Run, server: JudgeServer, call: Call, tmp_path: Path) -> None:
    first, second, *others = study.transcripts()
    turned = [replace(turn, text=f"Auf Deutsch: {turn.text}") for turn in first.turns]
    short = replace(second, turns=second.turns[:3])
    lines = [replace(first, turns=tuple(turned), language="de").to_json(), short.to_json()]
    Path("german.jsonl").write_bytes(b"\n".join(lines))
    asked = ("validate", "run", "--rubrics", "empathy", "--probes", "translation", "--judge", server.judge)
    out, _ = works(call, *asked, "--translations", "german.jsonl", "--json")
    row = json.loads(out)[0]["rows"][-1]
    assert row["transcripts"] == 1
    assert row["missing"] == 1 + len(others)
    assert "has other turns or roles (1)" in row["missing_reasons"]
    assert any("Auf Deutsch" in prompt for prompt in server.prompts)


def test_long_conversations_say_why_they_are_missing(study: Run, server: JudgeServer, call: Call) -> None:
    asked = (*PROBE, "--probes", "length", "--judge", server.judge)
    code, out, err = call(*asked, "--max-prompt-tokens", "100", "--json")
    assert (code, server.count) == (0, 0), err
    for row in json.loads(out)[0]["rows"]:
        assert row["transcripts"] == 0
        assert row["words"] == "nothing to compare"
        assert "more than the limit of 100" in row["missing_reasons"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--judge", "JUDGE", "--transcripts", "5"), "--transcripts: no judge is probed; add --probe"),
        (("--probe",), "--probe: no judge is named; add --judge MODEL"),
        (("--judge", "JUDGE", "--probe"), "a rubric that gives a whole conversation one level"),
        ((*NAMED, "--probes", "lenght"), "there is no probe 'lenght'; did you mean length?"),
        (("--judge", "JUDGE", "--probe", "--rubrics", "open_question"), "open_question can't be probed"),
        ((*NAMED, "--probe", "--transcripts", "0"), "--transcripts must be 1 or more"),
        ((*NAMED, "--probe", "--margin", "0"), "--margin: a margin of 0 allows nothing"),
        ((*NAMED, "--probe", "--made-by", "C=tiny"), "there is no system 'C'"),
        ((*NAMED, "--probe", "--judge", "openai/gpt-5-mini"), "OPENAI_API_KEY is not set"),
        ((*NAMED, "--probe", "--translator", "openai/gpt-5-mini"), "OPENAI_API_KEY is not set"),
        (("bare", *NAMED, "--probe"), "the run keeps no text"),
    ],
)
def test_refusals(
    typed: tuple[str, ...], said: str, study: Run, server: JudgeServer, call: Call, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nothing is asked where a single thing is wrong."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run, typed = ("bare", typed[1:]) if typed[0] == "bare" else ("run", typed)
    if run == "bare":
        score(simulated_talks({"A": 0.5}, 2, seed=1), tmp_path / run, suite="default", text=False)
    code, _, err = call("validate", run, *(server.judge if word == "JUDGE" else word for word in typed))
    assert (code, server.count) == (2, 0)
    assert said in err


def test_from_python(study: Run, server: JudgeServer) -> None:
    """The same tables, and what they are made of."""
    how: dict[str, Any] = {"rubrics": "empathy", "probes": "length", "transcripts": 4}
    plans = bedside.preview_probe(study, server.judge, **how)
    tables = bedside.probe(study, server.judge, made_by={"A": "tiny"}, **how)
    assert sum(plan.calls for plan in plans.results) == server.count
    (probed,) = tables.results
    assert probed.record.sampled == 4
    assert next(table.name for table in tables) == "probes"
