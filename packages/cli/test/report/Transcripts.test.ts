import * as Transcripts from "@effect-rl/cli/report/Transcripts"
import * as Style from "@effect-rl/cli/terminal/Style"
import {
  ChatModel,
  Evaluator,
  ModelInput,
  ProblemEnv,
  ProblemGroupBuilder,
  Tinker,
  type Trajectory
} from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path } from "effect"
import * as FaultyFileSystem from "../../../files/test/support/FaultyFileSystem.ts"

/** Five problems, each answered with `response`. */
const evaluate = (response: string) =>
  Effect.gen(function*() {
    const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
    const env = (question: string) =>
      ProblemEnv.make({ model, question, referenceAnswer: "yes", checkAnswer: (text) => text === "yes" })
    const groups = ["a", "b", "c", "d", "e"].map((question) =>
      ProblemGroupBuilder.make({ key: question, size: 1, env: () => env(question) })
    )
    const sampler = yield* Effect.flatMap(Tinker.Tinker, (tinker) =>
      tinker.createSamplingClient({ baseModel: Script.defaultModel }))
    return yield* Evaluator.testSet({ name: "held_out", groups, maxTokens: 64 }).evaluate(sampler)
  }).pipe(
    Effect.provide(Layer.merge(
      ScriptedTinker.layer({
        sample: Script.reply(TestTokenizer.characters, () =>
          Script.text(TestTokenizer.characters, `${response}<|im_end|>`))
      }),
      TestTokenizer.layer()
    ))
  )

const summary = (transcripts: ReadonlyArray<Transcripts.Transcript>) =>
  transcripts.map(({ answers, question }) => [question, ...answers.map(({ response, step }) => `${step}: ${response}`)])

describe("Transcripts", () => {
  it.effect("follow three problems, the same ones each time", () =>
    Effect.gen(function*() {
      const before = Transcripts.of(yield* evaluate("no"), 0)
      const after = Transcripts.of(yield* evaluate("yes"), 9)
      assert.deepStrictEqual(summary(Transcripts.merge(before, after)), [
        ["a", "0: no", "9: yes"],
        ["b", "0: no", "9: yes"],
        ["d", "0: no", "9: yes"]
      ])
    }))

  it("tell what was said turn by turn, where an environment has several", () => {
    const turn = (guess: string, feedback: string) => ({
      observation: ModelInput.empty,
      action: { tokens: new Int32Array(), logprobs: new Float32Array(), stopReason: "stop" as const },
      reward: 0,
      trainable: true,
      metrics: {},
      logs: { guess, feedback }
    })
    const trajectory: Trajectory.Trajectory = {
      transitions: [turn("Guess: 5", "Too low"), turn("Guess: 7", "Correct")],
      stepReward: 1,
      stopReason: Option.some("completed"),
      truncations: 0
    }
    const group = {
      _tag: "Completed",
      key: "7",
      tags: [],
      samplerStep: 0,
      members: [Option.some(trajectory)],
      rewardsG: Float64Array.of(1),
      metricsG: [{}],
      retried: []
    } as const
    const [told] = Transcripts.of({ name: "held_out", metrics: {}, groups: [group] }, 3)
    assert.deepStrictEqual(told, {
      evaluator: "held_out",
      problem: "7",
      question: "7",
      reference: "",
      answers: [{
        step: 3,
        reward: 1,
        response: "guess: Guess: 5\nfeedback: Too low\nguess: Guess: 7\nfeedback: Correct"
      }]
    })
    assert.strictEqual(Transcripts.lines(told === undefined ? [] : [told], Style.plain)[0], "7")
  })

  it.effect("replace an answer after the same step, as when a run is resumed", () =>
    Effect.gen(function*() {
      const before = Transcripts.of(yield* evaluate("no"), 0)
      const again = Transcripts.of(yield* evaluate("well"), 0)
      assert.deepStrictEqual(summary(Transcripts.merge(before, again))[0], ["a", "0: well"])
    }))

  it.effect("read back as they were written; there are none before", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(yield* fs.makeTempDirectoryScoped(), "transcripts.json")
      assert.deepStrictEqual(yield* Transcripts.read(file), [])
      const transcripts = Transcripts.of(yield* evaluate("maybe"), 0)
      yield* Transcripts.write(file, transcripts)
      assert.deepStrictEqual(yield* Transcripts.read(file), transcripts)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect.each(["", "[{}]", "[{\"evaluator\": \"held"])(
    "are none where the file is broken: %s",
    (text) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const file = yield* fs.makeTempFileScoped()
        yield* fs.writeFileString(file, text)
        assert.deepStrictEqual(yield* Transcripts.read(file), [])
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("stay as they were where the disk is full at any write", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = path.join(folder, "transcripts.json")
      const before = Transcripts.of(yield* evaluate("no"), 0)
      yield* Transcripts.write(file, before)
      for (const at of [1, 2, 3, 4, 5]) {
        const full = Transcripts.write(file, []).pipe(
          Effect.provide(FaultyFileSystem.layer({ at, lasts: false }), { local: true })
        )
        assert.include((yield* Effect.flip(full)).message, `no space left to write ${file}`)
        assert.deepStrictEqual(yield* Transcripts.read(file), before)
        assert.deepStrictEqual(yield* fs.readDirectory(folder), ["transcripts.json"])
      }
    }).pipe(Effect.provide(NodeServices.layer)))

  it("show the first and last answer, control characters spelled out", () => {
    const answers = [
      { step: 0, response: "x\u001b[2J\n\u202ey", reward: 0 },
      { step: 4, response: "between", reward: 0 },
      { step: 9, response: "yes", reward: 1 }
    ]
    const transcript = { evaluator: "held_out", problem: "a", question: "a\u0007?", reference: "yes", answers }
    assert.deepStrictEqual(Transcripts.lines([transcript], Style.plain), [
      "a\\u{7}? (yes)",
      "  after 0 steps, reward 0.0:",
      "    x\\u{1b}[2J",
      "    \\u{202e}y",
      "  after 9 steps, reward 1.0:",
      "    yes"
    ])
  })
})
