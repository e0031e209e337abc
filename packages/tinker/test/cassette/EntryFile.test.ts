import { TinkerError } from "@effect-rl/core"
import { Fault, ScriptedTinker } from "@effect-rl/core/testing"
import { Cassette } from "@effect-rl/tinker"
import * as SentCredentials from "@effect-rl/tinker/wire/SentCredentials"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, PlatformError, Result } from "effect"
import { ask, lesson, lines, record, replay, run, sampler, temporary, trainer, write } from "./Recording.ts"

layer(NodeServices.layer)("a cassette", (it) => {
  describe("a recording's file", () => {
    it.effect("contains no keys, even if the backend leaks one", () =>
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

    it.effect("contains no credentials of other forms, whatever text quotes them", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const detail = "sk-proj-hidden1hidden1 is no key of https://hidden2@tinker.example/api: " +
          "sent Authorization: Bearer hidden3, x-api-key: hidden4"
        const backend = ScriptedTinker.layer({
          faults: [Fault.call("Sample", 0, Fault.fail(new TinkerError.Rejected({ detail })))]
        })
        yield* Effect.flip(record(file, Effect.flatMap(sampler, (client) => client.sample(ask())), backend))
        const text = (yield* lines(file)).join("\n")
        assert.notInclude(text, "hidden")
        assert.include(
          text,
          "[redacted] is no key of https://[redacted]@tinker.example/api: " +
            "sent Authorization: Bearer [redacted], x-api-key: [redacted]"
        )
      }))

    it.effect("contains none of the credentials that this client has sent, in texts or property names", () =>
      Effect.gen(function*() {
        const file = yield* temporary
        const key = "tml-own/form+of=key"
        SentCredentials.note(key)
        const client = sampler.pipe(
          Effect.andThen(trainer),
          Effect.flatMap((client) => run(client.saveState("named", { userMetadata: { [`of ${key}`]: `by ${key}` } })))
        )
        yield* record(file, client)
        const text = (yield* lines(file)).join("\n")
        assert.notInclude(text, "form+of")
        assert.include(text, `"of [redacted]":"by [redacted]"`)
      }))

    it.effect("has the same lines whenever the same requests are recorded", () =>
      Effect.gen(function*() {
        const [one, other] = [yield* temporary, yield* temporary]
        yield* record(one, lesson())
        yield* record(other, lesson())
        assert.deepStrictEqual(yield* lines(other), yield* lines(one))
      }))

    it.effect("contains everything that was answered before a crash", () =>
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

  describe("a cassette that can no longer be written", () => {
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

    it.effect("answers nothing more, but its entries can be replayed", () =>
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

  describe("the error explains", () => {
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

    it.effect("a truncated line, and how to use the lines before it", () =>
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

    it.effect("an answer that does not match its schema", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [all.map((line) =>
          line.replace("\"stopReason\":\"length\"", "\"stopReason\":\"bored\"")
        )])
        assert.include(error.detail, "stopReason")
      }))

    it.effect("a duplicate line", () =>
      Effect.gen(function*() {
        const error = yield* broken((all) => [[...all, ...all.slice(-1)]])
        assert.include(error.detail, "the same call as in line")
      }))

    it.effect("a file of another type", () =>
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

    it.effect("a missing file", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(replay(`${yield* temporary}.none`, Effect.void))
        assert.include(error.message, "record it first")
      }))
  })
})
