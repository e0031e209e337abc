import { Datum, Loss, ModelInput, Tinker, TinkerError } from "@effect-rl/core"
import { Fault, Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Cassette } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, PlatformError, Result, type Scope } from "effect"

const baseModel = Script.defaultModel

const temporary = Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "effect-rl-cassette-" })),
  (folder) => `${folder}/recordings/one.jsonl`
)

const record = <A, E>(
  file: string,
  program: Effect.Effect<A, E, Tinker.Tinker | Scope.Scope>,
  backend: Layer.Layer<Tinker.Tinker> = ScriptedTinker.layer()
) => Effect.scoped(program).pipe(Effect.provide(Cassette.layerRecord(file)), Effect.provide(backend))

const replay = <A, E>(file: string, program: Effect.Effect<A, E, Tinker.Tinker | Scope.Scope>) =>
  Effect.scoped(program).pipe(Effect.provide(Cassette.layer(file)))

const sampler = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel }))

const trainer = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createLoraTrainingClient({ baseModel, seed: 1, loraRank: 8 })
)

const prompt = ModelInput.fromTokens([3, 1, 4, 1, 5])

const ask = (seed?: number) => ({ prompt, params: { maxTokens: 3, ...(seed === undefined ? {} : { seed }) } })

const datum = (weight = 1) =>
  Datum.weightedTokens(prompt, {
    targetTokens: Int32Array.of(1, 4, 1, 5, 9),
    weights: Float32Array.of(0, 0, weight, weight, weight)
  })

const run = <A, E1, E2, R>(submit: Effect.Effect<{ readonly await: Effect.Effect<A, E1> }, E2, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

/** One step of training, its samples before and after, and a checkpoint. */
const lesson = ({ learningRate = 1e-2, seed = 7, weight = 1 } = {}) =>
  Effect.gen(function*() {
    const client = yield* trainer
    const untrained = yield* client.saveWeightsAndGetSamplingClient
    const before = yield* untrained.sample(ask(seed))
    const pass = yield* client.forwardBackward([datum(), datum(weight)], Loss.crossEntropy)
    const step = yield* client.optimStep({ learningRate })
    const { metrics } = yield* pass.await
    const trained = yield* client.saveWeightsAndGetSamplingClient
    const after = yield* trained.sample(ask(seed))
    const { path } = yield* run(client.saveState("lesson"))
    return { before, metrics, step: yield* step.await, after, path }
  })

const lines = (file: string) =>
  FileSystem.FileSystem.use((fs) => Effect.map(fs.readFileString(file), (text) => text.trimEnd().split("\n")))

const write = (file: string, lines: ReadonlyArray<string>, end = "\n") =>
  FileSystem.FileSystem.use((fs) => fs.writeFileString(file, lines.join("\n") + end))

const expectUnrecorded = (error: unknown) => {
  assert.instanceOf(error, TinkerError.TinkerError)
  assert.instanceOf(error.reason, TinkerError.Unrecorded)
  return error.reason
}

layer(NodeServices.layer)("a cassette", (it) => {
  describe("replays", () => {
    it.effect("a run as it was, without the backend", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const recorded = yield* record(file, lesson())
        assert.deepStrictEqual(yield* replay(file, lesson()), recorded)
      }))

    it.effect("the same request with the answers it had, one after another", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const thrice = Effect.flatMap(sampler, (client) => Effect.replicateEffect(client.sample(ask()), 3))
        const recorded = yield* record(file, thrice)
        const texts = recorded.map(({ sequences: [sequence] }) => sequence?.tokens.join(" "))
        assert.isAbove(new Set(texts).size, 1)
        assert.deepStrictEqual(yield* replay(file, thrice), recorded)
      }))

    it.effect("requests made together, whichever was answered first", () =>
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

    it.effect("training clients made alike, each with its own answers", () =>
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

    it.effect("failures as they were", () =>
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

    it.effect("a request that was made again after an interruption", () =>
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

  describe("misses", () => {
    it.effect("a sample of another seed, and names the nearest one", () =>
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

    it.effect("a number changed somewhere in the data", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, lesson())
        const { differences } = expectUnrecorded(yield* Effect.flip(replay(file, lesson({ weight: 0.5 }))))
        assert.deepStrictEqual(differences, [{ field: "data[1].weights[2]", asked: "0.5", recorded: "1" }])
      }))

    it.effect("another learning rate, and closes the client, whose weights are then unknown", () =>
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

    it.effect("the same pass at another time", () =>
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

    it.effect("a request of a kind that was never recorded", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        yield* record(file, Effect.asVoid(sampler))
        const error = yield* Effect.flip(replay(file, trainer))
        assert.isUndefined(expectUnrecorded(error).nearest)
        assert.include(error.message, "nothing like it")
      }))
  })

  describe("in its file", () => {
    it.effect("has no keys, even where the backend lets one slip", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const detail = "HTTP 401: tml-abc123 is no key of https://me:hunter2@tinker.example/api"
        const backend = ScriptedTinker.layer({
          faults: [Fault.call("Sample", 0, Fault.fail(new TinkerError.Rejected({ detail })))]
        })
        yield* Effect.flip(record(file, Effect.flatMap(sampler, (client) => client.sample(ask())), backend))
        const text = (yield* lines(file)).join("\n")
        assert.notMatch(text, /abc123|hunter2/)
        assert.include(text, "HTTP 401: [redacted] is no key of https://[redacted]@tinker.example/api")
      }))

    it.effect("has the same lines whenever the same requests are recorded", () =>
      Effect.gen(function*() {
        const [one, other] = [yield* temporary, yield* temporary]
        yield* record(one, lesson())
        yield* record(other, lesson())
        assert.deepStrictEqual(yield* lines(other), yield* lines(one))
      }))

    it.effect("has everything that was answered before a crash", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const killed = Effect.gen(function*() {
          const client = yield* sampler
          const seen = yield* Effect.forEach([1, 2], (seed) => client.sample(ask(seed)))
          return { seen, left: yield* lines(file) }
        })
        const { left, seen } = yield* record(file, Effect.provide(killed, NodeServices.layer))
        yield* write(file, left)
        const again = Effect.flatMap(sampler, (client) => Effect.forEach([1, 2], (seed) => client.sample(ask(seed))))
        assert.deepStrictEqual(yield* replay(file, again), seen)
      }))
  })

  describe("a cassette that cannot be written any more", () => {
    const full = (writes: number) =>
      Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (fs) => {
          let left = writes
          const failure = PlatformError.systemError({ _tag: "WriteZero", module: "FileSystem", method: "writeAll" })
          return {
            ...fs,
            open: (path: string, options?: Parameters<typeof fs.open>[1]) =>
              Effect.map(fs.open(path, options), (handle) => ({
                ...handle,
                writeAll: (bytes: Uint8Array) => left-- > 0 ? handle.writeAll(bytes) : Effect.fail(failure)
              }))
          }
        })
      )

    it.effect("answers nothing more, and replays what it has", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const seeds = [1, 2, 3, 4]
        const samples = Effect.flatMap(sampler, (client) =>
          Effect.forEach(seeds, (seed) => Effect.result(client.sample(ask(seed))), { concurrency: 4 }))
        const recorded = yield* record(file, samples).pipe(Effect.provide(full(4)))
        const [first, second, ...others] = recorded
        for (const result of others) {
          assert.isTrue(Result.isFailure(result) && result.failure.reason._tag === "Closed")
          assert.include(String(Result.isFailure(result) && result.failure.message), "cannot be written")
        }
        const again = Effect.flatMap(sampler, (client) =>
          Effect.forEach([1, 2], (seed) =>
            Effect.result(client.sample(ask(seed)))))
        assert.deepStrictEqual(yield* replay(file, again), [first, second])
      }))
  })

  describe("says what is wrong with", () => {
    const broken = Effect.fnUntraced(function*(
      damage: (lines: ReadonlyArray<string>) => readonly [lines: ReadonlyArray<string>, end?: string]
    ) {
      const file = yield* temporary
      yield* record(file, lesson())
      const [damaged, end] = damage(yield* lines(file))
      yield* write(file, damaged, end)
      const error = yield* Effect.flip(replay(file, Effect.void))
      assert.instanceOf(error, Cassette.CassetteError)
      assert.include(error.message, file)
      return error
    })

    it.effect("a line that was cut, and how to use those before", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [[...all.slice(0, 4), (all[4] ?? "").slice(0, 30)], ""])
        assert.strictEqual(error.line, 5)
        assert.include(error.detail, "delete the line")
      }))

    it.effect("a line that is not JSON", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.with(2, "{\"key\": oops")])
        assert.strictEqual(error.line, 3)
      }))

    it.effect("a call that was edited", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.map((line) =>
          line.replace("\"learningRate\":0.01", "\"learningRate\":0.02")
        )])
        assert.include(error.detail, "the call has been changed")
        assert.isDefined(error.line)
      }))

    it.effect("an answer that does not fit its schema", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.map((line) =>
          line.replace("\"stopReason\":\"length\"", "\"stopReason\":\"bored\"")
        )])
        assert.include(error.detail, "stopReason")
      }))

    it.effect("a line that is there twice", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [[...all, ...all.slice(-1)]])
        assert.include(error.detail, "the same call as in line")
      }))

    it.effect("a file of another kind", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.slice(1)])
        assert.strictEqual(error.line, 1)
        assert.include(error.detail, "does not begin a cassette")
      }))

    it.effect("a file of another version", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.with(0, "{\"format\":\"effect-rl cassette\",\"version\":9}")])
        assert.strictEqual(error.line, 1)
        assert.include(error.detail, "version is 9, expected 1")
      }))

    it.effect("a file that is not there", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(replay(`${yield* temporary}.none`, Effect.void))
        assert.include(error.message, "record it first")
      }))
  })
})
