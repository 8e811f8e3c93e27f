"""Pictures of the benchmarks of networks, and their table of folds as Markdown.

    python tests/benchmarks/plot_networks.py

Reads network_sizes.csv, network_table.csv, network_scaling.csv and network_folds.csv of
docs/benchmarks as they are: data sets that are not there yet are left out. Writes
docs/images/network_*.png, and the tables of docs/benchmarks/networks.md between the comments that
mark them.
"""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from tables import RESULTS

from bayesvb.drawing.palette import LIGHT, dash, marker

IMAGES = RESULTS.parent / "images"
PAGE = RESULTS / "networks.md"
COLOURS = 32
"""Colours of a picture: few lines on white need no more."""

WAYS = {
    "single": "one start",
    "average": "average of 16",
    "stack": "stack of 16",
    "likelihood": "maximum likelihood",
    "logistic": "logistic regression",
    "bbvi": "BBVI",
    "nuts": "NUTS",
}
LEAST = -1.6
"""Log density at which a panel ends: maximum likelihood falls to minus ten."""

TABLE = {
    "one_start": "coordinate ascent, one start",
    "stack": "coordinate ascent, stack",
    "likelihood": "maximum likelihood",
    "likelihood, as published": "maximum likelihood, as published",
    "bbvi": "BBVI",
    "nuts": "NUTS",
    "logistic": "logistic regression",
}
PUBLISHED = "likelihood, as published"
MEASURES = {
    "lpd": "log predictive density",
    "accuracy": "accuracy",
    "ece": "calibration error",
}
VARIED = {"columns": "columns of the data", "experts": "experts", "latents": "latent entries"}
STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": LIGHT.mute,
    "axes.labelcolor": LIGHT.ink,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT.line,
    "grid.linewidth": 0.6,
    "text.color": LIGHT.ink,
    "xtick.color": LIGHT.mute,
    "ytick.color": LIGHT.mute,
    "legend.frameon": False,
}


def title(name: str) -> str:
    """Name of a data set as it is written."""
    return name.replace("_", " ")


def sizes(frame: pd.DataFrame) -> Figure:
    """A row of panels for each data set: three measures against the number of training rows."""
    names = list(dict.fromkeys(frame["data"]))
    figure, grid = plt.subplots(
        len(names), 3, figsize=(8.6, 0.75 + 1.75 * len(names)), squeeze=False, layout="constrained"
    )
    for row, name in zip(grid, names, strict=True):
        one = frame[frame["data"] == name]
        for axes, (measure, words) in zip(row, MEASURES.items(), strict=True):
            _curves(axes, one, measure)
            axes.set_title(f"{title(name)}: {words}")
    for axes in grid[-1]:
        axes.set_xlabel("training rows")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=5)
    return figure


def _curves(axes: Axes, frame: pd.DataFrame, measure: str) -> None:
    """One line for each method."""
    for number, (way, label) in enumerate(WAYS.items()):
        one = frame[frame["way"] == way].sort_values("n")
        colour = LIGHT.colour(number)
        axes.plot(one["n"], one[measure], marker(number), linestyle=dash(number), color=colour,
                  linewidth=1.5, markersize=4.0, label=label)  # fmt: skip
        if measure == "lpd":
            reach = one["lpd_se"].fillna(0.0).to_numpy()
            axes.vlines(one["n"], one["lpd"] - reach, one["lpd"] + reach, color=colour, linewidth=1)
    _at_values(axes, sorted(set(frame.loc[frame["way"] == "single", "n"])))
    if measure == "ece":
        axes.set_ylim(bottom=0.0)
    if measure == "lpd":
        low, high = max(axes.get_ylim()[0], LEAST), frame[measure].max()
        axes.set_ylim(low, high + 0.05 * (high - low))


def _at_values(axes: Axes, values: list[int]) -> None:
    """A logarithmic axis with ticks where the values are."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()


def scaling(frame: pd.DataFrame) -> Figure:
    """Time of a sweep against what is varied while the rest stays."""
    figure, grid = plt.subplots(1, 3, figsize=(9.4, 2.3), layout="constrained")
    for axes, (varied, words) in zip(grid, VARIED.items(), strict=True):
        one = frame[frame["varied"] == varied]
        for number, (posterior, line) in enumerate(one.groupby("posterior", sort=False)):
            axes.plot(line[varied], line["ms"], marker(number), linestyle=dash(number),
                      color=LIGHT.colour(number), linewidth=1.5, markersize=4.0,
                      label=posterior)  # fmt: skip
        fixed = ", ".join(f"{one[k].iloc[0]} {k}" for k in VARIED if k != varied)
        axes.set_title(fixed)
        axes.set_xlabel(words)
        axes.set_xticks(one[varied].unique())
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
    grid[0].set_ylabel("ms per iteration or gradient")
    handles, labels = grid[-1].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside right center",
        title="iterations, by\nlatent posterior,\nand gradients",
    )
    return figure


def folds(frame: pd.DataFrame) -> Figure:
    """Difference to logistic regression, with two standard errors."""
    figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.3 * len(frame)), layout="constrained")
    places = np.arange(len(frame))
    axes.axvline(0.0, color=LIGHT.mute, linewidth=1.0)
    axes.hlines(places, frame["diff"] - 2.0 * frame["se"], frame["diff"] + 2.0 * frame["se"],
                color=LIGHT.accent, linewidth=1.6)  # fmt: skip
    axes.plot(frame["diff"], places, "o", color=LIGHT.accent, markersize=5.0)
    axes.set_yticks(places, [title(name) for name in frame["data"]])
    axes.set_ylim(len(frame) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("log predictive density minus that of logistic regression (nats per row)")
    return figure


def folds_table(frame: pd.DataFrame) -> str:
    """The ten folds as Markdown."""
    heads = ("data", "rows", "log density", "logistic", "difference (se)", "accuracy", "logistic",
             "ECE", "logistic", "WAIC", "LOO", "NUTS, WAIC of the paper")  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for one in frame.to_dict("records"):
        cells = (
            title(one["data"]),
            str(one["rows"]),
            f"{one['network_lpd']:.3f}",
            f"{one['logistic_lpd']:.3f}",
            f"{one['diff']:+.3f} ({one['se']:.3f})",
            f"{one['network_accuracy']:.3f}",
            f"{one['logistic_accuracy']:.3f}",
            f"{one['network_ece']:.3f}",
            f"{one['logistic_ece']:.3f}",
            f"{one['waic_per_row']:.3f}",
            f"{one['loo_per_row']:.3f}",
            f"{one['nuts_waic_of_the_paper']:.3f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def methods_table(frame: pd.DataFrame) -> str:
    """Table 1 as Markdown, from the largest training set of each data set that all methods have.

    Log density of new rows with accuracy, then WAIC with the printed number, then CPU time.
    """
    ways = frame.groupby(["data", "n"])["way"].nunique().unstack()
    largest = ways.eq(ways.max(axis=1), axis=0).iloc[:, ::-1].idxmax(axis=1)
    largest = frame[frame["n"] == frame["data"].map(largest)]
    fits = {(fit["data"], fit["way"]): fit for fit in largest.to_dict("records")}
    printed = [way for way in TABLE if frame.loc[frame["way"] == way, "printed"].notna().any()]
    fitted = [way for way in TABLE if way != PUBLISHED]
    tables = [
        _matrix(fits, list(TABLE), "log density (accuracy)", "lpd", "accuracy"),
        _matrix(fits, printed, "WAIC (printed)", "waic", "printed"),
        _matrix(fits, fitted, "CPU time, s", "seconds"),
    ]
    return "\n".join("\n".join(lines) + "\n" for lines in tables)


def _matrix(
    fits: dict[tuple[str, str], dict], ways: list[str], head: str, *columns: str
) -> list[str]:
    """Lines of a table with a row for each data set and a column for each method."""
    lines = [f"| {head} | " + " | ".join(TABLE[way] for way in ways) + " |"]
    lines.append("|" + "---|" * (len(ways) + 1))
    for data in sorted({data for data, _ in fits}):
        row = [title(data)]
        for way in ways:
            fit = fits.get((data, way), {})
            value, *others = (_shown(column, fit.get(column, np.nan)) for column in columns)
            row.append(" ".join([value, *(f"({other})" for other in others if other)]).strip())
        lines.append("| " + " | ".join(row) + " |")
    return lines


def _shown(column: str, value: float) -> str:
    """A number with three places, seconds with two digits; an empty cell."""
    if np.isnan(value):
        return ""
    if column == "seconds":
        return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
    return f"{value:.3f}"


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table between its marks."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, rest = page.split(start)
    return before + start + table + end + rest.split(end)[1]


def keep(figure: Figure, name: str) -> None:
    """Write a picture with few colours."""
    path = IMAGES / f"{name}.png"
    figure.savefig(path, dpi=130, facecolor="white", metadata={"Software": None})
    plt.close(figure)
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    """Three pictures and two tables."""
    matplotlib.use("Agg")
    plt.rcParams.update(STYLE)
    table = pd.read_csv(RESULTS / "network_table.csv")
    rivals = table[table["way"].isin(list(WAYS)[3:])]
    every = pd.read_csv(RESULTS / "network_sizes.csv")
    keep(sizes(pd.concat([every, rivals])), "network_sizes")
    keep(scaling(pd.read_csv(RESULTS / "network_scaling.csv")), "network_scaling")
    found = pd.read_csv(RESULTS / "network_folds.csv")
    keep(folds(found), "network_folds")
    if PAGE.exists():
        text = PAGE.read_text(encoding="utf-8")
        text = with_table(text, "folds", folds_table(found))
        text = with_table(text, "methods", methods_table(table))
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
