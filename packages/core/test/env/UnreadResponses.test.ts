import { EnvMetric, Message } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Agent from "./Agent.ts"
import * as Talk from "./Talk.ts"

const { call, calls, answer, unreadable, play, question, rewards, stopReason, last } = Agent

describe("a response that was cut", () => {
  it.effect("ends the episode ungraded", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(1)], { cutAt: [0] })
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.deepStrictEqual([played.ran, played.graded], [[], []])
      assert.deepStrictEqual(rewards(yield* play([calls(1)], { cutAt: [0], contextOverflowReward: -0.5 })), [-0.5])
      assert.deepStrictEqual(rewards(yield* play([calls(1)], { cutAt: [0], limits: { maxTurns: 9 } })), [-0.1])
    }))

  it.effect("becomes part of the conversation with onLength continue", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("a b"), answer()], { cutAt: [0], onLength: "continue" })
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.strictEqual(stopReason(played), "completed")
      assert.strictEqual(played.trajectory.truncations, 1)
      assert.deepStrictEqual(played.graded[0]?.slice(2), [Message.assistant("a b"), Message.assistant("done")])
    }))

  it.effect("becomes part of the conversation by default if tokens are limited, until they are used up", () =>
    Effect.gen(function*() {
      const nine = Talk.malformed("1 2 3 4 5 6 7 8 9")
      const limits = { maxTurnTokens: 5, maxTrajectoryTokens: 35 }
      const played = yield* play([nine], { cutAt: [0, 1, 2, 3], limits })
      assert.deepStrictEqual(played.requests.map(({ prompt }) => prompt.length), [8, 18, 28])
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.strictEqual(played.trajectory.truncations, 3)
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("counts as a turn", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("")], { cutAt: Array.from(Array(99).keys()), onLength: "continue" })
      assert.strictEqual(played.requests.length, 5)
      assert.strictEqual(stopReason(played), "max_turns")
      assert.deepStrictEqual(played.graded, [])
    }))
})

describe("a response that did not end properly", () => {
  it.effect("ends the episode ungraded", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("is left out of the conversation if terminateOnParseError is false", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost"), answer()], { terminateOnParseError: false })
      assert.deepStrictEqual(rewards(played), [-0.1, 0.9])
      assert.deepStrictEqual(played.requests.map(({ prompt }) => prompt.length), [8, 8])
      assert.deepStrictEqual(played.graded, [[...question, Message.assistant("done")]])
    }))

  it.effect("counts as a turn", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")], { terminateOnParseError: false })
      assert.strictEqual(played.requests.length, 5)
      assert.strictEqual(stopReason(played), "max_turns")
    }))

  it.effect("ends the episode even if parse errors are answered", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")], { parseErrors: { maxConsecutive: 5, terminalReward: -1 } })
      assert.strictEqual(played.requests.length, 1)
      assert.deepStrictEqual(rewards(played), [-1])
      assert.strictEqual(last(played)?.logs["parse_error_kind"], "structural")
    }))
})

describe("a response whose tool calls cannot be parsed", () => {
  const parseErrors = { maxConsecutive: 1, retryMessage: "Wrong: {details}" }

  it.effect("is answered with the error", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { parseErrors })
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.deepStrictEqual(played.graded.map((messages) => messages.slice(2).map(Message.text)), [[
        "",
        "Wrong: no json",
        "done"
      ]])
      const [first, second] = played.trajectory.transitions
      assert.deepStrictEqual(first?.metrics, { parse_error: EnvMetric.rate(true) })
      assert.deepStrictEqual(second?.metrics, {})
    }))

  it.effect("is answered with the error, whether the message has no list of calls or an empty one", () =>
    Effect.gen(function*() {
      const empty = Talk.parsed("", { toolCalls: [], unparsedToolCalls: [{ rawText: "", error: "no json" }] })
      assert.deepStrictEqual(rewards(yield* play([empty, answer()], { parseErrors })), [0, 0.9])
    }))

  it.effect("is answered with text that counts against the token budget", () =>
    Effect.gen(function*() {
      const long = { maxConsecutive: 1, retryMessage: `${"word ".repeat(20)}{details}` }
      const { requests } = yield* play([unreadable(), answer()], {
        parseErrors: long,
        caller: { maxTrajectoryTokens: 1000 }
      })
      const [first, second] = requests.map(({ maxTokens, prompt }) => ({ maxTokens, length: prompt.length }))
      assert.isAtLeast(second?.length ?? 0, (first?.length ?? 0) + 20)
      assert.strictEqual(second?.maxTokens, 1000 - (second?.length ?? 0))
    }))

  it.effect("ends the episode after too many in a row", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()], { parseErrors: { ...parseErrors, terminalReward: -0.5 } })
      assert.deepStrictEqual(rewards(played), [0, -0.5])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("is counted from zero again after a parsed call", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), calls(1), unreadable(), answer()], { parseErrors })
      assert.strictEqual(stopReason(played), "completed")
    }))

  it.effect("costs the given penalty", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { parseErrors: { ...parseErrors, penaltyPerError: 0.25 } })
      assert.deepStrictEqual(rewards(played), [-0.25, 0.9])
    }))

  it.effect("is kept out of training on request", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { parseErrors: { ...parseErrors, maskErrorTurns: true } })
      assert.deepStrictEqual(played.trajectory.transitions.map(({ trainable }) => trainable), [false, true])
    }))

  it.effect("ends the episode without parseErrors", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()])
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("gets a negative reward and no answer if terminateOnParseError is false", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { terminateOnParseError: false })
      assert.deepStrictEqual(rewards(played), [-0.1, 0.9])
      assert.deepStrictEqual(played.graded[0]?.slice(2).map(Message.text), ["", "done"])
    }))

  it.effect("is not answered in the last turn", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()], { parseErrors, maxTurns: 1 })
      assert.strictEqual(stopReason(played), "parse_error")
      assert.strictEqual(played.requests.length, 1)
    }))

  it.effect("still runs its other calls, without a penalty, if only some cannot be parsed", () =>
    Effect.gen(function*() {
      const mixed = Talk.parsed("", { toolCalls: [call()], unparsedToolCalls: [{ rawText: "", error: "no json" }] })
      const played = yield* play([mixed, answer()], { parseErrors: { ...parseErrors, penaltyPerError: 1 } })
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.deepStrictEqual(played.ran, ["echo"])
      assert.deepStrictEqual(played.trajectory.transitions[0]?.metrics, { parse_error: EnvMetric.rate(true) })
    }))
})
