/** Correct programs that use Python's standard library, drawn from a seed. Plain CPython defines the right results. */
import { Draw } from "@effect-rl/core/testing"
import type { CodeTask } from "@effect-rl/recipes"
import { spawnSync } from "node:child_process"

export interface CorrectProgram {
  /** The language feature that the program tests. */
  readonly family: string
  readonly code: string
  readonly tests: CodeTask.StdinTests | CodeTask.FunctionTests
}

/** A program whose right results CPython has not computed yet. */
interface Drawn {
  readonly family: string
  readonly form: "stdin" | "function"
  readonly code: string
  readonly inputs: ReadonlyArray<string>
}

const casesEach = 2

const many = <A>(count: number, make: (index: number) => A) => Array.from({ length: count }, (_, index) => make(index))

const integers = (draw: Draw.Draw, count: number, least = -1000, most = 1000) =>
  many(count, () => draw.integer(least, most))

const letters = "abcdefghijklmnopqrstuvwxyzäßéλ"

const word = (draw: Draw.Draw, longest = 9) =>
  many(draw.integer(1, longest), () => [...letters][draw.integer(0, [...letters].length - 1)]).join("")

const words = (draw: Draw.Draw, count: number) => many(count, () => word(draw))

const lines = (...parts: ReadonlyArray<unknown>) => `${parts.join("\n")}\n`

type Family = (draw: Draw.Draw) => Omit<Drawn, "family">

const stdin = (code: string, input: () => string): Omit<Drawn, "family"> => ({
  form: "stdin",
  code,
  inputs: many(casesEach, input)
})

/** A function named `solve`, whose arguments are JSON. */
const functional = (code: string, input: () => ReadonlyArray<unknown>): Omit<Drawn, "family"> => ({
  form: "function",
  code,
  inputs: many(casesEach, () => input().map((value) => JSON.stringify(value)).join("\n"))
})

const families: Readonly<Record<string, Family>> = {
  "sorting by keys": (draw) =>
    stdin(
      `n = int(input())\nitems = [input().split() for _ in range(n)]\nfor name, age in sorted(items, key=lambda item: (${
        draw.oneOf(["-int(item[1]), item[0]", "len(item[0]), item[0], int(item[1])", "int(item[1]) % 7, item[0]"])
      })): print(name, age)`,
      () => {
        const count = draw.integer(2, 12)
        return lines(count, ...many(count, () => `${word(draw)} ${draw.integer(1, 90)}`))
      }
    ),
  "words and counts": (draw) =>
    stdin(
      `from collections import Counter\nimport sys\ncounts = Counter(sys.stdin.read().split())\nfor word, count in sorted(counts.items(), key=lambda p: (-p[1], p[0]))[:${
        draw.integer(2, 6)
      }]: print(f'{word}: {count}')`,
      () => {
        const known: [string, ...Array<string>] = [word(draw, 3), ...words(draw, 4)]
        return lines(many(draw.integer(5, 40), () => draw.oneOf(known)).join(" "))
      }
    ),
  "text methods": (draw) =>
    functional(
      `def solve(text):\n    return text.${
        draw.oneOf([
          "title().swapcase()",
          "upper()",
          "casefold().split('a')",
          "replace('a', 'xy')[::-1]",
          "center(20, '*')",
          "encode('utf-8').hex()",
          "partition('e')[2]",
          "zfill(12).lstrip('0')"
        ])
      }`,
      () => [words(draw, draw.integer(1, 4)).join(" ")]
    ),
  "comprehensions": (draw) =>
    functional(
      `def solve(xs):\n    return [[x * y for y in xs if y % ${draw.integer(2, 5)}] for x in xs if x ${
        draw.oneOf([">", "<", "!="])
      } ${draw.integer(-5, 5)}]`,
      () => [integers(draw, draw.integer(0, 7), -20, 20)]
    ),
  "dictionaries": (draw) =>
    functional(
      `from collections import defaultdict\ndef solve(words):\n    groups = defaultdict(list)\n    for word in words: groups[${
        draw.oneOf(["len(word)", "word[0]", "''.join(sorted(word))"])
      }].append(word)\n    return {f'key {key}': sorted(value) for key, value in groups.items()}`,
      () => [words(draw, draw.integer(1, 12))]
    ),
  "sets": (draw) =>
    functional(
      `def solve(a, b):\n    return sorted(set(a) ${draw.oneOf(["&", "|", "-", "^"])} set(b))`,
      () => [integers(draw, 10, 0, 15), integers(draw, 8, 0, 15)]
    ),
  "recursion": (draw) =>
    functional(
      `def solve(n):\n    def move(n, a, b, c):\n        return 0 if n == 0 else ${
        draw.integer(1, 3)
      } + move(n - 1, a, c, b) + move(n - 1, c, b, a)\n    return move(n, 'a', 'b', 'c')`,
      () => [draw.integer(1, 10)]
    ),
  "deep recursion": (draw) =>
    stdin(
      `import sys\nsys.setrecursionlimit(20000)\ndef depth(n): return 0 if n == 0 else ${
        draw.integer(1, 9)
      } + depth(n - 1)\nprint(depth(int(input())))`,
      () => lines(draw.integer(500, 3000))
    ),
  "memoised functions": (draw) =>
    stdin(
      `from functools import lru_cache\n@lru_cache(maxsize=None)\ndef ways(n): return 1 if n == 0 else sum(ways(n - step) for step in (1, 2, ${
        draw.integer(3, 6)
      }) if step <= n)\nprint(ways(int(input())))`,
      () => lines(draw.integer(5, 120))
    ),
  "big integers": (draw) =>
    stdin(
      `import math\na, b = map(int, input().split())\nprint(a ** ${draw.integer(5, 60)} // b, pow(a, b, ${
        draw.integer(1e6, 1e9)
      }), math.gcd(a, b), math.isqrt(a * b), (a * b).bit_length())`,
      () => lines(`${draw.integer(1e6, 1e9)}${draw.integer(1e6, 1e9)} ${draw.integer(3, 1e6)}`)
    ),
  "big factorials": (draw) =>
    stdin(
      `import math\nn = int(input())\nprint(math.factorial(n) % ${
        draw.integer(1e8, 1e9)
      }, sum(map(int, str(math.comb(2 * n, n)))))`,
      () => lines(draw.integer(50, 800))
    ),
  "floats": (draw) =>
    stdin(
      `import sys\nxs = list(map(float, sys.stdin.read().split()))\nprint(min(xs) + max(xs), ${
        draw.oneOf(["max(xs) / 3", "xs[0] ** 0.5", "round(sum(xs) / len(xs), 4)", "xs[0] * xs[-1] - 1.1"])
      }, xs[-1] % 0.7)`,
      () => lines(many(draw.integer(2, 10), () => (draw.uniform() * 1000).toPrecision(draw.integer(1, 15))).join(" "))
    ),
  "math": (draw) =>
    functional(
      `import math\ndef solve(x, y):\n    return [math.${
        draw.oneOf(["sin(x)", "exp(y / 50)", "log(x)", "atan2(y, x)", "sqrt(x)", "lgamma(x)", "erf(y)"])
      }, math.hypot(x, y), math.floor(-x), math.fmod(y, 7), math.fsum([x] * 10)]`,
      () => [Number((1 + draw.uniform() * 99).toFixed(6)), draw.integer(-30, 30)]
    ),
  "formatting": (draw) =>
    stdin(
      `import sys\nfor line in sys.stdin:\n    x = float(line)\n    print(f'{x:${
        draw.oneOf([".3f", "10.2e", "+.1f", ",.2f", "08.3f", ".6g", ">15.2f"])
      }}', '%7.2f|%d' % (x, int(x)), '{:#x}'.format(int(abs(x))), repr(x))`,
      () =>
        lines(
          ...many(draw.integer(1, 5), () => (draw.uniform() * 10 ** draw.integer(-2, 8)).toFixed(draw.integer(0, 9)))
        )
    ),
  "generators": (draw) =>
    stdin(
      `from itertools import islice, takewhile\ndef numbers(seed):\n    while True:\n        yield seed\n        seed = (seed * ${
        draw.integer(3, 99)
      } + 7) % 10007\ndef nested(seed):\n    yield from islice(numbers(seed), 3)\n    yield from takewhile(lambda n: n % ${
        draw.integer(3, 9)
      }, numbers(seed))\nprint(*islice(nested(int(input())), 50))`,
      () => lines(draw.integer(1, 10_000))
    ),
  "classes": (draw) =>
    stdin(
      `from dataclasses import dataclass\nfrom functools import total_ordering\n@total_ordering\n@dataclass(frozen=True)\nclass Money:\n    cents: int\n    def __add__(self, other): return Money(self.cents + other.cents)\n    def __lt__(self, other): return self.cents < other.cents\n    def __str__(self): return f'{self.cents // 100}.{self.cents % 100:02d}'\nitems = [Money(int(x) * ${
        draw.integer(1, 9)
      }) for x in input().split()]\nprint(max(items), min(items), sum(items, Money(0)), sorted(items)[0] == min(items), items[0])`,
      () => lines(integers(draw, draw.integer(1, 8), 0, 99_999).join(" "))
    ),
  "inheritance": (draw) =>
    functional(
      `from abc import ABC, abstractmethod\nclass Shape(ABC):\n    @abstractmethod\n    def area(self): ...\nclass Box(Shape):\n    def __init__(self, a, b): self.a, self.b = a, b\n    def area(self): return self.a * self.b\nclass Cube(Box):\n    def __init__(self, a): super().__init__(a, a)\n    def area(self): return ${
        draw.integer(2, 6)
      } * super().area()\nclass Solution:\n    def solve(self, sizes):\n        return [shape.area() for size in sizes for shape in (Box(size, size + 1), Cube(size))]`,
      () => [integers(draw, draw.integer(1, 6), 0, 50)]
    ),
  "regular expressions": (draw) =>
    functional(
      `import re\ndef solve(text):\n    return [${
        draw.oneOf([
          "re.findall(r'[aeiou]+', text)",
          "re.sub(r'(\\w)(\\w)', r'\\2\\1', text)",
          "re.split(r'\\s+|[xyz]', text)",
          "[m.span() for m in re.finditer(r'\\b\\w', text)].__len__()",
          "bool(re.fullmatch(r'(?:[a-z]+ ?)+', text[:12]))"
        ])
      }, len(re.findall(r'\\w', text))]`,
      () => [words(draw, draw.integer(1, 6)).join(" ")]
    ),
  "itertools": (draw) =>
    functional(
      `from itertools import *\ndef solve(xs):\n    return [${
        draw.oneOf([
          "list(map(sum, combinations(xs, 2)))",
          "[list(p) for p in permutations(xs[:4])][-3:]",
          "list(accumulate(xs, lambda a, b: a * 3 - b))",
          "[[key, len(list(group))] for key, group in groupby(sorted(xs), key=lambda x: x % 3)]",
          "[sum(p) for p in product(xs[:3], repeat=3)]",
          "list(chain.from_iterable(zip_longest(xs, xs[1:], fillvalue=0)))"
        ])
      }, len(xs)]`,
      () => [integers(draw, draw.integer(4, 8), -9, 9)]
    ),
  "heaps": (draw) =>
    stdin(
      `import heapq\nheap = []\nfor token in input().split():\n    heapq.heappush(heap, (int(token) % ${
        draw.integer(5, 50)
      }, int(token)))\nprint(*[heapq.heappop(heap)[1] for _ in range(len(heap))])\nprint(heapq.nlargest(2, range(${
        draw.integer(3, 30)
      }), key=lambda x: x % 7))`,
      () => lines(integers(draw, draw.integer(1, 20), 0, 500).join(" "))
    ),
  "shortest paths": (draw) =>
    stdin(
      `import heapq, sys\nn, m = map(int, sys.stdin.readline().split())\ngraph = [[] for _ in range(n)]\nfor _ in range(m):\n    a, b, w = map(int, sys.stdin.readline().split())\n    graph[a].append((b, w)); graph[b].append((a, w + ${
        draw.integer(0, 3)
      }))\ndist = [float('inf')] * n\ndist[0] = 0\nqueue = [(0, 0)]\nwhile queue:\n    d, a = heapq.heappop(queue)\n    if d > dist[a]: continue\n    for b, w in graph[a]:\n        if d + w < dist[b]:\n            dist[b] = d + w\n            heapq.heappush(queue, (dist[b], b))\nprint(*dist)`,
      () => {
        const [nodes, edges] = [draw.integer(2, 15), draw.integer(1, 40)]
        const node = () => draw.integer(0, nodes - 1)
        return lines(`${nodes} ${edges}`, ...many(edges, () => `${node()} ${node()} ${draw.integer(1, 20)}`))
      }
    ),
  "dynamic programming": (draw) =>
    functional(
      `def solve(a, b):\n    row = list(range(len(b) + 1))\n    for i, x in enumerate(a, 1):\n        last, row[0] = row[0], i\n        for j, y in enumerate(b, 1):\n            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + ${
        draw.integer(1, 2)
      }, last + (x != y))\n    return row[-1]`,
      () => [words(draw, 3).join(""), words(draw, 3).join("")]
    ),
  "JSON": (draw) =>
    stdin(
      `import json\ndata = json.loads(input())\ndata['${word(draw, 4)}'] = [${
        draw.oneOf(["None, True", "1.5, 10 ** 20", "'\\u00e4', 1e100"])
      }]\nprint(json.dumps(data, sort_keys=True, ensure_ascii=${draw.oneOf(["True", "False"])}, indent=${
        draw.oneOf(["None", "2"])
      }))`,
      () => lines(JSON.stringify({ [word(draw)]: integers(draw, 3), [word(draw)]: { [word(draw)]: draw.uniform() } }))
    ),
  "bits": (draw) =>
    functional(
      `def solve(xs):\n    value = 0\n    for x in xs: value = (value << ${
        draw.integer(1, 5)
      }) ^ x\n    return [value, bin(value).count('1'), ~value, value & 0xffff, value >> 3, oct(abs(value))]`,
      () => [integers(draw, draw.integer(1, 25), 0, 255)]
    ),
  "exceptions": (draw) =>
    stdin(
      `import sys\nfor line in sys.stdin:\n    try:\n        a, b = line.split()\n        print(int(a) ${
        draw.oneOf(["//", "%", "/"])
      } int(b))\n    except ZeroDivisionError: print('zero')\n    except ValueError as error: print(type(error).__name__)\n    finally: print('-', end=' ')\nprint()`,
      () => lines(...many(draw.integer(1, 6), () => draw.oneOf(["6 3", "7 0", "x 1", "1", "-9 4", "10 -3"])))
    ),
  "queues": (draw) =>
    functional(
      `from collections import deque\ndef solve(grid):\n    queue, seen = deque([(0, 0, 0)]), {(0, 0)}\n    while queue:\n        r, c, d = queue.popleft()\n        if (r, c) == (len(grid) - 1, len(grid[0]) - 1): return d\n        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):\n            p = (r + dr, c + dc)\n            if 0 <= p[0] < len(grid) and 0 <= p[1] < len(grid[0]) and p not in seen and grid[p[0]][p[1]] < ${
        draw.integer(6, 9)
      }:\n                seen.add(p)\n                queue.append((*p, d + 1))\n    return -1`,
      () => {
        const [rows, columns] = [draw.integer(1, 8), draw.integer(1, 8)]
        return [many(rows, () => integers(draw, columns, 0, 9))]
      }
    ),
  "binary search": (draw) =>
    functional(
      `from bisect import bisect_left, bisect_right, insort\ndef solve(xs, q):\n    xs.sort()\n    insort(xs, ${
        draw.integer(-50, 50)
      })\n    return [bisect_left(xs, q), bisect_right(xs, q), xs]`,
      () => [integers(draw, draw.integer(0, 12), -50, 50), draw.integer(-50, 50)]
    ),
  "decimals and fractions": (draw) =>
    stdin(
      `from decimal import Decimal, getcontext\nfrom fractions import Fraction\ngetcontext().prec = ${
        draw.integer(10, 50)
      }\na, b = input().split()\nprint(Decimal(a) / Decimal(b), Fraction(int(a), int(b)), Decimal(a).sqrt())`,
      () => lines(`${draw.integer(1, 100_000)} ${draw.integer(1, 1000)}`)
    ),
  "dates": (draw) =>
    stdin(
      `from datetime import date, timedelta\nd = date.fromisoformat(input().strip())\nprint(d + timedelta(days=${
        draw.integer(-4000, 4000)
      }), d.strftime('%a %j %Y'), d.isocalendar()[1], (date(2100, 1, 1) - d).days)`,
      () => lines(`${draw.integer(1800, 2099)}-0${draw.integer(1, 9)}-${draw.integer(10, 28)}`)
    ),
  "matching": (draw) =>
    functional(
      `def solve(xs):\n    def kind(x):\n        match x:\n            case []: return 'empty'\n            case [a]: return f'one {a}'\n            case [a, *rest] if a > ${
        draw.integer(-20, 20)
      }: return f'{a} and {len(rest)}'\n            case _: return 'other'\n    return [kind(xs[:i]) for i in range(len(xs) + 1)]`,
      () => [integers(draw, draw.integer(0, 5), -30, 30)]
    ),
  "hashes and bytes": (draw) =>
    stdin(
      `import hashlib, base64, zlib\ndata = input().encode()\nprint(hashlib.${
        draw.oneOf(["sha256", "md5", "sha1", "blake2b"])
      }(data).hexdigest()[:24], base64.b64encode(data).decode(), zlib.crc32(data), len(zlib.compress(data * 50)) < len(data) * 50)`,
      () => lines(words(draw, draw.integer(1, 5)).join(" "))
    ),
  "seeded random numbers": (draw) =>
    stdin(
      `import random\nrandom.seed(int(input()))\nprint(random.randint(0, 10 ** 6), random.random(), random.sample(range(100), ${
        draw.integer(2, 9)
      }), random.choice('abc'))`,
      () => lines(draw.integer(0, 1e6))
    ),
  "sieves": (draw) =>
    stdin(
      `n = int(input())\nsieve = bytearray([1]) * (n + 1)\nsieve[:2] = b'\\0\\0'\nfor p in range(2, int(n ** 0.5) + 1):\n    if sieve[p]: sieve[p * p::p] = bytes(len(range(p * p, n + 1, p)))\nprint(sum(sieve), sum(i for i in range(n + 1) if sieve[i]) % ${
        draw.integer(100, 10_000)
      })`,
      () => lines(draw.integer(10, 20_000))
    )
}

/** Python code that runs every program on every input in one process, and prints the outputs and returned values. */
const oracle = String.raw`
import contextlib, io, json, sys
def printed(code, text):
  sys.stdin, out = io.StringIO(text), io.StringIO()
  with contextlib.redirect_stdout(out): exec(compile(code, 'solution.py', 'exec'), {'__name__': '__main__'})
  return out.getvalue()
def returned(code, text):
  scope = {'__name__': 'solution'}
  exec(compile(code, 'solution.py', 'exec'), scope)
  function = scope['Solution']().solve if 'Solution' in scope else scope['solve']
  return json.dumps(function(*map(json.loads, text.split('\n'))))
drawn = json.load(sys.stdin)
sys.setrecursionlimit(20000)
json.dump([[(printed if one['form'] == 'stdin' else returned)(one['code'], text) for text in one['inputs']] for one in drawn],
  sys.__stdout__)
`

const env = { PATH: "/usr/bin:/bin:/usr/local/bin", PYTHONHASHSEED: "0", PYTHONUTF8: "1" }

const answers = (drawn: ReadonlyArray<Drawn>): ReadonlyArray<ReadonlyArray<string>> => {
  const { stderr, stdout } = spawnSync("python3", ["-c", oracle], {
    env,
    input: JSON.stringify(drawn),
    encoding: "utf8",
    maxBuffer: 2 ** 28
  })
  const parsed: unknown = stdout === "" ? undefined : JSON.parse(stdout)
  if (!Array.isArray(parsed)) throw new Error(`plain CPython does not answer: ${stderr}`)
  return parsed
}

const testsOf = ({ form, inputs }: Drawn, outputs: ReadonlyArray<string>): CorrectProgram["tests"] => {
  const cases = inputs.map((input, index) => ({ input, output: outputs[index] ?? "" }))
  return form === "stdin" ? { _tag: "Stdin", cases } : { _tag: "Function", functionName: "solve", cases }
}

/** Programs of each family in turn. Requires Python on this machine. */
export const make = (count: number, seed: number): ReadonlyArray<CorrectProgram> => {
  const named = Object.entries(families)
  const drawn = many(count, (index): Drawn => {
    const [family, draw] = named[index % named.length] ?? ["", () => stdin("", () => "")]
    return { family, ...draw(Draw.make(seed, "program", index)) }
  })
  const outputs = answers(drawn)
  return drawn.map((one, index) => ({ family: one.family, code: one.code, tests: testsOf(one, outputs[index] ?? []) }))
}

/** The program with a wrong expected result for its last case, so a right program fails there. */
export const spoiled = (program: CorrectProgram): CorrectProgram => ({
  ...program,
  tests: {
    ...program.tests,
    cases: program.tests.cases.map(({ input, output }, index, { length }) =>
      index < length - 1
        ? { input, output }
        : { input, output: program.tests._tag === "Stdin" ? `${output}!` : "\"?\"" }
    )
  }
})

/** Right programs whose results differ between sandboxes, and why. */
export const differing: ReadonlyArray<CorrectProgram & { readonly because: string }> = [
  ["NumPy", "import numpy as np\nprint(int(np.arange(10).sum()))", "45", "available if the provider's Python has it"],
  [
    "threads",
    "import threading\nfound = []\nt = threading.Thread(target=lambda: found.append(1))\nt.start(); t.join()\nprint(len(found))",
    "1",
    "WASI has no threads"
  ],
  [
    "processes",
    "import subprocess\nprint(subprocess.run(['echo', '7'], capture_output=True, text=True).stdout)",
    "7",
    "WASI has no processes"
  ],
  [
    "recursion through C, 6,000 deep",
    "import sys\nfrom functools import lru_cache\nsys.setrecursionlimit(100000)\n@lru_cache(None)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(6000))",
    "6000",
    "WASI allows 4,000 calls through C, and each level takes two"
  ],
  ["word size", "import sys\nprint(sys.maxsize > 2 ** 32)", "True", "WASI has 32-bit words"],
  [
    "order of large numbers in a set",
    "print(list({2 ** 31, 1, 2}))",
    "[2147483648, 1, 2]",
    "number hashes depend on the word size"
  ],
  ["sums of floats", "print(sum([0.1] * 10))", "0.9999999999999999", "Python adds floats exactly from 3.12 on"],
  [
    "syntax of Python 3.12",
    "x = [1, 2]\nprint(f\"{\"-\".join(map(str, x))}\")",
    "1-2",
    "WASI has 3.12; the others have the machine's Python"
  ],
  [
    "a long loop",
    "total = 0\nfor i in range(10 ** 7): total += i & 7\nprint(total)",
    "35000000",
    "WASI takes ten times as long, and has ten times the limit"
  ]
].map(([family = "", code = "", output = "", because = ""]) => ({
  family,
  code,
  because,
  tests: { _tag: "Stdin", cases: [{ input: "", output }] }
}))
