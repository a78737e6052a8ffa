"""Who ranks candidates: a likelihood, nobody, a function, a model; and only where a protocol asks for it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.core.errors import InputError, ModelError
from bedside.core.model_files import find_model
from bedside.simulation.actor_contract import read_actor
from bedside.simulation.actors.likelihood_ranker import ranked_scores
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.contract import SIMULATORS
from tests.metrics.models.language_models import save, starting, tiny

LINES = (
    Line("clinician", "Hello, what brings you in?"),
    Line("patient", "The nurse rang me."),
    Line("clinician", "That was a fright."),
)
TEXTS = ("Yes, it was.", "No.", "I put the letter behind the clock, and there it stayed for a week.")


def material(texts: tuple[str, ...] = TEXTS, rank: str = "mean") -> dict[str, Any]:
    return {"candidates": list(texts), "speaker": "patient", "rank": rank}


def slow_score(model: Any, tokenizer: Any, start: list[int], text: str, *, total: bool = False) -> float:
    """The same number by one pass for each candidate, from the model's own logits."""
    import torch

    said = "".join(f"{'Speaker A:' if line.role == 'clinician' else 'Speaker B:'} {line.text}\n\n" for line in LINES)
    before = tokenizer.encode(said, add_special_tokens=False)
    line = tokenizer.encode(f"Speaker B: {text}", add_special_tokens=False)
    label = tokenizer.encode("Speaker B:", add_special_tokens=False)
    tokens = [*start, *before, *line]
    with torch.inference_mode():
        logits = model(torch.tensor([tokens])).logits[0].double().log_softmax(-1)
    first = len(tokens) - len(line) + len(label)
    values = [float(logits[place - 1, tokens[place]]) for place in range(first, len(tokens))]
    return sum(values) if total else sum(values) / len(values)


needs_torch = [
    pytest.mark.model,
    pytest.mark.skipif(find_spec("torch") is None or find_spec("transformers") is None, reason="no torch"),
]


class TestLikelihood:
    pytestmark = needs_torch

    @pytest.mark.parametrize("begins", [False, True])
    def test_scores_are_those_of_one_pass_for_each_candidate(self, begins: bool) -> None:
        from bedside.metrics.models.likelihood import Likelihood

        model, tokenizer = tiny()
        read = starting(tokenizer) if begins else tokenizer
        likelihood = Likelihood(model, read)
        start = list(likelihood.start)
        assert bool(start) == begins
        for rank in ("mean", "sum"):
            scores = ranked_scores(likelihood, LINES, material(rank=rank))
            slow = [slow_score(model, tokenizer, start, text, total=rank == "sum") for text in TEXTS]
            assert scores == pytest.approx(slow, abs=2e-4)

    def test_the_candidates_of_a_message_are_one_group(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from bedside.metrics.models.likelihood import Likelihood, common

        likelihood = Likelihood(*tiny())
        weigh, groups = likelihood.weigh, []

        def kept(asked: Any) -> Any:
            groups.extend(asked)
            return weigh(asked)

        monkeypatch.setattr(likelihood, "weigh", kept)
        ranked_scores(likelihood, LINES, material())
        (group,) = groups
        assert len(group) == 3
        # The pair " -" of the tokenizer apart, all that stands before the words is common to all.
        assert common([each.context for each in group]) == len(group[0].context)

    def test_the_order_of_candidates_changes_no_score(self) -> None:
        from bedside.metrics.models.likelihood import Likelihood

        likelihood = Likelihood(*tiny())
        forward = ranked_scores(likelihood, LINES, material())
        backward = ranked_scores(likelihood, LINES, material(TEXTS[::-1]))
        assert forward == pytest.approx(backward[::-1], abs=1e-5)

    def test_what_was_said_is_cut_to_the_window_alike_for_all(self) -> None:
        from bedside.metrics.models.likelihood import Likelihood

        model, tokenizer = tiny(window=120)
        likelihood = Likelihood(model, tokenizer)
        scores = ranked_scores(likelihood, LINES, material())
        room = 120 - max(len(likelihood.encode(f"Speaker B: {text}")) for text in TEXTS)
        before = "".join(f"Speaker {'AB'[line.role == 'patient']}: {line.text}\n\n" for line in LINES)
        seen = likelihood.encode(before)[-room:]
        from bedside.metrics.models.likelihood import Continuation

        label = len(likelihood.encode("Speaker B:"))
        for score, text in zip(scores, TEXTS, strict=True):
            line = likelihood.encode(f"Speaker B: {text}")
            ((values,),) = likelihood.weigh([[Continuation([*seen, *line[:label]], line[label:])]])
            assert score == pytest.approx(float(np.mean(values)), abs=1e-4)
        with pytest.raises(InputError, match="takes 120 at once"):
            ranked_scores(likelihood, LINES, material(("word " * 200,)))

    def test_a_simulation_is_ranked_by_it_and_says_so(self, tmp_path: Path) -> None:
        model = save(tmp_path / "lm")
        talks = bedside.simulate(
            None, "calm-it", tmp_path / "talks", clinician="rules", ranker=f"likelihood:{model}",
            lengths=12, sample=1,
        )  # fmt: skip
        (transcript,) = talks.transcripts()
        named = f"likelihood:{find_model(str(model)).name}"
        assert transcript.reference["simulation"]["actors"]["ranker"] == named
        assert transcript.reference["simulation"]["toys"] == ["clinician", "evaluator", "patient"]
        states = [json.loads(line) for line in (tmp_path / "talks/states.jsonl").read_bytes().splitlines()]
        ranked = [state for state in states if state["purpose"].endswith("candidates") and state["scores"]]
        assert ranked
        for state in ranked:
            places = [each["place"] for each in state["candidates"]]
            assert state["scores"][places.index(state["chosen"])] == max(state["scores"])
            assert all(score < 0 for score in state["scores"])
        before = (tmp_path / "talks/transcripts.jsonl").read_bytes()
        again = bedside.simulate(
            None, "calm-it", tmp_path / "talks", clinician="rules", ranker=f"likelihood:{model}",
            lengths=12, sample=1, replay=True,
        )  # fmt: skip
        assert again.summary.calls.asked == 0
        assert (tmp_path / "talks/transcripts.jsonl").read_bytes() == before

    @pytest.mark.slow
    def test_the_report_says_where_the_same_model_ranked_and_scored(self, tmp_path: Path) -> None:
        model, other = save(tmp_path / "lm"), save(tmp_path / "lm-2", seed=1)
        copy = tmp_path / "copy"
        copy.mkdir()
        for part in model.iterdir():
            (copy / part.name).write_bytes(part.read_bytes())
        bedside.simulate(
            None, "calm-it", tmp_path / "talks", clinician="rules", ranker=f"likelihood:{model}",
            lengths=12, sample=1,
        )  # fmt: skip
        from bedside.analysis.ratings_view import open_ratings_view
        from bedside.reports.contents import make_tables

        notes = {}
        for name, scorer in (("same", copy), ("other", other)):
            bedside.score(
                tmp_path / "talks", tmp_path / name, metrics=["turn_likelihood"],
                parameters={"redirection": {"model": str(scorer)}},
            )  # fmt: skip
            (card,) = make_tables(open_ratings_view(tmp_path / name), ["simulation_card"])
            notes[name] = [note for note in card.notes if "ranked the candidates" in note]
        assert len(notes["same"]) == 1
        assert notes["other"] == []


def test_a_likelihood_or_none_plays_no_other_part(tmp_path: Path) -> None:
    parts: list[dict[str, Any]] = [{"clinician": "none"}, {"clinician": "rules", "patient": "none"}]
    for asked in parts:
        with pytest.raises(InputError, match="none"):
            bedside.simulate(None, "calm-it", tmp_path / "talks", lengths=12, sample=1, **asked)
    simulator = SIMULATORS.load("calm-it")
    with pytest.raises(InputError, match="`ranker`"):
        read_actor("likelihood:", simulator, "ranker")
    with pytest.raises(ModelError):
        read_actor("likelihood:absent", simulator, "ranker")


def test_only_a_protocol_with_candidates_takes_a_ranker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`ranker`: note2chat"):
        SimulationRequest("note2chat", "rules", ranker="none").plan()
    plan = SimulationRequest("calm-it", "rules").plan()
    assert plan.ranker is not None
    assert plan.ranker.identity == "rules-toy"
    assert SimulationRequest("note2chat", "rules").plan().ranker is None


def test_another_ranker_is_another_simulation() -> None:
    def key(ranker: Any) -> str:
        plan = SimulationRequest("calm-it", "rules", lengths=[12], sample=1, ranker=ranker).plan()
        return next(iter(plan.conversations())).key

    assert len({key("rules"), key("none"), key(shortest)}) == 3
    assert key(None) == key("rules")


def shortest(request: dict[str, Any]) -> dict[str, Any]:
    """A ranker of one's own."""
    assert request["role"] == "ranker"
    return {"scores": [-len(text) for text in request["material"]["candidates"]]}


@pytest.mark.slow
def test_a_function_ranks_and_none_takes_the_first(tmp_path: Path) -> None:
    for name, ranker in (("shortest", shortest), ("none", "none")):
        bedside.simulate(None, "calm-it", tmp_path / name, clinician="rules", ranker=ranker, lengths=12, sample=1)
        states = [json.loads(line) for line in (tmp_path / name / "states.jsonl").read_bytes().splitlines()]
        ranked = [state for state in states if state["purpose"].endswith("candidates")]
        assert len(ranked) == 10
        for state in ranked:
            by_place = {each["place"]: each["text"] for each in state["candidates"]}
            chosen = by_place[state["chosen"]]
            if name == "none":
                assert state["chosen"] == min(by_place)
            else:
                assert len(chosen) == min(map(len, by_place.values()))
