"""The other end of ``processes``: reads a function, then numbers; writes the results.

It talks to the process that started it and to nobody else: ``python -m bayesvb.studies.worker``.
"""

from __future__ import annotations

import pickle
import sys
from typing import BinaryIO


def serve(given: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more numbers.

    The first answer is None, or why the function could not be read.
    """
    try:
        function = pickle.load(given)
    except Exception as error:  # whatever the objects raise as they are made
        _answer(f"{type(error).__name__}: {error}", answers)
        return
    _answer(None, answers)
    while True:
        try:
            number = pickle.load(given)
        except EOFError:
            return
        _answer(function(number), answers)


def _answer(value: object, answers: BinaryIO) -> None:
    pickle.dump(value, answers)
    answers.flush()


if __name__ == "__main__":
    channel = sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed along the way must not get among the answers
    serve(sys.stdin.buffer, channel)
