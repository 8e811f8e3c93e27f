"""Workers that are copies of this process."""

import os

import pytest

from bayesvb.numerics.forking import can_fork
from bayesvb.studies.forked_worker import forked_workers


@pytest.mark.skipif(not can_fork(), reason="copies of this process are not safe here")
def test_a_worker_that_has_ended_without_our_knowing_is_killed_without_an_error():
    (worker,) = forked_workers(1)
    with worker.stdout:
        worker.stdin.close()
        os.waitpid(worker.pid, 0)  # as another thread does, before it keeps the code
        worker.kill()
