import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import * as Files from "../support/Files.ts"

/** A new opening of the run, closed when `use` ends. */
const withStore = <A, E, R>(run: string, use: (store: RunStore.RunStore["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.provide(RunStore.RunStore.use(use), RunDirectory.layer(run), { local: true })

const Record = Schema.Struct({ step: Schema.Int.check(Schema.isGreaterThan(0)), note: Schema.String })

layer(Files.layer)("RunDirectory", (it) => {
  it.effect("keeps configuration and records from opening to opening", () =>
    Effect.gen(function*() {
      const run = `${yield* Files.temporaryFolder}/runs/first`
      yield* withStore(run, (store) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* store.config, Option.none())
          yield* store.writeConfig({ model: "tiny", seed: 7 })
          yield* store.append("metrics", { step: 0 })
          yield* store.append("checkpoints", { name: "000001", statePath: "tinker://a" })
        }))
      yield* withStore(run, (store) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* store.config, Option.some({ model: "tiny", seed: 7 }))
          yield* store.append("metrics", { step: 1 })
          yield* store.append("events", { _tag: "Resumed" })
          assert.deepStrictEqual(yield* store.read("metrics"), [{ step: 0, segment: 1 }, { step: 1, segment: 2 }])
        }))
      assert.deepStrictEqual(yield* RunDirectory.read(run), {
        format: 1,
        segment: 2,
        config: { model: "tiny", seed: 7 },
        metrics: [{ step: 0, segment: 1 }, { step: 1, segment: 2 }],
        checkpoints: [{ name: "000001", statePath: "tinker://a" }],
        events: [{ _tag: "Resumed", segment: 2 }]
      })
      assert.deepStrictEqual(JSON.parse(yield* Files.readFile(`${run}/config.json`)), {
        format: 1,
        segment: 2,
        config: { model: "tiny", seed: 7 }
      })
    }))

  it.effect.prop(
    "gives back any record, whatever its text holds",
    [Schema.Array(Record)],
    ([records]) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const appendAll = (store: RunStore.RunStore["Service"]) =>
          Effect.forEach(records, (record) => store.append("checkpoints", record), { concurrency: "unbounded" })
        yield* withStore(run, appendAll)
        assert.deepStrictEqual<ReadonlyArray<unknown>>((yield* RunDirectory.read(run)).checkpoints, records)
      }),
    { arbitrary: { seed: 1, runs: 20 } }
  )

  it.effect("writes a number that JSON has no word for as text", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* withStore(run, (store) => store.append("checkpoints", { loss: NaN, best: [-Infinity] }))
      assert.strictEqual(yield* Files.readFile(`${run}/checkpoints.jsonl`), `{"loss":"NaN","best":["-Infinity"]}\n`)
    }))

  it.effect("reads past a last line that a crash has cut, and cuts it before it writes again", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const longTail = `{"step":1,"text":"${"ä".repeat(100_000)}`
      yield* Files.writeFile(`${run}/config.json`, `{"format":1,"segment":1}`)
      yield* Files.writeFile(`${run}/metrics.jsonl`, `{"step":0}\n${longTail}`)
      assert.deepStrictEqual((yield* RunDirectory.read(run)).metrics, [{ step: 0 }])
      assert.include(yield* Files.readFile(`${run}/metrics.jsonl`), longTail)
      yield* withStore(run, (store) => store.append("metrics", { step: 1 }))
      assert.strictEqual(yield* Files.readFile(`${run}/metrics.jsonl`), `{"step":0}\n{"step":1,"segment":2}\n`)
    }))

  it.effect("drops a first line that a crash has cut", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/events.jsonl`, `{"st`)
      assert.deepStrictEqual(yield* withStore(run, (store) => store.read("events")), [])
    }))

  it.effect("refuses a broken line that no crash explains, by file and line", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/metrics.jsonl`, `{"step":0}\n{"step":\n{"step":2}\n`)
      const error = yield* Effect.flip(withStore(run, (store) => store.read("metrics")))
      assert.strictEqual(error._tag, "RunError")
      assert.include(error.message, `${run}/metrics.jsonl, line 2 is not a JSON object: {"step":`)
    }))

  it.effect("refuses a format that is newer than it knows", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* Files.writeFile(`${run}/config.json`, `{"format":2,"anything":"new"}`)
      const error = yield* Effect.flip(withStore(run, () => Effect.void))
      assert.include(error.message, "config.json has format 2, this version reads up to 1: update effect-rl")
      assert.strictEqual(yield* Files.readFile(`${run}/config.json`), `{"format":2,"anything":"new"}`)
    }))

  it.effect("refuses a configuration that describes no run", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      for (const content of ["", "[]", "{}", `{"format":0,"segment":1}`, `{"format":1,"segment":"1"}`]) {
        yield* Files.writeFile(`${run}/config.json`, content)
        const error = yield* Effect.flip(withStore(run, () => Effect.void))
        assert.include(error.message, `${run}/config.json does not describe a run`)
      }
    }))

  it.effect("says so when a file is in its place", () =>
    Effect.gen(function*() {
      const file = `${yield* Files.temporaryFolder}/run`
      yield* Files.writeFile(file, "")
      const error = yield* Effect.flip(withStore(file, () => Effect.void))
      assert.include(error.message, `${file} is in the way: remove it or choose another place`)
    }))

  it.effect("says so when there is no run to read", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(RunDirectory.read("/nowhere/run"))
      assert.include(error.message, "this is not a run directory")
    }))
})
