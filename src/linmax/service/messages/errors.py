"""The errors of the service: each has a status, a code for programs and a sentence for people."""

from __future__ import annotations

from linmax.service.messages.answers import ErrorBody, Problem

TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    421: "Misdirected request",
    422: "Unprocessable content",
    429: "Too many requests",
    431: "Too large",
    500: "Internal error",
    503: "Unavailable",
    507: "Insufficient storage",
}


class ServiceError(Exception):
    """A request that cannot be answered.

    Parameters
    ----------
    status
        The HTTP status.
    code
        A word for programs, such as "unknown_fusion".
    message
        A sentence for people, with the value and the fix.
    retry_after
        The number of seconds after which the same request may succeed.
    """

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    def problem(self) -> Problem:
        """Return the body of the answer."""
        title = TITLES[self.status]
        body = ErrorBody(self.code, self.message)
        return Problem(body, f"urn:linmax:{self.code}", title, self.status, self.message)


class FolderInUseError(ValueError):
    """Another process has the lock of a data folder."""
