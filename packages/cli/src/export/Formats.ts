/** All export formats and live sinks in one table, in the order of the help. */
import {
  ChatJsonLines,
  Cookbook,
  Inspect,
  JsonLines,
  Mlflow,
  Otlp,
  ParquetRollouts,
  Perfetto,
  type Projection,
  type Sink,
  TensorBoard,
  Trackio,
  Verifiers,
  Webhook
} from "@effect-rl/export"
import type * as FileSystem from "effect/FileSystem"
import type * as HttpClient from "effect/http/HttpClient"
import type * as Path from "effect/Path"
import * as Struct from "effect/Struct"
import * as RunTokenizer from "../rollouts/RunTokenizer.ts"

/** The project or experiment for the runs, in tools that have them. */
const project = "effect-rl"

export type AnySink = Sink.Sink<FileSystem.FileSystem | Path.Path | HttpClient.HttpClient>

/** Makes the sink that writes the named run to a folder, a file or an address. */
type Make = (target: string, run: string) => AnySink

const isAddress = (target: string) => /^https?:\/\//.test(target)

/** Adds the protocol's path for traces to an address that has no path. */
const tracesOf = (address: string) => {
  const url = new URL(address)
  return url.pathname === "/" ? new URL("/v1/traces", url).href : address
}

/** A tool that can receive a run live or after it has ended. */
interface SinkFormat {
  readonly _tag: "Sink"
  readonly does: string
  readonly make: Make
  /** Whether the sink appends to a file. A whole run must then be exported to a new file. */
  readonly appends?: true
}

/** A format in which whole runs are written. A live run cannot be sent to it. */
interface ProjectionFormat {
  readonly _tag: "Projection"
  readonly does: string
  readonly write: Projection.Projection
}

/** The format of the run's page. Its writer is loaded on demand. */
interface PageFormat {
  readonly _tag: "Page"
  readonly does: string
}

const sink = (does: string, make: Make): SinkFormat => ({ _tag: "Sink", does, make })
const appended = (does: string, make: Make): SinkFormat => ({ ...sink(does, make), appends: true })
const projection = (does: string, write: Projection.Projection): ProjectionFormat => ({
  _tag: "Projection",
  does,
  write
})
const page = (does: string): PageFormat => ({ _tag: "Page", does })

const table = {
  html: page("one page with the run in it, to open in a browser"),
  tensorboard: sink(
    "folder of event files, which W&B, Aim and SwanLab read too",
    (folder, run) => TensorBoard.make({ folder, run })
  ),
  trackio: sink(
    "Trackio's folder",
    (folder, run) => Trackio.make({ folder, project, run, language: RunTokenizer.language })
  ),
  mlflow: sink("address of an MLflow server", (url, run) => Mlflow.make({ url, experiment: project, run })),
  otlp: appended(
    "address of an OpenTelemetry collector, or a file",
    (target) => isAddress(target) ? Otlp.make(tracesOf(target)) : Otlp.file(target)
  ),
  perfetto: appended("file for ui.perfetto.dev", (file) => Perfetto.make(file)),
  jsonl: appended("file of records", (file) => JsonLines.make(file)),
  webhook: sink(
    "address that gets an alert when the run warns, fails or ends, or its verdict becomes bad",
    (url, run) => Webhook.make({ url, run })
  ),
  cookbook: projection("folder with tinker-cookbook's rollout summaries and logtrees", Cookbook.write),
  inspect: projection("folder of Inspect's .eval logs", Inspect.write),
  verifiers: projection("file of traces for verifiers and prime-rl", Verifiers.write),
  chat: projection("file of conversations with advantages", ChatJsonLines.write),
  parquet: projection("file with a row for each rollout", ParquetRollouts.write)
}

export type Name = keyof typeof table
export type Format = SinkFormat | ProjectionFormat | PageFormat

/** The named format. */
export const of = (name: Name): Format => table[name]

/** The names of all formats, in the order of the help. */
export const names: ReadonlyArray<Name> = Struct.keys(table)

const sinks: ReadonlyMap<string, SinkFormat> = new Map(
  Object.entries<Format>(table).flatMap(([name, format]) => format._tag === "Sink" ? [[name, format]] : [])
)

/** The sink format with this name, for live runs; undefined if there is none. */
export const sinkOf = (name: string): SinkFormat | undefined => sinks.get(name)

export const sinkNames: ReadonlyArray<string> = [...sinks.keys()]
