"""Messages of sites, one site's or merged: sums over rows, and never a row."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from bayesvb.argument_checks import shown
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.errors import DataError
from bayesvb.estimators.sites.columns import check_levels, pooled_levels, pooled_quantiles
from bayesvb.estimators.sites.contents import check_contents
from bayesvb.estimators.sites.runs import states, told_on
from bayesvb.storage.inspection import PlainFile
from bayesvb.storage.json_schema import ANYTHING, ListOf, MapOf, Record, check_json, parsed_json
from bayesvb.storage.netcdf import read_plain, write_tree

Arrays = Mapping[str, np.ndarray]

SAME = 1e-6
"""Relative difference of a divergence at two sites that is rounding."""

NODE = "site_statistics"
"""Node of the file with the arrays."""

VERSION = 2
"""Version of the messages: raised if earlier statistics can no longer be used."""

SETTINGS = Record({"tol": float, "max_iter": int, "covariance": str})
"""Settings of the run, equal at all sites."""

DESCRIPTION = Record(
    {
        "round": str,
        "n_sites": int,
        "n_rows": int,
        "model": Record(
            {"model": str, "formula": str, "options": MapOf(ANYTHING), "settings": SETTINGS}
        ),
        "levels": MapOf(ListOf(ANYTHING)),
    }
)
"""Name of the entry with everything except arrays."""


@dataclass(frozen=True, eq=False)
class SiteStatistics:
    """Statistics of the rows of one site, or of several that ``merge`` has put together.

    Attributes
    ----------
    round : {"columns", "scales", "starts", "sums", "finished"}
        Latest report.
    model : Mapping
        Class, formula, options and settings, the same at all sites.
    n_sites, n_rows : int
        Sites that these are of, and their rows.
    own : Mapping of str to ndarray
        Report of a site in this round; empty after merging.
    known : Mapping of str to ndarray
        Reports of all sites in earlier rounds.
    levels : Mapping of str to list
        Columns that the formula reads, with the levels of those that have some.
    """

    round: str
    model: Mapping[str, Any]
    n_sites: int
    n_rows: int
    own: Arrays = field(default_factory=dict, repr=False)
    known: Arrays = field(default_factory=dict, repr=False)
    levels: Mapping[str, list[object]] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether there is a fit, and nothing further to report."""
        return self.round == "finished"

    @property
    def n_passes(self) -> int:
        """Passes over the rows of all sites so far."""
        return int(self.known.get("passes", np.zeros(1))[0])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all to one file with a checksum, which ``merge`` and ``site_statistics`` read."""
        import xarray as xr

        record = {name: getattr(self, name) for name in DESCRIPTION.required} | {"version": VERSION}
        arrays = {f"own.{name}": values for name, values in self.own.items()}
        arrays |= {f"known.{name}": values for name, values in self.known.items()}
        variables = {
            name: ([f"{name}_{axis}" for axis in range(values.ndim)], values)
            for name, values in arrays.items()
        }
        tree = xr.DataTree(xr.Dataset(attrs={"site_statistics": json.dumps(record)}))
        tree[NODE] = xr.DataTree(xr.Dataset(variables))
        return write_tree(tree, path)


def read(source: object, name: str) -> SiteStatistics:
    """Statistics, or the content of a file.

    Raises
    ------
    DataError
        If it is neither, or the file is damaged.
    """
    if isinstance(source, SiteStatistics):
        return _checked(source, name)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"{name}={shown(source)} must be a result of site_statistics() or "
            "merge_site_statistics(), or the path of a file that its save() wrote"
        )
    file = read_plain(source)
    try:
        sums = _of_file(file)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _none(f"{name}={os.fspath(source)!r}", error) from error
    return _checked(sums, f"{name}={os.fspath(source)!r}")


def _checked(sums: SiteStatistics, name: str) -> SiteStatistics:
    """The statistics, if they have the content of their round."""
    try:
        check_levels(sums.levels)
        check_contents(sums.round, sums.own, sums.known, sums.levels)
        if sums.n_sites < 1 or sums.n_rows < 1:
            raise DataError(f"they are of {sums.n_rows} rows of {sums.n_sites} sites")
    except DataError as error:
        raise _none(name, error) from error
    return sums


def _none(name: str, error: Exception) -> DataError:
    """Error that names the requirement that a source does not meet, and why."""
    said = error.why if isinstance(error, DataError) else str(error)
    return DataError(
        f"{name} does not hold statistics of sites: {said}",
        hint="give a file that site_statistics(...).save() wrote, with the same version of bayesvb "
        "at all sites",
    )


def _of_file(file: PlainFile) -> SiteStatistics:
    """Statistics of a file that has been opened."""
    text = file.attribute("site_statistics")
    if not isinstance(text, str):
        raise DataError("the file has no attribute site_statistics")
    record = parsed_json(text)
    version = record.get("version", 1) if isinstance(record, dict) else None
    if version != VERSION:
        raise DataError(
            f"its format is version {shown(version)}, but this version of bayesvb reads {VERSION}"
        )
    check_json(record, DESCRIPTION, "site_statistics")
    parts: dict[str, dict[str, np.ndarray]] = {"own": {}, "known": {}}
    for name, values in file.numbers(NODE).items():
        role, _, rest = name.partition(".")
        if role not in parts:
            raise DataError(f"it has an unknown array {name!r}")
        parts[role][rest] = values.astype(float)
    given = {key: record[key] for key in DESCRIPTION.required}
    return SiteStatistics(**given, own=parts["own"], known=parts["known"])


def merged(parts: Sequence[SiteStatistics]) -> SiteStatistics:
    """Statistics of all sites together; see ``merge``.

    Raises
    ------
    DataError
        If they are not of one model and one round.
    """
    first = parts[0]
    for number, part in enumerate(parts):
        _check_alike(first, part, number)
    n_sites = sum(part.n_sites for part in parts)
    whole = replace(first, own={}, n_sites=n_sites, n_rows=sum(part.n_rows for part in parts))
    if first.round == "finished":
        return whole
    if first.round == "columns":
        whole = replace(whole, levels=pooled_levels([part.levels for part in parts]))
    if first.round == "sums":
        return replace(whole, known=_sums(parts))
    merge = {"columns": _columns, "scales": _scales, "starts": _starts}[first.round]
    return replace(whole, known={**first.known, **merge(parts)})


def _check_alike(first: SiteStatistics, part: SiteStatistics, number: int) -> None:
    """Refuse statistics of another model, another round, or another history."""
    where = f"parts[{number}]"
    if part.round != first.round:
        raise DataError(
            f"{where} belongs to round {part.round!r}, but parts[0] to round {first.round!r}",
            hint="call site_statistics() at all sites with the same agreed=",
        )
    for name, mine in first.model.items():
        if part.model.get(name) != mine:
            raise DataError(
                f"{where} has another {name} than parts[0]: {shown(part.model.get(name))}",
                hint=f"parts[0] has {shown(mine)}; use the same model at all sites",
            )
    if first.round != "finished" and not part.own:
        raise DataError(
            f"{where} is a merged result", hint="give the result of site_statistics() of each site"
        )
    same = first.known.keys() == part.known.keys() and all(
        np.array_equal(values, part.known[name]) for name, values in first.known.items()
    )
    alike = first.round == "columns" or part.levels == first.levels
    if not same or not alike or set(part.own) != set(first.own):
        raise DataError(
            f"{where} was computed from other merged statistics than parts[0]",
            hint="call site_statistics() at all sites with the same agreed=",
        )


def told_moments(moments: ColumnMoments) -> np.ndarray:
    """Weight, mean, standard deviation and root mean square of every column, then the triangle.

    No extremes, and no triangle where products are not needed.
    """
    weight = np.full_like(moments.mean, moments.weight)
    triangle = [] if moments.triangle is None else [moments.triangle]
    return np.vstack([weight, moments.mean, moments.deviation, moments.root, *triangle])


def moments_of(numbers: np.ndarray) -> ColumnMoments:
    """Moments that have been reported; extremes are one standard deviation away."""
    weight, mean, deviation, root = numbers[:4]
    ends = (mean - deviation, mean + deviation)
    triangle = numbers[4:] if len(numbers) > 4 else None
    return ColumnMoments(float(weight[0]), mean, deviation, root, *ends, triangle)


def _columns(parts: Sequence[SiteStatistics]) -> dict[str, np.ndarray]:
    """Values that represent all rows, by column."""
    every, curved = [part.own["quantiles"] for part in parts], parts[0].own["curved"]
    if not all(np.array_equal(part.own["curved"], curved) for part in parts):
        raise DataError(
            "the sites report quantiles of different columns",
            hint="give each column one type at all sites: one is numeric at some sites only",
        )
    pooled = pooled_quantiles(every, [part.n_rows for part in parts])
    return {"curved": curved, "quantiles": pooled}


def _scales(parts: Sequence[SiteStatistics]) -> dict[str, np.ndarray]:
    """Counts and moments of all rows, by the name of the part."""
    scales = {}
    for name, mine in parts[0].own.items():
        every = [np.asarray(part.own[name]) for part in parts]
        _check_shapes(every, f"columns of {name!r}")
        if name == "learned":
            if not all(np.allclose(one, mine, rtol=SAME, atol=SAME) for one in every):
                raise DataError(
                    "the sites do not make the same columns of the formula",
                    hint="use the same versions of bayesvb and formulaic at all sites",
                )
        elif name == "counts":
            scales[name] = np.sum(every, axis=0)
        elif name == "responses":
            scales[name] = pooled_quantiles(every, [part.n_rows for part in parts])
        else:
            scales[name] = told_moments(reduce(add, map(moments_of, every)))
    return scales


def _check_shapes(every: Sequence[np.ndarray], what: str) -> None:
    """Refuse arrays of different shapes."""
    if any(one.shape != every[0].shape for one in every):
        raise DataError(f"the sites differ in the number of {what}")


def _starts(parts: Sequence[SiteStatistics]) -> dict[str, np.ndarray]:
    """Initial states of every site."""
    every = [part.own["starts"] for part in parts]
    _check_shapes([one[:1] for one in every], "entries of 'starts'")
    return {"starts": np.concatenate(every)}


def _sums(parts: Sequence[SiteStatistics]) -> dict[str, np.ndarray]:
    """Known arrays with the sums over the rows of all sites, and the states of the runs."""
    first = parts[0].own
    for number, part in enumerate(parts):
        at = part.own["at"]
        same = np.array_equal(part.own["owners"], first["owners"]) and len(at) == len(first["at"])
        if not same or not np.allclose(at, first["at"], rtol=SAME, atol=SAME):
            raise _apart(f"parts[{number}] has sums at another posterior than the first part")
    for name, mine in states(first).items():
        every = [part.own[name] for part in parts]
        _check_shapes(every, f"entries of {name!r}")
        size = SAME * max(float(np.abs(mine).max(initial=0.0)), 1.0)
        near = "stats." not in name or all(np.allclose(one, mine, SAME, size) for one in every)
        if not near:
            raise _apart(f"{name!r} differs")
    sums = [part.own["sums"] for part in parts]
    _check_shapes(sums, "sums")
    return told_on(parts[0].known, first, np.sum(sums, axis=0))


def _apart(why: str) -> DataError:
    """Error for sites whose runs diverged."""
    return DataError(
        f"the sites are not at the same iteration: {why}",
        hint="use the same version of bayesvb at all sites",
    )
