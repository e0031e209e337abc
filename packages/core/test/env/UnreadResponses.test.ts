import { EnvMetric, Message } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Agent from "./Agent.ts"
import * as Talk from "./Talk.ts"

const { call, calls, answer, unreadable, play, question, rewards, stopReason, last } = Agent

describe("responses that were cut", () => {
  it.effect("end the episode ungraded", () =>
    Effect.gen(function*() {
      const played = yield* play([calls(1)], { cutAt: [0] })
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.deepStrictEqual([played.ran, played.graded], [[], []])
      assert.deepStrictEqual(rewards(yield* play([calls(1)], { cutAt: [0], contextOverflowReward: -0.5 })), [-0.5])
      assert.deepStrictEqual(rewards(yield* play([calls(1)], { cutAt: [0], limits: { maxTurns: 9 } })), [-0.1])
    }))

  it.effect("become part of the conversation with onLength continue", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("a b"), answer()], { cutAt: [0], onLength: "continue" })
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.strictEqual(stopReason(played), "completed")
      assert.strictEqual(played.trajectory.truncations, 1)
      assert.deepStrictEqual(played.graded[0]?.slice(2), [Message.assistant("a b"), Message.assistant("done")])
    }))

  it.effect("become part of the conversation by default where tokens are limited, until they are used up", () =>
    Effect.gen(function*() {
      const nine = Talk.malformed("1 2 3 4 5 6 7 8 9")
      const limits = { maxTurnTokens: 5, maxTrajectoryTokens: 35 }
      const played = yield* play([nine], { cutAt: [0, 1, 2, 3], limits })
      assert.deepStrictEqual(played.requests.map(({ prompt }) => prompt.length), [8, 18, 28])
      assert.strictEqual(stopReason(played), "max_tokens")
      assert.strictEqual(played.trajectory.truncations, 3)
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("count as turns, so that the episode ends", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("")], { cutAt: Array.from(Array(99).keys()), onLength: "continue" })
      assert.strictEqual(played.requests.length, 5)
      assert.strictEqual(stopReason(played), "max_turns")
      assert.deepStrictEqual(played.graded, [])
    }))
})

describe("responses that did not end properly", () => {
  it.effect("end the episode ungraded", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("are left out of the conversation where terminateOnParseError is false", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost"), answer()], { terminateOnParseError: false })
      assert.deepStrictEqual(rewards(played), [-0.1, 0.9])
      assert.deepStrictEqual(played.requests.map(({ prompt }) => prompt.length), [8, 8])
      assert.deepStrictEqual(played.graded, [[...question, Message.assistant("done")]])
    }))

  it.effect("count as turns, so that the episode ends", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")], { terminateOnParseError: false })
      assert.strictEqual(played.requests.length, 5)
      assert.strictEqual(stopReason(played), "max_turns")
    }))

  it.effect("end the episode also where unreadable calls are answered", () =>
    Effect.gen(function*() {
      const played = yield* play([Talk.malformed("lost")], { parseErrors: { maxConsecutive: 5, terminalReward: -1 } })
      assert.strictEqual(played.requests.length, 1)
      assert.deepStrictEqual(rewards(played), [-1])
      assert.strictEqual(last(played)?.logs["parse_error_kind"], "structural")
    }))
})

describe("calls that cannot be read", () => {
  const parseErrors = { maxConsecutive: 1, retryMessage: "Wrong: {details}" }

  it.effect("are answered with the error", () =>
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

  it.effect("are answered alike where a message has no list of calls and where the list is empty", () =>
    Effect.gen(function*() {
      const empty = Talk.parsed("", { toolCalls: [], unparsedToolCalls: [{ rawText: "", error: "no json" }] })
      assert.deepStrictEqual(rewards(yield* play([empty, answer()], { parseErrors })), [0, 0.9])
    }))

  it.effect("are answered in text that counts against the token budget", () =>
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

  it.effect("end the episode when there are too many in a row", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()], { parseErrors: { ...parseErrors, terminalReward: -0.5 } })
      assert.deepStrictEqual(rewards(played), [0, -0.5])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("are counted from zero again after a readable call", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), calls(1), unreadable(), answer()], { parseErrors })
      assert.strictEqual(stopReason(played), "completed")
    }))

  it.effect("cost the given penalty", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { parseErrors: { ...parseErrors, penaltyPerError: 0.25 } })
      assert.deepStrictEqual(rewards(played), [-0.25, 0.9])
    }))

  it.effect("are kept out of training on request", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { parseErrors: { ...parseErrors, maskErrorTurns: true } })
      assert.deepStrictEqual(played.trajectory.transitions.map(({ trainable }) => trainable), [false, true])
    }))

  it.effect("end the episode where parseErrors is not given", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()])
      assert.deepStrictEqual(rewards(played), [-0.1])
      assert.strictEqual(stopReason(played), "parse_error")
      assert.deepStrictEqual(played.graded, [])
    }))

  it.effect("stay unanswered at a cost where terminateOnParseError is false", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable(), answer()], { terminateOnParseError: false })
      assert.deepStrictEqual(rewards(played), [-0.1, 0.9])
      assert.deepStrictEqual(played.graded[0]?.slice(2).map(Message.text), ["", "done"])
    }))

  it.effect("are not answered in the last turn", () =>
    Effect.gen(function*() {
      const played = yield* play([unreadable()], { parseErrors, maxTurns: 1 })
      assert.strictEqual(stopReason(played), "parse_error")
      assert.strictEqual(played.requests.length, 1)
    }))

  it.effect("do not affect calls that can be read", () =>
    Effect.gen(function*() {
      const mixed = Talk.parsed("", { toolCalls: [call()], unparsedToolCalls: [{ rawText: "", error: "no json" }] })
      const played = yield* play([mixed, answer()], { parseErrors: { ...parseErrors, penaltyPerError: 1 } })
      assert.deepStrictEqual(rewards(played), [0, 0.9])
      assert.deepStrictEqual(played.ran, ["echo"])
      assert.deepStrictEqual(played.trajectory.transitions[0]?.metrics, { parse_error: EnvMetric.rate(true) })
    }))
})
