"""How good a coder is: its codes against people's, turn by turn and over sessions, beside the human ceiling.

Gold is people's code; where several people coded a turn, what most of them say (turns where no label is most
frequent are left out and counted).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bedside.core.errors import DataError
from bedside.metrics.coders.contract import CodeSource, TurnCodes
from bedside.metrics.coders.people import people_codes
from bedside.metrics.coders.testing.code_scores import VIEWS, CodedTurn, CodeScore, code_score, coded_turns
from bedside.metrics.coders.testing.session_scores import SessionScore, session_qualities, session_scores
from bedside.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ExistingCodes:
    """Codes that are there already, such as a judge's.

    Attributes:
        rater: whose they are.
        codes: which codes were asked for.
        codes_by_transcript: transcript id → turn index → code → label.
        causes: transcript id → why codes are missing in it.
    """

    rater: str
    codes: tuple[str, ...]
    codes_by_transcript: Mapping[str, TurnCodes]
    causes: Mapping[str, str] = field(default_factory=dict)

    def code(self, transcript: Transcript) -> TurnCodes:
        """The codes of a transcript."""
        return self.codes_by_transcript[transcript.id]

    def refuses(self, transcript: Transcript) -> str | None:
        """Why a transcript has no codes at all; None where it has some."""
        if self.codes_by_transcript.get(transcript.id):
            return None
        return self.causes.get(transcript.id, "not coded")


@dataclass(frozen=True, slots=True)
class CoderTest:
    """What :func:`evaluate_coder` found.

    Attributes:
        coder: the coder's rater name.
        transcripts: transcripts with people's codes that the coder coded.
        refused: (transcript id, reason) where the coder can't code.
        without_codes: transcripts left out because nobody coded what the coder codes.
        scores: one per view.
        sessions: one per measure.
    """

    coder: str
    transcripts: int
    refused: tuple[tuple[str, str], ...]
    without_codes: int
    scores: tuple[CodeScore, ...]
    sessions: tuple[SessionScore, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row per view: the coder's figures and, where there is one, the human ceiling."""
        return [
            {
                "code": score.view,
                "turns": score.turns,
                "not_coded": score.not_coded,
                "accuracy": score.accuracy,
                "macro_f1": score.macro_f1,
                "kappa": score.kappa,
                "people": score.ceiling.people if score.ceiling else None,
                "shared_turns": score.ceiling.turns if score.ceiling else None,
                "people_macro_f1": score.ceiling.macro_f1 if score.ceiling else None,
                "coder_macro_f1_there": score.ceiling.coder_macro_f1 if score.ceiling else None,
                "share_of_people": score.ceiling.share if score.ceiling else None,
            }
            for score in self.scores
        ]

    def class_rows(self) -> list[dict[str, Any]]:
        """One row per view and label: precision, recall, F1, support and the confusion counts."""
        return [
            {
                "code": score.view,
                "label": label_score.label,
                "precision": label_score.precision,
                "recall": label_score.recall,
                "f1": label_score.f1,
                "support": label_score.support,
                "coded_as": dict(zip(score.columns, counts, strict=True)),
            }
            for score in self.scores
            for label_score, counts in zip(score.classes, score.confusion, strict=True)
        ]

    def session_rows(self) -> list[dict[str, Any]]:
        """One row per measure of sessions."""
        return [
            {
                "measure": score.measure,
                "sessions": score.sessions,
                "missing": score.missing,
                "pearson": score.pearson,
                "spearman": score.spearman,
                "mean_absolute_error": score.mean_absolute_error,
                "mean_people": score.mean_people,
                "mean_coder": score.mean_coder,
                "auc_people": score.auc_people,
                "auc_coder": score.auc_coder,
                "use": score.use,
                "why": score.why,
            }
            for score in self.sessions
        ]


def evaluate_coder(
    transcripts: Iterable[Transcript], coder: CodeSource, *, quality: str | None = None
) -> CoderTest:
    """A coder's codes against people's.

    Args:
        transcripts: with people's codes in ``meta["codes"]``; those without any of the coder's codes are left out.
        coder: the coder, or codes that are there already.
        quality: name of the factor that says ``high`` or ``low`` of a session; ``mi_quality`` or ``quality``, where
            there is one, unless named.

    Raises:
        InputError: no session has the factor that is named.
        DataError: no transcript has people's codes of what the coder codes, or the coder can code none of them.
    """
    sessions: list[tuple[Transcript, dict[int, CodedTurn]]] = []
    refused: list[tuple[str, str]] = []
    without = 0
    for transcript in transcripts:
        if not any(
            code in labels
            for codes in people_codes(transcript).values()
            for labels in codes.values()
            for code in coder.codes
        ):
            without += 1
            continue
        why = coder.refuses(transcript)
        if why is not None:
            refused.append((transcript.id, why))
            continue
        sessions.append((transcript, coded_turns(transcript, coder.code(transcript))))
    if refused and not sessions:
        raise DataError(
            f"{coder.rater} coded none of the {len(refused)} transcripts that people coded, the first because: "
            f"{refused[0][1]}"
        )
    if not sessions:
        raise DataError(
            f"no transcript has people's codes of {', '.join(coder.codes)}",
            todo="give transcripts whose turns have meta.codes",
        )
    turns = [turn for _, session in sessions for turn in session.values()]
    scores = [code_score(view, turns) for view in VIEWS if view.code in coder.codes]
    return CoderTest(
        coder=coder.rater,
        transcripts=len(sessions),
        refused=tuple(refused),
        without_codes=without,
        scores=tuple(score for score in scores if score is not None),
        sessions=session_scores(
            sessions, coder, session_qualities([transcript for transcript, _ in sessions], quality)
        ),
    )
