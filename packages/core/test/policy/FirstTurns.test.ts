import { ModelInput, Policy, type Sampling, type SamplingClient, Seed, TinkerError } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"

const stop = ["\n"]
const prompt = ModelInput.fromTokens([1, 2, 3])

const key = (member: number, group = "sum") => ({ iteration: 0, group, member, attempt: 0, turn: 0 })

/** What a sampler with seeds gives for one seed and prompt. */
const sampled = (seed: number, length: number): Sampling.SampledTokens => {
  const uniform = Seed.uniform(seed + length)
  const tokens = Int32Array.from({ length: 4 }, () => Math.floor(1000 * uniform()))
  return { tokens, logprobs: new Float32Array(tokens.length).fill(-1), stopReason: "stop" }
}

/** A client with seeds, whose calls go as `call` says; it counts requests, and those it was not let finish. */
const seeded = (call: (request: Sampling.SampleRequest) => Effect.Effect<void, TinkerError.TinkerError>) => {
  const requests: Array<Sampling.SampleRequest> = []
  const seen = { requests, interrupted: 0 }
  const client: SamplingClient.SamplingClient = {
    modelPath: "seeded",
    sample: (request) =>
      Effect.suspend(() => {
        requests.push(request)
        const { numSamples = 1, params: { seed = 0 }, prompt } = request
        const sequences = Array.from({ length: numSamples }, (_, index) => sampled(seed + index, prompt.length))
        return Effect.as(call(request), { sequences })
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => void seen.interrupted++))),
    computeLogprobs: () => Effect.die("not asked for")
  }
  return { client, seen }
}

const policy = (client: SamplingClient.SamplingClient, coalesceFirstTurns = true) =>
  Policy.fromSamplingClient(client, { maxTokens: 8, seed: 5, coalesceFirstTurns })

const together = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.all(effects, { concurrency: "unbounded", mode: "result" })

const nothing = () => Effect.void

/** A member's first turn: one of a few prompts and stops, asked for after some turns of the event loop. */
const Asked = Schema.Struct({
  group: Schema.Literals(["a", "b"]),
  prompt: Schema.Literals([1, 2]),
  maxTokens: Schema.Literals([4, 8]),
  late: Schema.Literals([0, 0, 0, 1, 3])
})

describe("first turns in one request", () => {
  it.effect("are one request for all of a group that ask at the same time", () =>
    Effect.gen(function*() {
      const { client, seen } = seeded(nothing)
      const { act } = policy(client)
      yield* together([2, 0, 3, 1].map((member) => act({ prompt, stop, key: key(member) })))
      assert.deepStrictEqual(seen.requests, [
        { prompt, numSamples: 4, params: { stop, maxTokens: 8, seed: Seed.turn(5, key(0)) } }
      ])
    }))

  it.effect("are not what later turns and retries are", () =>
    Effect.gen(function*() {
      const { client, seen } = seeded(nothing)
      const { act } = policy(client)
      const keys = [0, 1].flatMap((member) => [{ ...key(member), turn: 1 }, { ...key(member), attempt: 1 }])
      yield* together(keys.map((key) => act({ prompt, stop, key })))
      assert.deepStrictEqual(seen.requests.map(({ numSamples }) => numSamples), [
        undefined,
        undefined,
        undefined,
        undefined
      ])
    }))

  it.effect.prop(
    "give each member what it would have got alone, in no more requests",
    [Schema.Array(Asked)],
    ([asked]) =>
      Effect.gen(function*() {
        const turn = ({ act }: Policy.Policy<TinkerError.TinkerError>) =>
          together(asked.map(({ group, late, maxTokens, prompt }, member) =>
            Effect.yieldNow.pipe(
              Effect.repeat({ times: late }),
              Effect.when(Effect.succeed(late > 0)),
              Effect.andThen(
                Effect.suspend(() =>
                  act({
                    prompt: ModelInput.fromTokens(new Int32Array(prompt)),
                    stop,
                    maxTokens,
                    key: key(member, group)
                  })
                )
              )
            )
          ))
        const [alone, shared] = [seeded(nothing), seeded(nothing)]
        const expected = yield* turn(policy(alone.client, false))
        assert.deepStrictEqual(yield* turn(policy(shared.client)), expected)
        assert.isAtMost(shared.seen.requests.length, alone.seen.requests.length)
        const sequences = shared.seen.requests.reduce((sum, { numSamples = 1 }) => sum + numSamples, 0)
        assert.strictEqual(sequences, asked.length)
      })
  )

  it.effect("fail with their own request, and no other", () =>
    Effect.gen(function*() {
      const failure = new TinkerError.TinkerError({
        operation: "sample",
        reason: new TinkerError.Unavailable({ detail: "gone" })
      })
      const { client } = seeded(({ prompt }) => prompt.length === 1 ? Effect.fail(failure) : Effect.void)
      const { act } = policy(client)
      const lengths = [1, 1, 2, 2, 1]
      const results = yield* together(
        lengths.map((length, member) =>
          act({ prompt: ModelInput.fromTokens(new Int32Array(length)), stop, key: key(member) })
        )
      )
      assert.deepStrictEqual(results.map(({ _tag }) => _tag === "Failure"), [true, true, false, false, true])
    }))

  it.effect("fail where the backend returns fewer sequences than it was asked for", () =>
    Effect.gen(function*() {
      const { client } = seeded(nothing)
      const short = {
        ...client,
        sample: (request: Sampling.SampleRequest) => client.sample({ ...request, numSamples: 2 })
      }
      const results = yield* together([0, 1, 2].map((member) => policy(short).act({ prompt, stop, key: key(member) })))
      const one = policy(short)
      const shared = yield* together([0, 1, 2].map((member) => one.act({ prompt, stop, key: key(member) })))
      assert.deepStrictEqual(results.map(({ _tag }) => _tag), ["Success", "Success", "Success"])
      assert.deepStrictEqual(shared.map(({ _tag }) => _tag), ["Success", "Success", "Failure"])
    }))

  it.effect.each([{ leaving: [0] }, { leaving: [1] }, { leaving: [0, 1] }, { leaving: [1, 2] }])(
    "go on for the others when members $leaving are interrupted",
    ({ leaving }) =>
      Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const { client, seen } = seeded(() => Deferred.await(gate))
        const { act } = policy(client)
        const fibers = yield* Effect.forEach([0, 1, 2], (member) =>
          Effect.forkChild(act({ prompt, stop, key: key(member) })))
        while (seen.requests.length === 0) {
          yield* Effect.yieldNow
        }
        yield* Fiber.interruptAll(fibers.filter((_, member) =>
          leaving.includes(member)
        ))
        yield* Deferred.succeed(gate, undefined)
        for (const [member, fiber] of fibers.entries()) {
          const exit = yield* Fiber.await(fiber)
          assert.strictEqual(Exit.hasInterrupts(exit), leaving.includes(member))
        }
        assert.strictEqual(seen.interrupted, 0)
      })
  )

  it.effect("are given up when all of them are interrupted, before or after their request was sent", () =>
    Effect.gen(function*() {
      for (const yields of [0, 1, 5]) {
        const { client, seen } = seeded(() => Effect.never)
        const { act } = policy(client)
        const fibers = yield* Effect.forEach(
          [0, 1, 2],
          (member) => Effect.forkChild(act({ prompt, stop, key: key(member) }), { startImmediately: true })
        )
        for (let turn = 0; turn < yields; turn++) yield* Effect.yieldNow
        yield* Fiber.interruptAll(fibers)
        for (let turn = 0; turn < 5; turn++) yield* Effect.yieldNow
        assert.strictEqual(seen.interrupted, seen.requests.length)
      }
    }))

  it.effect("die with what the client threw", () =>
    Effect.gen(function*() {
      const { client } = seeded(() => Effect.die(new TypeError("not a function")))
      const { act } = policy(client)
      const fibers = yield* Effect.forEach(
        [0, 1],
        (member) => Effect.forkChild(act({ prompt, stop, key: key(member) }))
      )
      for (const fiber of fibers) assert.isTrue(Exit.hasDies(yield* Fiber.await(fiber)))
    }))
})
