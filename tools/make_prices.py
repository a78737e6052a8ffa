"""Makes the list of prices that bedside/judges/llm/prices.py reads, of the PyPI package ``genai-prices`` (MIT).

    python tools/make_prices.py FOLDER DATE

FOLDER holds the unpacked package (``pip download --no-deps genai-prices``), so that nothing needs to be installed; DATE
is the month of its release, as ``2026-11``. A line of the list is a model: its provider, how its name is recognised,
and its prices, each from a day on. Of prices that hang on the hour the highest is taken, and of those that rise with
the length of a prompt, that of short ones.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import types
from datetime import datetime
from pathlib import Path
from typing import Any

LIST = Path(__file__).parent.parent / "bedside" / "judges" / "llm" / "prices.json"
PROVIDERS = (
    "anthropic", "aws", "azure", "cohere", "deepseek", "fireworks", "google", "groq", "minimax", "mistral",
    "moonshotai", "openai", "openrouter", "perplexity", "together", "x-ai", "zai",
)  # fmt: skip
#: What its clauses are called in the list.
CLAUSES = {"equals": "=", "starts_with": "^", "ends_with": "$", "contains": "~", "regex": "*", "or_": "|", "and_": "&"}


def package(folder: Path) -> Any:
    """The package's data, without its ``__init__``, which imports an HTTP client."""
    for name, place in (("genai_prices", folder / "genai_prices"), ("httpx2", folder)):
        module = types.ModuleType(name)
        module.__path__ = [str(place)]
        sys.modules[name] = module
    return importlib.import_module("genai_prices.data")


def clause(match: Any) -> list[Any]:
    """How a name is recognised."""
    ((name, value),) = vars(match).items()
    return [CLAUSES[name], value if isinstance(value, str) else [clause(part) for part in value]]


def dollars(prices: Any, name: str) -> float | None:
    """One of a model's prices for a million tokens."""
    value = getattr(prices, name, None)
    value = getattr(value, "base", value)
    return None if value is None else float(value)


def row(start: str, prices: Any, batch: float | None) -> list[Any]:
    """From which day on: the prices of tokens in, out, read from the cache and written to it; what part a batch is."""
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    return [start, *(dollars(prices, name) for name in names), batch]


def batch_part(model: Any, day: datetime) -> float | None:
    """What part of a model's price its batches cost; None where that isn't known."""
    prices = model.get_prices(day)
    for variant in model.price_variants or ():
        if variant.when == {"processing": "batch"} and dollars(prices, "output_mtok"):
            half = dollars(variant.prices, "output_mtok")
            return None if half is None else round(half / (dollars(prices, "output_mtok") or 1), 3)
    return None


def rows(model: Any, day: datetime) -> list[list[Any]]:
    """A model's prices, by the day from which on they hold."""
    batch = batch_part(model, day)
    if not isinstance(model.prices, list):
        return [row("", model.prices, batch)]
    by_day: dict[str, list[Any]] = {}
    for conditional in model.prices:
        made = row(str(getattr(conditional.constraint, "start_date", "")), conditional.prices, batch)
        other = by_day.get(made[0])
        if other is None or (made[2] or 0) > (other[2] or 0):
            by_day[made[0]] = made
    return [by_day[day] for day in sorted(by_day)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("date")
    arguments = parser.parse_args()
    (information,) = arguments.folder.glob("genai_prices-*.dist-info/METADATA")
    (version,) = re.findall(r"^Version: (.+)$", information.read_text(), re.MULTILINE)
    lines, day = [], datetime.fromisoformat(f"{arguments.date}-28T12:00+00:00")
    for provider in package(arguments.folder).providers:
        for model in provider.models if provider.id in PROVIDERS else ():
            priced = [prices for prices in rows(model, day) if None not in prices[1:3]]
            if priced:
                lines.append(json.dumps([provider.id, clause(model.match), priced], separators=(",", ":")))
    head = json.dumps({"source": f"genai-prices {version}", "date": arguments.date})
    LIST.write_text(f'{head[:-1]}, "models": [\n' + ",\n".join(lines) + "\n]}\n", "utf-8")


if __name__ == "__main__":
    main()
