"""Writes what pylatexenc 2.10 makes of each macro to src/grading/LatexSymbols.gen.ts.

    python record_latex.py > ../../src/grading/LatexSymbols.gen.ts
"""

import json
import logging
import string

from pylatexenc import latex2text, latexwalker

logging.disable(logging.CRITICAL)
walker = latexwalker.get_default_latex_context_db()
writer = latex2text.get_default_latex_context_db()
names = sorted({name for db in (walker, writer) for category in db.categories() for name in db.d[category]["macros"]})
skipped = {"frac", "nicefrac", "sqrt", "begin", "end", "verb", "item", "\\"}


def text(latex: str) -> str | None:
    try:
        return latex2text.LatexNodes2Text().latex_to_text(latex)
    except Exception:
        return None


def arguments(name: str) -> str:
    spec = walker.get_macro_spec(name)
    return getattr(spec.args_parser, "argspec", "") or "" if spec else ""


letters = string.ascii_uppercase + string.ascii_lowercase
symbols, signatures, kept, accents, alphabets = {}, {}, [], {}, {}
for name in names:
    if name in skipped or name.lower().startswith(("uebung", "exercise", "subue", "hin", "cite", "pdf", "new", "renew", "provide")):
        continue
    signature = arguments(name)
    if signature:
        signatures[name] = signature
        shown = text(f"\\{name}{{{letters}}}") if signature == "{" else None
        if shown == letters:
            kept.append(name)
        elif shown and len(shown) == len(letters) and shown.isalpha():
            alphabets[name] = shown
        elif shown and len(accented := text(f"\\{name}{{q}}")) == 2 and accented[0] == "q":
            accents[name] = accented[1]
    else:
        constant = text(f"\\{name}{{}}" if name.isalpha() else f"\\{name}")
        if constant:
            symbols[name] = constant


def declare(about: str, name: str, kind: str, value: object) -> None:
    print(f"/** {about} */\nexport const {name}: {kind} = {json.dumps(value, ensure_ascii=False)}\n")


print("/** What pylatexenc 2.10 makes of macros; written by `scripts/grading/record_latex.py`. */\n// dprint-ignore-file\n")
record = "Readonly<Record<string, string>>"
declare("Text of the macros without arguments; macros that are absent have none.", "symbols", record, symbols)
declare("Arguments of macros: `{` one, `[` an optional one, `*` an optional star.", "signatures", record, signatures)
declare("Macros that stand for their argument; other arguments are left out.", "kept", "ReadonlyArray<string>", kept)
declare("Combining characters put behind each character of the argument.", "accents", record, accents)
declare("Letters that replace A to Z and a to z of the argument.", "alphabets", record, alphabets)
