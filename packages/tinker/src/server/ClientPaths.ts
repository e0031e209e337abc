/**
 * Checkpoint paths as clients use them: `tinker://<run>/weights/<name>`, and the same with `sampler_weights` or `external_weights`. The
 * engine's own paths, `engine://…`, are accepted as well.
 */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { type HttpRefusal, notFound } from "./HttpRefusal.ts"
import type { Runs } from "./Runs.ts"

/** The location of a checkpoint in its run's folder; `id` is `<kind>/<name>`. */
export interface Place {
  readonly folder: string
  readonly id: string
}

export interface Paths {
  /** The client path of a place. */
  readonly format: (place: Place) => string
  readonly parse: (path: string) => Effect.Effect<Place, HttpRefusal>
  /** Converts a backend path to a client path. */
  readonly toClient: (path: string) => string
  readonly toBackend: (place: Place) => string
  /** Replaces backend paths in an error with client paths. */
  readonly clientError: (error: TinkerError.TinkerError) => TinkerError.TinkerError
}

const clientScheme = "tinker://"
const clientPath = /^(?:tinker|engine):\/\/([^/]+)\/(.+)$/

/** A path segment that cannot lead out of its folder. */
export const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const checkpointId = /^(weights|sampler_weights|external_weights)\/([A-Za-z0-9][A-Za-z0-9._-]*)$/

export const isOurs = ({ folder, id }: Place) => segment.test(folder) && checkpointId.test(id)

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/**
 * Changes all texts of a reason. The list of available checkpoints is removed, because it may include other tenants' checkpoints.
 */
const mapReason = (reason: TinkerError.Reason, change: (text: string) => string): TinkerError.Reason => {
  switch (reason._tag) {
    case "Rejected":
      return new TinkerError.Rejected({ detail: change(reason.detail) })
    case "Unavailable":
      return new TinkerError.Unavailable({ detail: change(reason.detail) })
    case "Closed":
      return new TinkerError.Closed({ detail: change(reason.detail) })
    case "Unsupported":
      return new TinkerError.Unsupported({ capability: reason.capability, detail: change(reason.detail) })
    case "NotFound":
      return new TinkerError.NotFound({
        kind: reason.kind,
        name: change(reason.name),
        available: reason.kind === "model" ? reason.available : []
      })
    default:
      return reason
  }
}

/** The checkpoint paths behind additional names, which clients may use instead of a path. */
export type Names = ReadonlyMap<string, string>

/** Converts between client paths and a backend's paths, which begin with `scheme`. */
export const make = (
  scheme: string,
  { folderOf, inFolder }: Pick<Runs, "folderOf" | "inFolder">,
  names: Names = new Map()
): Paths => {
  const backendPaths = new RegExp(`${escaped(scheme)}://([A-Za-z0-9][A-Za-z0-9._-]*)`, "g")
  const toClient = (path: string) =>
    path.replace(backendPaths, (_, folder: string) => `${clientScheme}${inFolder(folder).id}`)
  return {
    format: ({ folder, id }) => `${clientScheme}${inFolder(folder).id}/${id}`,
    parse: (path) => {
      const [, run, id] = clientPath.exec(names.get(path) ?? path) ?? []
      return run === undefined || id === undefined
        ? Effect.fail(notFound("checkpoint", path))
        : Effect.succeed({ folder: folderOf(run), id })
    },
    toClient,
    toBackend: ({ folder, id }) => `${scheme}://${folder}/${id}`,
    clientError: ({ operation, reason }) =>
      new TinkerError.TinkerError({ operation, reason: mapReason(reason, toClient) })
  }
}
