"""Formulas of the page, which are MathML, as TeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .tree import Element

SIGNS: Mapping[str, str] = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "η": r"\eta", "θ": r"\theta",
    "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi", "π": r"\pi",
    "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "ω": r"\omega", "Σ": r"\Sigma", "Λ": r"\Lambda",
    "∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∣": r"\mid", "⊤": r"\top", "∼": r"\sim",
    "−": "-", "′": r"\prime", "\u2061": "", "∞": r"\infty", "…": r"\dots", "·": r"\cdot",
    "<": "<", "≤": r"\le", "∈": r"\in", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#",
}  # fmt: skip
"""Characters of formulas by their commands."""

SCRIPTS: Mapping[str, str] = {
    "msub": "{}_{{{}}}",
    "msup": "{}^{{{}}}",
    "msubsup": "{}_{{{}}}^{{{}}}",
    "munder": "{}_{{{}}}",
    "mover": "{}^{{{}}}",
    "munderover": "{}_{{{}}}^{{{}}}",
    "mfrac": r"\frac{{{}}}{{{}}}",
}
"""Elements with a fixed number of parts."""


def tex(formula: Element) -> str:
    r"""A formula as TeX.

    Examples
    --------
    >>> from bayesvb.reports.markdown.tree import tree
    >>> print(tex(tree("<math><msup><mi>σ</mi><mn>2</mn></msup></math>").elements[0]))
    \sigma^{2}
    """
    return " ".join(_tex(formula).split())


def _tex(one: Element) -> str:
    parts = [_tex(part) for part in one.elements]
    if one.tag in SCRIPTS:
        return SCRIPTS[one.tag].format(*(part.strip() for part in parts))
    leaf = LEAVES.get(one.tag)
    return " ".join(parts) if leaf is None else leaf(_text(one))


def _text(one: Element) -> str:
    return "".join(child for child in one.children if isinstance(child, str)).strip()


def _signs(text: str) -> str:
    return " ".join(SIGNS.get(sign, sign) for sign in text)


def _name(text: str) -> str:
    """One letter stands for a variable, several for the name of a function."""
    return _signs(text) if len(text) == 1 else rf"\operatorname{{{text}}}"


LEAVES: Mapping[str, Callable[[str], str]] = {
    "mi": _name,
    "mo": _signs,
    "mn": str,
    "mtext": lambda text: rf"\text{{{text}}}",
    "mspace": lambda text: r"\;",
}
