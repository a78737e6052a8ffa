"""Graphs that a patient's past is drawn from: times, people and events by category, for each sex and decade."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bedside.core.errors import InputError
from bedside.core.files import file_digest
from bedside.core.model_errors import first_complaint
from bedside.core.yaml_files import plain_yaml
from bedside.metrics.protocols.contract import Strict, Text
from bedside.simulation.simulators.mdd5k.bundled_material import BUNDLED, FOLDER
from bedside.simulation.simulators.mdd5k.case_fields import PsychiatricRecord, Sex

Decade = Literal["10", "20", "30", "40", "50"]
_SEE = "see docs/simulators/mdd5k.md, Story"


_Texts = Annotated[tuple[Text, ...], Field(min_length=1)]


class StoryGraph(Strict):
    """What can have happened to people of a sex and decade.

    Attributes:
        time: when something can have happened.
    """

    time: _Texts
    people: Mapping[Text, _Texts] = Field(min_length=1, description="People by category.")
    experience: Mapping[Text, _Texts] = Field(min_length=1, description="Events by category.")

    def problem(self) -> str | None:
        """What its parts don't agree in; None where they do."""
        for name in (*self.people, *self.experience):
            if name not in self.people:
                return f"the category {name!r} has no people"
            if name not in self.experience:
                return f"the category {name!r} has no experience"
        return None


@dataclass(frozen=True, slots=True)
class StorySeed:
    """What a story is to be about.

    Attributes:
        time: when it happened.
        category: of the people.
        person: whom it was with.
        event: what happened.
    """

    time: str
    category: str
    person: str
    event: str

    def words(self) -> dict[str, str]:
        """Its parts by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GraphFile:
    """Graphs with where they come from.

    Attributes:
        graphs: by sex and decade.
        digest: SHA-256 of the file (64 hexadecimal digits).
    """

    graphs: Mapping[Sex, Mapping[Decade, StoryGraph]]
    digest: str

    def graph_for(self, record: PsychiatricRecord) -> StoryGraph | None:
        """The graph for a patient; None where there is none for the age."""
        decade = str(record.age // 10 * 10)
        return {str(name): graph for name, graph in self.graphs.get(record.sex, {}).items()}.get(decade)


def draw_story(graph: StoryGraph, stream: random.Random) -> StorySeed:
    """What a story is about, drawn as the source draws it.

    A time uniformly; a category with a probability in proportion to the number of its people; of it a person and an
    event, uniformly and apart.
    """
    time = stream.choice(graph.time)
    categories = list(graph.people)
    (category,) = stream.choices(categories, [len(graph.people[name]) for name in categories])
    return StorySeed(
        time, category, stream.choice(graph.people[category]), stream.choice(graph.experience[category])
    )


def find_graphs(name: str, language: str) -> GraphFile:
    """The graphs in a language: those that come with bedside, or a file.

    Raises:
        InputError: the file can't be read, or isn't of the form.
    """
    return read_graphs(FOLDER / f"graphs.{language}.yaml" if name == BUNDLED else Path(name))


@cache
def read_graphs(path: Path) -> GraphFile:
    """A file of graphs by sex and decade.

    Raises:
        InputError: it can't be read, or isn't of the form; the key is named.
    """
    form: TypeAdapter[Mapping[Sex, Mapping[Decade, StoryGraph]]] = TypeAdapter(
        Mapping[Sex, Mapping[Decade, StoryGraph]]
    )
    data = plain_yaml(path, "file of story graphs", aliases=True, kind=InputError)
    try:
        graphs = form.validate_python(data)
    except ValidationError as error:
        raise InputError(first_complaint(error, StoryGraph)[1], where=str(path), todo=_SEE) from error
    for sex, decades in graphs.items():
        for decade, graph in decades.items():
            problem = graph.problem()
            if problem is not None:
                raise InputError(f"{sex}.{decade}: {problem}", where=str(path), todo=_SEE)
    return GraphFile(graphs, file_digest(path))
