/** The flags of `train` that all recipes share. */
import * as Flag from "effect/cli/Flag"
import * as UnsafeHostFlag from "../agents/UnsafeHostFlag.ts"
import * as ExecutorFlag from "../executor/ExecutorFlag.ts"
import type * as Help from "../Help.ts"
import * as TorchFlags from "../TorchFlags.ts"
import * as WorkersFlag from "../WorkersFlag.ts"
import * as Backend from "./Backend.ts"
import * as SinkFlag from "./SinkFlag.ts"

/** Help sections for these flags. */
export const sections: ReadonlyArray<Help.Section> = [
  {
    title: "Backend",
    flags: [
      "workers",
      ...TorchFlags.names,
      "executor",
      "durable",
      "base-url",
      "server",
      "allow-unmasked-loss",
      "unsafe-host"
    ]
  },
  { title: "Reports", flags: ["prices", "audit", "sink", "json"] }
]

export const flags = {
  backend: Flag.Literals("backend", Backend.names).pipe(
    Flag.withDescription(
      "engine computes in this process; torch on a GPU of this machine, by PyTorch; tinker uses a service, whose key is " +
        "TINKER_API_KEY; mock needs no model and answers half of the problems from a script (default: engine)"
    ),
    Flag.withDefault("engine")
  ),
  workers: WorkersFlag.flag,
  executor: ExecutorFlag.flag,
  durable: Flag.Boolean("durable").pipe(
    Flag.withDescription(
      "Keep the run in the database of --executor and let a worker drive it; another worker takes over if that one is lost, and " +
        "the run's folder is a copy"
    ),
    Flag.withDefault(false)
  ),
  ...TorchFlags.flags,
  baseUrl: Flag.String("base-url").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription("Address of the service for --backend tinker (default: the hosted service)"),
    Flag.optional
  ),
  server: Flag.Literals("server", Backend.servers).pipe(
    Flag.withDescription("Kind of service for --backend tinker (default: detected)"),
    Flag.optional
  ),
  allowUnmaskedLoss: Flag.Boolean("allow-unmasked-loss").pipe(
    Flag.withDescription("Allow policy losses at a service that counts prompt tokens"),
    Flag.withDefault(false)
  ),
  unsafeHost: UnsafeHostFlag.flag,
  logPath: Flag.String("log-path").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder of the run, resumed if it exists (default: runs/<recipe>-<seed>)"),
    Flag.optional
  ),
  plan: Flag.Boolean("plan").pipe(
    Flag.withDescription("Show what would run, without running it: iterations, tokens and price"),
    Flag.withDefault(false)
  ),
  prices: Flag.File("prices").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(
      "JSON or YAML file of dollars per million tokens, such as `Qwen/Qwen3-8B: {prefill: 0.1, sample: 0.4, train: 0.4}`"
    ),
    Flag.optional
  ),
  set: Flag.KeyValuePair("set").pipe(
    Flag.withMetavar("setting=value"),
    Flag.withDescription("A setting by its name in configuration files, such as groupSize=8; overrides the file"),
    Flag.optional
  ),
  seeds: Flag.Int("seeds").pipe(
    Flag.filter((count) => count >= 2, () => "a whole number of at least 2"),
    Flag.withMetavar("number"),
    Flag.withDescription(
      "Train this many runs, one after the other, with --seed and the seeds after it, and compare them"
    ),
    Flag.optional
  ),
  audit: Flag.Boolean("audit").pipe(
    Flag.withDescription(
      "Report signs of reward exploitation during the run; the run itself does not change"
    ),
    Flag.withDefault(false)
  ),
  sink: SinkFlag.flag,
  view: Flag.Boolean("view").pipe(
    Flag.withDescription("Show the run in a browser while it is in progress: prints the address of its page"),
    Flag.withDefault(false)
  ),
  config: Flag.File("config").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("JSON or YAML file of settings, such as `groupSize: 8`; flags override it"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record per event in place of text"),
    Flag.withDefault(false)
  )
}
