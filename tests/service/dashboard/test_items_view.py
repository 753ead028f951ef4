"""Items, trying and managing, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from linmax.client import Client
from tests.service.dashboard.browser import FUSION, Dashboard, call, make_token

ITEMS = f"#/fusions/{FUSION}/items"
LABEL_CARD = "#label-card"


@pytest.fixture
def client(server: Any) -> Any:
    with Client(server.url, server.token) as one:
        yield one


def chosen_item(page: Any) -> str:
    """The item that the form is about."""
    return str(page.locator(f"{LABEL_CARD} h3 a").inner_text())


def test_a_label_by_key_reaches_the_log_and_can_be_replaced(dashboard: Dashboard, client: Client) -> None:
    page = dashboard.sign_in(ITEMS)
    page.locator(LABEL_CARD).wait_for()
    dashboard.check_accessible()
    item = chosen_item(page)
    second = page.locator(f"{LABEL_CARD} button").nth(1).inner_text().split()[-1]
    page.keyboard.press("2")
    page.get_by_text(f"{item} is {second}.").wait_for()
    assert client.item(FUSION, item)["label"] == second
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Replace the label of").wait_for()
    assert chosen_item(page) == item
    first = page.locator(f"{LABEL_CARD} button").first.inner_text().split()[-1]
    page.keyboard.press("1")
    page.get_by_text(f"{item} is {first}.").wait_for()
    assert client.item(FUSION, item)["label"] == first
    page.locator(f"{LABEL_CARD} h3", has_text="What is").wait_for()
    assert chosen_item(page) != item


def test_keys_in_a_field_are_text(dashboard: Dashboard, client: Client) -> None:
    page = dashboard.sign_in(ITEMS)
    page.locator(LABEL_CARD).wait_for()
    item = chosen_item(page)
    page.get_by_role("searchbox").fill("mail-01")
    page.get_by_role("searchbox").press("1")
    page.get_by_role("link", name="mail-0110").wait_for()
    assert page.get_by_role("searchbox").input_value() == "mail-011"
    assert client.item(FUSION, item)["label"] is None
    page.get_by_role("searchbox").fill("nothing like it")
    page.get_by_text("No id begins with nothing like it").wait_for()


def test_an_item_is_explained(dashboard: Dashboard, client: Client) -> None:
    item = client.item(FUSION, "mail-0300")
    page = dashboard.sign_in(f"{ITEMS}/mail-0300")
    page.get_by_role("heading", name="What each expert added").wait_for()
    facts = page.locator("table").first.inner_text()
    assert item["prediction"] in facts
    assert item["label"] in facts
    page.get_by_role("rowheader", name="filter 6").wait_for()
    page.get_by_label("Explained with").select_option("then")
    page.get_by_text(f"Added to the score of {item['prediction']}").wait_for()
    dashboard.check_accessible()


def test_names_of_members_that_all_objects_have_are_explained(dashboard: Dashboard, client: Client) -> None:
    client.create("odd", learner="Averaged(Winnow(1.2))")
    client.learn("odd", {"ann": "constructor", "bob": "x", "valueOf": None}, "constructor", id="item")
    page = dashboard.sign_in("#/fusions/odd/items/item")
    page.get_by_role("rowheader", name="valueOf").wait_for()
    assert "NaN" not in page.locator("main").inner_text()
    call(dashboard.server, "DELETE", "/v1/fusions/odd")


def test_a_token_without_a_scope_sees_no_control_of_it(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(ITEMS, token=make_token(dashboard.server, "read"))
    page.get_by_role("heading", name="Surest mistakes").wait_for()
    assert page.locator(LABEL_CARD).count() == 0
    tabs = page.get_by_role("navigation", name=f"Views of {FUSION}").get_by_role("link")
    assert tabs.all_inner_texts() == ["Live", "Items"]
    assert page.get_by_role("link", name="Admin").count() == 0
    for path in ("#/admin", f"#/fusions/{FUSION}/manage", f"#/fusions/{FUSION}/try"):
        page.goto(f"{dashboard.server.url}/{path}")
        page.get_by_role("heading", name="Not allowed").wait_for()
    page.goto(f"{dashboard.server.url}/{ITEMS}/mail-0300")
    page.get_by_role("rowheader", name="filter 6").wait_for()
    assert page.get_by_role("heading", name="Replace the label").count() == 0


def test_trying_says_what_and_why(dashboard: Dashboard, client: Client) -> None:
    before = client.describe(FUSION)
    page = dashboard.sign_in(f"#/fusions/{FUSION}/try")
    for expert in ("filter 0", "filter 1", "filter 2"):
        page.get_by_label(expert, exact=True).select_option(label="phishing")
    page.get_by_role("heading", name="linmax says phishing").wait_for()
    page.get_by_text("next").or_(page.get_by_text("No answer of the others")).first.wait_for()
    dashboard.check_accessible()
    page.get_by_role("button", name="Clear").click()
    assert page.get_by_label("filter 0", exact=True).input_value() == "-"
    assert client.describe(FUSION)["digest"] == before["digest"]


def test_a_fusion_is_created_after_a_preview(dashboard: Dashboard, client: Client) -> None:
    page = dashboard.sign_in("#/admin")
    page.get_by_label("Name", exact=True).fill("made-here")
    page.get_by_label("Learner as text").fill("Winow(1.2)")
    page.get_by_text("did you mean 'Winnow'?").wait_for()
    page.get_by_label("Learner as text").fill("Winnow(1.2)")
    page.get_by_text("Valid: Winnow(1.2)").wait_for()
    page.get_by_label("Classes").first.fill("yes, no")
    dashboard.check_accessible()
    page.get_by_role("button", name="Create", exact=True).click()
    dialog = page.get_by_role("dialog")
    assert "Winnow(1.2)" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel").click()
    assert "made-here" not in client.fusions()
    page.get_by_role("button", name="Create", exact=True).click()
    dialog.get_by_role("button", name="Create").click()
    page.get_by_text("made-here is created.").wait_for()
    assert client.describe("made-here")["classes"] == ["yes", "no"]
    page.goto(f"{dashboard.server.url}/#/fusions/made-here/manage")
    page.get_by_role("button", name="Delete the fusion").click()
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Fusions").wait_for()
    assert "made-here" not in client.fusions()


def test_tokens_are_shown_once_and_revoked(dashboard: Dashboard) -> None:
    page = dashboard.sign_in("#/admin")
    page.get_by_label("Token name").fill("bob")
    page.get_by_label("Days").fill("0.5")
    page.get_by_role("button", name="Create the token").click()
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    text = page.locator("code").inner_text()
    headers = {"authorization": f"Bearer {text}"}
    import httpx

    path = dashboard.server.url + "/v1/fusions"
    assert httpx.get(path, headers=headers, trust_env=False, verify=False).status_code == 200
    page.get_by_role("button", name="bob").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("The token bob is revoked.").wait_for()
    assert httpx.get(path, headers=headers, trust_env=False, verify=False).status_code == 401


def test_excluding_and_rolling_back_show_first_what_changes(dashboard: Dashboard, client: Client) -> None:
    client.create("short", learner="Winnow(1.2)")
    for number in range(4):
        client.learn("short", {"ann": "x", "bob": "y"}, "xy"[number % 2], id=f"item {number}")
    page = dashboard.sign_in("#/fusions/short/manage")
    page.get_by_label("Items, an id per line").fill("item 1\nitem 2\nabsent")
    page.get_by_role("button", name="Preview").last.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("2 labels, from").wait_for()
    dashboard.check_accessible()
    dialog.get_by_role("button", name="Exclude 2 labels", exact=True).click()
    page.get_by_text("Excluded: 2 labels.").wait_for()
    assert client.item("short", "item 1")["excluded"]
    assert not client.item("short", "item 0")["excluded"]
    page.get_by_label("Position").fill("999999")
    page.get_by_role("button", name="Preview").first.click()
    page.get_by_text("Nothing would change").wait_for()
    position = client.item("short", "item 2")["learned"]
    page.get_by_label("Position").fill(str(position))
    page.get_by_role("button", name="Preview").first.click()
    dialog.get_by_role("heading", name=f"Roll short back to position {position:,}?").wait_for()
    dialog.get_by_role("button", name=f"Roll back to position {position:,}", exact=True).click()
    page.get_by_text(f"short is rolled back to position {position:,}, which changes 3 labels.").wait_for()
    assert client.item("short", "item 3")["excluded"]
    assert not client.item("short", "item 1")["excluded"]
    call(dashboard.server, "DELETE", "/v1/fusions/short")
