/** A machine without bubblewrap, Docker and Python can still judge programs, because WASI needs only Node. */
import { CodeGrader, type CodeTask } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"

const sums: CodeTask.Tests = { _tag: "Stdin", cases: [{ input: "2 3\n", output: "5\n" }] }

layer(Sandbox.Sandbox.layerWasi({ concurrency: 1 }), { excludeTestServices: true })(
  "the judgement of a program on a machine that has nothing but Node",
  (it) => {
    it.effect("passes a right program, and names WASI as its provider", () =>
      Effect.gen(function*() {
        const { verdict } = yield* CodeGrader.judge(sums, "print(sum(map(int, input().split())))")
        assert.deepInclude(verdict, { provider: "wasi", outcome: "passed" })
      }))

    it.effect("fails a program that prints something else", () =>
      Effect.gen(function*() {
        const { verdict } = yield* CodeGrader.judge(sums, "print(6)")
        assert.deepInclude(verdict, { provider: "wasi", outcome: "Wrong Answer" })
      }))

    it.effect("answers assertions that call with the items of a set", () =>
      Effect.gen(function*() {
        const code = "for w in {'apple', 'pear', 'fig', 'cherry', 'plum', 'kiwi'}:\n    assert f(w) == len(w)"
        const words: CodeTask.Tests = { _tag: "Asserts", functionName: "f", setup: "", code }
        const { verdict } = yield* CodeGrader.judge(words, "def f(x):\n    return len(x)")
        assert.deepInclude(verdict, { provider: "wasi", outcome: "passed" })
      }))
  }
)
