"""People's codes, as they stand in the turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from bedside.transcripts.transcript import CODE_ROLES, CODES, ROLES, Transcript

_CODES_OF = {of: tuple(code for code, role in CODE_ROLES.items() if role == of) for of in ROLES}


def people_codes(transcript: Transcript) -> dict[str, dict[int, dict[str, str]]]:
    """Coder → turn index → code → label, sorted by coder.

    Known codes on turns of the role they belong to; the labels are as written, see :func:`proper`.
    """
    result: dict[str, dict[int, dict[str, str]]] = {}
    for turn in transcript.turns:
        for coder, given in turn.meta.get("codes", {}).items() if turn.meta else ():
            labels = {code: given[code] for code in _CODES_OF[turn.role] if code in given}
            if labels:
                result.setdefault(coder, {})[turn.index] = labels
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
