import { Env, FunctionTool, type Policy, Rollout, TinkerError } from "@effect-rl/core"
import { ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { Draw, Fault, Faulty, Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Option, Schema } from "effect"

class Lost extends Schema.TaggedError<Lost>()("Lost", {}) {}

const simulated = <A, E>(effect: Effect.Effect<A, E>) => Simulation.run(1, effect, { deadline: "1 hour" })

describe("a faulty call", () => {
  let made = 0
  const call: Effect.Effect<number, Lost> = Effect.sync(() => ++made)
  const after = <A, E>(fault: Fault.Fault<number, Lost>, then: Effect.Effect<A, E>) =>
    Effect.andThen(Effect.exit(fault(call)), then)

  it.effect("fails before or after the call is made", () =>
    Effect.gen(function*() {
      const before = made
      assert.deepStrictEqual(yield* Effect.exit(Fault.fail(new Lost())(call)), Exit.fail(new Lost()))
      assert.strictEqual(made, before)
      assert.deepStrictEqual(yield* Effect.exit(Fault.failAfter(new Lost())(call)), Exit.fail(new Lost()))
      assert.strictEqual(made, before + 1)
    }))

  it.effect("dies, hangs, or is delayed", () =>
    Effect.gen(function*() {
      const died = yield* Effect.exit(Fault.die("out of memory")(call))
      assert.isTrue(Exit.isFailure(died) && Cause.hasDies(died.cause))
      assert.isTrue(Option.isSome((yield* simulated(Fault.hang(call))).hang))
      const slow = yield* simulated(after(Fault.slow("1 minute"), Clock.currentTimeMillis))
      assert.deepStrictEqual(slow.exit, Option.some(Exit.succeed(60_000)))
    }))

  it.effect("combines several faults, with the first one closest to the call", () =>
    Effect.gen(function*() {
      const fault = Fault.all<number, Lost>(Fault.answer(() => 5), Fault.answer((found) => found * 2), Fault.slow(10))
      assert.deepStrictEqual((yield* simulated(fault(call))).exit, Option.some(Exit.succeed(10)))
    }))

  it.effect("draws its fault by weight", () =>
    Effect.gen(function*() {
      const draw = Draw.make(1)
      const faults = yield* Effect.forEach(Array.from({ length: 1000 }), () =>
        Effect.exit(Fault.oneOf<number, Lost>(draw, [[9, Fault.none], [1, Fault.fail(new Lost())]])(call)))
      assert.approximately(faults.filter(Exit.isFailure).length, 100, 30)
    }))
})

const sampled = { tokens: Int32Array.of(1, 2, 3), logprobs: Float32Array.of(-1, -1, -1), stopReason: "stop" as const }
const policy: Policy.Policy = { act: () => Effect.succeed(sampled) }
const key = { iteration: 0, group: "group", member: 0, attempt: 0 }

const prompt = Env.prompt(ModelInput.fromTokens([1]), ["."])

/** Three turns of reward 1. */
const dialogue = (): Env.Env => {
  let turn = 0
  return {
    initialObservation: Effect.succeed(prompt),
    step: () =>
      Effect.sync(() => ++turn < 3 ? { _tag: "Continue", reward: 1, observation: prompt } : { _tag: "Done", reward: 1 })
  }
}

describe("a faulty policy", () => {
  it.effect("has faults at the planned turns", () =>
    Effect.gen(function*() {
      const faulty = Faulty.policy(policy, ({ key }) => key.turn === 1 ? Fault.truncated : Fault.none)
      const { transitions } = yield* Rollout.episode(dialogue(), faulty, key)
      assert.deepStrictEqual(transitions.map(({ action }) => [action.tokens.length, action.stopReason]), [
        [3, "stop"],
        [2, "length"],
        [3, "stop"]
      ])
    }))
})

describe("a faulty sampler", () => {
  it.effect("has faults at the planned requests", () =>
    Effect.gen(function*() {
      const client: SamplingClient.SamplingClient = {
        modelPath: "model",
        sample: () => Effect.succeed({ sequences: [sampled] }),
        computeLogprobs: () => Effect.succeed(new Float32Array())
      }
      const limited = new TinkerError.TinkerError({
        operation: "sample",
        reason: new TinkerError.RateLimited({ retryAfterMillis: 10 })
      })
      const faulty = Faulty.sampler(client, (_, call) => call === 0 ? Fault.fail(limited) : Fault.none)
      const request = { prompt: ModelInput.fromTokens([1]), params: { maxTokens: 3 } }
      assert.strictEqual((yield* Effect.flip(faulty.sample(request))).reason._tag, "RateLimited")
      assert.lengthOf((yield* faulty.sample(request)).sequences, 1)
    }))
})

describe("a faulty tool", () => {
  it.effect("has faults at the planned calls", () =>
    Effect.gen(function*() {
      const tool = FunctionTool.make({
        name: "look",
        description: "",
        parameters: Schema.Struct({}),
        handler: () => Effect.succeed("seen")
      })
      const faulty = Faulty.tool(tool, (_, call) => call === 1 ? Fault.fail(new Lost()) : Fault.none)
      assert.strictEqual((yield* faulty.call("{}")).content, "seen")
      assert.deepStrictEqual(yield* Effect.flip(faulty.call("{}")), new Lost())
    }))
})

describe("a faulty group", () => {
  const builder = {
    key: "group",
    size: 2,
    tags: [],
    open: Effect.succeed({
      makeEnv: () => Effect.sync(dialogue),
      groupRewards: (trajectories: ReadonlyArray<unknown>) => Effect.succeed(trajectories.map(() => ({ reward: 1 })))
    })
  }
  const messageOf = (plan: Faulty.GroupPlan<Lost>) =>
    Effect.map(Effect.flip(Rollout.group(Faulty.group<never, never, Lost>(builder, plan), policy)), ({ _tag }) => _tag)

  it.effect("has planned faults in opening, acquiring, playing and grading", () =>
    Effect.gen(function*() {
      const lost = Fault.fail(new Lost())
      assert.strictEqual(yield* messageOf({ open: () => lost }), "Lost")
      assert.strictEqual(yield* messageOf({ acquire: (member) => member === 1 ? lost : Fault.none }), "Lost")
      assert.strictEqual(yield* messageOf({ env: () => ({ initialObservation: lost }) }), "Lost")
      assert.strictEqual(yield* messageOf({ env: () => ({ step: (turn) => turn === 2 ? lost : Fault.none }) }), "Lost")
      assert.strictEqual(
        yield* messageOf({ grade: () => Fault.answer((rewards) => rewards.map(() => ({ reward: NaN }))) }),
        "RolloutError"
      )
      const result = yield* Rollout.group(Faulty.group(builder, {}), policy)
      assert.deepStrictEqual(result._tag === "Completed" ? Array.from(result.rewardsG) : [], [4, 4])
    }))
})
