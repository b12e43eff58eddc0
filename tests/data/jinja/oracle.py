#!/usr/bin/env python3
"""Expected values for the tables of src/text/jinja/*_test.cc, from jinja2 3.1.6.

Reads a list from standard input and prints the rows of C++ tables. "## Name" begins a table; a line
that starts with "T " is a whole template, any other line an expression. "⏎" stands for a newline
and "⇥" for a tab. Where jinja2 fails, the row goes to a list of refused sources.
The settings are those of chat templates: trimmed blocks, loop controls, the immutable sandbox.
"""
import json
import sys

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTEXT = json.load(open(__file__.replace("oracle.py", "table_context.json"), encoding="utf-8"))


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, "jinja2.ext.do"])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def literal(text):
    """A C++ string literal; every byte outside of printable ASCII and UTF-8 letters is escaped."""
    out = '"'
    for c in text:
        code = ord(c)
        if c in '"\\':
            out += "\\" + c
        elif c == "\n":
            out += "\\n"
        elif c == "\t":
            out += "\\t"
        elif code < 32 or code == 127:
            out += "\\%03o" % code
        elif not c.isprintable() or c.isspace() and c != " ":
            out += ("\\u%04x" % code if code < 0x10000 else "\\U%08x" % code) if code >= 0xa0 else "".join("\\%03o" % b for b in c.encode())
        else:
            out += c
    return out + '"'


def table(name, rows):
    good, refused = [], []
    for row in rows:
        whole = row.startswith("T ")
        source = (row[2:] if whole else row).replace("⏎", "\n").replace("⇥", "\t")
        try:
            text = environment().from_string(source if whole else "{{ " + source + " }}").render(
                **json.loads(json.dumps(CONTEXT)))
            good.append((whole, source, text))
        except Exception:  # of any kind: the engine has one kind of error
            refused.append((whole, source))
    suite, case = name.split(".")
    print(f"TEST({suite}, {case}) {{")
    for whole in (False, True):
        mine = [r for r in good if r[0] == whole]
        if mine:
            print(f"  {'expect_templates' if whole else 'expect_values'}({{")
            for _, source, text in mine:
                print(f"      {{{literal(source)}, {literal(text)}}},")
            print("  });")
    for whole in (False, True):
        mine = [r for r in refused if r[0] == whole]
        if mine:
            print(f"  {'expect_refused_templates' if whole else 'expect_refused'}({{")
            for _, source in mine:
                print(f"      {literal(source)},")
            print("  });")
    print("}\n")


def main():
    name, rows = None, []
    for line in sys.stdin.read().split("\n"):
        if line.startswith("## "):
            if name:
                table(name, rows)
            name, rows = line[3:], []
        elif line:
            rows.append(line)
    table(name, rows)


main()
