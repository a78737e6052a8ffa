"""Readability of what clinician and patient say, in Italian: Gulpease, and Flesch by Franchina and Vacca."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Ho un forte mal di testa ogni mattina da tre settimane. Le pastiglie mi aiutano molto poco",
        "Mia madre ha avuto un tumore alla testa. Per questo ho paura di fare la visita.",
    ),
    asked=("Che cosa la porta qui?", "C'è qualcosa che la preoccupa?"),
    short=("Vuole smettere?", "Certo."),
    counted="33 words, 4 sentences",
    language="it",
)

_FORMULAS = (
    Formula(
        "gulpease",
        "Gulpease index",
        "gulpease_index",
        (),
        "89 + 300 · sentences / words − 10 · characters / words. Higher is easier: below 80 is "
        "difficult with five years of schooling, below 60 with eight, below 40 with thirteen. textstat "
        "counts all characters but white space, marks too, and doesn't end the scale at 0 and 100.",
        "Lucisano & Piemontese (1988), Gulpease: una formula per la predizione della difficoltà dei "
        "testi in lingua italiana, Scuola e città 39, 110–124",
        89 + 300 * 4 / 33 - 10 * 139 / 33,
        "139 characters with the full stop that closes the patient's first turn",
        digits=1,
    ),
    Formula(
        "flesch_vacca",
        "Flesch reading ease (Vacca)",
        "flesch_reading_ease",
        ("it",),
        "217 − 1.3 · words / sentences − 60 · syllables / words. Higher is easier.",
        "Franchina & Vacca (1986), Adaptation of Flesh readability index on a bilingual text written by "
        "the same author both in Italian and English languages, Linguaggi 3, 47–49",
        217 - 1.3 * 33 / 4 - 60 * 57 / 33,
        "57 syllables",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_italian",
    title="Readability (Italian)",
    languages={"it": "Italian"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=("Italian formulas on what clinician and patient say, of each role over the session and of each turn."),
)
