/** `effect-rl checkpoints`: manages the checkpoints of a run or of a Tinker service. */
import { Quantity } from "@effect-rl/core/records"
import { RestClient } from "@effect-rl/tinker"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Deleting from "./Deleting.ts"
import * as Downloading from "./Downloading.ts"
import * as Listing from "./Listing.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"
import * as ServiceCheckpoints from "./ServiceCheckpoints.ts"
import * as ServiceFlags from "./ServiceFlags.ts"

const path = Argument.String("path").pipe(Argument.withDescription("Path of the checkpoint, as list shows it"))

const outputOf = (flags: { readonly json: boolean }) => Layer.provide(Output.layer(flags), RunLog.layerNone)

const list = Command.make(
  "list",
  {
    run: Argument.String("run").pipe(
      Argument.withDescription("Folder of a run, or a run's id on the service (default: every run on the service)"),
      Argument.optional
    ),
    limit: Flag.Int("limit").pipe(
      Flag.filter((limit) => limit >= 0, () => "a whole number of at least 0"),
      Flag.withMetavar("number"),
      Flag.withDescription("Most checkpoints to list of every run together; 0 lists all (default: 20)"),
      Flag.withDefault(20)
    ),
    ...ServiceFlags.flags
  },
  ({ limit, run, ...flags }) =>
    Effect.gen(function*() {
      const folder = Option.getOrElse(run, () => "")
      if (yield* RunCheckpoints.isRun(folder)) return yield* Listing.tell(yield* RunCheckpoints.list(folder))
      const listed = Option.match(run, {
        onNone: () => ServiceCheckpoints.newest(limit === 0 ? Infinity : limit),
        onSome: ServiceCheckpoints.ofRun
      })
      const { checkpoints, more } = yield* ServiceFlags.provide(listed, flags)
      yield* Listing.tell(checkpoints.map(Listing.ofService), more)
    }).pipe(Effect.provide(outputOf(flags)))
).pipe(Command.withDescription("List checkpoints with their size and when they are deleted"))

/** A subcommand that asks the service to change one checkpoint. */
const asking = <Name extends string, E>(
  name: Name,
  description: string,
  done: string,
  ask: (rest: RestClient.RestClient["Service"], path: string) => Effect.Effect<void, E>
) =>
  Command.make(name, { path, ...ServiceFlags.flags }, ({ path, ...flags }) =>
    Effect.gen(function*() {
      yield* ServiceFlags.provide(RestClient.RestClient.use((rest) => ask(rest, path)), flags)
      yield* Listing.done(done, path)
    }).pipe(Effect.provide(outputOf(flags)))).pipe(Command.withDescription(description))

const publish = asking(
  "publish",
  "Let everybody use a checkpoint",
  "published",
  (rest, path) => rest.publishCheckpoint(path)
)

const unpublish = asking(
  "unpublish",
  "Make a published checkpoint private again",
  "unpublished",
  (rest, path) => rest.unpublishCheckpoint(path)
)

const remove = Command.make(
  "delete",
  {
    paths: Argument.String("path").pipe(
      Argument.withDescription("Paths of checkpoints, as list shows them"),
      Argument.variadic()
    ),
    ...Deleting.flags,
    ...ServiceFlags.flags
  },
  (options) => Effect.provide(Deleting.remove(options), outputOf(options))
).pipe(Command.withDescription("Delete checkpoints for good"))

const ttl = Command.make(
  "ttl",
  {
    path,
    time: Argument.String("time").pipe(
      Argument.withDescription("How long from now the checkpoint is kept, such as \"7 days\"; \"never\" keeps it"),
      Argument.mapEffect((text) => ServiceFlags.timeToLive(text))
    ),
    ...ServiceFlags.flags
  },
  ({ path, time, ...flags }) =>
    Effect.gen(function*() {
      const asked = RestClient.RestClient.use((rest) => rest.setCheckpointTtl(path, Option.getOrUndefined(time)))
      yield* ServiceFlags.provide(asked, flags)
      const until = Option.match(time, { onNone: () => "kept", onSome: (time) => `kept for ${Duration.format(time)}` })
      yield* Listing.done(until, path)
    }).pipe(Effect.provide(outputOf(flags)))
).pipe(Command.withDescription("Set how long the service keeps a checkpoint"))

const download = Command.make(
  "download",
  {
    path,
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withMetavar("folder"),
      Flag.withDescription("Folder in which the checkpoint's own folder is created (default: the current folder)"),
      Flag.withDefault(".")
    ),
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("Replace an older folder of the checkpoint"),
      Flag.withDefault(false)
    ),
    ...ServiceFlags.flags
  },
  ({ path, ...options }) =>
    Effect.gen(function*() {
      const { bytes, folder } = yield* Downloading.download(path, options)
      yield* Listing.done(`${Quantity.count(bytes)} bytes written to ${folder}`, path)
    }).pipe(Effect.provide(outputOf(options)))
).pipe(Command.withDescription("Write a checkpoint's files into a folder, as an adapter that other tools load"))

export const checkpoints = Command.make("checkpoints").pipe(
  Command.withSubcommands([list, publish, unpublish, download, remove, ttl]),
  Command.withExamples([
    { command: "effect-rl checkpoints list runs/arithmetic-0", description: "The checkpoints of a run" },
    { command: "effect-rl checkpoints download tinker://run/weights/000010", description: "A checkpoint of a service" }
  ])
)
