"""The report of a saved fit: a preview of its short edition, and files of the full one."""

from __future__ import annotations

from collections.abc import Iterator

from bayesvb.estimators.loading import load
from bayesvb.interactive.messages import FORMATS, Preview, Written
from bayesvb.interactive.tasks import ReportTask


def messages(task: ReportTask) -> Iterator[object]:
    """Yield ``Preview``, then ``Written``."""
    fit = load(task.path)
    page = task.path.with_suffix(FORMATS["HTML"])
    fit.report(page, source=task.source, edition="short")
    yield Preview(path=task.path, html=page.read_text("utf-8"))
    for ending in FORMATS.values():
        fit.report(task.path.with_suffix(ending), source=task.source)
    yield Written(path=task.path)
