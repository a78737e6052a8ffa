"""Conversations that the clinician failed, as ratings: each measure of success has the worst that its protocol states.

Silence is a result. What the conversation's protocol names in its suite's ``failed`` is rated so, whatever was said
before; a judge isn't asked about such a conversation, and a rubric that the protocol knows nothing of gets the end of
its scale that its direction calls worst. All else is as it is found, or missing with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bedside.judges.rubrics.rubric import Rubric
from bedside.metrics.protocols.contract import PROTOCOLS
from bedside.ratings.suites import SUITES, Suite
from bedside.ratings.values import Value
from bedside.scoring.run_transcripts import TranscriptSource
from bedside.transcripts.transcript import Transcript, clinician_failure


@dataclass(frozen=True, slots=True)
class FailedTalk:
    """A conversation that the clinician failed.

    Attributes:
        why: what it did, for reasons of ratings.
        values: the worst value of each measure that its protocol names.
        suite: the protocol's; None where it has none.
    """

    why: str
    values: Mapping[str, float]
    suite: Suite | None

    def rated(self, value: Value) -> Value:
        """A metric's value of it: the worst where the protocol names the metric, else as it was computed."""
        worst = self.values.get(value.metric)
        if worst is None or value.turn is not None or value.role is not None:
            return value
        return value._replace(value=worst, label=None, reason=self.why, error=None)

    def computed(self, value: Value, family: str) -> Value:
        """The same where no judge's answers are expected: what follows from labels is rated where there are any."""
        of_labels = any(protocol.family == family for protocol in PROTOCOLS.all().values())
        return value if of_labels and value.rater is None else self.rated(value)

    def level(self, rubric: Rubric) -> float | None:
        """The worst level of a rubric; None where the protocol has the rubric, and it isn't about success."""
        if rubric.name in self.values:
            return self.values[rubric.name]
        known = self.suite is not None and rubric.name in self.suite.rubrics
        if known or rubric.direction == "none" or not rubric.scale:
            return None
        return rubric.scale[0 if rubric.direction == "higher" else -1].value


def failed_talk(transcript: Transcript) -> FailedTalk | None:
    """How a transcript is rated that the clinician failed; None for all others."""
    failure = clinician_failure(transcript.reference)
    if not failure:
        return None
    protocol = transcript.reference["simulation"].get("protocol")
    suite = SUITES.load(protocol) if isinstance(protocol, str) and protocol in SUITES else None
    declared = {} if suite is None else suite.failed
    values = {
        metric: float(worst) if isinstance(worst, int | float) else _listed(transcript, worst)
        for metric, worst in declared.items()
    }
    return FailedTalk(f"the clinician failed: {failure}", values, suite)


def _listed(transcript: Transcript, name: str) -> float:
    """How many things a transcript's reference lists under a name."""
    listed = transcript.reference.get(name)
    return float(len(listed)) if isinstance(listed, list | tuple) else 0.0


def without_failed(transcripts: TranscriptSource) -> TranscriptSource:
    """The transcripts that a judge is asked about: not those that the clinician failed."""

    def held() -> Iterator[Transcript]:
        return (transcript for transcript in transcripts() if not clinician_failure(transcript.reference))

    return held
