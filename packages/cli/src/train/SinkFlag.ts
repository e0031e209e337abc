/** `--sink tensorboard=runs/tb`: other tools that receive a run live. */
import { InvalidOption, type RunStore } from "@effect-rl/core"
import { Suggestion } from "@effect-rl/core/program"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { commandName } from "../terminal/CommandName.ts"
import type { Output } from "../terminal/Output.ts"

export type Given = Option.Option<Readonly<Record<string, string>>>

export const flag = Flag.KeyValuePair("sink").pipe(
  Flag.withMetavar("tool=place"),
  Flag.withDescription(
    "Send the run to another tool while it runs: the name of a format of `export` with a folder, a file or an address, such as " +
      "tensorboard=FOLDER or mlflow=ADDRESS; may be given several times"
  ),
  Flag.optional
)

interface Flags {
  readonly sink: Given
  readonly audit: boolean
}

type Attached = Layer.Layer<never, RunStore.RunError, RunStore.RunStore | Output | FileSystem.FileSystem | Path.Path>

const unknown = (name: string, names: ReadonlyArray<string>) =>
  new InvalidOption.InvalidOption({
    field: "--sink",
    found: `"${name}"`,
    expected: `the name of a tool: ${Suggestion.describe(name, names)}`
  })

/** A layer with the given sinks for the run in the folder. Fails on an unknown name. */
export const attach = Effect.fnUntraced(function*({ audit, sink: given }: Flags, folder: string) {
  const entries = Object.entries(Option.getOrElse(given, () => ({})))
  const none: Attached = Layer.empty
  if (entries.length === 0 && !audit) return none
  const path = yield* Path.Path
  const command = yield* commandName
  const [{ Sink }, Formats, AuditSink, NodeHttpClient] = yield* Effect.promise(() =>
    Promise.all([
      import("@effect-rl/export"),
      import("../export/Formats.ts"),
      import("../audit/AuditSink.ts"),
      import("@effect/platform-node/NodeHttpClient")
    ])
  )
  const sinks = yield* Effect.forEach(entries, ([name, target]) => {
    const format = Formats.sinkOf(name)
    if (format === undefined) return Effect.fail(unknown(name, Formats.sinkNames))
    const hint = `to write the whole run: ${command} export ${folder} PLACE --format ${name}`
    const sink = { ...format.make(target, path.basename(path.resolve(folder))), hint }
    const attached: Attached = Layer.provide(Sink.layer(sink), NodeHttpClient.layerUndici)
    return Effect.succeed(attached)
  })
  const auditHint = `to audit the whole run: ${command} audit ${folder}`
  const audits: ReadonlyArray<Attached> = audit ? [Sink.layer(AuditSink.make(auditHint))] : []
  return [...audits, ...sinks].reduce((all, sink) => Layer.merge(all, sink), none)
})
