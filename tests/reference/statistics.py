"""Published worked examples of statistics: the data, the values, and where they come from."""

from __future__ import annotations

#: Fleiss (1971), "Measuring nominal scale agreement among many raters", Psychological Bulletin 76: counts of six
#: raters by subject and diagnosis. Values as R's irr gives them (kappam.fleiss).
FLEISS_1971 = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
    [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
    [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
    [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip

#: Fleiss, Cohen and Everitt (1969), "Large sample standard errors of kappa and weighted kappa".
FLEISS_COHEN_EVERITT = [[106, 10, 4], [22, 28, 10], [2, 12, 6]]
FLEISS_COHEN_EVERITT_PENALTIES = [[0, 1, 0.5556], [1, 0, 0.3333], [0.5556, 0.3333, 0]]

#: Cohen (1968), "Weighted kappa", Psychological Bulletin 70.
COHEN_1968 = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]
COHEN_1968_PENALTIES = [[0, 1, 3], [1, 0, 6], [3, 6, 0]]

#: Agresti's table of husbands' and wives' rating of sexual fun, as in R's vcd.
SEXUAL_FUN = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]

#: Krippendorff (2011), "Computing Krippendorff's alpha-reliability": observers by units, "." where missing.
KRIPPENDORFF_A = ("0100000010", "1110010000")
KRIPPENDORFF_B = ("aabbdcccedda", "babbbccceddd")
KRIPPENDORFF_C = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")

#: Gwet (2008, 2014): two raters.
GWET = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]

#: Shrout and Fleiss (1979), "Intraclass correlations", table 2: six targets by four judges.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]

#: Hollander and Wolfe, Nonparametric Statistical Methods: permeability of the human chorioamnion.
PERMEABILITY_X = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
PERMEABILITY_Y = [1.15, 0.88, 0.90, 0.74, 1.21]

#: Hollander and Wolfe: depression scale before and after (R's ?wilcox.test): V 40, exact one-sided p .01953.
DEPRESSION_FIRST = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
DEPRESSION_SECOND = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]

#: Hollander and Wolfe: three methods of rounding first base (R's ?friedman.test).
ROUNDING_TIMES = [
    [5.40, 5.50, 5.55], [5.85, 5.70, 5.75], [5.20, 5.60, 5.50], [5.55, 5.50, 5.40], [5.90, 5.85, 5.70],
    [5.45, 5.55, 5.60], [5.40, 5.40, 5.35], [5.45, 5.50, 5.35], [5.25, 5.15, 5.00], [5.85, 5.80, 5.70],
    [5.25, 5.20, 5.10], [5.65, 5.55, 5.45], [5.60, 5.35, 5.45], [5.05, 5.00, 4.95], [5.50, 5.50, 5.40],
    [5.45, 5.55, 5.50], [5.55, 5.55, 5.35], [5.45, 5.50, 5.55], [5.50, 5.45, 5.25], [5.65, 5.60, 5.40],
    [5.70, 5.65, 5.55], [6.30, 6.30, 6.25],
]  # fmt: skip

#: Hollander and Wolfe: mucociliary efficiency (R's ?kruskal.test): H .77143, df 2, p .68.
MUCOCILIARY = [[2.9, 3.0, 2.5, 2.6, 3.2], [3.8, 2.7, 4.0, 2.4], [2.8, 3.4, 3.7, 2.2, 2.0]]

#: Two samples with ties; exact p from R's coin, wilcox_test(distribution = "exact").
TIED_X = [3, 4, 2, 5, 4, 4, 3]
TIED_Y = [2, 3, 3, 1, 2, 4, 2, 3]

#: Agresti, Categorical Data Analysis: approval of the prime minister in two surveys of the same people.
APPROVAL = [[794, 150], [86, 570]]

#: Hollander and Wolfe: tuna (R's ?cor.test).
TUNA_X = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
TUNA_Y = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]

#: Bland and Altman (1986), Lancet i: peak flow by two meters.
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI_WRIGHT = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]

#: Student's sleep data (R's ?t.test): paired t −4.0621, df 9, p .002833; Welch t −1.8608, df 17.776, p .07939.
SLEEP_FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

#: Angelopoulos and others' ppi_py on a small set.
PPI_HUMAN = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1]
PPI_JUDGE = [1, 0, 1, 0, 0, 1, 1, 0, 1, 1]
PPI_UNLABELLED = [1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1]


def as_items(rows: tuple[str, ...]) -> list[list[str | None]]:
    """Strings of observers by units as items by raters."""
    return [[None if row[unit] == "." else row[unit] for row in rows] for unit in range(len(rows[0]))]


def as_ratings(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """A table of joint counts as the two raters' ratings, levels from 1."""
    cells = [(i + 1, j + 1) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]
