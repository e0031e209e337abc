/** Downloads files of Hugging Face repositories into the cache that Hugging Face's own libraries use. */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Fetch } from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { homedir } from "node:os"
import * as AtomicFile from "../file/AtomicFile.ts"
import * as FileFailure from "../file/FileFailure.ts"
import * as HubClient from "./HubClient.ts"
import { CacheFailed, HubError, NotFound, Offline } from "./HubError.ts"
import * as Repository from "./Repository.ts"

const hubConfig = Config.all({
  cache: Config.String("HF_HUB_CACHE").pipe(
    Config.orElse(() => Config.map(Config.String("HF_HOME"), (home) => `${home}/hub`)),
    Config.orElse(() => Config.map(Config.String("XDG_CACHE_HOME"), (home) => `${home}/huggingface/hub`)),
    Config.withDefault(`${homedir()}/.cache/huggingface/hub`)
  ),
  hubUrl: Config.String("HF_ENDPOINT").pipe(Config.withDefault("https://huggingface.co")),
  isOffline: Config.Boolean("HF_HUB_OFFLINE").pipe(Config.withDefault(false)),
  token: Config.option(Config.Redacted("HF_TOKEN"))
})

const transient = {
  schedule: Schedule.exponential("500 millis"),
  times: 3,
  while: (error: HubError) => error.isRetryable
}

const cacheFailed = (resource: string, file: string) => (error: PlatformError) =>
  Effect.fail(new HubError({ resource, reason: new CacheFailed({ detail: FileFailure.describe(file, error) }) }))

const make = Effect.gen(function*() {
  const { cache, isOffline, ...access } = { ...(yield* hubConfig), fetch: yield* Fetch }
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  const online = (resource: string) =>
    isOffline
      ? Effect.fail(
        new HubError({
          resource,
          reason: new Offline({ detail: `not in the cache ${cache}, and HF_HUB_OFFLINE is set: unset it to download` })
        })
      )
      : Effect.void

  const folder = ({ name, type }: Repository.Repository) =>
    path.join(cache, [`${type}s`, ...name.split("/")].join("--"))

  const commit = Effect.fn("Hub.commit")(function*(repository: Repository.Repository) {
    if (Repository.isCommit(repository.revision)) return repository.revision
    const resource = Repository.show(repository)
    const file = path.join(folder(repository), "refs", encodeURIComponent(repository.revision))
    const read = Effect.map(fs.readFileString(file), (text) => text.trim())
    const record = Effect.gen(function*() {
      yield* online(resource)
      const commit = yield* Effect.retry(HubClient.commit(access, repository), transient)
      yield* AtomicFile.write(file, Stream.make(new TextEncoder().encode(commit)))
      return commit
    })
    return yield* Effect.flatMap(fs.exists(file), (isRecorded) => isRecorded ? read : record).pipe(
      Effect.catchTag("PlatformError", cacheFailed(resource, file)),
      Effect.provideContext(context)
    )
  })

  const file = Effect.fn("Hub.file")(function*(repository: Repository.Repository, name: string) {
    const pinned = { ...repository, revision: yield* commit(repository) }
    const resource = `${Repository.show(pinned)} ${name}`
    const snapshot = path.join(folder(pinned), "snapshots", pinned.revision)
    const file = path.join(snapshot, name)
    if (!file.startsWith(snapshot + path.sep)) {
      return yield* new HubError({ resource, reason: new NotFound({ detail: "is not a path inside the repository" }) })
    }
    const download = Effect.andThen(
      online(resource),
      AtomicFile.write(file, HubClient.content(access, pinned, name)).pipe(
        Effect.catchTag("PlatformError", cacheFailed(resource, file)),
        Effect.retry(transient)
      )
    )
    return yield* fs.exists(file).pipe(
      Effect.flatMap((isCached) => isCached ? Effect.void : download),
      Effect.catchTag("PlatformError", cacheFailed(resource, file)),
      Effect.as(file),
      Effect.provideContext(context)
    )
  })

  return Hub.of({ commit, file })
})

/**
 * Reads files from the Hub through a local cache. Environment variables configure it: `HF_TOKEN`, `HF_ENDPOINT` (default
 * `https://huggingface.co`) and `HF_HUB_OFFLINE` (default false). The cache folder is `HF_HUB_CACHE`, `$HF_HOME/hub`,
 * `$XDG_CACHE_HOME/huggingface/hub` or `~/.cache/huggingface/hub`; the first variable that is set applies.
 *
 * @example
 * const file = Hub.Hub.use((hub) => hub.file(Repository.dataset("openai/gsm8k"), "main/test-00000-of-00001.parquet"))
 */
export class Hub extends Context.Service<Hub, {
  /**
   * The commit of a revision. For a branch or tag, the commit is requested once and recorded in the cache; later calls return the recorded
   * commit.
   */
  readonly commit: (repository: Repository.Repository) => Effect.Effect<string, HubError>
  /** The local path of a repository file. A file that is not cached is downloaded and verified first. */
  readonly file: (repository: Repository.Repository, name: string) => Effect.Effect<string, HubError>
}>()("@effect-rl/files/hub/Hub") {
  static readonly layer: Layer.Layer<Hub, Config.ConfigError, FileSystem.FileSystem | Path.Path> = Layer.effect(
    Hub,
    make
  )
}
