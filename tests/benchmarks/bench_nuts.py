"""What a draw of NUTS costs: steps by the form of the masses, milliseconds per gradient.

Two experts with 600 rows, and pinwheels with 400 rows and ten experts. ``--fits``: seconds of the
processor that four fits to data sets of 200 rows take one after the other, the first of which
compiles for all. Needs bayesvb[mcmc].
"""

import argparse
import importlib.util
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.engines.differentiated import Target, double_precision

ROWS = Path(__file__).resolve().parents[1] / "reference" / "two_experts" / "rows.csv"
REPEATS = 20


def models():
    two = pd.read_csv(ROWS)
    pinwheel = bvb.datasets.load("pinwheel", n=400, seed=1)
    return {
        "two experts, softmax": bvb.DensityRegression("y ~ x", two, n_components=2),
        "two experts, sticks": bvb.DensityRegression(
            "y ~ x", two, n_components=2, gate="stick-breaking"
        ),
        "pinwheel": bvb.ConditionalMixtureNetwork("label ~ x1 + x2", pinwheel, n_experts=10),
    }


def gradient_ms(model):
    """Shortest time of the processor for one gradient, once it is compiled."""
    import jax

    core = model.core
    with double_precision():
        target = Target.of(core, model.source)
        vector = target.space.vectors(core.prior_draws(1, np.random.default_rng(1)))[0]
        gradient = jax.jit(jax.grad(target.potential))
        jax.block_until_ready(gradient(vector))
        times = []
        for _ in range(REPEATS):
            began = time.process_time()
            jax.block_until_ready(gradient(vector))
            times.append(time.process_time() - began)
    return 1e3 * min(times)


def steps(model, dense):
    options = {"seed": 1, "restarts": 2, "draws": 400, "warmup": 300}
    return model.fit("nuts", **options, dense_mass=dense).findings["mean_steps"]


def fits():
    """Seconds of the processor of fits to other rows of the same shape."""
    rows = []
    for number in range(4):
        data = pd.read_csv(ROWS).sample(200, random_state=number)
        model = bvb.DensityRegression("y ~ x", data, n_components=2)
        for method, options in {
            "nuts": {"chains": 1, "warmup": 300, "draws": 399},
            "bbvi": {"steps": 1000},
        }.items():
            began = time.process_time()
            model.fit(method, seed=number, restarts=2, n_jobs=1, **options)
            rows.append(
                {"method": method, "fit": number + 1, "seconds": time.process_time() - began}
            )
    return pd.DataFrame(rows).pivot(index="method", columns="fit", values="seconds").reset_index()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", action="store_true", help="to several data sets")
    asked = parser.parse_args()
    if importlib.util.find_spec("numpyro") is None:
        print('skipped: pip install "bayesvb[mcmc]"')
        return
    if asked.fits:
        keep(fits(), "nuts_fits")
        return
    rows = []
    for name, model in models().items():
        found = {"model": name, "numbers": model.core.parameter_space().size}
        found["ms per gradient"] = gradient_ms(model)
        if name != "pinwheel":
            found["steps, dense masses"] = steps(model, True)
            found["steps, one mass each"] = steps(model, False)
        rows.append(found)
    keep(pd.DataFrame(rows), "nuts")


if __name__ == "__main__":
    main()
