"""Numbers of trials of the rows whose successes are predicted."""

from __future__ import annotations

from dataclasses import replace

from bayesvb.data.frames import as_frame
from bayesvb.data.response_columns import TRIALS
from bayesvb.errors import DesignWarning, warn
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import RESPONSE


def with_trials(design: Design, rows: Rows, data: object, *, warns: bool = True) -> Rows:
    """Rows with their number of trials; one trial where the data do not have the number.

    Successes themselves need not be known of ``successes | trials(n)``; the total of
    ``cbind(successes, failures)`` is made of both.

    Parameters
    ----------
    design : Design
    rows : Rows
        Complete rows, without response.
    data : table or None
        Data of the rows; None for the data of the fit.
    warns : bool
        Whether to warn if the data do not have the number.

    Warns
    -----
    DesignWarning
        If columns are absent, so that predictions are probabilities.
    """
    call = design.formula.read[RESPONSE].call
    if call is None or call.form.further != TRIALS:
        return rows
    if data is None:
        return replace(rows, matrices={**rows.matrices, TRIALS: design.matrices[TRIALS]})
    frame = as_frame(data)
    read = [{use.name for use in code.uses} for code in call.codes]
    if call.form.name == "trials":
        known = set().union(*read[1:])
        unknown = read[0] - known
        frame = frame.assign(**dict.fromkeys(unknown, 0.0))
    else:
        known = set().union(*read)
    absent = sorted(known - set(map(str, frame.columns)))
    if not absent:
        return replace(design.new(frame, response=True), response=None)
    if warns:
        warn(
            f"the new data have no column {', '.join(map(repr, absent))}: each row is one trial, "
            "and predictions are probabilities",
            DesignWarning,
        )
    return rows
