import { Loss, TinkerError } from "@effect-rl/core"
import { Fault, ScriptedTinker } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import {
  ask,
  baseModel,
  datum,
  expectUnrecorded,
  lesson,
  record,
  replay,
  run,
  sampler,
  temporary,
  trainer
} from "./Recording.ts"

layer(NodeServices.layer)("a cassette", (it) => {
  describe("replays", () => {
    it.effect("a run exactly, without the backend", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const recorded = yield* record(file, lesson())
        assert.deepStrictEqual(yield* replay(file, lesson()), recorded)
      }))

    it.effect("the answers to repeated equal requests, in recorded order", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const thrice = Effect.flatMap(sampler, (client) => Effect.replicateEffect(client.sample(ask()), 3))
        const recorded = yield* record(file, thrice)
        const texts = recorded.map(({ sequences: [sequence] }) => sequence?.tokens.join(" "))
        assert.isAbove(new Set(texts).size, 1)
        assert.deepStrictEqual(yield* replay(file, thrice), recorded)
      }))

    it.effect("concurrent requests, whatever order their answers arrived in", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const together = Effect.flatMap(sampler, (client) =>
          Effect.forEach([1, 2, 3, 4], (seed) => client.sample(ask(seed)), { concurrency: 4 }))
        const reversed = Effect.flatMap(sampler, (client) =>
          Effect.forEach([4, 3, 2, 1], (seed) =>
            client.sample(ask(seed))))
        const recorded = yield* record(file, together)
        assert.deepStrictEqual((yield* replay(file, reversed)).toReversed(), recorded)
      }))

    it.effect("training clients created with equal arguments, each with its own answers", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const two = Effect.gen(function*() {
          const [first, second] = [yield* trainer, yield* trainer]
          yield* run(first.forwardBackward([datum()], Loss.crossEntropy))
          yield* run(first.optimStep({ learningRate: 0.1 }))
          const values = yield* Effect.forEach([first, second], (client) =>
            run(client.forward([datum()], Loss.crossEntropy)))
          return values.map(({ metrics }) =>
            metrics["loss:sum"]
          )
        })
        const recorded = yield* record(file, two)
        assert.notStrictEqual(recorded[0], recorded[1])
        assert.deepStrictEqual(yield* replay(file, two), recorded)
      }))

    it.effect("failures", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const faults = [Fault.call("Sample", 0, Fault.fail(new TinkerError.RateLimited({ retryAfterMillis: 5 })))]
        const twice = Effect.flatMap(sampler, (client) =>
          Effect.forEach([1, 1], (seed) => Effect.result(client.sample(ask(seed)))))
        const recorded = yield* record(file, twice, ScriptedTinker.layer({ faults }))
        assert.deepStrictEqual(
          recorded.map(({ _tag }) =>
            _tag
          ),
          ["Failure", "Success"]
        )
        assert.deepStrictEqual(yield* replay(file, twice), recorded)
      }))

    it.effect("a grammar-constrained sample only for the same grammar", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const sequence = {
          tokens: Int32Array.of(1, 2),
          logprobs: Float32Array.of(-3, -4),
          maskedLogprobs: Float32Array.of(-0.5, 0),
          stopReason: "stop"
        } as const
        const backend = ScriptedTinker.layer({
          models: { [baseModel]: { sampling: ["grammar"] } },
          sample: () => ({ sequences: [sequence] })
        })
        const asked = (type: string) =>
          Effect.flatMap(sampler, (client) => client.sample({ ...ask(1), grammar: { jsonSchema: { type } } }))
        const recorded = yield* record(file, asked("object"), backend)
        assert.deepStrictEqual(recorded.sequences, [sequence])
        assert.deepStrictEqual(yield* replay(file, asked("object")), recorded)
        assert.lengthOf(expectUnrecorded(yield* Effect.flip(replay(file, asked("array")))).differences, 1)
      }))

    it.effect("a request that was repeated after an interruption", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const stuck = Fault.call("Sample", 0, Fault.hang)
        const interrupted = Effect.gen(function*() {
          const client = yield* sampler
          const waiting = yield* Effect.forkChild(client.sample(ask(1)), { startImmediately: true })
          yield* Fiber.interrupt(waiting)
          return yield* client.sample(ask(1))
        })
        const recorded = yield* record(file, interrupted, ScriptedTinker.layer({ faults: [stuck] }))
        const once = Effect.flatMap(sampler, (client) => client.sample(ask(1)))
        assert.deepStrictEqual(yield* replay(file, once), recorded)
      }))
  })

  describe("fails for", () => {
    it.effect("a sample with another seed, and names the nearest recorded one", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(
          file,
          Effect.flatMap(sampler, (client) => Effect.forEach([1, 2], (seed) => client.sample(ask(seed))))
        )
        const error = yield* Effect.flip(replay(file, Effect.flatMap(sampler, (client) => client.sample(ask(3)))))
        const { differences, nearest } = expectUnrecorded(error)
        assert.strictEqual(nearest, "line 3")
        assert.deepStrictEqual(differences, [{ field: "seed", asked: "3", recorded: "1" }])
        assert.include(error.message, "nearest is line 3; seed is 3, recorded 1")
      }))

    it.effect("data with a single changed number", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, lesson())
        const { differences } = expectUnrecorded(yield* Effect.flip(replay(file, lesson({ weight: 0.5 }))))
        assert.deepStrictEqual(differences, [{ field: "data[1].weights[2]", asked: "0.5", recorded: "1" }])
      }))

    it.effect("another learning rate, and closes the client, because its weights are then unknown", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, lesson())
        const mutated = Effect.gen(function*() {
          const client = yield* trainer
          yield* run(client.forwardBackward([datum(), datum()], Loss.crossEntropy))
          const missed = yield* Effect.flip(run(client.optimStep({ learningRate: 0.5 })))
          return [missed, yield* Effect.flip(client.saveWeightsAndGetSamplingClient)] as const
        })
        const [missed, after] = yield* replay(file, mutated)
        assert.deepStrictEqual(expectUnrecorded(missed).differences, [
          { field: "learningRate", asked: "0.5", recorded: "0.01" }
        ])
        assert.strictEqual(after.reason._tag, "Closed")
        assert.include(after.message, "learningRate")
      }))

    it.effect("a save with other metadata", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const saved = (step: string) =>
          Effect.flatMap(trainer, (client) => run(client.saveState("state", { userMetadata: { step } })))
        const recorded = yield* record(file, saved("1"))
        assert.deepStrictEqual(yield* replay(file, saved("1")), recorded)
        const missed = yield* Effect.flip(replay(file, saved("2")))
        assert.strictEqual(expectUnrecorded(missed).differences.length, 1)
      }))

    it.effect("the same pass at another point of training", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, lesson())
        const again = Effect.gen(function*() {
          const client = yield* trainer
          yield* run(client.forwardBackward([datum(), datum()], Loss.crossEntropy))
          yield* run(client.forwardBackward([datum(), datum()], Loss.crossEntropy))
        })
        const { differences } = expectUnrecorded(yield* Effect.flip(replay(file, again)))
        assert.deepStrictEqual(differences, [{ field: "after", asked: "1", recorded: "0" }])
      }))

    it.effect("a request made more often than it was recorded", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const once = Effect.flatMap(sampler, (client) => client.sample(ask()))
        yield* record(file, once)
        const { differences } = expectUnrecorded(yield* Effect.flip(replay(file, Effect.andThen(once, once))))
        assert.deepStrictEqual(differences, [{ field: "times asked", asked: "2", recorded: "1" }])
      }))

    it.effect("an operation that was never recorded", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, Effect.asVoid(sampler))
        const error = yield* Effect.flip(replay(file, trainer))
        assert.isUndefined(expectUnrecorded(error).nearest)
        assert.include(error.message, "nothing like it")
      }))
  })
})
