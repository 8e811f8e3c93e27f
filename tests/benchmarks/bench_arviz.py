"""Functions of ArviZ on the object of every model by every engine, with the installed line.

    python tests/benchmarks/bench_arviz.py [cavi em svi bbvi nuts]

Models, functions, and functions that raise for a known reason are those of
``tests/conformance``. ``functions`` counts the functions that were called, ``raised`` names those
that raised, and ``unexpected`` those among them without a reason in the table of the test. Objects
of ``"nuts"`` have two chains and their energies: no function has a reason to raise there but those
of several responses and of ``component``. ``"bbvi"`` and ``"nuts"`` need bayesvb[mcmc]. Results:
docs/benchmarks/arviz.csv.
"""

import importlib
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd
from tables import keep

from bayesvb.errors import DataError

TESTS = Path(__file__).resolve().parents[1] / "conformance"
sys.path.insert(0, str(TESTS))
conftest = importlib.import_module("conftest")
functions = importlib.import_module("test_arviz_functions")

METHODS = {
    "cavi": {"restarts": 1, "combine": "best", "draws": 100, "max_iter": 30},
    "em": {"restarts": 1, "combine": "best", "draws": 100, "max_iter": 30},
    "svi": {"restarts": 1, "combine": "best", "draws": 100, "max_iter": 30},
    "bbvi": {"restarts": 1, "combine": "best", "draws": 100, "steps": 50, "guide": "mean-field"},
    "nuts": {"restarts": 1, "draws": 100, "chains": 2, "warmup": 60},
}
"""Arguments of brief fits."""

CHAINS = ("plot_energy", "bfmi", "plot_rank", "plot_rank_dist")
"""Functions that raise without chains."""


def expected(name: str, model: str, method: str) -> re.Pattern[str] | None:
    """Message with which a function raises for a known reason."""
    cases, said, _ = functions.REFUSED.get(name, ((), "", ""))
    if model not in cases or (method == "nuts" and name in CHAINS):
        return None
    return re.compile(said)


def measured(az, model: str, method: str, table: pd.DataFrame, folder: Path) -> dict | None:
    """One row: functions called, raised, and raised without a known reason."""
    case = conftest.CASES[model]
    try:
        obj = case.fit(case.model(table), method=method, seed=3, **METHODS[method]).idata
    except DataError as error:
        print(model, method, "is not fitted:", str(error).splitlines()[0][:80])
        return None
    called = functions.NUMBERS | functions.PLOTS
    messages = functions.refused(called, az, obj, folder)
    known = {name: expected(name, model, method) for name in messages}
    unexpected = [
        name
        for name, text in messages.items()
        if known[name] is None or not known[name].search(text)
    ]
    for name in unexpected:
        print(model, method, name, messages[name][:200])
    return {"functions": len(called), "raised": " ".join(messages),
            "unexpected": " ".join(unexpected)}  # fmt: skip


def main() -> None:
    """Rows of an engine, kept as soon as they are there."""
    warnings.simplefilter("ignore")
    az, table = functions.import_arviz(), conftest.table.__wrapped__()
    for method in sys.argv[1:] or METHODS:
        records = []
        for model in functions.EVERY:
            began = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                row = measured(az, model, method, table, Path(folder))
            if row is not None:
                run = f"{functions.LINE}.x, {method}"
                records.append({"model": model, **row, "arviz": az.__version__, "run": run})
                print(model, method, round(time.process_time() - began, 1), flush=True)
        keep(pd.DataFrame(records), "arviz", by="run")


if __name__ == "__main__":
    main()
