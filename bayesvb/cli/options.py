"""Options that commands which fit share: options of the models, values with several numbers."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, cast

import click
import pandas as pd

from bayesvb.data.case_weights import MEANINGS
from bayesvb.data.csv_files import CsvFormat
from bayesvb.distributions.transformations import TRANSFORMATIONS
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.errors import DataError
from bayesvb.estimators import COMMAND_NAMES, MODELS, AbstractEstimator
from bayesvb.experts import EXPERTS, GAUSSIAN_EXPERTS
from bayesvb.gates import GATES
from bayesvb.results.back_transformation import INVERSE


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Numbers with commas between them."""
    try:
        return None if value is None else [float(word) for word in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0.05,0.5") from None


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if value is None else [name.strip() for name in value.split(",")]


def values(ctx: click.Context, param: click.Parameter, value: str | None) -> object:
    """Numbers with commas between them, or labels of levels."""
    try:
        return numbers(ctx, param, value)
    except click.BadParameter:
        return names(ctx, param, value)


OPTIONS = (
    click.option(
        "--model", type=click.Choice(list(COMMAND_NAMES)), default="density", show_default=True
    ),
    click.option(
        "--gate",
        type=click.Choice(list(GATES)),
        help="How the weights depend on covariates (density).  [default: softmax]",
    ),
    click.option(
        "--family",
        type=click.Choice(list(EXPERTS)),
        help="Distribution of the response in each component (density).  [default: gaussian]",
    ),
    click.option("--latent-dim", type=int, help="Length of the latent vector (network)."),
    click.option(
        "--covariance",
        type=click.Choice(list(GAUSSIAN_EXPERTS)),
        help="Form of the covariance matrices (gmm).  [default: full]",
    ),
    click.option(
        "--scale", is_flag=True, default=None, help="Divide each variable by its own sd (pca)."
    ),
    click.option(
        "--levels",
        callback=names,
        help="Levels of an ordered response of text: low,medium,high (density).",
    ),
    click.option("--group", help="Column of subjects that share one component (density)."),
    click.option("--weights", help="Column of case weights."),
    click.option(
        "--weight-type",
        "--weights-are",  # its former name
        type=click.Choice(MEANINGS),
        help="Rows counted more than once, or a survey's weights.  [default: frequency]",
    ),
)
"""Options of every command that fits a model, in the order of its help."""

METHOD = click.option(
    "--method",
    type=click.Choice(list(ENGINES)),
    default=DEFAULT_METHOD,
    show_default=True,
    help="What fits.",
)
"""Option ``--method`` of every command that fits a model."""


def settings(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, object]:
    """Options of an engine by name; numbers and true or false are read as such."""
    options: dict[str, object] = {}
    for given in value:
        name, equals, text = given.partition("=")
        if not (equals and name.isidentifier() and text):
            raise click.BadParameter(f"{given!r} is not of the form name=value, such as chains=4")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options


def _by_column(value: Sequence[str], what: str, example: str) -> dict[str, str]:
    """Texts by column."""
    pairs: dict[str, str] = {}
    for given in value:
        column, equals, text = given.rpartition("=")
        if not (equals and column and text):
            form = f"column={what}, such as {example}"
            raise click.BadParameter(f"{given!r} is not of the form {form}")
        pairs[column] = text
    return pairs


def units(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """Units by column."""
    return _by_column(value, "unit", "times=ms")


def labels(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """Labels by column."""
    return _by_column(value, "label", "educ=Education")


UNITS = click.option(
    "--unit",
    "units",
    multiple=True,
    callback=units,
    metavar="COLUMN=UNIT",
    help="Unit of a column, such as times=ms, for report and effects; once for each.",
)
"""Units of the columns of the data."""

LABELS = click.option(
    "--label",
    "labels",
    multiple=True,
    callback=labels,
    metavar="COLUMN=LABEL",
    help="Label of a column for readers; once for each.",
)
"""Labels of the columns in a report."""

SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    callback=settings,
    metavar="NAME=VALUE",
    help="An option of the method, such as chains=4; once for each.",
)
"""Options of the engine."""

TRANSFORM = click.option(
    "--transform",
    type=click.Choice([INVERSE, *TRANSFORMATIONS]),
    help="A function of the response: 'inverse' undoes the transformation in the formula, e.g. "
    "exp for log.",
)
"""Option of commands that describe the response."""

REPORT_FORMATS = ("html", "markdown", "json", "png")
"""Formats of a report."""

RUN_OPTIONS = (
    click.option(
        "--tol",
        type=float,
        default=1e-3,
        show_default=True,
        help="A run ends when all further iterations would increase the ELBO by less, in nats.",
    ),
    click.option("--n-jobs", type=int, help="Processors in use.  [default: all]"),
    click.option(
        "--progress/--no-progress",
        default=None,
        help="A line on stderr with the progress of the fit.  [default: on a terminal]",
    ),
)
"""Options that control a fit, of commands that fit."""

SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}

RANGE = re.compile(r"(\d+)-(\d+)")


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of all models."""
    return reduce(lambda given, option: option(given), reversed(OPTIONS), command)


def model_of(
    name: str,
    formula: str,
    data: pd.DataFrame,
    *,
    weights: str | None,
    options: Mapping[str, object],
) -> AbstractEstimator:
    """Model by its name on the command line, with the options that are given.

    Raises
    ------
    DataError
        If an option belongs to another model.
    """
    kind: type[Any] = MODELS[COMMAND_NAMES[name]]
    given: dict[str, object] = {key: value for key, value in options.items() if value is not None}
    taken = inspect.signature(kind).parameters
    if "n_components" in given and "n_experts" in taken:
        given["n_experts"] = given.pop("n_components")
    for key in given:
        if key not in taken:
            option = "--" + key.removeprefix("n_").replace("_", "-")
            raise DataError(f"{option} is not an option of --model {name}", hint="omit it")
    return cast(AbstractEstimator, kind(formula, data, weights=weights, **given))


def csv_format(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options that say how a CSV file is written; it is given a ``CsvFormat``."""

    @click.option("--sep", help="What separates values in DATA.  [default: recognised]")
    @click.option("--encoding", help="Encoding of DATA.  [default: utf-8, or else Latin-1]")
    @functools.wraps(command)
    def reading(*args: object, sep: str | None, encoding: str | None, **kwargs: object) -> None:
        mark = SEPARATOR_NAMES.get(sep, sep) if sep else None
        if mark is not None and len(mark) != 1:
            raise click.BadParameter(f"{sep!r} is not one character, or tab", param_hint="--sep")
        command(*args, form=CsvFormat(mark, encoding), **kwargs)

    return reading


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options for the length and the resources of a fit."""
    return reduce(lambda given, option: option(given), reversed(RUN_OPTIONS), command)


def whole_numbers(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Whole numbers with commas between them, or the first and the last of a range."""
    span = RANGE.fullmatch(value)
    if span is not None and int(span[1]) <= int(span[2]):
        return list(range(int(span[1]), int(span[2]) + 1))
    try:
        return [int(word) for word in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a range 1-8 nor numbers 1,2,4") from None
