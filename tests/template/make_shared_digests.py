#!/usr/bin/env python3
"""Writes conversations.json and shared_digests.json: what jinja2 renders from the templates of ../shared, as checksums.

The outputs themselves would be 100 MB. Per template and conversation: the CRC-32 and the bytes of all renderings (every
tool list, every setting, in order), each followed by a zero byte; a failure counts as "\\x01" and, if the template raised
it, its message.

usage: make_shared_digests.py TEMPLATE_FOLDER
"""
import json
import pathlib
import sys
import zlib

from conversations import CONVERSATIONS, SETTINGS, TOOLS
from reference import render

HERE = pathlib.Path(__file__).resolve().parent


def digest(source, messages):
    crc, size = 0, 0
    for tools in TOOLS.values():
        for more in SETTINGS.values():
            result = render(source, {"messages": messages, "tools": tools, "bos_token": "<s>", "eos_token": "</s>", **more})
            text = result["text"] if "text" in result else "\x01" + (result["error"] if result["raised"] else "")
            data = text.encode() + b"\0"
            crc, size = zlib.crc32(data, crc), size + len(data)
    return [crc, size]


def main():
    templates = {}
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
        source = file.read_bytes()
        templates[file.name] = {
            "source": zlib.crc32(source),
            "conversations": {name: digest(source.decode(), messages) for name, messages in CONVERSATIONS.items()},
        }
    shared = {"conversations": CONVERSATIONS, "tools": TOOLS, "settings": SETTINGS}
    (HERE / "conversations.json").write_text(json.dumps(shared, separators=(",", ":")) + "\n")
    with (HERE / "shared_digests.json").open("w") as out:
        lines = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in templates.items()]
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


main()
