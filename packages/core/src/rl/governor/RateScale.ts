/** A lower learning rate for updates that few sequences decide. */
import type { ForwardBackwardOutput } from "../../backend/TrainingClient.ts"
import type { TrainingDatum } from "../../learn/TrainingData.ts"
import type { AdamParams } from "../../model/AdamParams.ts"
import type * as Program from "../../run/Program.ts"
import * as PolicyShift from "../PolicyShift.ts"
import type { Governor } from "./GovernorSettings.ts"

/**
 * √min(1, ρ/base), with ρ = (Σ w)²/(n·Σ w²) the effective sample size of an update's n sequences as a share of them, w the product of a
 * sequence's importance ratios, before the optimizer step that it is for (arXiv:2602.17616, with its rule for Adam: the root).
 *
 * @see VCPO `ess_scaling`
 */
export const scale = (effectiveShare: number, base: number): number => Math.sqrt(Math.min(1, effectiveShare / base))

/** The rate of an update by its own data; undefined for a governor that leaves the rate alone. */
export const rate = ({ essBase }: Governor, data: () => ReadonlyArray<TrainingDatum>) => {
  if (essBase === undefined) return undefined
  return (adam: AdamParams, passes: ReadonlyArray<ForwardBackwardOutput>): AdamParams => {
    const logprobs = passes.flatMap(({ logprobs }) => logprobs)
    const share = PolicyShift.effectiveSequences(data(), logprobs) ?? 1
    return { ...adam, learningRate: adam.learningRate * scale(share, essBase) }
  }
}

/** A rate that was scaled below this share is reported as a warning. */
const remarkable = 0.5

/** Reports how the governor scaled an iteration's rates, for which the schedule gave `learningRate`. */
export const report = (
  { essBase }: Governor,
  iteration: number,
  learningRate: number,
  outputs: ReadonlyArray<Program.UpdateOutput>
): Pick<Program.Report, "metrics" | "notes"> => {
  if (essBase === undefined || outputs.length === 0 || learningRate === 0) return { metrics: {}, notes: [] }
  const least = Math.min(...outputs.map(({ adam }) => adam.learningRate / learningRate))
  const message = `the governor scaled the learning rate of iteration ${iteration} to ${
    (100 * least).toFixed(0)
  } %: few sequences decide its update`
  return {
    metrics: { "governor/learning_rate_scale": least },
    notes: least < remarkable ? [{ entry: { _tag: "Warning", message } }] : []
  }
}
