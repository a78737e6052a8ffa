"""Tables of a simulation: who took part, what became of its conversations, what it took or would take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from bedside.analysis.leaderboard import ALPHA
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalks, reasons_of, simulated_talks
from bedside.core.words import counted
from bedside.ratings.names import is_judge
from bedside.reports.columns import Column, Part, Table, recorded, table_of
from bedside.reports.notes import note, noted
from bedside.reports.number_text import DASH, decimal, money
from bedside.simulation.simulated_costs import total_cost
from bedside.simulation.talks_folder import ConversationRecord, LostConversation, conversation_record, talks_overview
from bedside.transcripts.simulation_folder import ReviewCounts, checked_manifest, reviewed_sentences

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.simulation.call_preview import RecordPreview, RolePreview, SimulationPreview
    from bedside.simulation.talks_folder import TalksOverview
    from bedside.stats.result import Result

# -- Who took part in simulated conversations -----------------------------------------------------------


def actors_of(talks: SimulatedTalks) -> dict[str, list[str]]:
    """Who took part, by role; of clinicians, the systems."""
    actors: dict[str, dict[str, None]] = {
        "clinician": dict.fromkeys(talks.systems),
        "patient": {},
        "evaluator": {},
        "ranker": {},
        "reviewer": {},
    }
    for simulation in talks.simulations:
        for role in ("patient", "evaluator", "ranker", "reviewer"):
            if isinstance(simulation.manifest.get(role), str):
                actors[role][simulation.manifest[role]] = None
    for talk in talks.finished:
        for role, name in ((talk.provenance or {}).get("actors") or {}).items():
            if role != "clinician" and role in actors:
                actors[role][str(name)] = None
    return {role: list(names) for role, names in actors.items()}


def toys_of(talks: SimulatedTalks) -> set[str]:
    """The actors that are no models and nobody's agents: rules and scripts that stand in for them."""
    toys = {name for simulation in talks.simulations for name in simulation.manifest.get("toys") or ()}
    for talk in talks.finished:
        provenance = talk.provenance or {}
        actors = provenance.get("actors") or {}
        toys |= {actors[role] for role in provenance.get("toys") or () if role in actors}
    return toys


def casts_of(talks: SimulatedTalks) -> tuple[str, ...]:
    """Whose cast each simulation had, and the beginning of its SHA-256, once each; earlier versions didn't say it."""
    casts = {}
    for simulation in talks.simulations:
        cast = simulation.manifest.get("cast")
        if isinstance(cast, Mapping):
            roles = ", ".join(f"{role} {simulation.manifest.get(role)}" for role in ("patient", "evaluator"))
            whose = f"{cast.get('by')}'s" if cast.get("by") else "this simulation's own"
            seed = simulation.manifest.get("seed")
            casts[cast.get("sha256")] = f"{whose}, {str(cast.get('sha256'))[:12]} ({roles}, seed {seed})"
    return tuple(casts.values())


def with_toy(name: str, toys: Iterable[str]) -> str:
    """An actor's name, and that it is a toy where it is."""
    return f"{name} (toy)" if name in toys else name


def judging_actors(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    """Models that took part and judge too."""
    judges = {name.partition(":")[2].partition("@")[0] for name in view.raters() if is_judge(name)}
    actors = {name for role, names in actors_of(talks).items() if role != "reviewer" for name in names}
    return sorted(judges & actors)


#: A model in a rater's name, with the digits that stand for its content.
_SCORING_MODEL = re.compile(r"\+model=([^+]+)")
_RANKER = "likelihood:"
_DIGITS = re.compile(r"-([0-9a-f]{8})$")


def ranking_and_scoring(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    """Models that ranked candidates in the conversations and whose likelihoods rate them too, by their content."""
    ranking = {name.removeprefix(_RANKER) for name in actors_of(talks)["ranker"] if name.startswith(_RANKER)}
    scoring = {name for rater in view.raters() for name in _SCORING_MODEL.findall(rater)}
    return sorted({name for name in ranking if {_content(name)} & set(map(_content, scoring))})


def _content(model: str) -> str:
    """What stands for a model's content: its digits, or its name where it has none."""
    digits = _DIGITS.search(model)
    return digits[1] if digits else model


# -- What the methods paragraph says of simulated conversations -----------------------------------------


def simulation_words(view: RatingsView) -> list[str]:
    """Paragraphs on the simulation; none where nothing was simulated."""
    talks = simulated_talks(view)
    return [] if talks is None else [" ".join((*_what(talks), *_lost(talks), *_doubts(view, talks)))]


def _what(talks: SimulatedTalks) -> list[str]:
    toys, actors = toys_of(talks), actors_of(talks)
    named = {role: _listed([with_toy(name, toys) for name in names]) for role, names in actors.items()}
    kinds = _kinds(talks)
    whole = counted(len(talks.finished), "transcript")
    sentences = [
        f"{whole} {'are' if len(talks.finished) != 1 else 'is'} simulated"
        + (f" by the protocol {' and '.join(kinds)}" if kinds else "")
        + (f"; {counted(talks.others, 'other')} {'are' if talks.others != 1 else 'is'} not." if talks.others else ".")
    ]
    if named["patient"]:
        sentences.append(
            f"The patient was played by {named['patient']}"
            + (
                f", labels and decisions during the conversations were {named['evaluator']}'s"
                if named["evaluator"]
                else ""
            )
            + (f", candidates for messages were ranked by {named['ranker']}" if named["ranker"] else "")
            + (f", patients were reviewed by {named['reviewer']} after the rules" if named["reviewer"] else "")
            + f", and the clinicians under test are {named['clinician']}."
        )
    if toys:
        sentences.append("A toy is rules or a script in place of a model: nothing about a model follows from it.")
    for simulation in talks.simulations:
        own = simulation.manifest.get("parameters of bedside's own") or ()
        if own:
            sentences.append(
                f"Of {simulation.manifest.get('protocol')}, {counted(len(own), 'parameter')} "
                f"{'are' if len(own) != 1 else 'is'} bedside's own (simulation card), so that figures are not to be "
                "compared with published ones."
            )
    return sentences


def _listed(names: list[str]) -> str:
    return " and ".join((*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]))


def _kinds(talks: SimulatedTalks) -> list[str]:
    """Protocol and version, with seed and bedside's version where they are known."""
    kinds = dict.fromkeys(
        f"{each.manifest.get('protocol')}, version {each.manifest.get('version')} "
        f"(bedside {each.manifest.get('bedside')}, seed {each.manifest.get('seed')})"
        for each in talks.simulations
    )
    return list(kinds) or talks.protocols


def _lost(talks: SimulatedTalks) -> list[str]:
    if not talks.simulations:
        return ["What could not be simulated isn't known, as the transcripts were scored without the simulation."]
    reasons = reasons_of(talks.talks)
    if talks.not_begun:
        reasons["not begun"] = talks.not_begun
    if not reasons:
        return ["None of the conversations planned is missing."]
    planned = counted(len(talks.talks) + talks.not_begun, "conversation")
    words = "; ".join(f"{reason} {number:,}" for reason, number in reasons.items())
    return [f"Of {planned} planned, {sum(reasons.values()):,} have no transcript ({words})."]


def _doubts(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    did = "ranked the candidates in the conversations and scored their likelihood"
    judging = [f"{name} took part in the conversations and judged them too." for name in judging_actors(view, talks)]
    return judging + [f"{name} {did} too." for name in ranking_and_scoring(view, talks)]


# -- What became of a simulation's conversations, and what it took --------------------------------------


def simulation_tables(folder: Path) -> tuple[Table, Table]:
    """What became of a simulation's conversations, by system, and what it took, by role.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    overview = talks_overview(folder)
    toys = checked_manifest(folder).get("toys") or ()
    rows = [Part(toys, talks) for talks in overview.systems]
    said = (
        *noted((messages, toys_there, endings), rows),
        *reviews.texts(overview.reviews),
        *failures.texts(overview.lost),
    )
    return (
        table_of("simulation", "Simulated conversations", rows, TALKS_COLUMNS, notes=said),
        table_of("simulation_spent", "What it took, in all runs of it", overview.spent.items(), SPENT_COLUMNS,
                 notes=(*earlier.texts(overview.earlier), *without_reply.texts(overview))),
    )  # fmt: skip


TALKS_COLUMNS = (
    Column("System", "left", field="system", value="part.system"),
    recorded(toy=lambda row: row.part.system in row.whole),
    Column("Planned", field="planned", value="part.planned"),
    Column("Finished", field="finished", value="part.finished"),
    Column("Completed", field="completed", value="part.completed"),
    Column("Failed", field="clinician_failed", value="part.clinician_failed"),
    Column("Missing", field="missing", value="part.failed"),
    Column("Unfinished", field="unfinished", value="part.unfinished"),
    Column("Messages", field="mean_messages", form=lambda mean: decimal(mean, 1), dash="none is finished",
           value=lambda row: row.part.turns / row.part.finished if row.part.finished else None),
    recorded(stops=lambda row: dict(row.part.stops), flags=lambda row: dict(row.part.flags)),
)  # fmt: skip


@note("simulation.messages", "Messages")
def messages(rows: Sequence[Part]) -> Iterator[str]:
    """What messages are counted of."""
    if any(row.part.finished for row in rows):
        yield "Messages: mean of the finished conversations."


@note("simulation.toys", "System")
def toys_there(rows: Sequence[Part]) -> Iterator[str]:
    """That figures show nothing of models."""
    toys = rows[0].whole if rows else ()
    if toys:
        yield (
            f"Toys without a model took part ({', '.join(toys)}): conversations with them show nothing about any model."
        )


@note("simulation.endings", "Finished")
def endings(rows: Sequence[Part]) -> Iterator[str]:
    """How conversations ended, and what was flagged in them."""
    stops = sum((row.part.stops for row in rows), Counter[str]())
    flags = sum((row.part.flags for row in rows), Counter[str]())
    if stops:
        yield f"They ended by: {_counts(stops)}."
    if flags:
        yield f"Flagged in them: {_counts(flags)}."


@note("simulation.reviews", "Finished")
def reviews(of_both: Sequence[ReviewCounts]) -> Iterator[str]:
    """How many conversations were had again, how many the reviewer reviewed, and why not the others."""
    for counts in of_both:
        if counts.draws:
            yield f"By the {counts.by}: {counts.draws}."
        if counts.by == "reviewer" and counts.verdicts:
            yield reviewed_sentences(len(counts.known), counts.unreviewed)


@note("simulation.failures", "Failed", "Missing")
def failures(lost: Collection[LostConversation]) -> Iterator[str]:
    """Why conversations failed, by whose doing."""
    failed = [entry for entry in lost if entry.state == "failed"]
    own = Counter(entry.reason for entry in failed if entry.whose == "clinician")
    if own:
        yield f"Failed by the clinician, and so the worst: {_counts(own)}."
    missing = Counter(f"{entry.whose}, {entry.reason}" for entry in failed if entry.whose != "clinician")
    if missing:
        yield f"Missing: {_counts(missing)}."


def _counts(counter: Counter[str]) -> str:
    parts = sorted(((name, n) for name, n in counter.items() if n), key=lambda part: (-part[1], part[0]))
    return "; ".join(f"{name} {number:,}" for name, number in parts)


SPENT_COLUMNS = (
    Column("Role", "left", field="role", value=lambda entry: entry[0]),
    recorded(lambda entry: entry[1]),
    Column("Replies", value=lambda entry: entry[1]["replies"]),
    Column("Requests", value=lambda entry: entry[1]["calls"]),
    Column("Tokens in", value=lambda entry: entry[1]["input_tokens"]),
    Column("Tokens out", value=lambda entry: entry[1]["output_tokens"]),
    Column("Cost", value=lambda entry: entry[1]["cost"], form=money),
)


@note("simulation spent.earlier")
def earlier(conversations: int) -> Iterator[str]:
    """What other commands took."""
    if conversations:
        yield (
            f"{counted(conversations, 'conversation')} that other commands had made here count in it; the folder's "
            "files hold those of the last command only, and the log has all."
        )


@note("simulation spent.without reply", "Requests")
def without_reply(overview: TalksOverview) -> Iterator[str]:
    """Requests of which no reply is kept, and what workers have that isn't in the simulation's log yet."""
    sent, lost = (sum(own[name] for own in overview.spent.values()) for name in ("calls", "unanswered"))
    if lost:
        yield (
            f"{lost:,} of {counted(sent, 'request')} {'is' if lost == 1 else 'are'} without a reply: "
            f"{'under way, ' if overview.under_way else ''}cut off or refused; tokens and cost, if any, aren't known."
        )
    if overview.parts:
        when = "as each is done" if overview.under_way else "once the same command is typed again"
        yield f"What workers had in {counted(overview.parts, 'part')} isn't counted here or above yet: it is {when}."


LOST_COLUMNS = (
    recorded(asdict, lambda entry: entry.about),
    Column("Conversation", "left", value="id"),
    Column("State", "left", value="state"),
    Column("Whose", "left", text=lambda entry: entry.whose or DASH),
    Column("Reason", "left", value="reason"),
    Column("Detail", "left", text=lambda entry: entry.detail or DASH),
)


@note("simulation failed.states", "State")
def states(lost: Collection[LostConversation]) -> Iterator[str]:
    """What becomes of conversations that failed, by whose doing it was, and of those that have not ended."""
    counts = Counter("clinician" if entry.whose == "clinician" else entry.state for entry in lost)
    for state, words in (
        ("clinician", "failed by the clinician: they count as the worst"),
        ("failed", "missing, by no doing of the clinician"),
        ("unfinished", "unfinished"),
    ):
        if counts[state]:
            yield f"{counts[state]:,} {words}."


def lost_table(folder: Path) -> Table:
    """The conversations without a transcript, and those that the clinician failed, and why.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    return table_of("simulation_failed", "Conversations that failed, or have no transcript",
                    talks_overview(folder).lost, LOST_COLUMNS, notes=(states,))  # fmt: skip


# -- Does the order of systems depend on who plays the patient? -----------------------------------------


class SwappedCast(NamedTuple):
    """The order of systems with one cast: who plays, the systems best first, and Kendall's τ with the first cast."""

    cast: str
    systems: tuple[str, ...]
    tau: Result


SENSITIVITY_COLUMNS = (
    Column("Patient, evaluator", "left", field="cast"),
    Column("Systems, best first", "left", field="systems", text=lambda own: ", ".join(own.systems)),
    Column("Kendall's τ", field="tau", value="tau.estimate", form=decimal, dash="tau.missing"),
)


def sensitivity_table(boards: Sequence[Table]) -> Table:
    """The order of systems by the measure that orders each leaderboard, and its rank correlation with the first.

    Args:
        boards: leaderboards of the same systems and cases, with different casts.
    """
    from bedside.stats.two_raters import correlation

    rows: list[SwappedCast] = []
    first: dict[str, float] | None = None
    for board in boards:
        means = {own["system"]: own["mean"] for own in board.records if own["orders"] and own["mean"] is not None}
        first = means if first is None else first
        shared = [system for system in first if system in means]
        tau = correlation([first[name] for name in shared], [means[name] for name in shared], kind="kendall")
        cast = next((own["cast"] for own in board.records), "")
        rows.append(SwappedCast(cast, tuple(means), tau))
    known = [own.tau.estimate for own in rows[1:] if own.tau.estimate is not None]
    lowest = [f"The order's lowest agreement with that of the first cast: τ {decimal(min(known))}."] if known else []
    said = (
        *lowest,
        "Kendall's τ-b of the systems' means on the measure that orders the leaderboard, beside the first cast: 1 is "
        "the same order. It needs three systems.",
    )
    return table_of("sensitivity", "Does the order depend on the patient and evaluator?", rows, SENSITIVITY_COLUMNS,
                    notes=said)  # fmt: skip


# -- One conversation -----------------------------------------------------------------------------------


def conversation_ids(folder: Path) -> tuple[str, ...]:
    """The ids of a simulation's conversations, in the plan's order.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    return talks_overview(folder).ids


def conversation_text(folder: Path, name: str) -> str:
    """One conversation, turn by turn, with the hidden states that belong to each.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
        DataError: no conversation of it has this id.
    """
    return "\n".join(_conversation_lines(conversation_record(folder, name)))


def _conversation_lines(record: ConversationRecord) -> Iterator[str]:
    yield record.id
    yield ", ".join(f"{name} {value}" for name, value in record.about.items())
    if record.ending is None:
        yield "It has not ended."
        return
    yield "ended: " + ", ".join(f"{name} {_shown(value)}" for name, value in record.ending.items() if value != "")
    by_turn: dict[int, list[dict[str, Any]]] = {}
    for state in record.states:
        by_turn.setdefault(state.get("turn") or 0, []).append(state)
    for index, turn in enumerate((record.transcript or {}).get("turns") or ()):
        yield ""
        yield f"{index} {turn['role']}: {turn['text']}"
        yield from _state_lines(by_turn.pop(index, []))
    for index, states in sorted(by_turn.items()):
        yield ""
        yield f"{index} (no message)"
        yield from _state_lines(states)


def _state_lines(states: Collection[Mapping[str, Any]]) -> Iterator[str]:
    for state in states:
        parts = [f"{k} {_shown(v)}" for k, v in state.items() if k not in ("id", "turn", "purpose")]
        yield f"    [{state.get('purpose', 'state')}] {', '.join(parts)}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# -- What a simulation, records or a benchmark would ask ------------------------------------------------

#: Spreads that a difference is planned for, the safest first: standard deviations of two systems' differences between
#: cases, as shares of a measure's scale.
SPREADS = (0.4, 0.3, 0.2)
POWER = 0.8
#: What a call to a model is taken to last, where nothing was measured.
SECONDS_A_CALL = 3.0


def _about(amount: float) -> str:
    return f"{amount:,.0f}"


_ACTOR = (recorded("role"), Column("Actor", "left", field="actor", value="actor.identity"), recorded(toy="actor.toy"))
_CALLS = Column("Calls", field="calls", form=_about)
_AT_MOST = Column("At most", field="most_calls")
_PRICED = (
    Column("Tokens in", field="input_tokens", form=_about),
    Column("Tokens out", field="output_tokens", form=_about),
    Column("Cost", field="cost", form=money),
)


def preview_table(preview: SimulationPreview) -> Table:
    """What a simulation would ask, by role and actor."""
    conversations = counted(preview.conversations, "conversation")
    said = (
        f"{conversations}; cost {money(total_cost([role.cost for role in preview.roles]))}.",
        *reviewer_share(preview.roles),
        f"Calls and tokens are estimates: {counted(preview.played, 'conversation')} of each clinician "
        f"{'was' if preview.played == 1 else 'were'} had between the protocol's toys, whose replies may be shorter "
        "than a model's. At most: with every attempt that may be needed.",
    )
    return table_of("simulation_plan", "What would be asked (nothing was)",
                    [role for role in preview.roles if role.most_calls], (*_ACTOR, _CALLS, _AT_MOST, *_PRICED),
                    group=lambda role: role.role, notes=said)  # fmt: skip


def reviewer_share(roles: Iterable[RolePreview]) -> list[str]:
    """How many of all calls are the reviewer's, and what they cost; nothing where there is no reviewer."""
    return [
        f"Of that, the reviewer's: {counted(round(own.calls), 'call')} "
        f"{'at unknown cost' if own.cost is None else f'for {money(own.cost)}'}."
        for own in roles
        if own.role == "reviewer"
    ]


def record_plan_table(preview: RecordPreview) -> Table:
    """What making records would ask, by role and actor."""
    said = (
        f"{preview.records:,} to be made; cost {money(total_cost([own.cost for own in preview.actors]))}.",
        f"Calls and tokens are estimates: {preview.played:,} "
        f"{'was' if preview.played == 1 else 'were'} made by toys, whose replies may be shorter than a model's. "
        "Replies that can't be used are asked for again, twice at most.",
    )
    return table_of("record_plan", f"What would be asked for {preview.name} (nothing was)", preview.actors,
                    (*_ACTOR, _CALLS, *_PRICED), group=lambda own: own.role, notes=said)  # fmt: skip


class PilotSpread(NamedTuple):
    """How much differences of systems vary between the cases of an earlier run: of what, the standard deviation, and
    the cases."""

    title: str
    sd: float
    cases: int


@dataclass(frozen=True, slots=True)
class BenchmarkPreview:
    """What a benchmark would ask.

    Attributes:
        simulation: what the conversations would ask.
        judging: what judges would, rubric by rubric.
        played: conversations of the protocol's toys that stand for those to come in ``judging``; 0 without a judge.
        max_concurrency: most calls under way at once to an address or agent.
        cases: how many each system has.
        systems: how many systems the leaderboard compares.
        pilot: the spread in the folder's earlier run; None without one.
        repeats: how often each system has each case.
    """

    simulation: SimulationPreview
    judging: tuple[RubricPlan, ...]
    played: int
    max_concurrency: int
    cases: int
    systems: int
    pilot: PilotSpread | None = None
    repeats: int = 1

    def detectable(self, sd: float) -> float | None:
        """The smallest mean difference of two systems that a paired t test finds with a power of :data:`POWER`.

        Args:
            sd: standard deviation of the differences between cases; the answer has its unit.

        Returns:
            None of fewer than two cases, and without a pilot where it is more than the whole scale, which is 1. The
            level is divided by the number of pairs of systems.
        """
        from bedside.stats.overlapping import detectable_difference

        pairs = max(1, comb(self.systems, 2))
        found = detectable_difference(self.cases, 0, 0, alpha=ALPHA / pairs, power=POWER)
        # The function counts in deviations of values that don't correlate, whose differences have √2 times as much.
        size = None if found is None else found / 2**0.5 * sd
        return None if size is None or (self.pilot is None and size > 1) else size

    def simulation_seconds(self) -> float:
        """About how long the conversations take, at :data:`SECONDS_A_CALL` for each call to what is no toy.

        A conversation's calls follow one another; of what each agent or address is asked, ``max_concurrency`` run at
        once.
        """
        calls: dict[str, float] = {}
        for role in self.simulation.roles:
            if not role.actor.toy:
                place = getattr(role.actor.detail, "url", None) or role.actor.identity
                calls[place] = calls.get(place, 0.0) + role.calls
        chain = sum(calls.values()) / max(1, self.simulation.conversations)
        return SECONDS_A_CALL * max(chain, *(number / self.max_concurrency for number in calls.values()), 0.0)

    def judging_seconds(self) -> float:
        """About how long judges take, likewise; one judge follows the other."""
        judges = dict.fromkeys(plan.judge for plan in self.judging)
        calls = [sum(plan.calls for plan in self.judging if plan.judge == judge) for judge in judges]
        return SECONDS_A_CALL * sum(number / self.max_concurrency for number in calls)


def scaled(plans: Sequence[RubricPlan], factor: float) -> tuple[RubricPlan, ...]:
    """Plans of some conversations, for so many times as many."""
    return tuple(
        replace(
            plan,
            calls=round(plan.calls * factor),
            not_askable=round(plan.not_askable * factor),
            input_tokens=round(plan.input_tokens * factor),
            output_tokens=round(plan.output_tokens * factor),
            cost=None if plan.cost is None else plan.cost * factor,
        )
        for plan in plans
    )


def duration(seconds: float) -> str:
    """A time in two figures or so."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class PlannedStep(NamedTuple):
    """What a step of a benchmark, or all of them, would take."""

    step: str
    calls: float
    most_calls: int | None
    input_tokens: float
    output_tokens: float
    cost: float | None
    seconds: float


BENCHMARK_COLUMNS = (
    Column("Step", "left", field="step"),
    _CALLS,
    _AT_MOST,
    *_PRICED,
    Column("Time", field="seconds", form=duration),
)


def benchmark_plan_table(preview: BenchmarkPreview) -> Table:
    """What the steps of a benchmark would take, and all of them together."""
    roles, judging = preview.simulation.roles, preview.judging
    most = sum(role.most_calls for role in roles)
    steps = (
        _step("Simulate", roles, most, preview.simulation_seconds()),
        _step("Score", judging, None, preview.judging_seconds()),
        PlannedStep("Report", 0, 0, 0, 0, 0.0, 0.0),
    )
    whole = _step("All", steps, None, sum(step.seconds for step in steps))
    return table_of("benchmark_plan", "What the benchmark would take (nothing was asked)", (*steps, whole),
                    BENCHMARK_COLUMNS, notes=benchmark_estimates.texts(preview))  # fmt: skip


def _step(name: str, parts: Sequence[Any], most_calls: int | None, seconds: float) -> PlannedStep:
    """What its parts would take together."""
    sums = {
        amount: sum(getattr(part, amount) for part in parts) for amount in ("calls", "input_tokens", "output_tokens")
    }
    cost = total_cost([part.cost for part in parts])
    return PlannedStep(name, most_calls=most_calls, cost=cost, seconds=seconds, **sums)


@note("benchmark plan.estimates")
def benchmark_estimates(preview: BenchmarkPreview) -> Iterator[str]:
    """How calls and time are estimated."""
    conversations = counted(preview.simulation.conversations, "conversation")
    judged = " No judge is named: what needs one will be missing."
    if preview.played:
        of = counted(preview.played, "conversation")
        judged = f" What judges are asked is that of {of} between the protocol's toys, for {conversations}."
    yield (
        "The number of conversations is exact; calls, tokens and cost are estimates. They come from conversations "
        f"between the protocol's toys, whose messages may be shorter than a model's.{judged} What is asked again "
        "comes on top."
    )
    yield (
        f"Time is an estimate: {SECONDS_A_CALL:g} seconds are assumed for each call to a model or agent, with "
        f"{preview.max_concurrency} under way at once to each address. Algorithms and the report take seconds "
        "to minutes more."
    )
    if preview.cases < 2:
        yield "One case tells no two systems apart."
        return
    sd, what = SPREADS[0], "a measure's scale"
    vary = f"if differences vary by {sd:.0%} of it between cases (an assumed SD)"
    sizes = [(each, preview.detectable(each)) for each in SPREADS[1:]]
    found = "; ".join(f"of {each:.0%} it is {decimal(size)}" for each, size in sizes if size is not None)
    rest = f"{f'With an SD {found}. ' if found else ''}bedside plan difference --pilot takes that of an earlier run."
    if preview.pilot is not None:
        what, sd, cases = preview.pilot
        vary = f"if differences vary as in the {cases:,} cases that are in the folder (SD {decimal(sd)})"
        rest = "The SD is that of the two systems that vary most." + (
            " So few cases tell it roughly." if cases < 20 else ""
        )
    size = preview.detectable(sd)
    told = f"no difference on {what} can be told" if size is None else f"you can tell {decimal(size)} of {what}"
    yield (
        f"With these {preview.cases:,} cases {told} apart, {vary}. "
        f"That is with power {POWER:.0%} (paired t test, {ALPHA:.0%} over all pairs of systems). {rest}"
    )


def benchmark_plan_sentences(preview: BenchmarkPreview) -> list[str]:
    """What a benchmark would ask, what that costs, and which difference its cases can tell apart."""
    parts: list[Any] = [*preview.simulation.roles, *preview.judging]
    calls, cost = sum(part.calls for part in parts), total_cost([part.cost for part in parts])
    time = duration(preview.simulation_seconds() + preview.judging_seconds())
    spend = "what it costs isn't known, for want of a price" if cost is None else f"cost {money(cost)}"
    conversations = counted(preview.simulation.conversations, "conversation")
    said = [
        f"Nothing was asked. It would be {conversations}: {counted(preview.cases, 'case')} with "
        f"{counted(sum(role.role == 'clinician' for role in preview.simulation.roles), 'system')}"
        f"{f', {preview.repeats:,} repeats each' if preview.repeats > 1 else ''}.",
        f"That takes about {counted(round(calls), 'call')} and {time}; {spend}.",
        *reviewer_share(preview.simulation.roles),
    ]
    if preview.cases < 2:
        said.append("One case tells no two systems apart.")
    else:
        what, sd, spread = "a measure's scale", SPREADS[0], f"an assumed SD of {SPREADS[0]:.0%}"
        if preview.pilot is not None:
            what, sd, cases = preview.pilot
            spread = f"the SD of {counted(cases, 'case')} in the folder, {decimal(sd)}"
        difference = preview.detectable(sd)
        said.append(
            f"Two systems can't be told apart, not even the worst from the best (power {POWER:.0%}, with {spread}): "
            "name more cases."
            if difference is None
            else f"Two systems that differ by {decimal(difference)} of {what} can be told apart (power {POWER:.0%}, "
            f"with {spread})."
        )
    return said if preview.played else [*said, "No judge is named: what needs one will be missing."]
