"""How many planted identifiers ``bedside scrub`` sees, and how much of what it sees is one, by kind and language.

The talks are invented: those of ``tests/transcripts/identifiers/planted.txt`` were in sight while the patterns were
written, those of ``held_out.txt`` were not. An identifier counts as seen where every letter and digit of it is
covered, whatever the kind. ``--missed`` lists what was missed, and what was seen and is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bedside.transcripts.identifiers.recognition import Recognition
from tests.transcripts.identifiers.planted import HELD_OUT, IN_SIGHT, Counts, measure

LANGUAGES = ("en", "de", "zh")


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "–"


def rows(by_language: Mapping[str, Mapping[str, Counts]]) -> Iterator[tuple[str, ...]]:
    kinds = next(iter(by_language.values()))
    for kind in kinds:
        yield kind, *cells([of[kind] for of in by_language.values()])
    for language, counts in by_language.items():
        yield f"all, {language}", *cells(list(counts.values()))


def cells(counts: list[Counts]) -> tuple[str, str, str]:
    planted, seen, part, reported, right = (
        sum(getattr(each, name) for each in counts) for name in ("planted", "seen", "in_part", "reported", "right")
    )
    return share(seen, planted), str(part), share(right, reported)


def main() -> None:
    models = [Recognition(None), Recognition("")]
    for file, title in ((HELD_OUT, "Held out"), (IN_SIGHT, "In sight while the patterns were written")):
        for recognition in models:
            by_language = {language: measure(recognition, file, [language]) for language in LANGUAGES}
            print(f"\n{title}; {recognition.model or 'patterns alone'}\n")
            print("| kind | seen | in part besides | of what was seen, an identifier |\n| --- | --- | --- | --- |")
            for row in rows(by_language):
                print(f"| {' | '.join(row)} |")
            if "--missed" in sys.argv:
                for counts in by_language.values():
                    for kind, count in counts.items():
                        print(kind, "missed:", count.missed, "false:", count.false)


if __name__ == "__main__":
    main()
