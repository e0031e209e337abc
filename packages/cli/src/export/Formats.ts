/** The formats that a run is written in, and the sinks that it is told to while it goes on. */
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
  Verifiers
} from "@effect-rl/export"
import type * as FileSystem from "effect/FileSystem"
import type * as HttpClient from "effect/http/HttpClient"
import type * as Path from "effect/Path"

/** The project or experiment that runs are kept in, where a tool has one. */
const project = "effect-rl"

export type AnySink = Sink.Sink<FileSystem.FileSystem | Path.Path | HttpClient.HttpClient>

/** Makes the sink for a folder, a file or an address, and the run of the name. */
type Make = (target: string, run: string) => AnySink

const isAddress = (target: string) => /^https?:\/\//.test(target)

/** The path that the protocol gives to traces, where an address has none. */
const tracesOf = (address: string) => {
  const url = new URL(address)
  return url.pathname === "/" ? new URL("/v1/traces", url).href : address
}

export type SinkName = "tensorboard" | "trackio" | "mlflow" | "otlp" | "perfetto" | "jsonl"
export type ProjectionName = "cookbook" | "inspect" | "verifiers" | "chat" | "parquet"
export type Name = SinkName | ProjectionName | "html"

/** Makers of sinks. */
export const sinks: Readonly<Record<SinkName, Make>> = {
  tensorboard: (folder) => TensorBoard.make(folder),
  trackio: (folder, run) => Trackio.make({ folder, project, run }),
  mlflow: (url, run) => Mlflow.make({ url, experiment: project, run }),
  otlp: (target) => isAddress(target) ? Otlp.make(tracesOf(target)) : Otlp.file(target),
  perfetto: (file) => Perfetto.make(file),
  jsonl: (file) => JsonLines.make(file)
}

/** Writers of whole runs. */
export const projections: Readonly<Record<ProjectionName, Projection.Projection>> = {
  cookbook: Cookbook.write,
  inspect: Inspect.write,
  verifiers: Verifiers.write,
  chat: ChatJsonLines.write,
  parquet: ParquetRollouts.write
}

export const isSink = (name: string): name is SinkName => Object.hasOwn(sinks, name)

/** What each format is for, as the help says it. */
export const descriptions: Readonly<Record<Name, string>> = {
  html: "one page with the run in it, to open in a browser",
  tensorboard: "folder of event files, which W&B, Aim and SwanLab read too",
  trackio: "Trackio's folder",
  mlflow: "address of an MLflow server",
  otlp: "address of an OpenTelemetry collector, or a file",
  perfetto: "file for ui.perfetto.dev",
  jsonl: "file of records",
  cookbook: "folder with tinker-cookbook's rollout summaries and logtrees",
  inspect: "folder of Inspect's .eval logs",
  verifiers: "file of traces for verifiers and prime-rl",
  chat: "file of conversations with advantages",
  parquet: "file with a row for each rollout"
}

export const sinkNames: ReadonlyArray<SinkName> = ["tensorboard", "trackio", "mlflow", "otlp", "perfetto", "jsonl"]

export const names: ReadonlyArray<Name> = [
  "html",
  ...sinkNames,
  "cookbook",
  "inspect",
  "verifiers",
  "chat",
  "parquet"
]
