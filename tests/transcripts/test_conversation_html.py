"""Transcripts in a notebook: text stays text, long ones are folded, each turn has its own direction."""

from __future__ import annotations

from html.parser import HTMLParser

from bedside.transcripts.transcript import FOLDED, LONGEST_TURN, SHOWN, Transcript, Turn

#: Text that would be more than text in a page.
HOSTILE = (
    "<script>alert(1)</script>",
    "</p></div><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) style=position:fixed",
    "<!-- --><style>*{display:none}</style>",
    "&lt;b&gt; ]]> {{7*7}} $x$",
    "\u202e\u2066right\x00\x1b[31m\x85",
    "مرحبا doctor, שלום",
)


class Page(HTMLParser):
    """The elements and attributes of a fragment, what is written in it, and whether all ends as it began."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.open: list[str] = []
        self.feed(fragment)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def talk(*texts: str, name: str = "a", speaker: str = "P") -> Transcript:
    turns = tuple(
        Turn(index, "clinician" if index % 2 else "patient", speaker, text) for index, text in enumerate(texts)
    )
    return Transcript(name, turns, system=speaker, case_id=name)


def test_text_stays_text() -> None:
    for hostile in HOSTILE:
        page = Page(talk(hostile, "Well.", name=hostile, speaker=hostile)._repr_html_())
        assert page.elements == {"div", "p", "strong", "bdi", "small"}
        assert page.attributes == {"class", "dir", "style"}
        shown = "".join(letter for letter in hostile if letter not in "\x00\x1b\x85")
        # Its id, its case, its system, and a speaker and turn, twice.
        assert page.words.count(shown) == 6
        assert not set(page.words) & {"\x00", "\x1b", "\x85"}


def test_long_transcripts_are_folded() -> None:
    page = Page(talk(*(f"Turn {index}." for index in range(SHOWN)))._repr_html_())
    assert "details" not in page.elements
    shown = talk(*(f"Turn {index}." for index in range(SHOWN + 1)))._repr_html_()
    assert "<summary>1 more turn</summary>" in shown
    assert f"Turn {SHOWN}." in shown.partition("<details>")[2]
    many = talk(*("word " * 3 for _ in range(10_000)))._repr_html_()
    assert f"<summary>{10_000 - SHOWN:,} more turns</summary>" in many
    assert f"{10_000 - SHOWN - FOLDED:,} turns after these" in many
    assert many.count('dir="auto"') == SHOWN + FOLDED


def test_long_turns_are_cut() -> None:
    shown = talk("x" * (LONGEST_TURN + 1234))._repr_html_()
    assert "1,234 more characters" in shown
    assert len(shown) < LONGEST_TURN + 1000


def test_each_turn_has_its_own_direction() -> None:
    shown = talk("שלום, what brings you here?", "Hello.")._repr_html_()
    assert shown.count('<p dir="auto"') == 2


def test_a_transcript_without_turns_is_shown() -> None:
    assert Page(Transcript("a", ())._repr_html_()).words == "a 0 turns"
