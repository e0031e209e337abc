/** The flags of commands that sample from a model or a checkpoint. */
import * as Flag from "effect/cli/Flag"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Help from "../Help.ts"
import * as TorchFlags from "../TorchFlags.ts"
import * as AnswerKey from "../train/AnswerKey.ts"
import * as Backend from "../train/Backend.ts"
import * as RunFlags from "../train/RunFlags.ts"
import type { Given } from "../train/TinkerBackend.ts"
import type { Subject } from "./Subject.ts"

/** `--model`, with a default. */
export const model = (usual: string) =>
  Flag.String("model").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription(`Model to sample from (default: ${usual})`),
    Flag.optional
  )

/** Help sections for these flags. */
export const sections: ReadonlyArray<Help.Section> = [
  { title: "Backend", flags: ["workers", ...TorchFlags.names, "base-url", "server"] }
]

export const flags = {
  model: model("that of the checkpoint, or effect-rl/tiny-128"),
  checkpoint: Flag.String("checkpoint").pipe(
    Flag.withMetavar("path"),
    Flag.withDescription(
      "Weights to sample from: runs/x for the newest checkpoint of a run, runs/x@10 for the checkpoint after its tenth iteration, runs/x@best for the best evaluated one, or the path of one"
    ),
    Flag.optional
  ),
  backend: RunFlags.flags.backend,
  workers: RunFlags.flags.workers,
  ...TorchFlags.flags,
  baseUrl: RunFlags.flags.baseUrl,
  server: RunFlags.flags.server,
  json: RunFlags.flags.json
}

/** The flags' values. */
export interface Flags extends Omit<Given, "allowUnmaskedLoss">, TorchFlags.Given {
  readonly model: Option.Option<string>
  readonly checkpoint: Option.Option<string>
  readonly backend: Backend.Name
  readonly workers: Option.Option<number>
  readonly json: boolean
}

/** The backend for the subject. The subject is only sampled, so no loss settings apply. */
export const backend = ({ checkpoints, model }: Subject, { backend, workers, ...given }: Flags) =>
  Layer.provideMerge(
    Backend.layer(backend, {
      model,
      checkpoints,
      workers,
      service: { ...given, allowUnmaskedLoss: true },
      torch: given
    }),
    AnswerKey.AnswerKey.layer
  )
