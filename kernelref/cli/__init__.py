"""The verbs of the command line."""


def entry() -> None:
    """Run the command line; the installed `kernelref` command calls this."""
    from kernelref.cli.app import app

    app()
