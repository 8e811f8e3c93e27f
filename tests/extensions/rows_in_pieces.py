"""Fit to a file that is read in pieces."""

import pandas as pd

import bayesvb as bvb
from bayesvb.data.generated_rows import GeneratedRows
from bayesvb.engines import ENGINES
from bayesvb.engines.base import Budget
from bayesvb.engines.restarts import search
from bayesvb.numerics.streams import Streams

first = pd.read_csv("rows.csv", nrows=100)
model = bvb.DensityRegression("accel ~ times", first, n_components=3)


def blocks():
    """Standardised rows of the file, some at a time."""
    for piece in pd.read_csv("rows.csv", chunksize=40):
        yield model.block(model.rows(piece, response=True))


source = GeneratedRows.of(blocks, workers=2)
engine, streams = ENGINES["cavi"], Streams(1, 3)
search_result = search(model.core, source, engine, restarts=3, budget=Budget(), streams=streams)
posterior = model.core.update(search_result.final.stats)
