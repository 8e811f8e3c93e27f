"""Conjugate factors of the variational posterior, one family per file.

May import: linear, numerics.
"""

from __future__ import annotations

from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.factors.normal_gamma import FactorisedNormalGamma, NormalGamma
from bayesvb.factors.normal_wishart import NormalWishart

FACTORS = {
    "normal": Normal,
    "gamma": Gamma,
    "matrix-normal-gamma": MatrixNormalGamma,
    "normal-wishart": NormalWishart,
    "normal-gamma": NormalGamma,
    "factorised-normal-gamma": FactorisedNormalGamma,
    "dirichlet": Dirichlet,
}
