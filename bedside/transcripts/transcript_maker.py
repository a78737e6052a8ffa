"""The making of checked turns and transcripts from what a file says."""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import orjson

from bedside.core.errors import AmbiguousError, BedsideError, InputError, nearest
from bedside.core.json_shape import json_kind
from bedside.transcripts.byte_source import MAX_RECORD, printable_path
from bedside.transcripts.language import is_language_tag
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading_account import FileAccount
from bedside.transcripts.role_evidence import PART_KEYS, check_labels, check_roles, log_sides
from bedside.transcripts.transcript import (
    PROVENANCE_KINDS,
    PROVENANCE_SPEAKERS,
    ROLE_ALIASES,
    Dialogue,
    Provenance,
    ProvenanceKind,
    Role,
    Transcript,
    clinician_failure,
    new_turns,
    plain_name,
    role_of,
)
from bedside.transcripts.transcript_fields import number_or_text, prompts_apart, reads_as_prompt
from bedside.transcripts.transcription_tags import THOUGHTS, tags_in, without_tags, without_thoughts

T = TypeVar("T")

#: What is seen of no text: spaces, and marks of no width.
_UNSEEN = re.compile("[\\s\u200b-\u200f\u2060\ufeff]*")
#: Most turns of one transcript.
MAX_TURNS = 100_000
#: Deepest nesting of what is kept beside the turns.
MAX_DEPTH = 50

#: Least words of what may have been said.
_LEAST_WORDS = 3
_WORD = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")

#: What provenance may have in a file.
_NESTING = frozenset((dict, list))
_PROVENANCE_KEYS = {"before", "kind", "speaker", "text", "meta"}

Scalar = str | int | float | bool | None


class SplitError(InputError):
    """A transcript comes back after another: what was already given of it is not whole, so nothing goes on."""


class UnknownSpeakerError(InputError):
    """Nothing tells the role of a speaker.

    Attributes:
        beside: what else is to be said of labels, of which nothing tells whether they are speakers.
    """

    beside: str = ""


class TranscriptMaker:
    """Makes checked turns and transcripts of what one file says.

    Args:
        path: the file.
        stem: the id given to a transcript that has none of its own.
        options: what the user said.
        skipped: takes the errors of transcripts that are left out.
        bare_path: the path without endings, which ``path_fields`` is matched against.

    Attributes:
        path: the file.
        name: the path as shown in messages and kept as provenance.
        stem: the id given to a transcript that has none of its own.
        options: what the user said.
        aliases: further speaker names that a reader's format knows, in lower case.
        account: what was understood of the file; a reader fills it in.
        unknown: takes the names of unknown speakers, who then are of role ``other``; None makes them an error.
    """

    def __init__(
        self, path: Path, stem: str, options: ReadOptions, skipped: list[BedsideError], bare_path: str
    ) -> None:
        self.path = path
        self.name: str = printable_path(path)
        self.stem = stem
        self.options = options
        self.aliases: Mapping[str, Role] = {}
        self.account: FileAccount = FileAccount()
        self.unknown: set[str] | None = None
        self._skipped = skipped
        self._bare_path = bare_path
        self._roles: dict[str, Role] = {}
        self._parties: set[Any] = set()

    def attempt(self, build: Callable[..., T], *arguments: Any) -> T | None:
        """``build(*arguments)``; where bad transcripts are to be skipped, its error is kept and None given."""
        try:
            return build(*arguments)
        except InputError as error:
            if self.options.on_error == "stop" or isinstance(error, SplitError):
                raise
            self._skipped.append(error)
            return None

    def check_columns(self, known: Collection[str]) -> None:
        """See that the user named only columns that the form knows.

        Raises:
            InputError: another.
        """
        for name in self.options.columns:
            if name not in known:
                raise InputError(
                    f"bedside knows no column {name!r} (`columns`)", where=self.name, todo=nearest(name, known)
                )

    def check_unread(self, name: str, text: str, where: str, *, instead: str = "") -> None:
        """Note a text of the file that is neither a turn nor a field; stop at one that may have been said.

        Args:
            name: of its key or path, column, part or line.
            text: the text.
            where: its place.
            instead: what makes a turn or a field of it, as the end of a sentence.

        Raises:
            AmbiguousError: it is as long as a turn, and the user did not say that it is left out.
        """
        if is_speech(text) and not self.options.leaves_out(name):
            raise AmbiguousError(
                f"the text under {name!r} would be lost, which may have been said: {text:.60}",
                where=where,
                todo=f"leave it out with `leave_out={_quoted(name)}`" + (f", or {instead}" if instead else ""),
            )
        self.account.note_unread(name, text, where)

    def roles(self, speakers: Sequence[Any], where: str | Sequence[str]) -> list[Role]:
        """The roles of all who speak in a transcript, turn by turn.

        Args:
            speakers: of the turns.
            where: the place of the transcript, or the places of the turns.

        Raises:
            UnknownSpeakerError: nothing tells the role of one.
        """
        try:
            return [self._roles[speaker] for speaker in speakers]
        except (KeyError, TypeError):
            pass
        places: dict[str, int] = {}
        for index, speaker in enumerate(speakers):
            if type(speaker) is not str or speaker not in places:
                check_speaker(speaker, _place(where, index))
                places[speaker] = index
        roles: dict[str, Role] = {}
        for speaker in places:
            role = self._roles.get(speaker) or role_of(speaker, self.options.roles)
            role = role or self.aliases.get(plain_name(speaker))
            if role is not None:
                roles[speaker] = self._roles[speaker] = role
        partners = {*roles.values()}
        for speaker, index in places.items():
            if speaker not in roles:
                # Not kept: beside another partner the word says something else.
                role = role_of(speaker, partners=partners)
                roles[speaker] = role or self._unknown_role(speaker, _place(where, index))
        return [roles[speaker] for speaker in speakers]

    def _unknown_role(self, speaker: str, where: str) -> Role:
        if self.unknown is None:
            raise UnknownSpeakerError(
                f"unknown speaker {speaker!r}",
                where=where,
                todo=f"say with `roles={_quoted(speaker)}=ROLE` who it is: clinician, patient or other",
            )
        self.unknown.add(speaker)
        return "other"

    def turns(
        self,
        speakers: Sequence[Any],
        texts: Sequence[Any],
        where: str | Sequence[str],
        metas: Sequence[Mapping[str, Any]] | None = None,
        named: Sequence[Any] | None = None,
    ) -> Dialogue:
        """Checked turns of speakers and texts, and of what else is known of each where given.

        What ``system``, ``tool`` and their like say is no turn but provenance, unless the user gave them a role.
        What a model thought between ``<think>`` and ``</think>`` is taken out and counted; where the user wants it so,
        transcribers' tags are, too, and turns without text left out.

        Args:
            where: the place of the transcript, or the places of the turns.
            named: names that tell the roles of the turns, where those of the speakers don't.

        Raises:
            InputError: a speaker is unknown, or a text is missing, empty or not text.
        """
        if self.options.roles and metas and named is None:
            mapped = {key.strip().casefold() for key in self.options.roles}
            speakers = [_mapped_name(speaker, meta, mapped) for speaker, meta in zip(speakers, metas, strict=True)]
        kinds = self._provenance_kinds(speakers, named or speakers)
        provenance: list[Provenance] = []
        if kinds:
            provenance = list(self._provenance(kinds, speakers, texts, where, metas))
            spoken = [at for at in range(len(texts)) if at not in kinds]
            where, speakers, texts, metas, named = _at(spoken, where, speakers, texts, metas, named)
        # Whole lists are checked at once, for this is most of what reading a corpus costs; what is wrong is
        # looked for only where something is.
        try:
            together = "".join(texts)
        except TypeError:
            together = "<"
        if "<" in together:
            texts = [self._without_thoughts(text) if type(text) is str and "<" in text else text for text in texts]
        said = [self._untagged(text) for text in texts] if self.options.drop_tags else texts
        try:
            sound = all(map(str.strip, said)) and (together.isascii() or not any(map(_UNSEEN.fullmatch, said)))
        except TypeError:
            sound = False
        if not sound:
            kept = self._kept(said, texts)
            provenance = [replace(item, before=bisect_left(kept, item.before)) for item in provenance]
            where, speakers, said, metas, named = _at(kept, where, speakers, said, metas, named)
            for text, place in zip(said, where, strict=True):
                check_text(text, place, _NO_TEXT if _is_empty(text) else _TEXT)
        if named is not None and named != speakers:
            for index, speaker in enumerate(speakers):
                check_speaker(speaker, _place(where, index))
        labels = speakers if named is None else named
        roles = self.roles(labels, where)
        if provenance:
            self._remark_on_lacking_side(roles, provenance)
        return Dialogue(new_turns(roles, speakers, said, metas), provenance, labels)

    def _remark_on_lacking_side(self, roles: Sequence[Role], provenance: Sequence[Provenance]) -> None:
        """Say so where somebody called ``system`` or ``tool`` talks with the only side that takes part."""
        sides = {*roles} - {"other"}
        lacking = [side for side in ("clinician", "patient") if side not in sides]
        # Logs have calls as objects; whoever takes part says something in the midst of the talk.
        names = {item.speaker for item in provenance if 0 < item.before < len(roles)}
        names -= {item.speaker for item in provenance if item.text.lstrip()[:1] in ("{", "[")}
        if len(lacking) == 1:
            for name in sorted(names):
                self.account.remark(
                    f"{name!r} speaks where no {lacking[0]} does. It is kept beside the turns; if it takes part, "
                    f"say so with `roles={_quoted(name)}={lacking[0]}`."
                )

    def _provenance_kinds(self, speakers: Sequence[Any], named: Sequence[Any]) -> Mapping[int, ProvenanceKind]:
        """Position → kind of what is no turn, by the name that tells its role; by that of the speaker where the role
        is told to be ``other``."""
        try:
            names = {*speakers} if named is speakers else {*speakers, *named}
        except TypeError:  # A list or an object can't be one's name.
            names = {name for name in (*speakers, *named) if type(name) is str}
        if names <= self._parties:  # Most speak in the transcripts before.
            return {}
        known = PROVENANCE_SPEAKERS.keys() - {key.strip().casefold() for key in self.options.roles}
        plain_names = {name: plain_name(name) for name in names if type(name) is str}
        kinds = {name: PROVENANCE_SPEAKERS[plain] for name, plain in plain_names.items() if plain in known}
        if not kinds:
            self._parties |= names
            return {}
        kinds_at: dict[int, ProvenanceKind] = {}
        for at, (speaker, name) in enumerate(zip(speakers, named, strict=True)):
            if type(name) is not str:
                continue
            plain = plain_name(name)
            kind = kinds.get(name) if plain in ROLE_ALIASES or plain in self.aliases else None
            if kind is None and type(speaker) is str and self._roles.get(name, role_of(name)) == "other":
                kind = kinds.get(speaker)
            if kind is not None:
                kinds_at[at] = kind
        return kinds_at

    def _provenance(
        self,
        kinds: Mapping[int, ProvenanceKind],
        speakers: Sequence[Any],
        texts: Sequence[Any],
        where: str | Sequence[str],
        metas: Sequence[Mapping[str, Any]] | None,
    ) -> Iterator[Provenance]:
        """What is no turn, with its place among the turns; empty texts say nothing and are left out."""
        for number, (at, kind) in enumerate(sorted(kinds.items())):
            text = texts[at]
            if isinstance(text, dict | list):
                # What a tool gave needn't be text.
                text = orjson.dumps(text).decode()
            if not _is_empty(text):
                place, meta = _place(where, at), {} if metas is None else metas[at]
                check_speaker(speakers[at], place)
                check_text(text, place)
                yield Provenance(kind, at - number, text, speakers[at], meta)

    def _without_thoughts(self, text: str) -> str:
        said, thoughts = without_thoughts(text)
        if thoughts:
            self.account.left_out[THOUGHTS] += thoughts
        return said

    def _untagged(self, text: Any) -> Any:
        tags = tags_in(text) if isinstance(text, str) else []
        if not tags:
            return text
        self.account.left_out["marks in brackets"] += len(tags)
        return without_tags(text)

    def _kept(self, said: Sequence[Any], written: Sequence[Any]) -> list[int]:
        """Places of the turns that stay; the others, without a word, are counted."""
        kept = []
        for at, (text, before) in enumerate(zip(said, written, strict=True)):
            if not _is_empty(text) or (_is_empty(before) and not self.options.drop_empty):
                kept.append(at)
            else:
                self.account.left_out["empty turns" if _is_empty(before) else "turns of nothing but tags"] += 1
        return kept

    def transcript(
        self,
        dialogue: Dialogue,
        where: str,
        *,
        id: Any = None,
        system: Any = None,
        case_id: Any = None,
        language: Any = None,
        factors: Mapping[str, Any] | None = None,
        reference: Mapping[str, Any] | None = None,
        told_apart: bool = False,
    ) -> Transcript:
        """A checked transcript; fields of ``path_fields`` are filled in where the file has none.

        A prompt or a list of tools that stands beside the turns, under a known name or where the system's name would,
        becomes provenance, unless the form has a place of its own for it (``told_apart``).

        Where the path names the system and nothing the case, the id that a file gives is the case: files of several
        systems have the same ids. The transcript's id then is the system's name, a slash and that id.

        Raises:
            InputError: no turns, none of a clinician or patient, a name that is not text, a factor that is not a
                single value, a language that is not a tag.
        """
        factors, reference = factors or {}, reference or {}
        self._check_dialogue(dialogue, reference, where)
        provenance = [*dialogue.provenance]
        if not told_apart and (system or factors or reference):
            beside: dict[str, Any] = {}
            if isinstance(system, str) and "system" not in self.options.columns and reads_as_prompt(system):
                beside["system"], system = system, None
            factors, reference, apart = prompts_apart(beside, factors, reference)
            provenance[:0] = apart
            if any(item.speaker == "system" for item in apart):
                self.account.remark("The text under 'system' is kept as what the model was told, not as a name.")
        if self.unknown is None:
            self._check_roles(dialogue, provenance, {**factors, **reference}, where, told_apart)
        pattern = self.options.path_fields
        fields = {} if pattern is None else _path_values(self.path, self._bare_path, pattern)
        names = {"id": self.stem if id is None or id == "" else id, "system": system, "case_id": case_id}
        for key, value in names.items():
            names[key] = fields.pop(key, None) if value is None or value == "" else name_text(key, value, where)
        of_path = names["system"] and f"{names['id']}#".startswith(f"{self.stem}#")
        if names["system"] and not (system or names["case_id"] or of_path):
            names["case_id"], names["id"] = names["id"], f"{names['system']}/{names['id']}"
            self.account.remark("The ids in the files are taken for cases, and a transcript's id is system/id.")
        if language is not None and not is_language_tag(language):
            raise InputError(
                f"the language {language!r:.40} is not a language tag", where=where, todo="write it as en or zh-CN"
            )
        factors = {**fields, **factors}
        check_factors(factors, where)
        if reference:
            check_nesting(reference, where)
        return Transcript(
            id=names["id"],
            turns=tuple(dialogue.turns),
            system=names["system"],
            case_id=names["case_id"],
            language=language,
            factors=factors,
            reference=reference,
            source=where,
            provenance=tuple(provenance),
        )

    def _check_roles(
        self, dialogue: Dialogue, provenance: Sequence[Provenance], beside: Mapping[str, Any], where: str, own: bool
    ) -> None:
        """See that nothing speaks against the roles that a log's labels say, in whatever form it is written.

        Raises:
            AmbiguousError: something does, and the user did not say who is who.
        """
        turns = dialogue.turns
        check_labels(dialogue.labels, turns, self.options.roles, where, own=own)
        if not log_sides(frozenset(dialogue.labels)):
            return
        instructions = [item.text for item in provenance if item.kind == "system"]
        for key, value in beside.items():
            if isinstance(value, str) and (part := PART_KEYS.get(key.replace("_", "").casefold())) is not None:
                instructions.append(part + value)
        check_roles(dialogue.labels, [turn.text for turn in turns], self.options.roles, where, instructions)

    def _check_dialogue(self, dialogue: Dialogue, reference: Mapping[str, Any], where: str) -> None:
        """An error for what is no conversation: no turns (unless the clinician failed it), too many, or neither a
        clinician's nor a patient's."""
        turns = dialogue.turns
        if not turns and clinician_failure(reference):
            return
        if not turns and not dialogue.provenance:
            raise InputError("the transcript has no turns", where=where, todo="remove it")
        if len(turns) > MAX_TURNS:
            raise InputError(
                f"the transcript has {len(turns):,} turns, more than {MAX_TURNS:,}", where=where, todo="split it"
            )
        # While unknown speakers are looked for, all of them are others.
        if not turns or (self.unknown is None and all(turn.role == "other" for turn in turns)):
            raise InputError(
                "the transcript has neither a clinician nor a patient", where=where, todo="say who speaks with `roles`"
            )

    def by_transcript(
        self, rows: Iterable[tuple[str, str, int, T] | InputError]
    ) -> Iterator[tuple[str, list[tuple[str, T]]]]:
        """Id and rows of each transcript of a file that has one turn a row.

        A row that can't be read may belong to the transcript before it or to the one after it: where bad
        transcripts are left out, both are.

        Args:
            rows: place, id of the transcript, size in bytes and content of each row.

        Raises:
            InputError: a row that can't be read, or a transcript that is too large.
            SplitError: a transcript's rows don't stand together.
        """
        places: dict[bytes, str] = {}
        name: str | None = None
        group: list[tuple[str, T]] = []
        size = 0
        spoilt: InputError | None = None
        last_spoilt: InputError | None = None
        for row in rows:
            if isinstance(row, InputError):
                if self.options.on_error == "stop":
                    raise row
                spoilt = last_spoilt = row
                continue
            where, owner, weight, item = row
            if owner != name or not group:
                if group and name is not None and self._keeps(name, spoilt):
                    yield name, group
                key = hashlib.blake2b(owner.encode(), digest_size=12).digest()
                if key in places:
                    raise SplitError(
                        f"the rows of transcript {owner!r} don't stand together (it began at {places[key]})",
                        where=where,
                        todo="sort the file by transcript",
                    )
                places[key] = where.removeprefix(self.name).lstrip(":")
                name, group, size, spoilt = owner, [], 0, last_spoilt
            last_spoilt = None
            group.append((where, item))
            size += weight
            if size > MAX_RECORD or len(group) > MAX_TURNS:
                raise SplitError(
                    f"transcript {owner!r} is larger than {MAX_RECORD // 2**20} MB or {MAX_TURNS} rows",
                    where=where,
                    todo="see that the right column holds the id",
                )
        if group and name is not None:
            if self._keeps(name, spoilt):
                yield name, group
        elif spoilt is not None:
            self._skipped.append(spoilt)

    def _keeps(self, name: str, spoilt: InputError | None) -> bool:
        """Whether a transcript stays: not where a row that can't be read may be its own."""
        if spoilt is not None:
            self._skipped.append(
                InputError(f"{spoilt.what}, so transcript {name!r} is left out", where=spoilt.where, todo=spoilt.todo)
            )
        return spoilt is None


@lru_cache(maxsize=8)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    begin, *rest = re.split(r"\{(\w+)\}", pattern)
    fields = [f"(?P<{name}>[^/]+?){re.escape(end)}" for name, end in zip(rest[::2], rest[1::2], strict=True)]
    # What ends a field is its first place, or none: no path holds the search up.
    expression = re.escape(begin) + "".join([f"(?>{each})" for each in fields[:-1]] + fields[-1:])
    try:
        return re.compile(rf"(?:^|/){expression}$")
    except re.error as error:
        raise InputError(
            f"`path_fields={pattern}` is not a pattern ({error})", todo="write it as {system}/{case_id}"
        ) from error


def _path_values(path: Path, bare_path: str, pattern: str) -> dict[str, Any]:
    """What the path says of its transcripts by the user's pattern.

    Args:
        path: of the file.
        bare_path: the same without endings.
        pattern: for its end, such as ``{system}/{case_id}``.

    Raises:
        InputError: the path does not match, or the pattern is none.
    """
    match = _path_pattern(pattern).search(printable_path(bare_path).replace(os.sep, "/"))
    if match is None:
        raise InputError(
            f"the path does not match `path_fields={pattern}`",
            where=printable_path(path),
            todo="give a pattern for the end of the path, such as {system}/{case_id}",
        )
    return {
        key: value if key in ("system", "case_id") else number_or_text(value)
        for key, value in match.groupdict().items()
    }


def _mapped_name(speaker: Any, meta: Mapping[str, Any], mapped: Collection[str]) -> Any:
    """Who speaks: the name beside a label such as ``user``, where that is the one whose role is mapped."""
    name = meta.get("name")
    told = isinstance(name, str) and plain_name(name) in mapped and plain_name(str(speaker)) not in mapped
    return name if told else speaker


def is_speech(text: str) -> bool:
    """Whether a text is long enough to have been said: three words, or six letters of a script without spaces."""
    return len(_WORD.findall(text)) >= _LEAST_WORDS or len(_UNSPACED.findall(text)) >= 2 * _LEAST_WORDS


def _is_empty(text: Any) -> bool:
    return text is None or (isinstance(text, str) and _UNSEEN.fullmatch(text) is not None)


def _at(places: Sequence[int], where: str | Sequence[str], *lists: Sequence[Any] | None) -> tuple[Any, ...]:
    """The places of some turns, and what stands there in each of several lists."""
    chosen = (None if each is None else [each[at] for at in places] for each in lists)
    return ([_place(where, at) for at in places], *chosen)


def _place(where: str | Sequence[str], index: int) -> str:
    return f"{where}, turn {index}" if isinstance(where, str) else where[index]


_TEXT = "give its text as a string, or remove the turn"
_NO_TEXT = "give its text as a string, remove the turn, or leave out all empty ones with `drop_empty`"


def check_text(text: Any, where: str, todo: str = _TEXT, noun: str = "text") -> None:
    """An error for a turn's text that is missing, empty or not text."""
    if isinstance(text, str) and not _is_empty(text):
        return
    what = f"the turn has no {noun}"
    if not isinstance(text, str | None):
        what = f"the {noun} is not text but {json_kind(text)}"
    raise InputError(what, where=where, todo=todo)


def check_speaker(speaker: Any, where: str) -> None:
    """An error for a turn's speaker that is missing, empty or not text."""
    check_text(speaker, where, "say who speaks, as a string", "speaker")


def stated_provenance(items: Any, turns: int, where: str) -> list[Provenance]:
    """What a file states beside its turns, as :func:`~bedside.transcripts.transcript.provenance_data` writes it.

    Raises:
        InputError: it is of another form.
    """
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError("'provenance' must be a list of objects", where=where, todo="see bedside show jsonl")
    stated = []
    for number, item in enumerate(items):
        place = f"{where}, provenance {number}"
        unknown = sorted(item.keys() - _PROVENANCE_KEYS)
        if unknown:
            known = ", ".join(sorted(_PROVENANCE_KEYS))
            raise InputError(f"unknown key {unknown[0]!r}", where=place, todo=f"known keys: {known}")
        kind, before, text = item.get("kind"), item.get("before", 0), item.get("text")
        speaker, meta = item.get("speaker", kind), check_meta(item.get("meta"), place)
        if kind not in PROVENANCE_KINDS:
            raise InputError(
                f"no provenance is of kind {kind!r:.40}",
                where=place,
                todo=f"its kind is {' or '.join(PROVENANCE_KINDS)}",
            )
        if type(before) is not int or not 0 <= before <= turns:
            raise InputError(
                f"there is no turn {before!r:.40} that it stands before",
                where=place,
                todo=f"give 'before' as a number from 0 to {turns}",
            )
        check_speaker(speaker, place)
        check_text(text, place)
        stated.append(Provenance(kind, before, text, speaker, meta))
    return stated


def name_text(key: str, value: Any, where: str) -> str:
    """A transcript's id, system or case as text; a whole number will do, anything else is an error."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value)
    raise InputError(f"{key!r} is not text but {json_kind(value)}", where=where, todo="make it a string")


def check_factors(factors: Mapping[str, Any], where: str) -> None:
    """An error for a factor that is not a single value."""
    for name, value in factors.items():
        if not isinstance(value, Scalar):
            raise InputError(
                f"the factor {name!r} is not a single value but {json_kind(value)}",
                where=where,
                todo="put lists and objects in 'reference'",
            )


def check_meta(meta: Any, where: str) -> dict[str, Any]:
    """What is known of a turn beside its words, or an error where it is no object or its codes are none."""
    if not meta and isinstance(meta, dict | None):
        return {}
    if not isinstance(meta, dict):
        raise InputError(f"'meta' must be an object, not {json_kind(meta)}", where=where, todo="see bedside show jsonl")
    check_nesting(meta, where)
    codes = meta.get("codes", {})
    if not (
        isinstance(codes, dict)
        and all(isinstance(labels, dict) for labels in codes.values())
        and all(isinstance(label, str) for labels in codes.values() for label in labels.values())
    ):
        raise InputError(
            "'codes' must hold {coder: {code: label}}, labels as strings",
            where=where,
            todo='write for example {"anna": {"question": "open"}}',
        )
    return meta


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"\W", name) else name


def check_nesting(value: Any, where: str) -> None:
    """An error for what is nested too deeply to be compared, or to be written again beside the turns."""
    if is_deeper(value):
        raise InputError(f"it is nested more than {MAX_DEPTH} levels deep", where=where, todo="flatten it")


def is_deeper(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether an object or a list is nested more than so many levels deep."""
    parts: dict[type, list[Any]] = {type(value): [value]}
    while not _NESTING.isdisjoint(parts) and levels:
        inner = [*chain.from_iterable(map(dict.values, parts.get(dict, ()))), *chain.from_iterable(parts.get(list, ()))]
        kinds = _NESTING.intersection(map(type, inner))
        parts, levels = {kind: [part for part in inner if type(part) is kind] for kind in kinds}, levels - 1
    return not _NESTING.isdisjoint(parts)
