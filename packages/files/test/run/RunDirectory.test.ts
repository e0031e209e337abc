import { RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, PlatformError, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"

const { evaluated, opened, rolledOut, saved, updated, withStore, write } = Records

const jsonLines = (text: string): ReadonlyArray<unknown> =>
  text.split("\n").slice(0, -1).map((line): unknown => JSON.parse(line))

/** Converts through JSON, which does not preserve negative zero. */
const throughJson = (record: RunRecord.RunRecord) =>
  Schema.decodeUnknownSync(RunRecord.codec)(JSON.parse(JSON.stringify(RunRecord.toJson(record))))

const fails = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  ...parts: ReadonlyArray<string>
) =>
  Effect.map(Effect.flip(effect), (error) => {
    for (const part of parts) assert.include(error.message, part)
  })

layer(Files.layer)("a run directory", (it) => {
  it.effect("stamps its records with time, segment and sequence number across openings", () =>
    Effect.gen(function*() {
      const run = `${yield* Files.temporaryFolder}/runs/first`
      yield* TestClock.setTime(1000)
      yield* write(run, opened(), updated(0))
      yield* TestClock.adjust(500)
      yield* write(run, opened(1), updated(1))
      const stamps = (yield* Records.read(run)).map(({ _tag, at, segment, sequence }) => [_tag, at, segment, sequence])
      assert.deepStrictEqual(stamps, [
        ["Opened", 1000, 1, 0],
        ["Updated", 1000, 1, 1],
        ["Opened", 1500, 2, 2],
        ["Updated", 1500, 2, 3]
      ])
    }))

  it.effect.prop(
    "reads back every record unchanged, with any texts and numbers",
    [Schema.Array(Schema.Struct({ text: Schema.String, number: Schema.Number }))],
    ([values]) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const entries = values.map(({ number, text }) => updated(0, { [text]: number, odd: -Infinity }))
        const appended = yield* write(run, opened(), ...entries)
        assert.deepStrictEqual(yield* Records.read(run), appended.map(throughJson))
      }),
    { arbitrary: { runs: 20 } }
  )

  it.effect("stores each payload on its own line, read by byte range", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const payloads = ["ä".repeat(300_000), "", "b"].map((text) => JSON.stringify(text))
      const records = yield* withStore(run, (store) =>
        Effect.andThen(
          store.append(opened()),
          Effect.forEach(payloads, (payload) => store.append(rolledOut(0, "g"), payload), { concurrency: "unbounded" })
        ))
      const reader = yield* RunDirectory.open(run)
      const read = yield* Effect.forEach(records, ({ payload }) => reader.payload(payload ?? { offset: 0, length: 0 }))
      assert.deepStrictEqual(read, payloads)
      assert.deepStrictEqual(
        jsonLines(yield* Files.readFile(`${run}/payloads.jsonl`)),
        payloads.map((text) => JSON.parse(text))
      )
    }))

  it.effect("refuses a payload with two lines and a range without a payload", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* withStore(run, (store) =>
        Effect.gen(function*() {
          yield* store.append(opened())
          yield* fails(store.append(rolledOut(0, "g"), "[1,\n2]"), "line break")
          yield* store.append(rolledOut(0, "g"), "[1,2]")
          for (const range of [{ offset: 0, length: 4 }, { offset: 1, length: 5 }, { offset: 0, length: 2 ** 50 }]) {
            yield* fails(store.payload(range), `${run}/payloads.jsonl has no payload at bytes ${range.offset} to`)
          }
          assert.strictEqual(yield* store.payload({ offset: 0, length: 5 }), "[1,2]")
        }))
    }))

  it.effect("writes config.json, metrics.jsonl and checkpoints.jsonl for the cookbook's tools", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const final = { name: "final", kind: "rolling", samplerPath: null, expiresAt: 9000 } as const
      yield* write(
        run,
        opened(),
        updated(0, { step: 99, reward: 0.5, loss: NaN }),
        evaluated(1),
        saved(1),
        saved(2, final)
      )
      assert.deepStrictEqual(JSON.parse(yield* Files.readFile(`${run}/config.json`)), {
        format: 4,
        segment: 1,
        program: "rl",
        version: "0.1.0",
        model_name: "tiny",
        seed: 7,
        identity: { model: "tiny", seed: 7 },
        settings: { maxSteps: 4 }
      })
      assert.strictEqual(
        yield* Files.readFile(`${run}/metrics.jsonl`),
        `{"step":0,"reward":0.5,"loss":"NaN","segment":1}\n{"step":1,"held_out/correct":0.25,"segment":1}\n`
      )
      const tokens = { prefilled: 10, sampled: 20, trained: 30 }
      assert.deepStrictEqual(jsonLines(yield* Files.readFile(`${run}/checkpoints.jsonl`)), [
        {
          name: "000001",
          batch: 1,
          state_path: "tinker://run/weights/1",
          sampler_path: "tinker://run/sampler_weights/1",
          optimizer_steps: 1,
          tokens
        },
        {
          name: "final",
          batch: 2,
          state_path: "tinker://run/weights/2",
          rolling: true,
          expires_at: 9000,
          optimizer_steps: 2,
          tokens
        }
      ])
    }))

  it.effect("omits abandoned iterations from the files for other tools, but keeps them in the records", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0), saved(1), updated(1), saved(2))
      yield* write(run, opened(2, { settings: { maxSteps: 8 } }), updated(1, { reward: 1 }))
      assert.strictEqual((yield* Records.read(run)).length, 7)
      assert.strictEqual(
        yield* Files.readFile(`${run}/metrics.jsonl`),
        `{"step":0,"reward":0,"loss":"NaN","segment":1}\n{"step":1,"reward":1,"segment":2}\n`
      )
      assert.strictEqual(jsonLines(yield* Files.readFile(`${run}/checkpoints.jsonl`)).length, 1)
      assert.include(yield* Files.readFile(`${run}/config.json`), `"maxSteps": 8`)
    }))

  it.effect.each(["config.json", "metrics.jsonl", "checkpoints.jsonl"])(
    "rebuilds %s if it is missing, incomplete or changed",
    (name) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const fs = yield* FileSystem.FileSystem
        yield* write(run, opened(), updated(0), saved(1), updated(1))
        const whole = yield* Files.readFile(`${run}/${name}`)
        const reopenedContent = Effect.andThen(withStore(run, () => Effect.void), Files.readFile(`${run}/${name}`))
        yield* fs.remove(`${run}/${name}`)
        assert.strictEqual(yield* reopenedContent, whole)
        for (const content of [whole.slice(0, -5), `${whole}{"st`, "", `${whole}{}\n`]) {
          yield* Files.writeFile(`${run}/${name}`, content)
          assert.strictEqual(yield* reopenedContent, whole)
        }
      })
  )

  it.effect("holds no run if a run ends before its first record, and can be used again", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const fs = yield* FileSystem.FileSystem
      yield* withStore(run, () => Effect.void)
      yield* fails(RunDirectory.open(run), "this is not a run directory")
      assert.notInclude(yield* fs.readDirectory(run), "config.json")
      yield* write(run, opened())
      assert.strictEqual((yield* Records.read(run)).length, 1)
    }))

  it.effect("ignores an incomplete last line, and removes it when it is opened for writing", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* withStore(
        run,
        (store) => Effect.andThen(store.append(opened()), store.append(rolledOut(0, "g"), `"first"`))
      )
      const whole = yield* Files.readFile(`${run}/records.jsonl`)
      const longTail = `{"_tag":"Warning","message":"${"ä".repeat(300_000)}`
      yield* Files.writeFile(`${run}/records.jsonl`, whole + longTail)
      yield* Files.writeFile(`${run}/payloads.jsonl`, `"first"\n"a payload without its record"\n"torn`)
      assert.strictEqual((yield* Records.read(run)).length, 2)
      assert.include(yield* Files.readFile(`${run}/records.jsonl`), longTail)
      const record = yield* withStore(run, (store) => store.append(rolledOut(0, "h"), `"second"`))
      const reader = yield* RunDirectory.open(run)
      assert.deepStrictEqual((yield* Stream.runCollect(reader.read)).length, 3)
      assert.strictEqual(yield* reader.payload(record.payload ?? { offset: 0, length: 0 }), `"second"`)
      assert.strictEqual(
        yield* Files.readFile(`${run}/payloads.jsonl`),
        `"first"\n"a payload without its record"\n"second"\n`
      )
    }))

  it.effect("continues after payloads were lost, and fails only to read the lost payloads", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const entries = ["a", "b", "c"].map((text) => `"${text}"`)
      const records = yield* withStore(
        run,
        (store) => Effect.forEach(entries, (payload) => store.append(rolledOut(0, "g"), payload))
      )
      yield* Files.writeFile(`${run}/payloads.jsonl`, `"a"\n"b`)
      const last = yield* withStore(run, (store) => store.append(rolledOut(0, "g"), `"d"`))
      const reader = yield* RunDirectory.open(run)
      const texts = yield* Effect.forEach(
        [...records, last],
        ({ payload = { offset: 0, length: 0 } }) => Effect.orElseSucceed(reader.payload(payload), () => "lost")
      )
      assert.deepStrictEqual(texts, [`"a"`, "lost", "lost", `"d"`])
    }))

  it.effect.each(
    [
      ["is not JSON", (line: string) => line.slice(0, -1)],
      ["is empty", () => ""],
      ["has an unknown tag", (line: string) => line.replace("Saved", "Stored")],
      ["lacks a field", (line: string) => line.replace("statePath", "path")],
      ["has a negative iteration", (line: string) => line.replace(`"iteration":1`, `"iteration":-5`)],
      ["has another sequence number", (line: string) => line.replace(`"sequence":1`, `"sequence":2`)]
    ] as const
  )("refuses a line that %s, naming file and line", ([, change]) =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), saved(1), updated(1))
      const [first = "", second = "", ...others] = (yield* Files.readFile(`${run}/records.jsonl`)).split("\n")
      assert.notStrictEqual(change(second), second)
      yield* Files.writeFile(`${run}/records.jsonl`, [first, change(second), ...others].join("\n"))
      yield* fails(Records.read(run), `${run}/records.jsonl, line 2 `, "restore the file from a copy")
      yield* fails(withStore(run, () => Effect.void), `${run}/records.jsonl, line 2 `)
    }))

  it.effect("refuses a checkpoint record with a negative iteration, and rebuilds a changed checkpoints.jsonl", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0), saved(1))
      const projection = `${run}/checkpoints.jsonl`
      const whole = yield* fs.readFileString(projection)
      yield* fs.writeFileString(projection, whole.replace(`"batch":1`, `"batch":-5`))
      yield* write(run, opened(2))
      assert.strictEqual(yield* fs.readFileString(projection), whole)

      const records = yield* fs.readFileString(`${run}/records.jsonl`)
      yield* fs.writeFileString(
        `${run}/records.jsonl`,
        records.replace(`"_tag":"Saved","iteration":1`, `"_tag":"Saved","iteration":-5`)
      )
      yield* fails(Records.read(run), "records.jsonl, line 3", "iteration")
    }))

  it.effect("refuses a directory whose records are lost", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* write(run, opened(), updated(0), saved(1))
      yield* Files.writeFile(`${run}/records.jsonl`, "")
      const expected = `${run}/records.jsonl is missing or empty, but ${run}/config.json is there`
      yield* fails(withStore(run, () => Effect.void), expected)
      yield* fails(RunDirectory.open(run), expected)
      yield* FileSystem.FileSystem.use((fs) => fs.remove(`${run}/config.json`))
      yield* fails(withStore(run, () => Effect.void), `but ${run}/metrics.jsonl is there`)
    }))

  it.effect("refuses an older or newer format without changing anything", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const expected = [[`{"format":1,"segment":1}`, "earlier effect-rl"], [
        `{"format":5}`,
        "update effect-rl"
      ]] as const
      for (const [config, advice] of expected) {
        yield* Files.writeFile(`${run}/config.json`, config)
        yield* Files.writeFile(`${run}/events.jsonl`, "")
        yield* fails(withStore(run, () => Effect.void), "this version reads format 4", advice)
        yield* fails(RunDirectory.open(run), advice)
        assert.strictEqual(yield* Files.readFile(`${run}/config.json`), config)
        const names = yield* FileSystem.FileSystem.use((fs) => fs.readDirectory(run))
        assert.deepStrictEqual(names.toSorted(), ["config.json", "events.jsonl"])
      }
    }))

  it.effect("can be read, but not resumed, if it has format 3", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      yield* withStore(run, ({ append }) => append(opened()))
      const config = yield* Files.readFile(`${run}/config.json`)
      yield* Files.writeFile(`${run}/config.json`, config.replace(`"format": 4`, `"format": 3`))
      const records = yield* Files.readFile(`${run}/records.jsonl`)
      yield* fails(
        withStore(run, () => Effect.void),
        "it has format 3: it was written by an earlier effect-rl",
        "but not resumed. Choose another run directory"
      )
      const { read } = yield* RunDirectory.open(run)
      assert.deepStrictEqual((yield* Stream.runCollect(read)).map(({ _tag }) => _tag), ["Opened"])
      assert.strictEqual(yield* Files.readFile(`${run}/records.jsonl`), records)
    }))

  it.effect("is refused with a clear error if it cannot be created", () =>
    Effect.gen(function*() {
      const folder = yield* Files.temporaryFolder
      yield* Files.writeFile(`${folder}/run`, "")
      const opening = (run: string) => withStore(run, () => Effect.void)
      yield* fails(opening(`${folder}/run`), `${folder}/run: it is in the way: remove it or choose another place`)
      yield* fails(opening(`${folder}/${"x".repeat(300)}`), "is too long: choose a shorter one")
      const fs = yield* FileSystem.FileSystem
      const missing = PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "makeDirectory" })
      const readOnly = FileSystem.make({ ...fs, makeDirectory: () => Effect.fail(missing) })
      yield* fails(
        Effect.provideService(opening(`${folder}/new`), FileSystem.FileSystem, readOnly),
        `${folder}/new: it cannot be created, as on a read-only file system: choose another place`
      )
      yield* fails(RunDirectory.open("/nowhere/run"), "this is not a run directory")
    }))
})
