"""One line of progress on stderr: rewritten in place on a terminal, a plain line every ten seconds elsewhere."""
import shutil
import sys
import time

PLAIN_SECONDS = 10


class Progress:
    def __init__(self, title):
        self.title = title
        self.is_terminal = sys.stderr.isatty()
        self.began = self.shown = time.monotonic()
        self.is_line_open = False

    def show(self, text):
        now = time.monotonic()
        if self.is_terminal:
            if now - self.shown < 0.1 and self.is_line_open:
                return
            width = shutil.get_terminal_size().columns
            print(f"\r\033[K{f'{self.title}: {text}'[:width - 1]}", end="", file=sys.stderr, flush=True)
            self.is_line_open = True
        elif now - self.shown < PLAIN_SECONDS:
            return
        else:
            print(f"{self.title}: {text} ({now - self.began:.0f} s)", file=sys.stderr, flush=True)
        self.shown = now

    def clear(self):
        if self.is_line_open:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.is_line_open = False
