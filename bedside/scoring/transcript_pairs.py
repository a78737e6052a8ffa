"""Which transcripts of a run are compared: those of two systems on one case, matched by what else they have in common.

Transcripts that differ in a condition which varies within a system's conversations on a case (a persona, a setting), or
in the number of a repeat, are compared with those of the same levels. Where a system has several of the same levels
still, the first of one system is compared with the first of the other, the second with the second, in the order of the
run.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, cycle

import polars as pl

from bedside.core.errors import DataError, InputError, one_of
from bedside.core.words import Names, listed
from bedside.ratings.run import Run
from bedside.ratings.study_design import kinds_of, pairing_factors

#: How many transcripts without a partner are named in a line.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class TranscriptPair:
    """Two transcripts that are compared.

    Attributes:
        systems: whose they are, sorted.
        transcripts: their ids, in the order of the systems.
        case: the case of both.
        levels: of the factors by which they are matched.
    """

    systems: tuple[str, str]
    transcripts: tuple[str, str]
    case: str
    levels: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class WithoutPartner:
    """Transcripts that can't be compared with those of another system.

    Attributes:
        system: whose they are; None where the source doesn't say.
        other: the system that has no counterpart to them; None where they can be compared with none.
        transcripts: their ids.
        reason: why.
    """

    system: str | None
    other: str | None
    transcripts: tuple[str, ...]
    reason: str

    def line(self) -> str:
        """The same in words."""
        named = ", ".join(self.transcripts[:_NAMED])
        more = f" and {len(self.transcripts) - _NAMED:,} more" if len(self.transcripts) > _NAMED else ""
        beside = "" if self.other is None else f" with {self.other}"
        whose = "" if self.system is None else f" of {self.system}"
        return f"{len(self.transcripts):,}{whose} not compared{beside}, {self.reason}: {named}{more}."


@dataclass(frozen=True, slots=True)
class PairedTranscripts:
    """The pairs of a run.

    Attributes:
        pairs: what is compared, case by case.
        systems: those that are compared.
        matched_by: the factors by which transcripts of one case are matched.
        without_partner: what isn't compared, for want of a counterpart.
        available: how many pairs there are, those that weren't drawn included.
    """

    pairs: tuple[TranscriptPair, ...]
    systems: tuple[str, ...]
    matched_by: tuple[str, ...]
    without_partner: tuple[WithoutPartner, ...]
    available: int

    def lines(self) -> Iterator[str]:
        """How transcripts were matched and what has no partner, in words."""
        by = ("case", *self.matched_by)
        words = by[0] if len(by) == 1 else f"{', '.join(by[:-1])} and {by[-1]}"
        cases = len({pair.case for pair in self.pairs})
        drawn = f", drawn of {self.available:,}" if len(self.pairs) < self.available else ""
        yield (
            f"{len(self.pairs):,} pairs of conversations{drawn}, of {len(self.systems)} systems on {cases:,} cases, "
            f"matched by {words}."
        )
        for lacking in self.without_partner:
            yield lacking.line()

    @property
    def transcripts(self) -> frozenset[str]:
        """The ids of all that is compared."""
        return frozenset(name for pair in self.pairs for name in pair.transcripts)


def paired_transcripts(
    run: Run, systems: Names | None = None, *, most: int | None = None, seed: int = 0
) -> PairedTranscripts:
    """The transcripts of a run that can be compared.

    Args:
        run: the run.
        systems: whose transcripts; those of all systems unless named.
        most: how many pairs at most. They are drawn so that every two systems are compared about equally often and
            cases are used about equally often; of a larger number with the same seed, those of a smaller are part.
        seed: of the draw.

    Raises:
        InputError: there is no such system, fewer than two are named, or ``most`` is below 1.
        DataError: no two systems have a case in common.
    """
    if most is not None and (not isinstance(most, int) or most < 1):
        raise InputError(f"`pairs` must be 1 or more, and is {most!r}")
    table = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id").join(
        run.factors, on="transcript_id", how="left", maintain_order="left"
    )
    chosen = _chosen_systems(table, systems, str(run.path))
    lacking = [*_unplaced(table, systems is None)]
    table = table.filter(pl.col("system").is_in(chosen), pl.col("case_id").is_not_null())
    kinds = kinds_of(run.factors, run.declared_kinds)
    matching = _Matching(table, chosen, pairing_factors(table, kinds))
    every = [*matching.pairs()]
    lacking += matching.without_partner
    if not every:
        raise DataError(
            f"no case has comparable conversations of two systems ({', '.join(chosen)})",
            where=str(run.path),
            todo="score conversations of two systems on the same cases; bedside reads the case from case_id",
        )
    kept = every if most is None or most >= len(every) else _drawn(every, most, seed)
    return PairedTranscripts(tuple(kept), chosen, matching.factors, tuple(lacking), len(every))


def _chosen_systems(table: pl.DataFrame, systems: Names | None, where: str) -> tuple[str, ...]:
    known = sorted(table["system"].drop_nulls().unique())
    names = known if systems is None else sorted(set(listed(systems, "systems")))
    for name in names:
        one_of(name, known, "system", InputError, where="`systems`")
    if len(names) < 2:
        raise InputError(
            f"conversations of two systems are compared, and there is {names[0] if names else 'none'}",
            where=where if systems is None else "`systems`",
            todo="name two of the run's systems" if systems is not None else "score those of another system too",
        )
    return tuple(names)


def _unplaced(table: pl.DataFrame, whole: bool) -> Iterator[WithoutPartner]:
    """Transcripts that are of no case, and, where no systems are named, those that are of no system."""
    nameless = table.filter(pl.col("system").is_null())["transcript_id"]
    if whole and len(nameless):
        yield WithoutPartner(None, None, tuple(nameless), "as no system is known")
    without = table.filter(pl.col("system").is_not_null(), pl.col("case_id").is_null())
    for (system,), rows in without.group_by("system", maintain_order=True):
        yield WithoutPartner(str(system), None, tuple(rows["transcript_id"]), "as no case is known")


@dataclass
class _Matching:
    """Matches the transcripts of systems on cases."""

    table: pl.DataFrame
    systems: Sequence[str]
    factors: tuple[str, ...]
    without_partner: list[WithoutPartner] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Case, system and levels → transcripts, in the order of the run.
        self.cells: dict[str, dict[str, dict[tuple[str | None, ...], list[str]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for name, system, case, *levels in self.table.select(
            "transcript_id", "system", "case_id", *self.factors
        ).iter_rows():
            self.cells[case][system][tuple(levels)].append(name)

    def pairs(self) -> Iterator[TranscriptPair]:
        """All pairs, case by case; what has no partner is noted."""
        lacking: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for case, by_system in self.cells.items():
            for systems in combinations(self.systems, 2):
                cells = [by_system.get(system, {}) for system in systems]
                for levels in dict.fromkeys([*cells[0], *cells[1]]):
                    both = [cell.get(levels, []) for cell in cells]
                    for pair in zip(*both, strict=False):
                        yield TranscriptPair(systems, (pair[0], pair[1]), case, levels)
                    matched = min(map(len, both))
                    for place, system in enumerate(systems):
                        reason = self._reason(cells[1 - place], matched)
                        lacking[system, systems[1 - place], reason] += both[place][matched:]
        self.without_partner = [
            WithoutPartner(system, other, tuple(names), reason)
            for (system, other, reason), names in lacking.items()
            if names
        ]

    def _reason(self, other: Mapping[tuple[str | None, ...], list[str]], matched: int) -> str:
        if not other:
            return "which lacks the case"
        if matched:
            return "which has fewer on the case"
        return f"which has none of the same {' and '.join(self.factors)}"


def _drawn(pairs: Sequence[TranscriptPair], most: int, seed: int) -> list[TranscriptPair]:
    """As many of the pairs, balanced: every two systems about equally often, and cases about equally often.

    Every two systems take a pair in turn, of the case that was used longest ago and that they have used least.
    """
    generator = random.Random(seed)
    cases = sorted({pair.case for pair in pairs})
    generator.shuffle(cases)
    #: Cases by when they were used last.
    waiting = OrderedDict.fromkeys(cases)
    left: dict[tuple[str, str], dict[str, list[TranscriptPair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        left[pair.systems][pair.case].append(pair)
    couples = sorted(left)
    generator.shuffle(couples)
    for couple in couples:
        for of_case in left[couple].values():
            generator.shuffle(of_case)
    used: Counter[tuple[tuple[str, str], str]] = Counter()
    rounds = dict.fromkeys(couples, 0)
    drawn: set[TranscriptPair] = set()
    for couple in cycle(couples):
        if len(drawn) == most:
            return [pair for pair in pairs if pair in drawn]
        of_couple = left[couple]
        if not of_couple:
            continue
        case = next((case for case in waiting if case in of_couple and used[couple, case] <= rounds[couple]), None)
        if case is None:
            rounds[couple] += 1
            case = next(case for case in waiting if case in of_couple)
        used[couple, case] += 1
        waiting.move_to_end(case)
        drawn.add(of_couple[case].pop())
        if not of_couple[case]:
            del of_couple[case]
    raise AssertionError("there are as many pairs as are drawn")
