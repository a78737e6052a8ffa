"""The library deepeval, imported with everything switched off that leaves the machine unasked."""

from __future__ import annotations

import copy
import importlib
import io
import os
import re
import sys
from collections.abc import Collection, Mapping
from contextlib import redirect_stdout
from typing import Any

from pydantic import BaseModel, ConfigDict

from bedside.core.errors import MissingExtraError
from bedside.judges.llm.contract import missing_library
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import ModelFacts

#: Set before deepeval is imported, where the user hasn't set them: it sends usage data, reads .env files, writes
#: transcripts to the working folder, looks for updates, and retries on its own account. LiteLLM fetches prices.
ENVIRONMENT: Mapping[str, str] = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_RETRY_MAX_ATTEMPTS": "1",
    "DEEPEVAL_DISABLE_TIMEOUTS": "1",
    "CONFIDENT_TRACING_ENABLED": "NO",
    "CONFIDENT_TRACE_VERBOSE": "0",
    "ERROR_REPORTING": "0",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_LOG": "CRITICAL",
}
#: Its tables of models, with what they take.
_TABLES = {
    "openai": "OPENAI_MODELS_DATA",
    "azure": "OPENAI_MODELS_DATA",
    "anthropic": "ANTHROPIC_MODELS_DATA",
    "bedrock": "BEDROCK_MODELS_DATA",
    "deepseek": "DEEPSEEK_MODELS_DATA",
    "gemini": "GEMINI_MODELS_DATA",
    "grok": "GROK_MODELS_DATA",
    "kimi": "KIMI_MODELS_DATA",
}
#: At the end of a version's name.
_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def deepeval_module(part: str, left_alone: Collection[str] = ()) -> Any:
    """One of deepeval's modules.

    Args:
        part: its name below ``deepeval``.
        left_alone: variables of :data:`ENVIRONMENT` that are not set.

    Raises:
        MissingExtraError: deepeval isn't installed.
    """
    if "deepeval" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            if name not in left_alone:
                os.environ.setdefault(name, value)
    try:
        # It prints a remark on the setting above, into what a command may print as JSON.
        with redirect_stdout(io.StringIO()):
            return importlib.import_module(f"deepeval.{part}")
    except ImportError as error:
        raise missing_library("deepeval") from error


def listed_facts(name: ModelName) -> ModelFacts:
    """What deepeval's tables say of a model; nothing where they don't have it, or there is no deepeval.

    A model that a router serves is looked up as its maker's, and a dated version that isn't listed as the model itself.
    """
    provider, model = name.provider, name.model
    if provider == "openrouter":
        provider, _, model = model.partition(":")[0].partition("/")
    entry = _entry(provider, model) or _entry(provider, _DATE.sub("", model))
    if entry is None:
        return ModelFacts()
    return ModelFacts(
        temperature=entry.supports_temperature,
        schema=entry.supports_structured_outputs,
        json=entry.supports_json,
        probabilities=entry.supports_log_probs,
        most_probabilities=entry.max_log_probs,
    )


def _entry(provider: str | None, model: str) -> Any:
    """What deepeval's tables hold of a model; None where there is nothing."""
    table = _TABLES.get(provider or "")
    if table is None:
        return None
    try:
        deepeval_module("models")
        constants = importlib.import_module("deepeval.models.llms.constants")
    except (MissingExtraError, ImportError):
        return None
    models = getattr(constants, table, {})
    return models.get(model, None)


class _AnyObject(BaseModel):
    model_config = ConfigDict(extra="allow")


def schema_class(schema: dict[str, Any], name: str) -> type[BaseModel]:
    """A Pydantic class, which is what deepeval takes, that stands for a JSON Schema.

    It lets any object through: whether a reply fits is checked where all replies are.

    Args:
        schema: the JSON Schema.
        name: the schema's, which providers are told with a capital letter.
    """

    def json_schema(cls: type[BaseModel], core_schema: Any, handler: Any) -> dict[str, Any]:
        return copy.deepcopy(schema)

    members = {"__module__": __name__, "__get_pydantic_json_schema__": classmethod(json_schema)}
    made: type[BaseModel] = type(name.capitalize(), (_AnyObject,), members)
    return made
