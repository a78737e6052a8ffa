"""Readability of what clinician and patient say, in Spanish, by four formulas."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Tengo mucho dolor de cabeza por la mañana desde hace tres semanas. Las pastillas me ayudan muy poco",
        "Mi madre tuvo un tumor en la cabeza. Por eso tengo miedo de la prueba.",
    ),
    asked=("¿Qué le trae por aquí?", "¿Hay algo que le preocupe?"),
    short=("¿Quiere dejarlo?", "Claro."),
    counted="33 words, 4 sentences",
    language="es",
)

_FORMULAS = (
    Formula(
        "fernandez_huerta",
        "Fernández Huerta readability",
        "fernandez_huerta",
        ("es",),
        "206.84 − 60 · syllables / words − 1.02 · words / sentences. Higher is easier: 60 to 70 is plain Spanish.",
        "Fernández Huerta (1959), Medidas sencillas de lecturabilidad, Consigna 214, 29–32",
        206.84 - 60 * 56 / 33 - 1.02 * 33 / 4,
        "56 syllables",
        digits=1,
    ),
    Formula(
        "szigriszt_pazos",
        "Szigriszt-Pazos perspicuity",
        "szigriszt_pazos",
        ("es",),
        "206.84 − 62.3 · syllables / words − words / sentences. Higher is easier. The thesis has "
        "206.835; textstat takes the figure of Fernández Huerta.",
        "Szigriszt Pazos (1993), Sistemas predictivos de legilibilidad del mensaje escrito, thesis, "
        "Universidad Complutense de Madrid",
        206.84 - 62.3 * 56 / 33 - 33 / 4,
        "56 syllables",
        digits=1,
    ),
    Formula(
        "gutierrez_polini",
        "Gutiérrez de Polini comprehensibility",
        "gutierrez_polini",
        (),
        "95.2 − 9.7 · letters / words − 0.35 · words / sentences. Higher is easier. It was made for "
        "school books of the sixth grade, in Spanish from the start.",
        "Gutiérrez de Polini (1972), Investigación sobre lectura en Venezuela, Caracas",
        95.2 - 9.7 * 135 / 33 - 0.35 * 33 / 4,
        "135 letters",
        digits=1,
    ),
    Formula(
        "crawford",
        "Crawford grade",
        "crawford",
        ("es",),
        "−0.205 · S + 0.049 · Y − 3.407, years of schooling; S is sentences and Y syllables per 100 "
        "words. It was made for books of primary schools.",
        "Crawford (1989), Lectura: enseñanza y aprendizaje, San José",
        -0.205 * 400 / 33 + 0.049 * 5600 / 33 - 3.407,
        "56 syllables",
    ),
)

FAMILY = language_family(
    "readability_spanish",
    title="Readability (Spanish)",
    languages={"es": "Spanish"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=(
        "Spanish formulas on what clinician and patient say, of each role over the session and of each "
        "turn. What textstat gives as Flesch's reading ease of Spanish is `fernandez_huerta`."
    ),
)
