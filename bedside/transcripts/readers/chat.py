"""CHAT (``.cha``), the form of TalkBank's corpora and of CLAN."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from bedside.core.errors import InputError
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.timed_speech import Utterance, one_talk, talk, text_lines, whole_text
from bedside.transcripts.transcript import Transcript, is_speaker_word

_TIMES = re.compile(r"\x15?(\d{1,12})_(\d{1,12})\x15|\x15[^\x15\n]*\x15")
#: Languages by their codes of three letters, which CHAT has, as those of two.
_LANGUAGES = {
    "ara": "ar", "cat": "ca", "ces": "cs", "cmn": "zh", "cym": "cy", "dan": "da", "deu": "de", "ell": "el", "eng": "en",
    "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr", "gle": "ga", "glg": "gl", "heb": "he", "hin": "hi",
    "hrv": "hr", "hun": "hu", "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "no",
    "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slv": "sl", "spa": "es", "srp": "sr", "swe": "sv", "tam": "ta",
    "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi", "zho": "zh",
}  # fmt: skip

_INSERTED = re.compile(r"&\*[A-Za-z0-9]+[:=](\S+)")


def _plain_end(sign: re.Match[str]) -> str:
    """The mark that a terminator stands for: +...? is ?, +/. and +... a break."""
    if sign[0][-1] in "?!":
        return sign[0][-1]
    return "…" if "..." in sign[0] or "/" in sign[0] else "."


#: Codes in the order in which they are taken out, and what stays of them.
_CODES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    # What a transcriber noted that nobody said: codes in brackets, events, pauses, words of another within a turn.
    (r"\[[^\]]*\]|&=\S+|&\*[A-Za-z0-9]+[:=]\S+|\((?:\.{1,3}|\d[\d:]*\.?\d*)\)|(?<!\S)0\S*", " "),
    # Signs that begin an utterance (linkers), and those that end it (terminators).
    (r'(?<!\S)\+["^<,+≋≈](?!\S)', " "),
    (r'(?<!\S)\+(?:["/!.?]|\.\.)*[/".!?]+(?!\S)', _plain_end),
    # Marks of fillers, suffixes, the signs of conversation analysis, long sounds.
    (r"&[-~+](?=\w)", ""),
    (r"(?<=\w)@[\w:$&+*-]+", ""),
    (r"[⌈⌉⌊⌋↑↓⇗↗→↘⇘∞≈≋≡∙⁇∾⁑∬∮§▁▔☺♋☀▼▲°◉☉⇔ˈˌ^‹›<>]\d?", ""),
    (r"(?<=\w):+(?=\w|\s|$)", ""),
    # Letters that were not said, satellites, words written as one, and the space before a mark.
    (r"\((\w+)\)", r"\1"),
    (r"[‡„]", ","),
    (r"(?<=\w)_(?=\w)", " "),
    (r"\s+", " "),
    (r" ([.,?!;:…])", r"\1"),
)


def _claims(head: Head) -> Claim | None:
    return "transcripts" if re.match(r"\s*(?:@\w[^\n]*\r?\n)*?@Begin[ \t]*\r?\n", head.text) else None


def _transcript(source: SourceFile) -> Transcript:
    speech: list[Utterance] = []
    speakers: dict[str, str] = {}
    language: str | None = None
    for number, line in _whole_lines(text_lines(whole_text(source))):
        where = f"{source.name}:{number}"
        head, _, content = line.partition(":")
        if line[0] == "*":
            code = head[1:].strip()
            if not code or "\t" in code or not content.strip():
                raise InputError(
                    "this is no utterance", where=where, todo="write it as *CODE:, a tab, and what is said"
                )
            for inserted in _INSERTED.findall(content):
                source.account.note_unread("words of others within a turn", inserted.replace("_", " "), where)
            text = spoken_text(_TIMES.sub(" ", content))
            times = [match.groups() for match in _TIMES.finditer(content) if match[1]]
            start, stop = (int(times[0][0]) / 1000, int(times[-1][1]) / 1000) if times else (None, None)
            if re.search(r"\w", text):
                speech.append(Utterance(speakers.get(code, code), text, where, start, stop))
            else:
                source.account.left_out["utterances without a word"] += 1
        elif line[0] == "%":
            source.account.note_unread(head, content.strip(), where)
        elif line[0] == "@":
            if head == "@Participants":
                speakers = _speakers(source, content)
            elif head == "@Languages":
                tags = [tag.strip() for tag in content.split(",") if tag.strip()]
                language = _LANGUAGES.get(tags[0], tags[0]) if len(tags) == 1 else None
            elif content.strip():
                source.account.note_unread(head, content.strip(), where)
        else:
            raise InputError(
                f"the line begins with neither *, % nor @: {line!r:.40}",
                where=where,
                todo="begin an utterance with *CODE:, and a line that goes on with a tab",
            )
    source.account.remark(
        "CHAT's codes are taken out of the text; fillers, retraced words, fragments and xxx stay, and (be)cause is "
        "because."
    )
    return talk(source, speech, language=language)


def _whole_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Number and content of each line with those that go on with it, which begin with a tab or a space."""
    whole: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines, 1):
        if line.strip() and line[0] in "\t " and whole:
            whole[-1][1].append(line.strip())
        elif line.strip():
            whole.append((number, [line.strip().lstrip("\ufeff")]))
    return ((number, " ".join(parts)) for number, parts in whole)


def _speakers(source: SourceFile, content: str) -> dict[str, str]:
    """What each code's speaker is called: by the code, the name or the role, whichever tells who it is."""
    participants = [part.split() for part in content.split(",") if part.strip()]
    of_how_many = Counter(word for words in participants for word in {*words})
    return {
        words[0]: next(
            (
                name
                for word in words
                if is_speaker_word(name := word.replace("_", " "), source.options.roles) and of_how_many[word] == 1
            ),
            words[0],
        )
        for words in participants
    }


def spoken_text(content: str) -> str:
    """The words of a main tier as they were said, without CHAT's codes."""
    for code, plain in _CODES:
        content = re.sub(code, plain, content)
    return content.strip()


READER = Reader(
    name="chat",
    title="CHAT, the form of TalkBank and CLAN (.cha)",
    description=(
        "One transcript a file. `@Participants` says who each code is: by the code, the name or the role, "
        "whichever tells a role of a conversation; else the code is the speaker. Utterances of one speaker that "
        "follow one another are one turn; times become `start` and `stop` of its `meta`, in seconds. Of the "
        "text stay the words as they were said: fillers (`&-um`), retraced words, fragments (`&+w`), `xxx`, and "
        "letters in parentheses; out go codes in brackets, events (`&=laughs`), pauses, suffixes (`@o`), and "
        "the signs of conversation analysis. Left out and counted: dependent tiers (`%mor`), other headers "
        "(`@ID`), words of others within a turn (`&*INV:mhm`), utterances without a word. `@Languages` with one "
        "language gives the language."
    ),
    example=(
        "@UTF8\n@Begin\n@Languages:\teng\n@Participants:\tTHE Therapist , CLI Client\n"
        "*THE:\twhat brings you here ?\n*CLI:\t&-um I sleep badly .\n@End\n"
    ),
    example_name="session.cha",
    facts={
        "family": "recordings",
        "known_by": "`@Begin` on one of the first lines",
        "turns": "utterances of one speaker, until another's",
        "kept": "`start` and `stop`; the language",
        "left": "dependent tiers, headers, words within another's turn; not counted: codes, events, pauses",
        "decided_by": "`--roles NAME=ROLE`",
    },
    endings=(".cha",),
    claims=_claims,
    read=one_talk(_transcript),
    priority=20,
)
