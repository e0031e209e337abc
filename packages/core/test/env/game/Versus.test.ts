import { Message, type MessagePolicy, Rollout } from "@effect-rl/core"
import { Key, Versus } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { EnvLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Talk from "../Talk.ts"
import { nim } from "./Nim.ts"

class OpponentLost extends Schema.TaggedError<OpponentLost>()("OpponentLost", {}) {}

const answers = (answer: (request: MessagePolicy.Request) => string): MessagePolicy.MessagePolicy => ({
  respond: (request) => Effect.sync(() => Message.assistant(answer(request)))
})

const group = <E = never>(opponent: MessagePolicy.MessagePolicy<E>, size = 2) =>
  Effect.map(Talk.qwen, (renderer) => Versus.make({ key: "nim", size, model: { renderer }, game: nim(4), opponent }))

const play = <E>(opponent: MessagePolicy.MessagePolicy<E>, policy = Talk.policy(Talk.said("1"))) =>
  Effect.gen(function*() {
    const result = yield* Rollout.group(yield* group(opponent), policy)
    if (GroupResult.isSkipped(result)) return assert.fail(result.reason.message)
    return result
  })

describe("Versus.make", () => {
  it.effect("plays a separate match for each member, on alternating sides", () =>
    Effect.gen(function*() {
      const asked: Array<[key: string, seen: string]> = []
      const result = yield* play(answers(({ key, messages }) => {
        asked.push([key, messages.map(Message.text).join(" ")])
        return "1"
      }))
      assert.deepStrictEqual([...result.rewardsG], [-1, 1])
      assert.deepStrictEqual(asked.toSorted(), [
        ["0/nim/m0/a0/t1", "You are player 1. Take 1 or 2. 3 left."],
        ["0/nim/m0/a0/t3", "You are player 1. Take 1 or 2. 3 left. 1 1 left."],
        ["0/nim/m1/a0/t0", "You are player 0. Take 1 or 2. 4 left."],
        ["0/nim/m1/a0/t2", "You are player 0. Take 1 or 2. 4 left. 1 2 left."]
      ])
      assert.deepStrictEqual(result.tags, ["versus"])
    }))

  it.effect("ends without a winner if the opponent makes an illegal move", () =>
    Effect.gen(function*() {
      const result = yield* play(answers(() => "hm"))
      assert.deepStrictEqual([...result.rewardsG], [0, 0])
      const [, second] = GroupResult.survivors(result).map(([, trajectory]) => trajectory)
      assert.deepStrictEqual(second?.transitions, [], "it ended before their first turn")
    }))

  it.effect("fails with the opponent's error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(play({ respond: () => new OpponentLost() }))
      assert.strictEqual(error._tag, "OpponentLost")
    }))
})

describe("Versus laws", () => {
  const makeEnv = () =>
    Effect.flatMap(
      Effect.orDie(group(answers(() => "1"))),
      ({ open }) =>
        Effect.flatMap(open, ({ makeEnv }) =>
          makeEnv(1, Key.memberAttempt(0, { iteration: 0, group: "group", member: 1, attempt: 0 })))
    )
  for (
    const law of EnvLaws.envLaws(makeEnv, {
      tokenizer: Talk.tokenizer,
      vocabulary: Talk.tokenizer.vocabulary,
      replies: ["1", "2", "three"]
    })
  ) it.effect(law.name, () => law.check)
})
