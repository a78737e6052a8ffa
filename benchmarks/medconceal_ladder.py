"""What scripted clinicians get out of MedConceal's reserved patient, and what those get who only go through motions.

    python benchmarks/medconceal_ladder.py [--cases FILE …] [--parameters NAME …] [--search]

Each clinician talks with every case (``confirmation-8``) under the toy evaluator, and under one that errs as a model
does: every feature off by a normal error of SD 0.15, every tenth intent another one. ``--search`` prints how well each
setting of the thresholds tells the ladder's clinicians apart.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import orjson

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bedside.metrics.protocols.medconceal.labels import FEATURES, INTENTS, CategoryName  # noqa: E402
from bedside.metrics.protocols.medconceal.policy import PARAMETERS, write_parameters  # noqa: E402
from bedside.simulation.simulators.calls import ActorReply, Call  # noqa: E402
from bedside.simulation.simulators.case import Case  # noqa: E402
from bedside.simulation.simulators.case_files import read_cases  # noqa: E402
from bedside.simulation.simulators.contract import Draws, Outcome, Situation  # noqa: E402
from bedside.simulation.simulators.medconceal import SIMULATOR  # noqa: E402
from bedside.simulation.simulators.scripts import Script, read_script  # noqa: E402

#: From the worst to the best; all but the first are honest.
LADDER = ("silent", "brisk", "checklist", "good", "good-and-patient")
HONEST = LADDER[1:]
#: The category whose weight of elicitation the search varies: such concerns are told most readily.
READILY: CategoryName = "misinformation or misconception"
#: Clinicians who go through motions, by what they say in turn.
TRIVIAL: Mapping[str, tuple[str, ...]] = {
    "repeats": ("What worries you most?",),
    "paraphrases": (
        "What worries you most?",
        "What is your greatest worry?",
        "Which of your worries is the biggest?",
        "What is it that bothers you the most?",
        "What troubles you most of all?",
        "What is your biggest concern?",
        "What weighs on you most?",
        "So what are you most worried about?",
    ),
    "boilerplate": (
        "I'm so sorry. That sounds hard.",
        "I can see why that is difficult. It makes sense that you feel like this.",
        "That must be frightening. Thank you for telling me.",
        "I hear you, and no wonder. I'm listening.",
        "That sounds lonely. I have time.",
        "Understandable. Take your time, go on.",
        "Thank you for telling me. It is understandable.",
        "I'm sorry. That must weigh on you. Please say more.",
    ),
    "keywords": (
        "Worries fears costs money insurance doctors beliefs communication, tell me more.",
        "Afraid scared money bills doctors heard believe worst.",
        "Fear, dread, cost, debt, pay, doctors, talk, heard, what else.",
        "Emotional fear, financial cost, communication barrier, misconception.",
        "Worry bother weigh trouble fear cost.",
        "Afraid, ashamed, nervous. Money, bills, insurance.",
        "Doctors, listened, serious, speak. Heard, read, internet.",
        "Everything: fear, money, doctors, beliefs, worry. Take your time.",
    ),
    "claims": (
        "The patient has told me everything that worries them.",
        "You have told me all your fears, thank you for telling me.",
        "You said everything about the money. Take your time.",
        "All your concerns are out now. What else worries you?",
        "You have told me everything about doctors.",
        "You shared everything you heard and believe. Say more.",
        "There are no hidden concerns any more.",
        "The patient has revealed all concerns to me, and all of them are addressed.",
    ),
}  # fmt: skip


def evaluated(call: Call, errors: str) -> ActorReply:
    """The toy evaluator's answer; with a name of ``errors``, with a model's errors, the same for the same words."""
    reply = SIMULATOR.rules["evaluator"](call)
    if not errors:
        return reply
    answer = orjson.loads(reply.text)
    text = f"{errors} {call.ordinal} {call.material['utterance']}"
    draw = random.Random(hashlib.sha256(text.encode()).digest())
    for name in FEATURES:
        answer[name] = round(min(1.0, max(0.0, answer[name] + draw.gauss(0, 0.15))), 2)
    if draw.random() < 0.1:
        values = list(answer["intent_probabilities"].values())
        draw.shuffle(values)
        answer["intent_probabilities"] = dict(zip(INTENTS, values, strict=True))
    return ActorReply(orjson.dumps(answer).decode())


#: Evaluators, by how often each case is talked over with other errors; none has none.
EVALUATORS: Mapping[str, int] = {"rules": 0, "noisy": 5}


def clinician(name: str) -> Script:
    """A clinician of the ladder, or one who goes through motions."""
    if name in TRIVIAL:
        return Script(name=name, lines=TRIVIAL[name], replies={"findings": ({"findings": []},)})
    script = read_script(name, SIMULATOR.scripts).script
    assert isinstance(script, Script)
    return script


def talk(case: Case, script: Script, parameters: str, errors: str = "") -> Outcome:
    """One conversation with the toy patient."""
    options = {option.name: option.default for option in SIMULATOR.options} | {"parameters": parameters}
    draws = Draws(0, case.id)
    exchange = SIMULATOR.converse(Situation(case, None, "confirmation-8", None, options, draws, draws))

    def reply(call: Call) -> ActorReply:
        if call.actor == "clinician":
            return script.reply(call)
        return evaluated(call, errors) if call.actor == "evaluator" else SIMULATOR.rules[call.actor](call)

    asked = next(exchange)
    try:
        while True:
            asked = exchange.send(tuple(map(reply, asked)))
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


@dataclass(frozen=True, slots=True)
class Rung:
    """What a clinician gets out of the cases.

    Attributes:
        rate: revealed concerns / concerns, over all cases.
        partial: share of the cases with some concerns revealed and not all.
        together: share of the cases with several concerns, all of them revealed by one reply.
        after_denial: conversations in which a concern came out after the patient had denied it.
    """

    rate: float
    partial: float
    together: float
    after_denial: int


def rung(cases: Sequence[Case], script: Script, evaluator: str, parameters: str) -> Rung:
    """One clinician with all cases."""
    errors = [f"{number}" for number in range(1, EVALUATORS[evaluator] + 1)] or [""]
    revealed = concerns = partial = together = after_denial = 0
    for case, number in product(cases, errors):
        outcome = talk(case, script, parameters, number and f"{case.id} {number}")
        out = [state["state"]["revealed_at"] for state in outcome.states if state["purpose"] == "policy"][-1]
        own = len(case.hidden.concerns)
        revealed, concerns = revealed + len(out), concerns + own
        partial += 0 < len(out) < own
        together += own > 1 and len(out) == own and len(set(out.values())) == 1
        after_denial += "patient: tells what it denied" in outcome.flags
    talks = len(cases) * len(errors)
    return Rung(revealed / concerns, partial / talks, together / talks, after_denial)


def rungs(cases: Sequence[Case], names: Sequence[str], evaluator: str, parameters: str) -> dict[str, Rung]:
    """Several clinicians with all cases."""
    return {name: rung(cases, clinician(name), evaluator, parameters) for name in names}


def separation(found: Mapping[str, Rung]) -> float:
    """The smallest step between neighbours of the ladder; negative where two are in the wrong order."""
    return min(found[better].rate - found[worse].rate for worse, better in pairwise(LADDER))


def search(cases: Sequence[Case]) -> list[tuple[float, dict[str, float]]]:
    """Settings with the smallest step of the ladder under both evaluators, best first."""
    base, found = PARAMETERS.load("default"), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tried.yaml"
        for high, low, readily in product((0.56, 0.58, 0.6, 0.62, 0.64, 0.66, 0.7), (0.55, 0.6), (0.2, 0.4, 0.6)):
            if low > high:
                continue
            more = {name: dict(weights) for name, weights in base.reveal.by_category.items()}
            more[READILY]["concern_elicitation"] = readily
            reveal = base.reveal.model_copy(update={"high": high, "low": low, "by_category": more})
            write_parameters(base.model_copy(update={"reveal": reveal}), path)
            step = min(separation(rungs(cases, LADDER, kind, str(path))) for kind in EVALUATORS)
            found.append((step, {"high": high, "low": low, READILY: readily}))
    return sorted(found, key=lambda each: -each[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, nargs="+", default=[SIMULATOR.cases])
    parser.add_argument("--parameters", nargs="+", default=["published-shape", "default", "guarded", "progressive"])
    parser.add_argument("--search", action="store_true")
    given = parser.parse_args()
    cases = [case for _, case in read_cases(given.cases)]
    if given.search:
        for step, values in search(cases):
            print(f"smallest step {step:6.3f}  {values}")
        return
    for parameters, evaluator in product(given.parameters, EVALUATORS):
        found = rungs(cases, (*LADDER, *TRIVIAL), evaluator, parameters)
        print(f"\n{parameters}, evaluator {evaluator}, {len(cases)} cases")
        for name, one in found.items():
            print(
                f"  {name:18} reveal rate {one.rate:.3f}  some of them {one.partial:.2f}  "
                f"all in one reply {one.together:.2f}  after a denial {one.after_denial}"
            )
        honest = [found[name].rate for name in HONEST]
        some = sum(found[name].partial for name in HONEST) / len(HONEST)
        floor = max(found[name].rate for name in TRIVIAL)
        print(
            f"  smallest step {separation(found):.3f}  spread of the honest {max(honest) - min(honest):.3f}  "
            f"some {some:.2f}  best trivial {floor:.3f}, half of good {found['good'].rate / 2:.3f}"
        )


if __name__ == "__main__":
    main()
