"""``bedside simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api.simulating import SimulateSettings, preview_simulation, simulate as simulate_conversations
from bedside.cli import completion as complete
from bedside.cli.engines import EngineOptions
from bedside.cli.judgements import say_wave
from bedside.cli.output import note, say, say_limit, show_tables
from bedside.cli.parsing import read_numbers, read_pairs, read_settings
from bedside.cli.progress import simulation_progress
from bedside.cli.settings_options import takes_settings_with
from bedside.core.errors import InputError
from bedside.core.question_settings import HOW
from bedside.core.words import counted, typed
from bedside.ratings.names import is_human
from bedside.simulation.talk_settings import COST, Sitting, TalkSettings

if TYPE_CHECKING:
    from bedside.api.simulating import Simulation
    from bedside.simulation.talks_folder import TalkCounts

CasesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CASES]",
        help="Cases: JSON, JSON lines or YAML files, or folders of them; bundled:full or bundled:quick for the "
        "protocol's own many or twelve of them, bundled:risk for people at risk. Without any, a few of its own. All "
        "bundled cases are invented. Of a protocol file, files of people in place of its own.",
    ),
]
SimulatorSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PROTOCOL.NAME=VALUE",
        help="An option of the protocol; bedside show NAME --kind protocols lists them. May be repeated.",
        autocompletion=complete.simulator_options,
        rich_help_panel=HOW,
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
PreviewOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print how many conversations, calls and tokens it takes, by role; ask and write nothing.",
        rich_help_panel=COST,
    ),
]


@takes_settings_with(out=Path("talks"))
def simulate(
    settings: SimulateSettings,
    cases: CasesArgument = None,
    set_: SimulatorSetOption = None,
    price: ModelPriceOption = None,
    dry_run: PreviewOption = False,
    *,
    sharing: EngineOptions,
) -> None:
    from bedside.reports.simulations import preview_table

    settings = replace(
        settings,
        options=simulator_options(set_ or [], settings.protocol),
        prices=read_prices(price or [], actor_names(settings)),
    )
    if dry_run:
        show_tables([preview_table(preview_simulation.with_settings(cases or None, settings))])
        return
    settings = replace(settings, links=partial(say_links, settings))
    with (
        sharing.opened(Path(settings.out)) as engine,
        simulation_progress(bar=settings.page or not has_person(settings)) as progress,
    ):
        talks = simulate_conversations.with_settings(cases or None, replace(settings, engine=engine, progress=progress))
    _say_simulated(talks, settings.max_cost)


def say_links(settings: Sitting, links: Mapping[str, str]) -> None:
    """Each person's link, who can reach the page, and how it is ended."""
    for person, link in links.items():
        note(f"{person}: {link}")
    note(settings.place(settings.page_address, "page_address").reach)
    note("Each link is for one person. Ctrl-C ends the page; the same command goes on where everybody was.")


def _say_simulated(talks: Simulation, max_cost: float | None) -> None:
    """What became of the conversations, and what to do next."""
    from bedside.reports.simulations import simulation_tables

    summary, out = talks.summary, talks.folder
    counts = summary.counts
    asked = counted(summary.calls.asked, "call")
    number = summary.calls.replayed
    replayed = "1 reply" if number == 1 else f"{number:,} replies"
    say(
        f"Finished {counted(counts.finished, 'conversation')} of {counts.planned:,} in {out}; {asked} asked now, "
        f"{replayed} taken from the log."
    )
    show_tables(simulation_tables(out))
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
    why = f"bedside simulate failed {typed(folder)} says why."
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
    if texts and protocol.endswith((".yaml", ".yml")):
        from bedside.simulation.simulators.file_talk import find_simulator

        protocol = find_simulator(protocol).name
    lists = f"bedside show {protocol} --kind protocols lists them"
    values = read_settings(texts, form=f"{protocol}.NAME=VALUE", todo=lists)
    for name in values:
        if name != protocol:
            raise InputError(
                f"{name!r} is not the protocol that is simulated",
                where="--set",
                todo=f"write --set {protocol}.NAME=VALUE; {lists}",
            )
    return values.get(protocol, {})


def actor_names(settings: TalkSettings) -> list[str]:
    """Everybody who is named."""
    clinicians: Any = settings.clinician
    named: list[Any] = [*clinicians, settings.patient, settings.evaluator, settings.ranker, settings.reviewer]
    return [name for name in named if name]


def has_person(settings: TalkSettings) -> bool:
    """Whether anybody who takes part sits at the keyboard."""
    return any(map(is_human, actor_names(settings)))


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
