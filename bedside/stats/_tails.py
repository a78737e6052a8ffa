"""P-values of normal deviates, and of rank sums by the normal approximation."""

from __future__ import annotations


def two_sided(z: float) -> float:
    """Two-sided p of a standard normal deviate."""
    from scipy.special import ndtr

    return float(2 * ndtr(-abs(z)))


def rank_sum_tail(deviation: float, sd: float, continuity: bool, alternative: str) -> float:
    """p of a rank sum's deviation from its mean, by the normal approximation."""
    from scipy.special import ndtr

    step = 0.5 if continuity else 0.0
    if alternative == "two-sided":
        return float(min(1.0, 2 * ndtr(-max(0.0, abs(deviation) - step) / sd)))
    signed = deviation if alternative == "greater" else -deviation
    return float(ndtr(-(signed - step) / sd))
