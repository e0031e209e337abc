/** Checks that corrupted bytes of a run are detected before they are used. */
import { RunDirectory } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Logger, Schema, Stream } from "effect"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"

const { opened, rolledOut, saved, updated, withStore, write } = Records

const noPayload = { offset: 0, length: 0 }
const groups = ["a", "b", "c"]

/** A run with three groups, an iteration and a checkpoint, and its files. */
const written = Effect.gen(function*() {
  const run = yield* Files.temporaryFolder
  yield* withStore(run, (store) =>
    Effect.gen(function*() {
      yield* store.append(opened())
      for (const key of groups) yield* store.append(rolledOut(0, key), `{"key":"${key}","text":"größer"}`)
      yield* store.append(updated(0, { reward: 0.5 }))
      yield* store.append(saved(1))
    }))
  const fs = yield* FileSystem.FileSystem
  const records = `${run}/records.jsonl`
  const payloads = `${run}/payloads.jsonl`
  return {
    run,
    records,
    payloads,
    bytes: { records: yield* fs.readFile(records), payloads: yield* fs.readFile(payloads) },
    read: yield* Records.read(run)
  }
})

const flipped = (bytes: Uint8Array, bit: number) => {
  const copy = bytes.slice()
  const place = bit >> 3
  copy[place] = (copy[place] ?? 0) ^ (1 << (bit & 7))
  return copy
}

const lineOf = (bytes: Uint8Array, place: number) => bytes.subarray(0, place).filter((byte) => byte === 0x0a).length

/** Each group's payload, or the reason why it cannot be read. */
const payloadsOf = Effect.fnUntraced(function*(run: string) {
  const reader = yield* RunDirectory.open(run)
  const records = (yield* Stream.runCollect(reader.read)).filter(({ payload }) => payload !== undefined)
  return yield* Effect.forEach(
    records,
    ({ payload = noPayload }) =>
      Effect.match(reader.payload(payload), { onSuccess: (text) => text, onFailure: ({ message }) => message })
  )
})

const Bit = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 30 }))

layer(Files.layer)("a run directory's checksums", (it) => {
  it.effect.prop(
    "refuse a record line with any bit changed, and name the line's number",
    [Bit],
    ([random]) =>
      Effect.gen(function*() {
        const { bytes, read, records, run } = yield* written
        const bit = random % (8 * bytes.records.length)
        yield* Files.writeBytes(records, flipped(bytes.records, bit))
        const line = lineOf(bytes.records, bit >> 3)
        if (bit >> 3 === bytes.records.length - 1) {
          assert.deepStrictEqual(
            yield* Records.read(run),
            read.slice(0, -1),
            "its last line is then one that a crash cut"
          )
          return
        }
        const error = yield* Effect.flip(Records.read(run))
        assert.strictEqual(error._tag, "RunError")
        assert.include(error.message, `${records}, line ${line + 1} `)
        assert.include(
          error.message,
          line === 0 ? "restore the file from a copy, or" : `keep its first ${line} lines alone`
        )
        assert.include((yield* Effect.flip(withStore(run, () => Effect.void))).message, `${records}, line ${line + 1} `)
        assert.deepStrictEqual(
          (yield* FileSystem.FileSystem.use((fs) => fs.readFile(records))).length,
          bytes.records.length
        )
      }),
    { arbitrary: { runs: 100 } }
  )

  it.effect("accept a file of its first lines alone, and the records that the resumed run adds", () =>
    Effect.gen(function*() {
      const { bytes, read, records, run } = yield* written
      const lines = new TextDecoder().decode(bytes.records).split("\n")
      yield* Files.writeFile(records, lines.slice(0, 2).map((line) => `${line}\n`).join(""))
      yield* write(run, opened(1), updated(0))
      assert.deepStrictEqual((yield* Records.read(run)).slice(0, 2), read.slice(0, 2))
      assert.strictEqual((yield* Records.read(run)).length, 4)
    }))

  it.effect.each(
    [
      ["swapped", ([a = "", b = "", ...others]: ReadonlyArray<string>) => [b, a, ...others], 1],
      ["repeated", ([a = "", b = "", ...others]: ReadonlyArray<string>) => [a, b, b, ...others], 3],
      ["left out", ([a = "", , ...others]: ReadonlyArray<string>) => [a, ...others], 2],
      [
        "replaced by another with its number",
        (lines: ReadonlyArray<string>, other: ReadonlyArray<string>) => [...lines.slice(0, 3), ...other.slice(3)],
        4
      ]
    ] as const
  )("refuse a line that was %s", ([, change, line]) =>
    Effect.gen(function*() {
      const { bytes, records, run } = yield* written
      const other = yield* Files.temporaryFolder
      yield* write(other, opened(), ...groups.map((key) => rolledOut(1, key)), updated(0), saved(1))
      const lines = new TextDecoder().decode(bytes.records).split("\n").slice(0, -1)
      const others = (yield* Files.readFile(`${other}/records.jsonl`)).split("\n").slice(0, -1)
      yield* Files.writeFile(records, change(lines, others).map((text) => `${text}\n`).join(""))
      const { message } = yield* Effect.flip(Records.read(run))
      assert.include(message, `${records}, line ${line} was changed, moved or repeated after it was written`)
    }))

  it.effect.prop(
    "refuse only the payload with a changed bit",
    [Bit],
    ([random]) =>
      Effect.gen(function*() {
        const { bytes, payloads, run } = yield* written
        const whole = yield* payloadsOf(run)
        const bit = random % (8 * bytes.payloads.length)
        yield* Files.writeBytes(payloads, flipped(bytes.payloads, bit))
        const changed = lineOf(bytes.payloads, bit >> 3)
        for (const [index, text] of (yield* payloadsOf(run)).entries()) {
          if (index === changed) assert.include(text, "after it was written")
          else assert.strictEqual(text, whole[index])
        }
      }),
    { arbitrary: { runs: 50 } }
  )

  it.effect("refuse swapped payloads of equal length", () =>
    Effect.gen(function*() {
      const { bytes, payloads, run } = yield* written
      const [a, b, c] = new TextDecoder().decode(bytes.payloads).split("\n")
      yield* Files.writeFile(payloads, `${b}\n${a}\n${c}\n`)
      const [first, second, third] = yield* payloadsOf(run)
      assert.include(first, "was changed at bytes 0 to ")
      assert.include(second, "in the record; restore it from a copy")
      assert.strictEqual(third, c)
    }))

  it.effect("refuse a first line without a checksum if the directory's format has checksums", () =>
    Effect.gen(function*() {
      const { records, run } = yield* written
      const text = yield* Files.readFile(records)
      yield* Files.writeFile(records, text.replace(`,"sum":"`, `,"sun":"`))
      assert.include((yield* Effect.flip(Records.read(run))).message, "line 1 has no checksum")
      yield* FileSystem.FileSystem.use((fs) => fs.remove(`${run}/config.json`))
      assert.include(
        (yield* Effect.flip(Records.read(run))).message,
        "line 2 has a checksum, but the lines before it have none"
      )
    }))

  it.effect("are checked even if config.json is empty or names an older format", () =>
    Effect.gen(function*() {
      const { read, records, run } = yield* written
      const config = `${run}/config.json`
      const content = yield* Files.readFile(config)
      const text = yield* Files.readFile(records)
      for (const changed of ["", content.replace(`"format": 4`, `"format": 2`)]) {
        yield* Files.writeFile(config, changed)
        assert.deepStrictEqual(yield* Records.read(run), read)
        yield* Files.writeFile(records, text.replace(`"reward":0.5`, `"reward":0.7`))
        assert.include((yield* Effect.flip(Records.read(run))).message, "line 5 was changed")
        yield* Files.writeFile(records, text)
        yield* withStore(run, () => Effect.void)
        assert.strictEqual(yield* Files.readFile(config), content)
      }
    }))

  it.effect("do not reveal missing last records, but several payloads without records do", () =>
    Effect.gen(function*() {
      const { bytes, records, run } = yield* written
      const lines = new TextDecoder().decode(bytes.records).split("\n")
      for (const [left, isTold] of [[2, true], [3, false], [4, false]] as const) {
        const said: Array<unknown> = []
        const logger = Logger.make(({ message }) => said.push(message))
        yield* Files.writeFile(records, lines.slice(0, left).map((line) => `${line}\n`).join(""))
        yield* Effect.provide(withStore(run, () => Effect.void), Logger.layer([logger]))
        const expected = `${records} may have lost its last lines: ${run}/payloads.jsonl has several payloads`
        assert.strictEqual(said.some((message) => String(message).includes(expected)), isTold, `${left} lines`)
      }
    }))

  it.effect("are missing in a run of format 2, which can be read but not resumed", () =>
    Effect.gen(function*() {
      const { payloads, read, records, run } = yield* written
      const text = yield* Files.readFile(records)
      const old = text.replaceAll(/,"sum":"[0-9a-f]{8}"/g, "")
      yield* Files.writeFile(records, `${old}{"torn`)
      for (const config of [`{"format":2}`, ""]) {
        yield* Files.writeFile(`${run}/config.json`, config)
        assert.deepStrictEqual(
          (yield* Records.read(run)).map(({ _tag, sequence }) => [_tag, sequence]),
          read.map(({ _tag, sequence }) => [_tag, sequence])
        )
        assert.include((yield* payloadsOf(run))[1], `"key":"b"`)
        const { message } = yield* Effect.flip(withStore(run, () => Effect.void))
        assert.include(message, `${run}: it has format 2, without checksums`)
        assert.include(message, "can be viewed, compared and exported, but not resumed. Choose another run directory")
        assert.strictEqual(yield* Files.readFile(records), `${old}{"torn`)
        assert.strictEqual(yield* Files.readFile(`${run}/config.json`), config)
      }
      assert.include(yield* Files.readFile(payloads), `"key":"c"`)
    }))
})
