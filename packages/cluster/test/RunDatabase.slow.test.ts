/** Runs in a PostgreSQL database fulfill the contract of a run directory, and have one writer at a time. */
import { CheckpointDatabase, PostgresCluster, RunDatabase, RunFence } from "@effect-rl/cluster"
import { RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path, Redacted, Stream } from "effect"
import * as SqlClient from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import * as Records from "../../files/test/support/Records.ts"
import * as StoreContract from "../../files/test/support/StoreContract.ts"
import * as Postgres from "./Postgres.ts"

const secret = Redacted.make("of the test")

const database = Layer.unwrap(
  Effect.map(Postgres.make, (url) => PostgresCluster.database({ database: Redacted.make(url), secret }))
)

/** A process that takes the run over. */
const writer = (run: string) => Layer.provideMerge(RunDatabase.layer, Layer.fresh(RunFence.RunFence.layer(run)))

const withStore = (run: string) => <A, E, R>(use: (store: RunStore.RunStore["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.provide(RunStore.RunStore.use(use), Layer.fresh(writer(run)))

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const written = (content: string) => (folder: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* fs.writeFileString(path.join(folder, "weights"), content)
    return `digest of ${content}`
  }).pipe(Effect.provide(NodeServices.layer), Effect.orDie)

const read = (folder: string) => FileSystem.FileSystem.use((fs) => fs.readFileString(`${folder}/weights`))

describe.skipIf(!Postgres.isHere)("a run in a database", () => {
  it.live("can be continued after the database restarts", () =>
    Effect.gen(function*() {
      const { restart, url } = yield* Postgres.server
      const run = randomUUID()
      const indices = Array.from({ length: 300 }, (_, index) => index)
      yield* Effect.gen(function*() {
        const { append, read } = yield* RunStore.RunStore
        const writing = Effect.forEach(indices, (index) =>
          Effect.andThen(append(Records.updated(index), "{}"), Effect.sleep("5 millis")))
        yield* Effect.all([writing, Effect.delay(restart, "300 millis")], { concurrency: 2 })
        const records = yield* Stream.runCollect(read)
        assert.deepStrictEqual(
          records.map(({ sequence }) =>
            sequence
          ),
          indices
        )
      }).pipe(
        Effect.provide(writer(run)),
        Effect.provide(PostgresCluster.database({ database: Redacted.make(url), secret }))
      )
    }), 300_000)

  layer(Layer.merge(database, NodeServices.layer), { timeout: "300 seconds", excludeTestServices: true })((it) => {
    it.effect.each(StoreContract.rules)("%s", ([, rule]) => {
      const run = randomUUID()
      return rule({ withStore: withStore(run), open: RunDatabase.open(run) })
    })

    it.effect("refuses the writes of a process after another process has taken the run over", () =>
      Effect.gen(function*() {
        const run = randomUUID()
        const fs = yield* FileSystem.FileSystem
        const [copies, others] = [yield* folder, yield* folder]
        yield* Effect.gen(function*() {
          const before = yield* RunStore.RunStore
          const checkpoints = yield* CheckpointDatabase.make(copies, "engine")
          yield* before.append(Records.opened())
          const { path } = yield* checkpoints.save("m-1", "weights", "one", written("first"))
          const after = yield* withStore(run)(({ append }) => append(Records.opened()))
          assert.strictEqual(after.sequence, 1)

          const error = yield* Effect.flip(before.append(Records.updated(0), "{}"))
          assert.strictEqual(error.reason, "superseded")
          assert.include(error.message, `${run}: another process has taken it over`)
          const refused = yield* Effect.flip(checkpoints.save("m-1", "weights", "one", written("second")))
          assert.include(refused.message, "another process has taken it over")
          assert.isFalse(yield* RunFence.RunFence.use(({ isCurrent }) => isCurrent))

          const reader = yield* CheckpointDatabase.open(run, others)
          assert.strictEqual(yield* read(yield* reader.find(path)), "first")
          assert.lengthOf(yield* fs.readDirectory(copies), 1)
          assert.strictEqual(yield* read(yield* checkpoints.find(path)), "first")
          assert.lengthOf(yield* fs.readDirectory(copies), 1)
        }).pipe(Effect.provide(writer(run)))
        const { read: records } = yield* RunDatabase.open(run)
        assert.deepStrictEqual((yield* Stream.runCollect(records)).map(({ _tag }) => _tag), ["Opened", "Opened"])
      }))

    it.effect("belongs to the program that claims it first, until another program continues its records", () =>
      Effect.gen(function*() {
        const run = randomUUID()
        assert.isTrue(yield* RunDatabase.claim(run, "one"))
        assert.isFalse(yield* RunDatabase.claim(run, "two"))
        yield* withStore(run)(({ append }) => append(Records.opened()))
        assert.isTrue(yield* RunDatabase.claim(run, "one"))
        assert.isTrue(yield* RunDatabase.claim(run, "two", true))
        assert.isFalse(yield* RunDatabase.claim(run, "one"))
      }))

    it.effect("keeps copies of the eight checkpoints that this machine has used last", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const run = randomUUID()
        const [own, copies] = [yield* folder, yield* folder]
        const saved = yield* Effect.gen(function*() {
          const { save } = yield* CheckpointDatabase.make(own, "engine")
          return yield* Effect.forEach(
            Array.from({ length: 10 }, (_, index) => `of-${index}`),
            (name) => save("m-1", "sampler_weights", name, written(name))
          )
        }).pipe(Effect.provide(writer(run)))
        const { find } = yield* CheckpointDatabase.open(run, copies)
        const texts = yield* Effect.forEach(saved, ({ path }) => Effect.flatMap(find(path), read))
        assert.deepStrictEqual(texts, Array.from({ length: 10 }, (_, index) => `of-${index}`))
        for (const folder of [own, copies]) assert.lengthOf(yield* fs.readDirectory(folder), 8)
        const [first] = saved
        assert.strictEqual(yield* read(yield* find(first?.path ?? "")), "of-0")
      }))

    it.effect("is copied into a directory; copying it again continues, and copying another run there fails", () =>
      Effect.gen(function*() {
        const [run, other] = [randomUUID(), randomUUID()]
        const directory = `${yield* folder}/run`
        const original = yield* RunDatabase.open(run)
        const copy = (count: number) =>
          Stream.runCollect(Stream.take(Stream.unwrap(RunDirectory.copy(directory, original)), count))
        const entries = [Records.opened(), Records.rolledOut(0, "a"), Records.updated(0), Records.saved(1)]
        yield* withStore(run)(({ append }) => Effect.forEach(entries, (entry) => append(entry, `"${entry._tag}"`)))
        yield* copy(2)
        yield* copy(2)
        const copied = yield* RunDirectory.open(directory)
        const records = yield* Stream.runCollect(copied.read)
        assert.deepStrictEqual(records, yield* Stream.runCollect(original.read))
        const texts = yield* Effect.forEach(
          records,
          ({ payload }) => payload === undefined ? Effect.succeed("") : copied.payload(payload)
        )
        assert.deepStrictEqual(texts, entries.map(({ _tag }) => `"${_tag}"`))

        yield* withStore(other)(({ append }) => Effect.forEach(entries, (entry) => append(entry)))
        const another = yield* RunDatabase.open(other)
        const error = yield* Effect.flip(Effect.scoped(RunDirectory.copy(directory, another)))
        assert.include(error.message, `it holds another run than ${other}: choose another run directory`)
      }))

    it.effect("reports a line, a payload or a checkpoint that was changed", () =>
      Effect.gen(function*() {
        const run = randomUUID()
        const sql = yield* SqlClient.SqlClient
        const copies = yield* folder
        const path = yield* Effect.gen(function*() {
          const { append } = yield* RunStore.RunStore
          for (const index of [0, 1]) yield* append(Records.updated(index), `"of ${index}"`)
          const checkpoints = yield* CheckpointDatabase.make(yield* folder, "engine")
          return (yield* checkpoints.save("m-1", "weights", "one", written("whole"))).path
        }).pipe(Effect.provide(writer(run)))
        const { payload, read } = yield* RunDatabase.open(run)
        const [record] = (yield* Stream.runCollect(read)).filter(RunRecord.guards.Updated)

        yield* sql`UPDATE effect_rl_payloads SET text = '"of 7"' WHERE run = ${run} AND start = 0`
        const changed = yield* Effect.flip(payload(record?.payload ?? { offset: -1, length: 0 }))
        assert.include(changed.message, "the payload at 0 was changed after it was written")

        yield* sql`UPDATE effect_rl_files SET bytes = convert_to('wholE', 'UTF8') WHERE bytes = convert_to('whole', 'UTF8')`
        const checkpoints = yield* CheckpointDatabase.open(run, copies)
        const lost = yield* Effect.flip(checkpoints.find(path))
        assert.include(lost.message, "weights of a checkpoint was lost or changed after it was written")

        yield* sql`UPDATE effect_rl_records SET line = replace(line, '"iteration":1', '"iteration":3') WHERE run = ${run}`
        const moved = yield* Effect.flip(Stream.runDrain(read))
        assert.include(moved.message, `effect_rl_records of ${run}, line 2 was changed, moved or repeated`)
      }))

    it.effect("fails at once if the database refuses a payload", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(
          withStore(randomUUID())(({ append }) => append(Records.updated(0), `"\u0000"`))
        )
        assert.include(error.message, "the database refuses it")
      }))

    it.effect("fails as NotFound for an unknown checkpoint path, and gives each model its own id", () =>
      Effect.gen(function*() {
        const run = randomUUID()
        const claim = Effect.scoped(
          Effect.flatMap(
            CheckpointDatabase.make("unused", "engine"),
            ({ claim }) => Effect.all([claim("effect-rl/tiny-64"), claim("effect-rl/tiny-64")])
          )
        )
        const ids = [
          ...yield* Effect.provide(claim, Layer.fresh(writer(run))),
          ...yield* Effect.provide(claim, Layer.fresh(writer(run)))
        ]
        assert.deepStrictEqual(ids, ["tiny-64-1.1", "tiny-64-1.2", "tiny-64-2.1", "tiny-64-2.2"])
        const checkpoints = yield* CheckpointDatabase.open(run, yield* folder)
        const error = yield* Effect.flip(checkpoints.find("engine://m-1/weights/none"))
        assert.strictEqual(error._tag, "NotFound")
      }))
  })
})
