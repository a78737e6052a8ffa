"""Readability of what clinician and patient say, in German: Wiener Sachtextformeln, and Flesch by Amstad."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Ich habe jeden Morgen starke Kopfschmerzen und bin danach sehr müde. Die Tabletten helfen nur wenig",
        "Meine Mutter hatte einen Tumor im Kopf. Ich habe Angst vor der Untersuchung.",
    ),
    asked=("Was führt Sie zu mir?", "Gibt es etwas, das Ihnen Sorgen macht?"),
    short=("Möchten Sie aufhören?", "Unbedingt."),
    counted="29 words, 4 sentences",
    language="de-AT",
)

_FORMULAS = (
    Formula(
        "wiener_sachtextformel_1",
        "First Wiener Sachtextformel",
        "wiener_sachtextformel",
        (1, "de"),
        "0.1935 · MS + 0.1672 · SL + 0.1297 · IW − 0.0327 · ES − 0.875. MS is the percentage of words "
        "of three or more syllables, SL words / sentences, IW the percentage of words of more than six "
        "letters, ES the percentage of words of one syllable. An Austrian school grade: 4 is very easy, "
        "15 very difficult; it was made for non-fiction.",
        "Bamberger & Vanecek (1984), Lesen – Verstehen – Lernen – Schreiben, Vienna",
        0.1935 * 300 / 29 + 0.1672 * 29 / 4 + 0.1297 * 300 / 29 - 0.0327 * 1300 / 29 - 0.875,
        "3 of them of three or more syllables and the same 3 of more than six letters (Kopfschmerzen, "
        "Tabletten, Untersuchung), 13 of one syllable",
    ),
    Formula(
        "wiener_sachtextformel_2",
        "Second Wiener Sachtextformel",
        "wiener_sachtextformel",
        (2, "de"),
        "0.2007 · MS + 0.1682 · SL + 0.1373 · IW − 2.779. MS is the percentage of words of three or "
        "more syllables, SL words / sentences, IW the percentage of words of more than six letters, ES "
        "the percentage of words of one syllable. An Austrian school grade: 4 is very easy, 15 very "
        "difficult; it was made for non-fiction.",
        "Bamberger & Vanecek (1984), Lesen – Verstehen – Lernen – Schreiben, Vienna",
        0.2007 * 300 / 29 + 0.1682 * 29 / 4 + 0.1373 * 300 / 29 - 2.779,
        "3 of them of three or more syllables and the same 3 of more than six letters (Kopfschmerzen, "
        "Tabletten, Untersuchung)",
    ),
    Formula(
        "wiener_sachtextformel_3",
        "Third Wiener Sachtextformel",
        "wiener_sachtextformel",
        (3, "de"),
        "0.2963 · MS + 0.1905 · SL − 1.1144. MS is the percentage of words of three or more syllables, "
        "SL words / sentences, IW the percentage of words of more than six letters, ES the percentage "
        "of words of one syllable. An Austrian school grade: 4 is very easy, 15 very difficult; it was "
        "made for non-fiction.",
        "Bamberger & Vanecek (1984), Lesen – Verstehen – Lernen – Schreiben, Vienna",
        0.2963 * 300 / 29 + 0.1905 * 29 / 4 - 1.1144,
        "3 of them of three or more syllables (Kopfschmerzen, Tabletten, Untersuchung)",
    ),
    Formula(
        "wiener_sachtextformel_4",
        "Fourth Wiener Sachtextformel",
        "wiener_sachtextformel",
        (4, "de"),
        "0.2744 · MS + 0.2656 · SL − 1.693. MS is the percentage of words of three or more syllables, "
        "SL words / sentences, IW the percentage of words of more than six letters, ES the percentage "
        "of words of one syllable. An Austrian school grade: 4 is very easy, 15 very difficult; it was "
        "made for non-fiction.",
        "Bamberger & Vanecek (1984), Lesen – Verstehen – Lernen – Schreiben, Vienna",
        0.2744 * 300 / 29 + 0.2656 * 29 / 4 - 1.693,
        "3 of them of three or more syllables (Kopfschmerzen, Tabletten, Untersuchung)",
    ),
    Formula(
        "flesch_amstad",
        "Flesch reading ease (Amstad)",
        "flesch_reading_ease",
        ("de",),
        "180 − words / sentences − 58.5 · syllables / words. Higher is easier: 60 to 70 is plain "
        "German, below 30 very difficult.",
        "Amstad (1978), Wie verständlich sind unsere Zeitungen?, dissertation, University of Zurich",
        180 - 29 / 4 - 58.5 * 49 / 29,
        "49 syllables",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_german",
    title="Readability (German)",
    languages={"de": "German"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=("German formulas on what clinician and patient say, of each role over the session and of each turn."),
)
