/** `--sink tensorboard=runs/tb`: other tools that are told of a run while it goes on. */
import { InvalidOption, type RunStore, Suggestion } from "@effect-rl/core"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"

export type Given = Option.Option<Readonly<Record<string, string>>>

export const flag = Flag.KeyValuePair("sink").pipe(
  Flag.withMetavar("tool=place"),
  Flag.withDescription(
    "Tell another tool of the run while it goes on: tensorboard=FOLDER, trackio=FOLDER, mlflow=ADDRESS, otlp=ADDRESS, " +
      "perfetto=FILE, jsonl=FILE; may be given several times"
  ),
  Flag.optional
)

type Attached = Layer.Layer<never, RunStore.RunError, RunStore.RunStore | FileSystem.FileSystem | Path.Path>

/** The sinks as a Layer beside the run in the folder. Fails where a sink has another name. */
export const attach = Effect.fnUntraced(function*(given: Given, folder: string) {
  const entries = Object.entries(Option.getOrElse(given, () => ({})))
  const none: Attached = Layer.empty
  if (entries.length === 0) return none
  const path = yield* Path.Path
  const [{ Sink }, Formats, NodeHttpClient] = yield* Effect.promise(() =>
    Promise.all([
      import("@effect-rl/export"),
      import("../export/Formats.ts"),
      import("@effect/platform-node/NodeHttpClient")
    ])
  )
  const sinks = yield* Effect.forEach(entries, ([name, target]) =>
    Formats.isSink(name)
      ? Effect.succeed(Sink.layer(Formats.sinks[name](target, path.basename(path.resolve(folder)))))
      : Effect.fail(
        new InvalidOption.InvalidOption({
          field: "--sink",
          found: `"${name}"`,
          expected: Suggestion.describe(name, Formats.sinkNames)
        })
      ))
  const attached: Attached = Layer.provide(
    sinks.reduce((all, sink) => Layer.merge(all, sink)),
    NodeHttpClient.layerUndici
  )
  return attached
})
