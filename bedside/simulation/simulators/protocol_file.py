"""Protocol files: YAML that says which files hold the people and both sides' prompts, and how long they talk; no code.

A hole in a prompt is the name of a field: ``{Name}``, ``${name}`` or ``{{ name }}``. It is looked up among one person's
fields, and nothing else is done with it: no attribute, index, filter or statement of a template language is carried
out. What fills a hole is never looked at again. Empty braces, and braces around a quotation or several lines, are text.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bedside.core.errors import InputError, RegistryError, nearest, one_of
from bedside.core.files import file_digest, read_text, write_text
from bedside.core.model_errors import key_name, to_model
from bedside.core.records import FileRecord, PathOrPaths, file_records, records
from bedside.judges.rubrics.composites import Points
from bedside.judges.rubrics.linter import Remark
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.metrics.protocols.medconceal.matching import bare, normalise
from bedside.ratings.suites.suite import SUITES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import SIMULATORS
from bedside.simulation.simulators.prompt_files import HASH_DIGITS, FilledPrompt

SEE = "see docs/protocol-files.md"
#: What ``empty_reply`` says where nothing stands for an empty reply.
MISSING = "missing"
#: The key of ``fields`` that stands for all names of an object's fields.
EVERY = "*"
#: Messages of a conversation at most.
_MOST = 1000
#: Words from which a text that the clinician may not know is one that gives it away; fewer may stand there by chance.
_TELLING = 3
#: Factors that every conversation has.
_OWN_FACTORS = ("persona", "setting", "task", "length", "patient_model", "repeat", "completed", "synthetic")
_KEY = re.compile(rb"^protocol:", re.MULTILINE)
_NAME = re.compile("[a-z0-9][a-z0-9-]*")
#: The protocols that new ones start from, a folder each.
GALLERY = Path(__file__).parent / "gallery"
_Number = Annotated[int, Field(ge=1, le=_MOST, strict=True)]

# -- The form of the file -------------------------------------------------------------------------------


class PatientPart(Strict):
    """The simulated patient.

    Attributes:
        prompt: file of its prompt, with a hole for each field that it is told.
        opens: whether it speaks first; or its first words, with holes.
    """

    prompt: Text
    opens: bool | Text = False


class ClinicianPart(Strict):
    """The clinician under test.

    Attributes:
        prompt: file of what it is told; without one it is told nothing.
        hears_first: a message that it hears before it speaks first, which the patient didn't say.
        kept: whether that message is the patient's first turn in the transcript.
        knows: fields that may stand in what it is told; any other hole there is an error.
    """

    prompt: Text | None = None
    hears_first: Text | None = None
    kept: bool = False
    knows: tuple[Text, ...] = ()


class TalkLength(Strict):
    """How long a conversation is, one of both.

    Attributes:
        exchanges: messages of each side.
        messages: messages of both sides together.
    """

    exchanges: _Number | None = None
    messages: _Number | None = None

    @model_validator(mode="after")
    def _one(self) -> TalkLength:
        if (self.exchanges is None) == (self.messages is None):
            raise ValueError("give either exchanges or messages")
        return self

    @property
    def number(self) -> int:
        """Messages of both sides together."""
        return self.messages or 2 * (self.exchanges or 0)

    def __str__(self) -> str:
        number, noun = (self.exchanges, "exchange") if self.exchanges else (self.messages, "message")
        return f"{number} {noun}{'' if number == 1 else 's'}"


class TalkEnd(Strict):
    """What ends a conversation before its length is reached.

    Attributes:
        patient_says: words in a message of the patient's that end it.
        not_before: the patient's message from which on they do.
    """

    patient_says: Text
    not_before: _Number = 1


Shows = Literal["whole", "last"]


class FileSetting(Strict):
    """A way of holding the conversations; what it doesn't say is as it is for all.

    Attributes:
        title: what tables write.
        length: how long a conversation is.
        ends: what ends it before.
        shows: what each side sees.
    """

    title: Text | None = None
    length: TalkLength | None = None
    ends: TalkEnd | None = None
    shows: Shows | None = None


class ProtocolForm(Strict):
    """A protocol file's keys.

    Attributes:
        protocol: its name.
        title: what it is, in a few words.
        source: citation, version and licence of the files.
        language: code of the language that is spoken.
        people: file of the people, an object or a row each, as JSON lines, JSON, YAML, CSV or TSV.
        fields: new names of fields, each with its path, such as member_attributes.name; the path at ``*`` is that
            of an object whose fields are called without it.
        id: the field that names a person; several, where one alone is that of two.
        factors: fields that tables can group by.
        patient: the simulated patient.
        clinician: the clinician under test.
        length: how long a conversation is.
        ends: what ends it before.
        shows: what each side sees, the whole conversation or the last message only.
        empty_reply: what stands for an empty reply; missing where nothing does.
        settings: ways of holding the conversations, the first unless others are named.
        suite: what scores them, a suite's name or file.
    """

    protocol: Annotated[str, Field(pattern=f"^{_NAME.pattern}$", strict=True)]
    title: Text
    source: Text
    language: Annotated[str, Field(pattern="^[a-z]{2,3}$", strict=True)] = "en"
    people: Text
    fields: Mapping[str, Text] = {}
    id: Text | Annotated[tuple[Text, ...], Field(min_length=2)]
    factors: tuple[Text, ...] = ()
    patient: PatientPart
    clinician: ClinicianPart = ClinicianPart()
    length: TalkLength | None = None
    ends: TalkEnd | None = None
    shows: Shows = "whole"
    empty_reply: Text = MISSING
    settings: Mapping[Annotated[str, Field(pattern=r"^[\w.-]+$")], FileSetting] = Field(default={})
    suite: Text | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The fields that name a person together."""
        return (self.id,) if isinstance(self.id, str) else self.id

    @property
    def new_names(self) -> dict[str, str]:
        """New names of single fields, each with its path."""
        return {name: path for name, path in self.fields.items() if name != EVERY}

    def flat(self, value: Any) -> Iterator[tuple[str, str]]:
        """The fields of a person by name; those of the object that ``*`` stands for have no path before them."""
        within = f"{self.fields[EVERY]}." if EVERY in self.fields else ""
        return ((path.removeprefix(within), text) for path, text in _flat(value))


# -- Templates ------------------------------------------------------------------------------------------

_HOLE = re.compile(r"\$\{([^{}]*)\}|\{\{([^{}]*)\}\}|\{([^{}\n]*)\}|\{[%#]")


@dataclass(frozen=True, slots=True)
class Template:
    """A text with holes.

    Attributes:
        text: it.
        where: its file, or the file and line that it stands in.
        reference: its file's name and the first digits of its SHA-256, as a call names its prompts.
    """

    text: str
    where: str
    reference: str = ""

    def holes(self) -> Iterator[tuple[str, str, str]]:
        """What is written, the field's name, and the place, of each hole."""
        for match in _HOLE.finditer(self.text):
            name = _field_name(match)
            if name is not None:
                yield match[0], name, self._place(self.text[: match.start()])

    def unfilled(self, fields: Iterable[str]) -> Iterator[tuple[str, str]]:
        """What is meant as a hole and is none, as ``{name`` and ``$name`` of a field ``name``, and its place."""
        names = "|".join(map(re.escape, sorted(fields, key=len, reverse=True)))
        rest = _HOLE.sub(lambda match: " " + "\n" * match[0].count("\n"), self.text)
        for match in re.finditer(rf"(?:\$\{{?|\{{+)\s*(?:{names})(?!\w)", rest):
            yield match[0], self._place(rest[: match.start()])

    def _place(self, before: str) -> str:
        return f"{self.where}:{before.count(chr(10)) + 1}" if self.reference else self.where

    def fill(self, fields: Mapping[str, str]) -> str:
        """The text with what its holes hold, without white space around it."""

        def piece(match: re.Match[str]) -> str:
            name = _field_name(match)
            return match[0] if name is None else fields[name]

        return _HOLE.sub(piece, self.text).strip()

    def prompt(self, fields: Mapping[str, str]) -> FilledPrompt:
        """It as what an actor is told."""
        return FilledPrompt(self.fill(fields), "", None, self.reference)


def _field_name(match: re.Match[str]) -> str | None:
    """The name in a hole; None of braces that are text."""
    plain = match[3]
    if plain is not None and "__" not in plain and plain.strip()[:1] in ("", '"', "'"):
        return None
    return next((inner.strip() for inner in match.groups() if inner is not None), match[0])


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The fields of an object with the paths that name them; a list of plain values is one text."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(part, f"{path}.{key.strip()}" if path else key.strip())
    elif isinstance(value, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in value):
        for number, part in enumerate(value):
            yield from _flat(part, f"{path}.{number}")
    else:
        yield path, ", ".join(map(_words, value)) if isinstance(value, list | tuple) else _words(value)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value).strip()


# -- The protocol and its people ------------------------------------------------------------------------


class Person(Case):
    """A person of a protocol file; what the file says of them stands in ``extra`` by the protocol's name."""

    language: str = "en"  # type: ignore[assignment]  # whatever the protocol's is


@dataclass(frozen=True, slots=True)
class ProtocolFile:
    """A protocol file with what its files hold.

    Attributes:
        form: what it says.
        path: the file.
        patient, clinician: their prompts; empty where the clinician is told nothing.
        opens, hears_first: the first message that the patient, or nobody, says; empty for none.
        suite: a suite's name, or the file's path; empty for none.
        failed: what the suite rates a conversation with that the clinician failed.
        points: by which of its rubrics a person brings the criteria.
        files: SHA-256 of the files that conversations depend on, by name.
        data: SHA-256 of the people's and the suite's.
    """

    form: ProtocolForm
    path: Path
    patient: Template
    clinician: Template
    opens: Template
    hears_first: Template
    suite: str
    failed: Mapping[str, float | str]
    points: tuple[Points, ...]
    files: Mapping[str, str]
    data: Mapping[str, str]

    @property
    def people(self) -> Path:
        """The file of the people."""
        return self.path.parent / self.form.people

    def settings(self) -> dict[str, FileSetting]:
        """Each setting with all that it says; one, called by its length, where none is declared."""
        form = self.form
        declared = form.settings or {str(form.length).replace(" ", "-"): FileSetting()}
        usual = {"length": form.length, "ends": form.ends, "shows": form.shows}
        settings = {}
        for name, setting in declared.items():
            said = {key: getattr(setting, key) for key in setting.model_fields_set}
            whole = FileSetting.model_construct(**{"title": None, **usual, **said})
            settings[name] = whole.model_copy(update={"title": setting.title or str(whole.length)})
        return settings

    def fields_of(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The fields of a person by name, under their new names too."""
        fields = dict(self.form.flat(value))
        return fields | {name: fields[path] for name, path in self.form.new_names.items() if path in fields}

    def fields(self, case: Case) -> dict[str, str]:
        """The fields of a case."""
        return self.fields_of(case.extra.get(self.form.protocol, {}))

    def read_people(self, paths: PathOrPaths) -> list[tuple[str, Case]]:
        """People with their places, in the files' order.

        Raises:
            InputError: a file can't be read, somebody has no id or that of another, or there is nobody.
        """
        people: dict[str, tuple[str, Case]] = {}
        for record in records(paths, "file of people"):
            person = self._person(record)
            if person.id in people:
                raise InputError(
                    f"two people have the id {person.id!r}",
                    where=record.place(),
                    todo=f"rename one of them; the first is at {people[person.id][0]}; or let several fields name a "
                    "person, such as `id: [name, age]`",
                )
            people[person.id] = record.place(), person
        if not people:
            raise InputError("there are no people", where=str(paths), todo="give it an object or a row for each person")
        return list(people.values())

    def _person(self, record: FileRecord) -> Person:
        if not isinstance(record.value, dict):
            raise InputError("a person must be an object with fields", where=record.place(), todo=SEE)
        form, fields = self.form, self.fields_of(record.value)
        (name, number), *_ = Counter(name for name, _ in form.flat(record.value)).most_common(1) or [("", 0)]
        if number > 1:
            raise InputError(f"two fields are called {name!r}", where=record.place(), todo="rename one of them")
        whole = form.fields.get(EVERY)
        if whole and not any(path.startswith(f"{whole}.") for path, _ in _flat(record.value)):
            todo = f"add it, or mend `fields` in {self.path}"
            raise InputError(f"the person has no object {whole!r}", where=record.place(), todo=todo)
        for name in form.ids:
            if not fields.get(name):
                todo = f"fill it, or name another field as `id` in {self.path}; "
                todo += nearest(name, filter(fields.get, fields))
                raise InputError(f"the person has no {name!r}, which is their id", where=record.place(), todo=todo)
        content = {
            "id": " ".join(fields[name] for name in form.ids),
            "language": form.language,
            "origin": form.source,
            "factors": {name: fields[name] for name in form.factors if fields.get(name)},
            "extra": {form.protocol: record.value},
        }
        return to_model(content, Person, record.place, todo=f"it is the field {', '.join(map(repr, form.ids))}")

    def told(self) -> tuple[Template, ...]:
        """All that the clinician is told or hears that the patient doesn't say."""
        return self.clinician, self.hears_first

    def clinician_text(self, fields: Mapping[str, str]) -> str:
        """All that of one person, as a text."""
        return "\n".join(template.fill(fields) for template in self.told())

    def problems(self, case: Case) -> Iterator[str]:
        """What a person lacks, or would give away to the clinician, a sentence each."""
        fields = self.fields(case)
        needed = {name: place for part in (self.patient, *self.told(), self.opens) for _, name, place in part.holes()}
        missing = [f"It has no {name!r}, which {needed[name]} needs." for name in needed if not fields.get(name)]
        if missing or not fields:
            yield from missing or [f"It has no fields of {self.form.protocol}."]
            return
        for points in self.points:
            try:
                points.of(case.extra[self.form.protocol].get(points.key))
            except ValueError as error:
                yield f"It can't be rated by points: {error}."
        heard = normalise(self.clinician_text(fields))
        for name, text in self._private(fields):
            if len(text.split()) >= _TELLING and text in heard:
                yield (
                    f"Its {name!r}, which the clinician may not know, stands in the clinician's prompt: take it out, "
                    f"or add {name!r} to `knows`."
                )

    def doubts(self, case: Case) -> Iterator[str]:
        """Short texts that the clinician may not know and that a field tells it all the same, a sentence each."""
        fields = self.fields(case)
        heard = normalise(self.clinician_text(fields))
        constant = normalise(self.clinician_text(dict.fromkeys(fields, "")))
        for name, text in self._private(fields):
            short = len(text.split()) < _TELLING and len(text) > _TELLING and not text.isnumeric()
            if (
                short
                and text in heard
                and text not in constant
                and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", heard)
            ):
                yield f"its {name!r}, {text!r}, stands in what the clinician is told of another field"

    def _private(self, fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The fields that the clinician may not know, with their texts as they are compared."""
        known = {fields[name] for name in self.form.clinician.knows if name in fields}
        return ((name, bare(text)) for name, text in fields.items() if text and text not in known)


def gallery() -> list[str]:
    """The protocols that new ones may start from; the first unless another is named."""
    return sorted(folder.name for folder in GALLERY.iterdir() if folder.is_dir())


def new_protocol(folder: Path, like: str = "check-in") -> list[Path]:
    """Write the files of a protocol to start from, called like their folder, which must not be there yet.

    Args:
        folder: the folder.
        like: which of the gallery it starts from.

    Raises:
        InputError: the folder is there, its name can be no protocol's, or the gallery has no such protocol.
    """
    one_of(like, gallery(), "protocol in the gallery", InputError)
    if not _NAME.fullmatch(folder.name):
        todo = "take small letters, digits and -, such as my-study"
        raise InputError(f"a protocol can't be called {folder.name!r}", where=str(folder), todo=todo)
    if folder.name in SIMULATORS or folder.name in SUITES:
        raise InputError(
            "a protocol or suite that comes with bedside is called so", where=str(folder), todo="take another name"
        )
    if folder.exists():
        raise InputError("it is already there", where=str(folder), todo="take another name")
    files = []
    for path in sorted((GALLERY / like).iterdir()):
        text = path.read_text("utf-8").replace(f"protocol: {like}\n", f"protocol: {folder.name}\n")
        files.append(folder / path.name)
        write_text(files[-1], text)
    return files


def is_protocol_file(path: str) -> bool:
    """Whether a file is one that describes a protocol, by its name and a key."""
    file = Path(path)
    return file.suffix in (".yaml", ".yml") and file.is_file() and bool(_KEY.search(file.read_bytes()))


def read_protocol(path: Path) -> ProtocolFile:
    """A protocol file, checked with all that it names.

    Raises:
        InputError, RegistryError: a file can't be read or is not of its form; file and line are named.
    """
    record = next(file_records(path, "protocol file"), None)
    if record is None or not isinstance(record.value, dict):
        raise InputError("a protocol file must hold keys and values", where=str(path), todo=SEE)
    form = record.to_model(ProtocolForm, SEE)
    _check_form(form, record)
    folder, said = path.parent, form.clinician
    opens = form.patient.opens if isinstance(form.patient.opens, str) else ""
    names = [name for name in (form.patient.prompt, said.prompt) if name is not None]
    suite, failed, points = ("", {}, ()) if form.suite is None else _suite(form.suite, record)
    data = [form.people, *([form.suite or ""] if suite.endswith(".yaml") else [])]
    protocol = ProtocolFile(
        form,
        path,
        _prompt(folder / form.patient.prompt),
        Template("", "") if said.prompt is None else _prompt(folder / said.prompt),
        Template(opens, record.place(("patient", "opens"))),
        Template(said.hears_first or "", record.place(("clinician", "hears_first"))),
        suite,
        failed,
        points,
        {
            path.name: file_digest(path),
            **{name: file_digest(folder / name) for name in names},
            # Conversations keep it; the rest of a suite may change.
            **({f"failed of {form.suite}": _digest(failed)} if failed else {}),
        },
        {name: file_digest(folder / name, "file of people") for name in data},
    )
    people = protocol.read_people(protocol.people)
    _check_fields(protocol, record, {name for _, each in people for name, _ in form.flat(each.extra[form.protocol])})
    return protocol


def _prompt(path: Path) -> Template:
    text = read_text(path, "prompt")
    if not text.strip():
        raise InputError("the prompt is empty", where=str(path), todo="write it, or name another file")
    name = path.name.replace(" ", "_")
    return Template(text, str(path), f"{name}@{file_digest(path)[:HASH_DIGITS]}")


def _digest(failed: Mapping[str, float | str]) -> str:
    return hashlib.sha256(repr(sorted(failed.items())).encode()).hexdigest()


def _suite(name: str, record: FileRecord) -> tuple[str, dict[str, float | str], tuple[Points, ...]]:
    """A suite's name or path, which can be read, what it rates a conversation with that the clinician failed, and the
    points of its own rubrics whose criteria stand with people."""
    suite = name
    if name.endswith(".yaml"):
        suite = str(record.path.parent / name)
    else:
        one_of(name, SUITES.names(), "suite", RegistryError, where=record.place(("suite",)))
    content = SUITES.find(suite)
    points = []
    for own in (rubric for rubric in content.rubrics if rubric.endswith((".yaml", ".yml"))):
        with suppress(RegistryError):  # said where the suite is checked
            points.append(parse_rubric(Path(own)).points)
    return suite, dict(content.failed), tuple(each for each in points if each is not None and not each.criteria)


def _empty(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of keys that nothing stands at."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _empty(part, (*path, key))
    elif value is None:
        yield path


def _check_form(form: ProtocolForm, record: FileRecord) -> None:
    """Refuse what single keys don't show: a length that is missing, a first message twice, a name that is taken."""
    for path in _empty(record.value):
        todo = "give it a value, or leave the key out"
        raise InputError(f"{key_name(path)}: nothing stands there", where=record.place(path), todo=todo)
    if form.protocol in SIMULATORS or form.protocol in SUITES:
        raise InputError(
            f"a protocol or suite that comes with bedside is called {form.protocol}",
            where=record.place(("protocol",)),
            todo="rename it",
        )
    without = [name for name, setting in form.settings.items() if setting.length is None]
    if form.length is None and (without or not form.settings):
        place = record.place(("settings", *without[:1])) if form.settings else record.place()
        raise InputError("nothing says how long a conversation is", where=place, todo="add length: {exchanges: 10}")
    said = form.clinician
    if said.hears_first and form.patient.opens:
        todo = "take `hears_first` out, or `opens`"
        place = record.place(("clinician", "hears_first"))
        raise InputError("the patient opens: the clinician hears nothing before", where=place, todo=todo)
    if said.kept and not said.hears_first:
        place = record.place(("clinician", "kept"))
        raise InputError("there is no first message to be kept", where=place, todo="add `hears_first`")


def _check_fields(protocol: ProtocolFile, record: FileRecord, written: set[str]) -> None:
    """Refuse names of fields that nobody has, and holes that name none or what the clinician may not know.

    Args:
        protocol: whose.
        record: its file.
        written: the fields that the people's file itself has.
    """
    form = protocol.form
    fields = written | set(form.new_names)
    for name, path in form.new_names.items():
        place = record.place(("fields", name))
        within = next((each for each in written if each.startswith(f"{path}.")), None)
        if within is not None:
            todo = f"rename a field in it, such as {within!r}, or call it {path!r} where it is needed"
            raise InputError(f"{path!r} is a list or an object, and keeps its name", where=place, todo=todo)
        _check_field(path, written, place)
        if name in written:
            raise InputError(f"a field is called {name!r} already", where=place, todo="take another name")
    for name in form.ids:
        _check_field(name, fields, record.place(("id",)))
    for number, name in enumerate(form.factors):
        _check_field(name, fields, record.place(("factors", number)))
        taken = name in _OWN_FACTORS
        if taken or "," in name:  # commas part factors in a command
            what = f"every conversation has a factor {name!r} already" if taken else f"the factor {name!r} has a comma"
            todo = "give the field a new name under `fields`"
            raise InputError(what, where=record.place(("factors", number)), todo=todo)
    for number, name in enumerate(form.clinician.knows):
        _check_field(name, fields, record.place(("clinician", "knows", number)))
    for template in (protocol.patient, protocol.opens, *protocol.told()):
        for hole, name, place in template.holes():
            if name not in fields:
                what = f"{hole!r} is no field of {protocol.people.name}, and only fields are filled in"
                raise InputError(what, where=place, todo=nearest(name, fields))
            if template in protocol.told() and name not in form.clinician.knows:
                todo = f"take it out, or add {name!r} to `knows` in {protocol.path}"
                raise InputError(f"the clinician may not know {name!r}", where=place, todo=todo)


def _check_field(name: str, fields: set[str], place: str) -> None:
    one_of(name, fields, "field", InputError, where=place)


def check_people(protocol: ProtocolFile, paths: PathOrPaths | None = None) -> Iterator[tuple[str, Remark]]:
    """Everything that is wrong with a protocol's people, or doubtful, with file and line.

    Args:
        protocol: whose.
        paths: other files of people than its own.
    """
    for name, setting in protocol.settings().items():
        if setting.ends and normalise(setting.ends.patient_says) not in normalise(protocol.patient.text):
            words = f"the patient's prompt doesn't hold {setting.ends.patient_says!r}: it may never say it in {name}"
            yield str(protocol.path), Remark("warning", "ends.patient_says", words)
    people = protocol.read_people(protocol.people if paths is None else paths)
    fields = {name for _, person in people for name in protocol.fields(person)}
    for template in (protocol.patient, protocol.opens, *protocol.told()):
        for text, place in template.unfilled(fields):
            yield place, Remark("warning", text, "it isn't filled in, and stands so in what is told; write {name}")
    for place, person in people:
        problems = list(protocol.problems(person))
        yield from ((place, Remark("error", person.id, text)) for text in problems)
        if not problems:
            yield from ((place, Remark("warning", person.id, text)) for text in protocol.doubts(person))
