/**
 * The paths clients know checkpoints by: `tinker://<run>/weights/<name>`, and likewise `sampler_weights`, `external_weights`. Paths as the
 * engine records them, `engine://…`, are read alike.
 */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { type HttpRefusal, notFound } from "./HttpRefusal.ts"
import type { Runs } from "./Runs.ts"

/** A checkpoint in the folder of its run; `id` is `<kind>/<name>`. */
export interface Place {
  readonly folder: string
  readonly id: string
}

export interface Paths {
  /** A place as clients know it. */
  readonly format: (place: Place) => string
  readonly parse: (path: string) => Effect.Effect<Place, HttpRefusal>
  /** A backend's own path as clients know it. */
  readonly toClient: (path: string) => string
  readonly toBackend: (place: Place) => string
  /** A backend's failure in the paths that clients know. */
  readonly clientError: (error: TinkerError.TinkerError) => TinkerError.TinkerError
}

const clientScheme = "tinker://"
const clientPath = /^(?:tinker|engine):\/\/([^/]+)\/(.+)$/

/** Names that cannot lead out of a folder. */
export const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const checkpointId = /^(weights|sampler_weights|external_weights)\/([A-Za-z0-9][A-Za-z0-9._-]*)$/

export const isOurs = ({ folder, id }: Place) => segment.test(folder) && checkpointId.test(id)

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** The same reason with every text changed; a list of all that a backend has is left out, as it may be another tenant's. */
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

/** Paths of checkpoints by further names that clients may use. */
export type Names = ReadonlyMap<string, string>

/** Between clients' paths and those of a backend, which begin with `scheme`. */
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
