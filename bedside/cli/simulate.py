"""``bedside simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.engines import EngineOptions
from bedside.cli.judgements import say_wave
from bedside.cli.options import HOW, SeedOption
from bedside.cli.output import say, say_limit, show_tables
from bedside.cli.parsing import read_names, read_numbers, read_pairs, read_settings, read_whole_numbers
from bedside.cli.progress import simulation_progress
from bedside.cli.settings_options import takes_settings
from bedside.core.errors import InputError
from bedside.core.words import counted, typed
from bedside.ratings.names import is_human

if TYPE_CHECKING:
    from bedside.api.simulating import Simulation
    from bedside.simulation.talks_folder import TalkCounts

_ACTORS, _CASES = "Who talks", "What about"
#: The panel of options that say what may be spent, and how fast.
COST = "Cost and speed"
#: What a command that simulates makes, unless told otherwise.
_OUT = Path("talks")

CasesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CASES]",
        help="Cases: JSON, JSON lines or YAML files, or folders of them. Without any, the protocol's bundled cases, "
        "which are invented.",
    ),
]
ProtocolOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Protocol that the conversations follow; bedside simulators lists them.",
        autocompletion=complete.simulators,
    ),
]
TalksOption = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder of the simulation; the same command goes on where it was stopped.",
    ),
]
ClinicianOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ACTOR",
        help="Who is under test: openai/MODEL, http://host:port/v1#MODEL …, package.module:function, webhook:URL, "
        "human:NAME, script:FILE, script:NAME of the protocol, or rules (a toy). May be repeated: each is a system.",
        autocompletion=complete.clinicians,
        rich_help_panel=_ACTORS,
    ),
]
PatientOption = Annotated[
    str,
    typer.Option(
        metavar="ACTOR",
        help="Who plays the patient, as for --clinician. Without it, rules: a toy that needs no model.",
        autocompletion=complete.actors,
        rich_help_panel=_ACTORS,
    ),
]
EvaluatorOption = Annotated[
    str | None,
    typer.Option(
        metavar="ACTOR",
        help="Who labels turns, checks facts and the like. Without it, whoever plays the patient; needed where that is "
        "a person.",
        autocompletion=complete.actors,
        rich_help_panel=_ACTORS,
    ),
]
RankerOption = Annotated[
    str | None,
    typer.Option(
        metavar="RANKER",
        help="Who ranks candidates for a message, in protocols that have any: likelihood:MODEL (a causal language "
        "model of this computer: a folder, a .gguf file or a name on the Hugging Face hub), none (the first is taken), "
        "a model, or package.module:function. Without it, a toy.",
        rich_help_panel=_ACTORS,
    ),
]
MinutesOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Minutes that a person at the keyboard has for each conversation; they are told when two are left.",
        rich_help_panel=_ACTORS,
    ),
]
PersonasOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Personas of the patients, in place of the protocol's; for protocols that have a use for them.",
        rich_help_panel=_CASES,
    ),
]
SettingOption = Annotated[
    str | None,
    typer.Option(
        "--setting",
        "--settings",
        metavar="A,B",
        help="Settings of the protocol; bedside simulators show NAME lists them. Without it, its first.",
        autocompletion=complete.simulator_settings,
        rich_help_panel=_CASES,
    ),
]
LengthsOption = Annotated[
    str | None,
    typer.Option(
        metavar="N,N",
        help="Target lengths of the conversations, for protocols that have them.",
        rich_help_panel=_CASES,
    ),
]
RepeatsOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="How many times each conversation is simulated.",
        rich_help_panel=_CASES,
    ),
]
SampleOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="NUMBER", help="How many cases to draw. Without it, all.", rich_help_panel=_CASES),
]
SimulatorSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PROTOCOL.NAME=VALUE",
        help="An option of the protocol; bedside simulators show NAME lists them. May be repeated.",
        autocompletion=complete.simulator_options,
        rich_help_panel=HOW,
    ),
]
MaxConcurrencyOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        help="Most calls under way at once to a model or agent, or to each address that serves it.",
        rich_help_panel=COST,
    ),
]
MaxRequestsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        metavar="NUMBER",
        help="Most requests to send before stopping; the same command goes on.",
        rich_help_panel=COST,
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        metavar="DOLLARS",
        help="US dollars after which nothing more is sent; the same command goes on.",
        rich_help_panel=COST,
    ),
]
ModelPriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="MODEL,in=N,out=N",
        help="US dollars for a million tokens of a model whose price bedside doesn't know; without MODEL, of every "
        "such model. May be repeated.",
        rich_help_panel=COST,
    ),
]
TimeLimitOption = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Seconds until a call counts as unanswered.", rich_help_panel=COST),
]
PreviewOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many conversations, calls and tokens it takes, by role; ask and write nothing.",
        rich_help_panel=COST,
    ),
]
ReplayOption = Annotated[
    bool,
    typer.Option(
        "--replay",
        help="Ask nobody: take every reply from the folder's log, and write the same files again.",
        rich_help_panel=COST,
    ),
]

BatchWaveOption = Annotated[
    Path | None,
    typer.Option(
        "--batch-out",
        metavar="FILE",
        help="JSONL file to write the open calls to language models to, for a service that answers batches; they are "
        "not asked. The same command with --batch-in goes on.",
        rich_help_panel=COST,
    ),
]
BatchAnswersOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--batch-in",
        metavar="FILE",
        help="File of a service's answers to the calls that --batch-out wrote. May be repeated.",
        rich_help_panel=COST,
    ),
]


@takes_settings
def simulate(
    protocol: ProtocolOption,
    cases: CasesArgument = None,
    out: TalksOption = _OUT,
    clinician: ClinicianOption = None,
    patient: PatientOption = "rules",
    evaluator: EvaluatorOption = None,
    ranker: RankerOption = None,
    minutes: MinutesOption = None,
    personas: PersonasOption = None,
    setting: SettingOption = None,
    lengths: LengthsOption = None,
    repeats: RepeatsOption = 1,
    sample: SampleOption = None,
    set_: SimulatorSetOption = None,
    max_concurrency: MaxConcurrencyOption = 8,
    max_calls: MaxRequestsOption = None,
    max_cost: MaxCostOption = None,
    price: ModelPriceOption = None,
    time_limit: TimeLimitOption = 120.0,
    dry_run: PreviewOption = False,
    replay: ReplayOption = False,
    batch_out: BatchWaveOption = None,
    batch_in: BatchAnswersOption = None,
    *,
    sharing: EngineOptions,
    seed: SeedOption = 0,
) -> None:
    """Have clinicians talk with a protocol's simulated patients.

    Clinicians and patients can be models, agents, people, scripts or the protocol's own toys.

    Every reply is kept at once, so the same command goes on where it was stopped and pays for nothing twice. What each
    side is told goes to whoever plays it, and nowhere else.

    Examples:
        $ bedside simulate --protocol note2chat --clinician script:good --clinician script:brisk --out talks
        $ bedside simulate cases/ --protocol medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --dry-run
        $ bedside simulate --protocol note2chat --clinician mypackage.agent:reply --patient openai/gpt-5 --out talks
        $ bedside simulate --protocol medconceal --clinician human:anna --minutes 10
    """
    from bedside import preview_simulation, simulate as simulate_conversations
    from bedside.reports.simulations import preview_table

    asked: dict[str, Any] = {
        "clinician": clinician or [],
        "patient": patient,
        "evaluator": evaluator,
        "ranker": ranker,
        "personas": personas,
        "settings": read_names(setting) or [],
        "lengths": read_whole_numbers(lengths, "--lengths") if lengths else [],
        "repeats": repeats,
        "sample": sample,
        "seed": seed,
        "options": simulator_options(set_ or [], protocol),
    }
    prices = read_prices(price or [], actor_names(asked))
    if dry_run:
        preview = preview_simulation(cases or None, protocol, prices=prices, **asked)
        show_tables([preview_table(preview)])
        return
    with (
        sharing.opened(out) as shared,
        simulation_progress(bar=not has_person(asked)) as progress,
    ):
        talks = simulate_conversations(
            cases or None,
            protocol,
            out,
            **asked,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
            max_cost=max_cost,
            prices=prices,
            time_limit=time_limit,
            minutes=minutes,
            replay=replay,
            engine=shared,
            batch_out=batch_out,
            batch_in=batch_in or (),
            progress=progress,
        )
    _say_simulated(talks, max_cost)


def _say_simulated(talks: Simulation, max_cost: float | None) -> None:
    """What became of the conversations, and what to do next."""
    from bedside.reports.simulations import simulation_tables

    summary, out = talks.summary, talks.folder
    counts = summary.counts
    show_tables(simulation_tables(out))
    asked = counted(summary.calls.asked, "call")
    number = summary.calls.replayed
    replayed = "1 reply" if number == 1 else f"{number:,} replies"
    say(
        f"{counted(counts.finished, 'conversation')} of {counts.planned:,} in {out}; {asked} asked now, {replayed} "
        "taken from the log."
    )
    counts.check_usable(out, "conversation")
    say_failures(counts, out)
    if summary.wave is not None:
        say_wave(summary.wave, counts.unfinished)
    elif counts.unfinished:
        say_limit(summary.cost, max_cost, say)
        say(f"{counts.unfinished:,} have not ended: the same command goes on.")
    if counts.finished:
        say(f"Next: bedside score {typed(out)} --out run; bedside report run")


def say_failures(counts: TalkCounts, folder: Path) -> None:
    """Say how many conversations the clinician failed, and how many are missing."""
    by_clinician, missing = sum(counts.clinician_failed.values()), sum(counts.failed.values())
    why = f"bedside simulation failed {typed(folder)} says why."
    if by_clinician:
        say(
            f"{by_clinician:,} of {counts.planned:,} failed by the clinician, which count as the worst: {why} What was "
            "replied stays: an agent that was mended has its conversations in another folder."
        )
    if missing:
        say(
            f"{missing:,} of {counts.planned:,} are missing, by no doing of the clinician: {why} Calls that got no "
            "answer are asked again by the same command."
        )


def simulator_options(texts: list[str], protocol: str) -> dict[str, Any]:
    """The values of ``--set``, by name."""
    lists = f"bedside simulators show {protocol} lists them"
    values = read_settings(texts, form=f"{protocol}.NAME=VALUE", todo=lists)
    for name in values:
        if name != protocol:
            raise InputError(
                f"{name!r} is not the protocol that is simulated",
                where="--set",
                todo=f"write --set {protocol}.NAME=VALUE; {lists}",
            )
    return values.get(protocol, {})


def actor_names(asked: dict[str, Any]) -> list[str]:
    """Everybody who is named."""
    others = [asked[name] for name in ("patient", "evaluator", "ranker")]
    return [*asked["clinician"], *(name for name in others if name)]


def has_person(asked: dict[str, Any]) -> bool:
    """Whether anybody who takes part sits at the keyboard."""
    return any(map(is_human, actor_names(asked)))


def read_prices(texts: list[str], models: list[str]) -> dict[str, tuple[float, float]]:
    """``MODEL,in=N,out=N`` as a price by model; without a model, as that of all."""
    prices: dict[str, tuple[float, float]] = {}
    for text in texts:
        model, comma, rest = text.partition(",in=")
        pairs = read_pairs(f"in={rest}" if comma else text, "--price") if "=" in text else {}
        if pairs.keys() != {"in", "out"}:
            raise InputError(f"{text!r} is not a price", where="--price", todo="write --price MODEL,in=0.25,out=2")
        per_million = (read_numbers(pairs["in"], "--price")[0], read_numbers(pairs["out"], "--price")[0])
        prices |= dict.fromkeys([model] if comma else models, per_million)
    return prices
