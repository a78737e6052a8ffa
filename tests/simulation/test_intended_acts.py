"""What simulated sides meant beside what was coded: by counts by hand and other implementations, with known truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.reports.contents import make_tables
from bedside.simulation.intended_acts import ACTION_CODES, STRATEGY_CODES, intended_acts, intended_codes
from bedside.simulation.simulators.calm_it.client_fields import labels
from bedside.stats.two_raters import kappa
from bedside.transcripts.transcript import CODE_ROLES, CODES

#: Strategy, the code that it means, and the one that somebody gave.
MEANT = (
    ("open question", "open", "open"),
    ("open question", "open", "closed"),
    ("simple reflection", "none", "none"),
    ("elucidating question", "open", "open"),
    ("complex reflection", "none", "open"),
    ("assessing readiness", "closed", "closed"),
    ("normalizing", "", "none"),
)


def talks(folder: Path, *, cases: int = 4, turns: Any = MEANT, synthetic: bool = True) -> Path:
    path = folder / "talks.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for case in range(cases):
            own: list[dict[str, Any]] = []
            for strategy, _, code in turns:
                meta = {"simulation": {"strategy": strategy}, "codes": {"anna": {"question": code}}}
                own.append({"role": "clinician", "text": "Go on.", "meta": meta})
                own.append({"role": "patient", "text": "Well.", "meta": {"simulation": {"action": "desire"}}})
            talk = {
                "id": f"t{case}", "case_id": f"c{case}", "turns": own, "language": "en",
                "factors": {"synthetic": synthetic}, "reference": {"simulation": {"protocol": "calm-it"}},
            }  # fmt: skip
            file.write(json.dumps(talk) + "\n")
    return path


def scored(folder: Path, path: Path) -> Path:
    bedside.score(path, folder / "run", metrics=["question", "client_talk", "reflection"])
    return folder / "run"


def test_labels_stand_for_codes_of_their_side() -> None:
    assert set(STRATEGY_CODES) <= set(labels("strategies"))
    assert set(ACTION_CODES) == set(labels("actions")) - {"hesitate", "blame"}
    for side, meant in (("clinician", STRATEGY_CODES), ("patient", ACTION_CODES)):
        for codes in meant.values():
            for code, label in codes.items():
                assert CODE_ROLES[code] == side
                assert label in CODES[code]


def test_a_message_with_a_pivot_or_said_for_a_side_means_no_code() -> None:
    assert intended_codes({"simulation": {"strategy": "open question", "pivot": "metaphor"}}) == ("", {})
    assert intended_codes({"simulation": {"fixed": "greeting"}}) == ("", {})
    assert intended_codes({}) == ("", {})
    assert intended_codes({"simulation": {"action": "deny"}}) == ("deny", {"client_talk": "sustain"})


def test_counts_shares_and_kappa_are_those_of_the_pairs(tmp_path: Path) -> None:
    view = open_ratings_view(scored(tmp_path, talks(tmp_path)))
    by_rater = {(result.metric, result.rater): result for result in intended_acts(view)}
    anna = by_rater["question", "human:anna"]
    assert {(act.act, act.label): dict(act.coded) for act in anna.acts} == {
        ("open question", "open"): {"open": 4, "closed": 4},
        ("elucidating question", "open"): {"open": 4},
        ("simple reflection", "none"): {"none": 4},
        ("complex reflection", "none"): {"open": 4},
        ("assessing readiness", "closed"): {"closed": 4},
    }
    assert (anna.turns, anna.cases, anna.undecided) == (24, 4, 0)
    assert anna.agreement.estimate == pytest.approx(16 / 24)
    pairs = [(meant, code) for _, meant, code in MEANT if meant] * 4
    meant, coded = zip(*pairs, strict=True)
    assert anna.kappa.estimate == pytest.approx(cohen_kappa_score(meant, coded))
    # Nothing is coded of the reflections, and nobody coded the client.
    assert {metric for metric, _ in by_rater} == {"question"}
    # The rule coder finds no question in any turn.
    assert by_rater["question", "algorithm:rules@2"].agreement.estimate == pytest.approx(8 / 24)


def test_intervals_leave_out_whole_cases(tmp_path: Path) -> None:
    """A case's turns are alike: as many cases as there are, and not turns, say how sure a kappa is."""
    draw = np.random.default_rng(4)
    path = tmp_path / "talks.jsonl"
    lines, cases, meant, coded = [], [], [], []
    for case in range(12):
        own, good = [], draw.random() < 0.6
        for turn in range(6):
            strategy, wanted = [("open question", "open"), ("simple reflection", "none")][turn % 2]
            code = wanted if good else "closed"
            own.append(
                {
                    "role": "clinician",
                    "text": "Go on.",
                    "meta": {"simulation": {"strategy": strategy}, "codes": {"anna": {"question": code}}},
                }
            )
            cases.append(f"c{case}")
            meant.append(wanted)
            coded.append(code)
        lines.append(
            json.dumps({"id": f"t{case}", "case_id": f"c{case}", "turns": own, "factors": {"synthetic": True}})
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    view = open_ratings_view(scored(tmp_path, path))
    (result,) = [each for each in intended_acts(view) if each.rater == "human:anna"]
    expected = kappa(meant, coded, scale=CODES["question"], clusters=cases)
    assert result.kappa.estimate == expected.estimate
    assert result.kappa.interval == expected.interval
    plain = kappa(meant, coded, scale=CODES["question"])
    assert expected.interval is not None
    assert plain.interval is not None
    assert expected.interval.high - expected.interval.low > plain.interval.high - plain.interval.low


def test_there_is_nothing_where_nothing_was_simulated_or_meant(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert intended_acts(open_ratings_view(scored(tmp_path / "a", talks(tmp_path, synthetic=False)))) == ()
    (tmp_path / "b").mkdir()
    plain = talks(tmp_path, turns=(("normalizing", "", "none"),))
    assert intended_acts(open_ratings_view(scored(tmp_path / "b", plain))) == ()


def test_the_table_shows_each_act_and_the_whole(tmp_path: Path) -> None:
    view = open_ratings_view(scored(tmp_path, talks(tmp_path)))
    (table,) = make_tables(view, ["intended_acts"])
    rows = [[cell.text for cell in row.cells] for row in table.rows if row.group == "Question, by anna"]
    assert rows[0][:5] == ["complex reflection", "none", "4", "open 4", ".00"]
    assert ["open question", "open", "8", "closed 4, open 4", ".50"] in [row[:5] for row in rows]
    assert rows[-1][0] == "all"
    assert rows[-1][2] == "24"
    assert rows[-1][4].startswith(".67")
    (whole,) = [record for record in table.records if record["cell"] == "question/human:anna"]
    assert whole["agreement"] == pytest.approx(2 / 3)
