"""Reads src/LAYERS. Lines, `#` starts a comment:

  FOLDER: FOLDER…          what a folder may include besides itself (`*`: anything); the longest matching folder counts
  apart: FOLDER FOLDER     two folders that never include each other
  barred: FOLDER HEADER…   headers that no file of the folder may reach, directly or through others (tests excepted)
  without: FILE FOLDER…    folders of which a file may not reach any header
  unlinked: TARGET FOLDER… folders whose libraries a program may not link
"""


class LayersError(Exception):
    """What is wrong with src/LAYERS."""


class Layers:
    def __init__(self, text):
        self.allowed = {}  # folder -> set of folders
        self.apart, self.barred, self.without, self.unlinked = [], [], [], []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if line:
                self.read_line(number, line)
        known = set(self.allowed) | {"*"}
        for folder, others in self.allowed.items():
            if others - known:
                raise LayersError(f"{folder} may include {', '.join(sorted(others - known))}, which has no line of its own")

    def read_line(self, number, line):
        key, colon, rest = line.partition(":")
        words = rest.split()
        if not colon:
            raise LayersError(f"line {number} has no colon: {line}")
        if key == "apart":
            if len(words) != 2:
                raise LayersError(f"line {number}: apart takes two folders")
            self.apart.append((words[0], words[1]))
        elif key in ("barred", "without", "unlinked"):
            if len(words) < 2:
                raise LayersError(f"line {number}: {key} takes a name and what it may not have")
            getattr(self, key).append((words[0], words[1:]))
        elif key in self.allowed:
            raise LayersError(f"line {number}: a second line for {key}")
        else:
            self.allowed[key] = set(words)

    def layer_of(self, path):
        """The longest listed folder that holds a path (from src/, or apps/…), or None."""
        parts = path.split("/")[:-1]
        for count in range(len(parts), 0, -1):
            if "/".join(parts[:count]) in self.allowed:
                return "/".join(parts[:count])
        return None

    def may_include(self, layer, target):
        return target == layer or "*" in self.allowed[layer] or target in self.allowed[layer]

    def allowed_text(self, layer):
        return ", ".join(sorted(self.allowed[layer])) or "nothing else of ours"
