"""The command line as a module: ``python -m bayesvb``."""

from __future__ import annotations

from bayesvb.cli.entry import run

if __name__ == "__main__":
    run()
