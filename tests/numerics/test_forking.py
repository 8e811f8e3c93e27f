"""Processes that are forked: where they can work, and messages to and from them."""

import os
import threading
import time

import numpy as np
import pytest

from bayesvb.numerics.forking import can_fork, forked, receive, send

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")


def test_no_process_beside_threads_at_work():
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        release.set()
        thread.join()


def test_this_process_is_not_forked():
    assert not forked()


def test_messages_arrive_whole_and_in_order_however_long_they_are():
    out, into = os.pipe()
    messages = [np.arange(300_000.0), "a word", {"key": np.ones((3, 2), order="F")}]

    def tell():
        for message in messages:
            send(into, message)
        os.close(into)

    teller = threading.Thread(target=tell)
    teller.start()
    first, second, third = (receive(out) for _ in messages)
    teller.join()
    np.testing.assert_array_equal(first, messages[0])
    assert first.flags.writeable and second == "a word"
    assert third["key"].flags.f_contiguous
    with pytest.raises(EOFError, match="has ended"):
        receive(out)
    os.close(out)


def test_a_message_that_comes_in_pieces_is_waited_for():
    out, into = os.pipe()
    reader, writer = os.pipe()
    send(writer, list(range(1000)))
    content = os.read(reader, 1 << 16)

    def tell():
        for piece in (content[:3], content[3:100], content[100:]):
            os.write(into, piece)
            time.sleep(0.02)

    teller = threading.Thread(target=tell)
    teller.start()
    assert receive(out) == list(range(1000))
    teller.join()
    for end in (out, into, reader, writer):
        os.close(end)
