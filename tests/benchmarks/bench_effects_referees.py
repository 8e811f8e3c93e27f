"""Effects compared with those of marginaleffects (Python) and emmeans (R).

    python tests/benchmarks/bench_effects_referees.py [family ...]

1,000 rows, one component, `y ~ x * g + z` with wide priors (`coefficient_sd=100`) and 4,000 draws,
of Gaussian, binary, and count responses. The referees have the same model by maximum likelihood,
and standard errors by the delta method. For each verb: the number of values that are compared, the
largest difference of estimates in standard errors, and the least and largest ratio of standard
deviations (of half widths for simultaneous 95% intervals). Both referees must be installed; they
are not needed by the package. Writes docs/benchmarks/effects_referees.csv.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import marginaleffects as me
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.special import expit
from tables import keep

import bayesvb as bvb

N_ROWS, SEED, DRAWS = 1000, 1, 4_000
FORMULA = "y ~ x * g + z"
FITS = {
    "gaussian": lambda data: smf.ols(FORMULA, data).fit(),
    "bernoulli": lambda data: smf.logit(FORMULA, data).fit(disp=0),
    "poisson": lambda data: smf.poisson(FORMULA, data).fit(disp=0),
}
R_FITS = {"gaussian": "gaussian()", "bernoulli": "binomial()", "poisson": "poisson()"}
R_SCRIPT = """
suppressMessages(library(emmeans))
given <- commandArgs(TRUE)
d <- read.csv(given[1], stringsAsFactors = TRUE)
m <- glm(y ~ x * g + z, family = FAMILY, data = d)
means <- emmeans(m, ~ g)
show <- function(verb, table, value)
  cat(paste(verb, table[[value]], table$SE, sep = ","), sep = "\\n")
as_table <- function(result) as.data.frame(summary(result))
show("means of g", as_table(regrid(means)), 2)
show("pairs of g", as_table(pairs(regrid(means), reverse = TRUE)), "estimate")
show("pairs of g, link", as_table(pairs(means, reverse = TRUE)), "estimate")
trends <- emtrends(m, ~ g, var = "x")
show("slopes of x by g, link", as_table(trends), "x.trend")
show("pairs of slopes, link", as_table(pairs(trends, reverse = TRUE)), "estimate")
wide <- as.data.frame(confint(pairs(means, reverse = TRUE), adjust = "mvt"))
limits <- wide[, 5:6]
cat(paste("simultaneous, link", wide$estimate, (limits[[2]] - limits[[1]]) / 2, sep = ","),
    sep = "\\n")
"""


def draw(family: str, n_rows: int, seed: int) -> pd.DataFrame:
    """Rows with a covariate whose slope differs between the groups."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, n_rows))
    data = pd.DataFrame({"x": x, "z": z, "g": pd.Categorical(rng.choice(list("abc"), n_rows))})
    second, third = (data["g"] == "b").to_numpy(), (data["g"] == "c").to_numpy()
    eta = 0.3 + 0.4 * x - 0.3 * z + (0.5 + 0.3 * x) * second - 0.2 * third
    y = {
        "gaussian": eta + rng.standard_normal(n_rows),
        "bernoulli": (rng.random(n_rows) < expit(eta)).astype(float),
        "poisson": rng.poisson(np.exp(eta)).astype(float),
    }[family]
    return data.assign(y=y)


def ours(fit: bvb.Fit) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Estimates and standard deviations of each verb."""
    effects = bvb.effects
    link = "mean" if fit.model.family == "gaussian" else "link"
    levels = effects.predictions(fit, "g", target=link, prob=0.95)
    trends = effects.slopes(fit, "x", ["g"], target=link)
    results = {
        "avg_slopes": effects.slopes(fit),
        "avg_slopes by g": effects.slopes(fit, "x", by="g"),
        "avg_slopes, elasticity": effects.slopes(fit, "x", average_by=True, slope="dyex"),
        "avg_comparisons of g": effects.comparisons(fit, {"g": ["a", "b", "c"]}, by=True),
        "avg_predictions by g": effects.predictions(fit, by="g"),
        "means of g": effects.predictions(fit, "g"),
        "pairs of g": effects.predictions(fit, "g").pairs(),
        "pairs of g, link": levels.pairs(),
        "slopes of x by g, link": trends,
        "pairs of slopes, link": trends.pairs(),
    }
    found = {
        verb: (result.summary["estimate"].to_numpy(), result.summary["sd"].to_numpy())
        for verb, result in results.items()
    }
    wide = levels.pairs().summary
    half = ((wide["upper"] - wide["lower"]) / 2.0).to_numpy()
    return found | {"simultaneous, link": (wide["estimate"].to_numpy(), half)}


def by_marginaleffects(family: str, data: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Tables of marginaleffects for a fit by statsmodels."""
    fit = FITS[family](data)
    return {
        "avg_slopes": me.avg_slopes(fit, variables=["x", "z"]),
        "avg_slopes by g": me.avg_slopes(fit, variables="x", by="g"),
        "avg_slopes, elasticity": me.avg_slopes(fit, variables="x", slope="dyex"),
        "avg_comparisons of g": me.avg_comparisons(fit, variables={"g": "pairwise"}),
        "avg_predictions by g": me.avg_predictions(fit, by="g"),
    }


def by_emmeans(family: str, data: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Marginal means and trends of R's glm, at the means of other covariates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        data.to_csv(path, index=False)
        script = R_SCRIPT.replace("FAMILY", R_FITS[family])
        command = ["Rscript", "-e", script, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = [line.rsplit(",", 2) for line in done.stdout.splitlines()]
    table = pd.DataFrame(lines, columns=["verb", "estimate", "se"])
    numbers = table.assign(**table[["estimate", "se"]].astype(float))
    return {
        verb: (rows["estimate"].to_numpy(), rows["se"].to_numpy())
        for verb, rows in numbers.groupby("verb", sort=False)
    }


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for family in sys.argv[1:] or FITS:
        data = draw(family, N_ROWS, SEED)
        priors = bvb.Priors(coefficient_sd=100.0)
        model = bvb.DensityRegression(FORMULA, data, n_components=1, family=family, priors=priors)
        found = ours(model.fit(seed=SEED, draws=DRAWS))
        theirs = {
            verb: (table["estimate"].to_numpy(), table["std_error"].to_numpy())
            for verb, table in by_marginaleffects(family, data).items()
        }
        for referee, tables in (("marginaleffects", theirs), ("emmeans", by_emmeans(family, data))):
            for verb, (estimate, se) in tables.items():
                mine, sd = found[verb]
                ratio = sd / se
                rows.append({
                    "family": family, "verb": verb, "referee": referee, "values": len(se),
                    "difference": np.abs((mine - estimate) / se).max(),
                    "least sd ratio": ratio.min(), "largest sd ratio": ratio.max(),
                })  # fmt: skip
    keep(pd.DataFrame(rows), "effects_referees", by="family")


if __name__ == "__main__":
    main()
