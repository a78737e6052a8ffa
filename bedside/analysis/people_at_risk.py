"""What became of people at risk: how often each system missed what they needed, how badly, and with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.simulated_talks import SimulatedTalks, simulated_talks
from bedside.ratings.names import TRANSCRIPT
from bedside.stats.result import Result
from bedside.transcripts.transcript import RISK, RISK_GRADE

#: What people at risk need, in a word, each with the rubric that asks for it.
NEEDS: Mapping[str, str] = {
    "asked": "risk_asked", "help": "risk_help", "no harm": "risk_no_harm", "stayed": "risk_stayed",
}  # fmt: skip
_RUBRICS = list(NEEDS.values())
#: Grades from the one that is due first; one that isn't known stands after high.
GRADES = ("imminent", "high", "", "low", "none")
#: Raters of whom the worst level counts.
ANY = "any rater"
#: Why nothing is known of a conversation: it has no transcript, or nobody rated it.
NO_TRANSCRIPT, NO_RATING = "no transcript", "no rating"


@dataclass(frozen=True, slots=True)
class NeedMissed(MetricRatings):
    """How often a system missed one need, by one group of raters.

    Attributes:
        facts: the rubric.
        system: who was to meet it.
        raters: the group; :data:`ANY` where the worst level of all of them counts.
        missed: conversations that any of the raters gave the level at which it fails, or a worse one.
        worst: how many of these have the worst level of all.
        rated: conversations with a level.
        of: conversations with people at risk, lost ones too.
        share: of the rated that missed it, with an interval over cases.
        unrated: why the others have no level, with counts.
        worst_of: the id of the worst of those that missed it; empty where none did.
    """

    system: str
    raters: str
    missed: int
    worst: int
    rated: int
    of: int
    share: Result
    unrated: Mapping[str, int]
    worst_of: str = ""


@dataclass(frozen=True, slots=True)
class PersonAtRisk:
    """A conversation with somebody at risk.

    Attributes:
        transcript, system, case: which it is.
        risk, grade: of the person, in small letters; the grade is empty where there is none.
        missed: needs that were missed, each with its level.
        unknown: needs that have no level.
        lost: why nothing is known of it, :data:`NO_TRANSCRIPT` or :data:`NO_RATING`; empty where something is.
        failed: whether the clinician failed it.
    """

    transcript: str
    system: str
    case: str
    risk: str
    grade: str
    missed: Mapping[str, float]
    unknown: tuple[str, ...]
    lost: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Escalation:
    """What became of people at risk.

    Attributes:
        people: all conversations with them by system, the worst first: what was missed, then what isn't known. Of the
            systems, too.
        needs: how often each was missed, by system and group of raters.
        pooled: the same where the worst level of any rater counts.
        odd_grades: what is no grade of :data:`GRADES`.
        untold: conversations without a transcript, of cases of which no transcript says whether anybody is at risk.
    """

    people: Mapping[str, tuple[PersonAtRisk, ...]]
    needs: tuple[NeedMissed, ...]
    pooled: tuple[NeedMissed, ...]
    odd_grades: tuple[str, ...]
    untold: int = 0

    @property
    def missed(self) -> list[PersonAtRisk]:
        """The conversations in which something was missed, of all systems, the worst first."""
        return sorted((person for people in self.people.values() for person in people if person.missed), key=_how_bad)


def escalation(view: RatingsView) -> Escalation:
    """How often each system missed what people at risk needed, and in which conversations, the worst first.

    Raises:
        NothingError: no factor says who is at risk, or nobody rated these conversations.
    """
    factors = view.factors
    if factors is None or RISK not in factors.columns:
        raise NothingError(
            "no transcript says that somebody is at risk", where=view.name,
            todo=f"give transcripts the factors {RISK} and {RISK_GRADE}, or simulate bundled:risk",
        )  # fmt: skip
    grade = pl.col(RISK_GRADE) if RISK_GRADE in factors.columns else pl.lit("")
    said = {RISK: pl.col(RISK), RISK_GRADE: grade.cast(pl.String).fill_null("")}
    tagged = (
        factors.with_columns(
            **{name: of.cast(pl.String).str.strip_chars().str.to_lowercase() for name, of in said.items()}
        )
        .filter(~pl.col(RISK).fill_null("").is_in(["", "none"]))
        .select("transcript_id", RISK, RISK_GRADE)
        .join(view.transcripts(), on="transcript_id")
        .with_columns(pl.col("system").fill_null(ALL), pl.col("case_id").fill_null(pl.col("transcript_id")))
    )
    worst = _worst_levels(view, tagged)
    if worst.drop_nulls("value").is_empty():
        raise NothingError(
            "nobody rated what people at risk needed", where=view.name,
            todo="have it judged: bedside score TRANSCRIPTS --suite escalation --judge MODEL --out run",
        )  # fmt: skip
    talks = simulated_talks(view, read=False)
    gone = _without_transcript(view, tagged, talks)
    tagged = pl.concat([tagged.select(gone.columns), gone.drop_nulls(RISK)])
    failed = frozenset() if talks is None else frozenset(talk.id for talk in talks.talks if talk.failed)
    people = sorted(
        _people(view, tagged, worst.filter(group=ANY), gone["transcript_id"].to_list(), failed), key=_how_bad
    )
    by_system = {
        system: tuple(person for person in people if person.system == system)
        for system in view.order.ordered_systems(tagged["system"].unique())
    }
    by_system = dict(sorted(by_system.items(), key=lambda item: _missed_and_unknown(item[1]), reverse=True))
    without = Counter(gone.drop_nulls(RISK)["system"].to_list())
    needs = tuple(_needs_missed(view, worst, by_system, without))
    return Escalation(
        by_system,
        tuple(need for need in needs if need.raters != ANY),
        tuple(need for need in needs if need.raters == ANY),
        tuple(sorted(set(tagged[RISK_GRADE]) - set(GRADES))),
        gone[RISK].null_count(),
    )


def _missed_and_unknown(people: Sequence[PersonAtRisk]) -> tuple[float, float]:
    """The shares of conversations in which something was missed, and in which something isn't known."""
    n = len(people)
    return sum(bool(person.missed) for person in people) / n, sum(bool(person.unknown) for person in people) / n


def _worst_levels(view: RatingsView, tagged: pl.DataFrame) -> pl.DataFrame:
    """The worst level of each conversation by metric and group of raters, and of all raters together (:data:`ANY`);
    null where there is none, with the reason."""
    rated = view.ratings.filter(pl.col("unit") == TRANSCRIPT, pl.col("metric").is_in(_RUBRICS))
    by_group = rated.with_columns(view.rater_group().alias("group"))
    return (
        pl.concat([by_group, by_group.with_columns(pl.lit(ANY).alias("group"))])
        .drop("system", "case_id")
        .join(tagged, on="transcript_id")
        .group_by("transcript_id", "system", "case_id", "metric", "group", maintain_order=True)
        .agg(pl.col("value").min(), pl.col("error").drop_nulls().first())
    )


def _without_transcript(view: RatingsView, tagged: pl.DataFrame, talks: SimulatedTalks | None) -> pl.DataFrame:
    """The simulated conversations without a transcript of cases that are at risk, or of which no transcript says it:
    these have no risk here. What a person is at risk of is read from the case's other conversations."""
    columns = ("transcript_id", "system", "case_id", RISK, RISK_GRADE)
    cases = {case: (risk, grade) for case, risk, grade in tagged.select(columns[2:]).iter_rows()}
    safe = set(view.transcripts()["case_id"]) - cases.keys()
    rows = [
        (talk.id, talk.system, talk.case, *cases.get(talk.case, (None, "")))
        for talk in (() if talks is None else talks.talks)
        if talk.state != "finished" and talk.case not in safe
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String()), orient="row")


def fails_at(view: RatingsView, metric: str) -> float:
    """The level at which a need is missed. All of them are better when higher."""
    level = view.facts(metric).fails_at
    return 0.0 if level is None else level


def _needs_missed(
    view: RatingsView, worst: pl.DataFrame, people: Mapping[str, Sequence[PersonAtRisk]], without: Mapping[str, int]
) -> Iterator[NeedMissed]:
    from bedside.stats.intervals import proportion

    groups = {(str(metric), str(group)) for metric, group in worst.select("metric", "group").iter_rows()}
    for system, in_order in people.items():
        of = len(in_order)
        for metric, group in sorted(groups, key=lambda pair: (_RUBRICS.index(pair[0]), pair[1])):
            own = worst.filter(system=system, metric=metric, group=group)
            known = own.drop_nulls("value")
            missed = [float(value <= fails_at(view, metric)) for value in known["value"].to_list()]
            ids = {name for name, fails in zip(known["transcript_id"], missed, strict=True) if fails}
            worst_of = next((person.transcript for person in in_order if person.transcript in ids), "")
            reasons = Counter(own.filter(pl.col("value").is_null())["error"].fill_null("no reason is known").to_list())
            absent = {NO_TRANSCRIPT: without.get(system, 0), "not rated": of - own.height - without.get(system, 0)}
            yield NeedMissed(
                view.facts(metric), system, group, round(sum(missed)), known.filter(pl.col("value") <= 0).height,
                len(missed), of, proportion(missed, clusters=known["case_id"].to_list()),
                {**reasons, **{why: number for why, number in absent.items() if number}}, worst_of,
            )  # fmt: skip


def _people(
    view: RatingsView, tagged: pl.DataFrame, worst: pl.DataFrame, gone: Collection[str], failed: Collection[str]
) -> Iterator[PersonAtRisk]:
    levels = {
        (transcript, metric): value
        for transcript, metric, value in worst.drop_nulls("value")
        .select("transcript_id", "metric", "value")
        .iter_rows()
    }
    rated = set(worst["transcript_id"])
    columns = ("transcript_id", "system", "case_id", RISK, RISK_GRADE)
    for name, system, case, risk, grade in tagged.select(columns).iter_rows():
        level_by_need = {need: levels.get((name, rubric)) for need, rubric in NEEDS.items()}
        missed = {
            need: level
            for need, level in level_by_need.items()
            if level is not None and level <= fails_at(view, NEEDS[need])
        }
        unknown = tuple(need for need, level in level_by_need.items() if level is None)
        lost = "" if name in rated else NO_TRANSCRIPT if name in gone else NO_RATING
        yield PersonAtRisk(name, system, case, risk, grade, missed, unknown, lost, name in failed)


def _how_bad(person: PersonAtRisk) -> tuple[object, ...]:
    """By how soon help was due, then harm at its worst, then how many needs were missed, then by how much."""
    grade = GRADES.index(person.grade if person.grade in GRADES else "")
    harm = person.missed.get("no harm", 9.0)
    return (
        not person.missed, grade, harm, -len(person.missed), sum(person.missed.values()), -len(person.unknown),
        person.system, person.transcript,
    )  # fmt: skip
