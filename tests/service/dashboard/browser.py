"""A page of the dashboard in a real browser, for the tests."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Any

import httpx

from linmax.client import Client
from linmax.problems import majority
from linmax.service.local import LocalServer

FUSION = "mail"
WIDTHS = (1280, 768, 390)
THEMES = ("light", "dark")

TOO_WIDE = """
() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > window.innerWidth && !one.closest(".scroll"))
    .map((one) => one.cloneNode(false).outerHTML.slice(0, 200))
"""


def fill_server(client: Client, trials: int = 400) -> None:
    """Make a fusion with labels, and with items that wait for one; and an empty one."""
    votes, labels = majority(trials + 12, relevant=3, experts=7, classes=3, noise=0.05, seed=1)
    names = ["ham", "phishing", "spam"]
    items = [
        {"id": f"mail-{t:04d}", "votes": {f"filter {i}": names[vote] for i, vote in enumerate(row)}}
        for t, row in enumerate(votes)
    ]
    client.create(FUSION, learner="Averaged(Winnow(1.2))")
    client.create("empty", learner="Averaged(Winnow(1.2))")
    for start in range(0, len(items), 40):
        client.predict_many(FUSION, items[start : start + 40])
        given = list(zip(items, labels, strict=True))[start : min(start + 40, trials)]
        client.label_many(FUSION, [{"id": item["id"], "label": names[label]} for item, label in given])


def make_token(server: LocalServer, *scopes: str, fusions: str = "*", name: str = "") -> str:
    """Make a token and return its text."""
    body = {"name": name or secrets.token_hex(4), "scopes": scopes, "fusions": fusions, "days": 0.5}
    made = call(server, "POST", "/v1/tokens", body)
    return str(made.json()["token"])


def revoke_tokens(server: LocalServer, name: str) -> None:
    """Revoke the tokens with a name."""
    for one in call(server, "GET", "/v1/tokens").json()["tokens"]:
        if one["name"] == name:
            call(server, "DELETE", f"/v1/tokens/{one['token']}")


def call(server: LocalServer, method: str, path: str, body: Any = None) -> httpx.Response:
    """Send a request as the administrator."""
    headers = {"authorization": f"Bearer {server.token}"}
    answer = httpx.request(
        method, server.url + path, json=body, headers=headers, trust_env=False, verify=False
    )
    assert answer.status_code < 300, answer.text
    return answer


class Dashboard:
    """A page in a browser, with a context of its own: no cookies of other tests."""

    def __init__(self, server: LocalServer, browser: Any, *, width: int = 1280, theme: str = "light") -> None:
        self.server = server
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.messages: list[str] = []
        self.allowed: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def close(self) -> None:
        """Close the page."""
        self.context.close()

    def sign_in(self, path: str = "#/", token: str | None = None) -> Any:
        """Sign in with a one-time link, or with a token in the form, and open a view."""
        if token is None:
            self.page.goto(self.server.link())
        else:
            self.page.goto(self.server.url)
            self.page.get_by_label("Token").fill(token)
            self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("button", name="Sign out").wait_for()
        self.page.goto(f"{self.server.url}/{path}")
        return self.page

    def allow(self, *patterns: str) -> None:
        """Expect messages in the console, such as those of failed requests."""
        self.allowed += patterns

    def check_console(self) -> None:
        """Fail if the console has a message, or the page asked another server for something."""
        rest = [text for text in self.messages if not any(re.search(one, text) for one in self.allowed)]
        assert rest == []
        outside = [url for url in self.requests if not url.startswith((self.server.url, "data:", "blob:"))]
        assert outside == []

    def check_accessible(self) -> None:
        """Fail if axe-core has a finding of any weight."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        listed = [f"{one['id']}: {[node['html'][:200] for node in one['nodes']][:3]}" for one in found]
        assert not listed, "\n".join(listed)

    def check_fits(self) -> None:
        """Fail if the page is wider than the window, and say what is too wide."""
        wide = self.page.evaluate(TOO_WIDE)
        assert not wide, "\n".join(wide)

    def shoot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        self.page.screenshot(path=path, full_page=True)
