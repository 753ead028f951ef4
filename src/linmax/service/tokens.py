"""Bearer tokens: random, stored as SHA-256, with scopes and a pattern of the fusions they are for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from linmax.service.event_log.database import Database
from linmax.service.event_log.writes import Statement
from linmax.service.messages.errors import ServiceError

SCOPES = ("predict", "label", "learn", "grow", "read", "admin")
PREFIX = "lmx_"
INSERT = "INSERT INTO tokens (hash, name, scopes, fusions, created, ends) VALUES (?, ?, ?, ?, ?, ?)"

REVOKE = "UPDATE tokens SET revoked = ? WHERE token = ? AND revoked IS NULL"


class Token(NamedTuple):
    """What a token may do.

    Attributes
    ----------
    number : int
        Its number in the database.
    hash : bytes
        The SHA-256 of the token.
    name : str
        Who has it; the log says which token did what.
    scopes : frozenset of str
        What it may do.
    fusions : str
        A pattern of the names of the fusions that it is for, such as ``spam-*``.
    created : float
        When it was created.
    ends : float or None
        When it ends.
    """

    number: int
    hash: bytes
    name: str
    scopes: frozenset[str]
    fusions: str
    created: float
    ends: float | None

    def allows(self, scope: str, fusion: str | None) -> bool:
        """Whether it may do something with a fusion, or with the server (None)."""
        if scope not in self.scopes and "admin" not in self.scopes:
            return False
        return self.fusions == "*" or (fusion is not None and fnmatchcase(fusion, self.fusions))

    def describe(self) -> dict[str, Any]:
        """Return what may be shown of it."""
        return {
            "number": self.number, "name": self.name, "scopes": sorted(self.scopes), "fusions": self.fusions,
            "created": self.created, "ends": self.ends,
        }  # fmt: skip

    def covers(self, scopes: Iterable[str], fusions: str) -> bool:
        """Whether another token would have no more rights than this one."""
        own = set(SCOPES) if "admin" in self.scopes else self.scopes
        return set(scopes) <= own and self.fusions in ("*", fusions)


class TokenStore:
    """All tokens of a server, in memory by their hashes.

    Parameters
    ----------
    database
        Where they are stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reserved: set[str] = set()
        self.reload()

    def reload(self) -> None:
        """Read all tokens that were not revoked."""
        found = self._database.rows(
            "SELECT token, hash, name, scopes, fusions, created, ends FROM tokens WHERE revoked IS NULL"
        )
        self._tokens = {
            hash_: Token(number, hash_, name, frozenset(scopes.split()), fusions, created, ends)
            for number, hash_, name, scopes, fusions, created, ends in found
        }

        self._by_number = {token.number: token for token in self._tokens.values()}

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, number: int) -> Token | None:
        """Return the token with a number; None if it is unknown, revoked or has ended."""
        token = self._by_number.get(number)
        return None if token is None or _has_ended(token) else token

    def is_valid(self, token: Token) -> bool:
        """Whether a token was not revoked meanwhile, and has not ended."""
        return self.get(token.number) == token

    def list(self) -> list[Token]:
        """Return all tokens, oldest first."""
        return sorted(self._tokens.values(), key=lambda token: token.number)

    def check_name(self, name: str) -> None:
        """Raise an error if a token has this name: the log says by name who did what."""
        taken = {token.name for token in self._tokens.values() if not _has_ended(token)}
        if name in taken | self._reserved:
            raise ServiceError(
                409, "name_in_use", f"there is a token called {name!r}; choose another name, or revoke it"
            )

    @contextmanager
    def reserved(self, name: str) -> Iterator[None]:
        """Keep a name from being given twice while its token is written."""
        self._reserved.add(name)
        try:
            yield
        finally:
            self._reserved.discard(name)

    def find(self, text: str) -> Token:
        """Return the token with this text; an error says nothing about why there is none."""
        digest = hash_of(text)
        token = self._tokens.get(digest)
        if token is None or not hmac.compare_digest(token.hash, digest) or _has_ended(token):
            raise ServiceError(
                401, "unknown_token", "the token is unknown, revoked or has ended; pass a valid bearer token"
            )
        return token


def require_scope(token: Token, scope: str, fusion: str | None) -> None:
    """Raise an error unless a token may do something with a fusion, or with the server (None)."""
    if not token.allows(scope, fusion):
        what = "the server" if fusion is None else fusion
        raise ServiceError(403, "forbidden", f"the token lacks the scope {scope} for {what}")


def _has_ended(token: Token) -> bool:
    return token.ends is not None and time.time() >= token.ends


def hash_of(text: str) -> bytes:
    """Return the SHA-256 of a token, which has 256 random bits: a slow hash would add nothing."""
    return hashlib.sha256(text.encode()).digest()


def new_token(
    name: str, scopes: Iterable[str], fusions: str = "*", days: float | None = None, text: str | None = None
) -> tuple[str, Statement]:
    """Return the text of a new token, and the statement that stores it.

    Parameters
    ----------
    name
        Who has it.
    scopes
        What it may do.
    fusions
        A pattern of the names of fusions.
    days
        After how many days it ends; None: never.
    text
        The token itself, if it is given and not drawn.

    Examples
    --------
    >>> text, (sql, bindings) = new_token("ann", ["read", "label"], "spam-*")
    >>> text.startswith("lmx_"), len(text) > 40, bindings[1:4]
    (True, True, ('ann', 'label read', 'spam-*'))
    """
    text = text or PREFIX + secrets.token_urlsafe(32)
    now = time.time()
    ends = None if days is None else now + days * 86400.0
    return text, (INSERT, (hash_of(text), name, " ".join(sorted(set(scopes))), fusions, now, ends))
