import { EnvMetric, Message, type MessagePolicy, Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { CodeEnv, CodeTask } from "@effect-rl/recipes"
import { Sandbox, SandboxError, Scripted } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

const task: CodeTask.CodeTask = {
  id: "sum",
  prompt: "Print the sum of two numbers.",
  tests: { _tag: "Stdin", cases: [{ input: "2 3", output: "5" }, { input: "SECRET 1", output: "HIDDEN" }] },
  examples: { _tag: "Stdin", cases: [{ input: "1 1", output: "2" }] }
}

/** Treats the text of a program as its output. A program named in upper case looks its answer up by the input. */
const printing = Sandbox.Sandbox.layerScripted({
  run: ({ command: { stdin }, files, spec: { role } }) =>
    Effect.sync(() => {
      const source = Buffer.from(files.get(role === "agent" ? "program.py" : "solution.py") ?? []).toString()
      const answers: Readonly<Record<string, string>> = { "2 3": "5", "SECRET 1": "HIDDEN", "1 1": "2" }
      return Scripted.printed(source === "RIGHT" ? answers[String(stdin)] ?? "" : source)
    })
})

const block = (code: string) => `Here it is:\n\`\`\`python\n${code}\n\`\`\``

const call = (name: string, parameters: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: parameters })}\n</tool_call>`

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const play = (options: Partial<CodeEnv.Options>, ...texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
    const env = yield* CodeEnv.make({ model: { renderer }, task, ...options })
    return yield* Rollout.episode(
      env,
      { act: ({ key }) => Effect.succeed(sampled(texts[key.turn] ?? "")) },
      { iteration: 0, group: "sum", member: 0, attempt: 0 }
    )
  }).pipe(Effect.scoped, Effect.provide(printing))

describe("a programming problem", () => {
  it.effect("adds a judge's rubric score to the reward of its tests", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const judge: MessagePolicy.MessagePolicy = {
        respond: ({ key, messages }) =>
          Effect.sync(() => {
            keys.push(key)
            const isKind = Message.text(messages[0] ?? Message.user("")).includes("comments")
            return Message.assistant(`<score>${isKind ? 4 : 1}</score>`)
          })
      }
      const rubrics = [{ text: "Does it read well?" }, { text: "Has it comments?", range: [0, 5] as const }]
      const passed = yield* play({ rubrics: { rubrics, judge, coefficient: 0.5 } }, block("RIGHT"))
      assert.closeTo(passed.stepReward, 1 + 0.5 * 0.9, 1e-12)
      assert.deepStrictEqual(passed.transitions[0]?.score?.parts, { tests: 1, "rubric 1": 1, "rubric 2": 0.8 })
      assert.deepStrictEqual(keys.toSorted(), ["sum/rubric1", "sum/rubric2"])
      const failed = yield* play({ rubrics: { rubrics, judge, coefficient: 0.5 } }, block("4"))
      assert.closeTo(failed.stepReward, 0.5 * 0.9, 1e-12)
      assert.isFalse(failed.transitions[0]?.score?.success)
      const without = yield* play({ rubrics: { rubrics, judge, coefficient: 0.5 } }, "no program")
      assert.closeTo(without.stepReward, -0.1, 1e-12)
      assert.lengthOf(keys, 4)
    }))

  it.effect("is left ungraded if its judge gives no score", () =>
    Effect.gen(function*() {
      const judge: MessagePolicy.MessagePolicy = { respond: () => Effect.succeed(Message.assistant("Well done.")) }
      const exit = yield* Effect.exit(
        play({ rubrics: { rubrics: [{ text: "Does it read well?" }], judge, coefficient: 0.5 } }, block("RIGHT"))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "expected a score from 0 to 1")
    }))

  it.effect("gives reward 1 for a program that passes, and records which provider ran which tests", () =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play({}, block("RIGHT"))
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(transitions[0]?.metrics, { format: EnvMetric.rate(true), correct: EnvMetric.rate(true) })
      assert.deepStrictEqual(transitions[0]?.score, {
        value: 1,
        success: true,
        answer: "RIGHT",
        verdict: {
          provider: "scripted",
          outcome: "passed",
          digest: CodeTask.digest(task.tests),
          tests: [{ name: "1", passed: true }, { name: "2", passed: true }]
        }
      })
    }))

  it.effect.each([
    { what: "a program that fails", text: block("5"), reward: 0, format: true },
    { what: "no block of code", text: "RIGHT", reward: -0.1, format: false },
    { what: "the last of two blocks", text: `${block("RIGHT")}\n${block("5")}`, reward: 0, format: true }
  ])("gives reward $reward for $what", ({ format, reward, text }) =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play({}, text)
      assert.closeTo(stepReward, reward, 1e-12)
      assert.deepStrictEqual(transitions[0]?.metrics["format"], EnvMetric.rate(format))
    }))

  it.effect("tells whether a solution passes, without revealing the hidden tests", () =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play(
        { form: "check" },
        call("check_solution", { code: "5" }),
        block("RIGHT")
      )
      assert.strictEqual(stepReward, 1)
      const said = String(transitions[0]?.logs["tool_result_0"])
      assert.strictEqual(
        said,
        "{\"passed\": false, \"details\": {\"error_message\": \"Wrong Answer\", \"test\": \"2\"}}"
      )
    }))

  it.effect("shows how an example failed, and accepts the repaired program", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play({ form: "repair" }, block("5"), block("RIGHT"))
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(stopReason, Option.some("max_turns"))
      const shown = tokenizer.decode(Int32Array.from(
        transitions[1]?.observation.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : Array.from(chunk.tokens)) ??
          []
      ))
      assert.include(shown, `Wrong Answer: input "1 1", output "5", expected "2"`)
      assert.notInclude(shown, "SECRET")
      assert.notInclude(shown, "HIDDEN")
    }))

  it.effect("grades a program that passes the examples at once by the hidden tests", () =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play({ form: "repair" }, block("2"), block("RIGHT"))
      assert.strictEqual(stepReward, 0)
      assert.strictEqual(transitions.length, 1)
    }))

  it.effect("runs programs in the model's own sandbox", () =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* play(
        { form: "python" },
        call("run_python", { code: "print(1)" }),
        block("RIGHT")
      )
      assert.strictEqual(stepReward, 1)
      const said = String(transitions[0]?.logs["tool_result_0"])
      assert.strictEqual(said, "{\"outcome\": \"exit code 0\", \"stdout\": \"print(1)\", \"stderr\": \"\"}")
    }))
})

describe("a sandbox that fails while grading a problem", () => {
  const error = new SandboxError.SandboxError({
    provider: "scripted",
    operation: "exec",
    reason: new SandboxError.Lost({ detail: "the power failed" })
  })
  const failing = Sandbox.Sandbox.layerScripted({ run: () => Effect.fail(error) })
  const group = (form: CodeEnv.Form) => ({
    key: "sum",
    size: 2,
    tags: [],
    open: Effect.succeed({
      makeEnv: () =>
        Effect.flatMap(
          Renderers.byName("qwen3_instruct", tokenizer),
          (renderer) => CodeEnv.make({ model: { renderer }, task, form })
        )
    })
  })

  it.effect.each(
    [
      { form: "single", said: block("RIGHT") },
      { form: "check", said: call("check_solution", { code: "RIGHT" }) },
      { form: "repair", said: block("RIGHT") },
      { form: "python", said: call("run_python", { code: "RIGHT" }) }
    ] as const
  )("leaves a member of the form $form ungraded, without a reward", ({ form, said }) =>
    Effect.gen(function*() {
      const result = yield* Rollout.group(group(form), { act: () => Effect.succeed(sampled(said)) })
      assert.strictEqual(result._tag, "Skipped")
      if (result._tag !== "Skipped") return
      assert.strictEqual(result.reason.failure, "Ungraded")
      assert.include(JSON.stringify(result.reason), "the power failed")
    }).pipe(Effect.provide(failing)))
})
