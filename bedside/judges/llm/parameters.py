"""Parameters of a chat in OpenAI's form: which of them are sent, and which a server turned out not to take.

What a table of models says is left out from the start; what a server refuses by name is left out, or called by its
other name, from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bedside.judges.llm.model_facts import ModelFacts
from bedside.judges.llm.protocol import LanguageModelError, Sampling
from bedside.judges.llm.server_problems import ServerProblem

#: Alternatives asked for at each token; the most that OpenAI gives.
TOP_LOGPROBS = 20
#: The two names of the limit of a reply's tokens: that of OpenAI's newer models, and that of most servers.
NEW_LIMIT, OLD_LIMIT = "max_completion_tokens", "max_tokens"
#: What a parameter is, by its name in a request.
_MEANINGS = {
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "probabilities",
    "top_logprobs": "probabilities",
    NEW_LIMIT: "max_tokens",
    OLD_LIMIT: "max_tokens",
    "reasoning_effort": "reasoning_effort",
    "reasoning": "reasoning_effort",
}
_NOT_TAKEN = re.compile(
    r"support|recogni[sz]e|unknown|unexpected|permitted|not allowed|forbidden|deprecated|not available|incompatible"
    r"|invalid|does not accept|only the default",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(r"too (large|many|high|big)|at most|less than or equal|maximum", re.IGNORECASE)
_INPUT = re.compile(r"""["']input["']""")
#: How much of a server's words is looked at.
_MOST_WORDS = 400
#: Codes and types of a parameter that is known, but not this value of it.
_OTHER_VALUE = {"unsupported_value", "invalid_value", "literal_error", "enum"}


class ChatParameters:
    """The parameters that a model is sent; used by all requests to one server.

    Args:
        model: its name there.
        sampling: how it is asked to write.
        facts: what is known of it.
        new_limit: whether the limit of tokens goes by its new name.
        effort_object: whether the effort of reasoning goes into an object ``reasoning``, as OpenRouter has it.

    Attributes:
        fields: what is sent beside messages, schema and seed; another object once something was learnt.
        unsent: what is left out though it is wanted, by the names of :meth:`Sampling.parameters`.
    """

    def __init__(
        self,
        model: str,
        sampling: Sampling,
        facts: ModelFacts,
        *,
        new_limit: bool = False,
        effort_object: bool = False,
    ) -> None:
        self._model = model
        self._sampling = sampling
        self._facts = facts
        self._effort_object = effort_object
        self._limits = [NEW_LIMIT, OLD_LIMIT] if new_limit else [OLD_LIMIT, NEW_LIMIT]
        self._not_taken: set[str] = set()
        if facts.temperature is False:
            self._not_taken.add("temperature")
        if facts.probabilities is False:
            self._not_taken.add("probabilities")
        self._rewrite()

    @property
    def takes_seed(self) -> bool:
        """Whether a seed is sent where a request has one."""
        return "seed" not in self._not_taken

    def _rewrite(self) -> None:
        sampling, refused = self._sampling, self._not_taken
        wishes: dict[str, dict[str, Any]] = {}
        if self._limits:
            wishes["max_tokens"] = {self._limits[0]: sampling.max_tokens}
        if sampling.temperature is not None:
            wishes["temperature"] = {"temperature": sampling.temperature}
        if sampling.probabilities:
            most = min(TOP_LOGPROBS, self._facts.most_probabilities or TOP_LOGPROBS)
            wishes["probabilities"] = {"logprobs": True, "top_logprobs": most}
        if sampling.reasoning_effort is not None:
            effort = sampling.reasoning_effort
            wishes["reasoning_effort"] = (
                {"reasoning": {"effort": effort}} if self._effort_object else {"reasoning_effort": effort}
            )
        self.fields: dict[str, Any] = {"model": self._model}
        for meaning, fields in wishes.items():
            if meaning not in refused:
                self.fields |= fields
        left_out = [meaning for meaning in wishes if meaning in refused]
        self.unsent: tuple[str, ...] = tuple(left_out) if self._limits else ("max_tokens", *left_out)

    def learn(self, problem: ServerProblem, sent: Mapping[str, Any]) -> str | None:
        """The parameter that a server refused and that isn't sent so again; None where it refused another thing.

        Args:
            problem: what the server said.
            sent: the fields of the request that it refused.

        Raises:
            LanguageModelError: it takes the parameter, but not this value.
        """
        name = _named(problem, sent)
        if name is None:
            return None
        meaning = _MEANINGS[name]
        self._check_value(meaning, problem)
        if meaning == "max_tokens":
            if self._limits and self._limits[0] == name:
                self._limits.pop(0)
        else:
            self._not_taken.add(meaning)
        self._rewrite()
        return meaning

    def _check_value(self, meaning: str, problem: ServerProblem) -> None:
        """Raise where another value of a parameter would be taken, which only the user can choose."""
        if meaning == "max_tokens" and _TOO_MANY.search(problem.message):
            raise LanguageModelError(
                f"{self._model} doesn't write as many as {self._sampling.max_tokens} tokens ({problem.message})",
                todo="allow fewer with `max_tokens`",
            )
        other_value = problem.codes & _OTHER_VALUE or "input should be" in problem.message.lower()
        if meaning == "reasoning_effort" and other_value:
            raise LanguageModelError(
                f"{self._model} doesn't take the reasoning effort {self._sampling.reasoning_effort} "
                f"({problem.message})",
                todo="give another `reasoning_effort`, or leave it out",
            )


def _named(problem: ServerProblem, sent: Mapping[str, Any]) -> str | None:
    """The parameter among those sent that a problem is about."""
    for parameter in problem.parameters:
        name = parameter.split(".")[0]
        if name in sent and name in _MEANINGS:
            return name
    if problem.parameters:
        return None  # it names another, which can't be left out
    # Some servers repeat the whole request in their words, where any parameter stands.
    words = _INPUT.split(problem.message)[0][:_MOST_WORDS]
    if not (_NOT_TAKEN.search(words) or problem.codes & _OTHER_VALUE):
        return None
    places = {
        name: match.start()
        for name in sent
        if name in _MEANINGS and (match := re.search(rf"\b{name}\b", words, re.IGNORECASE))
    }
    return min(places, key=places.__getitem__, default=None)
