"""Names of other packages for attributes of a fit, for the message when one is used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

NAMED_HERE: Mapping[str, tuple[str, ...]] = {
    "fit.coef()": ("coefficients", "coef_", "params", "fixef", "beta"),
    "fit.components()": ("sigma", "scale", "weights_", "means_", "clusters", "n_components_"),
    "fit.elbo": ("lower_bound_", "log_evidence", "bound"),
    "fit.fitted()": ("fittedvalues", "fitted_values"),
    "fit.idata": ("inference_data", "to_arviz", "to_inference_data", "datatree"),
    "fit.log_density(data)": ("score_samples", "llf", "loglik", "logLik", "log_prob", "logpdf"),
    "fit.model.design.frame": ("data", "model_frame", "X"),
    "fit.model.formula.text": ("formula", "call"),
    "fit.hypothesis('x > 0')": ("t_test", "wald_test", "linear_hypothesis", "test"),
    "fit.r2()": ("rsquared", "bayes_R2", "r2_score", "R2"),
    "fit.loo()": ("aic", "bic", "AIC", "BIC", "elpd", "psis_loo", "kfold"),
    "fit.plot()": ("plot_predictions", "plot_fit"),
    "fit.pp_check()": ("plot_ppc", "ppc", "ppc_plot", "posterior_predictive_check"),
    "fit.predict(data, 'density', at=values)": ("density", "pdf", "predict_density"),
    "fit.predict(data, 'draws', n=100)": ("posterior_predict", "sample", "simulate", "draw"),
    "fit.predict(data, 'interval')": ("predict_interval", "prediction_interval", "get_prediction"),
    "fit.predict(data, 'probability')": ("predict_proba", "probabilities", "predict_probability"),
    "fit.predict(data, 'quantile', q=[0.1, 0.9])": ("predict_quantiles", "quantile", "quantiles"),
    "fit.residuals()": ("resid", "resid_response", "resid_pearson"),
    "fit.weights_at(data)": ("weights", "mixing_proportions", "proportions"),
    "fit.responsibilities()": ("labels_", "cluster", "memberships", "posterior_probabilities"),
    "fit.save(path)": ("to_netcdf", "dump", "to_pickle", "write"),
    "fit.summary()": ("conf_int", "confint", "hdi", "describe", "bse", "pvalues", "summarize"),
    "fit.vcov()": ("cov_params", "covariance_matrix", "cov"),
    "bvb.effects.comparisons(fit, 'x')": ("comparisons", "contrasts"),
    "bvb.effects.comparisons(fit)": ("avg_comparisons", "average_effects"),
    "bvb.effects.curves(fit)": ("smooths", "plot_smooths", "partial_effects", "curves"),
    "bvb.effects.groups(fit)": ("ranef", "random_effects", "group_effects", "groups"),
    "bvb.effects.predictions(fit)": ("margins", "emmeans", "predictions"),
    "bvb.effects.predictions(fit, average_by=True)": ("avg_predictions",),
    "bvb.effects.slopes(fit, 'x')": ("marginal_effects", "effects", "slopes"),
    "bvb.effects.slopes(fit)": ("get_margeff", "avg_slopes"),
    "bvb.cross_validate(model)": ("cross_validate", "cross_val_score", "cv"),
    "bvb.compare({'a': fit, 'b': other})": ("compare", "anova", "compare_models"),
}  # fmt: skip
"""Attributes here, and their names elsewhere."""


def meant(name: str, own: Collection[str]) -> str | None:
    """Replacement for ``fit.name``; None if no name is similar.

    Parameters
    ----------
    name : str
        An attribute that a fit does not have.
    own : collection of str
        The attributes that it has.

    Examples
    --------
    >>> meant("predict_proba", ())
    "fit.predict(data, 'probability')"
    >>> meant("sumary", ("predict", "summary"))
    'fit.summary'
    """
    for here, elsewhere in NAMED_HERE.items():
        if name in elsewhere:
            return here
    near = get_close_matches(name, [one for one in own if not one.startswith("_")], 1, 0.75)
    return f"fit.{near[0]}" if near else None


def meant_of_model(name: str, own: Collection[str], of_fit: Collection[str]) -> str | None:
    """Replacement for ``model.name``, mostly an attribute of the fit.

    Parameters
    ----------
    name : str
        An attribute that a model does not have.
    own, of_fit : collection of str
        The attributes that models and fits have.

    Examples
    --------
    >>> meant_of_model("predict", ("fit", "prior_table"), ("predict", "summary"))
    'fit = model.fit(seed=1), then fit.predict'
    >>> meant_of_model("prior_tabel", ("fit", "prior_table"), ())
    'model.prior_table'
    """
    near = get_close_matches(name, [one for one in own if not one.startswith("_")], 1, 0.75)
    there = f"fit.{name}" if name in of_fit else meant(name, () if near else of_fit)
    if there is None:
        return f"model.{near[0]}" if near else None
    return f"fit = model.fit(seed=1), then {there}"
