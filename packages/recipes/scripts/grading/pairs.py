"""Random pairs of a candidate and a reference answer, one generator per kind of answer."""

import random
from collections.abc import Callable

Pair = tuple[str, str]


def number(r: random.Random) -> int:
    return r.choice([r.randint(0, 9), r.randint(0, 99), r.randint(100, 99999), r.randint(10**6, 10**12)])


def sign(r: random.Random) -> str:
    return r.choice(["", "", "", "-"])


def grouped(n: int, separator: str = ",") -> str:
    return f"{n:,}".replace(",", separator)


def near(r: random.Random, n: int) -> int:
    """The same number two times of three."""
    return n if r.random() < 0.67 else n + r.choice([-1, 1, 10, -10, 2])


def spell_integer(r: random.Random, n: int) -> str:
    return r.choice([
        str, grouped, lambda n: f"{n}.0", lambda n: f"${n}$", lambda n: f"\\${n}", lambda n: f"{n}\\%", lambda n: f"{n}%",
        lambda n: f" {n} ", lambda n: f"+{n}", lambda n: f"{n}.", lambda n: f"0{n}", lambda n: f"{n}.00", lambda n: f"({n})",
        lambda n: f"{{{n}}}", lambda n: f"\\text{{{n}}}", lambda n: grouped(n, ",\\!"), lambda n: grouped(n, " "),
        lambda n: f"\\boxed{{{n}}}", lambda n: f"x={n}", lambda n: f"x = {n}", lambda n: f"n={n}", lambda n: f"ab={n}",
        lambda n: f"{n}^\\circ", lambda n: f"{n}^{{\\circ}}", lambda n: f"\\$ {n}", lambda n: f"{n}.00000001", lambda n: f"{n}.5",
        lambda n: f"\\mathbf{{{n}}}", lambda n: f"\\textbf{{{n}}}", lambda n: f"{n}e0", lambda n: f"{n}\\\\", lambda n: f"\\,{n}",
        lambda n: f"\\left({n}\\right)", lambda n: f"-{n}", lambda n: f"- {n}", lambda n: f"{n}/1", lambda n: f"{n}\n",
        lambda n: f"{n}_{{10}}", lambda n: f"{n}\\text{{ units}}", lambda n: f"{n}!", lambda n: f"|{n}|", lambda n: f"\\approx {n}",
        lambda n: f"= {n}", lambda n: f"{n};", lambda n: f"{n},", lambda n: f"{n}\\cdot 1", lambda n: f"{n}+0"
    ])(n)


def integers(r: random.Random) -> Pair:
    n = number(r)
    other = near(r, n)
    left = r.choice([str, lambda n: spell_integer(r, n)])(n)
    return sign(r) + spell_integer(r, other), sign(r) + left


def decimals(r: random.Random) -> Pair:
    digits = r.randint(1, 4)
    value = r.randint(0, 10**r.randint(1, 6))
    text = f"{value / 10**digits:.{digits}f}"
    spelled = r.choice([
        lambda: text, lambda: text + "0", lambda: text.lstrip("0") if text.startswith("0.") else text, lambda: f"\\${text}",
        lambda: f"{text}\\%", lambda: f"{float(text):e}", lambda: f"{value}/{10**digits}", lambda: f"\\frac{{{value}}}{{{10**digits}}}",
        lambda: f"{value}\\times 10^{{-{digits}}}", lambda: f"{value} \\cdot 10^{{-{digits}}}", lambda: f"{float(text) + 1e-8:.9f}",
        lambda: f"{text[:-1]}", lambda: grouped(int(float(text))) + text[text.index("."):], lambda: f"{text} cm",
        lambda: f"{float(text) * 2}/2", lambda: text.replace(".", ","), lambda: f"0{text}", lambda: f"{value}*10^-{digits}",
        lambda: f"{float(text) / 2}+{float(text) / 2}", lambda: f"{text}\\ldots", lambda: f"\\text{{{text}}}", lambda: f"y={text}"
    ])()
    reference = r.choice([text, text, text + "0", str(float(text)), f"\\frac{{{value}}}{{{10**digits}}}", f"{value}/{10**digits}"])
    return sign(r) + spelled, sign(r) + reference


def spell_fraction(r: random.Random, a: int, b: int) -> str:
    k = r.randint(2, 5)
    return r.choice([
        f"{a}/{b}", f"\\frac{{{a}}}{{{b}}}", f"\\frac{{{a}}}{{{b}}}", f"\\dfrac{{{a}}}{{{b}}}", f"\\tfrac{{{a}}}{{{b}}}", f"\\frac{a}{b}",
        f"\\frac{a}{{{b}}}", f"\\frac{{{a}}}{b}", f"{a * k}/{b * k}", f"\\frac{{{a * k}}}{{{b * k}}}", f"{a} / {b}", f"({a})/({b})",
        f"({a}/{b})", f"\\frac {{{a}}} {{{b}}}", f"\\frac{{ {a} }}{{ {b} }}", f"{a / b}", f"{a / b:.3f}", f"{a / b:.2f}", f"{a}:{b}",
        f"\\frac{{{a}}}{{-{b}}}", f"-\\frac{{{a}}}{{{b}}}", f"\\frac{{-{a}}}{{{b}}}", f"-\\frac{{-{a}}}{{{b}}}", f"{a // b} {a % b}/{b}",
        f"{a // b}\\frac{{{a % b}}}{{{b}}}", f"{a // b} \\frac{{{a % b}}}{{{b}}}", f"{a // b}+{a % b}/{b}", f"$\\frac{{{a}}}{{{b}}}$",
        f"\\left(\\frac{{{a}}}{{{b}}}\\right)", f"\\frac{{{a}.0}}{{{b}}}", f"\\cfrac{{{a}}}{{{b}}}", f"{a}\\div {b}", f"{a}*{b}^-1",
        f"x=\\frac{{{a}}}{{{b}}}", f"\\frac{{{a}}}{{{b}}}\\text{{ cm}}", f"{{\\frac{{{a}}}{{{b}}}}}", f"{a}b", f"\\frac{{{a}}}{{{b}}}.",
        f"1/({b}/{a})" if a else "0", f"\\frac{{1}}{{{b}}}\\cdot {a}", f"{a}\\cdot\\frac{{1}}{{{b}}}", f"\\frac{{{b}}}{{{a}}}" if a else "0"
    ])


def fractions(r: random.Random) -> Pair:
    a, b = r.randint(0, 30), r.randint(1, 20)
    c = near(r, a)
    reference = r.choice([f"\\frac{{{a}}}{{{b}}}", f"{a}/{b}", f"\\frac{{{a}}}{{{b}}}", spell_fraction(r, a, b)])
    s = sign(r)
    return s + spell_fraction(r, abs(c), b), (s if r.random() < 0.9 else sign(r)) + reference


def arithmetic_tree(r: random.Random, depth: int) -> str:
    if depth == 0:
        return r.choice([str(r.randint(0, 12)), str(r.randint(1, 9)), f"{r.randint(1, 9)}.{r.choice([0, 5, 25, 1, 3])}"])
    left, right = arithmetic_tree(r, depth - 1), arithmetic_tree(r, r.randint(0, depth - 1))
    return r.choice([
        f"{left}+{right}", f"{left}-{right}", f"{left}*{right}", f"({left})({right})", f"{left}\\cdot {right}", f"{left}\\times {right}",
        f"({left})/{r.randint(1, 9)}", f"\\frac{{{left}}}{{{r.randint(1, 9)}}}", f"({left})^{r.randint(0, 3)}", f"{left} + {right}",
        f"-({left})", f"{r.randint(2, 5)}^{{{r.randint(0, 4)}}}+{left}", f"{r.randint(2, 5)}^{r.randint(0, 4)}-{left}"
    ])


def python_value(tree: str) -> str | None:
    """The value of a tree with LaTeX written as Python, or nothing where it has none."""
    text = tree.replace("\\cdot", "*").replace("\\times", "*").replace("^{", "**{").replace("^", "**")
    while "\\frac{" in text:
        start = text.rindex("\\frac{")
        close = text.index("}{", start)
        end = text.index("}", close + 2)
        text = f"{text[:start]}(({text[start + 6:close]})/({text[close + 2:end]})){text[end + 1:]}"
    text = text.replace("{", "(").replace("}", ")").replace(")(", ")*(")
    try:
        value = eval(text, {"__builtins__": {}})
        return f"{value:.10g}"
    except (SyntaxError, ZeroDivisionError, TypeError, ValueError, OverflowError):
        return None


def arithmetic(r: random.Random) -> Pair:
    tree = arithmetic_tree(r, r.randint(1, 3))
    value = python_value(tree)
    other = r.choice([tree, f"{tree}+0", f"0+{tree}", f"({tree})", f"1*({tree})", value or tree, value or tree, value or tree,
                      arithmetic_tree(r, 1), tree.replace("+", " + "), f"{tree}+1"])
    return (tree, other) if r.random() < 0.5 else (other, tree)


def radical(r: random.Random, n: int) -> str:
    return r.choice([f"\\sqrt{{{n}}}", f"\\sqrt{{{n}}}", f"\\sqrt{n}", f"sqrt({n})", f"\\sqrt {n}", f"{n}^{{1/2}}", f"{n}^{{0.5}}",
                     f"√{n}", f"\\sqrt[2]{{{n}}}", f"\\sqrt({n})", f"{n}^(1/2)", f"\\sqrt{{ {n} }}"])


def radicals(r: random.Random) -> Pair:
    a, b, c = r.randint(1, 6), r.choice([2, 3, 5, 6, 7, 10]), r.randint(1, 9)
    root = radical(r, b)
    forms = [
        lambda: (f"{a}{root}", radical(r, a * a * b)),
        lambda: (f"\\frac{{{root}}}{{{b}}}", f"\\frac{{1}}{{\\sqrt{{{b}}}}}"),
        lambda: (f"{a}+{root}", f"{root}+{a}"),
        lambda: (f"{a}+{root}", f"{radical(r, b)}+{a}"),
        lambda: (f"{a}\\sqrt{{{b}}}", f"\\sqrt{{{b}}} \\cdot {a}"),
        lambda: (f"{a} {root}", f"{a}{root}"),
        lambda: (f"\\frac{{{a}+\\sqrt{{{b}}}}}{{{c}}}", f"\\frac{{\\sqrt{{{b}}}+{a}}}{{{c}}}"),
        lambda: (f"\\frac{{{a}\\sqrt{{{b}}}}}{{{c}}}", f"{a}\\sqrt{{{b}}}/{c}"),
        lambda: (f"\\frac{{{a}}}{{{c}}}\\sqrt{{{b}}}", f"\\frac{{{a}\\sqrt{{{b}}}}}{{{c}}}"),
        lambda: (radical(r, a * a), str(a)),
        lambda: (f"\\sqrt[3]{{{a**3}}}", str(a)),
        lambda: (f"\\sqrt[3]{{{a}}}", f"{a}^{{1/3}}"),
        lambda: (f"{b**0.5:.{r.randint(2, 6)}f}", root),
        lambda: (f"(1+\\sqrt{{{b}}})^2", f"{1 + b}+2\\sqrt{{{b}}}"),
        lambda: (f"(\\sqrt{{{b}}}+{a})(\\sqrt{{{b}}}-{a})", str(b - a * a)),
        lambda: (f"\\frac{{1}}{{1+\\sqrt{{{b}}}}}", f"\\frac{{1-\\sqrt{{{b}}}}}{{{1 - b}}}"),
        lambda: (f"{a}\\pm\\sqrt{{{b}}}", f"{a} \\pm {root}"),
        lambda: (f"\\sqrt{{\\frac{{{a}}}{{{b}}}}}", f"\\frac{{\\sqrt{{{a * b}}}}}{{{b}}}"),
        lambda: (f"{a}\\pi", r.choice([f"\\pi {a}", f"{a} \\pi", f"{a}*\\pi", f"{a}π", f"{a}pi", f"{3.14159 * a}"])),
        lambda: (f"\\frac{{{a}\\pi}}{{{c}}}", r.choice([f"{a}\\pi/{c}", f"\\frac{{{a}}}{{{c}}}\\pi", f"\\pi\\frac{{{a}}}{{{c}}}", f"{a}/{c}\\pi"])),
        lambda: (f"\\sqrt{{{b}}}\\sqrt{{{c}}}", f"\\sqrt{{{b * c}}}"),
        lambda: (f"-{root}", f"-\\sqrt{{{b}}}"),
        lambda: (f"\\sqrt{{{a}+2\\sqrt{{{b}}}}}", f"1+\\sqrt{{{b}}}"),
        lambda: (f"2^{a}\\sqrt{{{b}}}", f"{2**a}\\sqrt{{{b}}}"),
        lambda: (f"\\ln {b}", f"\\ln({b})"),
        lambda: (f"ln({a * b})", f"ln({a})+ln({b})"),
        lambda: (f"{a}e^{c}", f"e^{c}*{a}"),
        lambda: (f"{a}i+{c}", r.choice([f"{c}+{a}i", f"{c} + {a}i", f"{c}+i{a}", f"{c}-{a}i"])),
    ]
    left, right = r.choice(forms)()
    if r.random() < 0.2:
        left = f"{left}+1"
    return (left, right) if r.random() < 0.5 else (right, left)


def polynomial(r: random.Random, coefficients: list[int], letter: str) -> str:
    terms = []
    for power, k in enumerate(coefficients):
        if k == 0:
            continue
        size = "" if abs(k) == 1 and power > 0 else str(abs(k))
        base = "" if power == 0 else letter if power == 1 else f"{letter}^{power}" if r.random() < 0.8 else f"{letter}^{{{power}}}"
        terms.append(("-" if k < 0 else "+", size + base))
    if r.random() < 0.7:
        terms.reverse()
    elif r.random() < 0.5:
        r.shuffle(terms)
    text = r.choice(["", " "]).join(f"{s}{t}" for s, t in terms) or "0"
    return text.lstrip("+ ")


def algebra(r: random.Random) -> Pair:
    x = r.choice("xyntabkz")
    y = r.choice([letter for letter in "xypqmn" if letter != x])
    a, b, c = r.randint(-6, 6), r.randint(-6, 6), r.randint(1, 6)
    plus = lambda k: f"+{k}" if k >= 0 else str(k)
    product = [a * b, a + b, 1]
    forms = [
        lambda: (f"({x}{plus(a)})({x}{plus(b)})", polynomial(r, product, x)),
        lambda: (f"({x}{plus(a)})^2", polynomial(r, [a * a, 2 * a, 1], x)),
        lambda: (f"{c}({x}{plus(a)})", polynomial(r, [a * c, c], x)),
        lambda: (polynomial(r, [a, b, c], x), polynomial(r, [a, b, c], x)),
        lambda: (polynomial(r, [a, b, c, 1], x), polynomial(r, [a, b, c, 1], x)),
        lambda: (f"\\frac{{{x}{plus(a)}}}{{{c}}}", r.choice([f"({x}{plus(a)})/{c}", f"\\frac{{{x}}}{{{c}}}{plus(a)}/{c}", f"{x}{plus(a)}/{c}"])),
        lambda: (f"\\frac{{1}}{{{x}{plus(a)}}}", r.choice([f"1/({x}{plus(a)})", f"({x}{plus(a)})^{{-1}}", f"({x}{plus(a)})^-1"])),
        lambda: (f"{c}{x}{y}", r.choice([f"{c}{y}{x}", f"{x}{y}*{c}", f"{c} \\cdot {x} \\cdot {y}", f"{c}{x}+{y}"])),
        lambda: (f"{x}+{y}", r.choice([f"{y}+{x}", f"{x} + {y}", f"{x}-{y}", f"-(-{x}-{y})"])),
        lambda: (f"\\frac{{{c}{x}}}{{2}}", r.choice([f"{c}{x}/2", f"{c / 2}{x}", f"\\frac{{{c}}}{{2}}{x}", f"{x}*{c}/2"])),
        lambda: (f"{x}^2-{c * c}", f"({x}-{c})({x}+{c})"),
        lambda: (f"\\frac{{{x}^2-{c * c}}}{{{x}-{c}}}", f"{x}+{c}"),
        lambda: (f"({x}^2-{c * c})/({x}-{c})", f"{x}+{c}"),
        lambda: (f"({x}+{y})^2", r.choice([f"{x}^2+2{x}{y}+{y}^2", f"{x}^2+{y}^2+2{x}{y}", f"{x}^2+{y}^2"])),
        lambda: (f"{x}^{{{c + 8}}}", f"{x}^{c + 8}"),
        lambda: (f"{x}^{c}", r.choice([f"{x}^{{{c}}}", f"{x}**{c}", f"{x}^{c}", "*".join([x] * c)])),
        lambda: (f"2^{x}", r.choice([f"2^{{{x}}}", f"2**{x}", f"{x}^2"])),
        lambda: (f"2^{{{x}+1}}", f"2\\cdot 2^{{{x}}}"),
        lambda: (f"{x}+{y}+w", f"w+{y}+{x}"),
        lambda: (f"{c}{x}_1", r.choice([f"{c}{x}_{{1}}", f"{x}_1*{c}", f"{c}{x}1"])),
        lambda: (f"\\sqrt{{{x}^2}}", x),
        lambda: (f"\\sqrt{{{c * c}{x}}}", f"{c}\\sqrt{{{x}}}"),
        lambda: (f"\\sin {x}", f"\\sin({x})"),
        lambda: (f"\\frac{{{x}}}{{{y}}}", r.choice([f"{x}/{y}", f"{x}{y}^-1", f"\\frac{{1}}{{{y}}}{x}", f"{y}/{x}"])),
        lambda: (f"f({x})={polynomial(r, [a, c], x)}", polynomial(r, [a, c], x)),
        lambda: (f"y={polynomial(r, [a, c], x)}", r.choice([polynomial(r, [a, c], x), f"y = {polynomial(r, [a, c], x)}"])),
        lambda: (f"\\alpha+{c}", f"{c}+\\alpha"),
        lambda: (f"{c}\\theta", r.choice([f"\\theta \\cdot {c}", f"{c} \\theta", f"{c}θ"])),
        lambda: (f"|{x}|", f"\\left|{x}\\right|"),
        lambda: (f"{x}({x}{plus(a)})", polynomial(r, [0, a, 1], x)),
        lambda: (f"{c}{x}({x}{plus(a)})", polynomial(r, [0, a * c, c], x)),
        lambda: (f"\\binom{{{x}}}{{2}}", f"\\frac{{{x}({x}-1)}}{{2}}"),
        lambda: (f"{x}!", f"{x} !"),
        lambda: (f"0.5{x}+{c}", f"{x}/2+{c}"),
    ]
    left, right = r.choice(forms)()
    if r.random() < 0.25:
        left = r.choice([f"{left}+1", f"-{left}", f"2{left}", left.replace("+", "-", 1)])
    return (left, right) if r.random() < 0.5 else (right, left)


def element(r: random.Random) -> str:
    return r.choice([
        str(r.randint(-9, 20)), str(r.randint(-9, 20)), f"\\frac{{{r.randint(1, 9)}}}{{{r.randint(2, 9)}}}", f"{r.randint(1, 9)}/{r.randint(2, 9)}",
        f"{r.randint(0, 9)}.{r.randint(1, 99)}", f"\\sqrt{{{r.randint(2, 12)}}}", r.choice("xyab"), f"{r.randint(2, 5)}\\pi",
        "\\infty", "-\\infty", f"{r.randint(1, 99)},{r.randint(0, 999):03d}", f"\\frac{{\\pi}}{{{r.randint(2, 6)}}}"
    ])


def respell_element(r: random.Random, text: str) -> str:
    return r.choice([text, text, text, text + ".0" if text.lstrip("-").isdigit() else text, text.replace("\\frac", "\\dfrac"), f" {text}",
                     element(r), text.replace("\\infty", "∞"), f"({text})"])


def tuples(r: random.Random) -> Pair:
    elements = [element(r) for _ in range(r.randint(1, 4))]
    others = [respell_element(r, text) for text in elements] if r.random() < 0.7 else list(elements)
    shape = r.random()
    if shape < 0.1:
        r.shuffle(others)
    elif shape < 0.15:
        others.append(element(r))
    opening, closing = r.choice([("(", ")"), ("(", ")"), ("[", "]"), ("(", "]"), ("[", ")"), ("\\{", "\\}"), ("\\left(", "\\right)"),
                                 ("\\left[", "\\right]"), ("", ""), ("{", "}"), ("\\langle ", "\\rangle"), ("x\\in[", "]"), ("(x,y)=(", ")")])
    other = (opening, closing) if r.random() < 0.75 else r.choice([("(", ")"), ("[", "]"), ("\\{", "\\}"), ("", ""), ("\\left(", "\\right)")])
    separator, another = r.choice([",", ", ", ", "]), r.choice([",", ", ", " , ", ",\\ ", ";", " \\text{ and } ", " and ", " or "]) if r.random() < 0.3 else ", "
    left = opening + separator.join(elements) + closing
    right = other[0] + another.join(others) + other[1]
    if r.random() < 0.15:
        more = r.choice(["(3,4)", "[5,\\infty)", "\\{7\\}"])
        left, right = f"{left}\\cup{more}", r.choice([f"{right} \\cup {more}", f"{more}\\cup {right}", f"{right}∪{more}"])
    if r.random() < 0.08:
        rows = [f"{r.randint(0, 9)} & {r.randint(0, 9)}" for _ in range(2)]
        matrix = "\\begin{pmatrix}" + " \\\\ ".join(rows) + "\\end{pmatrix}"
        return matrix, r.choice([matrix, matrix.replace(" ", ""), matrix.replace("pmatrix", "bmatrix"), matrix.replace(rows[0], "1 & 0")])
    return left, right


def relations(r: random.Random) -> Pair:
    x, y = r.sample("xyabnt", 2)
    a, b = r.randint(-9, 9), r.randint(1, 9)
    forms = [
        (f"{x}={a}", str(a)), (f"{x} = {a}", f"{y}={a}"), (f"{x}>{a}", f"{a}<{x}"), (f"{x}\\ge {a}", f"{x}\\geq {a}"), (f"{x}\\le{a}", f"{x}≤{a}"),
        (f"{x}>{a}", f"{x} > {a}"), (f"{x}\\neq {a}", f"{x} \\ne {a}"), (f"{a}<{x}<{a + b}", f"({a},{a + b})"), (f"{a}<{x}<{a + b}", f"{a} < {x} < {a + b}"),
        (f"{y}={b}{x}+{a}", f"{y}={a}+{b}{x}"), (f"{y}={b}{x}+{a}", f"{b}{x}+{a}"), (f"{x}^2+{y}^2={b}", f"{y}^2+{x}^2={b}"), (f"{b}={x}", str(b)),
        (f"{x}\\in[{a},{a + b}]", f"[{a},{a + b}]"), (f"{x}\\leq {a}", f"(-\\infty,{a}]"), (f"{x}={a} \\text{{ or }} {x}={b}", f"{a},{b}"),
        (f"{x}={a},{b}", f"{a},{b}"), (f"{x}={a}, {y}={b}", f"({a},{b})"), (f"{x}\\lt {a}", f"{x}<{a}"), (f"{x}:{y}={a}:{b}", f"{a}:{b}"),
        (f"{a}:{b}", f"{a}/{b}"), (f"{a} : {b}", f"{a}:{b}"), (f"{x} \\equiv {a} \\pmod{{{b}}}", f"{a}"), (f"{x}\\approx {a}", str(a)),
        (f"{x}={b}/2", f"\\frac{{{b}}}{{2}}"), (f"{x}_1={a}", str(a)), (f"ab={a}", str(a)), (f"abc={a}", str(a)), (f"P({x})={x}^2", f"{x}^2"),
        (f"\\angle {x.upper()}={10 * b}^\\circ", str(10 * b)), (f"{x}>={a}", f"{x}\\ge{a}"), (f"{x}=\\pm {b}", f"\\pm{b}"), (f"{x}|{x}>{a}", f"{x}>{a}"),
        (f"\\{{{x} | {x}>{a}\\}}", f"\\{{{x}|{x}>{a}\\}}"), (f"{a}\\le {x}\\le {a + b}", f"[{a},{a + b}]"), (f"{b}{x}+{a}=0", f"{b}{x}={-a}")
    ]
    left, right = r.choice(forms)
    return (left, right) if r.random() < 0.5 else (right, left)


UNITS = ["cm", "centimeters", "meters", "meter", "m", "miles", "mile", "seconds", "second", "s", "minutes", "minute", "hours", "hour", "h", "days",
         "weeks", "months", "years", "year", "feet", "foot", "ft", "inches", "inch", "in", "yards", "yard", "degrees", "degree", "dollars", "cents", "kg",
         "km", "kilometers", "mph", "cm^2", "cm^3", "square feet", "square inches", "units", "apples", "\\text{ cm}", "\\text{cm}", "\\text{ units}",
         "\\ \\text{cm}", "\\,\\text{cm}^2", "\\text{ cm}^2", "\\mathrm{cm}", "\\mathrm{~cm}", "\\text{ square units}", "\\%", "percent", "^\\circ", "°",
         "\\text{ meters per second}", "m/s", "million", "billion", "\\text{ million}", "\\text{ degrees}", "\\text{mph}", "\\text{inches}", "people", "mL"]


def units(r: random.Random) -> Pair:
    n = r.choice([str(r.randint(1, 500)), f"{r.randint(1, 50)}.{r.randint(1, 9)}", f"\\frac{{{r.randint(1, 9)}}}{{{r.randint(2, 9)}}}", grouped(r.randint(1000, 99999)),
                  f"{r.randint(2, 9)}\\pi", f"{r.randint(2, 9)}\\sqrt{{{r.randint(2, 9)}}}"])
    unit = r.choice(UNITS)
    spelled = f"{n}{r.choice(['', ' '])}{unit}"
    other = r.choice([n, n, n, n, f"{n} {r.choice(UNITS)}", f"{n}{r.choice(UNITS)}", f"\\${n}", f"${n}$", spelled, n + "1"])
    return (spelled, other) if r.random() < 0.7 else (other, spelled)


WORDS = ["yes", "no", "A", "B", "C", "D", "E", "true", "False", "even", "odd", "Monday", "triangle", "circle", "red", "blue", "none", "undefined", "east",
         "Evelyn", "parabola", "no solution", "all real numbers", "infinity", "DNE", "right", "isosceles", "neither", "seven", "twelve", "AB", "ABC",
         "second", "minute hand", "pi", "inf", "nan", "hyperbola", "week", "foot", "ellipse", "June 20", "3 times"]


def words(r: random.Random) -> Pair:
    word = r.choice(WORDS)
    other = word if r.random() < 0.75 else r.choice(WORDS)
    spellings = [
        "{0}", "{0}", "\\text{{{0}}}", "\\textbf{{{0}}}", "\\mathrm{{{0}}}", "\\mathbf{{{0}}}", "({0})", "{0}.", "\\text{{({0})}}", "${0}$", "{{{0}}}",
        "\\text{{ {0} }}", " {0} ", "\\textbf{{({0})}}", "\\text{{{0}.}}", "\\boxed{{{0}}}", "\\mbox{{{0}}}", "\"{0}\"", "\\text{{the answer is }}{0}",
        "\\text{{{0}}} ", "option {0}", "{0}:", "\\overline{{{0}}}", "\\textit{{{0}}}", "\\operatorname{{{0}}}", "\\mathcal{{{0}}}", "\\mathbb{{{0}}}", "**{0}**"
    ]
    cases = [str, str, str.lower, str.upper]
    return r.choice(spellings).format(r.choice(cases)(other)), r.choice(spellings).format(r.choice(cases)(word))


GENERATORS: dict[str, Callable[[random.Random], Pair]] = {
    "integers": integers, "decimals": decimals, "fractions": fractions, "arithmetic": arithmetic, "radicals": radicals, "algebra": algebra,
    "tuples": tuples, "relations": relations, "units": units, "words": words
}


def pairs(seed: int, each: int) -> list[tuple[str, str, str]]:
    """Kind, candidate and reference of `each` different pairs of every kind."""
    result = []
    for kind, generate in GENERATORS.items():
        r = random.Random(f"{seed} {kind}")
        seen: set[Pair] = set()
        while len(seen) < each:
            pair = generate(r)
            if pair not in seen:
                seen.add(pair)
                result.append((kind, *pair))
    return result
