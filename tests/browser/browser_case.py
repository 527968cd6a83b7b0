"""What all browser tests share: one server, one browser, a fresh profile for each test, and no error that goes unnoticed."""
import os
import re
import unittest
from pathlib import Path

from playwright.sync_api import sync_playwright

from server_process import ServerProcess

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Not a limit on speed: only so that what never comes fails the test.
WAIT_MS = 240_000
# What Chromium itself writes to the console when a request fails; a test that provokes that says so.
NETWORK_NOISE = re.compile(r"^Failed to load resource: ")


class BrowserCase(unittest.TestCase):
    server_options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(*cls.server_options).start()
        cls.playwright = sync_playwright().start()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox does not run as root
        cls.browser = cls.playwright.chromium.launch(executable_path=os.environ["TAKT_CHROMIUM"], args=sandbox)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.server.stop()

    def setUp(self):
        self.faults, self.expects_failed_requests = [], False
        self.context = self.browser.new_context(viewport=DESKTOP, color_scheme="light", reduced_motion="reduce")
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.watched(self.context.new_page())

    def tearDown(self):
        self.context.close()
        faults = [fault for fault in self.faults if not (self.expects_failed_requests and NETWORK_NOISE.search(fault))]
        self.assertEqual(faults, [], "the page wrote errors, or asked somebody else")

    def watched(self, page):
        """Console errors (Content-Security-Policy violations are among them), exceptions, requests to anybody but the server."""
        page.on("console", lambda message: message.type in ("error", "warning") and self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", lambda request: None if request.url.startswith((self.server.address + "/", "blob:")) else self.faults.append(f"request: {request.url}"))
        return page

    def screenshot(self, name, page=None):
        folder = Path(os.environ["TAKT_BUILD"]) / "browser"
        (page or self.page).screenshot(path=folder / f"{name}.png")

    def wait_until(self, expression):
        """Until a JavaScript expression holds. (Playwright's own wait_for_function evaluates a string in the page, which the
        pages' Content-Security-Policy forbids.)"""
        for _ in range(WAIT_MS // 50):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        self.fail(f"never became true: {expression}")

    def in_every_look(self, name):
        """Screenshots in both themes and on a phone; nothing may be wider than the screen."""
        page = self.page
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(1200)  # the charts are drawn once a second
            self.screenshot(f"{name}-{theme}")
        page.set_viewport_size(PHONE)
        page.wait_for_timeout(1200)
        self.screenshot(f"{name}-phone")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), PHONE["width"])
        page.set_viewport_size(DESKTOP)
        page.emulate_media(color_scheme="light")
