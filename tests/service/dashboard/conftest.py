"""One server, with a stream of labelled items, and one browser for all tests of the dashboard.

The browser lives in a thread of its own, and the tests that use it run there: Playwright keeps an event loop
running, with which other tests of the same process could not start theirs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from linmax.client import Client
from linmax.service.local import LocalServer
from tests.service.dashboard.browser import Dashboard, fill_server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("dashboard")) as running:
        with Client(running.url, running.token) as client:
            fill_server(client)
        yield running


@pytest.fixture(scope="session")
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as one:
        yield one


@pytest.fixture(scope="session")
def browser(thread: ThreadPoolExecutor) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    driver = thread.submit(playwright.sync_playwright().start).result()
    one = thread.submit(driver.chromium.launch, executable_path=CHROMIUM, args=["--no-sandbox"]).result()
    yield one
    thread.submit(one.close).result()
    thread.submit(driver.stop).result()


@pytest.fixture
def dashboard(
    server: LocalServer, browser: Any, thread: ThreadPoolExecutor, request: pytest.FixtureRequest
) -> Iterator[Dashboard]:
    """A page of the dashboard; at the end, the console of the browser must be empty."""
    options = getattr(request, "param", {})
    opened = thread.submit(Dashboard, server, browser, **options).result()
    yield opened
    try:
        thread.submit(opened.check_console).result()
    finally:
        thread.submit(opened.close).result()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that has a page in the thread of the browser."""
    if "dashboard" not in pyfuncitem.funcargs:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    thread = pyfuncitem.funcargs["thread"]
    thread.submit(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}).result()
    return True
