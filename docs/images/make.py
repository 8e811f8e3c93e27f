"""Draw the pictures of README and of the first page of docs: python docs/images/make.py."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from PIL import Image

import bayesvb as bvb

matplotlib.use("Agg")

OUTPUT = Path(__file__).with_name("geyser.png")
INK, GREY, LINE, BLUE, PAPER = "#1f2933", "#52606d", "#9aa5b1", "#1d5f8a", "#ffffff"
SHADES = LinearSegmentedColormap.from_list("shades", [PAPER, "#cfe0ec", "#5b9ac4", BLUE])
WAITS = (50, 65, 80, 95)
"""Waiting times at which the right panel shows the density."""
DURATIONS = np.linspace(0.5, 6.0, 276)
CUT = 1.6
"""Density of the darkest shade: below the peaks, so that the broad component stays visible."""


def fit():
    data = bvb.datasets.load("geyser").query("duration not in [2, 3, 4]")
    return data, bvb.DensityRegression("duration ~ waiting", data, n_components=3).fit(seed=1)


def densities(fitted, waits):
    """Density at each duration (rows) for each wait (columns)."""
    rows = {"waiting": np.tile(waits, len(DURATIONS)), "duration": DURATIONS.repeat(len(waits))}
    return np.exp(fitted.log_density(rows).to_numpy()).reshape(len(DURATIONS), len(waits))


def draw_distribution(axes, data, fitted):
    waits = np.linspace(data["waiting"].min() - 2, data["waiting"].max() + 2, 250)
    axes.pcolormesh(
        waits, DURATIONS, densities(fitted, waits), cmap=SHADES, vmin=0.0, vmax=CUT,
        rasterized=True,
    )  # fmt: skip
    axes.scatter(data["waiting"], data["duration"], s=15, color=INK, alpha=0.75, linewidth=0)
    axes.set_xlabel("waiting time before the eruption (min)", color=INK)
    axes.set_ylabel("duration of the eruption (min)", color=INK)


def draw_densities(axes, fitted):
    for base, density in enumerate(densities(fitted, WAITS).T):
        left, height = 1.15 * base, 0.42 * density
        axes.fill_betweenx(DURATIONS, left, left + height, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(left + height, DURATIONS, color=BLUE, linewidth=1.4)
        axes.axvline(left, color=LINE, linewidth=0.6)
    axes.set_xticks(1.15 * np.arange(len(WAITS)), [f"{wait}" for wait in WAITS])
    axes.set_xlabel("density after a wait of … min", color=INK)
    axes.set_xlim(-0.1, None)


def style(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(color=LINE, labelcolor=GREY)


def draw_crash(axes):
    """Observed accelerations with central 50% and 90% of their distribution."""
    data = bvb.datasets.load("mcycle")
    model = bvb.DensityRegression("accel ~ s(times) | sigma(s(times))", data, n_components=1)
    times = np.linspace(data["times"].min(), data["times"].max(), 250)
    q = [0.05, 0.25, 0.5, 0.75, 0.95]
    band = model.fit(seed=1).predict({"times": times}, "quantile", q=q).to_numpy().T
    for low, shade in ((0, 0.18), (1, 0.3)):
        axes.fill_between(times, band[low], band[4 - low], color=BLUE, alpha=shade, linewidth=0)
    axes.plot(times, band[2], color=BLUE, linewidth=1.6)
    axes.scatter(data["times"], data["accel"], s=15, color=INK, alpha=0.75, linewidth=0)
    axes.set_xlabel("time after the impact (ms)", color=INK)
    axes.set_ylabel("acceleration (g)", color=INK)


def draw_clusters(axes):
    """Eruptions by their cluster, over the density."""
    data = bvb.datasets.load("faithful")
    fitted = bvb.GaussianMixture("~ eruptions + waiting", data, n_components=2).fit(seed=1)
    sides = [np.linspace(1.2, 5.5, 80), np.linspace(38.0, 100.0, 80)]
    rows = dict(zip(data, (grid.ravel() for grid in np.meshgrid(*sides)), strict=True))
    density = fitted.predict(rows, "density").to_numpy().reshape(80, 80)
    kinds = data.groupby(fitted.predict(kind="class"))
    axes.contour(*sides, density, levels=7, colors=LINE, linewidths=0.8)
    for (_, kind), colour in zip(kinds, (BLUE, INK), strict=True):
        axes.scatter(kind["eruptions"], kind["waiting"], s=12, color=colour, alpha=0.75)
    axes.set_xlabel("duration (min)", color=INK)
    axes.set_ylabel("waiting time (min)", color=INK)


def draw_classes(axes):
    """Largest class probability of a network over two covariates."""
    data = bvb.datasets.load("pinwheel", n=400, seed=1)
    fitted = bvb.ConditionalMixtureNetwork("label ~ .", data, n_experts=6).fit(seed=1, restarts=4)
    names = [name for name in data if name != "label"]
    sides = [np.linspace(data[name].min() - 0.3, data[name].max() + 0.3, 90) for name in names]
    rows = dict(zip(names, (grid.ravel() for grid in np.meshgrid(*sides)), strict=True))
    sure = fitted.predict(rows).max(axis=1).to_numpy().reshape(90, 90)
    axes.pcolormesh(*sides, sure, cmap=SHADES, vmin=0.2, vmax=1.0, rasterized=True)
    for marker, (_, kind) in zip("osD^v", data.groupby("label"), strict=True):
        axes.scatter(kind[names[0]], kind[names[1]], s=9, marker=marker, color=INK)
    axes.set_xlabel("first covariate", color=INK)
    axes.set_ylabel("second covariate", color=INK)


def draw_effects(axes):
    """Average effects of covariates on wages, as ratios."""
    data = bvb.datasets.load("cps1985")
    formula = "log(wage) ~ gender + union + married + education"
    fitted = bvb.DensityRegression(formula, data, n_components=1).fit(seed=1)
    table = bvb.effects.comparisons(fitted, transform="inverse", ratio=True).summary
    table = table.drop_duplicates("term").iloc[::-1]
    axes.axvline(1.0, color=LINE, linewidth=0.8)
    axes.hlines(range(len(table)), table["lower"], table["upper"], color=BLUE, linewidth=2)
    axes.scatter(table["estimate"], range(len(table)), color=BLUE, s=30)
    words = (table["term"] + "\n" + table["contrast"]).tolist()
    axes.set_yticks(range(len(table)), words, fontsize=9)
    axes.set_ylim(-0.5, len(table) - 0.5)
    axes.set_xlabel("ratio of the mean wage", color=INK)


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(128).save(path, optimize=True)


def main():
    plt.rcParams["font.size"] = 11
    data, fitted = fit()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 4.2), dpi=150, facecolor=PAPER, sharey=True, width_ratios=[3, 2]
    )
    draw_distribution(left, data, fitted)
    draw_densities(right, fitted)
    crash, axes = plt.subplots(figsize=(7, 3.8), dpi=130, facecolor=PAPER)
    draw_crash(axes)
    for one in (left, right, axes):
        style(one)
    left.set_ylim(0.5, 6.0)
    save(figure, OUTPUT)
    save(crash, OUTPUT.with_name("mcycle.png"))
    for name, draw in (
        ("clusters", draw_clusters), ("classes", draw_classes), ("effects", draw_effects)
    ):  # fmt: skip
        figure, axes = plt.subplots(figsize=(5, 3), dpi=100, facecolor=PAPER)
        draw(axes)
        style(axes)
        save(figure, OUTPUT.with_name(f"{name}.png"))


if __name__ == "__main__":
    main()
