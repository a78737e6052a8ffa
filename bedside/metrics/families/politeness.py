"""Politeness strategies, found by ConvoKit in sentences that a spaCy pipeline parsed.

ConvoKit's own parser ends the whole process where it finds no spaCy model, and parses turn by turn: here the user names
the pipeline, and the turns of a role are parsed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bedside.core.errors import ModelError
from bedside.core.model_files import SPACY, find_model
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.values import Value, missing
from bedside.transcripts.convokit_corpus import import_convokit
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Role, Transcript

_ROLES: tuple[Role, ...] = ("clinician", "patient")
#: Name of the metric → ConvoKit's name of the strategy, title, and what a sentence must hold.
_STRATEGIES: Mapping[str, tuple[str, str, str]] = {
    "please": ("Please", "Please", "“please” after the first word"),
    "please_start": ("Please_start", "Please at the start", "“please” as the first word"),
    "gratitude": ("Gratitude", "Gratitude", "“thank”, “thanks” or “I appreciate”"),
    "apologizing": ("Apologizing", "Apologizing", "“sorry”, “oops”, “I apologize” or “forgive me”"),
    "deference": ("Deference", "Deference", "praise as the first word, such as “great” or “interesting”"),
    "greeting": ("Indirect_(greeting)", "Greeting", "“hi”, “hello” or “hey” as the first word"),
    "by_the_way": ("Indirect_(btw)", "By the way", "“by the way” at the start"),
    "hedges": ("Hedges", "Hedges", "a subject of a hedging verb, such as “I think” or “it seems”"),
    "has_hedge": ("HASHEDGE", "Hedging words", "a hedging word, such as “maybe” or “usually”"),
    "factuality": ("Factuality", "Factuality", "“in fact”, “really”, “actually” or “honestly”"),
    "has_positive": ("HASPOSITIVE", "Positive words", "a word of Hu and Liu's positive lexicon"),
    "has_negative": ("HASNEGATIVE", "Negative words", "a word of Hu and Liu's negative lexicon"),
    "subjunctive": ("SUBJUNCTIVE", "Could you, would you", "“could you” or “would you”"),
    "indicative": ("INDICATIVE", "Can you, will you", "“can you” or “will you”"),
    "direct_question": ("Direct_question", "Direct question", "“what”, “why”, “who” or “how” within two words"),
    "direct_start": ("Direct_start", "Direct start", "“so”, “then”, “and”, “but” or “or” as the first word"),
    "first_person": ("1st_person", "First person", "“I”, “my”, “mine” or “myself” after the first word"),
    "first_person_start": ("1st_person_start", "First person at the start", "one of these as the first word"),
    "first_person_plural": ("1st_person_pl.", "First person plural", "“we”, “our”, “us” or “ourselves”"),
    "second_person": ("2nd_person", "Second person", "“you”, “your”, “yours” or “yourself” after the first word"),
    "second_person_start": ("2nd_person_start", "Second person at the start", "one of these as the first word"),
}  # fmt: skip
#: Texts parsed at once.
_BATCH = 64


def compute(transcript: Transcript, metric_names: frozenset[str], *, model: str) -> Iterator[Value]:
    """For each strategy and role, the share of the role's turns that use it.

    Raises:
        ModelError, MissingExtraError: the pipeline can't be used.
    """
    parser = _load(find_model(model).path) if model else None
    for role in _ROLES:
        texts = [turn.text for turn in transcript.of(role)]
        error = _why_not(texts, role, transcript.language, parser)
        used = [] if error or parser is None else list(_strategies(texts, parser))
        for name, (strategy, *_) in _STRATEGIES.items():
            metric = f"politeness_{name}"
            if metric not in metric_names:
                continue
            key = f"feature_politeness_=={strategy}=="
            yield (
                missing(metric, error, role=role)
                if error
                else Value(metric, sum(each[key] for each in used) / len(used), role=role)
            )


def _why_not(texts: list[str], role: Role, language: str | None, parser: Any) -> str | None:
    if parser is None:
        return FAMILY.no_model
    if not any(text.strip() for text in texts):
        return f"no {role} turn"
    if max(map(len, texts)) > parser.max_length:
        return f"a {role} turn is longer than the {parser.max_length:,} characters that spaCy parses"
    return not_english(" ".join(texts), language)


def _strategies(texts: list[str], parser: Any) -> Iterator[Mapping[str, int]]:
    """ConvoKit's strategies in each text, 1 or 0 by name."""
    finder = import_convokit("convokit.politenessStrategies").PolitenessStrategies()
    different = list(dict.fromkeys(text.strip() for text in texts))
    parsed = dict(zip(different, parser.pipe(different, batch_size=_BATCH), strict=True))
    strategies = {
        text: finder.transform_utterance(text, spacy_nlp=parsed.__getitem__).meta["politeness_strategies"]
        for text in different
    }
    return (strategies[text.strip()] for text in texts)


@cache
def _load(path: Path) -> Any:
    """The spaCy pipeline in a folder, with what parsing doesn't need left out."""
    if not (path / SPACY).is_file():
        raise ModelError(
            "it is not a spaCy pipeline", where=str(path), todo="name a pipeline's folder or package: en_core_web_sm"
        )
    # ConvoKit brings spaCy.
    import_convokit()
    import spacy

    try:
        parser = spacy.load(path, exclude=["ner", "lemmatizer"])
    except Exception as error:  # spaCy raises whatever its parts do
        said = " ".join(str(error).split())[:200]
        raise ModelError(f"spaCy can't load it ({said})", where=str(path), todo="install it anew") from error
    if "parser" not in parser.pipe_names or parser.lang != "en":
        lacking = f"it is for {parser.lang}" if parser.lang != "en" else "it has no dependency parser"
        raise ModelError(lacking, where=str(path), todo="name an English pipeline with a parser: en_core_web_sm")
    return parser


def _metrics() -> Iterable[Metric]:
    for name, (strategy, title, holds) in _STRATEGIES.items():
        yield Metric(
            name=f"politeness_{name}",
            title=f"{title} (ConvoKit)",
            unit="transcript",
            roles=_ROLES,
            low=0,
            high=1,
            definition=(
                f"Share of the role's turns with {holds} in some sentence: ConvoKit's strategy "
                f"`{strategy}` of the collection politeness_api. English only."
            ),
            needs=("a spaCy pipeline with a dependency parser", "ConvoKit (extra convokit)"),
            source=(
                "Danescu-Niculescu-Mizil et al., A computational approach to politeness, ACL 2013; ConvoKit 5 "
                "(PolitenessStrategies)"
            ),
            examples=(Example(_TALK, None, "no pipeline is named", role="clinician"),),
        )


_TALK = (
    ("clinician", "Hello, thank you for coming. Could you please tell me how you slept?"),
    ("patient", "I think I slept badly."),
)

FAMILY = Family(
    name="politeness",
    title="Politeness strategies",
    description=(
        "How often each side uses the politeness strategies that ConvoKit knows. It needs ConvoKit (`pip install "
        '"bedside[convokit]"`) and an English spaCy pipeline, by the name of its package or by its folder.'
    ),
    version="1",
    metrics=tuple(_metrics()),
    compute=compute,
    model="an English spaCy pipeline with a dependency parser, such as en_core_web_sm",
    parameters={"model": Parameter("", "en_core_web_sm", "Name of the pipeline's package, or its folder.")},
    demonstration=_TALK,
)
