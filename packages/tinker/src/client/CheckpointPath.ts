/** The path of a checkpoint: `tinker://<run>/weights/<name>`, or `sampler_weights` in the middle. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** @see tinker `ParsedCheckpointTinkerPath` */
export interface CheckpointPath {
  readonly run: string
  readonly type: "training" | "sampler"
  /** `weights/<name>` or `sampler_weights/<name>`. */
  readonly id: string
  /** The same, or the name alone where the path has no middle: such a server finds archives by it. */
  readonly archiveId: string
}

const shape = /^tinker:\/\/([^/]+)\/(?:(weights|sampler_weights)\/)?([^/]+)$/

/** SkyRL leaves the middle out of paths for sampling. Fails as `Rejected` where it is no path. */
export const parse = (path: string): Effect.Effect<CheckpointPath, TinkerError.Rejected> => {
  const [, run, middle, name] = shape.exec(path) ?? []
  const kind = middle ?? "sampler_weights"
  if (run === undefined || name === undefined) {
    const detail = `path is "${path}", expected tinker://<run>/weights/<name> or tinker://<run>/sampler_weights/<name>`
    return Effect.fail(new TinkerError.Rejected({ detail }))
  }
  const id = `${kind}/${name}`
  return Effect.succeed({
    run,
    type: kind === "weights" ? "training" : "sampler",
    id,
    archiveId: middle === undefined ? name : id
  })
}
