"""Signing in: a cookie that scripts cannot read, other pages cannot use, and that ends with its token."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax.service.http import sign_ins as module
from linmax.service.http.sign_ins import KEY_FILE
from tests.service.api import ADMIN, BASE, Api, code, serving
from tests.service.test_items import run

ORIGIN = {"origin": BASE}


async def sign_in(api: Api, token: str = ADMIN, **headers: str) -> httpx.Response:
    """Sign in; from now on, requests are those of a browser: with the cookie, and without a token."""
    api.client.headers.pop("authorization", None)
    return await api("POST", "/session", {"token": token}, headers={**ORIGIN, **headers})


def change(answer: httpx.Response) -> dict[str, str]:
    """The headers of a change that the page sends."""
    return {**ORIGIN, "x-csrf-token": answer.json()["csrf"]}


def test_a_token_becomes_a_cookie_that_scripts_cannot_read(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        made = await sign_in(api)
        assert made.status_code == 201
        assert ADMIN not in made.text
        cookie = made.headers["set-cookie"]
        assert re.match(r"linmax_\w{8}=\S+; expires=", cookie)
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Secure" not in cookie
        assert ADMIN not in cookie
        assert (await api("GET", "/session")).json()["name"] == "admin (environment)"
        assert (await api("GET", "/v1/fusions")).json() == {"fusions": ["spam"]}

    run(story, tmp_path)


def test_behind_tls_the_cookie_is_sent_by_tls_only(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        made = await sign_in(api, origin="https://127.0.0.1")
        assert "Secure" in made.headers["set-cookie"]

    run(story, tmp_path)


def test_a_change_needs_the_origin_and_the_csrf_token(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        made = await sign_in(api)
        good = change(made)
        for headers, reason in (
            ({}, "no_origin"),
            (ORIGIN, "no_csrf_token"),
            ({**ORIGIN, "x-csrf-token": "x"}, "no_csrf_token"),
            ({**good, "origin": "http://evil.example"}, "other_origin"),
            ({"x-csrf-token": good["x-csrf-token"]}, "no_origin"),
        ):
            put = await api("PUT", "/v1/fusions/spam", {}, headers=headers)
            assert code(put) == (403, reason)
            assert code(await api("DELETE", "/session", headers=headers)) == (403, reason)
        assert (await api("GET", "/v1/fusions")).json() == {"fusions": []}
        assert (
            await api("PUT", "/v1/fusions/spam", {"learner": "Winnow(1.2)"}, headers=good)
        ).status_code == 201

    run(story, tmp_path)


def test_pages_of_the_same_site_do_not_have_the_rights_of_the_cookie(tmp_path: Path) -> None:
    """A page on another port of this machine is of the same site, and gets the cookie."""

    async def story(api: Api) -> None:
        await sign_in(api)
        for site, status in (("same-origin", 200), ("same-site", 401), ("cross-site", 401)):
            answer = await api("GET", "/v1/fusions", headers={"sec-fetch-site": site})
            assert answer.status_code == status

    run(story, tmp_path)


def test_signing_in_needs_a_valid_token_from_the_page(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        assert (await api("GET", "/session")).json() is None
        assert code(await sign_in(api, "lmx_wrong")) == (401, "unknown_token")
        assert code(await api("POST", "/session", {"token": ADMIN})) == (403, "no_origin")
        assert code(await sign_in(api, origin="http://evil.example")) == (403, "other_origin")
        assert code(await api("POST", "/session", {}, headers=ORIGIN)) == (422, "bad_request")
        both = {"token": ADMIN, "code": "x"}
        assert code(await api("POST", "/session", both, headers=ORIGIN)) == (422, "bad_request")
        assert (await api("GET", "/session")).json() is None
        assert code(await api("GET", "/v1/fusions")) == (401, "no_token")

    run(story, tmp_path)


def test_signing_out_ends_the_session_also_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as api:
            made = await sign_in(api)
            cookie = {"cookie": made.headers["set-cookie"].partition(";")[0]}
        async with serving(tmp_path) as api:
            del api.client.headers["authorization"]
            assert (await api("GET", "/v1/fusions", headers=cookie)).status_code == 200
            out = await api("DELETE", "/session", headers={**change(made), **cookie})
            assert out.status_code == 204
            assert "1970" in out.headers["set-cookie"]
            assert (await api("GET", "/v1/fusions", headers=cookie)).status_code == 401
        async with serving(tmp_path) as api:
            del api.client.headers["authorization"]
            assert (await api("GET", "/v1/fusions", headers=cookie)).status_code == 401

    asyncio.run(main())


def test_a_session_ends_with_its_token(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        header = await api.token("read")
        admin = dict(api.client.headers)
        await sign_in(api, header["authorization"].removeprefix("Bearer "))
        assert (await api("GET", "/v1/fusions")).status_code == 200
        await api("DELETE", "/v1/tokens/2", headers=admin)
        assert (await api("GET", "/v1/fusions")).status_code == 401
        assert (await api("GET", "/session")).json() is None

    run(story, tmp_path)


def test_a_session_ends_by_itself_and_not_later_than_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(api: Api) -> None:
        header = await api.token("read", days=0.01)
        made = await sign_in(api, header["authorization"].removeprefix("Bearer "))
        assert made.json()["ends"] <= time.time() + 864
        made = await sign_in(api)
        later = made.json()["ends"] + 1
        assert later > time.time() + 3600
        monkeypatch.setattr(module.time, "time", lambda: later)
        assert (await api("GET", "/v1/fusions")).status_code == 401

    run(story, tmp_path)


def test_a_forged_cookie_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.token("read")
        made = await sign_in(api)
        api.client.cookies.clear()
        name, _, value = made.headers["set-cookie"].partition(";")[0].partition("=")
        number, rest, ends, sign = value.split(".")
        good = ".".join([number, rest, ends, sign])
        forged = [
            ".".join(["2", rest, ends, sign]),
            ".".join([number, rest, str(int(ends) + 1), sign]),
            ".".join([number, rest, ends, made.json()["csrf"]]),
            ".".join([number, rest, ends, ""]),
            "x.y.z", "....", "9" * 5000 + ".a.b.c", "\xff.1.2.3",
        ]  # fmt: skip
        for value in forged:
            cookie = {"cookie": f"{name}={value}".encode("latin-1")}
            assert (await api("GET", "/v1/fusions", headers=cookie)).status_code == 401, value
        assert (await api("GET", "/v1/fusions", headers={"cookie": f"{name}={good}"})).status_code == 200

    run(story, tmp_path)


def test_a_link_signs_in_once_and_for_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(api: Api) -> None:
        sessions, (token,) = api.service.sign_ins, api.service.tokens.list()
        del api.client.headers["authorization"]
        body: dict[str, Any] = {"code": sessions.new_code(token)}
        assert (await api("POST", "/session", body, headers=ORIGIN)).status_code == 201
        assert code(await api("POST", "/session", body, headers=ORIGIN)) == (401, "unknown_code")
        body = {"code": sessions.new_code(token)}
        now = time.time()
        monkeypatch.setattr(module.time, "time", lambda: now + 601)
        assert code(await api("POST", "/session", body, headers=ORIGIN)) == (401, "unknown_code")

    run(story, tmp_path)


def test_the_key_is_for_its_owner_only_and_is_replaced_if_it_is_damaged(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path):
            pass
        key = (tmp_path / KEY_FILE).read_bytes()
        assert len(key) == 32
        assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
        async with serving(tmp_path):
            assert (tmp_path / KEY_FILE).read_bytes() == key
        (tmp_path / KEY_FILE).write_bytes(key[:10])
        async with serving(tmp_path):
            assert len((tmp_path / KEY_FILE).read_bytes()) == 32

    asyncio.run(main())


def test_a_stream_ends_when_its_reader_may_not_read_any_more(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        left = [True, True, False]
        parts = [part async for part in api.service.streams.follow(1, 0, lambda: left.pop(0))]
        assert b"created" in parts[1]
        assert api.service.streams.open == 0

    run(story, tmp_path)


def test_files_are_sent_compressed_and_only_those_of_the_dashboard(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        del api.client.headers["authorization"]
        page = await api("GET", "/")
        assert (page.status_code, page.headers["content-encoding"]) == (200, "gzip")
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert page.headers["cache-control"] == "no-cache"
        plain = await api("GET", "/assets/main.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        again = await api("GET", "/assets/main.js", headers={"if-none-match": plain.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for path in ("..%2fsign_ins.py", "/etc/passwd", "absent.js", "views"):
            assert (await api("GET", "/assets/" + path)).status_code == 404

    run(story, tmp_path)
