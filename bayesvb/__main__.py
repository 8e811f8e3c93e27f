"""The command line as a module: ``python -m bayesvb``."""

from bayesvb.cli import main

if __name__ == "__main__":
    main(prog_name="bayesvb")
