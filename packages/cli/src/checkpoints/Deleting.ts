/** Deletes named checkpoints, or a service run's checkpoints that match a filter. */
import { InvalidOption } from "@effect-rl/core"
import { RestClient } from "@effect-rl/tinker"
import * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Failure from "../Failure.ts"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as Listing from "./Listing.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"
import * as ServiceFlags from "./ServiceFlags.ts"

/** Checkpoints that could not be deleted. All other requested checkpoints were deleted. */
export class NotDeleted extends Schema.TaggedError<NotDeleted>()("NotDeleted", {
  asked: Schema.Int,
  failures: Schema.Array(Schema.Struct({ path: Schema.String, detail: Schema.String }))
}) {
  override get message() {
    const { asked, failures } = this
    return [
      `${failures.length} of ${Listing.checkpoints(asked)} could not be deleted:`,
      ...failures.map(({ detail, path }) => `  ${path}: ${detail}`)
    ].join("\n")
  }
}

/** The service's names for the kinds in checkpoint paths. */
const types = { weights: "training", sampler_weights: "sampler", external_weights: "external" } as const

const hasZone = /T.*(?:Z|[+-]\d\d:?\d\d)$/i

/** Parses a date or a time, in UTC unless the text names another time zone. */
const timeOf = (text: string) => DateTime.make(hasZone.test(text) || !text.includes("T") ? text : `${text}Z`)

const time = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("time"),
    Flag.withDescription(description),
    Flag.mapEffect((value) =>
      Effect.mapError(
        Effect.fromOption(timeOf(value)),
        () =>
          new CliError.InvalidValue({
            option: name,
            value,
            expected: "a time of UTC, such as 2026-01-31 or 2026-01-31T08:00:00Z",
            kind: "flag"
          })
      )
    ),
    Flag.optional
  )

export const flags = {
  run: Flag.String("run").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder of the run to which the checkpoints belong, in place of a service"),
    Flag.optional
  ),
  runId: Flag.String("run-id").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Delete the checkpoints of this run on the service, in place of named ones"),
    Flag.optional
  ),
  type: Flag.Literals("type", ["weights", "sampler_weights", "external_weights"]).pipe(
    Flag.withDescription("With --run-id: only checkpoints of this type"),
    Flag.optional
  ),
  before: time("before", "With --run-id: only checkpoints that were saved before this time, such as 2026-01-31"),
  after: time("after", "With --run-id: only checkpoints that were saved after this time"),
  yes: Flag.Boolean("yes").pipe(
    Flag.withAlias("y"),
    Flag.withDescription("Delete without asking first"),
    Flag.withDefault(false)
  )
}

export interface Options extends ServiceFlags.Flags {
  readonly paths: ReadonlyArray<string>
  readonly run: Option.Option<string>
  readonly runId: Option.Option<string>
  readonly type: Option.Option<keyof typeof types>
  readonly before: Option.Option<DateTime.DateTime>
  readonly after: Option.Option<DateTime.DateTime>
  readonly yes: boolean
}

const refuse = (field: string, found: string, expected: string) =>
  new InvalidOption.InvalidOption({ field, found, expected })

const check = ({ after, before, paths, run, runId, type }: Options) => {
  const isNamed = Option.isSome(runId)
  if (paths.length === 0 && !isNamed) return refuse("path", "absent", "paths of checkpoints, or --run-id")
  if (isNamed && (paths.length > 0 || Option.isSome(run))) {
    return refuse("--run-id", "given with paths or --run", "--run-id alone, which deletes the checkpoints of that run")
  }
  return !isNamed && (Option.isSome(type) || Option.isSome(before) || Option.isSome(after))
    ? refuse("--run-id", "absent", "--run-id, whose checkpoints --type, --before and --after filter")
    : undefined
}

const holds = <A>(wanted: Option.Option<A>, test: (wanted: A) => boolean) =>
  Option.match(wanted, { onNone: () => true, onSome: test })

/** The checkpoints of a run at a service that match --type, --before and --after; without these flags, all of them. */
const ofRun = Effect.fnUntraced(function*(run: string, options: Options) {
  const { after, before, type } = options
  const list = RestClient.RestClient.use((rest) => rest.listCheckpoints(run))
  const { checkpoints } = yield* ServiceFlags.provide(list, options)
  return checkpoints.filter(({ checkpointType, time }) =>
    holds(type, (type) => checkpointType === types[type])
    && holds(before, (before) => DateTime.isLessThan(time, before))
    && holds(after, (after) => DateTime.isGreaterThan(time, after))
  ).map(Listing.ofService)
})

/** Shows what would be deleted and asks for confirmation. Fails in `json` mode and without a terminal. */
const agrees = Effect.fnUntraced(function*(paths: ReadonlyArray<string>, shown: ReadonlyArray<string>, json: boolean) {
  const output = yield* Output
  const { canPrompt } = yield* TerminalCapabilities
  if (json || !canPrompt) {
    return yield* refuse("--yes", "absent", "--yes, because nobody can be asked here and a deletion cannot be undone")
  }
  yield* output.lines(shown)
  const message = `Delete ${Listing.checkpoints(paths.length)} for good?`
  return yield* Effect.orElseSucceed(Prompt.Confirm({ message, initial: false }), () => false)
})

/** Maximum number of concurrent requests. */
const concurrency = 32

/**
 * Deletes checkpoints, reports each in the given order, and returns those that could not be deleted. One failure does not stop the others.
 */
const removeAll = <E, R>(paths: ReadonlyArray<string>, remove: (path: string) => Effect.Effect<void, E, R>) =>
  Stream.fromIterable(paths).pipe(
    Stream.mapEffect((path) => Effect.map(Effect.result(remove(path)), (result) => ({ path, result })), {
      concurrency
    }),
    Stream.mapEffect(({ path, result }) =>
      Result.match(result, {
        onFailure: (error) => Effect.succeed([{ path, detail: Failure.message(error) }]),
        onSuccess: () => Effect.as(Listing.done("deleted", path), [])
      })
    ),
    Stream.runCollect,
    Effect.map((failures) => failures.flat())
  )

/** Deletes the checkpoints, after confirmation unless `yes` is set. */
export const remove = Effect.fnUntraced(function*(options: Options) {
  const output = yield* Output
  const refused = check(options)
  if (refused !== undefined) return yield* refused
  const found = Option.isSome(options.runId) ? yield* ofRun(options.runId.value, options) : undefined
  const paths = found?.map(({ path }) => path) ?? options.paths
  if (paths.length === 0) return yield* output.lines(["the run has no such checkpoint"])
  const shown = found === undefined ? paths.map(Untrusted.show) : Listing.table(found)
  if (!options.yes && !(yield* agrees(paths, shown, options.json))) return yield* output.lines(["nothing was deleted"])
  const failures = yield* Option.match(options.run, {
    onNone: () =>
      ServiceFlags.provide(RestClient.RestClient.use((rest) => removeAll(paths, rest.deleteCheckpoint)), options),
    onSome: (run) => removeAll(paths, (path) => RunCheckpoints.remove(run, path))
  })
  if (failures.length > 0) return yield* new NotDeleted({ asked: paths.length, failures })
})
