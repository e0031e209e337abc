/**
 * Python scripts that run candidate programs. Except `runProgram`, each reads a request as JSON from standard input, and ends its output
 * with a line that starts with the request's `nonce`, which separates the reply from the candidate's own output. The nonce gives no
 * protection, because the candidate shares the process. The protection is that no expected value is in that process.
 */

/** Names that candidates may use without importing them, as in the published tests. The imports run in this order. */
const prelude = String.raw`
import ast
import builtins
import sys
import types

MODULES = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
).split()


def missing(tree):
    """Names that neither the program nor Python defines."""
    stored, loaded = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
        elif isinstance(node, ast.alias):
            stored.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
        else:
            stored.add(getattr(node, "name", None))
    return "*" in stored or not loaded <= stored | set(dir(builtins)) | {"__name__", "__file__"}


def load(source, name):
    """A module's names, after the common imports where the program counts on them."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    scope = module.__dict__
    tree = ast.parse(source)
    if missing(tree):
        for module in MODULES + ["builtins", "typing"]:
            exec(f"from {module} import *", scope)
        for module in MODULES:
            exec(f"import {module}", scope)
    return tree, scope


def source():
    with open("solution.py", encoding="utf-8") as file:
        return file.read()


sys.setrecursionlimit(600_000)
`

/** Converts Python values to JSON and back; see `ReturnedValue.Returned`. */
const values = String.raw`
def encode(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    kind = type(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((encode(item) for item in value), key=repr)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": list(value)}
    if kind.__name__ == "deque":
        return {"deque": [encode(item) for item in value]}
    if hasattr(value, "__next__") or kind.__name__ in ("range", "dict_keys", "dict_values", "dict_items"):
        return {"iterable": [encode(item) for _, item in zip(range(100_000), value)]}
    return {"other": [kind.__name__, text(str, value), text(repr, value)]}


def text(form, value):
    try:
        return str(form(value))
    except Exception:
        return ""


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, content), = value.items()
    if kind == "tuple":
        return tuple(decode(item) for item in content)
    if kind == "dict":
        return {decode(key): decode(item) for key, item in content}
    if kind == "set":
        return {decode(item) for item in content}
    if kind == "complex":
        return complex(*content)
    if kind == "bytes":
        return bytes(content)
    if kind == "deque":
        from collections import deque
        return deque(decode(item) for item in content)
    if kind == "iterable":
        return iter([decode(item) for item in content])
    return Opaque(*content)


class Opaque:
    """A value of the program that cannot be sent as data. Only its texts are known."""

    def __init__(self, kind, text, representation):
        self.text = text
        self.representation = representation

    def __str__(self):
        return self.text

    def __repr__(self):
        return self.representation
`

const reply = String.raw`
def reply(request, answer):
    sys.stdout.flush()
    sys.stdout.write("\n" + request["nonce"] + " " + json.dumps(answer) + "\n")
    sys.stdout.flush()
`

/** Runs `solution.py` as a program with direct use of standard input and output. */
export const runProgram = String.raw`${prelude}
tree, scope = load(source(), "__main__")
try:
    exec(compile(tree, "solution.py", "exec"), scope)
except SystemExit:
    pass
sys.stdout.flush()
`

/**
 * Calls a function of `solution.py` once for each list of arguments, and replies with the values that the calls returned. In the form
 * `plain`, the function may be a method of the class `Solution`, and an error ends the script. In the form `encoded`, the reply names the
 * error that a call raised, and has the arguments of a call that changed them.
 */
export const callFunction = String.raw`import json
${prelude}
${values}
${reply}

def function(request):
    text = source()
    tree, scope = load(text, "solution")
    exec(compile(tree, "solution.py", "exec"), scope)
    if "class Solution" in text and request["form"] == "plain":
        return getattr(scope["Solution"](), request["function"])
    return scope[request["function"]]


def plain(arguments):
    # JSON has no keys but texts: a single dictionary whose keys all are whole numbers is taken for one of numbers.
    if len(arguments) == 1 and isinstance(arguments[0], dict):
        try:
            return [{int(key): value for key, value in arguments[0].items()}]
        except ValueError:
            pass
    return arguments


def call(called, request, arguments):
    if request["form"] == "plain":
        return {"value": encode(called(*plain(arguments)))}
    positional, named = decode(arguments[0]), decode(arguments[1])
    try:
        answer = {"value": encode(called(*positional, **named))}
    except Exception as error:
        answer = {"raised": type(error).__name__}
    changed = [encode(positional), encode(named)]
    return answer if changed == arguments else {**answer, "changed": changed}


def main():
    request = json.loads(sys.stdin.readline())
    called = function(request)
    reply(request, [call(called, request, arguments) for arguments in request["calls"]])


main()
`

/**
 * Runs assertions against a stand-in for the candidate's function. The request has calls with their answers, in the order in which the
 * candidate answered them. The reply has no calls if the assertions made the same ones in this order; then its verdict counts. Otherwise it
 * has the calls that they made, of which the first `answered` were the same. The candidate's code never runs in this process.
 */
export const judgeAsserts = String.raw`import json
import random
import sys
import types
from collections import deque
${values}
${reply}

class Unanswered:
    """Passes for any value until its call is answered."""

    def _self(self, *others, **named):
        return self

    def _true(self, *others):
        return True

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = _true
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _self
    __neg__ = __abs__ = __round__ = __getitem__ = __getattr__ = __call__ = _self

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __len__(self):
        return 0

    def __iter__(self):
        return iter(())

    def __float__(self):
        return 0.0

    def __index__(self):
        return 0


class Raised(Exception):
    pass


class Unspeakable(BaseException):
    """Arguments of the tests that cannot be sent as data."""


class OpaqueArgument(BaseException):
    """Arguments that the program returned and that cannot be sent as data."""


def kind(encoded):
    return "list" if isinstance(encoded, list) else next(iter(encoded), None) if isinstance(encoded, dict) else None


def changed(held, before, after):
    """An argument, or an item in it, as a call left it. It stays the same object if it can be changed in place and kept its kind."""
    if before == after:
        return held
    value = decode(after)
    if kind(before) != kind(after):
        return value
    if isinstance(held, (tuple, list)):
        items = value
        if len(value) == len(held):
            old, new = (one if isinstance(one, list) else one["tuple"] for one in (before, after))
            items = [changed(*item) for item in zip(held, old, new)]
        if isinstance(held, list):
            held[:] = items
            return held
        is_same = len(items) == len(held) and all(one is other for one, other in zip(items, held))
        return held if is_same else tuple(items)
    if isinstance(held, dict):
        old = {json.dumps(key): (item, was) for item, (key, was) in zip(held.values(), before["dict"])}
        items = {}
        for key, now in after["dict"]:
            known = old.get(json.dumps(key))
            items[decode(key)] = decode(now) if known is None else changed(*known, now)
        held.clear()
        dict.update(held, items)
    elif isinstance(held, (set, deque)):
        held.clear()
        (held.update if isinstance(held, set) else held.extend)(value)
    elif isinstance(held, bytearray):
        held[:] = value
    else:
        return frozenset(value) if isinstance(held, frozenset) else value
    return held


class Calls:
    """The calls of the assertions, and what the candidate answered when it was called in the order of the request."""

    def __init__(self, answers):
        self.answers = [(json.dumps(call), answer) for call, answer in answers]
        # The assertions may have made other calls first, so the candidate may answer differently: good enough to find the next calls.
        self.likely = dict(self.answers)
        self.made = []
        self.answered = 0

    def answer(self, call):
        key = json.dumps(call)
        if '{"other":' in key:
            raise (OpaqueArgument if '{"other": ["Opaque",' in key else Unspeakable)(key)
        at = len(self.made)
        self.made.append(call)
        if at == self.answered and at < len(self.answers) and self.answers[at][0] == key:
            self.answered += 1
            return self.answers[at][1]
        return self.likely.get(key, Unanswered)

    def left(self):
        return [] if self.answered == len(self.made) else self.made


def stand_in(calls):
    def function(*arguments, **named):
        call = [encode(arguments), encode(named)]
        answer = calls.answer(call)
        if answer is Unanswered:
            return Unanswered()
        if "changed" in answer:
            changed(arguments, call[0], answer["changed"][0])
            for (name, before), (_, after) in zip(call[1]["dict"], answer["changed"][1]["dict"]):
                changed(named[name], before, after)
        if "raised" in answer:
            error = getattr(__builtins__, answer["raised"], Raised)
            is_error = isinstance(error, type) and issubclass(error, Exception)
            raise (error if is_error else Raised)(answer["raised"])
        return decode(answer["value"])
    return function


def numpy():
    """The part of NumPy that published tests use, where it is not installed."""
    def allclose(found, expected, rtol=1e-05, atol=1e-08):
        if isinstance(found, (list, tuple)) or isinstance(expected, (list, tuple)):
            return len(found) == len(expected) and all(allclose(a, b, rtol, atol) for a, b in zip(found, expected))
        return found == expected or abs(found - expected) <= atol + rtol * abs(expected)

    module = types.ModuleType("numpy")
    module.ndarray = type("ndarray", (), {})
    module.float32 = type("float32", (), {})
    module.float64 = type("float64", (), {})
    module.allclose = allclose
    return module


def passes(code, function, named):
    scope = {"__name__": "tests", named: function, "candidate": function}
    exec(compile(code, "tests.py", "exec"), scope)
    if callable(scope.get("check")):
        scope["check"](function)


def main():
    request = json.loads(sys.stdin.readline())
    try:
        import numpy as _
    except ImportError:
        sys.modules["numpy"] = numpy()
    sys.setrecursionlimit(10_000)
    # Tests that draw at random make the same calls in each round.
    random.seed(0)
    calls = Calls(request["answers"])
    result = {"passed": True, "detail": ""}
    try:
        passes(request["code"], stand_in(calls), request["function"])
    except Unspeakable as error:
        result = {"passed": False, "detail": str(error)[:300], "unspeakable": True}
    except BaseException as error:
        result = {"passed": False, "detail": f"{type(error).__name__}: {error}"[:300]}
    reply(request, {**result, "calls": calls.left(), "answered": calls.answered})


main()
`
