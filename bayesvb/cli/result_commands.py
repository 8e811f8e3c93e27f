"""The commands for results of a saved fit: checks, parameters, leave-one-out."""

from __future__ import annotations

import click

from bayesvb.cli.tables import check_outputs, write_csv
from bayesvb.data.line_width import number_text, wrapped_text

OUTPUT = click.option("-o", "--output", help="CSV file to write.  [default: a printed table]")


@click.command()
@click.argument("saved")
@OUTPUT
def check(saved: str, output: str | None) -> None:
    """Check whether the fit SAVED agrees with its data and was computed well."""
    from bayesvb.estimators.loading import load

    check_outputs([output], inputs=[saved])
    table = load(saved).check()
    if output is None:
        click.echo(table)
    else:
        write_csv(table.drop(columns="edits").reset_index(), output)


@click.command()
@click.argument("saved")
@click.option("--prob", type=float, help="Probability of the intervals.")
@OUTPUT
def summary(saved: str, *, prob: float | None, output: str | None) -> None:
    """Print the fit SAVED, or write its parameters with intervals."""
    from bayesvb.distributions.intervals import PROB
    from bayesvb.estimators.loading import load

    check_outputs([output], inputs=[saved])
    fit = load(saved)
    if output is None and prob is None:
        click.echo(fit)
        return
    table = fit.summary(prob=PROB if prob is None else prob)
    if output is None:
        click.echo(table.to_string(float_format=number_text))
    else:
        write_csv(table.reset_index(), output)


@click.command()
@click.argument("saved")
def loo(saved: str) -> None:
    """Leave-one-out predictive density of the fit SAVED."""
    from bayesvb.estimators.loading import load

    click.echo(wrapped_text(str(load(saved).loo())))
