import { type Env, EnvMetric, Message, MessageEnv, Rollout } from "@effect-rl/core"
import { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Talk from "../Talk.ts"

const { counting, malformed, parsed, scripted } = Talk
const action = { tokens: new Int32Array(1) }

/** Requests the first prompt, then takes one step. */
const firstStep = Effect.fnUntraced(function*<E>(env: Env.Env<E>, taken: Env.Action = action) {
  yield* env.initialObservation
  return yield* env.step(taken)
})

describe("the first prompt of MessageEnv.toEnv", () => {
  it.effect("renders the conversation, and stops at the renderer's stop", () =>
    Effect.gen(function*() {
      const renderer = yield* Talk.qwen
      const env = yield* MessageEnv.toEnv(scripted(), { model: { renderer } })
      const first = yield* env.initialObservation
      const messages = [Message.user("one two three")]
      const input = yield* renderer.generationPrompt(messages)
      assert.deepStrictEqual(first, { _tag: "Prompt", input, stop: renderer.stop, messages })
    }))

  const budget = (options: { readonly maxTrajectoryTokens: number; readonly maxGenerationTokens?: number }) =>
    Effect.flatMap(
      MessageEnv.toEnv(scripted(), { model: { renderer: counting() }, ...options }),
      (env) => env.initialObservation
    )

  it.effect("may be too long together with the tokens reserved for the response", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* budget({ maxTrajectoryTokens: 5 }))._tag, "Prompt")
      assert.strictEqual((yield* budget({ maxTrajectoryTokens: 8, maxGenerationTokens: 3 }))._tag, "Prompt")
      assert.deepStrictEqual(yield* budget({ maxTrajectoryTokens: 8, maxGenerationTokens: 4 }), {
        _tag: "Overflow",
        reward: -0.1,
        logs: { overflow: "a prompt of 5 tokens and 4 after it do not fit into 8" }
      })
    }))

  it.effect("ends the episode before the policy is asked if it is too long", () =>
    Effect.gen(function*() {
      const policy = Talk.policy()
      const options = { model: { renderer: counting() }, maxTrajectoryTokens: 4, contextOverflowReward: -0.5 }
      const env = yield* MessageEnv.toEnv(scripted(), options)
      const trajectory = yield* Rollout.episode(env, policy, Talk.key)
      assert.deepStrictEqual(policy.requests, [])
      assert.strictEqual(trajectory.stepReward, -0.5)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("max_tokens"))
    }))
})

describe("a response that can be parsed", () => {
  it.effect("goes to the environment, whose answer is shown next", () =>
    Effect.gen(function*() {
      const step = { reply: "four", reward: 0.75, metrics: { score: EnvMetric.mean(2) }, logs: { seen: "yes" } }
      const talk = scripted({ ...step, toolCalls: 2, trainable: false })
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: counting(parsed("a b")) } })
      const { _tag, observation, ...reported } = yield* firstStep(env).pipe(
        Effect.filterOrFail((step) => step._tag === "Continue")
      )
      assert.deepStrictEqual(talk.heard, [Message.assistant("a b")])
      assert.strictEqual(observation.input.length, 1 + 4 + 3 + 2)
      assert.deepStrictEqual(reported, {
        reward: 0.75,
        metrics: { score: EnvMetric.mean(2) },
        logs: { seen: "yes" },
        toolCalls: 2,
        trainable: false
      })
    }))

  it.effect("may end at the model's end of text", () =>
    Effect.gen(function*() {
      const renderer = counting({ message: Message.assistant("x"), termination: "eos" })
      const env = yield* MessageEnv.toEnv(scripted({ reward: 1 }), { model: { renderer } })
      assert.deepStrictEqual(yield* firstStep(env), { _tag: "Done", reward: 1 })
    }))

  it.effect("may be answered with other stop sequences for the next response", () =>
    Effect.gen(function*() {
      const talk = scripted({ reply: "x", reward: 0, stop: [7, 8] }, { reply: "x", reward: 0 }, { reward: 0 })
      const policy = Talk.policy()
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: counting(parsed("x")) } })
      yield* Rollout.episode(env, policy, Talk.key)
      assert.deepStrictEqual(policy.requests.map(({ stop }) => stop), [["<end>"], [7, 8], ["<end>"]])
    }))
})

describe("a response that did not end properly", () => {
  const renderer = () => counting(malformed("lost"), parsed("found"))
  const unread = {
    metrics: { parse_error: EnvMetric.rate(true) },
    logs: { parse_error_kind: "structural", parse_error: "the response ended as malformed" }
  }

  it.effect("ends the episode without a step of the environment", () =>
    Effect.gen(function*() {
      const talk = scripted({ reward: 1 })
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: renderer() }, failedParseReward: -2 })
      assert.deepStrictEqual(yield* firstStep(env), {
        _tag: "Done",
        reward: -2,
        stopReason: "parse_error",
        ...unread
      })
      assert.deepStrictEqual(talk.heard, [])
    }))

  it.effect("shows the conversation again if terminateOnParseError is false", () =>
    Effect.gen(function*() {
      const policy = Talk.policy()
      const talk = scripted({ reward: 0.9 })
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: renderer() }, terminateOnParseError: false })
      const { stopReason, transitions } = yield* Rollout.episode(env, policy, Talk.key)
      assert.deepStrictEqual(transitions.map(({ reward }) => reward), [-1, 0.9])
      assert.deepStrictEqual(policy.requests.map(({ prompt }) => prompt.length), [5, 5])
      assert.deepStrictEqual(policy.requests[1]?.stop, ["<end>"])
      assert.deepStrictEqual(talk.heard, [Message.assistant("found")])
      assert.deepStrictEqual(stopReason, Option.none())
    }))

  it.effect("makes the next prompt a branch if the conversation is shown again", () =>
    Effect.gen(function*() {
      const options = { model: { renderer: renderer() }, terminateOnParseError: false }
      const step = yield* firstStep(yield* MessageEnv.toEnv(scripted(), options))
      assert.strictEqual(step._tag === "Continue" && step.observation.branch?.reason, "response")
    }))

  it.effect("ends the episode even if parse errors are answered", () =>
    Effect.gen(function*() {
      const talk = { ...scripted(), correct: () => Effect.die("not asked") }
      const parseErrors = { maxConsecutive: 5, terminalReward: -1, maskErrorTurns: true }
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: renderer() }, parseErrors })
      assert.deepStrictEqual(yield* firstStep(env), {
        _tag: "Done",
        reward: -1,
        stopReason: "parse_error",
        trainable: false,
        ...unread
      })
    }))
})

describe("a response that was cut at its token limit", () => {
  const length: Env.Action = { ...action, stopReason: "length" }

  it.effect("ends the episode without being parsed", () =>
    Effect.gen(function*() {
      const renderer = { ...counting(), parse: () => Effect.die("not read") }
      const env = yield* MessageEnv.toEnv(scripted(), { model: { renderer } })
      assert.deepStrictEqual(yield* firstStep(env, length), { _tag: "Done", reward: -0.1, stopReason: "max_tokens" })
    }))

  it.effect("becomes part of the conversation with onLength continue", () =>
    Effect.gen(function*() {
      const renderer = counting(malformed("a b"))
      const talk = scripted()
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer }, onLength: "continue" })
      const step = yield* firstStep(env, length)
      assert.strictEqual(step._tag === "Continue" && step.observation.input.length, 5 + 3)
      assert.strictEqual(step.reward, 0)
      assert.deepStrictEqual(Object.keys(step.logs ?? {}), ["truncated"])
      assert.deepStrictEqual(talk.heard, [])
    }))

  it.effect("overflows the context if it leaves no room, with onLength continue", () =>
    Effect.gen(function*() {
      const options = { model: { renderer: counting(malformed("a b")) }, maxTrajectoryTokens: 7 } as const
      const env = yield* MessageEnv.toEnv(scripted(), { ...options, onLength: "continue" })
      const step = yield* firstStep(env, length)
      assert.strictEqual(step._tag === "Done" && step.stopReason, "context_overflow")
      assert.strictEqual(step.reward, -0.1)
    }))
})

describe("a conversation that exceeds the token budget", () => {
  const talk = (reply?: string) =>
    scripted({
      reward: 0.9,
      metrics: { score: EnvMetric.mean(2) },
      logs: { seen: "yes" },
      ...(reply !== undefined && { reply })
    })
  const step = (reply: string | undefined, maxTrajectoryTokens: number, more = {}) =>
    Effect.flatMap(
      MessageEnv.toEnv(talk(reply), { model: { renderer: counting(parsed("a")) }, maxTrajectoryTokens, ...more }),
      (env) => firstStep(env)
    )

  it.effect("ends the episode and replaces the step's reward", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* step("five", 8), {
        _tag: "Done",
        reward: -0.1,
        stopReason: "context_overflow",
        metrics: { score: EnvMetric.mean(2) },
        logs: { seen: "yes" }
      })
    }))

  it.effect("keeps the step's own reward if the step ends the episode", () =>
    Effect.gen(function*() {
      const done = yield* step(undefined, 8)
      assert.strictEqual(done.reward, 0.9)
      assert.strictEqual(done._tag === "Done" && done.stopReason, undefined)
    }))

  it.effect("includes the tokens reserved for the response", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* step("five", 12, { maxGenerationTokens: 3 }))._tag, "Continue")
      assert.strictEqual((yield* step("five", 12, { maxGenerationTokens: 4 }))._tag, "Done")
    }))

  it.effect("gets the given contextOverflowReward as its reward", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* step("five", 8, { contextOverflowReward: -0.5 })).reward, -0.5)
    }))
})

describe("tool calls that cannot be parsed", () => {
  const unreadable = (...errors: ReadonlyArray<string>) =>
    parsed("", { unparsedToolCalls: errors.map((error) => ({ rawText: "<tool_call>", error })) })

  it.effect("are passed to an environment that has no `correct`", () =>
    Effect.gen(function*() {
      const talk = scripted({ reward: 0.3 })
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: counting(unreadable("no json")) } })
      const step = yield* firstStep(env)
      assert.strictEqual(step.reward, 0.3)
      assert.deepStrictEqual(step.metrics, { parse_error: EnvMetric.rate(true) })
      assert.strictEqual(talk.heard.length, 1)
    }))

  it.effect("have their error quoted up to 16,384 characters in the retry message", () =>
    Effect.gen(function*() {
      const error = "x".repeat(20_000)
      const told: Array<string> = []
      const talk = {
        ...scripted(),
        correct: (message: Message.Message, correction: Message.Message | undefined) =>
          Effect.sync(() => {
            if (correction !== undefined) told.push(Message.text(correction))
            return [message]
          })
      }
      const parseErrors = { maxConsecutive: 1, retryMessage: "<{details}>" }
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: counting(unreadable(error)) }, parseErrors })
      yield* firstStep(env)
      assert.deepStrictEqual(told, [`<${"x".repeat(16_384)}>`])
    }))
})

describe("injected messages", () => {
  it.effect("are added, and the conversation is shown again", () =>
    Effect.gen(function*() {
      const env = yield* MessageEnv.toEnv(scripted(), { model: { renderer: counting() } })
      yield* env.initialObservation
      const prompt = yield* env.inject?.([Message.user("hurry up")]) ?? Effect.die("cannot inject")
      assert.strictEqual(prompt.input.length, 5 + 3)
    }))

  it.effect("are not offered if the environment does not accept them", () =>
    Effect.gen(function*() {
      const { addMessages: _, ...talk } = scripted()
      const env = yield* MessageEnv.toEnv(talk, { model: { renderer: counting() } })
      assert.isFalse("inject" in env)
    }))
})

describe("MessageEnv.toEnv refuses invalid options", () => {
  const refused = [
    [{ maxTrajectoryTokens: 0 }, "maxTrajectoryTokens is 0, expected a whole number of at least 1"],
    [{ maxGenerationTokens: -1 }, "maxGenerationTokens is -1, expected a whole number of at least 0"],
    [{ failedParseReward: NaN }, "failedParseReward is NaN, expected a finite number"],
    [{ contextOverflowReward: Infinity }, "contextOverflowReward is Infinity, expected a finite number"]
  ] as const
  it.effect.each(refused)("%j", ([options, message]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(MessageEnv.toEnv(scripted(), { model: { renderer: counting() }, ...options }))
      assert.strictEqual(error.message, message)
    }))

  it.effect("MessageEnv.toEnv fails with the renderer's error", () =>
    Effect.gen(function*() {
      const broken = new Renderer.RendererError({ renderer: "counting", detail: "no such role" })
      const renderer = { ...counting(), generationPrompt: () => Effect.fail(broken) }
      const env = yield* MessageEnv.toEnv(scripted(), { model: { renderer } })
      assert.strictEqual(yield* Effect.flip(env.initialObservation), broken)
    }))
})
