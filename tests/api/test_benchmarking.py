"""A benchmark: equal to the three commands, goes on wherever it was ended, takes new systems, says what differs."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
import yaml

import bedside
from bedside.api.benchmarking import Benchmark
from bedside.core.errors import BedsideError, InputError
from bedside.reports.simulations import sensitivity_table
from bedside.reports.table import Table
from tests.api.benchmarking_process import work
from tests.conftest import exit_code
from tests.forked import CONTEXT, preload
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.soak import budget

preload("tests.api.benchmarking_process")

TOYS = ("script:good", "script:brisk")
#: What differs between a benchmark and the three commands: times, and absolute places.
OWN = {
    "benchmark.json", ".benchmark.lock", "run/manifest.json", "run/simulations.json", "talks/manifest.json",
    "talks/log.sqlite", "run/judgements.sqlite", "talks/.simulation.lock",
    "run/report/written.json",
}  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    """What must be equal: transcripts, states, failures, ratings, and everything of the report but its page.

    The page's methods paragraph counts calls of the last judging.
    """
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if name not in OWN and not name.endswith(("-wal", "-shm", ".html")) and not Path(name).name.startswith(".")
    }


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


def equal(first: Path, second: Path) -> None:
    ours, theirs = contents(first), contents(second)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert {"talks/transcripts.jsonl", "run/ratings.parquet", "run/report/leaderboard.csv"} <= ours.keys()


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("protocol", ["medconceal", pytest.param("note2chat", marks=pytest.mark.soak_only)])
def test_it_is_what_the_three_commands_do(
    protocol: str, server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same folders' names, so that sources of transcripts are the same, too."""

    for name in ("one", "three"):
        (tmp_path / name).mkdir()
    clinicians = [word for name in TOYS for word in ("--clinician", name)]
    given = ["--sample", "2", "--repeats", "2", "--seed", "3"]
    monkeypatch.chdir(tmp_path / "one")
    whole = ["benchmark", protocol, *clinicians, *given, "--judge", server.judge, "--out", "bench"]
    monkeypatch.chdir(tmp_path / "three")
    simulate = ["simulate", "--protocol", protocol, *clinicians, *given, "--out", "bench/talks"]
    score = ["score", "bench/talks", "--suite", protocol, "--judge", server.judge, "--seed", "3", "--out", "bench/run"]
    report = ["report", "bench/run", "--seed", "3"]
    for place, commands in (("one", [whole]), ("three", [simulate, score, report])):
        monkeypatch.chdir(tmp_path / place)
        for command in commands:
            assert exit_code(*command) == 0
    equal(tmp_path / "one/bench", tmp_path / "three/bench")
    page = (tmp_path / "one/bench/run/report/report.html").read_text("utf-8")
    assert "Simulation card" in page
    assert "The patient was played by rules-toy (toy)" in page


def process(out: Path, judge: str, calls: Path, seconds: float) -> ForkServerProcess:
    """One that benchmarks into a folder."""
    out.parent.mkdir(exist_ok=True)
    begun = CONTEXT.Process(target=work, args=(out, judge, calls, seconds))
    begun.start()
    return begun


def kill_when(begun: ForkServerProcess, ready: Callable[[], bool], wait: float) -> bool:
    """Kill a process some time after something is so; whether it hadn't ended before."""
    deadline = time.monotonic() + 120
    while not ready() and begun.exitcode is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(wait)
    begun.kill()
    begun.join(60)
    return begun.exitcode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.server
def test_killed_in_each_step_it_goes_on_to_the_same_bytes_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    draw = random.Random(5)

    def late(request: Received, number: int) -> Action:
        return Action(text=fitting(request), delay=0.03)

    with JudgeServer(late) as server:
        whole = process(tmp_path / "whole/bench", server.judge, tmp_path / "whole.calls", 0.0)
        whole.join(180)
        assert whole.exitcode == 0
        needed = server.count
        out, calls = tmp_path / "parts/bench", tmp_path / "parts.calls"
        kills = dict.fromkeys(("simulate", "score", "judge", "report"), 0)
        for _ in range(budget(1, 12)):
            before = server.count
            stages: dict[str, tuple[Callable[[], bool], float]] = {
                "simulate": (lambda: calls.exists() and len(calls.read_text().splitlines()) > 3, 0.2),
                "score": ((out / "talks/transcripts.jsonl").exists, 0.3),
                "judge": (lambda before=before: server.count > before + draw.randint(1, 9), 0.1),  # type: ignore[misc]
                "report": ((out / "run/report").exists, 0.3),
            }
            for stage, (ready, most) in stages.items():
                begun = process(out, server.judge, calls, 0.03)
                kills[stage] += kill_when(begun, ready, draw.uniform(0, most))
        last = process(out, server.judge, calls, 0.0)
        last.join(180)
        assert last.exitcode == 0
        equal(out, tmp_path / "whole/bench")
        paid = server.count - needed
    assert all(kills[stage] for stage in ("simulate", "judge")), kills
    # Only what was under way when it was ended, four at once, was asked again.
    assert needed <= paid <= needed + 4 * sum(kills.values())
    said = Counter(calls.read_text().splitlines())
    assert set(said) == set((tmp_path / "whole.calls").read_text().splitlines())
    assert sum(said.values()) <= len(said) + 4 * kills["simulate"]


@pytest.mark.slow
@pytest.mark.server
def test_a_new_system_stands_beside_the_others_which_are_not_run_again(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    for name in ("grown", "whole"):
        (tmp_path / name).mkdir()
    given: dict[str, Any] = {"judges": server.judge, "sample": 2}
    before = server.count
    monkeypatch.chdir(tmp_path / "grown")
    first = bedside.benchmark("medconceal", "bench", clinician=TOYS, **given)
    assert first.complete
    systems = {record["system"] for record in first.leaderboard.records}
    assert systems == set(TOYS)
    grown = bedside.extend_benchmark("bench", clinician="rules")
    assert {record["system"] for record in grown.leaderboard.records} == {*systems, "rules-toy"}
    assert grown.asked == first.asked // 2, "as many as one system's"
    asked = server.count - before
    again = bedside.extend_benchmark("bench", clinician="rules")
    assert (again.asked, again.judged) == (0, ())
    monkeypatch.chdir(tmp_path / "whole")
    bedside.benchmark("medconceal", "bench", clinician=(*TOYS, "rules"), **given)
    assert server.count - before == 2 * asked, "as much in parts as at once"
    equal(tmp_path / "grown/bench", tmp_path / "whole/bench")
    sizes = {note for note in grown.leaderboard.notes if note.startswith(("Letters", "No two"))}
    assert len(sizes) == 1
    monkeypatch.chdir(tmp_path / "grown")
    same = bedside.benchmark("medconceal", "bench", clinician=(*TOYS, "rules"), **given)
    assert same.asked == 0


@pytest.mark.slow
def test_what_is_there_need_not_be_reachable_when_a_system_is_added(tmp_path: Path, undrawn: None) -> None:
    """The first clinician's server is gone: a conversation of it that was had is taken as it is."""
    with JudgeServer(lambda request, number: Action(text=fitting(request))) as gone:
        model = gone.judge
        first = bedside.benchmark("medconceal", tmp_path / "bench", clinician=model, sample=1)
        assert first.complete
    grown = bedside.extend_benchmark(tmp_path / "bench", clinician="script:brisk")
    assert grown.complete
    assert {record["system"] for record in grown.leaderboard.records} == {"tiny", "script:brisk"}
    assert [record["toy"] for record in grown.leaderboard.records if record["system"] == "tiny"][:1] == [False]


@pytest.mark.slow
@pytest.mark.server
def test_limits_stop_it_in_any_step_and_the_same_call_goes_on(tmp_path: Path, undrawn: None) -> None:
    def given(server: JudgeServer, **more: Any) -> Benchmark:
        prices = {server.judge: (1000.0, 1000.0)}
        return bedside.benchmark(
            "medconceal", tmp_path / "bench", clinician=server.judge, judges=server.judge, sample=1, prices=prices,
            **more,
        )  # fmt: skip

    with JudgeServer(lambda request, number: Action(text=fitting(request))) as server:
        begun = given(server, max_calls=3)
        assert (server.count, begun.complete, begun.report) == (3, False, None)
        assert begun.left == "1 of 1 conversations have not ended"
        with pytest.raises(BedsideError, match="have not ended"):
            _ = begun.leaderboard
        talked = given(server, max_calls=8)
        assert server.count == 11
        assert "judgements have not been asked for" in talked.left
        costly = given(server, max_cost=0.001, max_concurrency=1)
        assert not costly.complete
        assert server.count == 12, "one reply costs more than that"
        done = given(server)
        assert done.complete
        assert done.report is not None
        before = server.count
        assert given(server).complete
        replayed = given(server, replay=True)
        assert (server.count, replayed.asked, replayed.judged) == (before, 0, ())
        first = done.leaderboard.records[0]
        assert first["cost_a_conversation"] > 0
        with pytest.raises(BedsideError, match="what tiny costs isn't known"):
            bedside.benchmark("medconceal", tmp_path / "other", clinician="rules", judges=server.judge, max_cost=1.0)
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_a_different_call_on_the_folder_says_what_differs(tmp_path: Path, undrawn: None) -> None:
    out = tmp_path / "bench"
    cases = tmp_path / "cases.yaml"
    bundled = Path(bedside.__file__).parent / "simulation/simulators/note2chat/cases.yaml"
    cases.write_text(bundled.read_text("utf-8"), "utf-8")
    given: dict[str, Any] = {"clinician": "script:brisk", "cases": str(cases), "sample": 1}
    done = bedside.benchmark("note2chat", out, **given)
    assert [record["cell"] for record in done.leaderboard.records] == ["facts_told/script:brisk"]
    assert any(note.startswith("Without a value: History taking: F1") for note in done.leaderboard.notes)
    for change, words in (
        ({"seed": 1}, r"seed \(0, now 1\)"),
        ({"patient": "script:good"}, "patient|script"),
        ({"repeats": 2}, r"repeats \(1, now 2\)"),
        ({"options": {"brief": "tuned"}}, r"options \(brief .*, now tuned\)"),
        ({"clinician": "rules"}, r"clinicians \(without: script:brisk; new: rules-toy\)"),
        ({"clinician": ["script:brisk", "rules"]}, r"add to it with bedside benchmark add .* --clinician rules-toy"),
        ({"sample": 2}, r"cases \(new: "),
        ({"judges": "local"}, r"judges \(none, now "),
        ({"settings": "40-messages"}, r"settings \(26-messages, now 40-messages\)"),
    ):
        with pytest.raises(BedsideError, match=words):
            bedside.benchmark("note2chat", out, **{**given, **change})
    with pytest.raises(BedsideError, match="the benchmark in this folder is another one"):
        bedside.benchmark("medconceal", out, clinician="script:brisk", sample=1)
    (case,) = done.run.index["case_id"]
    cases.write_text(bundled.read_text("utf-8").replace(case, "another"), "utf-8")
    with pytest.raises(BedsideError, match=r"cases \("):
        bedside.extend_benchmark(out, clinician="rules")
    cases.unlink()
    with pytest.raises(BedsideError, match="there is no such case file"):
        bedside.extend_benchmark(out, clinician="rules")
    assert sorted(json.loads((out / "benchmark.json").read_text())["depends on"]["clinicians"]) == ["script:brisk"]


@pytest.mark.slow
@pytest.mark.server
def test_peoples_ratings_are_not_thrown_away(tmp_path: Path, undrawn: None) -> None:
    out = tmp_path / "bench"
    done = bedside.benchmark("note2chat", out, clinician="script:brisk", sample=1)
    (name,) = done.run.index["id"]
    (tmp_path / "anna.csv").write_text(f"transcript_id,rater,empathy\n{name},anna,4\n", "utf-8")
    bedside.import_ratings(done.run, tmp_path / "anna.csv", scales="1-5")
    # The same again leaves them, and reports them.
    again = bedside.benchmark("note2chat", out, clinician="script:brisk", sample=1)
    assert "empathy" in set(again.run.ratings["metric"])
    with pytest.raises(BedsideError, match="people's ratings were imported into this run"):
        bedside.extend_benchmark(out, clinician="rules")
    (out / "run").rename(tmp_path / "kept")
    assert bedside.extend_benchmark(out, clinician="rules").complete


def agent(request: dict[str, Any]) -> str:
    raise AssertionError(request)


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        ({"protocol": "note2chatt"}, "did you mean note2chat"),
        ({"clinician": []}, "no clinician is named"),
        ({"judges": "opnai/x"}, "did you mean openai"),
        ({"max_cost": -1.0}, "`max_cost` must be above 0"),
        ({"max_calls": -1}, "`max_calls` must be 0 or more"),
        ({"prices": {"other": (1, 1)}}, "`prices`: there is no actor or judge 'other'"),
        ({"sample": 99}, "99 are to be drawn"),
    )
    for wrong, words in wrongs:
        with pytest.raises(BedsideError, match=words):
            bedside.benchmark(wrong.pop("protocol", "note2chat"), **{"out": out, "clinician": "rules", **wrong})
    with pytest.raises(BedsideError, match="there is no benchmark in this folder"):
        bedside.extend_benchmark(out, clinician="rules")
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(BedsideError, match="holds something else than a benchmark"):
        bedside.benchmark("note2chat", out, clinician="rules")
    (out / "benchmark.json").write_text("{")
    with pytest.raises(BedsideError, match="can't be read"):
        bedside.benchmark("note2chat", out, clinician="rules")
    (out / "benchmark.json").write_text('{"format": 9}')
    with pytest.raises(BedsideError, match="its format is 9, this bedside reads 1"):
        bedside.benchmark("note2chat", out, clinician="rules")


def test_a_judge_without_its_key_is_said_before_anything_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BedsideError, match="OPENAI_API_KEY"):
        bedside.benchmark("note2chat", tmp_path / "bench", clinician="rules", judges="openai/gpt-5-mini")
    assert not (tmp_path / "bench").exists()


def test_what_was_in_memory_cannot_be_had_again(tmp_path: Path) -> None:
    from bedside.api.benchmarking import BenchmarkRequest, write_record

    out = tmp_path / "bench"
    out.mkdir()
    write_record(out, BenchmarkRequest("note2chat", (agent,)))
    with pytest.raises(BedsideError, match="what was given in Python can't be had again: clinicians"):
        bedside.extend_benchmark(out, clinician="rules")


def test_what_it_would_take_without_a_judge(tmp_path: Path) -> None:
    tables = bedside.preview_benchmark("note2chat", clinician="http://localhost:9/v1#one", sample=2)
    assert tables.names == ("simulation_plan", "benchmark_plan")
    simulate, score, _, whole = tables["benchmark_plan"].records
    assert (score["calls"], score["cost"]) == (0, 0)
    assert whole["calls"] == simulate["calls"] > 0
    assert whole["cost"] is None, "the price isn't known"
    roles = tables["simulation_plan"].records
    clinician = next(role for role in roles if role["role"] == "clinician")
    assert whole["seconds"] == pytest.approx(3 * max(clinician["calls"] / 8, clinician["calls"] / 2))
    assert "No judge is named" in tables["benchmark_plan"].notes[0]


@pytest.mark.parametrize(("cases", "systems", "alpha"), [(60, 2, 0.05), (12, 3, 0.05 / 3)])
def test_the_difference_that_cases_can_tell_apart(cases: int, systems: int, alpha: float) -> None:
    from statsmodels.stats.power import TTestPower

    from bedside.reports.number_text import decimal
    from bedside.reports.simulations import BenchmarkPreview, PilotSpread, benchmark_estimates

    simulation = bedside.preview_simulation(None, "note2chat", clinician="rules", sample=1)
    preview = BenchmarkPreview(simulation, (), 0, 8, cases, systems)
    effect = TTestPower().solve_power(nobs=cases, alpha=alpha, power=0.8)
    assert preview.detectable(0.4) == pytest.approx(0.4 * effect, rel=1e-4)
    assert replace(preview, cases=1).detectable(0.4) is None
    (assumed,) = [text for text in benchmark_estimates.texts(preview) if text.startswith("With these")]
    first = assumed.partition(". That is")[0]
    vary = "if differences vary by 40% of it between cases (an assumed SD)"
    assert first.endswith(f"{decimal(0.4 * effect)} of a measure's scale apart, {vary}")
    known = replace(preview, pilot=PilotSpread("Facts told", 0.2, 5))
    (said,) = [text for text in benchmark_estimates.texts(known) if text.startswith("With these")]
    assert f"tell {decimal(0.2 * effect)} of Facts told apart, if differences vary as in the 5 cases" in said
    assert "assumed" not in said


@pytest.mark.slow
def test_with_a_floor_only_its_best_is_compared() -> None:
    """The size is that of G*Power's t test for pairs, with the level divided by three."""
    from statsmodels.stats.power import TTestPower

    from bedside.reports.simulations import benchmark_plan_sentences
    from bedside.simulation.actors.trivial import trivial_clinicians

    models = ["http://localhost:9/v1#one", "http://localhost:9/v1#two"]
    preview = bedside.preview_benchmark("note2chat", clinician=models, sample=3, repeats=2, floor=True).results
    first, *_ = benchmark_plan_sentences(preview)
    simulated = len(trivial_clinicians()) + 1 + len(models)
    assert first.endswith(f"3 cases with {simulated} systems, 2 repeats each.")
    assert preview.simulation.conversations == 3 * 2 * simulated
    effect = TTestPower().solve_power(nobs=60, alpha=0.05 / 3, power=0.8)
    many = replace(preview, cases=60)
    assert many.detectable(0.4) == pytest.approx(0.4 * effect, rel=1e-4)
    assert "differ by .17 of a measure's scale" in " ".join(benchmark_plan_sentences(many))


def test_cases_that_tell_no_difference_apart_say_so() -> None:
    from bedside.reports.simulations import BenchmarkPreview, benchmark_estimates

    simulation = bedside.preview_simulation(None, "note2chat", clinician="rules", sample=1)
    (said,) = [
        text
        for text in benchmark_estimates.texts(BenchmarkPreview(simulation, (), 0, 8, 3, 18))
        if text.startswith("With these")
    ]
    assert said.startswith("With these 3 cases no difference on a measure's scale can be told apart, if")
    assert "With an SD" not in said


@pytest.mark.slow
def test_the_pilot_is_what_is_in_the_folder(tmp_path: Path, undrawn: None) -> None:
    asked: dict[str, Any] = {"clinician": TOYS}
    bedside.benchmark("note2chat", tmp_path / "bench", **asked, sample=3)
    found = bedside.preview_benchmark("note2chat", **asked, out=tmp_path / "bench").results.pilot
    assert found is not None
    assert (found.title, found.cases) == ("Facts told", 3)
    assert bedside.preview_benchmark("note2chat", **asked, out=tmp_path / "none").results.pilot is None


@pytest.mark.slow
@pytest.mark.server
def test_what_is_previewed_is_asked_where_toys_talk(tmp_path: Path, undrawn: None) -> None:
    """Between toys the preview's conversations are those that come, so that its numbers are exact."""
    with JudgeServer() as server:
        given: dict[str, Any] = {"clinician": "rules", "judges": server.judge}
        tables = bedside.preview_benchmark("medconceal", **given, prices={server.judge: (1.0, 2.0)})
        assert server.count == 0
        done = bedside.benchmark("medconceal", tmp_path / "bench", **given)
        asked = tables["benchmark_plan"].records
        assert asked[0]["calls"] == done.asked
        planned = [plan for plan in tables.results.judging if "estimated" not in plan.rubric]
        summary = done.judged[0].judges[0]
        exact = {plan.rubric: plan.calls for plan in planned}
        assert {count.rubric: count.calls for count in summary.rubrics if count.rubric in exact} == exact
        assert asked[1]["cost"] == pytest.approx((asked[1]["input_tokens"] + 2 * asked[1]["output_tokens"]) / 1e6)
        more = bedside.preview_benchmark("medconceal", **given, repeats=5)["benchmark_plan"].records
        assert more[1]["calls"] == 5 * asked[1]["calls"]


@pytest.mark.slow
def test_two_sites_share_a_cast_and_a_leaderboard_mixes_no_two(tmp_path: Path, undrawn: None) -> None:
    file = tmp_path / "ward.yaml"
    played: dict[str, Any] = {"patient": "script:good", "evaluator": "rules", "sample": 1}
    first = bedside.benchmark("note2chat", tmp_path / "a", clinician="rules", **played, seed=3, write_cast=file)
    second = bedside.benchmark("note2chat", tmp_path / "b", clinician=TOYS[0], sample=1, cast=file)
    casts = [
        json.loads((each.simulation.folder / "manifest.json").read_text("utf-8"))["cast"] for each in (first, second)
    ]
    assert [cast["by"] for cast in casts] == ["", "ward"]
    assert casts[0]["sha256"] == casts[1]["sha256"]
    assert any(casts[0]["sha256"][:12] in note for note in second.leaderboard.notes)
    with pytest.raises(InputError, match="the cast is of note2chat, and medconceal is simulated"):
        bedside.preview_benchmark("medconceal", clinician=TOYS[0], cast=file, options={"parameters": "authors"})
    # More of the same goes on from the file that was named.
    assert bedside.extend_benchmark(tmp_path / "b", clinician=TOYS[1]).complete

    def leaderboard(*benchmarks: Benchmark) -> Table:
        folders = [each.simulation.folder for each in benchmarks]
        run = bedside.score(folders, tmp_path / f"run-{len(list(tmp_path.iterdir()))}", suite="note2chat").run
        return bedside.report(run, tables=["leaderboard"]).tables["leaderboard"]

    assert {row.cells[1].text.removesuffix(" (toy)") for row in leaderboard(first, second).rows} == {"rules-toy", *TOYS}
    other = bedside.benchmark("note2chat", tmp_path / "c", clinician=TOYS[1], **played, seed=4)
    mixed = leaderboard(first, other)
    assert (mixed.rows, mixed.records) == ((), ())


@pytest.mark.slow
def test_patients_are_swapped_and_the_orders_compared(tmp_path: Path, undrawn: None) -> None:
    given: dict[str, Any] = {"clinician": ("rules", *TOYS), "evaluator": "rules", "sample": 2}
    done = bedside.benchmark("medconceal", tmp_path / "swap", patient="rules,script:good", **given)
    (other,) = done.swapped
    assert other.folder == tmp_path / "swap" / "casts" / "script-good+rules"
    assert done.complete
    assert done.sensitivity is not None
    assert [record["cast"] for record in done.sensitivity.records] == ["rules-toy, rules-toy", "script:good, rules-toy"]
    alone = bedside.benchmark("medconceal", tmp_path / "alone", patient="script:good", **given)
    assert alone.leaderboard.records == other.leaderboard.records
    assert alone.sensitivity is None
    # The first is a benchmark as without the others, and goes on as one.
    assert bedside.benchmark("medconceal", tmp_path / "swap", **given).asked == 0


def test_rank_correlation_of_swapped_casts() -> None:
    def board(**means: float) -> Table:
        records = [{"system": name, "mean": mean, "orders": True, "cast": "p, e"} for name, mean in means.items()]
        return Table("leaderboard", "", (), (), (), tuple(records))

    boards = [board(a=0.9, b=0.5, c=0.4, d=0.1), board(b=0.8, a=0.7, d=0.3, c=0.2)]
    found = sensitivity_table(boards)
    tau = scipy.stats.kendalltau([4, 3, 2, 1], [3, 4, 1, 2]).statistic
    assert [record["tau"] for record in found.records] == pytest.approx([1, tau])
    assert sensitivity_table([board(a=0.9, b=0.1)] * 2).records[1]["tau"] is None


def test_another_cast_is_refused(tmp_path: Path, undrawn: None) -> None:
    file = tmp_path / "ward.yaml"
    bedside.benchmark("note2chat", tmp_path / "a", clinician="rules", sample=1, write_cast=file)

    def refusal(**asked: Any) -> str:
        with pytest.raises(InputError) as caught:
            bedside.benchmark("note2chat", tmp_path / "b", clinician="rules", sample=1, cast=file, **asked)
        return caught.value.what

    assert refusal(seed=5).endswith(": seed")
    assert refusal(patient="script:good").endswith(": patient")
    assert refusal(options={"brief": "tuned"}).endswith(": parameters")
    cast = yaml.safe_load(file.read_text("utf-8"))
    cast["depends on"]["prompts"] = "0" * 64
    file.write_text(yaml.safe_dump(cast), "utf-8")
    assert "SHA-256" in refusal()
    content = json.dumps(cast["depends on"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    cast["sha256"] = hashlib.sha256(content.encode()).hexdigest()
    file.write_text(yaml.safe_dump(cast), "utf-8")
    assert refusal().endswith(": prompts")
    assert not (tmp_path / "b").exists()
    with pytest.raises(InputError):
        bedside.benchmark("note2chat", tmp_path / "b", clinician="rules", patient=print, write_cast=file)


def test_what_is_said_beside_a_cast_is_never_replaced(tmp_path: Path, undrawn: None) -> None:
    file = tmp_path / "ward.yaml"
    who: dict[str, Any] = {"clinician": "rules", "sample": 1}
    bedside.benchmark(
        "note2chat", tmp_path / "a", **who, patient="script:good", evaluator="rules", seed=3, write_cast=file
    )
    for asked in ({"seed": 0}, {"patient": "rules"}):
        with pytest.raises(InputError) as caught:
            bedside.preview_benchmark("note2chat", **who, cast=file, **asked)
        assert caught.value.what.endswith(f": {next(iter(asked))}")
    bedside.preview_benchmark("note2chat", **who, cast=file, seed=3, patient="script:good", evaluator="rules")


def test_a_person_needs_not_answer_trivial_clinicians(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"clinician": "rules", "patient": "human:anna", "evaluator": "rules", "floor": True}
    with pytest.raises(InputError) as caught:
        bedside.benchmark("note2chat", tmp_path / "a", **asked)
    assert caught.value.where == "`floor`"
    assert not (tmp_path / "a").exists()
