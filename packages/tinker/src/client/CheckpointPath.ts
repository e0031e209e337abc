/** The path of a checkpoint: `tinker://<run>/<kind>/<name>`. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

const types = { weights: "training", sampler_weights: "sampler", external_weights: "external" } as const

type Kind = keyof typeof types

/** @see tinker `ParsedCheckpointTinkerPath` */
export interface CheckpointPath {
  readonly run: string
  readonly type: (typeof types)[Kind]
  /** Kind and name: `weights/<name>`, `sampler_weights/<name>` or `external_weights/<name>`. */
  readonly id: string
  /** The id for archive requests: equal to `id`, or only the name if the path has no kind, as SkyRL expects. */
  readonly archiveId: string
}

const shape = /^tinker:\/\/([^/]+)\/(?:([^/]+)\/)?([^/]+)$/

const isKind = (text: string): text is Kind => Object.hasOwn(types, text)

/**
 * Parses a checkpoint path. A path without a kind, as SkyRL gives for sampling weights, is read as `sampler_weights`. Fails as `Rejected`
 * if the text is not a checkpoint path or its kind is unknown.
 *
 * @example
 * const id = Effect.map(CheckpointPath.parse("tinker://run-1/weights/000010"), ({ archiveId }) => archiveId)
 */
export const parse = (path: string): Effect.Effect<CheckpointPath, TinkerError.Rejected> => {
  const [, run, given, name] = shape.exec(path) ?? []
  const kind = given ?? "sampler_weights"
  if (run === undefined || name === undefined || !isKind(kind)) {
    const detail = `path is "${path}", expected tinker://<run>/<kind>/<name>, with one of ${
      Object.keys(types).join(", ")
    } as kind`
    return Effect.fail(new TinkerError.Rejected({ detail }))
  }
  const id = `${kind}/${name}`
  return Effect.succeed({ run, type: types[kind], id, archiveId: given === undefined ? name : id })
}
