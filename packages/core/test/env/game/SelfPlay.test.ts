import { type EnvGroupBuilder, EnvMetric, FailurePolicy, type Policy, Rollout, SelfPlay } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Key } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { Draw, EnvLaws, Fault, Faulty, LeakAudit, Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schedule, Schema } from "effect"
import * as Talk from "../Talk.ts"
import { nim, type Pile } from "./Nim.ts"

class PolicyLost extends Schema.TaggedError<PolicyLost>()("PolicyLost", {}) {}

const group = (size: number) =>
  Effect.map(Talk.qwen, (renderer) => SelfPlay.make({ key: "nim", model: { renderer }, game: nim(size) }))

/** A policy with the texts of each player's turns; after them it says "1". */
const says = (...textsG: ReadonlyArray<ReadonlyArray<string>>): Policy.Policy => ({
  act: ({ key }) =>
    Effect.sync(() => {
      const action = Talk.said(textsG[key.member]?.[key.turn] ?? "1")
      return { ...action, logprobs: new Float32Array(action.tokens.length) }
    })
})

const play = Effect.fnUntraced(function*(size: number, policy: Policy.Policy, options: Rollout.GroupOptions = {}) {
  const result = yield* Rollout.group(yield* group(size), policy, options)
  if (GroupResult.isSkipped(result)) return assert.fail(result.reason.message)
  const trajectories = GroupResult.survivors(result).map(([, trajectory]) => trajectory)
  return {
    rewards: [...result.rewardsG],
    turns: trajectories.map(({ transitions }) => transitions.length),
    stops: trajectories.map(({ stopReason }) => Option.getOrNull(stopReason)),
    trajectories
  }
})

describe("SelfPlay.make", () => {
  it.effect("plays in turns until the match ends, which completes both players' episodes", () =>
    Effect.gen(function*() {
      const { rewards, stops, turns } = yield* play(4, says(["1", "1"], ["2"]))
      assert.deepStrictEqual(rewards, [1, -1])
      assert.deepStrictEqual(turns, [2, 1])
      assert.deepStrictEqual(stops, ["completed", "completed"])
    }))

  it.effect("shows each player the rules, then the position at each of their turns", () =>
    Effect.gen(function*() {
      const { trajectories } = yield* play(5, says(["1", "1"], ["1", "2"]))
      const shown = trajectories.map(({ transitions }) => transitions.map(({ observation }) => Talk.text(observation)))
      assert.include(shown[0]?.[0], "You are player 0. Take 1 or 2.")
      assert.include(shown[0]?.[0], "5 left.")
      assert.include(shown[1]?.[0], "4 left.")
      assert.include(shown[1]?.[1], "2 left.")
      assert.isTrue(shown[1]?.[1]?.startsWith(`${shown[1]?.[0]}1${Talk.end}`), "a conversation that only grows")
    }))

  it.effect("gives −2 for an illegal move, and 0 to the other player", () =>
    Effect.gen(function*() {
      const { rewards, trajectories } = yield* play(5, says(["1"], ["all of them"]))
      assert.deepStrictEqual(rewards, [0, -2])
      assert.deepInclude(trajectories[1]?.transitions[0]?.metrics, { illegal_move: EnvMetric.rate(true) })
      assert.deepInclude(trajectories[0]?.transitions[0]?.metrics, { illegal_move: EnvMetric.rate(false) })
    }))

  it.effect("asks nothing of a player if the match ends before their first turn", () =>
    Effect.gen(function*() {
      const { rewards, stops, turns } = yield* play(5, says(["nothing"]))
      assert.deepStrictEqual(rewards, [-2, 0])
      assert.deepStrictEqual(turns, [1, 0])
      assert.deepStrictEqual(stops, ["completed", "completed"])
    }))

  it.effect("starts a new match when the group is retried", () =>
    Effect.gen(function*() {
      let lost = 0
      const flaky = Faulty.policy<never, never, PolicyLost>(
        says(["1", "1"], ["2"]),
        ({ key }) => key.turn === 1 && lost++ === 0 ? Fault.fail(new PolicyLost()) : Fault.none
      )
      const result = yield* Rollout.group(yield* group(4), flaky, {
        onFailure: { ...FailurePolicy.failFast, retry: Schedule.recurs(1) }
      })
      assert.deepStrictEqual(GroupResult.isSkipped(result) ? [] : [...result.rewardsG], [1, -1])
      assert.strictEqual(lost, 2)
    }))
})

describe("SelfPlay ends the match if a player's episode ends early", () => {
  it.effect("at a limit of turns", () =>
    Effect.gen(function*() {
      const { rewards, stops } = yield* play(9, says(), { limits: { maxTurns: 2 } })
      assert.deepStrictEqual(rewards, [0, 0])
      assert.deepStrictEqual(stops, ["max_turns", null])
    }))

  it.effect("at a limit of tokens", () =>
    Effect.gen(function*() {
      const { stops } = yield* play(9, says(["1", "1"], ["1"]), { limits: { maxSampledTokens: 4 } })
      assert.deepStrictEqual(stops, ["max_sampled_tokens", null])
    }))

  it.effect("with a response that was cut", () =>
    Effect.gen(function*() {
      const cutAtTurn1 = Faulty.policy<never, never>(
        says(),
        ({ key }) => key.member === 1 && key.turn === 1 ? Fault.truncated : Fault.none
      )
      const { rewards, stops } = yield* play(9, cutAtTurn1)
      assert.deepStrictEqual(rewards, [0, -0.1])
      assert.deepStrictEqual(stops, [null, "max_tokens"])
    }))
})

describe("SelfPlay under faults", () => {
  /** A policy with random delays that sometimes fails, throws, hangs or is cut. */
  const faulty = (seed: number): Policy.Policy<PolicyLost> =>
    Faulty.policy<never, never, PolicyLost>(says(), ({ key: { attempt, member, turn } }) => {
      const draw = Draw.make(seed, attempt, member, turn)
      return Fault.oneOf<Sampling.SampledTokens, PolicyLost>(draw, [
        [12, Fault.slow(`${draw.integer(1, 20)} seconds`)],
        [1, Fault.fail(new PolicyLost())],
        [1, Fault.die(new Error("a bug"))],
        [1, Fault.hang],
        [1, Fault.truncated],
        [
          1,
          Fault.answer((sampled) => ({
            ...sampled,
            tokens: Talk.tokens(`x${Talk.end}`),
            logprobs: new Float32Array(2)
          }))
        ]
      ])
    })

  const audited = <E>(builder: EnvGroupBuilder.EnvGroupBuilder<E>) =>
    Effect.map(LeakAudit.LeakAudit, ({ track }): EnvGroupBuilder.EnvGroupBuilder<E> => ({
      ...builder,
      open: Effect.map(track("match", builder.open), ({ makeEnv }) => ({
        makeEnv: (member, attempt) => track("player", makeEnv(member, attempt))
      }))
    }))

  /** Plays one match in virtual time. Returns how it ended, and the resources that were not released. */
  const simulate = Effect.fnUntraced(function*(seed: number, options: Simulation.Options = {}) {
    const nimGroup = yield* group(7)
    const match = Effect.gen(function*() {
      const builder = yield* audited(nimGroup)
      return yield* Rollout.group(builder, faulty(seed), {
        onFailure: FailurePolicy.retryOnFailure({ maxRetries: 1 }),
        memberTimeout: "2 minutes",
        limits: seed % 3 === 0 ? { rolloutTimeout: "40 seconds" } : seed % 3 === 1 ? { maxTurns: 3 } : {}
      })
    })
    return yield* Effect.gen(function*() {
      const simulated = yield* Simulation.run(seed, match, { deadline: "10 minutes", ...options })
      const held = LeakAudit.live(yield* LeakAudit.LeakAudit.use(({ counts }) => counts))
      return { ...simulated, held }
    }).pipe(Effect.provide(LeakAudit.LeakAudit.layer, { local: true }))
  })

  it.effect("no match hangs or leaks, and rewards follow from the endings", () =>
    Effect.gen(function*() {
      const seen = new Map<string, number>()
      for (let seed = 0; seed < 300; seed++) {
        const { exit, hang, held, leakedFibers } = yield* simulate(seed)
        assert.deepStrictEqual(hang, Option.none(), `seed ${seed}`)
        assert.deepStrictEqual([held, leakedFibers], [{}, 0], `seed ${seed}`)
        if (Option.isNone(exit) || Exit.isFailure(exit.value)) return assert.fail(`seed ${seed} failed`)
        const result = exit.value.value
        seen.set(result._tag, (seen.get(result._tag) ?? 0) + 1)
        if (GroupResult.isSkipped(result)) continue
        const rewards = [...result.rewardsG].toSorted((a, b) => a - b).join()
        assert.include(["-1,1", "-2,0", "-0.1,0", "-0.1,-0.1", "0,0"], rewards, `seed ${seed}`)
      }
      assert.isAbove(seen.get("Completed") ?? 0, 50)
      assert.isAbove(seen.get("Skipped") ?? 0, 50)
    }))

  it.effect("an interrupted match neither hangs nor leaks resources or fibers", () =>
    Effect.gen(function*() {
      for (let seed = 0; seed < 100; seed++) {
        const { hang, held, leakedFibers } = yield* simulate(seed, { interruptAfter: 1 + 7 * seed % 150 })
        assert.deepStrictEqual(hang, Option.none(), `seed ${seed}`)
        assert.deepStrictEqual([held, leakedFibers], [{}, 0], `seed ${seed}`)
      }
    }))
})

describe("SelfPlay: laws of a single player's environment", () => {
  const game = { ...nim(4), players: 1, toMove: ({ left }: Pile) => left === 0 ? undefined : 0 }
  const makeEnv = () =>
    Effect.gen(function*() {
      const renderer = yield* Effect.orDie(Talk.qwen)
      const { makeEnv } = yield* SelfPlay.make({ key: "nim", model: { renderer }, game }).open
      return yield* makeEnv(0, Key.memberAttempt(0, { iteration: 0, group: "group", member: 0, attempt: 0 }))
    })
  for (
    const law of EnvLaws.envLaws(makeEnv, {
      tokenizer: Talk.tokenizer,
      vocabulary: Talk.tokenizer.vocabulary,
      replies: ["1", "2", "three"]
    })
  ) it.effect(law.name, () => law.check)
})
