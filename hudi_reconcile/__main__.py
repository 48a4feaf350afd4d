"""Process entry: hands over to the command line, which is loaded here and not before."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process; ends in `SystemExit` with the outcome's exit code."""
    from hudi_reconcile.cli.main import main as run  # noqa: PLC0415 - keeps `python -c import` free of the CLI

    run()


if __name__ == "__main__":
    main()
