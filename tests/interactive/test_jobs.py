"""Processes of tasks: the newest only, and none outlives what it was for."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bayesvb.interactive import jobs as module
from bayesvb.interactive.jobs import Desk, Zygote
from bayesvb.interactive.messages import Along, Failed, Judged, Progress, Shown
from bayesvb.interactive.request import Request
from bayesvb.interactive.tasks import FitTask
from bayesvb.interactive.zygote import Idle


@dataclass(frozen=True, eq=False)
class Words:
    """A task that says some words."""

    words: tuple[str, ...]
    is_repeatable: bool = False


class Recorded:
    """A job in this process, which says its words and ends when told."""

    def __init__(self, task):
        self.words, self.ended, self.interrupted = list(task.words), False, False
        self.asked = []

    def receive(self):
        return None if self.ended or not self.words else self.words.pop(0)

    def send(self, message):
        self.asked.append(message)

    def interrupt(self):
        self.interrupted = True

    def end(self):
        self.ended = True


class Waiting(Recorded):
    """A job that says nothing more after its words, until it is ended."""

    def receive(self):
        while not self.words and not self.ended:
            time.sleep(0.001)
        return super().receive()


def work(tasks, between, pause, stops=0):
    """Jobs started for tasks submitted one after the other, and what was heard of them."""
    jobs, heard = [], []

    def start(task):
        jobs.append(Recorded(task))
        return jobs[-1]

    async def hear(task, message):
        heard.append((task, message))

    async def main():
        desk = Desk(start, hear)
        for task in tasks:
            desk.submit(task, pause)
            await asyncio.sleep(between)
        while desk.task is not None and (desk.task, None) not in heard:
            await asyncio.sleep(0.001)

    asyncio.run(main())
    return jobs, heard


def test_a_burst_of_edits_starts_one_process_and_is_heard_of_in_order():
    tasks = [Words((f"{i}a", f"{i}b")) for i in range(30)]
    jobs, heard = work(tasks, between=0.0, pause=0.02)
    assert len(jobs) == 1
    assert heard == [(tasks[-1], "29a"), (tasks[-1], "29b"), (tasks[-1], None)]


def test_an_edit_ends_the_task_before_it_of_which_nothing_more_is_heard():
    endless, last = Words(("word",) * 10**6), Words(("end",))
    jobs, heard = work([endless, last], between=0.05, pause=0.0)
    assert jobs[0].ended and not jobs[1].ended
    assert heard[-2:] == [(last, "end"), (last, None)]
    assert (endless, None) not in heard


def test_questions_wait_for_the_task_and_the_newest_of_a_kind_is_asked():
    task = Words(("shown", Idle(), "answer", Idle()))
    jobs = []

    async def hear(task, message):
        if message == "shown":
            assert desk.is_busy
            for question in (1, "first", 2, "second"):
                assert desk.ask(question)
        elif isinstance(message, Idle):
            assert not desk.is_busy

    async def main():
        desk.submit(task, 0.0)
        while desk.task is not None:
            await asyncio.sleep(0.001)

    def start(task):
        jobs.append(Recorded(task))
        return jobs[0]

    desk = Desk(start, hear)
    asyncio.run(main())
    assert jobs[0].asked == [2, "second"]
    assert not desk.ask(1)


@pytest.mark.usefixtures("unchecked")  # jobs of this process are no ``Job``
@pytest.mark.parametrize("is_repeatable", [True, False])
def test_an_idle_fit_ends_for_rest_and_is_made_again_for_a_question(monkeypatch, is_repeatable):
    monkeypatch.setattr(module, "REST", 0.01)
    jobs, heard = [], []

    async def hear(task, message):
        heard.append(message)

    async def main():
        desk.submit(Words(("shown", Idle()), is_repeatable), 0.0)
        await asyncio.sleep(0.1)
        rested = jobs[0].ended, desk.is_busy
        can_answer = desk.ask("question")
        await asyncio.sleep(0.1)
        for job in jobs:
            job.words.append(None)  # or the loop waits for its thread
        desk.end()
        assert rested == (is_repeatable, False) and can_answer
        assert len(jobs) == 1 + is_repeatable and jobs[-1].asked == ["question"]

    def start(task):
        jobs.append(Waiting(task))
        return jobs[-1]

    desk = Desk(start, hear)
    asyncio.run(main())
    assert heard == ["shown", Idle(), *[Idle()] * is_repeatable]


class Stopping(Waiting):
    """A job that says what it has kept when it is interrupted."""

    def interrupt(self):
        super().interrupt()
        self.words += self.kept


@pytest.mark.usefixtures("unchecked")  # jobs of this process are no ``Job``
@pytest.mark.parametrize("kept", [(Progress(restart=1, iteration=1),), ("shown",)])
def test_an_interrupted_task_ends_unless_it_shows_what_it_has_kept(monkeypatch, kept):
    monkeypatch.setattr(module, "PATIENCE", 0.02)
    job = Stopping(Words(()))
    job.kept = kept

    async def hear(task, message):
        pass

    async def main():
        desk = Desk(lambda task: job, hear)
        desk.submit(Words(()), 0.0)
        await asyncio.sleep(0.05)
        desk.stop()
        await asyncio.sleep(0.1)
        ended = job.ended
        desk.end()
        assert ended == (kept != ("shown",))

    asyncio.run(main())


def gone(pid: int, within: float = 5.0) -> bool:
    """Whether a process ends soon; one that nobody has buried is gone too."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


SERVER = """
import sys, time
from bayesvb.interactive.tasks import FitTask
from bayesvb.interactive.jobs import Zygote
from bayesvb.interactive.request import Request
import pandas as pd
rows = 20000
frame = pd.DataFrame({"x": [float(i % 97) for i in range(rows)],
                      "y": [float(i * i % 31) for i in range(rows)]})
zygote = Zygote()
request = Request(formula="y ~ s(x)", options={"n_components": 8})
job = zygote.start(FitTask(request=request, frame=frame, path="never.nc"))
print(zygote.pid, job.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_outlives_a_server_that_is_killed():
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    zygote, job = map(int, server.stdout.readline().split())
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    assert gone(job) and gone(zygote)


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_fits_fails_stops_and_ends(tmp_path):
    frame = {"x": [float(i) for i in range(40)], "y": [float(i * i % 11) for i in range(40)]}
    import pandas as pd

    data, zygote = pd.DataFrame(frame), Zygote()
    try:
        job = zygote.start(FitTask(request=Request(formula="y ~ x"), frame=data))
        shown, judged, idle = job.receive(), job.receive(), job.receive()
        assert isinstance(shown, Shown) and isinstance(judged, Judged) and idle == Idle()
        job.send(Along(along="x"))
        assert (job.receive().along, job.receive()) == ("x", Idle())
        job.end()
        assert job.receive() is None
        job.end()  # of a process that has ended
        job = zygote.start(FitTask(request=Request(formula="y ~ z"), frame=data))
        message = job.receive()
        assert isinstance(message, Failed) and "z" in message.message
        assert job.receive() is None
        many = pd.concat([data] * 2000, ignore_index=True)
        request = Request(formula="y ~ s(x)", options={"n_components": 8})
        job = zygote.start(FitTask(request=request, frame=many, path=tmp_path / "fit.nc"))
        job.receive()  # progress: it is under way
        job.end()
        while job.receive() is not None:
            pass
        assert gone(job.pid)
        job = zygote.start(FitTask(request=request, frame=many, path=tmp_path / "fit.nc"))
        job.receive()
        job.interrupt()
        while not isinstance(message := job.receive(), Shown | Failed):
            assert message is not None
        assert isinstance(message, Shown) or message.stopped
        job.end()
    finally:
        zygote.close()
    assert gone(job.pid)
