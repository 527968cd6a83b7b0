"""Renders chat templates as Hugging Face transformers does: the reference that the scripts here compare with."""
import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2024, 7, 26, 9, 5, 3)


class GenerationTag(jinja2.ext.Extension):
    """{% generation %} … {% endgeneration %} renders as its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(format):
    return NOW.strftime(format)


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


ENVIRONMENT = make_environment()


@functools.lru_cache(maxsize=16)
def compile_template(source):
    return ENVIRONMENT.from_string(source)


def render(source, variables):
    """Returns {"text": …} or {"error": message, "type": class, "raised": bool}."""
    try:
        variables = {"documents": None, "tools": None, "messages": None, "add_generation_prompt": False,
                     "bos_token": "", "eos_token": "", **variables}
        text = compile_template(source).render(**variables)
        text.encode("utf-8")
        return {"text": text}
    except Exception as error:  # whatever Python raises is the verdict
        return {"error": str(error), "type": type(error).__name__, "raised": type(error) is jinja2.exceptions.TemplateError}
