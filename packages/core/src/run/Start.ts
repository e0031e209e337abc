/** Where a run starts: at its program's start with a new adapter, or at its newest checkpoint. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Tinker } from "../backend/Tinker.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import { RunStore } from "../records/RunStore.ts"
import * as Usage from "../records/Usage.ts"
import * as Checkpoints from "./Checkpoints.ts"
import type { Program } from "./Program.ts"
import { CheckpointUnreadable, ResumeError } from "./ResumeError.ts"
import type * as RunOptions from "./RunOptions.ts"

export interface Start<out Cursor> {
  readonly client: TrainingClient
  readonly position: Checkpoints.Position
  /** The position's cursor, decoded. */
  readonly cursor: Cursor
  /** The checkpoint's record; undefined for a run that begins. */
  readonly saved: RunRecord.Saved | undefined
}

const newClient = Effect.fnUntraced(function*<EE, ER>(
  { loadCheckpointPath, model }: RunOptions.RunOptions<EE, ER>,
  { lora: { rank, ...parts }, run: { seed } }: RunOptions.Resolved
) {
  const tinker = yield* Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: model.name, loraRank: rank, seed, ...parts })
  if (loadCheckpointPath !== undefined) {
    const loaded = yield* client.loadState(loadCheckpointPath, { optimizer: false })
    yield* loaded.await
  }
  return client
})

const begin = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved
) {
  const client = yield* newClient(options, resolved)
  const cursor = yield* Effect.orDie(Schema.encodeEffect(program.cursor)(program.start))
  const position: Checkpoints.Position = { iteration: 0, optimizerSteps: 0, usage: Usage.zero, cursor }
  const start: Start<Cursor> = { client, position, cursor: program.start, saved: undefined }
  return start
})

const goOn = Effect.fnUntraced(function*<Cursor, E, R>(
  program: Program<Cursor, E, R>,
  { client, saved }: Checkpoints.Resumed
) {
  const { name: run } = yield* RunStore
  const { iteration } = saved
  const cursor = yield* Effect.mapError(
    Schema.decodeEffect(program.cursor)(saved.cursor),
    ({ message }) => new ResumeError({ reason: new CheckpointUnreadable({ run, iteration, detail: message }) })
  )
  const start: Start<Cursor> = { client, position: Checkpoints.position(saved), cursor, saved }
  return start
})

/** The start of a run with the records that still count; fails where the program cannot read the cursor of the checkpoint. */
export const find = Effect.fnUntraced(function*<Cursor, E, R, EE, ER>(
  program: Program<Cursor, E, R>,
  options: RunOptions.RunOptions<EE, ER>,
  resolved: RunOptions.Resolved,
  story: ReadonlyArray<RunRecord.RunRecord>
) {
  const resumed = yield* Checkpoints.resume(story)
  return Option.isSome(resumed) ? yield* goOn(program, resumed.value) : yield* begin(program, options, resolved)
})
