"""Linear mixed models: what R's lme4 1.1 says of published data, and of data sets that R has itself."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bedside.core.errors import DataError
from bedside.stats.mixed_models import RESIDUAL, MixedDesign, MixedModel

RSCRIPT = shutil.which("Rscript")
#: Diameters of 24 plates with each of six samples of penicillin (Davies and Goldsmith 1972; lme4's Penicillin).
PENICILLIN = np.array(
    """27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23 20 24 22 25 23 22 19
    24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23 22 19 26 23 26 24 24 21 25 22 26 24 24 20
    26 24 26 24 25 22 26 23 26 23 23 20 26 23 25 24 24 22 25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19
    24 21 23 21 21 19 26 23 26 24 24 21 25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18
    """.split(), float,
)  # fmt: skip
#: Yields of six batches, five samples each (Davies 1947); and of six that don't differ (Box and Tiao 1973).
DYESTUFF = [
    1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560,
    1445, 1440, 1595, 1465, 1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445,
]  # fmt: skip
DYESTUFF2 = [
    7.298, 3.846, 2.434, 9.566, 7.990, 5.220, 6.556, 0.608, 11.788, -0.892, 0.110, 10.386, 13.434, 5.510, 8.166,
    2.212, 4.852, 7.092, 9.288, 4.980, 0.282, 9.014, 4.458, 9.446, 7.198, 1.722, 4.782, 8.106, 0.758, 3.758,
]  # fmt: skip
#: Six cases rated by four raters (Shrout and Fleiss 1979, table 2).
SHROUT = np.array([9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7], float)
#: Without three of the ratings.
KEPT = np.delete(np.arange(24), [1, 6, 15])


def near(value: Any, relative: float = 1e-5) -> Any:
    return pytest.approx(value, rel=relative)


def ones(count: int) -> list[list[float]]:
    return [[1.0]] * count


def by_batch(y: Sequence[float], *, restricted: bool = True) -> MixedModel:
    return MixedDesign(ones(30), {"batch": [row // 5 for row in range(30)]}).fit(y, restricted=restricted)


def test_penicillin() -> None:
    # lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin, control = lmerControl("bobyqa", list(rhoend = 1e-10)))
    design = MixedDesign(
        ones(144), {"plate": [row // 6 for row in range(144)], "sample": [row % 6 for row in range(144)]}
    )
    model = design.fit(PENICILLIN)
    assert model.variances == near({"plate": 0.71690834, "sample": 3.73091901, RESIDUAL: 0.30241545})
    assert model.deviance == near(330.860588991, 1e-11)
    assert model.coefficients == near([22.97222222])
    assert np.sqrt(model.covariance) == near(np.array([[0.80857351]]))
    modes, variances = model.effects("sample")
    assert modes == near([2.18705797, -1.01047615, 1.93789947, -0.09689497, -0.01384214, -3.00374417])
    assert variances == near([0.0408730396] * 6)
    assert model.converged
    assert not model.at_boundary
    # The intercept of a balanced design is the mean: each value counts the same.
    assert model.weights([1.0]) == near([1 / 144] * 144)
    parts = model.variance_parts(model.weights([1.0]))
    assert parts == near({"plate": 0.71690834 / 24, "sample": 3.73091901 / 6, RESIDUAL: 0.30241545 / 144})
    assert sum(parts.values()) == near(model.covariance.item())


def test_one_factor() -> None:
    # lmer(Yield ~ 1 + (1 | Batch), Dyestuff), with REML = FALSE, and of Dyestuff2
    model = by_batch(DYESTUFF)
    assert model.variances == near({"batch": 1764.05, RESIDUAL: 2451.25})
    assert model.deviance == near(319.654276842, 1e-11)
    likely = by_batch(DYESTUFF, restricted=False)
    assert likely.variances == near({"batch": 1388.33333, RESIDUAL: 2451.25})
    assert likely.deviance == near(327.327059881, 1e-11)
    alike = by_batch(DYESTUFF2)
    assert alike.at_boundary == ("batch",)
    assert alike.variances == near({"batch": 0.0, RESIDUAL: 13.80630963})
    assert np.sqrt(alike.covariance) == near(np.array([[0.678388031]]))
    assert alike.effects("batch")[0] == pytest.approx(np.zeros(6))


def test_ratings_that_are_missing() -> None:
    # lmer(y ~ 1 + (1 | case) + (1 | rater)) of all of Shrout and Fleiss's ratings, and without three of them
    factors: dict[str, list[Any]] = {
        "case": [row // 4 for row in range(24)],
        "rater": [f"r{row % 4}" for row in range(24)],
    }
    whole = MixedDesign(ones(24), factors).fit(SHROUT)
    assert whole.variances == near({"case": 2.5555556, "rater": 5.2444444, RESIDUAL: 1.0194444})
    kept = {name: [levels[row] for row in KEPT] for name, levels in factors.items()}
    gaps = MixedDesign(ones(21), kept).fit(SHROUT[KEPT])
    assert gaps.variances == near({"case": 3.2873533, "rater": 4.7079594, RESIDUAL: 0.87953906})
    assert gaps.coefficients == near([5.28452096])
    assert gaps.deviance == near(80.3756378239, 1e-11)
    # lmer(y ~ 0 + rater + (1 | case)): these raters, cases like these
    x = [[float(rater == f"r{column}") for column in range(4)] for rater in kept["rater"]]
    fixed = MixedDesign(x, {"case": kept["case"]}).fit(SHROUT[KEPT])
    assert fixed.coefficients == near([7.66666667, 2.82668999, 4.10982280, 6.51836598])
    assert np.sqrt(np.diag(fixed.covariance)) == near([0.83235882, 0.85524348, 0.85524348, 0.85524348])
    assert fixed.coefficients == near([fixed.weights(row) @ SHROUT[KEPT] for row in np.eye(4)])


def test_a_factor_may_have_no_effect_on_some() -> None:
    """Cases of one system that differ as those of the other don't, as lme4's dummy() has it."""
    rng = np.random.default_rng(0)
    system, case = np.repeat([0, 1], 600), np.arange(1200) // 3
    y = 2.0 + np.where(system, 2.0, 0.5) * np.repeat(rng.normal(size=400), 3) + rng.normal(size=1200)
    factors = {
        str(own): [int(at) if of == own else None for at, of in zip(case, system, strict=True)] for own in (0, 1)
    }
    model = MixedDesign(np.eye(2)[system], factors).fit(y)
    for own in (0, 1):
        table = y[system == own].reshape(-1, 3)
        between = 3 * table.mean(axis=1).var(ddof=1)
        assert model.variances[str(own)] == near((between - model.variances[RESIDUAL]) / 3, 0.02)


def test_thousands_of_cases() -> None:
    """Each rated by three of eight raters: the variances they were drawn with, and the deviance by full matrices."""
    rng = np.random.default_rng(1)

    def fitted(cases: int) -> tuple[MixedModel, np.ndarray[Any, Any]]:
        rows = [(case, int(rater)) for case in range(cases) for rater in rng.choice(8, 3, replace=False)]
        factors = {"case": [case for case, _ in rows], "rater": [rater for _, rater in rows]}
        effects = rng.normal(size=cases)[factors["case"]] + 0.5 * rng.normal(size=8)[factors["rater"]]
        y = effects + 2 * rng.normal(size=3 * cases)
        return MixedDesign(ones(3 * cases), factors).fit(y), y

    many, _ = fitted(5000)
    assert many.variances["case"] == near(1, 0.15)
    assert many.variances[RESIDUAL] == near(4, 0.05)
    few, y = fitted(40)
    parts = list(few.variances.values())
    z = few.design.z.toarray()
    covariance = z @ np.diag(np.repeat(parts[:-1], few.design.sizes)) @ z.T + parts[-1] * np.eye(120)
    inverse, x = np.linalg.inv(covariance), np.ones(120)
    mean = (x @ inverse @ y) / (x @ inverse @ x)
    left = y - mean
    expected = np.linalg.slogdet(covariance)[1] + np.log(x @ inverse @ x) + left @ inverse @ left
    assert few.coefficients == near([mean])
    assert few.deviance == near(expected + 119 * np.log(2 * np.pi), 1e-11)


def test_what_is_no_model_is_said() -> None:
    labels = {"case": [0, 0, 1, 1]}
    for x, factors, words in (
        ([[1.0, 2.0]] * 4, labels, "tell the same"),
        (ones(4), {}, "needs a factor"),
        (ones(4), {"case": [0, 1]}, "2 levels for 4"),
        (ones(4), {"case": [0, 1, 2, 3]}, "share"),
    ):
        with pytest.raises(DataError, match=words):
            MixedDesign(x, factors)
    design = MixedDesign(ones(4), labels)
    with pytest.raises(DataError, match="none missing"):
        design.fit([1, 2, None, 3])
    with pytest.raises(DataError, match="nothing is left"):
        design.fit([0.3, 0.3, 0.3, 0.3])
    # Cases tell everything: no residual variance is left, and no least deviance.
    assert not design.fit([1, 1, 2, 2]).converged


@cache
def of_r(folder: Path) -> list[list[str]]:
    """A line for each data set: its name, the deviance, the number of factors, their names, variances, fixed effects
    and their standard errors; its values, X and levels are in a CSV file of its name."""
    if RSCRIPT is None:
        pytest.skip("R is not installed")
    packages = "c('lme4', 'nlme', 'lmerTest')"
    has = [RSCRIPT, "-e", f"quit(status = !all(sapply({packages}, requireNamespace, quietly = TRUE)))"]
    if subprocess.run(has, check=False, capture_output=True).returncode:
        pytest.skip("R has not lme4, nlme and lmerTest")
    done = subprocess.run([RSCRIPT, "-e", _SCRIPT], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


_SCRIPT = """
suppressMessages({library(lme4); library(nlme)})
data(ham, package = 'lmerTest')
machines <- transform(as.data.frame(nlme::Machines), wm = paste(Worker, Machine), w = as.character(Worker))
plots <- transform(as.data.frame(nlme::Oats), bv = paste(Block, Variety), b = as.character(Block))
evaluated <- subset(InstEval, as.integer(dept) <= 2 & as.integer(s) <= 1200)
sets <- list(
  Dyestuff = list(Yield ~ 1 + (1 | Batch), Dyestuff),
  Dyestuff2 = list(Yield ~ 1 + (1 | Batch), Dyestuff2),
  Penicillin = list(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin),
  Pastes = list(strength ~ 1 + (1 | batch) + (1 | sample), Pastes),
  cake = list(angle ~ recipe * temperature + (1 | replicate) + (1 | rr),
    transform(cake, rr = paste(recipe, replicate))),
  sleepstudy = list(Reaction ~ Days + (1 | Subject), sleepstudy),
  Rail = list(travel ~ 1 + (1 | Rail), as.data.frame(nlme::Rail)),
  Machines = list(score ~ Machine + (1 | w) + (1 | wm), machines),
  Machines.gaps = list(score ~ Machine + (1 | w) + (1 | wm), machines[-c(1, 2, 3, 17, 40:44), ]),
  Oats = list(yield ~ nitro + Variety + (1 | b) + (1 | bv), plots),
  ergoStool = list(effort ~ Type + (1 | Subject), as.data.frame(nlme::ergoStool)),
  InstEval = list(y ~ service + (1 | s) + (1 | d), evaluated),
  ham = list(Informed.liking ~ Product + (1 | Consumer) + (1 | cp), transform(ham, cp = paste(Consumer, Product)))
)
tight <- lmerControl('bobyqa', optCtrl = list(rhoend = 1e-10))
for (name in names(sets)) {
  model <- suppressMessages(lmer(sets[[name]][[1]], droplevels(sets[[name]][[2]]), control = tight))
  levels <- lapply(getME(model, 'flist'), as.character)
  write.csv(data.frame(y = getME(model, 'y'), getME(model, 'X'), levels), paste0(name, '.csv'), row.names = FALSE)
  numbers <- c(as.data.frame(VarCorr(model))$vcov, fixef(model), sqrt(diag(as.matrix(vcov(model)))))
  cat(name, sprintf('%.12g', REMLcrit(model)), length(levels), names(levels), sprintf('%.10g', numbers), '\\n')
}
"""


@pytest.mark.slow
def test_data_sets_of_r(tmp_path: Path) -> None:
    lines = of_r(tmp_path)
    assert len(lines) == 13
    for name, deviance, count, *rest in lines:
        factors, numbers = rest[: int(count)], np.array(rest[int(count) :], float)
        table = pl.read_csv(tmp_path / f"{name}.csv", infer_schema_length=None)
        x = table.drop("y", *factors).to_numpy().astype(float)
        model = MixedDesign(x, {factor: table[factor].cast(str).to_list() for factor in factors}).fit(table["y"])
        variances, coefficients, errors = np.split(numbers, [len(factors) + 1, len(factors) + 1 + x.shape[1]])
        of_ours = [model.variances[part] for part in (*factors, RESIDUAL)]
        assert of_ours == pytest.approx(variances, rel=1e-4, abs=1e-9), name
        assert model.coefficients == near(coefficients, 1e-4), name
        assert np.sqrt(np.diag(model.covariance)) == near(errors, 1e-4), name
        assert model.deviance == pytest.approx(float(deviance), abs=1e-6), name
