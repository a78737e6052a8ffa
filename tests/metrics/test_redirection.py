"""Redirection beside ConvoKit's and beside the plainest computation; each defect of ConvoKit's; measures by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from bedside.core.errors import RegistryError
from bedside.metrics.families.redirection import (
    FAMILY,
    ScoredTurn,
    SessionRedirections,
    _TurnSequence,
    is_positive,
    log_odds,
    redirection_score,
    score_turns,
    scorer_name,
    turn_likelihoods,
)
from bedside.metrics.models.dialogue import Speech, speeches
from bedside.metrics.models.likelihood import Continuation, Likelihood
from bedside.ratings.values import Value
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.metrics.models.language_models import BEGIN, save, starting, tiny

A: Literal["clinician"] = "clinician"
B: Literal["patient"] = "patient"
SAID = (
    (A, "What brings you here?"),
    (B, "My doctor says that I should drink less."),
    (A, "And what do you say?"),
    (B, "I say that it is my one pleasure."),
    (A, "You would miss it. How would you like things to be in a year?"),
    (B, "Hm. Healthier, I suppose."),
    (A, "Healthier."),
    (B, "Yes. I want to walk up a hill again."),
    (A, "What stands in the way?"),
    (B, "Nothing, really."),
)
SHORT = conversation(*SAID)
LONG = conversation(*SAID, *SAID[2:], *SAID[1::-1], *SAID, (A, "Goodbye."))


@pytest.fixture(scope="module")
def likelihood() -> Likelihood:
    pytest.importorskip("torch")
    return Likelihood(*tiny("Llama"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    return str(save(tmp_path_factory.mktemp("models") / "tiny", kind="Llama"))


def plain(likelihood: Likelihood, context: str, text: str) -> float:
    """log P(text | context) with the whole sequence, the whole vocabulary and float64."""
    import torch

    before, after = likelihood.encode(context), likelihood.encode(text)
    tokens = torch.tensor([[*likelihood.start, *before, *after]])
    with torch.inference_mode():
        logits = likelihood._model(input_ids=tokens, use_cache=False).logits[0].double()
    found = torch.log_softmax(logits, dim=-1)[-len(after) - 1 : -1]
    return sum(float(row[token]) for row, token in zip(found, after, strict=True))


def values(transcript: Transcript, *wanted: str, **given: Any) -> list[Value]:
    return list(FAMILY.compute(transcript, frozenset(wanted), **FAMILY.settings(given)))


# -- log-odds ---------------------------------------------------------------------------------------


def test_log_odds_where_floats_hold_them() -> None:
    from scipy.special import logit

    for p in (1e-300, 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1 - 2**-20):
        assert log_odds(math.log(p)) == pytest.approx(logit(p), rel=1e-9, abs=1e-12)


def test_log_odds_never_overflow() -> None:
    assert log_odds(-1e6) == -1e6
    assert log_odds(-1e300) == -1e300
    near_one = log_odds(0.0)
    assert near_one == log_odds(-1e-30) == pytest.approx(math.log(2**23), abs=1e-6)
    assert redirection_score(0.0, 0.0) == 0
    made = [log_odds(-(10.0**power)) for power in range(-12, 12)]
    assert made == sorted(made, reverse=True)


# -- scores -----------------------------------------------------------------------------------------


@pytest.mark.model
def test_scores_are_those_of_the_definition(likelihood: Likelihood) -> None:
    found = {one.turn: one.score for one in score_turns(SHORT, likelihood, 1024).scored}
    assert list(found) == [2, 4, 6, 8]
    lines = [f"Speaker {'AB'[role == B]}: {text}" for role, text in SAID]
    for turn, score in found.items():
        before, now, after = lines[turn - 1], lines[turn], lines[turn + 1]
        actual = plain(likelihood, f"{before}\n\n{now}\n\n", after)
        reference = plain(likelihood, f"{before}\n\n{lines[turn - 2]}\n\n", after)
        assert score == pytest.approx(log_odds(actual) - log_odds(reference), abs=1e-3)


class _Model:
    """Our likelihood as ConvoKit wants one: one sequence at a time."""

    tokenizer = None

    def __init__(self, likelihood: Likelihood) -> None:
        self._likelihood = likelihood

    def transform(self, data: Any, verbosity: int = 5) -> list[dict[str, float]]:
        made = []
        for past, future in zip(*data, strict=True):
            found = {}
            for name in past.keys() & future.keys():
                context = [token for text in past[name] for token in self._likelihood.encode(f"{text}\n\n")]
                asked = Continuation([*self._likelihood.start, *context], self._likelihood.encode(*future[name]))
                found[name] = float(self._likelihood.weigh([[asked]])[0][0].sum())
            made.append(found)
        return made


def convokit_scores(
    transcripts: Sequence[Transcript], likelihood: Likelihood, monkeypatch: pytest.MonkeyPatch, home: Path
) -> dict[tuple[str, int], float]:
    monkeypatch.setenv("HOME", str(home))  # where it writes a configuration
    convokit = pytest.importorskip("convokit")
    from convokit.redirection import Redirection, contextSelector

    # It takes the labels in the order of a set, which the hash seed decides.
    labels = {A: "Speaker A: ", B: "Speaker B: "}
    monkeypatch.setattr(contextSelector, "default_speaker_prefixes", lambda roles: [labels[r] for r in roles])
    people = {role: convokit.Speaker(id=role) for role in labels}
    utterances = [
        convokit.Utterance(
            id=f"{transcript.id}:{turn.index}",
            speaker=people[turn.role],
            conversation_id=f"{transcript.id}:0",
            text=" ".join(turn.text.split()),
            timestamp=turn.index,
            meta={"role": turn.role},
        )
        for transcript in transcripts
        for turn in transcript.turns
    ]
    corpus = Redirection(_Model(likelihood)).transform(convokit.Corpus(utterances=utterances))
    return {
        (utterance.id.rpartition(":")[0], int(utterance.id.rpartition(":")[2])): utterance.meta["redirection"]
        for utterance in corpus.iter_utterances()
        if utterance.meta["role"] == A and "redirection" in utterance.meta
    }


@pytest.mark.model
def test_scores_are_those_of_convokit(likelihood: Likelihood, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours = {("t", one.turn): one.score for one in score_turns(SHORT, likelihood, 4096).scored}
    theirs = convokit_scores([SHORT], likelihood, monkeypatch, tmp_path)
    assert theirs.keys() == ours.keys()
    for turn, score in theirs.items():
        assert ours[turn] == pytest.approx(score, abs=1e-3)


@pytest.mark.model
@pytest.mark.slow
def test_scores_of_real_sessions_are_those_of_convokit(
    annomi: Path, likelihood: Likelihood, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = []
    for transcript in Reading([annomi]):
        roles = [turn.role for turn in transcript.turns]
        alternating = all(a != b for a, b in itertools.pairwise(roles))
        if alternating and 10 <= len(roles) <= 40 and all(turn.text.strip() for turn in transcript.turns):
            real.append(transcript)
    real = real[:6]
    ours = {(each.id, one.turn): one.score for each in real for one in score_turns(each, likelihood, 4096).scored}
    theirs = convokit_scores(real, likelihood, monkeypatch, tmp_path)
    assert len(ours) > 40
    assert theirs.keys() == ours.keys()
    for turn, score in theirs.items():
        assert ours[turn] == pytest.approx(score, abs=1e-3)


# -- defects that are not copied --------------------------------------------------------------------


class Watched:
    """A likelihood that remembers what it is asked, as text."""

    def __init__(self, likelihood: Likelihood) -> None:
        self._likelihood = likelihood
        self.start, self.window = likelihood.start, likelihood.window
        self.encode = likelihood.encode
        self.asked: list[tuple[str, str]] = []

    def weigh(self, groups: Any) -> Any:
        decode = self._likelihood._tokenizer.decode
        self.asked += [(decode(each.context), decode(each.text)) for group in groups for each in group]
        return self._likelihood.weigh(groups)


@pytest.mark.model
def test_labels_follow_the_role_whoever_speaks_first(likelihood: Likelihood) -> None:
    for turns in (SAID[:4], SAID[1:6]):
        watched: Any = Watched(likelihood)
        score_turns(conversation(*turns), watched, 1024)
        for context, text in watched.asked:
            assert text.startswith("Speaker B: ")
            assert [line[:10] for line in context.split("\n\n")] == ["Speaker B:", "Speaker A:", ""]


@pytest.mark.model
def test_speakers_whose_names_contain_one_another(tmp_path: Path, likelihood: Likelihood) -> None:
    file = tmp_path / "t.csv"
    names = {A: "client advocate", B: "client"}
    rows = [f't,{names[role]},"{text}"' for role, text in SAID]
    file.write_text("\n".join(["transcript_id,speaker,text", *rows]))
    roles: Any = {"client advocate": A, "client": B}
    (read,) = Reading([file], ReadOptions(roles=roles))
    wanted = [one.score for one in score_turns(SHORT, likelihood, 1024).scored]
    assert [one.score for one in score_turns(read, likelihood, 1024).scored] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.model
def test_one_role_or_three_stop_nothing(folder: str) -> None:
    every = [metric.name for metric in FAMILY.metrics]
    alone = values(conversation(*((A, text) for _, text in SAID)), *every, model=folder)
    assert {one.metric for one in alone} == set(every)
    found = {one.metric: one for one in alone if one.turn is None and one.role is None}
    assert all(one.error == "no patient turn" for one in found.values() if "delta" not in one.metric)
    observed = conversation(*SAID[:3], ("other", "[a phone rings]"), *SAID[3:])
    assert [one.value for one in values(observed, "redirection_score", model=folder)] == [
        one.value for one in values(SHORT, "redirection_score", model=folder)
    ]


@pytest.mark.model
def test_a_blank_line_stands_before_the_answer_too(likelihood: Likelihood) -> None:
    watched: Any = Watched(likelihood)
    score_turns(conversation(*SAID[:4]), watched, 1024)
    assert watched.asked == [
        (
            "Speaker B: My doctor says that I should drink less.\n\nSpeaker A: And what do you say?\n\n",
            "Speaker B: I say that it is my one pleasure.",
        ),
        (
            "Speaker B: My doctor says that I should drink less.\n\nSpeaker A: What brings you here?\n\n",
            "Speaker B: I say that it is my one pleasure.",
        ),
    ]


@pytest.mark.model
def test_a_start_token_stands_at_the_beginning_and_nowhere_else() -> None:
    model, tokenizer = tiny("Llama")
    watched: Any = Watched(Likelihood(model, starting(tokenizer)))
    score_turns(SHORT, watched, 1024)
    turn_likelihoods(SHORT, watched, 1024)
    for context, text in watched.asked:
        assert context.startswith(BEGIN)
        assert (context + text).count(BEGIN) == 1


@pytest.mark.model
def test_a_long_turn_before_is_cut_alike_and_said(likelihood: Likelihood) -> None:
    story = "abcdefghij" * 30
    transcript = conversation((A, "One?"), (B, story), (A, "Two, you say?"), (B, "Yes."))
    watched: Any = Watched(likelihood)
    (one,) = score_turns(transcript, watched, 200).scored
    (actual, answer), (reference, _) = watched.asked
    assert actual.endswith("\n\nSpeaker A: Two, you say?\n\n"), "the turn itself is never dropped"
    assert reference.endswith("\n\nSpeaker A: One?\n\n")
    kept = actual.partition("\n\n")[0]
    assert kept == reference.partition("\n\n")[0], "cut alike in both contexts"
    assert story.endswith(kept)
    assert len(likelihood.encode(actual + answer)) == 200
    assert one.remark is not None
    assert one.remark.startswith("of the patient turn before it the first ")
    wanted = log_odds(plain(likelihood, actual, answer)) - log_odds(plain(likelihood, reference, answer))
    assert one.score == pytest.approx(wanted, abs=1e-3)
    assert one.score != 0


@pytest.mark.model
@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_turn_longer_than_the_window_is_missing_with_the_reason(place: int, likelihood: Likelihood) -> None:
    turns = [(A, "One?"), (B, "No."), (A, "Two?"), (B, "Yes.")]
    turns[place] = (turns[place][0], "abc" * 100)
    scores = score_turns(conversation(*turns), likelihood, 200)
    assert not scores.scored
    assert scores.without[2].endswith("tokens, more than the 200 that the model is given at once")


@pytest.mark.model
def test_turns_in_a_row_are_one(likelihood: Likelihood, folder: str) -> None:
    split = conversation((A, "What brings"), (A, "you here?"), *SAID[1:2], (A, "And what"), (A, ""), (A, "do you say?"),
                         (B, "I say that"), (B, "it is my one pleasure."))  # fmt: skip
    scores = score_turns(split, likelihood, 1024)
    (whole,) = score_turns(conversation(*SAID[:4]), likelihood, 1024).scored
    (one,) = scores.scored
    assert one.score == whole.score
    assert one.turn == 5
    assert scores.without == {
        0: "said in one go with turn 1, which has the score",
        1: "no clinician turn and patient turn before it",
        3: "said in one go with turn 5, which has the score",
        4: "the turn is empty",
    }
    found = values(split, "redirection_score", model=folder)
    assert [one.turn for one in found] == [0, 1, 3, 4, 5]
    assert [one.error is None for one in found] == [False, False, False, False, True]


# -- turn likelihood --------------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.parametrize("begun", [False, True])
def test_turn_likelihood_is_the_mean_over_the_tokens_said(begun: bool) -> None:
    model, tokenizer = tiny("Llama")
    likelihood = Likelihood(model, starting(tokenizer) if begun else tokenizer)
    totals, remark = turn_likelihoods(SHORT, likelihood, 4096)
    assert remark is None
    wanted: dict[str, list[float]] = {A: [], B: []}
    past = ""
    for speaker, text in SAID:
        context, said = f"{past}Speaker {'AB'[speaker == B]}:", f" {text}"
        wanted[speaker] += [plain(likelihood, context, said)] + [0.0] * (len(likelihood.encode(said)) - 1)
        past = f"{context}{said}\n\n"
    for role, (total, count) in totals.items():
        assert count == len(wanted[role])
        assert total / count == pytest.approx(np.mean(wanted[role]), abs=1e-4)


@pytest.mark.model
def test_in_a_long_session_each_token_is_seen_after_half_a_window_or_more(likelihood: Likelihood) -> None:
    watched: Any = Watched(likelihood)
    totals, remark = turn_likelihoods(LONG, watched, 200)
    text = "".join(f"{speech.line}\n\n" for speech in speeches(LONG))
    assert "".join(after for _, after in watched.asked) == text[1:], "everything once, but for the first letter"
    done = 1
    for number, (before, after) in enumerate(watched.asked):
        assert text[done - len(before) : done] == before
        assert len(likelihood.encode(before + after)) <= 200
        assert number == 0 or len(likelihood.encode(before)) == 100
        done += len(after)
    assert remark is not None
    assert remark.endswith("tokens; after the first 200 each is seen after at least 100 others")
    full, _ = turn_likelihoods(LONG, likelihood, 4096)
    for role, (total, count) in totals.items():
        assert count == full[role][1]
        assert total / count == pytest.approx(full[role][0] / count, abs=0.5)


# -- measures ---------------------------------------------------------------------------------------

CODED = (
    (A, "1"), (B, "I won't.", {"codes": {"anna": {"client_talk": "sustain"}}}),
    (A, "2"), (B, "I hate this.", {"codes": {"anna": {"client_talk": "sustain"}}}),
    (A, "3"), (B, "That would be great!", {"codes": {"anna": {"client_talk": "change"}}}),
    (A, "4"), (B, "I love that idea.", {"codes": {"anna": {"client_talk": "change"}}}),
    (A, "5"), (B, "Table.", {"codes": {"anna": {"client_talk": "neutral"}}}),
)  # fmt: skip


def session(scores: dict[int, float], *turns: Any, **given: Any) -> _TurnSequence:
    """A session with given scores of turns."""
    transcript = conversation(*(turns or CODED))
    said = {speech.turns[-1]: speech for speech in speeches(transcript)}
    scored = [ScoredTurn(said[turn], said[turn + 1], score) for turn, score in scores.items()]
    return _TurnSequence(transcript, SessionRedirections(scored), FAMILY.settings(given))


def test_ratio_and_greatest_by_hand() -> None:
    one = session({2: -1.0, 4: 2.5, 6: 0.5, 8: 0.0})
    assert one.ratio().value == 0.5
    assert one.ratio().reason == "2 of 4 scored turns"
    assert session({2: -1.0, 4: 2.5, 6: 0.5, 8: 0.0}, threshold=1.0).ratio().value == 0.25
    assert one.most().value == 2.5
    assert one.most().reason == "turn 4"
    assert session({2: 1.0, 4: 1.0}).most().reason == "turn 2", "the first of equals"


def test_nothing_to_measure() -> None:
    nothing = session({})
    for value in (nothing.ratio(), nothing.most(), nothing.accepted(), *nothing.deltas(["delta_change_talk"])):
        assert value.value is None
        assert value.error == "no clinician turn has a score"
    assert session({2: -1.0}).accepted().error == "no turn redirects"
    assert session({2: -1.0}).ratio().value == 0


def test_acceptance_by_change_talk_by_hand() -> None:
    accepted = session({2: 1.0, 4: 1.0, 6: 1.0, 8: -1.0}, accepted="change_talk").accepted()
    assert accepted.value == pytest.approx(2 / 3)
    assert accepted.reason == "2 of 3 redirecting turns"
    assert accepted.rater is not None
    assert accepted.rater.endswith("+accepted=change_talk:human")


def test_acceptance_by_sentiment_by_hand() -> None:
    pytest.importorskip("vaderSentiment")
    accepted = session({2: 1.0, 4: 1.0, 6: 1.0, 8: 1.0}).accepted()
    assert accepted.value == 0.5
    assert accepted.rater is not None
    assert accepted.rater.endswith(f"+accepted={scorer_name()}")
    chinese = [(role, "你好") for role, _ in SAID]
    assert "Latin" in str(session({2: 1.0}, *chinese).accepted().error)


def test_answers_without_a_code_are_told() -> None:
    turns = [*CODED[:5], (B, "That would be great!"), *CODED[6:]]
    accepted = session({4: 1.0, 6: 1.0}, *turns, accepted="change_talk").accepted()
    assert accepted.value == 1
    assert accepted.reason == "1 of 1 redirecting turns; 1 more have no coded answer"
    assert session({4: 1.0}, *turns, accepted="change_talk").accepted().error == (
        "no answer to a redirecting turn is coded"
    )


def test_a_coder_that_gives_no_such_codes_is_told() -> None:
    one = session({4: 1.0}, accepted="change_talk", coder="rules")
    assert one.accepted().error == "the coder rules does not code the patient's talk"
    assert next(iter(one.deltas(["delta_change_talk"]))).error == one.accepted().error
    uncoded = session({4: 1.0}, *((role, text) for role, text, *_ in CODED))
    assert next(iter(uncoded.deltas(["delta_change_talk"]))).error == "nobody coded the patient's talk"
    with pytest.raises(RegistryError, match="'nobody'"):
        session({4: 1.0}, accepted="change_talk", coder="nobody").accepted()


def test_deltas_by_hand() -> None:
    change, sustain = session({2: 0.0, 4: 3.0}).deltas(["delta_change_talk", "delta_sustain_talk"])
    assert change.value == pytest.approx(2 / 3 - 0)  # after turn 4: change, change, neutral; before: sustain twice
    assert sustain.value == pytest.approx(0 - 1)
    assert change.reason == "at turn 4: 2 coded patient turns before, 3 after"
    assert change.rater is not None
    assert change.rater.endswith("+codes=human")


def test_deltas_need_turns_on_both_sides() -> None:
    (late,) = session({8: 1.0}, *CODED[:9], (B, "Table.")).deltas(["delta_change_talk"])
    assert late.error == "no coded patient turn after turn 8"
    (early,) = session({2: 1.0}, CODED[0], (B, "Hm."), *CODED[2:]).deltas(["delta_change_talk"])
    assert early.error == "no coded patient turn before turn 2"


def test_of_several_people_the_majority_counts() -> None:
    def coded(*labels: str) -> dict[str, Any]:
        return {"codes": {f"coder {i}": {"client_talk": label} for i, label in enumerate(labels)}}

    turns = (
        *(CODED[0], (B, "no", coded("change", "change", "sustain"))),
        *(CODED[2], (B, "so", coded("change", "sustain"))),
        *(CODED[4], (B, "no", coded("sustain"))),
    )
    (change,) = session({2: 1.0}, *turns).deltas(["delta_change_talk"])
    assert change.value == -1, "tied turns have no code"
    assert change.reason == "at turn 2: 1 coded patient turns before, 1 after"


def test_a_rater_has_the_parameters_that_matter_to_it() -> None:
    one = session({4: 1.0}, threshold=0.5, precision="bfloat16", coder="rules")
    assert one.ratio().rater == "algorithm:redirection@1+precision=bfloat16+threshold=0.5"
    assert one.most().rater == "algorithm:redirection@1+precision=bfloat16"
    assert one.accepted().rater == (
        f"algorithm:redirection@1+precision=bfloat16+threshold=0.5+accepted={scorer_name()}"
    )


def test_parameters_that_make_no_sense() -> None:
    with pytest.raises(RegistryError, match=r"redirection\.window"):
        values(SHORT, "redirection_score", window=8)
    with pytest.raises(RegistryError, match="'love'"):
        values(SHORT, "redirection_score", accepted="love")


def test_sentiment_is_vaders() -> None:
    """The tone of sentences that VADER's authors publish with their compound scores."""
    pytest.importorskip("vaderSentiment")
    assert is_positive("VADER is smart, handsome, and funny.")  # 0.8316
    assert is_positive("At least it isn't a horrible book.")  # 0.4310
    assert not is_positive("VADER is not smart, handsome, nor funny.")  # −0.7424
    assert not is_positive("Today SUX!")  # −0.5461
    assert scorer_name().startswith("vader@3.")


def test_speeches_keep_what_was_said() -> None:
    assert speeches(conversation((B, " a\n b "), ("other", "x"), (B, "c"), (A, " "), (A, "d"))) == [
        Speech(B, (0, 2), "a b c"),
        Speech(A, (4,), "d"),
    ]
