"""Truncated laws against adaptive quadrature, in the middle, far out and in narrow intervals."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln
from scipy.stats import t as student

from bayesvb.numerics.truncated_laws import truncated_normal, truncated_student

INF = np.inf
ENDS = [
    (1.0, INF), (-INF, -3.0), (-INF, INF), (-0.5, 2.0), (0.3, 0.305), (3.9, INF), (4.1, 4.4),
    (6.0, 7.0), (-30.0, -29.0), (9.0, INF), (-1e-7, 1e-7), (-0.4, 0.4), (12.0, 12.01),
]  # fmt: skip


X, W = np.polynomial.legendre.leggauss(64)


def means(log_kernel, ends, functions, n_pieces=60):
    """Log integral of a kernel between two ends, and means of functions, by quadrature."""
    edges = np.linspace(*ends, n_pieces + 1)
    half = 0.5 * np.diff(edges)[:, None]
    z, weight = (edges[:-1, None] + half * (1.0 + X)).ravel(), (half * W).ravel()
    value = log_kernel(z)
    density = weight * np.exp(value - value.max())
    each = [float((density * one(z)).sum() / density.sum()) for one in functions]
    return float(np.log(density.sum()) + value.max()), each


@pytest.mark.parametrize(("lower", "upper"), ENDS)
def test_moments_of_a_normal_in_an_interval(lower, upper):
    found = truncated_normal(np.array([lower]), np.array([upper]))
    mode = float(np.clip(0.0, lower, upper))
    reach = 40.0 / max(abs(mode), 4.0)
    ends = max(lower, mode - reach), min(upper, mode + reach)
    mean = float(found.mean[0])
    functions = [lambda z: z, *(lambda z, j=j: (z - mean) ** j for j in (2, 3, 4))]
    log_mass, expected = means(lambda z: -0.5 * (z * z + np.log(2 * np.pi)), ends, functions)
    assert found.log_mass[0] == pytest.approx(log_mass, rel=1e-10, abs=1e-10)
    assert mean == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    scale = found.variance[0] ** 0.5
    assert found.variance[0] == pytest.approx(expected[1], rel=1e-8)
    assert found.third[0] == pytest.approx(expected[2], rel=1e-7, abs=1e-7 * scale**3)
    assert found.fourth[0] == pytest.approx(expected[3], rel=1e-7)


def test_far_out_the_variance_stays_positive():
    found = truncated_normal(np.array([1e3, 1e6, -30.0]), np.array([INF, INF, -30.0]))
    assert np.isfinite(found.log_mass).all() and np.isfinite(found.mean).all()
    np.testing.assert_allclose(found.variance[:2] * np.array([1e6, 1e12]), 1.0, rtol=1e-5)


@pytest.mark.parametrize("dof", [1.5, 2.5, 30.0, 5e3])
@pytest.mark.parametrize(
    ("lower", "upper"), [(1.0, INF), (-INF, 0.2), (-INF, INF), (-0.5, 1.0), (0.3, 0.31), (9.0, 9.2)]
)
def test_expectations_of_a_student_in_an_interval(lower, upper, dof):
    spread = 0.3
    found = truncated_student(
        np.array([lower]), np.array([upper]), np.array([spread]), np.array([dof])
    )

    root = np.sqrt(dof + spread)  # t = root tan(a): the kernel is a power of a cosine
    angles = np.arctan(np.clip(np.array([lower, upper]), -1e9, 1e9) / root)
    if dof > 100.0:
        angles = np.clip(angles, -12.0 / root, 12.0 / root)

    def log_kernel(a):
        return np.log(root) - (dof + 1.0) * np.log(root) + (dof - 1.0) * np.log(np.cos(a))

    def precision(a):
        return (dof + 1.0) * (np.cos(a) / root) ** 2

    def log_precision(a):
        return digamma(0.5 * (dof + 1.0)) - np.log(0.5) - 2.0 * np.log(root / np.cos(a))

    log_integral, (weight, pull, log_weight) = means(
        log_kernel,
        angles,
        (precision, lambda a: root * np.tan(a) * precision(a), log_precision),
    )
    constant = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi)
    constant += 0.5 * dof * np.log(dof)
    tolerance = {"rel": 1e-6, "abs": 1e-7}
    assert found.log_mass[0] == pytest.approx(constant + log_integral, **tolerance)
    assert found.weight[0] == pytest.approx(weight, **tolerance)
    assert found.pull[0] == pytest.approx(pull, **tolerance)
    assert found.log_weight[0] == pytest.approx(log_weight, **tolerance)


def test_without_spread_it_is_the_probability_of_the_interval():
    lower, upper = np.array([-0.5, 3.0, -60.0]), np.array([1.0, INF, -50.0])
    found = truncated_student(lower, upper, np.zeros(3), np.array([4.0]))
    law = student(4.0)
    tails = [law.cdf(1.0) - law.cdf(-0.5), law.sf(3.0), law.cdf(-50.0) - law.cdf(-60.0)]
    np.testing.assert_allclose(found.log_mass, np.log(tails), rtol=1e-9)


def test_where_the_mass_underflows_expectations_are_those_next_to_the_nearer_end():
    found = truncated_student(np.array([60.0]), np.array([INF]), np.zeros(1), np.array([1e4]))
    t = found.pull / found.weight
    assert np.isfinite(found.log_mass[0]) and 60.0 < t[0] < 60.1
