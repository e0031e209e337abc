import * as RunHistory from "@effect-rl/cli/report/RunHistory"
import * as Transcripts from "@effect-rl/cli/report/Transcripts"
import * as Style from "@effect-rl/cli/terminal/Style"
import { RunStore } from "@effect-rl/core"
import { ModelInput, Usage } from "@effect-rl/core/backend"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { groupOf } from "../MadeGroup.ts"

/** Records groups that an evaluator rolled out before the given iteration. */
const evaluated = Effect.fnUntraced(function*(iteration: number, groups: ReadonlyArray<GroupResult.GroupResult>) {
  const store = yield* RunStore.RunStore
  for (const group of groups) {
    yield* store.append({
      _tag: "GroupRolledOut",
      evaluator: "held_out",
      iteration,
      step: iteration,
      key: group.key,
      tags: [],
      outcome: group._tag,
      rewards: [1],
      members: [],
      failures: [],
      retries: 0,
      milliseconds: 1,
      spent: Usage.zero
    }, GroupPayload.encode(group))
  }
})

const read = Effect.gen(function*() {
  const run = yield* RunStore.RunStore
  return yield* Transcripts.read(run, yield* RunHistory.read(run))
})

const answered = (response: string) =>
  ["a", "b", "c", "d", "e"].map((key) =>
    groupOf(key, { question: key, reference: "yes" }, { score: { value: 1, answer: response } })
  )

describe("Transcripts", () => {
  it.effect("show three problems with their first and last answers", () =>
    Effect.gen(function*() {
      yield* evaluated(0, answered("no"))
      yield* evaluated(4, answered("maybe"))
      yield* evaluated(9, answered("yes"))
      const transcripts = yield* read
      assert.deepStrictEqual(
        transcripts.map(({ answers, question }) => [
          question,
          ...answers.map(({ iteration, response }) => `${iteration}: ${response}`)
        ]),
        [["a", "0: no", "9: yes"], ["b", "0: no", "9: yes"], ["d", "0: no", "9: yes"]]
      )
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("show messages turn by turn if an environment has several turns", () =>
    Effect.gen(function*() {
      yield* evaluated(3, [
        groupOf(
          "7",
          undefined,
          { logs: { guess: "Guess: 5", feedback: "Too low" } },
          { logs: { guess: "Guess: 7", feedback: "Correct" } }
        )
      ])
      assert.deepStrictEqual(yield* read, [{
        question: "7",
        reference: "",
        answers: [{
          iteration: 3,
          reward: 1,
          response: "guess: Guess: 5\nfeedback: Too low\nguess: Guess: 7\nfeedback: Correct"
        }]
      }])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("decode tokens that an environment did not log, if the language is known", () =>
    Effect.gen(function*() {
      yield* evaluated(0, [groupOf("7", undefined, {
        observation: ModelInput.fromTokens([72, 105]),
        action: { tokens: Int32Array.of(79, 75), logprobs: Float32Array.of(-1, -1), stopReason: "stop" }
      })])
      const store = yield* RunStore.RunStore
      const decode = (tokens: ArrayLike<number>) => String.fromCharCode(...Array.from(tokens))
      const [transcript] = yield* Transcripts.read(store, yield* RunHistory.read(store), { decode })
      assert.deepInclude(transcript, { question: "Hi" })
      assert.strictEqual(transcript?.answers[0]?.response, "OK")
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it.effect("show the problem once, and leave out empty messages", () =>
    Effect.gen(function*() {
      const problem = { question: "Which room?", reference: "237" }
      yield* evaluated(0, [
        groupOf(
          "0/Cara",
          problem,
          { logs: { assistant_content: "", tool_call_0: "search({})", tool_result_0: "237" } },
          { logs: { assistant_content: "237" } }
        )
      ])
      const [transcript] = yield* read
      assert.deepInclude(transcript, problem)
      assert.strictEqual(transcript?.answers[0]?.response, "search({}) → 237\n237")
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it("show a problem on one line", () => {
    const answers = [{ iteration: 0, response: "- leaf\n- wind", reward: 1 }]
    assert.deepStrictEqual(
      Transcripts.lines([{ question: "A list", reference: "- leaf\n- wind", answers }], Style.plain),
      [
        "A list (- leaf ⏎ - wind)",
        "  after 0 iterations, reward 1.0:",
        "    - leaf",
        "    - wind"
      ]
    )
  })

  it.effect("are empty if nothing was evaluated", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read, [])
    }).pipe(Effect.provide(RunStore.RunStore.layerMemory)))

  it("escape control characters", () => {
    const answers = [
      { iteration: 0, response: "x\u001b[2J\n\u202ey", reward: 0 },
      { iteration: 9, response: "yes", reward: 1 }
    ]
    assert.deepStrictEqual(Transcripts.lines([{ question: "a\u0007?", reference: "yes", answers }], Style.plain), [
      "a\\u{7}? (yes)",
      "  after 0 iterations, reward 0.0:",
      "    x\\u{1b}[2J",
      "    \\u{202e}y",
      "  after 9 iterations, reward 1.0:",
      "    yes"
    ])
  })

  it("say that an environment logged no text", () => {
    const answers = [{ iteration: 0, response: "", reward: 1 }]
    assert.deepStrictEqual(Transcripts.lines([{ question: "0/39+93", reference: "", answers }], Style.plain), [
      "0/39+93",
      "  after 0 iterations, reward 1.0:",
      "    (the environment logged no text; show --rollouts lists the turns)"
    ])
  })
})
