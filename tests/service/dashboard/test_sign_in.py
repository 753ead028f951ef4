"""Signing in, in a browser."""

from __future__ import annotations

from tests.service.dashboard.browser import Dashboard


def test_a_token_signs_in_and_the_session_outlives_the_page(dashboard: Dashboard) -> None:
    page = dashboard.sign_in(token=dashboard.server.token)
    page.get_by_role("heading", name="Fusions").wait_for()
    assert dashboard.server.token not in page.content()
    page.reload()
    page.get_by_role("heading", name="Fusions").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    page.reload()
    page.get_by_label("Token").wait_for()


def test_a_wrong_token_is_named_and_the_field_has_the_focus(dashboard: Dashboard) -> None:
    dashboard.allow("401")
    page = dashboard.page
    page.goto(dashboard.server.url)
    page.get_by_label("Token").fill("lmx_wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("unknown, revoked or has ended").wait_for()
    assert page.evaluate("document.activeElement.name") == "token"
    dashboard.check_accessible()


def test_a_link_works_once(dashboard: Dashboard) -> None:
    dashboard.allow("401")
    link = dashboard.server.link()
    page = dashboard.page
    page.goto(link)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    assert link.rpartition("/")[2] not in page.url
    page.goto(link)
    page.get_by_text("The link was used before").wait_for()


def test_the_theme_can_be_switched_and_is_kept(dashboard: Dashboard) -> None:
    page = dashboard.page
    page.goto(dashboard.server.url)
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(background)
    assert light != dark
    page.reload()
    page.get_by_label("Token").wait_for()
    assert page.evaluate(background) == dark
    dashboard.check_accessible()


def test_the_keyboard_reaches_everything(dashboard: Dashboard) -> None:
    page = dashboard.sign_in()
    page.get_by_role("heading", name="Fusions").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
