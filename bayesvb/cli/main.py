"""The command line: fit, select, predict, report, compare, data sets, and a demonstration."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesvb.cli.effects_command import effects
from bayesvb.cli.messages import Commands, end_if, interrupts_noted
from bayesvb.cli.options import (
    LABELS,
    METHOD,
    REPORT_FORMATS,
    SETTINGS,
    TRANSFORM,
    UNITS,
    csv_format,
    model_of,
    model_options,
    numbers,
    run_options,
    values,
    whole_numbers,
)
from bayesvb.cli.result_commands import check, loo, summary
from bayesvb.cli.tables import check_outputs, read_table, with_units, write_csv
from bayesvb.cli.workbench_command import workbench
from bayesvb.data.csv_files import CsvFormat
from bayesvb.data.line_width import number_text
from bayesvb.distributions.prediction import KINDS
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.progress import line_per_restart, progress_line
from bayesvb.estimators import MODELS, AbstractEstimator, DensityRegression
from bayesvb.formula.missing import MissingValues
from bayesvb.formula.new_rows import NEW_GROUPS, NEW_GROUPS_ALIASES, NEW_LEVELS, Unseen
from bayesvb.model_selection.selection import CRITERIA

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

EVERY_KIND = list(dict.fromkeys([*KINDS, *(k for m in MODELS.values() for k in m.own_kinds)]))
"""Kinds of prediction that some model has."""

DEMO_PAGE = Path("bayesvb-demo") / "geyser.html"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bayesvb", prog_name="bayesvb")
def main() -> None:
    """Variational Bayes for conditional mixtures: how a whole distribution depends on covariates.

    Bad input ends with one message and exit code 2.
    """


@main.command()
@click.option("-o", "--output", help=f"Page to write.  [default: {DEMO_PAGE}]")
def demo(output: str | None) -> None:
    """Fit the eruptions of Old Faithful and write a report."""
    from bayesvb.datasets import describe, load

    page = output or str(DEMO_PAGE)
    if output is None:
        DEMO_PAGE.parent.mkdir(exist_ok=True)
    check_outputs([page])
    data = load("geyser").query("duration not in [2, 3, 4]")  # recorded as short, medium, long
    model = DensityRegression(describe("geyser").formula, data, n_components=3)
    fitted = _fitted(model, restarts=8, seed=1)
    click.echo(f"{fitted}\n")
    click.echo(fitted.report(page))


@main.command()
@click.argument("formula")
@click.argument("data")
@model_options
@click.option(
    "--components",
    type=int,
    help="Number of components, the experts of network.  [default: 5; of network 10; of pca one "
    "less than variables, or than rows]",
)
@UNITS
@METHOD
@SETTINGS
@click.option("--restarts", default=8, show_default=True, help="Runs from different starts.")
@click.option(
    "--max-iter",
    default=2000,
    show_default=True,
    help="Iterations of a run at most; see --tol.",
)
@run_options
@click.option("--seed", type=int, help="Same seed, same numbers.  [default: a fresh one]")
@click.option("--report", help="Page to write: .html, .md, .json or .png.")
@click.option("--save", help="File for the fit, to be read by predict, report and compare.")
@csv_format
def fit(
    formula: str,
    data: str,
    *,
    model: str,
    components: int | None,
    weights: str | None,
    units: dict[str, str],
    method: str,
    settings: dict[str, object],
    restarts: int,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    progress: bool | None,
    seed: int | None,
    report: str | None,
    save: str | None,
    form: CsvFormat,
    **own: object,
) -> None:
    """Fit FORMULA to DATA: a CSV or Parquet file, the name of a shipped data set, or - for stdin.

    Example: bayesvb fit "accel ~ s(times)" mcycle --components 3 --seed 1

    Ctrl-C ends the fit early; the result so far is printed and written, and the exit code is 130.
    """
    check_outputs([report, save], inputs=[data])
    options = {"n_components": components, **own}
    table = with_units(read_table(data, form), units)
    described = model_of(model, formula, table, weights=weights, options=options)
    ENGINES[method].with_options(**settings)  # what --set names must be the engine's own
    asked = {"max_iter": max_iter, "tol": tol, "n_jobs": n_jobs, "seed": seed, **settings}
    with interrupts_noted() as interrupted:
        fitted = _fitted(described, method, restarts=restarts, shown=progress, **asked)
    if save is not None:
        fitted.save(save)
    click.echo(str(fitted))
    if report is not None:
        fitted.report(report)
    end_if(interrupted)


@main.command()
@click.argument("formula")
@click.argument("data")
@model_options
@click.option("--components", default="1-8", show_default=True, callback=whole_numbers,
              help="Numbers to try: 1-8, or 1,2,4.")  # fmt: skip
@click.option("--criterion", type=click.Choice(CRITERIA), default="loo", show_default=True)
@UNITS
@METHOD
@click.option("--restarts", default=8, show_default=True, help="Runs of each fit.")
@click.option("--tol", type=float, default=1e-3, show_default=True, help="As of fit.")
@click.option("--n-jobs", type=int, help="Fits at the same time.  [default: all processors]")
@click.option("--seed", type=int, help="Same seed, same numbers.  [default: a fresh one]")
@click.option("--report", help="Report to write: the candidates, the chosen fit, and the best one.")
@click.option("--save", help="File for the fit that is chosen.")
@csv_format
def select(
    formula: str,
    data: str,
    *,
    model: str,
    components: list[int],
    criterion: str,
    weights: str | None,
    units: dict[str, str],
    method: str,
    restarts: int,
    tol: float,
    n_jobs: int | None,
    seed: int | None,
    report: str | None,
    save: str | None,
    form: CsvFormat,
    **own: object,
) -> None:
    """Fit FORMULA to DATA with several numbers of components, and choose one.

    Example: bayesvb select "waiting ~ 1" faithful --components 1-4 --seed 1

    Ctrl-C keeps the fits that are finished, and the exit code is 130.
    """
    from bayesvb.model_selection.selection import select as select_among

    check_outputs([report, save], inputs=[data])
    table = with_units(read_table(data, form), units)
    described = model_of(model, formula, table, weights=weights, options=own)
    asked: dict[str, Any] = {"restarts": restarts, "tol": tol, "method": method}
    with interrupts_noted() as interrupted:
        selection = select_among(
            described, components, criterion, seed=seed, n_jobs=n_jobs, **asked
        )
    if save is not None:
        selection.best.save(save)
    click.echo(str(selection))
    if report is not None:
        selection.report(report)
    end_if(interrupted)


def _fitted(
    model: AbstractEstimator,
    method: str = DEFAULT_METHOD,
    *,
    restarts: int,
    shown: bool | None = None,
    **options: Any,
) -> Fit:
    """Fit with a progress line where stderr is a terminal, or as ``shown`` says."""
    if shown is False or (shown and not sys.stderr.isatty()):
        callback = line_per_restart(restarts, sys.stderr) if shown else None
        return model.fit(method, restarts=restarts, progress=callback, **options)
    with progress_line(restarts, sys.stderr) as progress:
        return model.fit(method, restarts=restarts, progress=progress, **options)


@main.command()
@click.argument("saved")
@click.argument("data")
@click.option("--kind", type=click.Choice(EVERY_KIND),
              help="Quantity to predict.  [default: mean; of classes probability]")  # fmt: skip
@click.option("--q", callback=numbers, help="Probabilities of the quantiles: 0.05,0.5,0.95")
@click.option("--at", callback=values, help="Values of the response, for cdf and density.")
@click.option("--prob", type=float, help="Probability of the interval.")
@click.option("--response", help="Which variable, if there are several.")
@click.option("--n", type=int, help="Number of draws.")
@click.option("--seed", type=int, help="Seed of the draws.")
@click.option("--recalibrate", "--calibrated", "recalibrate", is_flag=True,
              help="Recalibrate by held-out rows (quantile, interval, cdf, density).")  # fmt: skip
@TRANSFORM
@click.option("--new-groups", type=click.Choice([*NEW_GROUPS, *NEW_GROUPS_ALIASES]),
              help="Effect of a new group: integrated over the distribution of "
                   "groups, or zero.  [default: marginal]")  # fmt: skip
@click.option("--new-levels", type=click.Choice(NEW_LEVELS), default="error", show_default=True,
              help="Prediction for a new level of another column.")  # fmt: skip
@click.option("-o", "--output", help="CSV file to write.  [default: stdout]")
@csv_format
def predict(
    saved: str,
    data: str,
    *,
    kind: str | None,
    q: list[float] | None,
    at: list[float] | list[str] | None,
    prob: float | None,
    response: str | None,
    n: int | None,
    seed: int | None,
    recalibrate: bool,
    transform: str | None,
    new_groups: str | None,
    new_levels: str,
    output: str | None,
    form: CsvFormat,
) -> None:
    """Predictions of the fit SAVED, one line for each row of DATA, which may be - for stdin.

    A row that lacks a value has empty predictions.
    """
    from bayesvb.estimators.loading import load

    check_outputs([output], inputs=[saved, data])
    fitted, rows = load(saved), read_table(data, form)
    given: dict[str, Any] = {
        "q": q,
        "at": at,
        "prob": prob,
        "response": response,
        "n": n,
        "seed": seed,
        "transform": transform,
        "new_groups": new_groups,
        "new_levels": new_levels,
    }
    write_csv(fitted.predict(rows, kind, recalibrate=recalibrate, missing="keep", **given), output)
    design = fitted.model.design.with_unseen(Unseen(levels=new_levels))
    _tell_unusable(design.missing_in(rows), int((~design.new(rows).complete).sum()))


def _tell_unusable(missing: MissingValues, unusable: int) -> None:
    """Warn of rows without a prediction, and say why they have none."""
    if missing.lacking:
        click.echo(f"warning: {missing}", err=True)
    if strange := unusable - missing.lacking:
        what = f"{strange} of {missing.rows} rows have levels or numbers that the fit cannot use"
        click.echo(f"warning: {what}", err=True)


@main.command()
@click.argument("saved")
@click.option("-o", "--output", required=True, help="Page to write: .html, .md or .json.")
@click.option("--format", "form", type=click.Choice(REPORT_FORMATS),
              help="Format of the file.  [default: by its ending]")  # fmt: skip
@click.option("--edition", type=click.Choice(("short", "full")),
              help="Two printed pages, or all, open.  [default: all, the rest closed]")  # fmt: skip
@click.option("--question", help="Heading of the page.")
@click.option("--along", help="Covariate of the finding and the picture.")
@LABELS
@click.option("--source", help="Where the data come from.")
@click.option("--note", "notes", multiple=True, help="Remark of the author; once for each.")
def report(saved: str, output: str, *, form: str | None, **choices: Any) -> None:
    """Write a page about the fit SAVED: self-contained HTML, Markdown, JSON, or a picture."""
    from bayesvb.estimators.loading import load

    check_outputs([output], inputs=[saved])
    click.echo(load(saved).report(output, format=form, **choices))


@main.command()
@click.argument("saved", nargs=-1, required=True)
@click.option("--report", help="Page to write: .html, .md or .json.")
@click.option("--jacobian", is_flag=True,
              help="Compare log(y) with y: densities of the data as they are.")  # fmt: skip
def compare(saved: tuple[str, ...], report: str | None, *, jacobian: bool) -> None:
    """Compare fits to the same rows by leave-one-out cross-validation, best first."""
    from bayesvb.estimators.loading import load
    from bayesvb.results.comparison import compare as compare_fits

    check_outputs([report], inputs=saved)
    fits = {name: load(path) for name, path in _names(saved).items()}
    table = compare_fits(fits, jacobian=jacobian)
    click.echo(table.to_string(float_format=number_text))
    click.echo(f"Rows are held out {table.attrs['left out']}.")
    if report is not None:
        from bayesvb.reports import report as write_report

        write_report(fits, report)


def _names(paths: tuple[str, ...]) -> Mapping[str, str]:
    """Paths by a name for the table: the shortest unique ones."""
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


for command in (check, effects, loo, summary, workbench):
    main.add_command(command)
