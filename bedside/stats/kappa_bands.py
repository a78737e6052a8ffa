"""How is a kappa read? The bands of Landis and Koch (1977)."""

from __future__ import annotations

#: Upper ends of the bands, each included, and their names.
BANDS = (
    (0.0, "poor"), (0.20, "slight"), (0.40, "fair"), (0.60, "moderate"), (0.80, "substantial"), (1.0, "almost perfect"),
)  # fmt: skip


def reading(kappa: float | None) -> str | None:
    """The band a coefficient of agreement falls in; None where there is no value.

    ``<= 0`` poor, ``<= .20`` slight, ``<= .40`` fair, ``<= .60`` moderate, ``<= .80`` substantial, else almost
    perfect. The bands are a convention, made for no particular scale or prevalence.
    """
    if kappa is None or kappa != kappa:
        return None
    return next((name for end, name in BANDS if kappa <= end + 1e-12), BANDS[-1][1])
