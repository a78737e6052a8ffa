"""Who takes part in a benchmark and who judges it, with the prices that the user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bedside.api.benchmark_record import BenchmarkRequest
from bedside.core.errors import InputError

if TYPE_CHECKING:
    from bedside.judges.llm.model_names import ModelName
    from bedside.simulation.actor_contract import Named

#: US dollars for a million tokens in and out, by model.
Prices = Mapping[str, tuple[float, float]]


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
            own = tuple(
                text for text in texts if model.identity in {each.identity for each in named_models([text])}
            )
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
        from bedside.core.registry import nearest
        from bedside.judges.llm.contract import known_price

        judging = {name for identity, judge in self.judges.items() for name in (identity, *judge.texts)}
        names = judging | self._actor_names()
        for text in self._prices:
            if text not in names:
                raise InputError(
                    f"neither actor nor judge is called {text!r}", where="`prices`", todo=nearest(text, names)
                )
        for identity, judge in self.judges.items():
            if max_cost is not None and judge.price is None and known_price(judge.model) is None:
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
