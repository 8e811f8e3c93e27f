"""The command line as a module: ``python -m bayesvb``."""

from __future__ import annotations

from bayesvb.cli.main import main

if __name__ == "__main__":
    main(prog_name="bayesvb")
