"""Every view at every width in both themes, a server that restarts, and many events."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from linmax.client import Client
from linmax.service.local import LocalServer
from tests.service.dashboard.browser import FUSION, THEMES, WIDTHS, Dashboard, call, make_token

VIEWS = {
    "overview": ("#/", "Fusions"),
    "live": (f"#/fusions/{FUSION}", FUSION),
    "empty": ("#/fusions/empty", "empty"),
    "items": (f"#/fusions/{FUSION}/items", FUSION),
    "item": (f"#/fusions/{FUSION}/items/mail-0300", FUSION),
    "waiting": (f"#/fusions/{FUSION}/items/mail-0411", FUSION),
    "try": (f"#/fusions/{FUSION}/try", FUSION),
    "manage": (f"#/fusions/{FUSION}/manage", FUSION),
    "admin": ("#/admin", "Admin"),
    "absent": ("#/absent", "There is no such page"),
}
PICTURES = os.environ.get("LINMAX_SCREENSHOTS")  # a folder for pictures of all views

CELLS = [{"width": width, "theme": theme} for width in WIDTHS for theme in THEMES]


@pytest.mark.slow
@pytest.mark.parametrize(
    "dashboard", CELLS, indirect=True, ids=lambda cell: "-".join(map(str, cell.values()))
)
def test_every_view_fits_and_is_accessible(dashboard: Dashboard, request: pytest.FixtureRequest) -> None:
    page = dashboard.page
    page.goto(dashboard.server.url)
    page.get_by_label("Token").wait_for()
    dashboard.check_accessible()
    dashboard.check_fits()
    dashboard.sign_in()
    for name, (path, heading) in VIEWS.items():
        page.goto(f"{dashboard.server.url}/{path}")
        page.get_by_role("heading", name=heading, exact=True).first.wait_for()
        if name == "live":
            page.get_by_role("img", name="Coverage against error").wait_for()
        page.wait_for_timeout(300)
        dashboard.check_accessible()
        dashboard.check_fits()
        if PICTURES:
            cell = request.node.callspec.id
            dashboard.shoot(Path(PICTURES) / f"{name}-{cell}.png")


@pytest.mark.slow
@pytest.mark.parametrize("dashboard", [{"width": 1280}, {"width": 390}], indirect=True, ids=["1280", "390"])
def test_the_longest_names_fit(dashboard: Dashboard, request: pytest.FixtureRequest) -> None:
    """Names of 100 and 200 characters without a place to break them."""
    fusion, id_ = "f" * 100, "i" * 200
    with Client(dashboard.server.url, dashboard.server.token) as client:
        client.create(fusion, learner="Averaged(Winnow(1.2))")
        for t in range(4):
            votes = {letter * 200: "xy"[t % 2] * 200 for letter in "abc"}
            client.learn(fusion, votes, "xy"[t // 2] * 200, id=f"{t}")
        client.predict(fusion, {"a" * 200: "x" * 200}, id=id_)
        client.predict(fusion, {"b" * 200: "x" * 200}, id="next")
    page = dashboard.sign_in()
    for name, path in {"live": "", "items": "/items", "item": f"/items/{id_}", "try": "/try"}.items():
        page.goto(f"{dashboard.server.url}/#/fusions/{fusion}{path}")
        page.get_by_role("heading", name=fusion).first.wait_for()
        page.wait_for_timeout(500)
        if name == "item":
            page.get_by_text("Added to the score of").wait_for()
        dashboard.check_fits()
        if name == "try":
            page.get_by_label("a" * 200).select_option("0")
            page.get_by_role("heading", name="linmax says").wait_for()
            dashboard.check_fits()
        if PICTURES:
            dashboard.shoot(Path(PICTURES) / f"long-{name}-{request.node.callspec.id}.png")
    page.goto(f"{dashboard.server.url}/#/")
    page.get_by_role("link", name=fusion).wait_for()
    dashboard.check_fits()
    if PICTURES:
        dashboard.shoot(Path(PICTURES) / f"long-overview-{request.node.callspec.id}.png")
    call(dashboard.server, "DELETE", f"/v1/fusions/{fusion}")


@pytest.mark.slow
def test_the_page_survives_a_restart(browser: Any, thread: Any, tmp_path: Path) -> None:
    """The server stops and starts again on the same port; the page goes on by itself."""

    def story() -> None:
        server = LocalServer(tmp_path).start()
        with Client(server.url, server.token) as client:
            client.create("spam", learner="Averaged(Winnow(1.2))")
            client.learn("spam", {"ann": "x"}, "x")
            client.learn("spam", {"ann": "x"}, "y")
        dashboard = Dashboard(server, browser)
        dashboard.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET", "503")
        page = dashboard.sign_in("#/fusions/spam")
        page.locator("#live-trials", has_text="2").wait_for()
        port = int(server.url.rpartition(":")[2])
        server.stop()
        page.get_by_text("Connecting again").or_(page.get_by_text("cannot be reached")).first.wait_for()
        page.evaluate("location.hash = '#/'")
        page.get_by_role("heading", name="Offline").wait_for()
        page.evaluate("location.hash = '#/fusions/spam'")
        again = LocalServer(tmp_path, port).start()
        page.locator("#live-trials", has_text="2").wait_for(timeout=20_000)
        page.get_by_text("Live", exact=True).first.wait_for(timeout=20_000)
        with Client(again.url, again.token) as client:
            client.learn("spam", {"ann": "x"}, "y")
        page.locator("#live-trials", has_text="3").wait_for()
        again.stop()
        page.get_by_text("Connecting again").or_(page.get_by_text("cannot be reached")).first.wait_for()
        third = LocalServer(tmp_path, port).start()
        with Client(third.url, third.token) as client:
            client.learn("spam", {"ann": "x"}, "y")
        page.locator("#live-trials", has_text="4").wait_for(timeout=20_000)
        dashboard.check_console()
        dashboard.close()
        third.stop()

    thread.submit(story).result()


MAX_GROWTH = 1_000_000  # bytes of the heap after a collection, from a fifth of the events to the last one
MAX_NODES = 200  # of the document, in the same time
WATCH = """
window.seen = [];
new MutationObserver(() => {
    const shown = document.getElementById("live-trials")?.textContent;
    if (shown) window.seen.push([Date.now() / 1000, Number(shown.replaceAll(",", ""))]);
}).observe(document.body, {subtree: true, childList: true, characterData: true});
"""


def heap(tools: Any) -> tuple[int, int]:
    """The bytes of the heap after a collection, and the nodes of the document."""
    tools.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return int(found["JSHeapUsedSize"]), int(found["Nodes"])


@pytest.mark.slow
def test_a_fast_stream_is_shown_within_a_second_and_takes_no_memory(
    browser: Any, thread: Any, tmp_path: Path
) -> None:
    """`LINMAX_DASHBOARD_EVENTS` sets the number of events; memory is measured after each tenth of them."""

    def send(server: LocalServer, sent: list[tuple[float, int]], items: int, rate: float) -> None:
        start = time.time()
        with Client(server.url, server.token) as client:
            for number in range(0, items, 50):
                votes = [{"votes": {"ann": "x", "bob": "y"}, "label": "xy"[i % 2]} for i in range(50)]
                client.learn_many("fast", votes)
                sent.append((time.time(), number + 50))
                time.sleep(max(0.0, start + (number + 50) / rate - time.time()))

    def story() -> None:
        with LocalServer(tmp_path) as server:
            with Client(server.url, server.token) as client:
                client.create("fast", learner="Winnow(1.2)")
            dashboard = Dashboard(server, browser)
            page = dashboard.sign_in("#/fusions/fast")
            page.locator("#live-trials").wait_for()
            page.evaluate(WATCH)
            sent: list[tuple[float, int]] = []
            items = int(os.environ.get("LINMAX_DASHBOARD_EVENTS", "10000"))
            sender = threading.Thread(target=send, args=(server, sent, items, 1000.0))
            sender.start()
            tools = dashboard.context.new_cdp_session(page)
            tools.send("Performance.enable")
            memory: list[tuple[int, int, int]] = []
            while sender.is_alive():
                page.wait_for_timeout(200)
                if sent and sent[-1][1] >= (len(memory) + 1) * items // 10:
                    memory.append((sent[-1][1], *heap(tools)))
            sender.join()
            page.locator("#live-trials", has_text=f"{items:,}").wait_for()
            seen = page.evaluate("window.seen")
            delays = sorted(
                min((at for at, shown in seen if shown >= count), default=float("inf")) - when
                for when, count in sent
            )
            print(json.dumps({"median": delays[len(delays) // 2], "largest": delays[-1], "memory": memory}))
            assert delays[int(0.95 * len(delays))] < 1.0
            (_, used, nodes), (_, used_last, nodes_last) = memory[1], memory[-1]
            assert used_last - used < MAX_GROWTH, memory
            assert nodes_last - nodes < MAX_NODES, memory
            dashboard.check_console()
            dashboard.close()

    thread.submit(story).result()


@pytest.mark.slow
def test_many_experts_and_classes_stay_small(browser: Any, thread: Any, tmp_path: Path) -> None:
    """No answer has more than a megabyte, and the views appear."""

    def story() -> None:
        with LocalServer(tmp_path) as server:
            with Client(server.url, server.token) as client:
                client.create("wide", learner="Averaged(Winnow(1.2))")
                items = [
                    {"id": f"{t}", "votes": {f"expert {i}": f"class {(t * i) % 200}" for i in range(500)}}
                    for t in range(400)
                ]
                for start in range(0, 400, 50):
                    client.predict_many("wide", items[start : start + 50])
                    if start < 350:
                        labels = [
                            {"id": one["id"], "label": f"class {int(one['id']) % 200}"} for one in items
                        ]
                        client.label_many("wide", labels[start : start + 50])
            dashboard = Dashboard(server, browser)
            sizes: list[tuple[int, str]] = []
            dashboard.page.on(
                "response",
                lambda answer: sizes.append((int(answer.headers.get("content-length", "0")), answer.url)),
            )
            page = dashboard.sign_in("#/fusions/wide")
            page.set_default_timeout(30_000)
            page.get_by_role("img", name="Coverage against error").wait_for()
            dashboard.check_fits()
            for path in ("items", "items/7", "try"):
                page.goto(f"{server.url}/#/fusions/wide/{path}")
                page.get_by_role("heading", name="wide").wait_for()
            page.get_by_label("Another expert").wait_for()
            page.wait_for_timeout(500)
            dashboard.check_fits()
            assert max(sizes)[0] < 1_000_000, max(sizes)
            dashboard.check_console()
            dashboard.close()

    thread.submit(story).result()


@pytest.mark.slow
def test_a_token_for_labels_sees_what_it_may_do(dashboard: Dashboard) -> None:
    token = make_token(dashboard.server, "read", "label", "predict")
    page = dashboard.sign_in(f"#/fusions/{FUSION}/items", token=token)
    page.locator("#label-card").wait_for()
    tabs = page.get_by_role("navigation", name=f"Views of {FUSION}").get_by_role("link")
    assert tabs.all_inner_texts() == ["Live", "Items", "Try it"]


@pytest.mark.slow
def test_a_token_for_predictions_can_try_and_sees_nothing_else(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(token=make_token(dashboard.server, "predict", fusions=FUSION))
    page.get_by_role("heading", name="To try").wait_for()
    dashboard.check_accessible()
    page.get_by_role("link", name=FUSION).click()
    page.get_by_role("heading", name=FUSION, exact=True).wait_for()
    tabs = page.get_by_role("navigation", name=f"Views of {FUSION}").get_by_role("link")
    assert tabs.all_inner_texts() == ["Try it"]
    page.get_by_label("filter 0").select_option(label="spam")
    page.get_by_role("heading", name="linmax says").wait_for()
