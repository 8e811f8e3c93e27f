"""Rows, work and draws that one result may cost, and sizes that count as none: one record.

Each field answers one question, whichever result asks it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of results, by question.

    Work is counted in rows x components x draws or iterations; a million take about a tenth of a
    second on one processor.
    """

    all_rows: int = 20_000
    """Rows up to which results hold out, or sample from, all of them.

    Of more, a first-order change by one row is below 0.001 nats and intervals by linear response
    have the exact width. Shares of rows are then known to 0.0015.
    """

    subsample: int = 5_000
    """Rows of the random subsample beyond: the Monte Carlo error of a mean is 1/70 of its SD."""

    quick_subsample: int = 2_000
    """Rows, or groups, where each costs draws or a prediction and the result is one number."""

    refitted_rows: int = 500
    """Rows that are refitted one by one, at most. Coverage is then known to 0.01."""

    example_rows: int = 5
    """Rows whose predictive densities are compared between chains or samplers."""

    little_work: float = 1e6
    """Work that takes no noticeable time: for printing, and for refits of any fit."""

    work: float = 2e7
    """Work of a check, or of leave-one-out predictions that print and report make: some seconds."""

    fold_work: float = 2e8
    """Work of a cross-validation that a report makes unasked: ten seconds."""

    bytes_stored: int = 1 << 30
    """Bytes that the ArviZ groups with one value per draw and row may take together."""

    entries_in_memory: int = 1 << 18
    """Entries of an array (draws, components, rows) in memory at one time: 2 MiB. Comparisons of
    10,000 rows take as long with 8 MiB on one thread, and 1.7 times the CPU time with two threads
    of the matrix library."""

    predictive_draws: int = 400
    """Draws over which predictions are averaged: their error is 1/20 of a posterior SD."""

    draws: int = 100
    """Draws where a spread is estimated (to 7%), or a tail has to be known.

    Ends of intervals need as many effective draws, of each chain (Vehtari et al. 2021, section 4);
    Pareto k-hat of fewer draws says little.
    """

    usable_khat: float = 0.7
    """Pareto k-hat up to which importance weights are reliable (Vehtari et al. 2024, section 3)."""

    exact_khat: float = 0.5
    """Pareto k-hat below which importance sampling counts as exact: weights have a variance."""

    exact_draws: int = 400
    """Effective draws from which importance sampling counts as exact."""

    exact_r_hat: float = 1.05
    """R-hat up to which chains count as draws of the exact posterior."""

    equal_elpd: float = 4.0
    """Difference of elpd in nats below which fits count as equal and its SE as unreliable.

    Sivula, Magnusson, Matamoros and Vehtari (2020), arXiv:2008.10296: between fits that predict
    similarly the error of the difference is skewed for any number of rows. The number is the limit
    in the R package loo (``loo_compare``, column ``diag_diff``), which refers to them.
    """

    standard_errors: float = 2.0
    """Standard errors of a difference of elpd within which the smaller model is preferred."""

    rival: float = 2.0
    """Nats below the best ELBO up to which a restart is a rival: its optimum might be right."""

    same_density: float = 0.02
    """Nats per row, on average, by which two restarts may differ and be one optimum."""

    negligible_weight: float = 0.01
    """Weight of a component or restart below which it is called negligible, or dropped.

    Coefficients of such a component follow its prior.
    """

    named: int = 3
    """Rows, parameters or covariates that one sentence names; it counts the others."""

    width: int = 100
    """Columns of printed text."""

    printed_rows: int = 40
    """Rows of a coefficient table that are printed."""

    full_smooth: float = 0.75
    """Share of its most degrees of freedom from which a smooth may have too few knots."""

    sampled_parameters: int = 40
    """Parameters up to which importance weights, and chains in a minute, reach the exact posterior.

    Each group-level coefficient is one.
    """

    split_statistics: int = 1_500
    """Statistics of a model with one more component up to which the check of it takes seconds."""

    restart_draws: int = 200
    """Draws of each of several restarts from which LOO of a subsample is estimated."""


LIMITS = Limits()
