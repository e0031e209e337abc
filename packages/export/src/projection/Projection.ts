/** Exports of a whole run to another tool's format. */
import type { RunStore } from "@effect-rl/core"
import { type Conversation, Rollouts, Story } from "@effect-rl/core/records"
import { AtomicFile, FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** The exported files could not be written. */
export class ProjectionError extends Schema.TaggedError<ProjectionError>()("ProjectionError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

export interface Options {
  /** Decodes the run's tokens. Without it, only what environments logged is written. */
  readonly language?: Conversation.Language | undefined
}

/**
 * Writes the run to a path, which is a file or a folder depending on the format. Existing files are replaced.
 *
 * @example
 * const keys: Projection.Projection = (run, out) =>
 *   Projection.writeLines(out, Projection.eachMember(run, undefined, () => ({ group, member }) => ({ key: group.record.key, member })))
 */
export type Projection = (
  run: RunStore.RunReader,
  out: string,
  options?: Options
) => Effect.Effect<void, ProjectionError | RunStore.RunError, FileSystem.FileSystem | Path.Path>

/** Replaces a file's content with the bytes. */
export const writeFile = <E, R>(file: string, content: Stream.Stream<Uint8Array, E, R>) =>
  Effect.mapError(
    AtomicFile.write(file, content),
    (error) =>
      error instanceof PlatformError ? new ProjectionError({ file, detail: FileFailure.describe("it", error) }) : error
  )

/** Replaces a file's content with the text. */
export const writeText = (file: string, text: string) => writeFile(file, Stream.encodeText(Stream.succeed(text)))

/** A value as one line of JSON. NaN and the infinities become null. */
export const line = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Replaces a file's content with one JSON line per value. */
export const writeLines = <E, R>(file: string, values: Stream.Stream<unknown, E, R>) =>
  writeFile(file, Stream.encodeText(Stream.map(values, line)))

/** A batch with its readable groups and their members that finished. */
export interface Batch extends Story.Batch {
  readonly model: string
  readonly rolledOut: ReadonlyArray<Rollouts.RecordedGroup>
  readonly members: ReadonlyArray<Rollouts.Told>
}

const batchOf = Effect.fnUntraced(function*(loaded: Rollouts.Loaded, language: Options["language"]) {
  const rolledOut = yield* Rollouts.readable(loaded)
  const members = (yield* Effect.forEach(rolledOut, (group) => Rollouts.told(group, language))).flat()
  const batch: Batch = { ...loaded.batch, model: Story.model(loaded.story), rolledOut, members }
  return batch
})

/** For each turn, the optimizer step of the weights that sampled it: the group's step, unless the turn records newer weights. */
export const samplerSteps = ({ group: { record }, trajectory }: Rollouts.Member): ReadonlyArray<number> =>
  trajectory.transitions.map(({ action }) => action.samplerStep ?? record.step)

/** The batches of a run in order, with their conversations. Unreadable groups are skipped with a warning. */
export const batches = (run: RunStore.RunReader, language?: Options["language"]) =>
  Stream.mapEffect(Rollouts.stream(run), (loaded) => batchOf(loaded, language))

/** One value per member that finished, batch by batch. */
export const eachMember = (
  run: RunStore.RunReader,
  language: Options["language"],
  of: (batch: Batch) => (member: Rollouts.Told) => unknown
): Stream.Stream<unknown, RunStore.RunError> =>
  Stream.flatMap(batches(run, language), (batch) => Stream.fromIterable(batch.members.map(of(batch))))
