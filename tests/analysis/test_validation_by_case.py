"""What validate says of length and of a judge's passes takes a case's transcripts together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import validate
from bedside.ratings.table import frame_of
from bedside.scoring.score import score
from bedside.stats.reliability import krippendorff_alpha
from tests.analysis.builders import definite, ends
from tests.conftest import conversation

CASES, TRANSCRIPTS = 8, 3


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[RatingsView, np.ndarray]:
    """Eight cases of three transcripts, all of one length within a case; two passes of a judge and one person."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(1, 6, (CASES, TRANSCRIPTS, 3))
    talks = [
        conversation(
            *[("clinician", "How are you?"), ("patient", "Well, I wake at three.")] * (1 + case),
            id=f"{case}-{number}", system="a", case_id=f"c{case}", language="en",
        )
        for case in range(CASES) for number in range(TRANSCRIPTS)
    ]  # fmt: skip
    rows = [
        (talk.id, "a", talk.case_id, "transcript", "empathy", rater, replicate, float(value), None, None, None)
        for talk, (first, second, person) in zip(talks, numbers.reshape(-1, 3).tolist(), strict=True)
        for rater, replicate, value in (
            ("judge:m", 0, first), ("judge:m", 1, second), ("human:x", 0, person),
        )
    ]  # fmt: skip
    run = score(talks, tmp_path_factory.mktemp("cases") / "run", metrics=["turns"]).run
    run.add(frame_of(rows).lazy(), run.manifest)
    return open_ratings_view(run.path), numbers


def test_the_correlation_with_length_leaves_out_whole_cases(judged: tuple[RatingsView, np.ndarray]) -> None:
    view, numbers = judged
    (card,) = validate(view, judges=["judge:m"], metrics=["empathy"])
    length = definite(card.validations[0].length)
    # The first pass counts where two differ: neither is more frequent, nor nearer to their mean.
    differences = (numbers[..., 0] - numbers[..., 2]).astype(float)
    turns = np.repeat(2.0 * (1 + np.arange(CASES))[:, None], TRANSCRIPTS, axis=1)

    def z(kept: np.ndarray) -> float:
        return float(np.arctanh(stats.spearmanr(differences[kept].ravel(), turns[kept].ravel()).statistic))

    whole = z(np.arange(CASES))
    without = np.array([z(np.delete(np.arange(CASES), case)) for case in range(CASES)])
    error = np.sqrt((CASES - 1) / CASES * ((without - without.mean()) ** 2).sum())
    half = stats.t.ppf(0.975, CASES - 1) * error
    assert length.estimate == pytest.approx(np.tanh(whole))
    assert ends(length.interval) == pytest.approx(np.tanh([whole - half, whole + half]))


def test_a_judges_agreement_with_itself_is_clustered_by_case(judged: tuple[RatingsView, np.ndarray]) -> None:
    view, numbers = judged
    (card,) = validate(view, judges=["judge:m"], metrics=["empathy"])
    cases = np.repeat(np.arange(CASES), TRANSCRIPTS)
    passes = numbers[..., :2].reshape(-1, 2)
    asked = {"metric": "ordinal", "scale": (1, 2, 3, 4, 5)}
    by_case = krippendorff_alpha(passes, clusters=cases, **asked)
    alone = krippendorff_alpha(passes, **asked)
    own = definite(card.validations[0].self_agreement)
    assert (own.estimate, own.interval) == (by_case.estimate, by_case.interval)
    assert own.interval != alone.interval
