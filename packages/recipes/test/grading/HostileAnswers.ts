/** Answers designed to take long to grade: deep, long, repetitive or of enormous value. */
import { Seed } from "@effect-rl/core/environments"

const repeated = (text: string) => (size: number) => text.repeat(size)
const wrapped = (open: string, inside: string, close: string) => (size: number) =>
  open.repeat(size) + inside + close.repeat(size)

const shapes: ReadonlyArray<(size: number) => string> = [
  repeated("9"),
  repeated("1,"),
  repeated("1,234"),
  repeated("9^"),
  repeated("x^y"),
  repeated("-"),
  repeated("- "),
  repeated("^ "),
  repeated("1 "),
  repeated("!"),
  repeated("9!"),
  repeated("\\"),
  repeated("\\frac"),
  repeated("\\frac1"),
  repeated("\\sqrt"),
  repeated("\\text{ "),
  repeated("\\begin{pmatrix}"),
  repeated("\\begin{pmatrix}1&2\\\\"),
  repeated("{"),
  repeated("}"),
  repeated("["),
  repeated("meters "),
  repeated("million"),
  repeated("a\\pm"),
  repeated("=x"),
  repeated("1e999+"),
  repeated("\ud800"),
  repeated("\u0301"),
  wrapped("(", "x+1", ")"),
  wrapped("(", "9", ")^9"),
  wrapped("(", "9", ")!"),
  wrapped("{", "9", "}"),
  wrapped("\\sqrt{", "2", "}"),
  wrapped("\\frac{1}{1+", "x", "}"),
  wrapped("\\begin{pmatrix}", "1", "\\end{pmatrix}"),
  wrapped("\\{", "1,2", "\\},\\{3,4\\}"),
  wrapped("x^{", "2", "}"),
  wrapped("(x+y)(", "1", ")"),
  wrapped("|", "x", "|"),
  wrapped("-(", "x", ")"),
  (size) => `9^9^9^9^9+${"1".repeat(size)}`,
  (size) => `${"9".repeat(size)}!`,
  (size) => `9**${"9".repeat(size)}`,
  (size) => `1e${"9".repeat(size)}`,
  (size) => `0.${"3".repeat(size)}`,
  (size) => `(${Array.from({ length: size }, (_, index) => `x^${index}`).join("+")})^9`,
  (size) => `\\{${Array.from({ length: size }, (_, index) => String((index * 7919) % 10_007)).join(", ")}\\}`,
  (size) => Array.from({ length: size }, (_, index) => `x=${index}`).join(", "),
  (size) => `((x+1)^9)^9/${"(x-1)".repeat(size)}`
]

const sizes = [1, 2, 3, 5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1000, 10_000]

/** `count` answer and reference pairs, drawn from the seed. */
export const pairs = (count: number, seed: number): ReadonlyArray<readonly [answer: string, reference: string]> => {
  const draw = <A>(from: ReadonlyArray<A>, ...place: ReadonlyArray<number>) =>
    from[Seed.derive(seed, ...place) % from.length]
  const text = (index: number, part: number) =>
    [0, 1].map((piece) => draw(shapes, index, part, piece, 0)?.(draw(sizes, index, part, piece, 1) ?? 1) ?? "")
      .slice(0, 1 + Seed.derive(seed, index, part) % 2).join("+")
  return Array.from({ length: count }, (_, index) => {
    const answer = text(index, 0)
    return [answer, index % 4 === 0 ? `${answer}+0` : text(index, 1)]
  })
}
