"""The error of both clients."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """A request that the server has refused, that cannot be sent, or that has no answer of linmax.

    Parameters
    ----------
    status
        The HTTP status; 0 if there was no answer. A request that is refused before it is sent has the
        status 422, as if the server had refused it.
    code
        A word for programs, such as "unknown_item"; "no_answer" if there was no answer, "redirected" if the
        answer points to another address, "no_linmax_answer" if it is not one of linmax.
    message
        A sentence for people.

    Examples
    --------
    >>> error = ClientError(404, "unknown_fusion", "there is no fusion 'spam'")
    >>> error.code, str(error)
    ('unknown_fusion', "there is no fusion 'spam'")
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def bad_request(message: str) -> ClientError:
    """Return the error of a request that the server would refuse."""
    return ClientError(422, "bad_request", message)


def to_problem(error: ClientError) -> dict[str, Any]:
    """Return the error of an item of a batch, with the fields of an answer of the server.

    >>> to_problem(bad_request("nan is not a finite number"))["error"]
    {'code': 'bad_request', 'message': 'nan is not a finite number'}
    """
    return {
        "error": {"code": error.code, "message": error.message},
        "type": f"urn:linmax:{error.code}",
        "title": "Unprocessable content",
        "status": error.status,
        "detail": error.message,
    }
