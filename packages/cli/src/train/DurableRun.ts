/** `--durable`: a run that workers drive and the cluster's database stores. This process follows it and copies it into the run's folder. */
import { CheckpointDatabase, RunDatabase, RunDriver } from "@effect-rl/cluster"
import type { RunRecord, RunStore } from "@effect-rl/core"
import { CheckpointStore, RunDirectory } from "@effect-rl/files"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as RecipeDriver from "../executor/RecipeDriver.ts"

/** Workers cannot drive this run. */
export class NotDurable extends Schema.TaggedError<NotDurable>()("NotDurable", { detail: Schema.String }) {
  override get message() {
    return `--durable is not for this run: ${this.detail}`
  }
}

/** The database already has a run with this name that belongs to another program, and the folder has no copy of it. */
export class RunTaken extends Schema.TaggedError<RunTaken>()("RunTaken", {
  run: Schema.String,
  command: Schema.NullOr(Schema.String)
}) {
  override get message() {
    const command = this.command === null ? "a command with other settings" : this.command
    return `the database already has a run "${this.run}", started by ${command}: give another last part of --log-path`
  }
}

/** The command that started a run. */
const commandOf = ({ read }: RunStore.RunReader) =>
  Effect.map(
    Stream.runHead(read),
    Option.match({
      onNone: () => null,
      onSome: (record) => record._tag === "Opened" ? record.launch?.command ?? null : null
    })
  )

/** Copies a record's checkpoints into the folder in which other commands look for them. */
const copyCheckpoints = Effect.fnUntraced(function*(
  record: RunRecord.RunRecord,
  checkpoints: string,
  { find }: Effect.Success<ReturnType<typeof CheckpointDatabase.open>>
) {
  if (record._tag !== "Saved") return
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const address of [record.statePath, record.samplerPath]) {
    const [, , id = "", kind = "", name = ""] = CheckpointStore.checkpointPath.exec(address ?? "") ?? []
    if (address === null || !CheckpointStore.segment.test(id) || !CheckpointStore.segment.test(name)) continue
    const folder = path.join(checkpoints, id, kind, name)
    if (yield* fs.exists(folder)) continue
    const copy = yield* find(address)
    yield* fs.makeDirectory(path.dirname(folder), { recursive: true })
    yield* fs.rename(copy, folder)
  }
}, Effect.catch((error) => Effect.logWarning(`a checkpoint was not copied: ${error.message}`)))

/** The sequence number of a run's newest record; −1 if it has none. */
const newestOf = ({ read }: RunStore.RunReader) =>
  Effect.map(Stream.runLast(read), Option.match({ onNone: () => -1, onSome: ({ sequence }) => sequence }))

/** The sequence number of the folder's newest record; −1 if it has none. */
const copiedTo = (folder: string) => Effect.orElseSucceed(Effect.flatMap(RunDirectory.open(folder), newestOf), () => -1)

export interface Options {
  /** The run's name in the database. */
  readonly run: string
  /** The folder into which the run is copied. */
  readonly folder: string
  readonly checkpoints: string
  readonly sent: RecipeDriver.SentRun
  /** How long an interruption waits until the driver has saved. */
  readonly interruptTimeout: Duration.Input
}

/**
 * Lets the cluster drive the run until it ends, copies its records into the folder and emits them. Ending the stream early saves and stops
 * the run.
 */
export const stream = ({ checkpoints, folder, interruptTimeout, run, sent }: Options) =>
  Stream.unwrap(Effect.gen(function*() {
    const path = yield* Path.Path
    const original = yield* RunDatabase.open(run)
    const stored = yield* CheckpointDatabase.open(run, path.join(checkpoints, ".copies"))
    const id = RecipeDriver.idOf(sent)
    const place = { at: yield* copiedTo(folder), end: Infinity }
    // Fails if this folder cannot follow the run, before the run is claimed and started.
    const records = yield* RunDirectory.copy(folder, original)
    const isContinued = place.at >= 0
    if (!(yield* RunDatabase.claim(run, id, isContinued))) {
      return yield* new RunTaken({ run, command: yield* commandOf(original) })
    }
    yield* Effect.addFinalizer(() => Effect.ignore(RunDatabase.release(run, id), { log: true }))
    // An earlier command may have been stopped between a record and its checkpoints.
    yield* original.read.pipe(
      Stream.takeWhile(({ sequence }) => sequence <= place.at),
      Stream.runForEach((record) => copyCheckpoints(record, checkpoints, stored))
    )
    const copied = Stream.tap(records, (record) => copyCheckpoints(record, checkpoints, stored))
    const newest = newestOf(original)
    let isOver = false
    const copyRest = Effect.gen(function*() {
      const end = yield* newest
      if ((yield* copiedTo(folder)) >= end) return
      yield* Stream.runDrain(Stream.takeUntil(copied, ({ sequence }) => sequence >= end))
    })
    yield* Effect.addFinalizer(() =>
      isOver ? Effect.void : Effect.ignore(Effect.timeout(copyRest, interruptTimeout), { log: true })
    )
    const driving = yield* Effect.forkScoped(
      RunDriver.drive(run, yield* Effect.orDie(RecipeDriver.encode(sent)), {
        id,
        interruptTimeout
      })
    )
    // The driver's reply may arrive before or after the last record.
    const answered = Stream.fromEffect(Effect.andThen(Fiber.await(driving), newest)).pipe(
      Stream.map((end) => {
        place.end = end
        return []
      })
    )
    return copied.pipe(
      Stream.map((record) => {
        place.at = record.sequence
        return [record]
      }),
      Stream.merge(answered),
      Stream.takeUntil(() => place.at >= place.end),
      Stream.flattenIterable,
      Stream.concat(Stream.drain(Stream.fromEffect(Effect.ensuring(
        Fiber.join(driving),
        Effect.sync(() => {
          isOver = true
        })
      ))))
    )
  }))
