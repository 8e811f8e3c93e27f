"""Numbers as a reader wants them: even decimals, true minus signs, no code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

LARGE = 1e7
"""From here on a number is written with a power of ten."""

SMALL = 1e-4
"""Below it too, where a number stands alone."""

MOST_DECIMALS = 6

YEARS = (1000.0, 2999.0)
"""Whole numbers that may be years, if all values of a covariate are between them."""


PROBABILITY: Literal["probability"] = "probability"
"""Three decimals, and never exactly zero or one."""

Decimals = int | Literal["probability"] | None


def numeral(value: object, decimals: Decimals = None) -> str:
    """A cell of a table or a number in a sentence.

    Parameters
    ----------
    value : None, bool, int, float, str or list
        None is a dash, a list an interval; text stays as it is.
    decimals : int or PROBABILITY, optional
        By default three significant digits.

    Examples
    --------
    >>> numeral(-0.12345), numeral(1234567), numeral(2.5e-9), numeral(None)
    ('−0.123', '1,234,567', '2.5×10⁻⁹', '–')
    >>> numeral(0.0, PROBABILITY), numeral(0.25, PROBABILITY), numeral(1.0, PROBABILITY)
    ('< 0.001', '0.250', '> 0.999')
    """
    if value is None:
        return "–"
    if isinstance(value, list | tuple):
        return " to ".join(numeral(one, decimals) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if decimals == PROBABILITY:
        return "< 0.001" if value < 0.0005 else "> 0.999" if value > 0.9995 else f"{value:.3f}"
    if abs(value) >= LARGE or (decimals is None and 0.0 < abs(value) < SMALL):
        return _scientific(value)
    digits = significant([value]) if decimals is None else decimals
    rounded = f"{value:,.{digits}f}"
    return rounded.lstrip("-") if not rounded.strip("-0.") else rounded.replace("-", "−")


def covariate_numeral(
    values: Sequence[float] | np.ndarray,
) -> Callable[[float, Decimals], str]:
    """Function that writes values of a covariate; without commas if all of them may be years.

    Examples
    --------
    >>> [covariate_numeral([least, 1990.0])(1956.0, 0) for least in (1956.0, 500.0)]
    ['1956', '1,956']
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if ((known < YEARS[0]) | (known > YEARS[1]) | (known != np.round(known))).any():
        return numeral
    return lambda value, decimals: numeral(value, decimals).replace(",", "")


def signed(value: float, decimals: Decimals = None) -> str:
    """A difference, with its sign also where it is positive.

    Examples
    --------
    >>> signed(0.25, 2), signed(-0.25, 2), signed(0.001, 2)
    ('+0.25', '−0.25', '0.00')
    """
    text = numeral(float(value), decimals)
    return f"+{text}" if value > 0.0 and text.strip("0.") else text


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPTS)}".replace("-", "−", 1)


def powers_written_out(words: str) -> str:
    """Words in which numbers such as 1e-08 are written as powers of ten.

    Examples
    --------
    >>> powers_written_out("Gamma(0.01, 1e-08)")
    'Gamma(0.01, 10⁻⁸)'
    """

    def written(found: re.Match[str]) -> str:
        power = f"10{str(int(found[2])).translate(SUPERSCRIPTS)}"
        return power if found[1] == "1" else f"{found[1]}×{power}"

    return re.sub(r"(\d[\d.]*)e([+-]?\d+)", written, words)


def significant(values: Sequence[float] | np.ndarray, digits: int = 3) -> int:
    """Decimals that show the typical value to this number of significant digits.

    Examples
    --------
    >>> significant([0.5, 0.25, 0.001]), significant([1234.5])
    (3, 0)
    """
    sizes = np.abs(np.asarray(values, dtype=float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    if not sizes.size:
        return 0
    leading = math.floor(math.log10(float(np.median(sizes))))
    return int(np.clip(digits - 1 - leading, 0, MOST_DECIMALS))


def percent(share: float, decimals: int = 0) -> str:
    """A share as a percentage: never 0% for a positive share, nor 100% for less than all.

    Examples
    --------
    >>> percent(0.8912, 1), percent(0.9968), percent(1.0), percent(0.00001)
    ('89.1%', '99.7%', '100%', '< 0.1%')
    """
    number = 100.0 * float(share)
    if 0.0 < number < 100.0 and round(number, decimals) in (0.0, 100.0):
        decimals = 1
        if round(number, decimals) in (0.0, 100.0):
            return "< 0.1%" if number < 50.0 else "> 99.9%"
    return f"{numeral(number, decimals)}%"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{numeral(number)} {noun if number == 1 else plural or noun + 's'}"


def enumerated(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    Examples
    --------
    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
