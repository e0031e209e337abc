/** `effect-rl serve`: runs this machine as a Tinker service. */
import { Tinker, type TinkerError } from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Engine } from "@effect-rl/engine"
import { FileFailure, FileLock } from "@effect-rl/files"
import { ApiKeys, TinkerServer } from "@effect-rl/tinker"
import * as ByteSize from "effect/ByteSize"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import { isIPv4 } from "node:net"
import type * as LocalAddress from "../checkpoints/LocalAddress.ts"
import * as GivenFlag from "../GivenFlag.ts"
import * as Help from "../Help.ts"
import * as HttpListener from "../HttpListener.ts"
import * as TorchFlags from "../TorchFlags.ts"
import * as Backend from "../train/Backend.ts"
import * as WorkersFlag from "../WorkersFlag.ts"
import * as FirstRequest from "./FirstRequest.ts"
import * as ServedCheckpoints from "./ServedCheckpoints.ts"
import * as ServedModels from "./ServedModels.ts"

/** Without an API key, the server would accept requests from everyone on the network. */
export class OpenServer extends Schema.TaggedError<OpenServer>()("OpenServer", { host: Schema.String }) {
  override get message() {
    return `--host ${this.host} lets other machines in: set ${keysVariable} to the keys they need, ` +
      "separated by commas, or leave --host away"
  }
}

/** The checkpoint folder cannot be written, or another server uses it. */
export class NoCheckpoints extends Schema.TaggedError<NoCheckpoints>()("NoCheckpoints", { detail: Schema.String }) {
  override get message() {
    return `--checkpoints: ${this.detail}`
  }
}

/** `--backend torch` serves exactly one model, but was given none or several. */
export class NotOneModel extends Schema.TaggedError<NotOneModel>()("NotOneModel", { models: Schema.Int }) {
  override get message() {
    return `--backend torch serves one model, found ${this.models}: name it, as in --model Qwen/Qwen3-0.6B or --model NAME=FOLDER`
  }
}

const keysVariable = "EFFECT_RL_SERVE_KEYS"

const atLeastOne = Flag.filter((value: number) => value >= 1, () => "a number above 0")

const parseDuration = Schema.decodeOption(Schema.DurationFromString)

const flags = {
  backend: Flag.Literals("backend", ["engine", "torch"]).pipe(
    Flag.withDescription(
      "Backend that samples and trains: engine in this process, torch on a GPU of this machine (default: engine)"
    ),
    Flag.withDefault("engine")
  ),
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 0 && port <= 65_535, () => "a port, from 0 to 65535"),
    Flag.withMetavar("number"),
    Flag.withDescription("Port to listen on; 0 picks a free one (default: 8000)"),
    Flag.withDefault(8000)
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription(
      `Address to listen on; one that other machines can reach needs ${keysVariable} (default: 127.0.0.1)`
    ),
    Flag.withDefault("127.0.0.1")
  ),
  checkpoints: Flag.String("checkpoints").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder of the checkpoints (default: runs/checkpoints)"),
    Flag.withDefault("runs/checkpoints")
  ),
  served: ServedCheckpoints.flag,
  models: ServedModels.flag,
  workers: WorkersFlag.flag,
  ...TorchFlags.flags,
  ttl: Flag.String("ttl").pipe(
    Flag.withMetavar("duration"),
    Flag.withDescription(
      "How long a checkpoint is kept if its client does not say, such as \"7 days\" (default: forever)"
    ),
    Flag.filterMap(
      (ttl) => Option.filter(parseDuration(ttl), (ttl) => Duration.isPositive(ttl) && Duration.isFinite(ttl)),
      () => "a time such as \"7 days\""
    ),
    Flag.optional
  ),
  samplesPerMinute: Flag.Int("samples-per-minute").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("Sampling requests that one tenant may make in a minute (default: no limit)"),
    atLeastOne,
    Flag.optional
  ),
  maxModels: Flag.Int("max-models").pipe(
    Flag.withMetavar("number"),
    Flag.withDescription("Models that one tenant may train at once, half of them in one session (default: 256)"),
    atLeastOne,
    Flag.withDefault(256)
  ),
  maxMemory: Flag.Int("max-memory").pipe(
    Flag.withMetavar("MiB"),
    Flag.withDescription("Memory that the models of one tenant may take, half of it in one session (default: 2048)"),
    atLeastOne,
    Flag.withDefault(2048)
  ),
  maxBody: Flag.Int("max-body").pipe(
    Flag.withMetavar("MiB"),
    Flag.withDescription("Largest request, before and after decompression (default: 64)"),
    atLeastOne,
    Flag.withDefault(64)
  ),
  compress: Flag.Boolean("compress").pipe(
    Flag.withDescription("Ask clients to compress their training data, for a slow network"),
    Flag.withDefault(false)
  ),
  strict: Flag.Boolean("strict").pipe(
    Flag.withDescription(
      "Refuse requests that the hosted service refuses, so that clients that work here work there too"
    ),
    Flag.withDefault(false)
  ),
  lenient: Flag.Boolean("lenient").pipe(
    Flag.withDescription(
      "Leave out settings of chat clients that no sampler here supports, with a warning in the answer"
    ),
    Flag.withDefault(false)
  )
}

const keys = Config.Redacted(keysVariable).pipe(
  Config.option,
  Effect.map(Option.match({
    onNone: () => [],
    onSome: (all) => ApiKeys.parse(Redacted.value(all))
  }))
)

/** Whether the host is a loopback address, or `localhost`, a name that always means this machine. */
const isLoopback = (host: string) => host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."))

/** Milliseconds; longer than the SDK keeps an idle connection, so it never sends on a connection that is being closed. */
const keepAliveTimeout = 75_000

/** A listener that closes busy connections after their response once the server closes. They would otherwise keep the server alive. */
const listener = () => {
  const server = createServer({ keepAliveTimeout })
  return server.on("request", (_, response) =>
    response.once("close", () => {
      if (!server.listening) server.closeIdleConnections()
    }))
}

const http = (host: string, port: number) =>
  HttpListener.layer(listener, { host, port, gracefulShutdownTimeout: "5 seconds" })

const announce = (served: ReadonlyArray<ServedCheckpoints.ServedCheckpoint>, hasKeys: boolean) =>
  Effect.gen(function*() {
    const { address } = yield* HttpServer.HttpServer
    const url = HttpServer.formatAddress(address)
    const tinker = yield* Tinker.Tinker
    const models = yield* tinker.models
    yield* ServedCheckpoints.check(served, models)
    yield* Console.log(`serving ${models.join(", ")} at ${url}`)
    yield* Effect.forEach(served, ({ model, name }) => Console.log(`checkpoint ${name} of ${model}`))
    yield* Console.log("")
    const [model = served[0]?.name] = served.length === 0 ? models : []
    if (model !== undefined) yield* Console.log(FirstRequest.lines({ url, model, hasKeys }).join("\n"))
    yield* Console.log("official Python SDK, and whatever is built on it:")
    yield* Console.log(`  export TINKER_BASE_URL=${url} TINKER_API_KEY=${hasKeys ? "<one of the keys>" : "tml-local"}`)
    yield* Console.log("")
    yield* Console.log("stop with Ctrl-C: accepted requests are finished first")
  })

const engine = ({ models, workers }: Options, checkpoints: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const { Engine } = yield* Effect.promise(() => import("@effect-rl/engine"))
    const options = { models, ...WorkersFlag.option(workers) }
    yield* ServedModels.tell(yield* Engine.plan(options), models.length)
    return Engine.layerOptions({ checkpoints, ...options })
  }))

/** The PyTorch backend. A GPU has room for one model only. */
const torch = Effect.fnUntraced(function*(options: Options, checkpoints: string) {
  const [model, ...others] = options.models
  if (model === undefined || others.length > 0) return yield* new NotOneModel({ models: options.models.length })
  return Backend.torch({ ...model, checkpoints, torch: options })
})

type Served = Layer.Layer<
  Tinker.Tinker | Tokenizer.Tokenizers,
  Config.ConfigError | Engine.EngineError | NotOneModel | ServedModels.ModelTooLarge | TinkerError.TinkerError,
  ChildProcessSpawner.ChildProcessSpawner | FileSystem.FileSystem | Path.Path
>

const backend = (options: Options, checkpoints: string): Served =>
  options.backend === "engine" ? engine(options, checkpoints) : Layer.unwrap(torch(options, checkpoints))

interface Options extends TorchFlags.Given {
  readonly backend: LocalAddress.Backend
  readonly host: string
  readonly port: number
  readonly checkpoints: string
  readonly served: ReadonlyArray<string>
  readonly models: ReadonlyArray<ServedModels.ServedModel>
  readonly workers: Option.Option<number>
  readonly ttl: Option.Option<Duration.Duration>
  readonly samplesPerMinute: Option.Option<number>
  readonly maxModels: number
  readonly maxMemory: number
  readonly maxBody: number
  readonly compress: boolean
  readonly strict: boolean
  readonly lenient: boolean
}

const serverOptions = (
  options: Options,
  folder: string,
  served: ReadonlyArray<ServedCheckpoints.ServedCheckpoint>,
  apiKeys: ReadonlyArray<ApiKeys.ApiKey>
) => ({
  checkpoints: {
    folder,
    scheme: options.backend,
    names: ServedCheckpoints.names(served),
    ...GivenFlag.options(options.ttl, (ttl) => ({ ttl }))
  },
  apiKeys,
  quota: { models: options.maxModels, memory: ByteSize.mebibytes(options.maxMemory) },
  maxBodySize: ByteSize.mebibytes(options.maxBody),
  compressPasses: options.compress,
  strict: options.strict,
  lenient: options.lenient,
  ...GivenFlag.options(options.samplesPerMinute, (samplesPerMinute) => ({ samplesPerMinute }))
})

/**
 * Locks the checkpoint folder before clients can lose work. Run owners are read only at startup, so two servers must not share a folder.
 */
const keep = Effect.fnUntraced(
  function*(folder: string) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    yield* fs.makeDirectory(folder, { recursive: true })
    yield* fs.access(folder, { writable: true })
    yield* FileLock.hold(join(folder, ".lock"), "folder with --checkpoints")
  },
  (effect, folder) =>
    Effect.mapError(effect, (error) =>
      new NoCheckpoints({
        detail: error._tag === "FileLockError" ? `${folder}: ${error.detail}` : FileFailure.describe(folder, error)
      }))
)

const run = Effect.fn("ServeCommand.run")(function*(options: Options) {
  const { host, port } = options
  const path = yield* Path.Path
  const folder = path.resolve(options.checkpoints)
  const apiKeys = yield* keys
  if (apiKeys.length === 0 && !isLoopback(host)) return yield* new OpenServer({ host })
  yield* keep(folder)
  const served = yield* ServedCheckpoints.copyAll(options.served, folder, options.backend)
  const models = [...options.models, ...yield* ServedCheckpoints.models(served, options.models, options.backend)]
  const server = TinkerServer.layer(serverOptions(options, folder, served, apiKeys))
  return yield* Layer.effectDiscard(announce(served, apiKeys.length > 0)).pipe(
    Layer.provide(server),
    Layer.launch,
    Effect.provide(Layer.merge(backend({ ...options, models }, folder), http(host, port)))
  )
}, Effect.scoped)

export const serve = Command.make("serve", flags, run).pipe(
  Help.withSections([{
    title: "Limits",
    flags: ["ttl", "samples-per-minute", "max-models", "max-memory", "max-body"]
  }]),
  Command.withExamples([
    {
      command: "effect-rl serve --model mine=./models/mine --port 8000",
      description: "A model of a folder, beside the engine's own"
    }
  ])
)
