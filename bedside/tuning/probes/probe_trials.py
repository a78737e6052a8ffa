"""Trials: every change of every sampled conversation, by every rubric, with what each is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bedside.core.errors import DataError
from bedside.judges.counts import Tally
from bedside.judges.prompt import Conversation, Question, transcript_digest
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import altered_id
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes.contract import (
    BASE_LINE,
    PROBES,
    Alteration,
    Altered,
    Probe,
    ProbeMaterial,
    Unalterable,
    Variant,
)
from bedside.tuning.probes.probe_record import ProbeObservation
from bedside.tuning.probes.turn_texts import Showing, ShownGroup, text_language


@dataclass(slots=True)
class ProbeTrial:
    """One change of one conversation by one rubric.

    Attributes:
        transcript: the conversation as the run has it.
        rubric: the rubric as it is.
        probe, variant: the change.
        before, after: what the judge is shown; one showing where the same is asked again.
        missing: why the change can't be made.
    """

    transcript: Transcript
    rubric: Rubric
    probe: Probe
    variant: Variant
    before: Showing | None = None
    after: Showing | None = None
    missing: str | None = None

    def observation(self, passes: int, key: Callable[[str, int], str]) -> ProbeObservation:
        """What came of it; ``key`` makes a judgement's key of a prompt's digest and a pass."""
        shown = [(self.before, 0), (self.after, passes if self.variant.again else 0)]
        levels: list[float | None] = []
        keys: list[tuple[str, ...]] = []
        missing = self.missing
        for showing, first in shown:
            passed = range(first, first + passes)
            level = None if showing is None else showing.mean(first, first + passes)
            if showing is not None and level is None and missing is None:
                missing = showing.error or "not asked"
            known = () if showing is None or showing.digest is None else passed
            levels.append(level)
            keys.append(tuple(key(showing.digest, number) for number in known))  # type: ignore[union-attr,arg-type]
        transcript = self.transcript
        return ProbeObservation(
            transcript=transcript.id, system=transcript.system, case=transcript.case_id, rubric=self.rubric.name,
            probe=self.probe.name, variant=self.variant.name, before=levels[0], after=levels[1], missing=missing,
            added=self.after.altered.added if self.after is not None else 0,
            keys_before=keys[0], keys_after=keys[1],
        )  # fmt: skip


@dataclass(slots=True)
class ProbeTrials:
    """All trials of a sample, made as they are asked.

    Attributes:
        transcripts: the sample.
        rubrics: what the judge rates by.
        probes: which changes are made.
        passes: how often each prompt is asked; originals twice as often.
        seed: of what changes draw.
        translations: by transcript, the conversation in another language; or why there is none.
        paraphrases: by rubric, the rubric in other words; or why there are none.
        trials: those made so far.
        remarks: what is amiss with texts that were put into conversations, with how many of these.
    """

    transcripts: Sequence[Transcript]
    rubrics: Sequence[Rubric]
    probes: Sequence[Probe]
    passes: int
    seed: int
    translations: Mapping[str, Transcript | str] = field(default_factory=dict)
    paraphrases: Mapping[str, Rubric | str] = field(default_factory=dict)
    trials: list[ProbeTrial] = field(default_factory=list)
    remarks: dict[str, int] = field(default_factory=dict)
    _questions: dict[tuple[str, str], Question] = field(default_factory=dict)

    @property
    def most_groups(self) -> int:
        """How much is asked, where every change can be made."""
        variants = [variant for probe in self.probes for variant in probe.variants if not variant.again]
        shown = 2 + sum(1 if variant.against is None else 2 for variant in variants)
        return len(self.transcripts) * len(self.rubrics) * shown * self.passes

    def groups(self, tallies: Mapping[str, Tally]) -> Iterator[ShownGroup]:
        """All that is asked, conversation by conversation, counted by rubric."""
        for transcript in self.transcripts:
            language, remark = text_language(transcript)
            if remark is not None:
                self._remark(remark)
            original = Conversation(transcript)
            for rubric in self.rubrics:
                # Changed, an example of a tuned rubric would stand beside its own level.
                shown = {example.transcript for example in rubric.examples}
                if shown and transcript_digest(transcript) in shown:
                    self._remark(f"Conversations that {rubric.name} shows as its examples were left out")
                    continue
                material = self._material(transcript, rubric, language)
                base = Showing(Altered(transcript, rubric), transcript.id, 0, 2 * self.passes)
                tally = tallies[rubric.name]
                yield from base.groups(original, self._question(base.altered), tally)
                for probe in self.probes:
                    for variant in probe.variants:
                        trial = self._trial(material, probe, variant, base)
                        self.trials.append(trial)
                        for showing in (trial.before, trial.after):
                            if showing is None or showing is base:
                                continue
                            conversation = Conversation(showing.transcript)
                            yield from showing.groups(conversation, self._question(showing.altered), tally)

    def _remark(self, remark: str) -> None:
        self.remarks[remark] = self.remarks.get(remark, 0) + 1

    def _material(self, transcript: Transcript, rubric: Rubric, language: str) -> ProbeMaterial:
        translation, paraphrase = self.translations.get(transcript.id), self.paraphrases.get(rubric.name)
        return ProbeMaterial(
            transcript,
            rubric,
            language,
            self.seed,
            translation if isinstance(translation, Transcript) else None,
            paraphrase if isinstance(paraphrase, Rubric) else None,
        )

    def _trial(self, material: ProbeMaterial, probe: Probe, variant: Variant, base: Showing) -> ProbeTrial:
        trial = ProbeTrial(material.transcript, material.rubric, probe, variant)
        if variant.again:
            trial.before = trial.after = base
            return trial
        lacking = self._lacking(material, variant)
        if lacking is not None:
            trial.missing = lacking
            return trial
        name = altered_id(material.transcript.id, f"{probe.name}.{variant.name}")
        after = self._showing(material, variant.alter, name)
        before: Showing | str = base
        if variant.against is not None:
            before = self._showing(material, variant.against, altered_id(name, "against"))
        if isinstance(after, str) or isinstance(before, str):
            trial.missing = after if isinstance(after, str) else str(before)
            return trial
        trial.before, trial.after = before, after
        return trial

    def _lacking(self, material: ProbeMaterial, variant: Variant) -> str | None:
        """Why there is no translation or paraphrase, where the variant needs one."""
        if variant.needs is None or getattr(material, variant.needs) is not None:
            return None
        written = (
            self.translations.get(material.transcript.id)
            if variant.needs == "translation"
            else self.paraphrases.get(material.rubric.name)
        )
        return f"no {variant.needs}: {written or 'none was asked for'}"

    def _showing(self, material: ProbeMaterial, alter: Alteration, name: str) -> Showing | str:
        altered = alter(material)
        if isinstance(altered, Unalterable):
            return altered.reason
        if (
            altered.reword is None
            and altered.transcript.turns == material.transcript.turns
            and (altered.rubric.version == material.rubric.version)
        ):
            return "nothing changes"
        return Showing(altered, name, 0, self.passes)

    def _question(self, altered: Altered) -> Question:
        """The question, made once for all conversations where it is the same."""
        key = (altered.rubric.name, altered.rubric.version)
        if key not in self._questions:
            self._questions[key] = Question(altered.rubric)
        return self._questions[key]


def probes_named(names: Sequence[str] | None) -> tuple[Probe, ...]:
    """The probes of these names, the base line first whether named or not; all of them unless named.

    Raises:
        RegistryError: there is none of a name.
    """
    chosen = dict.fromkeys((BASE_LINE, *(PROBES.names() if names is None else names)))
    return tuple(PROBES.load(name) for name in chosen)


def check_probeable(rubrics: Sequence[Rubric]) -> None:
    """Refuse rubrics that give a conversation no level.

    Raises:
        DataError: one does.
    """
    others = [rubric.name for rubric in rubrics if not probeable(rubric)]
    if others:
        raise DataError(
            f"{', '.join(others)} can't be probed: probes are of rubrics that give a whole conversation one level",
            where="`rubrics`",
            todo="name rubrics with a scale, such as empathy",
        )


def probeable(rubric: Rubric) -> bool:
    """Whether a rubric gives a whole conversation one level."""
    return rubric.kind == "level" and rubric.unit == "transcript" and rubric.each is None
