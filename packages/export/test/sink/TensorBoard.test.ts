import { RunStore } from "@effect-rl/core"
import { Sink, TensorBoard } from "@effect-rl/export"
import * as RecordFrame from "@effect-rl/export/sink/tensorboard/RecordFrame"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as Files from "../Files.ts"
import * as Recorded from "../Recorded.ts"

/** The contents of a file's frames. Asserts that both checksums of each frame are valid. */
const contents = (bytes: Uint8Array) => {
  const found: Array<Uint8Array> = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let offset = 0; offset < bytes.length;) {
    const length = Number(view.getBigUint64(offset, true))
    const content = bytes.slice(offset + 12, offset + 12 + length)
    const framed = bytes.slice(offset, offset + length + 16)
    assert.deepStrictEqual(RecordFrame.frame(content), framed)
    found.push(content)
    offset += framed.length
  }
  return found
}

const text = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes)

/** An event's scalar by name: a name (field 1) followed by a 32-bit float (field 2). */
const scalar = (event: Uint8Array, name: string) => {
  const at = text(event).indexOf(name) + name.length
  assert.strictEqual(event[at], (2 << 3) | 5)
  return new DataView(event.buffer, event.byteOffset).getFloat32(at + 1, true)
}

describe("TensorBoard", () => {
  it("matches CRC-32C's test vector", () => {
    assert.strictEqual(RecordFrame.crc32c(new TextEncoder().encode("123456789")), 0xe3069283)
  })

  it.effect("writes one event for the file, for the opening, and for each evaluation and iteration", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* Files.place("events")
      yield* Recorded.record
      yield* Sink.write(TensorBoard.make({ folder, run: "sums" }), yield* RunStore.RunStore)
      const [name = "", ...others] = yield* fs.readDirectory(path.join(folder, "sums"))
      assert.match(name, /^events\.out\.tfevents\.\d{10}\./)
      assert.deepStrictEqual(others, [])
      const events = contents(yield* fs.readFile(path.join(folder, "sums", name)))
      const [
        version = new Uint8Array(),
        start = new Uint8Array(),
        settings = new Uint8Array(),
        evaluation = new Uint8Array(),
        first = new Uint8Array(),
        ...later
      ] = events
      assert.include(text(version), "brain.Event:2")
      // The session log (field 7) has the status START (1).
      assert.deepStrictEqual(Array.from(start.slice(-4)), [(7 << 3) | 2, 2, 1 << 3, 1])
      assert.strictEqual(scalar(evaluation, "held_out/score"), 0.75)
      assert.strictEqual(scalar(first, "reward/mean"), 0.25)
      assert.isNaN(scalar(first, "optim/lr"))
      assert.include(text(settings), "_hparams_/session_start_info")
      assert.include(text(settings), "importance_sampling")
      assert.strictEqual(later.length, 2)
      assert.include(text(later.at(-1) ?? new Uint8Array()), "_hparams_/session_end_info")
    }).pipe(Effect.provide([Files.layer, RunStore.RunStore.layerMemory])))

  it.effect("keeps two runs in one folder apart", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Files.place("events")
      yield* Recorded.record
      for (const run of ["first", "second"]) {
        yield* Sink.write(TensorBoard.make({ folder, run }), yield* RunStore.RunStore)
      }
      assert.deepStrictEqual((yield* fs.readDirectory(folder)).toSorted(), ["first", "second"])
    }).pipe(Effect.provide([Files.layer, RunStore.RunStore.layerMemory])))
})
