"""The chat page against a real server and model."""
import json
import unittest

from browser_case import BrowserCase

LONG = {"max_tokens": "400", "temperature": "0"}

HOSTILE = """# Title <b>x</b>

<script>window.hacked = 1</script> <img src=x onerror="window.hacked = 1">

[script](javascript:window.hacked=1) [data](data:text/html,x) [good](https://example.com/a?b=1&c=2) ![picture](https://example.com/p.png)

| a | b |
|---|--:|
| `<i>` | **1** |

- one
  - two

```html
<script>window.hacked = 1</script>
```
"""


class ChatTest(BrowserCase):
    def open(self, settings=None, chat=None):
        self.page.goto(self.server.address + "/chat")
        if settings or chat:
            self.page.evaluate("""([settings, chat]) => {
                if (settings) localStorage.setItem("takt.settings", JSON.stringify(settings));
                if (chat) localStorage.setItem("takt.chat." + chat.id, JSON.stringify(chat));
            }""", [settings, chat])
            self.page.reload()
        self.page.wait_for_selector("#status[data-state=ready]")

    def ask(self, text):
        self.page.fill("#input", text)
        self.page.press("#input", "Enter")

    def answer(self):
        return self.page.locator(".message.assistant").last

    def finished(self):
        self.answer().locator(".timing").wait_for()
        return self.answer()

    def test_streams_an_answer_and_says_how_long_each_phase_took(self):
        self.open({"temperature": "0", "max_tokens": "120"})
        self.screenshot("chat-empty")
        self.ask("Write a Python function that adds two numbers.")
        # Text is there before the answer ends: the stop button is still shown.
        self.wait_until("document.querySelector('.assistant .text').textContent.length > 20 && !document.getElementById('stop').hidden")
        self.assertIn("tokens/s", self.finished().locator("summary").inner_text())
        summary = self.answer().locator("summary").inner_text()
        for word in ("TTFT", "prefill", "decode", "ITL p50", "p99"):
            self.assertIn(word, summary)
        self.answer().locator("summary").click()
        sheet = self.answer().locator(".sheet").inner_text()
        for word in ("Queue", "Prefill rate", "Decode rate", "TTFT at the server", "the token limit"):
            self.assertIn(word, sheet)
        self.expects_failed_requests = True  # a server that keeps no account of requests answers 404
        self.in_every_look("chat")

    def test_settings_reach_the_server(self):
        self.open()
        self.page.click("#show-settings")
        for name, value in {"system": "Answer in capitals.", "temperature": "0", "top_p": "0.9", "top_k": "20", "min_p": "0.05", "seed": "7", "max_tokens": "3"}.items():
            self.page.fill(f"#set-{name}", value)
        self.page.fill("#set-top_p", "1.5")  # refused by the field: the last good value stays
        self.assertTrue(self.page.locator("#settings .wrong:visible").count() == 1)
        with self.page.expect_request("**/v1/chat/completions") as sent:
            self.ask("Hello")
        body = json.loads(sent.value.post_data)
        self.assertEqual([message["role"] for message in body["messages"]], ["system", "user"])
        wanted = {"temperature": 0, "top_p": 0.9, "top_k": 20, "min_p": 0.05, "seed": 7, "max_tokens": 3, "stream": True}
        self.assertEqual({name: body[name] for name in wanted}, wanted)
        self.finished()
        self.page.reload()
        self.page.click("#show-settings")
        self.assertEqual(self.page.input_value("#set-seed"), "7")

    def test_stop_keeps_what_came(self):
        self.open(LONG)
        self.ask("Count from one to two hundred in words.")
        self.wait_until("document.querySelector('.assistant .text').textContent.length > 20")
        self.page.click("#stop")
        self.answer().locator(".trouble").wait_for()
        self.assertIn("You stopped", self.answer().inner_text())
        self.assertGreater(len(self.answer().locator(".text").inner_text()), 20)
        self.assertTrue(self.page.is_visible("#send"))

    def test_editing_and_answering_again_lose_nothing(self):
        self.open({"temperature": "0", "max_tokens": "8"})
        self.ask("Say one.")
        self.finished()
        self.answer().locator("[aria-label='Answer again']").click()
        self.wait_until("document.querySelector('.assistant .versions')?.textContent === '2 / 2' && document.querySelector('.assistant .timing')")
        user = self.page.locator(".message.user")
        user.hover()
        user.locator("[aria-label='Edit and send again']").click()
        user.locator("textarea").fill("Say two.")
        user.locator("text=Send again").click()
        self.wait_until("document.querySelector('.user .versions')?.textContent === '2 / 2' && document.querySelector('.assistant .timing')")
        user.hover()
        user.locator("[aria-label='Earlier version']").click()
        self.assertIn("Say one.", self.page.locator(".message.user .text").inner_text())
        self.assertEqual(self.page.locator(".assistant .versions").inner_text(), "2 / 2")
        self.page.reload()
        self.assertIn("Say one.", self.page.locator(".message.user .text").inner_text())

    def test_several_chats_export_and_delete(self):
        self.open({"temperature": "0", "max_tokens": "4"})
        for text in ("First chat", "Second chat"):
            self.page.click("#new-chat")
            self.ask(text)
            self.finished()
        self.assertEqual(self.page.locator("#chat-list .open-chat").all_inner_texts(), ["Second chat", "First chat"])
        self.page.click("#chat-list .open-chat >> text=First chat")
        self.assertIn("First chat", self.page.locator(".message.user").inner_text())
        self.page.click("#show-settings")
        with self.page.expect_download() as download:
            self.page.click("text=Export Markdown")
        with open(download.value.path()) as file:
            self.assertIn("## User\n\nFirst chat", file.read())
        self.page.once("dialog", lambda dialog: dialog.accept())
        self.page.click("#chat-list li.current .remove")
        self.assertEqual(self.page.locator("#chat-list .open-chat").all_inner_texts(), ["Second chat"])

    def test_what_a_model_writes_is_text(self):
        node = {"id": "b", "parent": "a", "role": "assistant", "text": HOSTILE, "state": "done"}
        chat = {"id": "hostile", "title": "<img src=x onerror=hacked=1>", "created": 1, "updated": 1, "chosen": {"root": "a", "a": "b"},
                "nodes": {"a": {"id": "a", "parent": "root", "role": "user", "text": HOSTILE}, "b": node}}
        self.open(chat=chat)
        self.page.goto(self.server.address + "/chat#hostile")
        text = self.answer().locator(".text")
        text.locator("figure.code").wait_for()
        self.assertEqual(self.page.evaluate("window.hacked"), None)
        self.assertEqual(self.page.locator("#messages script, #messages .text img, #chat-list img").count(), 0)
        self.assertEqual(text.locator("a").evaluate_all("all => all.map((a) => a.href)"), ["https://example.com/a?b=1&c=2", "https://example.com/p.png"])
        self.assertEqual(text.locator("td").all_inner_texts(), ["<i>", "1"])
        self.assertEqual(text.locator("li li").inner_text(), "two")
        self.assertIn("<script>window.hacked = 1</script>", text.locator("pre").inner_text())
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        text.locator("[aria-label='Copy this code']").click()
        self.page.wait_for_selector("figure .done")
        self.assertEqual(self.page.evaluate("navigator.clipboard.readText()"), "<script>window.hacked = 1</script>")

    def test_enter_that_ends_a_composition_does_not_send(self):
        self.open({"max_tokens": "2"})
        self.page.fill("#input", "にほん")
        self.page.evaluate("""for (const options of [{isComposing: true}, {keyCode: 229}]) document.getElementById("input")
            .dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, ...options}))""")
        self.assertEqual(self.page.locator(".message").count(), 0)
        self.page.press("#input", "Shift+Enter")
        self.assertEqual(self.page.input_value("#input"), "にほん\n")
        self.page.press("#input", "Enter")
        self.finished()
        self.assertEqual(self.page.locator(".message").count(), 2)

    def test_an_error_names_what_is_wrong(self):
        self.expects_failed_requests = True
        self.open({"max_tokens": "2"})
        self.page.click("#show-settings")
        self.ask("word " * 9000)
        self.answer().locator(".trouble").wait_for()
        self.assertIn("context", self.answer().locator(".trouble").inner_text())

    def test_a_server_that_goes_away_takes_no_text_with_it(self):
        self.expects_failed_requests = True
        self.open(LONG)
        self.ask("Tell a long story about a river.")
        self.wait_until("document.querySelector('.assistant .text').textContent.length > 60")
        self.server.kill()
        self.answer().locator(".trouble").wait_for()
        kept = self.answer().locator(".text").inner_text()
        self.assertGreater(len(kept), 60)
        self.page.fill("#input", "a draft")
        self.page.wait_for_selector("#status[data-state=away]")
        self.screenshot("chat-away")
        self.server.start()
        self.page.wait_for_selector("#status[data-state=ready]")
        self.page.reload()
        self.assertEqual(self.answer().locator(".text").inner_text(), kept)
        self.assertEqual(self.page.input_value("#input"), "a draft")
        self.answer().locator("text=Try again").click()
        self.wait_until("document.querySelector('.assistant .versions')?.textContent === '2 / 2'")
        self.page.click("#stop")


if __name__ == "__main__":
    unittest.main()
