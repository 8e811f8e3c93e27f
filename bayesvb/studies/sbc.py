"""Simulation-based calibration of one model: its formula, its design, its prior, one engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from inspect import signature

import pandas as pd

from bayesvb.argument_checks import check_choice, check_count, checked, fresh_seed
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.estimators.base import INTERVALS, AbstractEstimator
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.base import AbstractFit
from bayesvb.results.capabilities import HasResponses
from bayesvb.results.simulation_calibration import SimulationCalibration
from bayesvb.studies.processes import results
from bayesvb.studies.quantities import Quantities
from bayesvb.studies.replication import Replication, Replicator
from bayesvb.studies.simulated_rows import Simulation

DRAWS = 399
"""One less than a multiple of 10: intervals of 50%, 80% and 90% then have exact probabilities."""

ReplicationProgress = Callable[[int, int], None]
"""Called with the number of replications that are done and of all."""


@checked
def sbc(
    model: AbstractEstimator | AbstractFit,
    replications: int = 200,
    method: str | None = None,
    *,
    seed: int | None = None,
    restarts: int = 8,
    draws: int = DRAWS,
    n_jobs: int | None = None,
    progress: ReplicationProgress | None = None,
    **options: object,
) -> SimulationCalibration:
    """Simulation-based calibration for this formula, design, and prior: data with known truth.

    Each replication draws parameters, draws responses at the rows of the model from them, and fits
    the model to these as to data, on the scales of the original data, on which its prior is
    defined. If the posterior were exact, the rank of a true quantity among its draws would be
    uniform over the replications. Quantities do not depend on the labels of components: mean,
    standard deviation and the probability of less than the observed median at five rows of the
    design (the one nearest the mean, and extremes), class probabilities for classes, log densities
    of rows where whole rows are modelled; and the log likelihood of the simulated rows, which
    detects a posterior that uses the data too little.

    With a model, parameters are drawn from its prior. A weak prior generates unrealistic data,
    which may be harder to fit than real ones. With a fit, parameters are drawn from its posterior,
    and the data are the observed rows and as many simulated rows with the same covariates: it
    measures the performance of the engine near the present data (posterior SBC).

    Parameters
    ----------
    model : DensityRegression or any other public model, or Fit
    replications : int
    method : str, optional
        Key of ``bayesvb.engines.ENGINES``: by default the method of the fit, or ``"cavi"``.
    seed : int, optional
        The same seed gives the same ranks, for any ``n_jobs``; by default a new one is drawn, and
        kept.
    restarts, draws : int
        Options of each fit. 399 draws make intervals of 50%, 80% and 90% exact.
    n_jobs : int, optional
        Processes, by default as many as processors; one if the model cannot be sent to others.
    progress : callable, optional
        Called with the replications that are done and their number.
    **options
        Further arguments of ``fit``: ``covariance``, ``combine``, ``tol``, options of the engine.

    Returns
    -------
    SimulationCalibration
        Replications that raised an error or did not converge are included, and counted in the
        printed result.

    Raises
    ------
    DataError
        If the model cannot simulate or has case weights, for an unknown option, or if no
        replication could be fitted.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended it: replications that were done are kept, if there are any.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari, Gelman (2018), Validating Bayesian inference algorithms
    with simulation-based calibration, arXiv:1804.06788. Modrák, Moon, Kim, Bürkner, Huurre,
    Faltejsková, Gelman, Vehtari (2023), Simulation-based calibration checking for Bayesian
    computation: the choice of test quantities shapes sensitivity, Bayesian Analysis. Säilynoja,
    Bürkner, Vehtari (2022), Graphical test for discrete uniformity and its applications,
    Statistics and Computing 32:32, for the bands. Säilynoja, Schmitt, Bürkner, Vehtari (2025),
    Posterior SBC: simulation-based calibration checking conditional on data, arXiv:2502.03279.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful"))
    >>> audit = bvb.sbc(model, 20, seed=1, n_jobs=1)
    >>> audit.ranks.shape
    (20, 2)
    """
    check_count("replications", replications)
    if n_jobs is not None:
        check_count("n_jobs", n_jobs)
    method, options = _settled(model, method, options)
    check_choice("method", method, tuple(ENGINES))
    seed = fresh_seed(seed)
    arguments = {"method": method, "restarts": restarts, "draws": draws, **options}
    replicator = _replicator(model, arguments, seed)
    made = _made(replicator, replications, n_jobs, progress)
    return _collected(made, replicator, replications)


def _settled(
    model: object, method: str | None, options: Mapping[str, object]
) -> tuple[str, dict[str, object]]:
    """Engine and options: by default the fit's."""
    if not isinstance(model, AbstractFit):
        return method or DEFAULT_METHOD, dict(options)
    settings: dict[str, object] = {}
    if not model.automatic and model.covariance in INTERVALS:
        settings = {"covariance": model.covariance}
    if method in (None, model.method):
        settings |= model.method_options
    return method or model.method, {**settings, **options}


def _replicator(
    given: AbstractEstimator | AbstractFit, options: Mapping[str, object], seed: int
) -> Replicator:
    """Function that makes the replications.

    Raises
    ------
    DataError
        If there is nothing that can be simulated, or for an option that the engine does not have.
    """
    fit = given if isinstance(given, AbstractFit) else None
    model = given if fit is None else fit.model
    if not isinstance(model, AbstractEstimator):
        raise DataError(
            f"model is a {type(given).__name__}, but must be a model or a fit of bayesvb",
            hint="give bayesvb.DensityRegression(...), or the result of its fit()",
        )
    core = model.core if fit is None else fit.core
    if not isinstance(core, HasResponses):
        raise DataError(
            f"{type(model).__name__} cannot be calibrated, because it does not define a "
            "distribution of data",
            hint="its core needs responses(draws, block, rng)",
        )
    check_all_rows(model, "bvb.sbc()", "responses are drawn again at each of them")
    if model.weights is not None:
        raise DataError(
            "weights: simulation does not support case weights",
            hint="omit them, or repeat the rows of frequency weights",
        )
    # An unknown option raises here: in replications, fits that raise are counted only.
    of_fit = signature(model.fit).parameters
    of_engine = {name: value for name, value in options.items() if name not in of_fit}
    ENGINES[str(options["method"])].with_options(**of_engine)
    simulation = Simulation(core, model.source, None if fit is None else fit.draws)
    return Replicator(model, simulation, Quantities.of(model), options, seed)


def _made(
    replicator: Replicator, n: int, n_jobs: int | None, progress: ReplicationProgress | None
) -> list[Replication]:
    """Replications in order; those that were done if Ctrl-C comes."""
    made: list[Replication] = []
    try:
        with closing(_each(replicator, n, n_jobs)) as running:
            for one in running:
                made.append(one)
                if progress is not None:
                    progress(len(made), n)
    except KeyboardInterrupt:
        if not any(one.ranks for one in made):
            raise
        warn(
            f"the calibration was interrupted; it contains {len(made)} of {n} replications",
            ConvergenceWarning,
        )
    return sorted(made, key=lambda one: one.number)


def _each(replicator: Replicator, n: int, n_jobs: int | None) -> Generator[Replication, None, None]:
    return results(replicator, n, n_jobs, lambda number, why: Replication(number, 0.0, problem=why))


def _collected(
    made: list[Replication], replicator: Replicator, planned: int
) -> SimulationCalibration:
    """Tables of the replications.

    Raises
    ------
    DataError
        If every fit failed.
    """
    fitted = [one for one in made if one.ranks is not None]
    if not fitted:
        raise DataError(
            f"none of {len(made)} replications could be fitted: {made[0].problem}",
            hint="the prior may be too weak to simulate realistic data: give a fit instead of "
            "the model",
        )
    model, options = replicator.model, dict(replicator.options)
    columns = pd.MultiIndex.from_tuples(replicator.quantities.names, names=["kind", "place"])
    fields = {"draws": "n_draws", "converged": "converged", "covariance": "covariance",
              "seconds": "seconds", "problem": "problem"}  # fmt: skip
    return SimulationCalibration(
        ranks=pd.DataFrame([one.ranks for one in fitted], _index(fitted), columns),
        replications=pd.DataFrame(
            {name: [getattr(one, field) for one in made] for name, field in fields.items()},
            _index(made),
        ),
        parameters_from="prior" if replicator.simulation.posterior is None else "posterior",
        planned=planned,
        formula=model.formula.canonical(),
        description=model.description(),
        method=options.pop("method"),
        options=options,
        seed=replicator.seed,
    )


def _index(made: list[Replication]) -> pd.Index[int]:
    return pd.Index([one.number + 1 for one in made], name="replication")
