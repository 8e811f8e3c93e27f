"""The command line: fit, predict, report, compare, data sets, and a demonstration."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesvb.cli_messages import Commands
from bayesvb.cli_tables import check_outputs, read_table, write_csv
from bayesvb.errors import DataError
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.gates import GATES
from bayesvb.predict import KINDS
from bayesvb.progress import progress_line
from bayesvb.workbench import COMMAND_NAMES, MODELS, AbstractWorkbench, DensityRegression

if TYPE_CHECKING:
    from bayesvb.fit import Fit

EVERY_KIND = list(dict.fromkeys([*KINDS, *(k for m in MODELS.values() for k in m.own_kinds)]))
"""Kinds of prediction that some model has."""

DEMO_PAGE = Path("bayesvb-demo") / "mcycle.html"


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if value is None else [float(word) for word in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0.05,0.5") from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bayesvb", prog_name="bayesvb")
def main() -> None:
    """Variational Bayes for conditional mixtures: how a whole distribution depends on covariates.

    Bad input ends with one message and exit code 2.
    """


@main.command()
@click.option("-o", "--output", help=f"Page to write.  [default: {DEMO_PAGE}]")
def demo(output: str | None) -> None:
    """Fit the motorcycle data and write a report."""
    from bayesvb.datasets import describe, load

    page = output or str(DEMO_PAGE)
    if output is None:
        DEMO_PAGE.parent.mkdir(exist_ok=True)
    check_outputs([page])
    model = DensityRegression(describe("mcycle").formula, load("mcycle"), n_components=3)
    fitted = _fitted(model, restarts=8, seed=1)
    click.echo(f"{fitted}\n")
    click.echo(fitted.report(page))


@main.command()
@click.argument("formula")
@click.argument("data")
@click.option(
    "--model", type=click.Choice(list(COMMAND_NAMES)), default="density", show_default=True
)
@click.option(
    "--components",
    type=int,
    help="Number of components.  [default: 5; of pca one less than variables, or than rows]",
)
@click.option(
    "--gate",
    type=click.Choice(list(GATES)),
    help="How the weights depend on covariates (density).  [default: softmax]",
)
@click.option(
    "--covariance",
    type=click.Choice(list(GAUSSIAN_EXPERTS)),
    help="Form of the covariance matrices (gmm).  [default: full]",
)
@click.option(
    "--scale", is_flag=True, default=None, help="Divide each variable by its own sd (pca)."
)
@click.option("--weights", help="Column of case weights.")
@click.option("--restarts", default=8, show_default=True, help="Ascents from different starts.")
@click.option("--max-iter", default=2000, show_default=True, help="Passes of one ascent.")
@click.option("--seed", type=int, help="Same seed, same numbers.  [default: a fresh one]")
@click.option("--report", help="HTML page to write.")
@click.option("--save", help="File for the fit, to be read by predict, report and compare.")
def fit(
    formula: str,
    data: str,
    *,
    model: str,
    components: int | None,
    gate: str | None,
    covariance: str | None,
    scale: bool | None,
    weights: str | None,
    restarts: int,
    max_iter: int,
    seed: int | None,
    report: str | None,
    save: str | None,
) -> None:
    """Fit FORMULA to DATA: a CSV or Parquet file, or the name of a shipped data set.

    Example: bayesvb fit "accel ~ bs(times, df=5)" mcycle --components 3 --seed 1

    Ctrl-C ends the fit early; what it has reached is printed and written.
    """
    check_outputs([report, save], inputs=[data])
    given = {"n_components": components, "gate": gate, "covariance": covariance, "scale": scale}
    options = _options(model, {key: value for key, value in given.items() if value is not None})
    described = MODELS[COMMAND_NAMES[model]](formula, read_table(data), weights=weights, **options)
    fitted = _fitted(described, restarts=restarts, max_iter=max_iter, seed=seed)
    if save is not None:
        fitted.save(save)
    click.echo(str(fitted))
    if report is not None:
        fitted.report(report)


def _options(model: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The options that were given, if the model has them all."""
    taken = inspect.signature(MODELS[COMMAND_NAMES[model]]).parameters
    for name in given:
        if name not in taken:
            option = "--" + name.removeprefix("n_")
            raise DataError(f"{option} is not an option of --model {model}", hint="leave it out")
    return dict(given)


def _fitted(
    model: AbstractWorkbench, *, restarts: int, seed: int | None, max_iter: int = 2000
) -> Fit:
    """Fit with a progress line where stderr is a terminal."""
    with progress_line(restarts, sys.stderr) as watch:
        return model.fit(restarts=restarts, max_iter=max_iter, seed=seed, progress=watch)


@main.command()
@click.argument("saved")
@click.argument("data")
@click.option("--kind", type=click.Choice(EVERY_KIND), default="mean", show_default=True)
@click.option("--q", callback=numbers, help="Probabilities of the quantiles: 0.05,0.5,0.95")
@click.option("--at", callback=numbers, help="Values of the response, for cdf and density.")
@click.option("--prob", type=float, help="Probability of the interval.")
@click.option("--response", help="Which variable, if there are several.")
@click.option("--n", type=int, help="Number of draws.")
@click.option("--seed", type=int, help="Seed of the draws.")
@click.option("-o", "--output", help="CSV file to write.  [default: stdout]")
def predict(
    saved: str,
    data: str,
    *,
    kind: str,
    q: list[float] | None,
    at: list[float] | None,
    prob: float | None,
    response: str | None,
    n: int | None,
    seed: int | None,
    output: str | None,
) -> None:
    """Predictions of the fit SAVED, one line for each row of DATA.

    A row that lacks a value has empty predictions.
    """
    from bayesvb.saving import load

    check_outputs([output], inputs=[saved, data])
    fitted, rows = load(saved), read_table(data)
    table = fitted.predict(rows, kind, q=q, at=at, prob=prob, response=response, n=n, seed=seed)
    write_csv(table, output)
    missing = int((~fitted.model.rows(rows).complete).sum())
    if missing:
        click.echo(f"warning: {missing} of {len(rows)} rows lack a value", err=True)


@main.command()
@click.argument("saved")
@click.option("-o", "--output", required=True, help="HTML page to write.")
def report(saved: str, output: str) -> None:
    """Write a self-contained HTML page about the fit SAVED."""
    from bayesvb.saving import load

    check_outputs([output], inputs=[saved])
    click.echo(load(saved).report(output))


@main.command()
@click.argument("saved", nargs=-1, required=True)
@click.option("--report", help="HTML page to write.")
def compare(saved: tuple[str, ...], report: str | None) -> None:
    """Compare fits to the same rows by leave-one-out cross-validation, best first."""
    from bayesvb.comparison import compare as compare_fits
    from bayesvb.saving import load

    check_outputs([report], inputs=saved)
    fits = {name: load(path) for name, path in _names(saved).items()}
    click.echo(compare_fits(fits).to_string(float_format=lambda x: f"{x:.4g}"))
    if report is not None:
        from bayesvb.reports import report as write_report

        write_report(fits, report)


def _names(paths: tuple[str, ...]) -> Mapping[str, str]:
    """Paths by a name for the table: as short as tells them apart."""
    short = {Path(path).stem: path for path in paths}
    return short if len(short) == len(paths) else {os.fspath(path): path for path in paths}


@main.command("datasets")
@click.argument("name", required=False)
def list_datasets(name: str | None) -> None:
    """Shipped data sets and simulations; with NAME source, licence and columns of one."""
    from bayesvb.datasets import describe, names

    if name is not None:
        click.echo(describe(name))
        return
    for known in names():
        described = describe(known)
        click.echo(f"{known:14} {described.rows:6}  {described.sentence}")
