import * as Effect from "effect/Effect"
import * as Outcome from "../Outcome.ts"
import * as SandboxFiles from "../SandboxFiles.ts"
import * as Case from "./Case.ts"

const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)

/** A variable of this process that no program may see. */
const planted = "EFFECT_RL_CONTRACT_SECRET"

const isEqual = (left: Uint8Array | undefined, right: Uint8Array) =>
  left !== undefined && Buffer.compare(left, right) === 0

/** The cases on outcomes of programs that end by themselves, and on the input that programs receive. */
export const cases: ReadonlyArray<Case.Case> = [
  Case.make(
    "outcome: both outputs and the exit code of a program are separate",
    Effect.gen(function*() {
      const place = yield* Case.open()
      const outcome = yield* place.run({
        python: "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)",
        shell: "echo out; echo err >&2; exit 3"
      })
      yield* Case.expectOutcome(outcome, Outcome.is("Exited")(outcome) && outcome.code === 3, "exit code 3")
      yield* Case.expectEqual("stdout", Outcome.text(outcome.stdout), "out\n")
      yield* Case.expectEqual("stderr", Outcome.text(outcome.stderr), "err\n")
    })
  ),
  Case.make(
    "outcome: standard input reaches the program and then ends",
    Effect.gen(function*() {
      const place = yield* Case.open()
      const program = { python: "import sys; print(sys.stdin.read().upper())", shell: "cat | tr a-z A-Z" }
      yield* Case.expectPrinted(yield* place.run(program, { stdin: "two\nlines" }), "TWO\nLINES")
      yield* Case.expectPrinted(yield* place.run(program), "")
    })
  ),
  Case.make(
    "outcome: a program that does not read its standard input may exit first",
    Effect.gen(function*() {
      const place = yield* Case.open()
      const outcome = yield* place.run({ python: "print(1)", shell: "echo 1" }, { stdin: "x".repeat(1_000_000) })
      yield* Case.expectPrinted(outcome, "1")
    })
  ),
  Case.make(
    "outcome: arguments reach the program as they are",
    Effect.gen(function*() {
      const place = yield* Case.open()
      const args = ["a b", "$HOME", "*", "'\"", ""]
      const outcome = yield* place.run(
        { python: "import sys; print('|'.join(sys.argv[1:]))", shell: "IFS='|'; echo \"$*\"" },
        { args }
      )
      yield* Case.expectPrinted(outcome, args.join("|"))
    })
  ),
  Case.make(
    "outcome: a command that does not exist exits with 127",
    Effect.gen(function*() {
      const { handle } = yield* Case.open()
      const outcome = yield* handle.exec({ argv: ["no-such-command"] })
      yield* Case.expectOutcome(outcome, Outcome.is("Exited")(outcome) && outcome.code === 127, "exit code 127")
    })
  ),
  Case.make(
    "outcome: bytes that are not text are passed on unchanged",
    Case.where(
      Case.runsPython,
      Effect.gen(function*() {
        const place = yield* Case.open()
        const echo = { python: "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())" }
        const outcome = yield* place.run(echo, { stdin: bytes })
        yield* Case.expectOutcome(outcome, isEqual(outcome.stdout, bytes), "the 256 bytes that were put in")
      })
    )
  ),
  Case.make(
    "outcome: a program may call itself hundreds of times through C, and an endless one gets an error",
    Case.where(
      Case.runsPython,
      Effect.gen(function*() {
        const place = yield* Case.open()
        const program = {
          python: `
import functools, sys
sys.setrecursionlimit(10_000)
@functools.lru_cache(None)
def depth(n): return 0 if n == 0 else 1 + max(map(depth, [n - 1]))
print(depth(700), [].__len__() if len(sys.argv) == 1 else sys.setrecursionlimit(1000) or depth(10 ** 6))`
        }
        yield* Case.expectPrinted(yield* place.run(program), "700 0")
        const endless = yield* place.run(program, { args: ["endless"] })
        const said = Outcome.text(endless.stderr).trimEnd().split("\n").at(-1) ?? ""
        yield* Case.expectOutcome(endless, said.startsWith("RecursionError"), "RecursionError")
      })
    )
  ),
  Case.make(
    "outcome: what programs that run at the same time print is not mixed",
    Effect.gen(function*() {
      const place = yield* Case.open()
      const program = { python: "print(input() * 3)", shell: "read line; echo $line$line$line" }
      yield* Effect.forEach(
        ["a", "b", "c", "d", "e", "f"],
        (letter) =>
          Effect.flatMap(
            place.run(program, { stdin: letter }),
            (outcome) => Case.expectPrinted(outcome, letter.repeat(3))
          ),
        { concurrency: "unbounded" }
      )
    })
  ),
  Case.make(
    "files: those of the spec lie in the folder in which programs start",
    Effect.gen(function*() {
      const files = SandboxFiles.make({ "a.txt": "one", "deep/er/b.txt": "two" })
      const place = yield* Case.open({ files })
      const outcome = yield* place.run({
        python: "print(open('a.txt').read() + open('deep/er/b.txt').read())",
        shell: "cat a.txt deep/er/b.txt"
      })
      yield* Case.expectPrinted(outcome, "onetwo")
    })
  ),
  Case.make(
    "files: what is written is read back, and a file that does not exist is undefined",
    Effect.gen(function*() {
      for (const role of ["agent", "grader"] as const) {
        const { handle } = yield* Case.open({ role })
        yield* handle.write("new/data.bin", bytes)
        yield* Case.expect(isEqual(yield* handle.read("new/data.bin"), bytes), "the bytes that were written", "others")
        yield* Case.expectEqual("a missing file", yield* handle.read("new/nothing"), undefined)
        yield* Case.expectEqual("a folder", yield* handle.read("new"), undefined)
      }
    })
  ),
  Case.make(
    "files: an agent finds what its last program wrote, a grader does not",
    Effect.gen(function*() {
      const count = {
        python: "open('log', 'a').write('x'); print(open('log').read())",
        shell: "printf x >> log; cat log"
      }
      for (const [role, expected] of [["agent", "xx"], ["grader", "x"]] as const) {
        const place = yield* Case.open({ role })
        yield* Case.expectPrinted(yield* place.run(count), "x")
        yield* Case.expectPrinted(yield* place.run(count), expected)
        const read = yield* place.handle.read("log")
        yield* Case.expectEqual("the file", read && Outcome.text(read), role === "agent" ? "xx" : undefined)
      }
    })
  ),
  Case.make(
    "environment: it has what the spec names, and nothing of this process",
    Effect.gen(function*() {
      process.env[planted] = "1"
      const place = yield* Case.open({ environment: { GREETING: "a=b c" } })
      const outcome = yield* place.run({
        python: "import os; print(os.environ['GREETING']); print(sorted(os.environ))",
        shell: "echo \"$GREETING\"; env"
      })
      yield* Case.expectOutcome(outcome, Outcome.text(outcome.stdout).startsWith("a=b c\n"), "the variable of the spec")
      yield* Case.expectOutcome(outcome, !Outcome.text(outcome.stdout).includes(planted), "no variable of this process")
    })
  ),
  Case.make(
    "spec: invalid values are denied, and unknown ones are unsupported",
    Effect.gen(function*() {
      yield* Case.expectRefusal(Case.open({ limits: { memory: 1 } }), "Denied")
      yield* Case.expectRefusal(Case.open({ limits: { wall: 0 } }), "Denied")
      yield* Case.expectRefusal(Case.open({ network: ["127.0.0.1:1"] }), "Denied")
      const { handle } = yield* Case.open()
      for (const path of ["../out", "/etc/passwd", "a/../../b", ""]) {
        yield* Case.expectRefusal(handle.read(path), "Denied")
        yield* Case.expectRefusal(handle.write(path, ""), "Denied")
      }
    })
  )
]
