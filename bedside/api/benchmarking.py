"""A benchmark in one call: conversations are simulated, scored and reported, and each step goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.api.judging import JudgedRun, judge, preview_judging
from bedside.api.run_files import Report, open_run
from bedside.api.simulating import Simulation, preview_simulation, simulate
from bedside.core.errors import InputError, RunError, one_of
from bedside.core.files import file_digest, read_sealed, write_sealed
from bedside.core.json_shape import INTEGER
from bedside.core.question_settings import JUDGES, OPTIONS, option, question, settings_class
from bedside.core.words import Names, counted, listed, typed
from bedside.ratings.names import is_human
from bedside.ratings.run_folder import is_run
from bedside.reports.table import Table, Tables
from bedside.simulation.actors.trivial import TRIVIAL, trivial_clinicians
from bedside.simulation.talk_settings import (
    ACTORS,
    CLINICIAN,
    MOST_CALLS,
    PLANNED,
    PRICES,
    Replaying,
    TalkLimits,
    TalkSettings,
)
from bedside.transcripts.simulation_folder import FLOOR, TRANSCRIPTS

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.llm.model_names import ModelName
    from bedside.ratings.run import Run
    from bedside.ratings.suites import Suite
    from bedside.reports.simulations import BenchmarkPreview, PilotSpread
    from bedside.scoring.plan import ScoringSummary
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.logged_actors import SimulationProgress
    from bedside.simulation.simulation_plan import ActorInput, CaseInput, PersonaInput, SimulationPlan

#: US dollars for a million tokens in and out, by model.
Prices = Mapping[str, tuple[float, float]]

# -- What is asked for ----------------------------------------------------------------------------------


@settings_class
class PreviewedBenchmark(TalkSettings):
    """What a benchmark would take: calls, tokens, dollars, time. Nothing is asked.

    Conversations are counted as by preview_simulation. What judges would be asked is counted in conversations between
    the protocol's toys, which stand for those to come.
    """

    judges: Names = option(
        "Language models that rate by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …, or YAML files of "
        "addresses; addresses of one model share its requests. Without any, what needs a judge is missing, with the "
        "reason.",
        "--judge", default=(), heading=JUDGES, metavar="MODEL", form="repeated", offers="judges",
    )  # fmt: skip
    cases: CaseInput | None = option(
        "Files or folders of cases, bundled:full, bundled:quick or bundled:risk, or cases themselves; a few of the "
        "protocol's own, which are invented, unless given.",
        default=None, heading=None,
    )  # fmt: skip
    max_concurrency: int = MOST_CALLS
    out: str | os.PathLike[str] | None = option(
        "Folder of the benchmark; where it has a run already, its spread says what can be told apart.",
        default=None, heading=None,
    )  # fmt: skip
    floor: bool = option(
        "Have fifteen trivial clinicians talk first, in the folder's floor. The best is a line of the leaderboard, "
        "which says who isn't shown to beat it.",
        default=False, heading=ACTORS,
    )  # fmt: skip

    def of_protocol(self, protocol: str) -> BenchmarkRequest:
        """What is asked for."""
        request = BenchmarkRequest(
            protocol, _clinicians(self.clinician), tuple(listed(self.judges, "judges")), cases=self.cases,
            floor=self.floor, **self.planned(),
        )  # fmt: skip
        if self.floor and is_human(request.plan.patient.identity):
            raise InputError(
                "a person plays the patient, and would have to answer fifteen trivial clinicians too",
                where="`floor`",
                todo="leave it out, or name another `patient`",
            )
        return request


@settings_class
class BenchmarkSettings(PreviewedBenchmark, TalkLimits, Replaying):
    """Simulate, score and report in one: how good are these clinicians?

    It does what bedside simulate, bedside score and bedside report do, one after the other. The same command goes on
    where it was stopped, and pays for nothing twice. Without a judge, what needs one is missing. With --patient A,B or
    --evaluator A,B it is had with each, and the orders of the systems are compared.

    Examples:
        $ bedside benchmark medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --judge openai/o3 --dry-run
        $ bedside benchmark note2chat --clinician script:good --clinician script:brisk --out bench
        $ bedside benchmark medconceal my-cases/ --clinician mypackage.agent:reply --judge openai/gpt-5 --max-cost 5
    """

    out: str | os.PathLike[str] = option(
        "Folder of the benchmark; the same command goes on where it was stopped.",
        "--out", "-o", heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    write_cast: str | os.PathLike[str] | None = option(
        "File to write the cast to, with its SHA-256, so that others test against the same patients (--cast).",
        default=None, heading=ACTORS, metavar="FILE", form="path",
    )  # fmt: skip
    watch: BenchmarkWatch | None = option("What is called while it goes on.", default=None, heading=None)


@settings_class
class ExtendSettings(TalkLimits):
    """Put a new system beside those of a benchmark, which aren't asked again.

    It has the same patients and judges. Cases, patient, evaluator, judges, settings, seed and all else must be as they
    were. Corrections are made anew over all systems.

    Examples:
        $ bedside benchmark add bench --clinician openai/gpt-5
        $ bedside benchmark add bench --clinician mypackage.agent:reply --max-cost 2
    """

    clinician: ActorInput = CLINICIAN
    prices: Prices | None = PRICES
    watch: BenchmarkWatch | None = option("What is called while it goes on.", default=None, heading=None)


# -- What a benchmark was asked to do -------------------------------------------------------------------

RECORD = "benchmark.json"
FORMAT = 1
#: Names that a message lists one by one.
_MOST = 6


@dataclass(frozen=True)
class BenchmarkRequest:
    """What a benchmark is asked to do; the attributes are arguments of :func:`bedside.benchmark`."""

    protocol: str
    clinicians: tuple[Named, ...]
    judges: tuple[str, ...] = ()
    cases: CaseInput | None = None
    patient: Named | None = None
    evaluator: Named | None = None
    ranker: Named | None = None
    reviewer: Named | None = None
    personas: PersonaInput | None = None
    settings: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    repeats: int = 1
    sample: int | None = None
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    floor: bool = False
    cast: str | os.PathLike[str] | None = None

    def simulated(self) -> dict[str, Any]:
        """The arguments of :func:`bedside.simulate` and of its preview, but cases, protocol and clinicians."""
        return {name: getattr(self, name) for name in PLANNED}

    @cached_property
    def plan(self) -> SimulationPlan:
        """The conversations that it has."""
        from bedside.simulation.simulation_plan import SimulationRequest

        return SimulationRequest(self.protocol, self.clinicians, cases=self.cases, **self.simulated()).plan()

    @cached_property
    def suite(self) -> Suite:
        """What scores them: the suite of the protocol's name, or that of its file.

        Raises:
            BedsideError: the file names none, or one with something wrong.
        """
        from bedside.reports.contents import checked_suite

        source = self.plan.simulator.made_of
        if source is not None and not source.suite:
            raise InputError("the protocol has no suite to score by", where=self.protocol, todo="add suite: suite.yaml")
        return checked_suite(self.protocol if source is None else source.suite)[0]

    @cached_property
    def content(self) -> dict[str, Any]:
        """All that transcripts and ratings depend on, as JSON."""
        from bedside.judges.llm.endpoints import named_models

        plan = self.plan
        common = plan.clinicians[0]
        roles: dict[str, Any] = {
            role: plan.playing(role, name) for role, name in plan.roles(common).items() if role != "clinician"
        }
        return {
            "protocol": plan.simulator.name,
            "version": plan.simulator.version,
            **({} if plan.simulator.made_of is None else {"files": dict(plan.simulator.made_of.files)}),
            "clinicians": {name.identity: plan.playing("clinician", name) for name in plan.clinicians},
            **roles,
            **plan.content(),
            "judges": [name.identity for name in named_models(self.judges)] if self.judges else [],
            "suite": self.suite.model_dump(mode="json", include={"name", "metrics", "parameters"}),
            "rubrics": self._rubrics(),
        }

    def _rubrics(self) -> dict[str, str]:
        """The version of each rubric that judges rate by."""
        from bedside.scoring.judging_orders import rubrics_of

        if not self.judges:
            return {}
        return {rubric.name: rubric.version for rubric in rubrics_of(self.suite.rubrics)}

    def as_asked(self) -> dict[str, Any]:
        """The arguments as they were given, as JSON; under ``in memory``, which are Python objects and left out."""
        asked: dict[str, Any] = {
            "protocol": _path(self.protocol) if self.protocol.endswith((".yaml", ".yml")) else self.protocol,
            "clinicians": list(self.clinicians),
            "judges": list(self.judges),
            "floor": self.floor,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in self.simulated().items()},
            "options": dict(self.options),
            "cases": None if self.cases is None else [_path(case) for case in _several(self.cases)],
            "personas": None if self.personas is None else _path(self.personas),
            "cast": None if self.cast is None else _path(self.cast),
        }
        absent = [name for name, value in asked.items() if not _is_json(value)]
        return {**{name: value for name, value in asked.items() if name not in absent}, "in memory": absent}

    @property
    def needs_floor(self) -> bool:
        """Whether trivial clinicians are wanted whose best isn't among the clinicians yet."""
        return self.floor and not any(map(_is_floor, self.clinicians))

    def with_clinicians(self, clinicians: Sequence[Named]) -> BenchmarkRequest:
        """The same with these clinicians beside its own, each once."""
        new = [name for name in clinicians if name not in self.clinicians]
        return replace(self, clinicians=(*self.clinicians, *new))


def _is_floor(name: Named) -> bool:
    return isinstance(name, str) and name.startswith(FLOOR)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _path(value: Any) -> Any:
    from bedside.simulation.simulators.case_files import BUNDLED

    is_file = isinstance(value, str | os.PathLike) and not str(value).startswith(BUNDLED)
    return os.path.abspath(value) if is_file else value


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


# -- the folder ------------------------------------------------------------------------------------------


def write_record(folder: Path, request: BenchmarkRequest) -> None:
    """Write what a benchmark is asked to do into its folder."""
    from bedside import __version__

    content = {"format": FORMAT, "bedside": __version__, "asked": request.as_asked(), "depends on": request.content}
    write_sealed(folder / RECORD, content)


def read_record(folder: Path) -> dict[str, Any] | None:
    """What a benchmark's folder says of it; None where there is nothing.

    Raises:
        RunError: it can't be read, or is of another version.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    noun = "record of the benchmark"
    record = read_sealed(path, noun, {"format": INTEGER}, todo="name another folder", version=FORMAT)
    if not {"asked", "depends on"} <= record.keys():
        raise RunError(f"the {noun} can't be read", where=str(path), todo="name another folder")
    return record


def request_of(folder: Path) -> BenchmarkRequest:
    """The request that a benchmark's folder keeps.

    Raises:
        RunError: there is no benchmark, or something in it was no name and can't be had from a file.
    """
    record = read_record(folder)
    if record is None:
        raise RunError(
            "there is no benchmark in this folder", where=str(folder), todo="make one with bedside benchmark PROTOCOL"
        )
    asked = dict(record["asked"])
    gone = asked.pop("in memory")
    if gone:
        raise RunError(
            f"what was given in Python can't be had again: {', '.join(gone)}",
            where=str(folder),
            todo="name files and package.module:function in another folder",
        )
    lists: dict[str, Any] = {name: tuple(asked.pop(name)) for name in ("clinicians", "judges", "settings", "lengths")}
    return BenchmarkRequest(**lists, **asked)


def check_same(folder: Path, record: Mapping[str, Any], request: BenchmarkRequest, added: Sequence[str] = ()) -> None:
    """Refuse to go on with another benchmark.

    Args:
        folder: the benchmark's.
        record: what it says.
        request: what is asked now.
        added: identities of clinicians that are new on purpose.

    Raises:
        RunError: what differs.
    """
    kept = record["depends on"]
    now = {**request.content}
    now["clinicians"] = {
        name: value for name, value in now["clinicians"].items() if name not in added or name in kept["clinicians"]
    }
    # As JSON has it.
    now = json.loads(json.dumps(now))
    differing = [
        _difference(name, kept.get(name), now.get(name)) for name in {**kept, **now} if kept.get(name) != now.get(name)
    ]
    if not differing:
        return
    more = set(now["clinicians"]) - set(kept["clinicians"])
    only_more = len(differing) == 1 and more and not set(kept["clinicians"]) - set(now["clinicians"])
    add = None
    if only_more:
        clinician = typed(sorted(more)[0])
        add = f"add to it with bedside benchmark add {typed(folder)} --clinician {clinician}"
    raise RunError(
        f"the benchmark in this folder is another one: {'; '.join(differing)}",
        where=str(folder),
        todo=add or "give the options that it was begun with, or name another folder",
    )


def _difference(name: str, kept: Any, now: Any) -> str:
    """What differs between what a folder has and what is asked, in words."""
    by_name = name in ("cases", "personas", "clinicians", "rubrics", "files")
    if by_name and isinstance(kept, dict) and isinstance(now, dict):
        parts = (
            ("without", [key for key in kept if key not in now]),
            ("new", [key for key in now if key not in kept]),
            ("changed", [key for key in kept if key in now and kept[key] != now[key]]),
        )
        return f"{name} ({'; '.join(f'{word}: {_listed(keys)}' for word, keys in parts if keys)})"
    if isinstance(kept, dict) and isinstance(now, dict):
        changed = [key for key in {**kept, **now} if kept.get(key) != now.get(key)]
        words = "; ".join(f"{key} {_shown(kept.get(key))}, now {_shown(now.get(key))}" for key in changed)
        return f"{name} ({words})"
    return f"{name} ({_shown(kept)}, now {_shown(now)})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {counted(len(names) - _MOST, 'other')}" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    return _listed([str(each) for each in value]) if isinstance(value, list) else str(value)


# -- Who takes part in a benchmark and who judges it ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class CastJudge:
    """One judge.

    Attributes:
        texts: what names it, as several addresses of one model do.
        model: the whole of them.
        price: of its tokens; None where the user gives none.
    """

    texts: tuple[str, ...]
    model: ModelName
    price: tuple[float, float] | None


class BenchmarkCast:
    """Who takes part in a benchmark and who judges it.

    Args:
        request: what is asked.
        prices: those that the user gives, by name.

    Attributes:
        judges: by identity, in the order of their names.
    """

    def __init__(self, request: BenchmarkRequest, prices: Prices) -> None:
        self._request = request
        self._prices = prices
        self.judges: dict[str, CastJudge] = dict(self._judges())

    def _judges(self) -> list[tuple[str, CastJudge]]:
        from bedside.judges.llm.endpoints import named_models

        judges = []
        texts = self._request.judges
        for model in named_models(texts) if texts else ():
            own = tuple(text for text in texts if model.identity in {each.identity for each in named_models([text])})
            prices = [self._prices[name] for name in (*own, model.identity) if name in self._prices]
            judges.append((model.identity, CastJudge(own, model, prices[0] if prices else None)))
        return judges

    def actor_prices(self, clinicians: Sequence[Named] | None = None) -> dict[str, tuple[float, float]]:
        """The prices of actors.

        Args:
            clinicians: those who take part; all unless given.
        """
        names = self._actor_names(clinicians)
        return {name: price for name, price in self._prices.items() if name in names}

    def judge_prices(self) -> dict[str, tuple[float, float]]:
        """The prices of judges."""
        names = self._judge_names()
        return {name: price for name, price in self._prices.items() if name in names}

    def _judge_names(self) -> set[str]:
        return {name for identity, judge in self.judges.items() for name in (identity, *judge.texts)}

    def _actor_names(self, clinicians: Sequence[Named] | None = None) -> set[str]:
        """What actors are called, by text and identity."""
        request = self._request
        plan = (request if clinicians is None else replace(request, clinicians=tuple(clinicians))).plan
        actors = [name for clinician in plan.clinicians for name in plan.roles(clinician).values()]
        return {text for name in actors for text in (name.text, name.identity)}

    def check_prices(self, max_cost: float | None) -> None:
        """Refuse prices of nobody, and a limit of costs where a judge's aren't known.

        Args:
            max_cost: the limit; None for none.

        Raises:
            InputError: a price names nobody, or a judge has none.
        """
        from bedside.judges.llm.contract import known_price

        names = self._judge_names() | self._actor_names()
        for text in self._prices:
            one_of(text, names, "actor or judge", InputError, where="`prices`")
        for identity, taken in self.judges.items():
            if max_cost is not None and taken.price is None and known_price(taken.model) is None:
                raise InputError(
                    f"what {identity} costs isn't known",
                    where="`max_cost`",
                    todo="say it with `prices`, or limit calls with `max_calls`",
                )

    def check_judges(self) -> None:
        """Refuse judges that aren't set up, before anything is paid for.

        Raises:
            LanguageModelError: one isn't, as where its key is missing.
        """
        from bedside.judges.llm.contract import check_models

        check_models(judge.model for judge in self.judges.values())


# -- The steps of a benchmark ---------------------------------------------------------------------------

#: The folders of a benchmark: of its conversations, and of the run that they are scored into.
TALKS, RUN = "talks", "run"
#: Where the trivial clinicians have a benchmark of their own.
_FLOOR_FOLDER = "floor"
_LOCK = ".benchmark.lock"
#: What judges answered, while the run that it belongs to is made again.
_KEPT = "judgements.sqlite"


@dataclass(frozen=True, slots=True)
class BenchmarkWatch:
    """What is called while a benchmark goes on; each may be None.

    Attributes:
        simulating: whenever a conversation ends.
        scoring: with the number of transcripts and of files that algorithms have done.
        judging: with the judge and how far it is.
    """

    simulating: Callable[[SimulationProgress], None] | None = None
    scoring: Callable[[int, int], None] | None = None
    judging: JudgingWatch | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Benchmark:
    """A benchmark, as far as it is.

    Attributes:
        folder: where it is: conversations in ``talks``, ratings in ``run``, the report in ``run/report``.
        simulation: the conversations.
        asked: how many calls actors were asked in this call.
        scoring: what algorithms did in this call; None where they had nothing to do.
        judged: what judges did in this call, in the order of their names.
        report: the report; None where a limit was reached before.
        left: what is left to do, in words; empty where the benchmark is whole.
        swapped: the same with other casts, each in a folder of ``casts``, where several patients or evaluators were
            named.
    """

    folder: Path
    simulation: Simulation
    asked: int
    scoring: ScoringSummary | None = None
    judged: tuple[JudgedRun, ...] = ()
    report: Report | None = None
    left: str = ""
    swapped: tuple[Benchmark, ...] = ()

    @property
    def sensitivity(self) -> Table | None:
        """How far the order of the systems depends on who plays the patient and the evaluator; None of one cast."""
        from bedside.reports.simulations import sensitivity_table

        return sensitivity_table([each.leaderboard for each in (self, *self.swapped)]) if self.swapped else None

    @property
    def complete(self) -> bool:
        """Whether it is whole; else the same call goes on."""
        return not self.left

    @property
    def run(self) -> Run:
        """The run that the conversations were scored into."""
        return open_run(self.folder / RUN)

    @property
    def leaderboard(self) -> Table:
        """The systems by the suite's main measures.

        Raises:
            RunError: there is no report yet.
        """
        if self.report is None:
            raise RunError(self.left, where=str(self.folder), todo="make the same call again")
        return self.report.tables["leaderboard"]

    def __repr__(self) -> str:
        rest = f"; {self.left}" if self.left else ""
        return f"Benchmark({str(self.folder)!r}{rest})"


@dataclass(slots=True)
class BenchmarkSpending:
    """What may be sent, and what was: calls and US dollars of actors and judges, and calls that actors were asked."""

    max_calls: int | None
    max_cost: float | None
    calls: int = 0
    cost: float = 0.0
    asked: int = 0

    def __post_init__(self) -> None:
        """Refuse limits that are out of range."""
        calls, cost = self.max_calls, self.max_cost
        if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int) or calls < 0):
            raise InputError(f"`max_calls` must be 0 or more, and is {calls!r}")
        if cost is not None and not (isinstance(cost, int | float) and cost > 0):
            raise InputError(f"`max_cost` must be above 0, and is {cost!r}")

    def rest(self) -> tuple[int | None, float | None]:
        """What may still be sent: calls, and US dollars."""
        calls = None if self.max_calls is None else max(0, self.max_calls - self.calls)
        if self.max_cost is None:
            return calls, None
        cost = self.max_cost - self.cost
        return (calls, cost) if cost > 0 else (0, None)


class BenchmarkSteps:
    """One call of a benchmark; names that are none stop here, before anything is written.

    Args:
        folder: the benchmark's.
        request: what it is asked to do.
        limits: how everybody is asked.
        earlier: what it was asked to do before clinicians were added.
        spending: what it shares the limits with; none unless given.
    """

    def __init__(
        self,
        folder: Path,
        request: BenchmarkRequest,
        limits: BenchmarkSettings | ExtendSettings,
        *,
        earlier: BenchmarkRequest | None = None,
        spending: BenchmarkSpending | None = None,
    ) -> None:
        self._folder = folder
        self._request = request
        self._limits = limits
        self._replay = isinstance(limits, Replaying) and limits.replay
        self._watch = limits.watch or BenchmarkWatch()
        self._earlier = earlier
        self.spending = spending or BenchmarkSpending(limits.max_calls, limits.max_cost)
        self._cast = BenchmarkCast(request, limits.prices or {})
        self._cast.check_prices(limits.max_cost)
        if not self._replay:
            self._cast.check_judges()
        _ = request.content

    def go(self, *, reported: bool = True) -> Benchmark:
        """Do what is left to do; the report, too, unless it isn't wanted."""
        with self._held():
            self._settle_record()
            if self._request.needs_floor:
                floor = self._find_floor()
                if floor.left:
                    return floor
            talks = self._simulated()
            counts = talks.summary.counts
            if counts.unfinished:
                return Benchmark(
                    self._folder,
                    talks,
                    self.spending.asked,
                    left=f"{counts.unfinished:,} of {counts.planned:,} conversations have not ended",
                )
            if not counts.finished:
                raise RunError(
                    "no conversation can be scored",
                    where=str(self._folder),
                    todo=f"bedside simulate failed {typed(self._folder / TALKS)} says why",
                )
            scoring = self._scored()
            judged = tuple(self._judged())
            counted_rubrics = [count for run in judged for summary in run.judges for count in summary.rubrics]
            left = sum(count.not_asked for count in counted_rubrics)
            if left:
                words = f"{left:,} judgements have not been asked for"
                return Benchmark(self._folder, talks, self.spending.asked, scoring, judged, left=words)
            if not reported:
                return Benchmark(self._folder, talks, self.spending.asked, scoring, judged)
            failed = sum(count.failed for count in counted_rubrics)
            words = f"{failed:,} judgements got no answer" if failed else ""
            return Benchmark(self._folder, talks, self.spending.asked, scoring, judged, self._reported(), words)

    # -- the folder ----------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the folder, which is made if it isn't there, for this process alone."""
        from bedside.core.files import folder_held

        record = read_record(self._folder)
        if record is not None:
            if self._request.needs_floor:
                self._request = self._request.with_clinicians(
                    [name for name in record["depends on"]["clinicians"] if _is_floor(name)]
                )
            kept = set(record["depends on"]["clinicians"])
            added = [name for name in self._request.content["clinicians"] if name not in kept] if self._earlier else []
            check_same(self._folder, record, self._request, added)
        elif self._replay:
            raise RunError("there is no benchmark to replay", where=str(self._folder), todo="leave `replay` out to ask")

        def is_ours(names: Collection[str]) -> bool:
            return record is not None or all(name.startswith(f".{RECORD}") for name in names)

        with folder_held(self._folder, _LOCK, "a benchmark", is_ours=is_ours):
            yield

    def _settle_record(self) -> None:
        """Write what is asked, where it isn't there yet, or clinicians are new."""
        record = read_record(self._folder)
        clinicians = self._request.content["clinicians"]
        if record is None or list(record["depends on"]["clinicians"]) != list(clinicians):
            write_record(self._folder, self._request)

    # -- the trivial clinicians ----------------------------------------------------------------------

    def _find_floor(self) -> Benchmark:
        """Have the trivial clinicians talk, and add the best of them to the clinicians.

        Raises:
            RunError: none has a value.
        """
        from bedside.analysis.ratings_view import open_ratings_view
        from bedside.reports.tables.leaderboard import best_system

        trivial = replace(self._request, clinicians=(TRIVIAL,), floor=False)
        prices = self._cast.judge_prices() | self._cast.actor_prices(trivial.clinicians)
        limits = replace(self._limits, prices=prices)
        steps = BenchmarkSteps(self._folder / _FLOOR_FOLDER, trivial, limits, spending=self.spending)
        done = steps.go(reported=False)
        if done.left:
            return replace(done, folder=self._folder, left=f"of trivial clinicians, {done.left}")
        best = best_system(open_ratings_view(done.run))
        if best is None:
            raise RunError(
                "no main measure has a value without a judge, so there is no best trivial clinician",
                where=str(done.folder),
                todo="name a judge, or leave `floor` out",
            )
        self._request = self._request.with_clinicians([f"{FLOOR}{best.partition(':')[2]}"])
        self._cast = BenchmarkCast(self._request, self._limits.prices or {})
        self._settle_record()
        return done

    # -- simulate ------------------------------------------------------------------------------------

    def _simulated(self) -> Simulation:
        request = self._request
        if self._earlier is not None and not self._replay and self._is_settled(self._earlier):
            new = tuple(name for name in request.clinicians if name not in self._earlier.clinicians)
            talks = self._simulate(new) if new else None
            if talks is not None and talks.summary.counts.unfinished:
                return talks
            # The log has all replies now: whoever was there before needn't even be reachable.
            if talks is None or self._is_answered():
                return self._simulate(request.clinicians, replay=True)
        return self._simulate(request.clinicians, replay=self._replay)

    def _is_settled(self, earlier: BenchmarkRequest) -> bool:
        """Whether all earlier conversations ended by what was replied, and nobody is at the keyboard."""
        from bedside.transcripts.simulation_folder import simulation_manifest

        manifest = simulation_manifest(self._folder / TALKS)
        names = [name.identity for name in earlier.plan.clinicians]
        return (
            manifest is not None
            and manifest["clinicians"] == names
            and not self._request.plan.has_people()
            and self._is_answered()
        )

    def _is_answered(self) -> bool:
        """Whether no conversation of the last simulation lacks an answer."""
        from bedside.simulation.talks_folder import read_failures

        return not any(
            line["state"] != "failed" or line["whose"] == "infrastructure"
            for line in read_failures(self._folder / TALKS)
        )

    def _simulate(self, clinicians: Sequence[Named], *, replay: bool = False) -> Simulation:
        limits = self._limits
        max_calls, max_cost = self.spending.rest()
        talks = simulate(
            self._request.cases,
            self._request.protocol,
            self._folder / TALKS,
            clinician=clinicians,
            **self._request.simulated(),
            max_concurrency=limits.max_concurrency,
            max_calls=max_calls,
            max_cost=max_cost,
            prices=self._cast.actor_prices(clinicians),
            time_limit=limits.time_limit,
            **limits.seats(),
            replay=replay,
            progress=self._watch.simulating,
        )
        self.spending.asked += talks.summary.calls.asked
        self.spending.calls += talks.summary.requests
        self.spending.cost += talks.summary.cost
        return talks

    # -- score ---------------------------------------------------------------------------------------

    def _scored(self) -> ScoringSummary | None:
        """Have algorithms rate what isn't rated; a run of other conversations is made again."""
        from bedside.scoring.pipeline import metrics_from_labels
        from bedside.scoring.score import score

        talks, run = self._folder / TALKS, self._folder / RUN
        if is_run(run):
            if self._is_of_talks(open_run(run)):
                self._put_back()
                if self._knows_failures(open_run(run)):
                    return None
            else:
                self._take_away(open_run(run))
        waiting = metrics_from_labels(frozenset(self._request.suite.rubrics)) if self._cast.judges else ()
        summary = score(
            [talks],
            run,
            suite=self._request.suite,
            waiting=waiting,
            seed=self._request.plan.seed,
            progress=self._watch.scoring,
        )
        self._put_back()
        return summary

    def _is_of_talks(self, run: Run) -> bool:
        """Whether a run is of the conversations as they are now."""
        digest = file_digest(self._folder / TALKS / TRANSCRIPTS)
        return [file["sha256"] for file in run.manifest["transcripts"]["inputs"]] == [digest]

    def _knows_failures(self, run: Run) -> bool:
        """Whether a run knows which conversations failed, as it is now."""
        from bedside.ratings.run import run_simulations
        from bedside.simulation.talks_folder import read_failures

        (known,) = run_simulations(run.path) or (None,)
        failures = [{k: v for k, v in line.items() if k != "detail"} for line in read_failures(self._folder / TALKS)]
        return known is not None and list(known.failures) == failures

    def _take_away(self, run: Run) -> None:
        """Remove a run of other transcripts, but for what judges answered.

        Raises:
            RunError: people's ratings are in it, which nobody could bring back.
        """
        import sqlite3

        from bedside.core.files import remove, replacing
        from bedside.scoring.judging_orders import STORE

        if run.manifest["imports"]:
            raise RunError(
                "people's ratings were imported into this run, and a run of more conversations takes its place",
                where=str(run.path),
                todo="move it away, call the same again, and import the ratings into the new run",
            )
        if (run.path / STORE).is_file():
            with (
                replacing(self._folder / _KEPT) as copy,
                closing(sqlite3.connect(run.path / STORE)) as store,
                closing(sqlite3.connect(copy)) as target,
            ):
                store.backup(target)
                target.execute("PRAGMA application_id = 0")  # nothing stands in a log
        remove(run.path)

    def _put_back(self) -> None:
        """Put what judges answered into the run that was made again."""
        from bedside.scoring.judging_orders import STORE

        kept, store = self._folder / _KEPT, self._folder / RUN / STORE
        if kept.is_file() and not store.exists():
            os.replace(kept, store)

    # -- judge ---------------------------------------------------------------------------------------

    def _judged(self) -> Iterator[JudgedRun]:
        """Have judges rate what isn't rated."""
        run, limits = self._folder / RUN, self._limits
        for identity, cast_judge in self._cast.judges.items():
            if self._is_judged(open_run(run), identity):
                continue
            max_calls, max_cost = self.spending.rest()
            judged = judge(
                open_run(run),
                cast_judge.texts,
                suite=self._request.suite,
                max_concurrency=limits.max_concurrency,
                max_calls=0 if self._replay else max_calls,
                max_cost=max_cost,
                price=cast_judge.price,
                extra=self._request.extra,
                seed=self._request.plan.seed,
                progress=self._watch.judging,
            )
            for summary in judged.judges:
                self.spending.calls += summary.calls
                self.spending.cost += sum(count.cost or 0.0 for count in summary.rubrics)
            yield judged

    def _is_judged(self, run: Run, identity: str) -> bool:
        """Whether a judge has answered everything that the suite asks, by rubrics as they are now."""
        from bedside.ratings.names import judge_rater

        rubrics = self._request.content["rubrics"]
        for entry in reversed(run.manifest["scorings"]):
            done = (entry.get("judges") or {}).get(judge_rater(identity))
            if done is not None:
                return bool(done["complete"]) and done["prompts"] == rubrics
        return False

    # -- report --------------------------------------------------------------------------------------

    def _reported(self) -> Report:
        from bedside.reports.build import PAGE, write_report
        from bedside.reports.report_settings import ReportSettings

        tables, files = write_report(
            open_run(self._folder / RUN), settings=ReportSettings(seed=self._request.plan.seed)
        )
        return Report(next(file for file in files if file.name == PAGE), Tables(tables, None), files)


# -- From Python ----------------------------------------------------------------------------------------

#: Conversations of toys, about, by which judges' calls are counted.
_PLAYED = 20


@question(BenchmarkSettings, "The simulator's name, equal to its suite's; or a protocol file that names its suite.")
def benchmark(protocol: str, settings: BenchmarkSettings) -> Benchmark:
    """The limits are those of actors and judges together, in one call; the seed is that of all chance, in
    conversations, judgements and the report's draws.

    Raises:
        BedsideError: a name that is none or a file that can't be read (nothing is written then), another benchmark in
            the folder, or somebody who can't be asked; what was answered before is kept.
    """
    casts = swapped_casts(settings)
    limits = settings.max_calls, settings.max_cost
    done: list[Benchmark] = []
    for cast in casts:
        request = cast.of_protocol(protocol)
        steps = BenchmarkSteps(Path(cast.out), request, replace(cast, max_calls=limits[0], max_cost=limits[1]))
        if cast.write_cast is not None:
            from bedside.simulation.simulation_plan import write_cast

            write_cast(request.plan, Path(cast.write_cast))
        done.append(steps.go())
        limits = steps.spending.rest()
        if not done[-1].complete:
            break
    first, *others = done
    left = f"{counted(len(casts) - len(done) + 1, 'cast')} of {len(casts)} are not done: {done[-1].left}"
    return replace(first, swapped=tuple(others), left=first.left or (left if done[-1].left else ""))


def swapped_casts(settings: BenchmarkSettings) -> list[BenchmarkSettings]:
    """The settings with each patient and evaluator that is named; all but the first go into folders of ``casts``."""
    patients, evaluators = _alternatives(settings.patient), _alternatives(settings.evaluator)
    casts = [(patient, evaluator) for patient in patients for evaluator in evaluators]
    named = {name for cast in casts for name in cast}
    swapped = []
    for number, (patient, evaluator) in enumerate(casts):
        # A price of somebody in another cast is nobody's in this one.
        others = named - {patient, evaluator, *_clinicians(settings.clinician), *listed(settings.judges, "judges")}
        prices = {name: price for name, price in (settings.prices or {}).items() if name not in others}
        own = replace(settings, patient=patient, evaluator=evaluator, prices=prices)
        if number:
            words = "+".join(str(name) for name in (patient, evaluator) if name is not None)
            folder = Path(settings.out) / "casts" / re.sub(r"[^A-Za-z0-9._+-]+", "-", words)
            own = replace(own, out=folder, write_cast=None)
        swapped.append(own)
    return swapped


def _alternatives(name: Any) -> list[Any]:
    """Who is named in turn for a role, with commas between."""
    return list(dict.fromkeys(name.split(","))) if isinstance(name, str) else [name]


@question(ExtendSettings, "The benchmark's folder.")
def extend_benchmark(out: str | os.PathLike[str], settings: ExtendSettings) -> Benchmark:
    """Raises:
    BedsideError: there is no benchmark; or a case, an actor, an option, a rubric or the protocol isn't what it was,
        which is named.
    """
    folder = Path(out)
    kept = request_of(folder)
    new = _clinicians(settings.clinician)
    if not new:
        raise InputError("no clinician is named", where="`clinician`", todo="name one, such as openai/gpt-5-mini")
    return BenchmarkSteps(folder, kept.with_clinicians(new), settings, earlier=kept).go()


@question(PreviewedBenchmark, "The simulator's name, equal to its suite's; or a protocol file that names its suite.")
def preview_benchmark(protocol: str, settings: PreviewedBenchmark) -> Tables[BenchmarkPreview]:
    """Raises:
    BedsideError: a name that is none, or a file that can't be read.
    """
    from bedside.reports.judgements import plan_table
    from bedside.reports.simulations import BenchmarkPreview, benchmark_plan_table, preview_table, scaled

    request = settings.of_protocol(protocol)
    compared = len(request.plan.clinicians) + request.floor
    if request.floor:
        # All of them, and the best once more: that alone is compared.
        request = request.with_clinicians([TRIVIAL, f"{FLOOR}{next(iter(trivial_clinicians()))}"])
    cast = BenchmarkCast(request, settings.prices or {})
    cast.check_prices(None)
    simulation = preview_simulation(
        settings.cases, protocol, clinician=request.clinicians, prices=cast.actor_prices(), **request.simulated()
    )
    plans, played = _judging_plans(request, cast)
    factor = simulation.conversations / played if played else 0.0
    plan = request.plan
    preview = BenchmarkPreview(
        simulation, scaled(plans, factor), played, settings.max_concurrency, len(plan.cases), compared,
        _pilot(settings.out), request.repeats,
    )  # fmt: skip
    judging = [
        replace(
            plan_table(preview.judging),
            title=f"What judges would be asked, from {counted(played, 'conversation')} of toys",
        )
    ]
    return Tables([preview_table(simulation), *(judging if plans else []), benchmark_plan_table(preview)], preview)


def _pilot(out: str | os.PathLike[str] | None) -> PilotSpread | None:
    """The spread in the run of a benchmark's folder, where there is one."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.reports.tables.leaderboard import pilot_spread

    run = None if out is None else Path(out) / RUN
    return pilot_spread(open_ratings_view(open_run(run))) if run is not None and is_run(run) else None


def _judging_plans(request: BenchmarkRequest, cast: BenchmarkCast) -> tuple[list[RubricPlan], int]:
    """What judges would be asked about some conversations between the protocol's toys, and how many these are."""
    if not cast.judges:
        return [], 0
    cases = request.plan.cases
    each = len(request.plan) // (len(cases) * len(request.plan.clinicians) * request.repeats)
    wanted = min(len(cases), max(1, -(-_PLAYED // max(1, each))))
    toys = replace(
        request, clinicians=("rules",), patient="rules", evaluator=None, ranker=None, reviewer=None, repeats=1,
        sample=None, cast=None,
        cases=[cases[place * len(cases) // wanted] for place in range(wanted)],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        talks = simulate(
            toys.cases, toys.protocol, Path(folder) / "talks", clinician=toys.clinicians, **toys.simulated()
        )
        plans: list[RubricPlan] = []
        for judge in cast.judges.values():
            planned = preview_judging(
                talks.folder, judge.texts, suite=request.suite, price=judge.price, seed=request.plan.seed
            )
            plans += planned.results
    return plans, talks.summary.counts.finished


def _clinicians(names: ActorInput) -> tuple[Named, ...]:
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else (names,)
