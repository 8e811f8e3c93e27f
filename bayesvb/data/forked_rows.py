"""Blocks of rows shared among forked processes: a function travels there, sums of it come back.

Threads wait for the interpreter where arrays are short, as they are in blocks that stay in cache.
A forked process has all blocks already and works without waiting; what travels in a pass is a
posterior and a few sums.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.dyadic_sums import PartialSum, joined, partial_sums
from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import warn
from bayesvb.numerics.forking import (
    ForkedProcess,
    enter_fork,
    forked_process,
    receive,
    send_bytes,
)
from bayesvb.numerics.runtime import single_threaded_blas

StatsT = TypeVar("StatsT", bound=SufficientStats)


class ForkedRows:
    """Processes that share the blocks with this one, which has the first of them.

    Sums have the bits that they have in one process: neighbours are added first, whoever adds
    them. Whatever ends a helper, or Ctrl-C in mid-pass, closes all; nothing is summed here then.

    Parameters
    ----------
    blocks : sequence of Block
        All rows.
    places : int
        Processes, this one among them.
    """

    def __init__(self, blocks: Sequence[Block], places: int) -> None:
        self._owner = os.getpid()
        ends = _ends([block.n_rows for block in blocks], places)
        self._own = blocks[: ends[0]]
        self._helpers: list[ForkedProcess] = []
        try:
            for first, end in pairwise(ends):
                serve = partial(_serve, blocks[first:end], first)
                self._helpers.append(forked_process(serve, self._helpers))
        except OSError:  # no more processes are allowed
            self.close()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Pickle as None: processes belong to this one."""
        return type(None), ()

    @property
    def open(self) -> bool:
        """Whether helper processes run, and this process started them."""
        return bool(self._helpers) and os.getpid() == self._owner

    def sums(self, function: Callable[[Block], StatsT]) -> list[PartialSum[StatsT]] | None:
        """Partial sums of the function over the blocks; None if a helper process has ended.

        None also if the function cannot be pickled.
        """
        if not self.open:
            return None
        try:
            question = pickle.dumps((function, np.geterr()), protocol=4)
        except (pickle.PicklingError, AttributeError, TypeError):
            return None
        try:
            return self._asked(question, function)
        except (OSError, EOFError):  # a helper has ended
            self.close()
            return None
        except Exception:
            raise
        except BaseException:  # answers are under way that nobody will read
            self.close()
            raise

    def _asked(
        self, question: bytes, function: Callable[[Block], StatsT]
    ) -> list[PartialSum[StatsT]]:
        """Sums of the process's own blocks, then of the helpers' blocks in their order."""
        for helper in self._helpers:
            send_bytes(helper.questions, question)
        failure: Exception | None = None
        try:
            result = partial_sums(map(function, self._own))
        except Exception as own:  # once all answers have come
            result, failure = [], own
        for sums, error, warned in [receive(helper.answers) for helper in self._helpers]:
            for message in warned:
                warn(message)
            failure = failure or error
            result = joined(result, sums)
        if failure is not None:
            raise failure
        return result

    def close(self) -> None:
        """End the helpers; only where they were made."""
        if os.getpid() != self._owner:
            return
        while self._helpers:
            helper = self._helpers.pop()
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper.pid, signal.SIGKILL)
            os.close(helper.questions)
            os.close(helper.answers)
            os.waitpid(helper.pid, 0)


def _ends(sizes: Sequence[int], places: int) -> list[int]:
    """Number of the block behind the last one of each process, with about equal rows each."""
    upto = np.array(list(accumulate(sizes)))
    goals = upto[-1] * np.arange(1, places + 1) / places
    ends = [int(np.abs(upto - goal).argmin()) + 1 for goal in goals]
    return sorted(set(ends))


def _serve(blocks: Sequence[Block], first: int, asked: int, told: int) -> None:
    """Answer for blocks, the first of which has this number, until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is told
    enter_fork()
    with single_threaded_blas(), contextlib.suppress(EOFError):
        while True:
            function, error_state = receive(asked)
            answer = _answered(function, blocks, first, error_state)
            send_bytes(told, pickle.dumps(answer, protocol=4))


def _answered(
    function: Callable[[Block], StatsT],
    blocks: Sequence[Block],
    first: int,
    error_state: dict[str, Any],
) -> tuple[list[PartialSum[StatsT]], Exception | None, list[Warning | str]]:
    """Sums, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as warned, np.errstate(**error_state):
        warnings.simplefilter("always")  # what is to be heard is decided where it was asked for
        try:
            sums, error = partial_sums(map(function, blocks), first), None
        except Exception as raised:  # told where it was asked for
            sums, error = [], raised
    return sums, error, [one.message for one in warned]
