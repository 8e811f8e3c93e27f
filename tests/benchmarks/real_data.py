"""Real data for cross-validation: the rows, and one formula for all parametric methods.

Formulas were written down before any fit: straight lines where the literature draws straight
lines, natural splines where it smooths. Counts and grades (rings, quality) are spread evenly over
one unit around the integer, as no method should win by spikes on the integers; the log density is
then a lower bound of the log probability of the count.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from tables import data_folder

import bayesvb as bvb


@dataclass(frozen=True)
class RealData:
    """A data set: its file, its formula, and a response that is an integer."""

    name: str
    formula: str
    shipped: bool = False
    file: str = ""
    integer: str = ""
    read: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame

    def load(self) -> pd.DataFrame | None:
        """All rows; None if the file is not there."""
        if self.shipped:
            return bvb.datasets.load(self.name)
        folder = data_folder()
        path = None if folder is None else folder / f"{self.file or self.name}.csv"
        if path is None or not path.exists():
            return None
        frame = self.read(pd.read_csv(path))
        if self.integer:
            spread = np.random.default_rng(0).uniform(-0.5, 0.5, len(frame))
            frame[self.integer] = frame[self.integer] + spread
        return frame


def spline(term: str, df: int) -> str:
    """Natural cubic spline, linear outside the range of the rows it was made from."""
    return f"cr({term}, df={df}, constraints='center')"


REAL_DATA = (
    RealData("mcycle", f"accel ~ {spline('times', 6)}", shipped=True),
    RealData("lidar", f"logratio ~ {spline('range', 6)}"),
    RealData("faithful", "waiting ~ eruptions", shipped=True),
    RealData("engel", "foodexp ~ income", shipped=True),
    RealData(
        "cps1985",
        "log(wage) ~ education + experience + I(experience**2) + gender + ethnicity + region"
        " + union + married",
        shipped=True,
    ),
    RealData("dde", f"gestational_age_days ~ {spline('dde', 4)}"),
    RealData("dutch_boys_bmi", f"bmi ~ {spline('sqrt(age)', 6)}"),
    RealData(
        "munich_rent",
        f"rent ~ {spline('area', 4)} + {spline('year_built', 4)} + C(location) + bath + kitchen"
        " + central_heating",
    ),
    RealData("abalone", "rings ~ .", integer="rings"),
    RealData(
        "concrete",
        "compressive_strength ~ cement + blast_furnace_slag + fly_ash + water + superplasticizer"
        " + coarse_aggregate + fine_aggregate + log(age)",
    ),
    RealData("wine", "quality ~ .", file="wine_quality_red", integer="quality"),
)
