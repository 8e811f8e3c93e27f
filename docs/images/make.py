"""Draws mcycle.png beside this file: python docs/images/make.py."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import bayesvb as bvb

matplotlib.use("Agg")

OUTPUT = Path(__file__).with_name("mcycle.png")
INK, BLUE, PAPER = "#1f2933", "#1d5f8a", "#ffffff"
FORMULA = "accel ~ s(times) | gating(s(times))"
EDGES = np.arange(0.05, 0.5, 0.05)  # lower probabilities of the central intervals


def fit():
    data = bvb.datasets.load("mcycle")
    return data, bvb.DensityRegression(FORMULA, data, n_components=3).fit(seed=1)


def draw(data, fitted):
    times = np.linspace(data["times"].min(), data["times"].max(), 500)
    probabilities = [*EDGES, 0.5, *(1 - EDGES[::-1])]
    quantiles = fitted.predict({"times": times}, kind="quantile", q=probabilities).to_numpy().T
    figure, axes = plt.subplots(figsize=(8, 4.2), dpi=150, facecolor=PAPER)
    for band in range(len(EDGES)):
        low, high = quantiles[band], quantiles[-1 - band]
        axes.fill_between(times, low, high, color=BLUE, alpha=0.1, linewidth=0)
    axes.plot(times, quantiles[len(EDGES)], color=BLUE, linewidth=2)
    axes.scatter(
        data["times"], data["accel"], s=17, color=INK, alpha=0.75, linewidth=0.6, edgecolor=PAPER,
        zorder=3,
    )  # fmt: skip
    return figure, axes


def dress(axes):
    axes.set_xlabel("time after impact (ms)", color=INK)
    axes.set_ylabel("head acceleration (g)", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9aa5b1")
    axes.tick_params(color="#9aa5b1", labelcolor=INK)
    axes.margins(x=0.01)
    axes.annotate(
        "median",
        (26.2, -60),
        (29.5, -95),
        color=BLUE,
        arrowprops={"arrowstyle": "-", "color": BLUE},
    )
    axes.text(38.5, 62, "10 %, 20 %, … 90 % of the\nconditional distribution", color="#52606d")


def main():
    plt.rcParams["font.size"] = 11
    data, fitted = fit()
    figure, axes = draw(data, fitted)
    dress(axes)
    figure.tight_layout()
    figure.savefig(OUTPUT, metadata={"Software": None})
    with Image.open(OUTPUT) as drawn:
        drawn.convert("RGB").quantize(128).save(OUTPUT, optimize=True)


if __name__ == "__main__":
    main()
