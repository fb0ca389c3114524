"""Exceptions, with the words and the exit codes of the command line."""

__all__ = ["DataError", "Error", "RefusedError", "UsageError"]


class Error(Exception):
    """A failure at run time; the base of all exceptions of this package."""

    exit_code = 1
    """Exit code of the command line for such an error."""


class UsageError(Error, ValueError):
    """An argument, a path or a configuration that cannot be used."""

    exit_code = 2


class DataError(Error, ValueError):
    """Data, weights or a taxonomy that cannot be used."""

    exit_code = 2


class RefusedError(Error):
    """A result that the quality gate refuses."""

    exit_code = 3
