"""The overview and a fusion, live, in a browser."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from linmax.client import Client
from tests.service.dashboard.browser import FUSION, Dashboard, call, make_token, revoke_tokens

LIVE = f"#/fusions/{FUSION}"


def test_the_overview_sorts_and_searches(dashboard: Dashboard) -> None:
    page = dashboard.sign_in()
    names = page.locator("tbody th a")
    names.nth(1).wait_for()
    assert names.all_inner_texts() == ["empty", "mail"]
    page.get_by_role("button", name="Accuracy").click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert names.all_inner_texts() == ["mail", "empty"]
    row = call(dashboard.server, "GET", f"/dashboard/fusions/{FUSION}/summary").json()
    assert f"{100 * row['total']['linmax']['accuracy']:.1f}%" in page.locator("tbody").inner_text()
    dashboard.check_accessible()
    page.get_by_role("searchbox").fill("no such")
    page.get_by_text("No fusion has such a name").wait_for()
    page.get_by_role("searchbox").fill("mai")
    names.first.wait_for()
    names.first.click()
    page.get_by_role("heading", name=FUSION, exact=True).wait_for()


def test_labels_are_seen_as_they_come(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(LIVE)
    trials = page.locator("#live-trials")
    trials.wait_for()
    before = int(trials.inner_text())
    page.get_by_text("Live", exact=True).first.wait_for()
    with Client(dashboard.server.url, dashboard.server.token) as client:
        client.learn(FUSION, {"filter 0": "ham"}, "ham")
    page.locator("#live-trials", has_text=str(before + 1)).wait_for(timeout=2000)
    chart = page.get_by_role("img", name="Mistakes over time")
    mistakes = call(dashboard.server, "GET", f"/dashboard/fusions/{FUSION}/summary").json()["total"]
    page.get_by_role("img", name=f"At the end: linmax {mistakes['linmax']['mistakes']}, ").wait_for()
    assert f"Plurality {mistakes['plurality']['mistakes']}" in (chart.get_attribute("aria-label") or "")


def test_every_picture_can_be_saved_and_its_data(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(LIVE)
    history = call(dashboard.server, "GET", f"/v1/fusions/{FUSION}/history?points=300").json()["points"]

    def saved(title: str, kind: str) -> bytes:
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {title} as {kind}").click()
        assert download.value.suggested_filename.endswith("." + kind.lower())
        return Path(download.value.path()).read_bytes()

    page.get_by_role("img", name="Coverage against error").wait_for()
    rows = list(csv.reader(io.StringIO(saved("Mistakes over time", "CSV").decode())))
    assert rows[0] == ["Labels", "linmax", "Plurality", "Best expert", "Most frequent class"]
    assert [int(row[1]) for row in rows[1:]] == history["linmax"]
    for title in ("Trust per expert over time", "Who agrees with whom", "Confusion matrix", "Calibration"):
        svg = saved(title, "SVG")
        assert svg.startswith(b"<svg")
        assert title.encode() in svg
    assert saved("Confusion matrix", "PNG").startswith(b"\x89PNG")
    assert saved("Coverage against error", "PNG").startswith(b"\x89PNG")


def test_the_range_and_the_measure_can_be_chosen(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(LIVE)
    page.get_by_role("img", name="Coverage against error").wait_for()
    page.get_by_label("Range").select_option("200")
    page.get_by_text("A row is a label, a column a prediction, of the last 200 labels").wait_for()
    page.get_by_label("Mistakes as").select_option("5")
    page.get_by_text("The share of wrong predictions in a window").wait_for()
    page.get_by_label("Horizontal axis").select_option("time")
    page.get_by_text("Data as a table").first.click()
    page.get_by_role("columnheader", name="Time").wait_for()
    page.get_by_label("Range").select_option("dates")
    page.get_by_label("From").fill("2001-01-01T00:00:00")
    row = call(dashboard.server, "GET", f"/dashboard/fusions/{FUSION}/summary").json()
    page.get_by_text(f"a column a prediction, of the {row['trials']} labels of this time").wait_for()
    dashboard.check_accessible()
    page.get_by_label("Until").fill("2001-01-02T00:00:00")
    page.get_by_text("There are no labels in this range.").wait_for()


def test_a_revoked_token_ends_the_page(dashboard: Dashboard) -> None:
    dashboard.allow("401")
    page = dashboard.sign_in("#/fusions/empty", token=make_token(dashboard.server, "read", name="eve"))
    page.locator("#live-trials").wait_for()
    page.get_by_text("Live", exact=True).first.wait_for()
    revoke_tokens(dashboard.server, "eve")
    page.get_by_label("Token").wait_for()


def test_what_may_not_be_read_is_said(dashboard: Dashboard) -> None:
    dashboard.allow("403", "404")
    page = dashboard.sign_in(LIVE, token=make_token(dashboard.server, "read", fusions="empty"))
    page.get_by_role("heading", name="Not allowed").wait_for()
    dashboard.check_accessible()
    page.goto(f"{dashboard.server.url}/#/fusions/absent")
    page.get_by_role("heading", name="Not allowed").wait_for()
    page.goto(f"{dashboard.server.url}/#/fusions/empty")
    page.get_by_text("The picture appears with the first labels of the range.").first.wait_for()
    page.goto(f"{dashboard.server.url}/#/nonsense")
    page.get_by_role("heading", name="There is no such page").wait_for()
