"""A server that wants an API key: the pages come without one, and ask for it."""
import os
from pathlib import Path

from browser_case import BrowserCase


class ApiKeyTest(BrowserCase):
    @classmethod
    def setUpClass(cls):
        keys = Path(os.environ["TAKT_BUILD"]) / "browser/keys.txt"
        keys.parent.mkdir(parents=True, exist_ok=True)
        keys.write_text("open-sesame\n")
        cls.server_options = ("--api-key-file", str(keys))
        super().setUpClass()

    def test_chat_asks_and_remembers(self):
        self.expects_failed_requests = True
        self.page.goto(self.server.address + "/chat")
        self.page.wait_for_selector("#key-dialog[open]")
        self.screenshot("chat-key")
        self.page.fill("#key-input", "wrong")
        self.page.click("text=Use this key")
        self.page.wait_for_selector("#status[data-state=away]")
        self.page.fill("#input", "Hello")
        self.page.press("#input", "Enter")
        self.page.wait_for_selector("#key-dialog[open]")
        self.assertIn("not accepted", self.page.inner_text("#key-words"))
        self.page.fill("#key-input", "open-sesame")
        self.page.check("#key-kept")
        self.page.click("text=Use this key")
        self.page.wait_for_selector(".assistant .timing")
        self.page.reload()
        self.page.wait_for_selector("#status[data-state=ready]")
        self.assertFalse(self.page.is_visible("#key-dialog"))

    def test_dashboard_asks_too(self):
        self.expects_failed_requests = True
        self.page.goto(self.server.address + "/")
        self.page.wait_for_selector("#key-dialog[open]")
        self.page.click("#key-cancel")
        self.page.click("text=Enter a key")
        self.page.fill("#key-input", "open-sesame")
        self.page.click("text=Use this key")
        self.page.wait_for_selector("#status[data-state=ready]")
        self.assertFalse(self.page.is_visible("#notice"))
