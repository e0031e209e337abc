import * as Plan from "@effect-rl/cli/train/Plan"
import {
  ChatModel,
  Message,
  MessagePolicy,
  RLDataset,
  RubricGradedGroupBuilder,
  Setting,
  Tinker
} from "@effect-rl/core"
import { Prices, RunOptions } from "@effect-rl/core/program"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { AgentRecipe } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Stream } from "effect"

const backend = Layer.merge(ScriptedTinker.layer({}), TestTokenizer.layer(TestTokenizer.characters))

/** A task with two prompts per batch, three answers each, graded with two rubrics. */
const judgedOn = Effect.fnUntraced(function*(words: ReadonlyArray<string>) {
  const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
  const judge = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 20, seed: 0 })
  return {
    model,
    run: Stream.empty,
    check: Effect.void,
    dataset: RLDataset.fromArray(words, {
      groupsPerBatch: 2,
      group: (word) =>
        RubricGradedGroupBuilder.make({
          key: word,
          size: 3,
          model,
          messages: [Message.user(word)],
          rubrics: [{ text: "A number." }, { text: "Friendly." }],
          judge
        })
    }),
    evaluators: [],
    maxTokens: 8,
    settings: Setting.defaults(RunOptions.RunSettings),
    turns: 1,
    answerTo: () => Option.none()
  }
})

const judged = judgedOn(["one", "two", "six", "ten"])

describe("A plan", () => {
  it.effect("counts judge calls and their tokens, and asks no judge", () =>
    Effect.gen(function*() {
      const plan = yield* Plan.make(yield* judged)
      const { calls } = yield* Call.CallLog
      assert.isTrue((yield* calls).every(({ _tag }) => _tag === "CreateSamplingClient"))
      assert.strictEqual(plan.total.others.judgeCalls, 2 * 2 * 3 * 2)
      assert.strictEqual(plan.total.others.sampled, 2 * 2 * 3 * 2 * 20)
      assert.strictEqual(plan.total.own.sampled, 2 * 2 * 3 * 8)
    }).pipe(Effect.provide(backend)))

  it.effect.each(
    [
      [{ batches: 2, trained: 3 }, 4, 3],
      [{ batches: 2, trained: 9 }, 4, 4],
      [{ batches: 4, trained: 2 }, 6, 2],
      [{ batches: 1000, trained: 2 }, 6, 2]
    ] as const
  )(
    "counts the most that iterations sample and train on where they replace groups: %j",
    ([replacing, batches, trained]) =>
      Effect.gen(function*() {
        const task = yield* judgedOn(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"])
        const settings = { ...task.settings, iterations: 2 }
        const plan = yield* Plan.make({ ...task, settings, replacing: Effect.succeed(replacing) })
        const { own } = plan.total
        assert.strictEqual(own.sampled, batches * 2 * 3 * 8)
        // The tokens of one group (each batch has two), times the number of groups that the two iterations train on together.
        assert.strictEqual(own.trained, (own.prefilled + own.sampled) / batches / 2 * 2 * trained)
      }).pipe(Effect.provide(backend))
  )

  it.live("counts an agent's requests to other models besides its own", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
      const recipe = AgentRecipe.make({
        name: "summarised",
        tasks: { train: ["a long text"], test: [] },
        run: async ({ baseUrl, fetch }, content) => {
          for (const [model, most] of [["summariser", 20], ["summariser", 30], [Script.defaultModel, 40]] as const) {
            const body = JSON.stringify({ model, max_tokens: most, messages: [{ role: "user", content }] })
            await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
          }
          return 1
        }
      })
      const { build } = yield* recipe.configure({
        frozen: ["summariser"],
        groupsPerBatch: 1,
        groupSize: 3,
        iterations: 1
      })
      const { total: { others, own } } = yield* Plan.make(yield* build(model))
      const { calls } = yield* Call.CallLog
      assert.isTrue((yield* calls).every(({ _tag }) => _tag === "CreateSamplingClient"))
      assert.strictEqual(own.sampled, 3 * 40)
      assert.strictEqual(others.sampled, 3 * (20 + 30))
      assert.strictEqual(others.prefilled, 2 * own.prefilled)
    }).pipe(Effect.provide(backend)))

  it.effect("prices the trained weights by kind of token", () =>
    Effect.gen(function*() {
      const { own } = (yield* Plan.make(yield* judged)).total
      const { dollars, prefilled, sampled, trained } = own
      assert.closeTo(dollars ?? NaN, (prefilled + 2 * sampled + 3 * trained) / 1e6, 1e-12)
    }).pipe(
      Effect.provide(Prices.layer({ [Script.defaultModel]: { prefill: 1, sample: 2, train: 3 } })),
      Effect.provide(backend)
    ))
})
