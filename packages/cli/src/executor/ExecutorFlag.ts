/** `--executor`: selects where the groups of a run are rolled out. */
import type { JoinError } from "@effect-rl/cluster"
import { RunStore } from "@effect-rl/core"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { WorkerError } from "effect/workers/WorkerError"
import * as ClusterSecret from "./ClusterSecret.ts"

/** Threads of this process, or workers that have joined through a database. */
export type ExecutorFlag =
  | { readonly _tag: "Threads"; readonly threads: number }
  | { readonly _tag: "Postgres"; readonly database: Redacted.Redacted }

const parse = (text: string): ExecutorFlag | undefined => {
  const threads = /^threads:([1-9]\d{0,2})$/.exec(text)?.[1]
  if (threads !== undefined) return { _tag: "Threads", threads: Number(threads) }
  return /^postgres(ql)?:\/\//.test(text) ? { _tag: "Postgres", database: Redacted.make(text) } : undefined
}

export const flag = Flag.String("executor").pipe(
  Flag.filterMap(
    (text) => Option.fromUndefinedOr(parse(text)),
    () => "threads:8, or the address of a database such as postgres://user@host:5432/name"
  ),
  Flag.withMetavar("where"),
  Flag.withDescription(
    "Where groups are rolled out: threads:8 for threads of this process, or the database that workers have joined, as " +
      "postgres://user@host/name, with the secret in EFFECT_RL_CLUSTER_SECRET (default: this process)"
  ),
  Flag.optional
)

/** The file that a thread runs: a source file, a compiled module, or the bundle beside the command's bundle. */
const threadFile = (url: string) =>
  new URL(
    url.endsWith(".ts") ? "../worker/thread.ts" : url.endsWith(".mjs") ? "../thread.mjs" : "../worker/thread.js",
    url
  )

const threads = (count: number, { unsafeHost }: Options) =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("@effect-rl/cluster")), ({ WorkerThreads }) => {
    const file = threadFile(import.meta.url)
    if (unsafeHost) file.searchParams.set("unsafe-host", "")
    return WorkerThreads.layer({ file, threads: count })
  }))

const cluster = (database: Redacted.Redacted) =>
  Layer.unwrap(Effect.gen(function*() {
    const { ClusterExecutor, PostgresCluster } = yield* Effect.promise(() => import("@effect-rl/cluster"))
    const secret = yield* ClusterSecret.ClusterSecret
    return Layer.provide(ClusterExecutor.layer, PostgresCluster.client({ database, secret }))
  }))

const onlyRead = (run: string) =>
  new RunStore.RunError({ run, detail: "only its driver writes it", reason: "superseded" })

/** The cluster, and a run store in its database for processes that read the run. */
export const runLayer = (database: Redacted.Redacted, run: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const { PostgresCluster, RunDatabase } = yield* Effect.promise(() => import("@effect-rl/cluster"))
    const secret = yield* ClusterSecret.ClusterSecret
    const store = Layer.effect(
      RunStore.RunStore,
      Effect.map(RunDatabase.open(run), (reader) => ({ ...reader, append: () => Effect.fail(onlyRead(run)) }))
    )
    return Layer.provideMerge(store, PostgresCluster.client({ database, secret }))
  }))

interface Options {
  /** Whether agents' programs may run outside of a sandbox. */
  readonly unsafeHost: boolean
}

/** The selected executor. Only its modules are loaded. */
export const layer = (
  executor: ExecutorFlag,
  options: Options
): Layer.Layer<never, JoinError.JoinError | WorkerError | ClusterSecret.NoSecret> =>
  executor._tag === "Threads" ? threads(executor.threads, options) : cluster(executor.database)
