"""The verbs of the command line."""


def entry() -> None:
    """Run the command line; the installed `kernelref` command calls this."""
    from kernelref.cli.app import app
    from kernelref.cli.verb import is_full, stopped_by_full_output
    from kernelref.jobs.collector import collect_rarely

    collect_rarely()
    try:
        app()
    except OSError as error:
        # Help and version are printed outside any verb.
        if not is_full(error):
            raise
        raise SystemExit(stopped_by_full_output(error)) from None
