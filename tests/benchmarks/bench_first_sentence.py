"""How often the first sentence of a report, and the clauses that follow it, are false.

Null designs: no covariate changes the response, or its spread is constant. Wrong designs: the
formula, the number of components or the family does not fit. Crossing designs: the sign of an
effect depends on another covariate. Without a caveat a sentence is false

- direction: to state a direction of the average effect over the observed rows that it does not
  have,
- size: to state a direction with an interval that excludes the true average effect if three times
  as wide,
- one sign: to state one direction (no shares) though 10% of the rows or more have the other one,
- spread: to state a direction of the standard deviation that it does not have, or anything of it
  with one component.

Sentences that name a problem of a check beside the change make no claim ("caveat"); those that
begin with "Provisional:", as another check is a problem, do, and are counted too. Of crossing
designs it is also counted how often the sentences state the shares of the rows by sign, and how
often they name the other covariate.

    python tests/benchmarks/bench_first_sentence.py --null 300 --wrong 300 --crossing 100
"""

import argparse
import re
import time
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.reports.sections.finding import sentences

ROWS = 120
"""Rows of each data set: few, so that errors are not rare."""

CHANGE = re.compile(
    r"the (mean|standard deviation) of y (rises|falls) by (\S+?)(?: on average)? "
    r"\(89% interval (\S+) to (\S+)\)"
)

LEAD = re.compile(r"[Ff]rom (\w+) = (\S+) to (\S+)")


def noise(rng, n):
    """Responses that no covariate changes: one covariate, or the strongest of four."""
    names = ["x", "w", "u", "v"][: rng.choice([1, 4])]
    data = pd.DataFrame(rng.normal(size=(n, len(names))), columns=names)
    return data, f"y ~ {' + '.join(names)}", lambda rows: 0.0 * rows["x"], rng.normal(size=n), 0


def line(rng, n):
    """A line of 2 to 5 standard errors with constant spread."""
    data, slope = pd.DataFrame({"x": rng.normal(size=n)}), rng.uniform(2.0, 5.0) / np.sqrt(n)
    return data, "y ~ x", lambda rows: slope * rows["x"], rng.normal(size=n), 0


def growing(rng, n):
    """Spread that grows 4.2-fold; the mean rises."""
    x = rng.uniform(0.0, 1.0, n)
    spread = 0.5 * 4.2**x * rng.normal(size=n)
    return pd.DataFrame({"x": x}), "y ~ x", lambda rows: rows["x"], spread, 1


def crossing(rng, n):
    """An effect whose sign depends on a second covariate; the formula knows it or does not."""
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "w"])
    formula = str(rng.choice(["y ~ x * w", "y ~ x + w"]))
    return (data, formula, lambda rows: 3.0 * rows["x"] * rows["w"] + 0.3 * rows["x"],
            rng.normal(size=n), 0)  # fmt: skip


def heavy(rng, n):
    """Noise with two degrees of freedom, which nothing changes."""
    data = pd.DataFrame({"x": rng.normal(size=n)})
    return data, "y ~ x", lambda rows: 0.0 * rows["x"], rng.standard_t(2.0, n), 0


def curve(rng, n):
    """A parabola with its turn near the median, fitted by a line."""
    data = pd.DataFrame({"x": rng.normal(size=n)})
    return data, "y ~ x", lambda rows: (rows["x"] + 0.3) ** 2, rng.normal(size=n), 0


KINDS = {"null": (noise, line), "wrong": (growing, heavy, curve), "crossing": (crossing,)}


def true_changes(data, mean, name, *ends):
    """Change of the mean in each row between the two values that the sentence compares."""
    low, high = (mean(data.assign(**{name: float(end.replace("\u2212", "-"))})) for end in ends)
    return high - low


def judged(design, seed, n_components):
    """Which kinds of false statements the sentences of one fit hold."""
    data, formula, mean, noise, spread = design(np.random.default_rng(seed), ROWS)
    rows = data.assign(y=mean(data) + noise)
    model = bvb.DensityRegression(formula, rows, n_components=n_components)
    text = " ".join(sentences(model.fit(seed=seed, restarts=2, draws=500)))
    stated = {what: numbers for what, *numbers in CHANGE.findall(text)}
    found = dict.fromkeys(("direction", "size", "one sign", "spread"), False)
    if "mean" in stated:
        true = true_changes(data, mean, *LEAD.search(text).groups())
        verb, _, low, high = stated["mean"]
        sign = {"rises": 1.0, "falls": -1.0}[verb]
        low, high = float(low), float(high)
        found["direction"] = not sign * true.mean() > 0.0
        found["size"] = abs(sign * true.mean() - (low + high) / 2.0) > 1.5 * (high - low)
        found["one sign"] = (sign * true < 0.0).mean() >= 0.1 and "of the rows" not in text
    if "standard deviation" in stated:
        found["spread"] = {"rises": 1, "falls": -1}[stated["standard deviation"][0]] != spread
    if n_components == 1:
        found["spread"] = "deviation" in text or "wide" in text
    return {"false": any(found.values()), **found, "caveat": "The fit fails" in text,
            "provisional": text.startswith("Provisional:"), "direction stated": "mean" in stated,
            "shares stated": "of the rows" in text,
            "other covariate named": len(set(re.findall(r"\b[xw]\b", text))) == 2}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, total in (("null", 300), ("wrong", 300), ("crossing", 100)):
        parser.add_argument(f"--{kind}", type=int, default=total)
    parser.add_argument("--first", type=int, default=10_000, help="first seed")
    parser.add_argument("--components", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    lines, began = [], time.process_time()
    for kind, designs in KINDS.items():
        total = getattr(arguments, kind)
        cells = [(design, k) for design in designs for k in arguments.components]
        for number, (design, k) in enumerate(cells):
            repeats = total // len(cells) + (number < total % len(cells))
            if not repeats:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seeds = range(arguments.first, arguments.first + repeats)
                found = pd.DataFrame([judged(design, seed, k) for seed in seeds])
            lines.append({"kind": kind, "design": design.__name__, "components": k,
                          "fits": repeats, **found.sum().astype(int).to_dict()})  # fmt: skip
            print(lines[-1], f"{time.process_time() - began:.0f} s", flush=True)
    keep(pd.DataFrame(lines), "first_sentence", by="design")


if __name__ == "__main__":
    main()
