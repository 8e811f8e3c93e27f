"""Types of arrays that many modules share, named by their axes.

A vector has one entry per row, draw, or term; other names list the axes in order. jaxtyping checks
in one call that axes of one name are equally long, whether an annotation is one of these or written
out. Shapes of one module are written out there.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

BatchArray = Float[np.ndarray, "*batch"]
BlockVector = Float[np.ndarray, " blocks"]
DimRows = Float[np.ndarray, "dims rows"]
DirectionEntries = Float[np.ndarray, "directions entries"]
DrawCoordinates = Float[np.ndarray, "draws coordinates"]
DrawExpertRows = Float[np.ndarray, "draws experts rows"]
DrawExpertTerms = Float[np.ndarray, "draws experts _"]
DrawExperts = Float[np.ndarray, "draws experts"]
DrawParameters = Float[np.ndarray, "draws numbers"]
DrawResponseRows = Float[np.ndarray, "draws responses rows"]
DrawRows = Float[np.ndarray, "draws rows"]
DrawTerms = Float[np.ndarray, "draws terms"]
DrawValues = Float[np.ndarray, "draws ..."]
DrawVector = Float[np.ndarray, " draws"]
EntryVector = Float[np.ndarray, " entries"]
ExpertRows = Float[np.ndarray, "experts rows"]
ExpertTerms = Float[np.ndarray, "experts _"]
ExpertValues = Float[np.ndarray, "experts ..."]
ExpertVector = Float[np.ndarray, " experts"]
Floats = Float[np.ndarray, "..."]
Indices = Int[np.ndarray, " chosen"]
PackedBatch = Float[np.ndarray, "*batch packed"]
PointRows = Float[np.ndarray, "points rows"]
PointVector = Float[np.ndarray, " points"]
ProbVector = Float[np.ndarray, " probs"]
ResponseRows = Float[np.ndarray, "responses rows"]
RowColumns = Float[np.ndarray, "rows _"]
RowIntegers = Int[np.ndarray, " rows"]
RowMask = Bool[np.ndarray, " rows"]
RowVector = Float[np.ndarray, " rows"]
SameShape = Float[np.ndarray, "*shape"]
TermRows = Float[np.ndarray, "terms rows"]
TermVector = Float[np.ndarray, " terms"]
