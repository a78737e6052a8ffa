"""Cases matched to respondents of a survey: whoever answered the DASS-42 most alike, of an age and life like theirs.

The survey is the one that openpsychometrics.org offers: a table with a row for each respondent, the answers in columns
``Q1A`` to ``Q42A``. The user brings it; nothing is fetched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.core.errors import InputError
from bedside.core.files import read_bytes
from bedside.simulation.simulators.calm_it.client_fields import (
    DASS_ITEMS,
    PROTOCOL,
    TIPI_ITEMS,
    ClientProfile,
    RespondentMatch,
    sketch_of,
)
from bedside.simulation.simulators.case import Case
from bedside.stats.one_against_many import kappas_with_each

#: Agreement above which a match is kept; youngest respondent; years that ages may differ by.
LEAST, ADULT, YEARS = 0.6, 18, 10
_OLDEST = 110
_LEVELS = (1, 2, 3, 4)
_ANSWERS = tuple(f"Q{number}A" for number in range(1, DASS_ITEMS + 1))
_TIPI = tuple(f"TIPI{number}" for number in range(1, TIPI_ITEMS + 1))
_GENDERS = {1: "male", 2: "female", 3: "other"}
_MARRIED = {1: "never married", 2: "married", 3: "previously married"}
#: Words of a profile by what the survey calls it.
_GENDER_WORDS = {"male": "male", "man": "male", "female": "female", "woman": "female"}
_MARRIED_WORDS = {
    "single": "never married", "unmarried": "never married", "never married": "never married", "married": "married",
    "divorced": "previously married", "widowed": "previously married", "separated": "previously married",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Respondents:
    """The adults of a survey who answered everything.

    Attributes:
        file: the file's name.
        digest: its SHA-256 (64 hexadecimal digits).
        numbers: their rows in the file, from 1.
        answers: respondents × 42, each 1 to 4.
        others: what else each said, by column.
        left_out: respondents who are left out, by the reason.
    """

    file: str
    digest: str
    numbers: npt.NDArray[np.int64]
    answers: npt.NDArray[np.float64]
    others: Mapping[str, tuple[int | None, ...]]
    left_out: Mapping[str, int]

    def demographics(self, place: int) -> dict[str, str | int]:
        """What a respondent said of themselves, as far as a profile speaks of it."""
        said: dict[str, str | int | None] = {
            "age": self.others["age"][place],
            "gender": _GENDERS.get(self.others["gender"][place] or 0),
            "married": _MARRIED.get(self.others["married"][place] or 0),
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True)
class CaseMatch:
    """A case with the respondent who answered most alike.

    Attributes:
        case: with the match in its ``dass``, where it is kept.
        kappa: quadratic weighted kappa of the two; None where there is none.
        respondent: row in the file, from 1; None likewise.
        why_not: why the case isn't kept; empty where it is.
    """

    case: Case
    kappa: float | None
    respondent: int | None
    why_not: str = ""


def read_respondents(path: Path) -> Respondents:
    """The survey's adults.

    Raises:
        InputError: it can't be read, or lacks a column.
    """
    content = read_bytes(path, "table of respondents")
    first = content.partition(b"\n")[0]
    separator = "\t" if b"\t" in first else ","
    wanted = (*_ANSWERS, "age", "gender", "married", *_TIPI)
    columns = [name.strip().strip('"') for name in first.decode("utf-8", "replace").strip().split(separator)]
    missing = [name for name in wanted[: DASS_ITEMS + 3] if name not in columns]
    if missing:
        raise InputError(
            f"the table has no column {missing[0]}"
            + (f" and {len(missing) - 1} more that are needed" if missing[1:] else ""),
            where=str(path),
            todo="bring the table of the DASS-42 from openpsychometrics.org, unpacked",
        )
    try:
        table = pl.read_csv(
            content,
            separator=separator,
            infer_schema=False,
            encoding="utf8-lossy",
            quote_char=None if separator == "\t" else '"',
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"it can't be read as a table ({error})", where=str(path)) from error
    there = [name for name in wanted if name in columns]
    cells = [pl.col(name).str.strip_chars('" ').cast(pl.Int64, strict=False) for name in there]
    return _adults(table.select(cells), path, hashlib.sha256(content).hexdigest())


def _adults(table: pl.DataFrame, path: Path, digest: str) -> Respondents:
    rows = table.with_row_index("row", offset=1)
    whole = pl.all_horizontal(pl.col(name).is_in(_LEVELS).fill_null(value=False) for name in _ANSWERS)
    aged = pl.col("age").is_between(0, _OLDEST).fill_null(value=False)
    kept = rows.filter(whole & aged & (pl.col("age") >= ADULT))
    left_out = {
        "with an answer missing": rows.filter(~whole).height,
        "without a possible age": rows.filter(whole & ~aged).height,
        f"under {ADULT}": rows.filter(whole & aged & (pl.col("age") < ADULT)).height,
    }
    names = [name for name in ("age", "gender", "married", *_TIPI) if name in kept.columns]
    return Respondents(
        path.name,
        digest,
        kept["row"].cast(pl.Int64).to_numpy(),
        kept.select(_ANSWERS).to_numpy().astype(np.float64).reshape(kept.height, DASS_ITEMS),
        {name: tuple(kept[name].to_list()) for name in names},
        {reason: number for reason, number in left_out.items() if number},
    )


def match_case(case: Case, respondents: Respondents) -> CaseMatch:
    """The respondent whose 42 answers agree best with a case's, by quadratic weighted kappa; of equal ones the first.

    It is kept where kappa is above 0.6 and what both say of themselves fits: the same gender and family status, and
    ages no more than ten years apart. What one of them doesn't say, or says in words that aren't known, isn't compared.
    """
    fields = sketch_of(case)
    if fields.dass is None:
        return CaseMatch(case, None, None, "it has no `dass` with 42 answers")
    if not len(respondents.numbers):
        return CaseMatch(case, None, None, "no adult answered everything")
    kappas = kappas_with_each(fields.dass.answers, respondents.answers, scale=_LEVELS, weights="quadratic")
    if np.isnan(kappas).all():
        return CaseMatch(case, None, None, "kappa is undefined with every respondent")
    place = int(np.nanargmax(kappas))
    kappa, number = float(kappas[place]), int(respondents.numbers[place])
    demographics = respondents.demographics(place)
    why_not = "" if kappa > LEAST else f"kappa is not above {LEAST}"
    why_not = why_not or _inconsistent(fields.profile, demographics)
    if why_not:
        return CaseMatch(case, kappa, number, why_not)
    match = RespondentMatch(
        file=respondents.file,
        sha256=respondents.digest,
        respondent=number,
        kappa=round(kappa, 6),
        demographics=demographics,
        answers=tuple(int(answer) for answer in respondents.answers[place]),
        tipi=_tipi(respondents, place),
    )
    extra: dict[str, Any] = {name: dict(own) for name, own in case.extra.items()}
    extra[PROTOCOL]["dass"] = {**extra[PROTOCOL]["dass"], "match": match.model_dump(mode="json")}
    return CaseMatch(case.model_copy(update={"extra": extra}), kappa, number)


def _tipi(respondents: Respondents, place: int) -> tuple[int, ...]:
    """The ten items on personality, where all were answered."""
    answers = [respondents.others[name][place] for name in _TIPI if name in respondents.others]
    given = tuple(answer for answer in answers if answer)
    return given if len(given) == TIPI_ITEMS else ()


def _inconsistent(profile: ClientProfile, demographics: Mapping[str, str | int]) -> str:
    """What doesn't fit; empty where everything does that both say."""
    said = {
        "gender": _GENDER_WORDS.get(profile.gender.strip().casefold()),
        "married": _MARRIED_WORDS.get(profile.relationship_status.strip().casefold()),
    }
    for name, word in said.items():
        other = demographics.get(name)
        if word is not None and other is not None and word != other:
            return f"the case is {word}, and the respondent {other}"
    age = demographics.get("age")
    if isinstance(age, int) and abs(profile.age - age) > YEARS:
        return f"the case is {profile.age} years old, and the respondent {age}"
    return ""
