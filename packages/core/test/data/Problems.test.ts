import { type EnvGroupBuilder, Message, type Policy, RLDataset, Rollout } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.characters
const model = Effect.map(Renderers.byName("qwen3_instruct", tokenizer), (renderer) => ({ renderer }))

const sums = [[1, 2], [3, 4]] as const

const says = (text: string): Policy.Policy => ({
  act: () => Effect.succeed(Script.text(tokenizer, `${text}<|im_end|>`))
})

const rewards = <E>(builders: ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<E>>, text: string) =>
  Effect.forEach(
    builders,
    (builder) =>
      Effect.map(
        Rollout.group(builder, says(text)),
        (result) => result._tag === "Completed" ? [...result.rewardsG] : []
      )
  )

const options = { groupsPerBatch: 2, groupSize: 2 }

describe("RLDataset.problems", () => {
  it.effect("rewards exact answers, ignoring surrounding white space", () =>
    Effect.gen(function*() {
      const dataset = RLDataset.problems(sums, {
        ...options,
        model: yield* model,
        problem: ([a, b]) => ({ question: `What is ${a} + ${b}?`, answer: String(a + b) })
      })
      const groups = yield* dataset.batch(0, 0)
      assert.deepStrictEqual(groups.map(({ key, size, tags }) => [key, size, tags]), [
        ["0", 2, ["problems"]],
        ["1", 2, ["problems"]]
      ])
      assert.deepStrictEqual(yield* rewards(groups, " 3\n"), [[1, 1], [0, 0]])
    }))

  it.effect("grades with the problem's own check or reward if it has one", () =>
    Effect.gen(function*() {
      const made = yield* model
      const dataset = RLDataset.problems(sums, {
        ...options,
        model: made,
        problem: ([a, b], index) => ({
          question: `What is ${a} + ${b}?`,
          answer: String(a + b),
          ...(index === 0
            ? { check: (text: string) => Effect.succeed(text.includes("3")) }
            : { reward: { name: "length", of: (text: string) => text.length / 10 } })
        })
      })
      assert.deepStrictEqual(yield* rewards(yield* dataset.batch(0, 0), "It is 3"), [[1, 1], [0.7, 0.7]])
    }))

  it.effect("has another fingerprint for another group size, check, reward or prefix", () =>
    Effect.gen(function*() {
      const made = yield* model
      const fingerprint = (
        changes: Partial<RLDataset.ProblemsOptions<readonly [number, number], never, never>>,
        part: object = {}
      ) =>
        RLDataset.problems<readonly [number, number]>(sums, {
          ...options,
          model: made,
          problem: ([a, b]) => ({ question: `${a} + ${b}`, answer: String(a + b), ...part }),
          ...changes
        }).fingerprint
      const fingerprints = [
        fingerprint({}),
        fingerprint({ groupSize: 4 }),
        fingerprint({ prefix: [Message.system("Be brief.")] }),
        fingerprint({}, { check: () => true }),
        fingerprint({}, { reward: { name: "length", of: () => 1 } }),
        fingerprint({}, { reward: { name: "brevity", of: () => 1 } })
      ]
      assert.strictEqual(new Set(fingerprints).size, fingerprints.length)
    }))
})
