"""Remedies for a response whose density is not continuous on the real line."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from bayesvb.distributions.response import Response
from bayesvb.errors import DesignWarning, warn
from bayesvb.evaluation.response_support import response_support
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE

LONGEST_NAME = 60
"""Characters of a name that a message shows."""

REMEDIES: Mapping[str, str | None] = {
    "two values": "if they are classes, family='bernoulli' with n_components=1 gives the "
    "probability of 1 against 0, ConditionalMixtureNetwork('C({name}) ~ ...') the probability of "
    "each class",
    "counts": "family='negbinomial' gives probabilities of counts, and so does family='poisson' "
    "where their variance is their mean",
    "coarse": "use exact values, or rounded({name}, step) on the left of the formula",
    "bound": "if these rows are censored, write cens({name}, status) on the left of the formula; "
    "if they are exact zeros, family='gamma' with the part zero(1) gives 0 a probability; "
    "for another value, model its presence by family='bernoulli' and the other rows separately",
    "heap": "one of several components may shrink to that value; use exact values, or remove "
    "rows with a code",
    "proportion": "log({name} / (1 - {name})) keeps predictions between 0 and 1",
    "positive": "log({name}) and family='gamma' keep predictions positive",
    "nonnegative": "log({name}) has no value where it is 0: family='gamma' with the part zero(1) "
    "gives 0 a probability, or take sqrt({name})",
}
"""Remedies by kind of support."""

COMPRESSED = re.compile(r"\b(?:log\w*|arcsinh|sqrt|cbrt)\(")
"""A logarithm or a root in a response, which needs no other one."""

OF_COMPRESSED: Mapping[str, str | None] = {
    "proportion": None,
    "positive": None,
    "nonnegative": "model whether it is 0 by family='bernoulli', and the other rows separately",
}
"""Remedies where a response is a logarithm or a root already; None: nothing."""


def response_notes(design: Design, described: Response) -> list[str]:
    """A sentence for each response that a density is to describe and cannot as it is."""
    if design.response is None or described.kind != "continuous" or design.interval is not None:
        return []
    values = design.responses
    # Largest number of rows examined; more are thinned evenly.
    values = values[:: max(len(values) // 100_000, 1)]
    notes = []
    for name, column in zip(design.response_names, values.T, strict=True):
        support = response_support(column)
        remedies = REMEDIES
        if name not in design.frame and COMPRESSED.search(name):
            remedies = {**REMEDIES, **OF_COMPRESSED}
        if support is not None and remedies[support.kind] is not None:
            short = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
            remedy = str(remedies[support.kind]).format(name=short)
            notes.append(f"`{short}` {support.words}: {remedy}")
    return notes


def interval_note(design: Design) -> str | None:
    """Numbers of observed, censored, and interval-censored rows; None if all are observed."""
    ends, call = design.interval, design.formula.read[RESPONSE].call
    if ends is None or call is None:
        return None
    left, right = np.isinf(ends).T
    counts = {
        "observed": int((~design.hidden).sum()),
        "right censored": int(right.sum()),
        "left censored": int(left.sum()),
        "rounded" if call.form.name == "rounded" else "in an interval": int(
            (design.hidden & ~left & ~right).sum()
        ),
    }
    parts = [f"{count:,} {what}" for what, count in counts.items() if count or what == "observed"]
    event = " (event = 1: observed)" if call.form.name == "Surv" else ""
    return f"`{design.response_names[0]}`: {', '.join(parts)}{event}"


def warn_of_response(design: Design, described: Response) -> None:
    """Warn once, of all responses together."""
    notes = response_notes(design, described)
    if notes:
        warn("; ".join(notes), DesignWarning)
