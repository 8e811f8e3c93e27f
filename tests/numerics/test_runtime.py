"""One thread of BLAS: set where there are several, kept in a forked process."""

import os

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bayesvb.numerics.forking import forked_process, receive, send
from bayesvb.numerics.runtime import single_threaded_blas


def threads():
    """Numbers of threads of the BLAS libraries here."""
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_has_one_thread_within_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with single_threaded_blas():
            with single_threaded_blas():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_forked_process_has_one_thread():
    def serve(asked, told):
        send(told, (threads(), len(os.listdir("/proc/self/task"))))

    with threadpool_limits(2, user_api="blas"):
        process = forked_process(serve, ())
        assert receive(process.answers) == ({1}, 1)
        os.waitpid(process.pid, 0)
