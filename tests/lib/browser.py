"""Debian's Chromium, and tabs that watch what a page does."""

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Browser, Page, sync_playwright

_CHROMIUM = "/usr/bin/chromium"
# The same for every picture of the documentation.
VIEWPORT = {"width": 1400, "height": 900}


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Tests may run as root, where Chromium's sandbox cannot.
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page of its own, and everything that it complained of."""

    def __init__(self, browser: Browser, scheme: str = "light"):
        self.context = browser.new_context(viewport=VIEWPORT, color_scheme=scheme)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.on("request", self._on_request)

    def _on_request(self, request) -> None:
        if not request.url.startswith("http://127.0.0.1:"):
            self.strangers.append(request.url)

    def open(self, url: str) -> Page:
        self.page.goto(url)
        self.page.wait_for_selector("#link[data-state=live]")
        return self.page

    def close(self) -> None:
        self.context.close()
        assert not self.complaints, self.complaints
        assert not self.strangers, self.strangers


@contextlib.contextmanager
def tab(browser: Browser, scheme: str = "light") -> Iterator[Tab]:
    """A tab that must have nothing to complain of and ask nobody else."""
    opened = Tab(browser, scheme)
    yield opened
    opened.close()
