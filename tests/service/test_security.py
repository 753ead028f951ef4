"""Default deny: hosts, origins, tokens, scopes, quotas and sizes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax._jit.compilation import interpreted
from linmax.service.server import is_loopback, serve, start_service
from tests.service.api import ADMIN, LEARNER, Api, code
from tests.service.test_items import run

METHODS = ("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "NONSENSE")
DASHBOARD = ("/assets/", "/session", "/dashboard/")  # what only its page uses
PATHS = ("/v1/fusions", "/v1/fusions/spam", "/v1/fusions/spam/predict", "/healthz", "/docs", "/nowhere")


def status(response: httpx.Response) -> int:
    return response.status_code


def test_host_and_origin_are_checked_on_every_method(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        for method in METHODS:
            for path in PATHS:
                for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[evil"):
                    assert status(await api(method, path, headers={"host": host})) == 421, (
                        method,
                        path,
                        host,
                    )
                for origin in ("http://evil.example", "null", "http://[", "http://127.0.0.1:9", "file://"):
                    answer = await api(method, path, headers={"origin": origin})
                    assert status(answer) == 403, (method, path, origin)
        for host in ("localhost", "localhost:8000", "[::1]:8000", "LOCALHOST"):
            assert status(await api("GET", "/v1/fusions", headers={"host": host})) == 200
            assert status(await api("GET", "/v1/fusions", headers={"host": "evil.example"})) == 421
        own = {"host": "localhost:8000", "origin": "http://localhost:8000"}
        assert status(await api("GET", "/v1/fusions", headers=own)) == 200
        twice = [("host", "127.0.0.1"), ("host", "evil.example"), ("authorization", f"Bearer {ADMIN}")]
        request = httpx.Request("GET", "http://127.0.0.1/v1/fusions", headers=twice)
        assert code(await api.client.send(request)) == (400, "bad_header")

    run(story, tmp_path)


def test_hosts_can_be_allowed(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        assert status(await api("GET", "/v1/fusions", headers={"host": "votes.example"})) == 200

    run(story, tmp_path, hosts=frozenset({"votes.example"}))


def test_a_proxy_that_changes_the_host_is_told_what_to_pass_on(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        headers = {"host": "votes.example", "origin": "https://votes.example:8443"}
        answer = await api("GET", "/v1/fusions", headers=headers)
        message = answer.json()["error"]["message"]
        assert code(answer) == (403, "other_origin")
        assert "'votes.example' and comes from a page of 'https://votes.example:8443'" in message
        assert "pass the header Host on unchanged" in message
        answer = await api("GET", "/v1/fusions", headers={"host": "linmax_upstream"})
        assert "--allow-host NAME" in answer.json()["error"]["message"]

    run(story, tmp_path, hosts=frozenset({"votes.example"}))


@pytest.mark.parametrize("name", ["votes.example:8443", "https://votes.example", "*.example", "", "[::1]"])
def test_a_host_that_no_request_can_be_for_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="a name without protocol, port and path"):
        start_service(tmp_path, hosts=frozenset({"votes.example", name}))


def test_without_a_token_there_is_nothing_to_see(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        wrong = (
            "",
            "Bearer",
            "Bearer ",
            f"Basic {ADMIN}",
            "Bearer lmx_wrong",
            f"Bearer {ADMIN}x",
            ADMIN,
            "Bearer ü",
        )
        for text in wrong:
            for path in ("/v1/fusions", "/v1/fusions/spam", "/metrics", "/v1/tokens", "/nowhere", "/docs/"):
                answer = await api("GET", path, headers={"authorization": text.encode()})
                assert status(answer) == 401, (path, text)
                assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in ("/healthz", "/readyz", "/docs", "/docs/page.css", "/openapi.json"):
            answer = await api("GET", path, headers={"authorization": ""})
            assert status(answer) == 200
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
            assert "http" not in answer.text.replace("HTTP", "").replace(
                '"http"', ""
            )  # nothing from elsewhere
        assert status(await api("GET", "/v1/fusions", headers={"authorization": f"bearer {ADMIN}"})) == 200

    run(story, tmp_path)


ALLOWED: dict[str, set[str]] = {
    "predict": {"predict"},
    "label": {"label"},
    "learn": {"learn"},
    "read": {"describe", "weights", "model", "item", "history", "metrics", "list"},
    "grow": set(),
}
ENDPOINTS: dict[str, tuple[str, str, Any]] = {
    "predict": ("POST", "/v1/fusions/spam/predict", {"votes": {"ann": "x"}}),
    "label": ("POST", "/v1/fusions/spam/labels", {"id": "a", "label": "x"}),
    "learn": ("POST", "/v1/fusions/spam/learn", {"votes": {"ann": "x"}, "label": "x"}),
    "describe": ("GET", "/v1/fusions/spam", None),
    "weights": ("GET", "/v1/fusions/spam/weights", None),
    "model": ("GET", "/v1/fusions/spam/model", None),
    "item": ("GET", "/v1/fusions/spam/items/a", None),
    "history": ("GET", "/v1/fusions/spam/history", None),
    "metrics": ("GET", "/metrics", None),
    "create": ("PUT", "/v1/fusions/other", {}),
    "exclude": ("POST", "/v1/fusions/spam/exclude", {"ids": ["a"]}),
    "rollback": ("POST", "/v1/fusions/spam/rollback", {"position": 10**9}),
    "tokens": ("GET", "/v1/tokens", None),
    "new token": ("POST", "/v1/tokens", {"name": "x", "scopes": ["read"]}),
    "revoke": ("DELETE", "/v1/tokens/99", None),
    "delete": ("DELETE", "/v1/fusions/spam", None),
}


def test_a_token_does_what_its_scopes_say_and_no_more(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.predict("a", ann="x")
        await api.learn("known", "x", ann="x", bob="y")
        for scope, allowed in ALLOWED.items():
            header = await api.token(scope)
            listed = (await api("GET", "/v1/fusions", headers=header)).json()["fusions"]
            assert listed == (["spam"] if scope == "read" else [])
            for name, (method, path, body) in ENDPOINTS.items():
                answer = await api(method, path, body, headers=header)
                expected = 200 if name in allowed else 403
                assert status(answer) == expected, (scope, name, answer.text)

    run(story, tmp_path)


def test_a_token_is_for_the_fusions_that_fit_its_pattern(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        for name in ("spam-a", "spam-b", "ham"):
            await api.create(name)
        header = await api.token("admin", fusions="spam-*")
        assert (await api("GET", "/v1/fusions", headers=header)).json()["fusions"] == ["spam-a", "spam-b"]
        assert status(await api("GET", "/v1/fusions/spam-a", headers=header)) == 200
        for path in ("/v1/fusions/ham", "/v1/fusions/unknown", "/metrics", "/v1/tokens"):
            assert code(await api("GET", path, headers=header)) == (403, "forbidden")
        assert status(await api("PUT", "/v1/fusions/spam-c", {"learner": LEARNER}, headers=header)) == 201
        assert code(await api("PUT", "/v1/fusions/eggs", {}, headers=header)) == (403, "forbidden")

    run(story, tmp_path)


def test_a_token_creates_none_with_more_rights_and_ends_when_it_should(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        short = await api.token("admin", days=1)
        more = {"name": "x", "scopes": ["read"]}
        assert code(await api("POST", "/v1/tokens", more, headers=short)) == (403, "too_many_rights")
        late = {**more, "days": 2}
        assert code(await api("POST", "/v1/tokens", late, headers=short)) == (403, "too_many_rights")
        assert status(await api("POST", "/v1/tokens", {**more, "days": 0.5}, headers=short)) == 201
        narrow = await api.token("admin", fusions="spam-*")
        assert code(await api("POST", "/v1/tokens", {**more, "fusions": "spam-*"}, headers=narrow))[0] == 403
        for bad in ({}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["root"]}, {**more, "days": 0}):
            assert code(await api("POST", "/v1/tokens", bad))[0] == 422
        ended = await api.token("read", days=1e-9)
        await asyncio.sleep(0.01)
        assert code(await api("GET", "/v1/fusions", headers=ended)) == (401, "unknown_token")

    run(story, tmp_path)


def test_a_revoked_token_ends_at_once_and_stays_revoked(tmp_path: Path) -> None:
    kept: list[dict[str, str]] = []

    async def story(api: Api) -> None:
        kept.append(await api.token("read"))
        assert status(await api("GET", "/v1/fusions", headers=kept[0])) == 200
        listed = (await api("GET", "/v1/tokens")).json()["tokens"]
        assert [one["name"] for one in listed] == ["admin (environment)", "read"]
        assert "lmx_" not in str(listed)
        number = listed[1]["token"]
        assert status(await api("DELETE", f"/v1/tokens/{number}")) == 204
        assert code(await api("DELETE", f"/v1/tokens/{number}")) == (404, "unknown_token")
        assert code(await api("DELETE", f"/v1/tokens/{10**30}"))[0] == 404
        assert status(await api("GET", "/v1/fusions", headers=kept[0])) == 401
        rows = api.service.database.rows("SELECT kind, actor FROM events ORDER BY position")
        assert rows == [(8, "admin (environment)"), (9, "admin (environment)")]

    async def later(api: Api) -> None:
        assert status(await api("GET", "/v1/fusions", headers=kept[0])) == 401

    run(story, tmp_path)
    run(later, tmp_path)
    assert ADMIN.encode() not in (tmp_path / "linmax.db").read_bytes()


def test_new_names_need_the_scope_grow(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("first", "x", ann="x", bob="y")
        small = await api.token("predict", "label", "learn")
        tall = await api.token("predict", "grow")
        path = "/v1/fusions/spam/"
        position = api.service.database.last_position()
        for votes in ({"eve": "x"}, {"ann": "z"}, {"ann": {"x": 0.5, "z": 0.5}}):
            for verb, more in (("predict", {}), ("learn", {"label": "x"})):
                answer = await api("POST", path + verb, {"votes": votes, **more}, headers=small)
                assert code(answer) == (403, "new_names")
        answer = await api("POST", path + "learn", {"votes": {"ann": "x"}, "label": "new"}, headers=small)
        assert code(answer) == (403, "new_names")
        assert api.service.database.last_position() == position
        item = {"id": "n", "votes": {"eve": "x", "ann": "z"}}
        assert status(await api("POST", path + "predict", item, headers=tall)) == 200
        label = {"id": "n", "label": "new"}
        assert code(await api("POST", path + "labels", label, headers=small)) == (403, "new_names")
        # who predicted was allowed to bring these names
        assert status(await api("POST", path + "labels", {"id": "n", "label": "z"}, headers=small)) == 200
        assert (await api.describe())["experts"] == ["ann", "bob", "eve"]

    run(story, tmp_path)


def test_quotas_bound_what_a_fusion_may_grow_to(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"classes": 3, "experts": 3, "item_bytes": 500})
        await api.learn("a", "x", ann="x", bob="y")
        before = await api.describe()
        assert code(await api.learn("b", "x", c="x", d="x")) == (422, "too_many_names")
        assert code(await api.learn("b", "v", ann="w")) == (422, "too_many_names")
        assert code(await api.predict("b", ann={"v": 1.0, "w": 2.0})) == (422, "too_many_names")
        assert code(await api.learn("b" * 150, "x", **{"ann" * 150: "x"})) == (413, "too_large")
        assert await api.describe() == before
        assert (await api.learn("c", "z", ann="x", eve="x")).status_code == 200
        assert code(await api.create("big", classes=list("abcd"), limits={"classes": 3}))[0] == 422
        await api.create("tall", learner="Perceptron().on(Attributes())", limits={"attributes": 2})
        path, item = "/v1/fusions/tall/learn", {"label": "x"}
        assert status(await api("POST", path, {**item, "attributes": {"a": 1.0, "b": 2}})) == 200
        assert status(await api("POST", path, {**item, "attributes": {"a": 3.0}})) == 200
        assert code(await api("POST", path, {**item, "attributes": {"c": 1}})) == (422, "too_many_names")
        assert code(await api("POST", path, {**item, "attributes": {"a": "red"}})) == (422, "too_many_names")

    with interpreted():
        run(story, tmp_path)


BODIES = (b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}" * 2, b"[" * 100_000, b'{"votes":' * 50_000)


def test_bodies_that_are_not_requests_are_refused(tmp_path: Path) -> None:
    deep = b'{"votes":{"ann":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    nan, inf, lone = (
        b'{"votes":{"ann":{"x":NaN}}}',
        b'{"votes":{"ann":{"x":1e999}}}',
        b'{"votes":{"ann":"\\ud800"}}',
    )

    async def story(api: Api) -> None:
        await api.create(limits={"item_bytes": 1_000_000})
        paths = ["predict", "labels", "learn", "exclude", "rollback"]
        for path in [*(f"/v1/fusions/spam/{one}" for one in paths), "/v1/tokens"]:
            for body in (*BODIES, deep):
                answer = await api("POST", path, content=body)
                assert status(answer) in (400, 413, 422), (path, body[:20], answer.text)
                assert len(answer.content) < 2000
        for body in (nan, inf, lone):
            answer = await api("POST", "/v1/fusions/spam/predict", content=body)
            assert status(answer) in (400, 422), (body, answer.text)
        too_long = {"content-length": str(2**40)}
        assert code(await api("POST", "/v1/tokens", headers=too_long, content=b"{}")) == (413, "too_large")
        assert (
            code(await api("POST", "/v1/tokens", headers={"content-length": "9" * 5000}, content=b"{}"))[0]
            == 413
        )

        async def endless() -> Any:
            for _ in range(100):
                yield b" " * (1 << 20)

        assert code(await api("POST", "/v1/tokens", content=endless())) == (413, "too_large")

    run(story, tmp_path)


TRICKS = (
    "/v1/fusions/../../etc/passwd",
    "/v1/fusions/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/v1/fusions/..%2f..%2fsecret/model",
    "/v1/fusions/%00",
    "/v1/fusions/spam%00.db",
    "/v1/fusions/.hidden",
    "/v1/fusions/" + "a" * 101,
    "/v1/fusions/sp am",
    "/v1/fusions/%ff%fe",
    "/v1/fusions/a%2fb",
    "/docs/../linmax.db",
)


def test_no_path_leads_to_a_file_or_around_the_token(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        before = {file.name for file in tmp_path.rglob("*")}
        for path in TRICKS:
            for method in ("GET", "PUT", "DELETE", "POST"):
                answer = await api(method, path, {} if method in ("PUT", "POST") else None)
                assert status(answer) in (400, 404, 405, 422), (method, path, answer.text)
                blind = await api(method, path, headers={"authorization": ""})
                assert status(blind) in (401, 405), (method, path)
        assert {file.name for file in tmp_path.rglob("*")} == before
        assert (await api("GET", "/v1/fusions")).json() == {"fusions": []}

    run(story, tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"learner": "nonsense("},
        {"learner": "__import__('os').system('true')"},
        {"learner": "Winnow(0.5)"},
        {"classes": [0.5]},
        {"classes": "xy"},
        {"on_new_class": "ignore"},
        {"limits": {"classes": 1}},
        {"limits": {"retention": -1}},
        {"limits": {"clases": 10}},
        {"lerner": "Perceptron()"},
    ],
)
def test_bad_settings_are_one_sentence(tmp_path: Path, settings: dict[str, Any]) -> None:
    async def story(api: Api) -> None:
        answer = await api("PUT", "/v1/fusions/spam", settings)
        assert code(answer)[0] == 422
        assert (await api("GET", "/v1/fusions")).json() == {"fusions": []}

    run(story, tmp_path)


def test_a_token_makes_so_many_requests_per_second(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        answers = [await api("GET", "/v1/fusions") for _ in range(8)]
        assert [status(answer) for answer in answers[:6]] == [200] * 6
        assert code(answers[7]) == (429, "too_many_requests")
        assert int(answers[7].headers["retry-after"]) >= 1
        assert status(await api("GET", "/healthz")) == 200

    run(story, tmp_path, rate=3.0)


def test_a_new_server_does_not_listen_to_others_without_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINMAX_ADMIN_TOKEN", raising=False)
    with pytest.raises(ValueError, match=r"does not listen on 0\.0\.0\.0, which others can reach"):
        serve(tmp_path / "data", host="0.0.0.0")
    assert not (tmp_path / "data").exists()
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::")] == [
        True
    ] * 3 + [False] * 2


def test_the_description_of_the_interface_names_every_route(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        document = (await api("GET", "/openapi.json")).json()
        described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
        routes = set()
        for route in api.service.routes():
            path = route.path.replace(":path", "").replace(":int", "")
            if path != "/" and not path.startswith(("/docs", "/openapi", *DASHBOARD)):
                routes |= {(method, path) for method in route.methods - {"HEAD"}}
        assert described == routes
        page = (await api("GET", "/docs")).text
        assert all(f"<code>{path}</code>" in page for _, path in described)
        assert page.count("Also for batches.") == 4

    run(story, tmp_path)


def test_metrics_count_requests_and_trials(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "x", ann="x")
        await api.predict("b", ann="x")
        text = (await api("GET", "/metrics")).text
        assert 'linmax_requests_total{endpoint="learn",status="200"} 1.0' in text
        for line in ('bucket{endpoint="learn",le="+Inf"} 1.0', 'count{endpoint="learn"} 1.0'):
            assert f"linmax_request_seconds_{line}" in text
        assert 'linmax_trials{fusion="spam"} 1.0' in text
        assert 'linmax_waiting{fusion="spam"} 1.0' in text
        assert "linmax_commit_seconds_count" in text
        assert "linmax_read_only 0.0" in text

    run(story, tmp_path)
