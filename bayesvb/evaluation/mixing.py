"""Whether chains of draws agree: R-hat and effective sample sizes, as ArviZ computes them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import EntryVector


def mixing(chains: Float[np.ndarray, "chains draws entries"]) -> dict[str, EntryVector]:
    """Rank-normalised split R-hat and bulk effective sample size of every number.

    Parameters
    ----------
    chains : ndarray, shape (chains, draws, entries)

    Returns
    -------
    dict of str to ndarray
        ``r_hat`` and ``ess_bulk``; NaN of what never varies.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16(2).

    Examples
    --------
    >>> chains = np.random.default_rng(1).normal(size=(4, 250, 1))
    >>> found = mixing(chains)
    >>> bool(found["r_hat"][0] < 1.02), bool(found["ess_bulk"][0] > 500)
    (True, True)
    >>> bool(mixing(chains + np.arange(4.0)[:, None, None])["r_hat"][0] > 1.5)
    True
    """
    import xarray as xr

    from bayesvb.storage.arviz_objects import import_arviz

    arviz = import_arviz()
    (varies,) = np.nonzero(np.ptp(chains, axis=(0, 1)) > 0.0)
    data = xr.Dataset({"x": (("chain", "draw", "entry"), chains[..., varies])})
    measures = {
        "r_hat": np.full(chains.shape[-1], np.nan),
        "ess_bulk": np.full(chains.shape[-1], np.nan),
    }
    if len(varies):
        measures["r_hat"][varies] = arviz.rhat(data)["x"]
        measures["ess_bulk"][varies] = arviz.ess(data)["x"]
    return measures
