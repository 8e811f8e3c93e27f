"""The command for effects: predictions, comparisons and slopes of a saved fit."""

from __future__ import annotations

from typing import Any

import click

from bayesvb.cli.options import TRANSFORM, csv_format, numbers, values
from bayesvb.cli.tables import check_outputs, read_table, write_csv
from bayesvb.data.csv_files import CsvFormat
from bayesvb.errors import DataError

ALL = "all"
"""Value of --average-by that stands for one average over all rows."""


def columns(ctx: click.Context, param: click.Parameter, value: str | None) -> object:
    """Names with commas between them; True for all rows."""
    if value is None:
        return None
    return True if value == ALL else [name.strip() for name in value.split(",")]


@click.command()
@click.argument("saved")
@click.argument("covariates", nargs=-1)
@click.option("--contrast", help="A covariate: compare its values, all else equal.")
@click.option(
    "--ratio",
    is_flag=True,
    default=None,
    help="Ratios, with --contrast: risk, rate or odds ratios where the response has them.",
)
@click.option("--slope", help="A covariate: derivatives with respect to it, all else equal.")
@click.option("--target", help="Property of the response: mean, sd, quantile, probability, ...")
@click.option("--q", callback=numbers, help="Probabilities, for --target quantile.")
@click.option("--above", callback=values, help="Value, for --target probability.")
@click.option("--below", callback=values, help="Value, for --target probability.")
@click.option("--at", callback=values, help="Values, for --target density.")
@click.option("--response", help="Which response, if there are several.")
@TRANSFORM
@click.option("--prob", type=float, help="Probability of the intervals.")
@click.option("--data", help="Rows at which effects are evaluated, instead of a grid.")
@click.option("--average-by", callback=columns,
              help=f"Average over the rows, by these columns; {ALL} for one average.")  # fmt: skip
@click.option("-o", "--output", help="CSV file to write.  [default: a printed table]")
@csv_format
def effects(
    saved: str,
    covariates: tuple[str, ...],
    *,
    contrast: str | None,
    slope: str | None,
    data: str | None,
    output: str | None,
    form: CsvFormat,
    **options: Any,
) -> None:
    """Effects of COVARIATES in the fit SAVED, with intervals, on a grid of their values.

    Examples
    --------
      bayesvb effects fit.nc times --target quantile --q 0.1,0.9

      bayesvb effects fit.nc --slope income --average-by all
    """
    from bayesvb.effects import comparisons, predictions, slopes
    from bayesvb.estimators.loading import load

    check_outputs([output], inputs=[saved, *([] if data is None else [data])])
    if contrast is not None and slope is not None:
        raise DataError("--contrast and --slope exclude each other", hint="use one of them")
    given = {name: value for name, value in options.items() if value is not None}
    if "ratio" in given and contrast is None:
        raise DataError("--ratio needs --contrast", hint="name a covariate: --contrast x --ratio")
    for name in ("above", "below"):
        if len(given.get(name, ())) == 1:
            given[name] = given[name][0]
    fit = load(saved)
    rows = None if data is None else read_table(data, form)
    grid = list(covariates) or None
    if contrast is not None:
        table = comparisons(fit, contrast, grid, data=rows, **given)
    elif slope is not None:
        table = slopes(fit, slope, grid, data=rows, **given)
    else:
        table = predictions(fit, grid, data=rows, **given)
    if output is None:
        text = str(table).replace("more: .summary", "more: -o FILE.csv")
        click.echo(text.replace("average_by=True", "--average-by all"))
    else:
        write_csv(table.summary, output)
