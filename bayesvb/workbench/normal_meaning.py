"""What the fit of one Gaussian sample says in the data's units, and what is exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from bayesvb.factors.normal_gamma import ScalarGamma
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.options import check_choice
from bayesvb.predict import predict
from bayesvb.scale_mixture import SameForEveryRow
from bayesvb.summary import tails
from bayesvb.workbench.gaussian_meaning import filled

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit
    from bayesvb.workbench.normal import Normal

Row = tuple[float, float, float, float]
"""Mean, standard deviation, and the ends of an interval."""


def named_draws(model: Normal, fit: Drawn) -> NamedDraws:
    """``mu`` and ``sigma`` in the data's units."""
    scale, centre = model.scaling.scale[0], model.scaling.centre[0]
    values = {
        "mu": fit.draws["mean"] * scale + centre,
        "sigma": scale / np.sqrt(fit.draws["precision"]),
    }
    parts = {"mu": "mu", "sigma": "sigma"}
    return NamedDraws(values, {"mu": [], "sigma": []}, {}, parts, signed=frozenset({"mu"}))


def predictive(model: Normal, fit: Fit, rows: Rows, response: str | None) -> SameForEveryRow:
    """Predictive distribution under the factorised posterior."""
    if response is not None:
        check_choice("response", response, model.design.response_names)
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    one = model.core.predictive(fit.q).affine(centre, scale)
    return SameForEveryRow(one, int(rows.complete.sum()))


def prediction(
    model: Normal, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    """Prediction for every row; they are all alike."""
    others = {name: value for name, value in options.items() if name != "response"}
    one = predictive(model, fit, rows, options["response"])
    return predict(one, rows.index, rows.complete, kind=kind, **others)


def log_density(model: Normal, fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive density of each row's response."""
    y = np.asarray(rows.response, dtype=float)[:, 0]
    one = predictive(model, fit, rows, None)
    return filled(one.log_density(y), rows, "log_density")


def exact_table(model: Normal, fit: Fit, prob: float) -> pd.DataFrame:
    """Factorised and exact posterior of both parameters.

    Returns
    -------
    pandas.DataFrame
        Index (part, posterior), columns mean, sd, lower and upper, equal-tailed. Not from draws.
    """
    import pandas as pd

    ends = np.array(tails(prob))
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    q, exact = fit.q, model.exact_posterior(fit)
    dof = 2.0 * exact.precision.shape
    spread = 1.0 / np.sqrt(exact.strength * exact.precision.mean)
    width = np.sqrt(dof / (dof - 2.0)) if dof > 2.0 else np.inf
    sd = 1.0 / np.sqrt(q.mean_precision)
    rows: dict[tuple[str, str], Row] = {
        ("mu", "factorised"): (q.mean, sd, *(q.mean + sd * special.ndtri(ends))),
        ("mu", "exact"): (
            exact.mean,
            spread * width,
            *(exact.mean + spread * special.stdtrit(dof, ends)),
        ),
        ("sigma", "factorised"): _standard_deviation(q.precision, ends),
        ("sigma", "exact"): _standard_deviation(exact.precision, ends),
    }
    columns = ["mean", "sd", "lower", "upper"]
    index = pd.MultiIndex.from_tuples(rows, names=["part", "posterior"])
    values = scale * np.array(list(rows.values()))
    values[:2, [0, 2, 3]] += centre
    return pd.DataFrame(values, index, columns)


def _standard_deviation(law: ScalarGamma, ends: np.ndarray) -> Row:
    """Moments and interval of ``1 / sqrt(lambda)``."""
    a, b = law.shape, law.rate
    mean = np.sqrt(b) * special.poch(a, -0.5) if a > 0.5 else np.inf
    variance = b / (a - 1.0) - mean**2 if a > 1.0 else np.inf
    lower, upper = (1.0 / np.sqrt(special.gammaincinv(a, 1.0 - ends) / b)).tolist()
    return float(mean), float(np.sqrt(max(variance, 0.0))), lower, upper


def divergences(model: Normal, fit: Fit) -> pd.Series:
    """What the factorisation costs.

    Returns
    -------
    pandas.Series
        ``bound`` and ``log evidence`` of the data in their units; ``KL(q, exact)``, the gap
        between the two, which the fit made as small as it can be; and ``KL(exact, q)``, the
        divergence the other way round, which it did not look at.
    """
    import pandas as pd

    q, exact, core = fit.q, model.exact_posterior(fit), model.core
    units = model.log_unit * model.source.total_weight
    values = {
        "bound": core.bound(q, fit.sums) - units,
        "log evidence": core.log_evidence(fit.sums) - units,
        "KL(q, exact)": q.kl(exact),
        "KL(exact, q)": exact.kl(q),
    }
    return pd.Series(values, name="nats")


def notes(model: Normal, fit: Fit) -> list[str]:
    """Widths and divergences in words."""
    table, cost = exact_table(model, fit, 0.89), divergences(model, fit)
    width = (table["upper"] - table["lower"]).unstack("posterior")
    share = width["factorised"] / width["exact"]
    return [
        f"Exact intervals are known here: those of mu have {share['mu']:.1%}, those of sigma "
        f"{share['sigma']:.1%} of their width.",
        f"KL(q, exact) {cost['KL(q, exact)']:.2g} nats, KL(exact, q) {cost['KL(exact, q)']:.2g}: "
        "see fit.model.exact(fit).",
    ]


def prior_table(model: Normal) -> pd.DataFrame:
    """Priors of both parameters, in the units of the data.

    Returns
    -------
    pandas.DataFrame
        Index (part, term); ``prior`` in words, its ``centre`` and ``scale``.
    """
    import pandas as pd

    priors = model.priors
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    typical = scale * (priors.noise_rate / priors.noise_shape) ** 0.5
    student = f"Student t({2.0 * priors.noise_shape:g})"
    gamma = f"1/sigma^2 ~ Gamma({priors.noise_shape:g}, {priors.noise_rate * scale**2:.3g})"
    rows = [
        ("mu", "", student, centre, typical / priors.mean_precision**0.5),
        ("sigma", "", gamma, typical, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["part", "term", "prior", "centre", "scale"])
    return table.set_index(["part", "term"])
