"""``bedside judge``: what judges are asked of a run that is there, beside ``bedside score``.

A command is a function of a file of its own, and is added to the group here.
"""

from __future__ import annotations

from bedside.cli.help import App
from bedside.cli.juries import jury
from bedside.cli.learned_raters import learn
from bedside.cli.paired_judging import pairs
from bedside.cli.tuning import tune

judge_app: App = App(
    """Have judges compare conversations, join judges, and make them better by people's ratings.

    To have a judge rate conversations one by one, use bedside score --judge.

    Examples:
        $ bedside judge pairs run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c
        $ bedside judge learn run --rubric empathy --out empathy.npz
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --out tuned.yaml
    """
)
judge_app.command("pairs")(pairs)
judge_app.command("jury")(jury)
judge_app.command("learn")(learn)
judge_app.command("tune")(tune)
