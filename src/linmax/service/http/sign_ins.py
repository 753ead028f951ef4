"""SignIns of the dashboard: a token, or a code that is used once, becomes a signed cookie."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path
from typing import NamedTuple

from linmax.service.event_log.database import Database
from linmax.service.event_log.writes import Statement
from linmax.service.messages.errors import ServiceError
from linmax.service.tokens import Token, TokenStore, hash_of

KEY_FILE = "linmax.key"
KEY_BYTES = 32
DURATION = 12 * 3600.0  # seconds
CODE_DURATION = 600.0  # seconds
SIGNED_OUT = "signed out "  # of the keys in the table meta


class SignIn(NamedTuple):
    """A person who is signed in.

    Attributes
    ----------
    number : str
        Random characters that tell sessions of the same token apart.
    token : Token
        The token: what the person may do.
    ends : int
        When the session ends, in seconds since 1970.
    cookie : str
        The value of the cookie.
    csrf : str
        What a request that changes something must send in a header, because pages of others cannot read it.
    """

    number: str
    token: Token
    ends: int
    cookie: str
    csrf: str

    def check_change(self, origin: bytes | None, csrf: bytes | None) -> None:
        """Refuse a change that a page of somebody else might make with the cookie."""
        if origin is None:  # the guard has compared it with the host
            raise ServiceError(403, "no_origin", "a change with a cookie needs the header Origin")
        if csrf is None or not hmac.compare_digest(csrf, self.csrf.encode()):
            raise ServiceError(403, "no_csrf_token", "a change with a cookie needs the header X-CSRF-Token")


class SignIns:
    """The sessions of a server.

    The server stores none of them: the cookie has the number of the token and the time of its end, signed
    with a key that only the data folder has. So a session outlives the server, and ends when its token is
    revoked. The key is not in the database, whose copies may be kept in other places.

    Parameters
    ----------
    folder
        The data folder.
    database
        Where it is written which sessions were ended by signing out.
    tokens
        The tokens.
    """

    def __init__(self, folder: Path, database: Database, tokens: TokenStore) -> None:
        self._tokens = tokens
        self._key = read_key(folder / KEY_FILE)
        self._codes: dict[bytes, tuple[int, float]] = {}
        rows = database.rows("SELECT key, value FROM meta WHERE key GLOB ?", SIGNED_OUT + "*")
        self._signed_out = {key.removeprefix(SIGNED_OUT): ends for key, ends in rows}
        # cookies do not know ports: another server on this machine must have another name
        self.cookie_name = "linmax_" + hashlib.sha256(self._key).hexdigest()[:8]

    def start(self, token: Token) -> SignIn:
        """Start a session of a token."""
        ends = time.time() + DURATION
        if token.ends is not None:
            ends = min(ends, token.ends)
        return self._sign_in(secrets.token_hex(12), token, int(ends))

    def find(self, cookies: bytes) -> SignIn | None:
        """Return the session that a header Cookie names; None if there is none, or it has ended."""
        value = _cookie(cookies.decode("latin-1"), self.cookie_name)
        with contextlib.suppress(ValueError):
            token_number, number, ends, _ = value.split(".")
            token = self._tokens.get(int(token_number))
            if token is not None and float(ends) > time.time() and number not in self._signed_out:
                session = self._sign_in(number, token, int(ends))
                if hmac.compare_digest(session.cookie.encode(), value.encode("latin-1")):
                    return session
        return None

    def is_valid(self, session: SignIn) -> bool:
        """Whether a session has not ended meanwhile."""
        valid = self._tokens.is_valid(session.token) and session.number not in self._signed_out
        return valid and session.ends > time.time()

    def end(self, session: SignIn) -> list[Statement]:
        """End a session; return the statements that make it last, and forget those that are over anyway."""
        now = time.time()
        self._signed_out = {number: ends for number, ends in self._signed_out.items() if ends > now}
        self._signed_out[session.number] = session.ends
        return [
            ("DELETE FROM meta WHERE key GLOB ? AND value < ?", (SIGNED_OUT + "*", now)),
            ("INSERT OR REPLACE INTO meta VALUES (?, ?)", (SIGNED_OUT + session.number, session.ends)),
        ]

    def new_code(self, token: Token) -> str:
        """Return a code that starts one session of a token, within ten minutes."""
        code = secrets.token_urlsafe(32)
        self._codes[hash_of(code)] = token.number, time.time() + CODE_DURATION
        return code

    def use_code(self, code: str) -> Token:
        """Return the token of a code, which is not valid any more after this."""
        number, ends = self._codes.pop(hash_of(code), (0, 0.0))
        token = self._tokens.get(number)
        if token is None or ends < time.time():
            raise ServiceError(
                401, "unknown_code", "the link was used before or is too old; sign in with a token"
            )
        return token

    def _sign_in(self, number: str, token: Token, ends: int) -> SignIn:
        text = f"{token.number}.{number}.{ends}"
        cookie = f"{text}.{self._sign('cookie', text, token)}"
        return SignIn(number, token, ends, cookie, self._sign("csrf", text, token))

    def _sign(self, purpose: str, text: str, token: Token) -> str:
        content = f"{purpose} {text} ".encode() + token.hash
        return hmac.new(self._key, content, hashlib.sha256).hexdigest()


def read_key(path: Path) -> bytes:
    """Return the key in a file that only its owner may read; the first time, it is drawn and written."""
    with contextlib.suppress(FileNotFoundError):
        key = path.read_bytes()
        if len(key) == KEY_BYTES:
            return key
        path.unlink()  # a crash has cut it: everybody signs in again
    key = secrets.token_bytes(KEY_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
    return key


def _cookie(header: str, name: str) -> str:
    """Return the value of a cookie, empty if it is not there.

    >>> _cookie("a=1; linmax_0=x.y; b=2", "linmax_0")
    'x.y'
    """
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
