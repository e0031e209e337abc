/** The paths clients know checkpoints by: `tinker://<run>/weights/<name>`, and likewise `sampler_weights`, `external_weights`. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { notFound, type Refusal } from "./Refusal.ts"

/** A checkpoint of a run; `id` is `<kind>/<name>`. */
export interface Place {
  readonly run: string
  readonly id: string
}

export interface Paths {
  readonly toClient: (path: string) => string
  readonly toBackend: (path: string) => string
}

const clientScheme = "tinker://"
const clientPath = /^tinker:\/\/([^/]+)\/(.+)$/

/** What a run or a checkpoint may be called: nothing that leads out of its folder. */
export const segment = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
const checkpointId = /^(weights|sampler_weights|external_weights)\/([A-Za-z0-9][A-Za-z0-9._-]*)$/

export const isOurs = ({ id, run }: Place) => segment.test(run) && checkpointId.test(id)

export const format = ({ id, run }: Place) => `${clientScheme}${run}/${id}`

export const parse = (path: string): Effect.Effect<Place, Refusal> => {
  const [, run, id] = clientPath.exec(path) ?? []
  return run === undefined || id === undefined
    ? Effect.fail(notFound("checkpoint", path))
    : Effect.succeed({ run, id })
}

/** Between clients' paths and those of a backend, which begin with `scheme`. */
export const make = (scheme: string): Paths => {
  const backendScheme = `${scheme}://`
  return {
    toClient: (path) => path.startsWith(backendScheme) ? `${clientScheme}${path.slice(backendScheme.length)}` : path,
    toBackend: (path) => path.startsWith(clientScheme) ? `${backendScheme}${path.slice(clientScheme.length)}` : path
  }
}

/** The same failure in the paths that clients know. */
export const clientError =
  ({ toClient }: Paths) => ({ operation, reason }: TinkerError.TinkerError): TinkerError.TinkerError =>
    new TinkerError.TinkerError({
      operation,
      reason: reason._tag === "NotFound"
        ? new TinkerError.NotFound({
          kind: reason.kind,
          name: toClient(reason.name),
          available: reason.available.map(toClient)
        })
        : reason
    })
