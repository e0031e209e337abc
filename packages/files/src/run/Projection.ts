/**
 * Converts a record for the run directory's `config.json`, `metrics.jsonl` and `checkpoints.jsonl`, which tinker-cookbook's tools can read.
 */
import type { RunRecord } from "@effect-rl/core"
import * as Predicate from "effect/Predicate"
import * as LineFile from "./LineFile.ts"
import * as RunFolder from "./RunFolder.ts"

/** The fields that tinker-cookbook's tools look for in `config.json`, under the cookbook's names. */
const cookbookNames = ({ identity }: RunRecord.Opened) => ({
  model_name: identity["model"],
  renderer_name: identity["renderer"],
  lora_rank: Predicate.hasProperty(identity["lora"], "rank") ? identity["lora"].rank : undefined,
  learning_rate: identity["learning_rate"],
  loss_fn: identity["loss"],
  seed: identity["seed"]
})

/** The content of `config.json`: the run's settings under their own and the cookbook's names. */
export const config = (opened: RunRecord.Opened): string => {
  const { identity, program, segment, settings, version } = opened
  const content = { format: RunFolder.format, segment, program, version, ...cookbookNames(opened), identity, settings }
  return `${JSON.stringify(content, null, 2)}\n`
}

/** A line of `metrics.jsonl`; undefined for a record without metrics. `step` is the iteration, even if a metric is named `step`. */
export const metrics = (record: RunRecord.RunRecord): string | undefined => {
  if (record._tag !== "Updated" && record._tag !== "Evaluated") return undefined
  const named = Object.entries(record.metrics).filter(([name]) => name !== "step" && name !== "segment")
  return LineFile.stringify({ step: record.iteration, ...Object.fromEntries(named), segment: record.segment })
}

/**
 * A line of `checkpoints.jsonl`; undefined for a record of another kind. `batch` is the number of finished iterations, which is the next
 * iteration's index.
 *
 * @see tinker-cookbook `CheckpointRecord`
 */
export const checkpoint = (record: RunRecord.RunRecord): string | undefined =>
  record._tag !== "Saved" ? undefined : LineFile.stringify({
    name: record.name,
    batch: record.iteration,
    state_path: record.statePath,
    // The cookbook omits absent fields.
    ...(record.samplerPath === null ? {} : { sampler_path: record.samplerPath }),
    ...(record.kind === "final" ? { final: true } : {}),
    ...(record.kind === "rolling" ? { rolling: true } : {}),
    ...(record.expiresAt === null ? {} : { expires_at: record.expiresAt }),
    optimizer_steps: record.optimizerSteps,
    tokens: record.usage
  })
