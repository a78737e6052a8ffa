"""P-values of normal and of t deviates."""

from __future__ import annotations

from bedside.stats.arrays import Alternative


def two_sided(z: float) -> float:
    """Two-sided p of a standard normal deviate."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def t_tail(t: float, df: float, alternative: Alternative) -> float:
    """p of Student's t with so many degrees of freedom; ``"greater"``: t is above 0."""
    from scipy.special import stdtr

    return float(
        {"two-sided": 2 * stdtr(df, -abs(t)), "greater": stdtr(df, -t), "less": stdtr(df, t)}[alternative]
    )
