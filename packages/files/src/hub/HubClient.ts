/** HTTP requests to the Hugging Face Hub. */
import { datasetInfo, downloadFile, HubApiError, modelInfo, type PathInfo, pathsInfo } from "@huggingface/hub"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { Corrupt, HubError, type HubReason, NotFound, Offline, Unauthorized, Unavailable } from "./HubError.ts"
import * as Repository from "./Repository.ts"

export interface Access {
  readonly hubUrl: string
  readonly token: Option.Option<Redacted.Redacted>
  readonly fetch: typeof globalThis.fetch
}

const reasonOf = (access: Access, cause: unknown): HubReason => {
  if (!(cause instanceof HubApiError)) {
    return new Offline({
      detail: `cannot reach ${access.hubUrl} (${cause instanceof Error ? cause.message : String(cause)}): ` +
        "connect to the network, or fill the cache on a machine that has one"
    })
  }
  switch (cause.statusCode) {
    case 401:
    case 403:
      return new Unauthorized({
        detail: "access denied: accept the repository's terms on the hub and set HF_TOKEN to a token that may read it"
      })
    case 404:
      return new NotFound({
        detail: "does not exist on the hub: check name and revision, and HF_TOKEN if it is private"
      })
    default:
      return new Unavailable({ detail: `the hub answered with status ${cause.statusCode}: try again later` })
  }
}

/** The common parameters of calls to the Hub library. Closing the scope aborts the requests. */
const parametersOf = Effect.fnUntraced(function*(access: Access) {
  const signal = yield* Effect.abortSignal
  return {
    hubUrl: access.hubUrl,
    fetch: (input: string | URL | Request, init?: RequestInit) => access.fetch(input, { ...init, signal }),
    ...Option.match(access.token, { onNone: () => ({}), onSome: (token) => ({ accessToken: Redacted.value(token) }) })
  }
})

const attempt = <A>(access: Access, resource: string, send: () => Promise<A>) =>
  Effect.tryPromise({
    try: send,
    catch: (cause) => new HubError({ resource, reason: reasonOf(access, cause) })
  })

/** The commit to which a branch or tag currently refers. */
export const commit = Effect.fnUntraced(function*(access: Access, { name, revision, type }: Repository.Repository) {
  const parameters = { ...(yield* parametersOf(access)), name, revision, additionalFields: ["sha" as const] }
  const resource = Repository.show({ name, revision, type })
  const info = yield* attempt(
    access,
    resource,
    () => type === "model" ? modelInfo(parameters) : datasetInfo(parameters)
  )
  if (Repository.isCommit(info.sha)) return info.sha
  return yield* new HubError({
    resource,
    reason: new Unavailable({ detail: `the hub names "${info.sha}" as its commit: check HF_ENDPOINT` })
  })
}, Effect.scoped)

/** The hash to compute and its expected value: SHA-256 for files in Git LFS, git's SHA-1 for other files. */
const hasherOf = (info: PathInfo) => {
  if (info.lfs !== undefined) return { hash: createHash("sha256"), expected: info.lfs.oid }
  return { hash: createHash("sha1").update(`blob ${info.size}\0`), expected: info.oid }
}

/** Passes bytes through and fails at the end if they differ from what the Hub announced. */
const verified = (resource: string, info: PathInfo) => <E, R>(bytes: Stream.Stream<Uint8Array, E, R>) =>
  Stream.suspend(() => {
    const { expected, hash } = hasherOf(info)
    let size = 0
    const check = Effect.suspend(() => {
      const isWhole = size === (info.lfs?.size ?? info.size) && hash.digest("hex") === expected
      return isWhole ? Effect.void : new HubError({
        resource,
        reason: new Corrupt({
          detail: `the ${size} bytes that arrived are not the ${info.size} bytes of the hub: try again`
        })
      })
    })
    const count = (part: Uint8Array) => {
      size += part.length
      hash.update(part)
      return part
    }
    return bytes.pipe(Stream.map(count), Stream.concat(Stream.fromEffectDrain(check)))
  })

/** The bytes of a file at a commit. The stream fails if they are incomplete or differ from what the Hub announced. */
export const content = (access: Access, repository: Repository.Repository, path: string) =>
  Stream.unwrap(Effect.gen(function*() {
    const { name, revision, type } = repository
    const resource = `${Repository.show(repository)} ${path}`
    const parameters = { ...(yield* parametersOf(access)), repo: { type, name }, revision }
    const [info] = yield* attempt(access, resource, () => pathsInfo({ ...parameters, paths: [path] }))
    const blob = yield* attempt(access, resource, () => downloadFile({ ...parameters, path, xet: false }))
    if (info === undefined || blob === null) {
      return yield* new HubError({ resource, reason: new NotFound({ detail: "there is no such file in this commit" }) })
    }
    yield* Effect.logInfo(`downloading ${resource} (${(info.size / 2 ** 20).toFixed(1)} MiB)`)
    return Stream.fromReadableStream({
      evaluate: () => blob.stream(),
      onError: (cause) =>
        new HubError({
          resource,
          reason: new Corrupt({ detail: `the transfer broke off (${String(cause)}): try again` })
        })
    }).pipe(verified(resource, info))
  }))
