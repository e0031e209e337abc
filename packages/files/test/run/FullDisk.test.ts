import { RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer, Stream } from "effect"
import * as FaultyFileSystem from "../support/FaultyFileSystem.ts"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"

/** The number of faults to test. It is larger than the number of writes in a session, so the last fault never occurs. */
const writes = 70
const everyWrite = Array.from({ length: writes }, (_, index) => index + 1)

/** Appends to a run despite failures. Returns the iterations whose checkpoints were acknowledged, and the errors of the others. */
const session = (run: string) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    const acknowledged: Array<number> = []
    const errors: Array<RunStore.RunError> = []
    yield* Effect.ignore(store.append(Records.opened()))
    for (let iteration = 0; iteration < 4; iteration++) {
      yield* Effect.ignore(store.append(Records.rolledOut(iteration, "g"), JSON.stringify(`payload ${iteration}`)))
      yield* store.append(Records.saved(iteration)).pipe(
        Effect.match({ onSuccess: () => acknowledged.push(iteration), onFailure: (error) => errors.push(error) })
      )
    }
    return { acknowledged, errors }
  }).pipe(Effect.provide(Layer.fresh(RunDirectory.layer(run))))

const faulty = (fault: FaultyFileSystem.Fault) => Layer.mergeAll(FaultyFileSystem.layer(fault), NodePath.layer)

/** Reopens the run, appends a checkpoint, and returns the iterations of all recorded checkpoints. */
const reopened = Effect.fnUntraced(function*(run: string) {
  yield* Records.write(run, Records.saved(99))
  const reader = yield* RunDirectory.open(run)
  const records = yield* Stream.runCollect(reader.read)
  const payloads = yield* Effect.forEach(
    records,
    ({ payload }) => payload === undefined ? Effect.void : Effect.asVoid(reader.payload(payload))
  )
  assert.strictEqual(payloads.length, records.length)
  const checkpoints = yield* Files.readFile(`${run}/checkpoints.jsonl`)
  const saved = records.filter(RunRecord.guards.Saved).map(({ iteration }) => iteration)
  assert.deepStrictEqual(checkpoints.split("\n").slice(0, -1).map((line) => JSON.parse(line).batch), saved)
  return saved
})

/**
 * Checks that every acknowledged checkpoint is recorded, in order, and at most two others: the one that `reopened` appends, and one that
 * was written completely but not synced.
 */
const assertKept = (saved: ReadonlyArray<number>, acknowledged: ReadonlyArray<number>) => {
  assert.deepStrictEqual(saved.filter((iteration) => acknowledged.includes(iteration)), acknowledged)
  assert.isAtMost(saved.length, acknowledged.length + 2)
  assert.deepStrictEqual(saved, saved.toSorted((left, right) => left - right))
}

layer(Files.layer)("a run on a full disk", (it) => {
  it.effect.each(everyWrite)(
    "loses nothing acknowledged and continues if only write %i fails",
    (at) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const exit = yield* Effect.exit(Effect.provide(session(run), faulty({ at, lasts: false })))
        const { acknowledged, errors } = Exit.isSuccess(exit) ? exit.value : { acknowledged: [], errors: [] }
        assertKept(yield* reopened(run), acknowledged)
        assert.isAtMost(errors.length, 1)
      })
  )

  it.effect.each(everyWrite)(
    "loses nothing acknowledged and shows no incomplete record if all writes from %i on fail",
    (at) =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        const exit = yield* Effect.exit(Effect.provide(session(run), faulty({ at, lasts: true })))
        assertKept(yield* reopened(run), Exit.isSuccess(exit) ? exit.value.acknowledged : [])
      })
  )

  it.effect("ends with an error that suggests a remedy", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const error = yield* Effect.flip(Effect.provide(session(run), faulty({ at: 1, lasts: true })))
      assert.strictEqual(error._tag, "RunError")
      assert.include(error.message, "free some disk space")
      const { errors } = yield* Effect.provide(session(run), faulty({ at: 14, lasts: true }))
      for (const { message } of errors) assert.include(message, "records.jsonl: free some disk space")
      assert.isAbove(errors.length, 0)
    }))

  it.effect("writes all its records if the disk is full only after the last write", () =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      const { acknowledged } = yield* Effect.provide(session(run), faulty({ at: writes, lasts: true }))
      assert.deepStrictEqual(acknowledged, [0, 1, 2, 3])
    }))

  it.effect.skipIf(process.platform !== "linux")(
    "fails with a clear error on /dev/full",
    () =>
      Effect.gen(function*() {
        const run = yield* Files.temporaryFolder
        yield* FileSystem.FileSystem.use((fs) => fs.symlink("/dev/full", `${run}/records.jsonl`))
        const error = yield* Effect.flip(Records.write(run, Records.opened()))
        assert.include(error.message, `no space left to write ${run}/records.jsonl`)
      })
  )
})
