"""People's codes, as they stand in the turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from bedside.coders._contract import CODE_ROLES, CODES
from bedside.errors import InputError
from bedside.transcripts.model import Transcript


def people_codes(transcript: Transcript) -> dict[str, dict[int, dict[str, str]]]:
    """Coder → turn index → code → label, sorted by coder.

    Known codes on turns of the role they belong to; the labels are as written, see :func:`proper`.

    Raises:
        InputError: ``meta["codes"]`` of a turn is not ``{coder: {code: label}}``.
    """
    result: dict[str, dict[int, dict[str, str]]] = {}
    for turn in transcript.turns:
        given = turn.meta.get("codes") or {}
        if not isinstance(given, Mapping) or not all(isinstance(own, Mapping) for own in given.values()):
            raise InputError(
                "the codes are not given by coder",
                where=f"{transcript.source or transcript.id}, turn {turn.index}",
                todo='write meta.codes as {coder: {code: label}}, e.g. {"anna": {"question": "open"}}',
            )
        for coder, own in given.items():
            labels = {
                code: str(own[code])
                for code, role in CODE_ROLES.items()
                if role == turn.role and own.get(code) is not None
            }
            if labels:
                result.setdefault(str(coder), {})[turn.index] = labels
    return dict(sorted(result.items()))


def proper(labels: Mapping[str, str]) -> dict[str, str]:
    """Those labels of a turn that are labels of their code."""
    return {code: label for code, label in labels.items() if label in CODES[code]}


def majority(labels: Iterable[str]) -> str | None:
    """The label most people gave; None where no single label is most frequent."""
    first = Counter(labels).most_common(2)
    if not first or (len(first) == 2 and first[0][1] == first[1][1]):
        return None
    return first[0][0]
