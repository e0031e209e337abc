/** Pictures of a run's reward curve. */
import { RunStore } from "@effect-rl/core"
import { RewardCurve } from "@effect-rl/core/records"
import { AtomicFile, FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import type { Measurement, RunHistory } from "./RunHistory.ts"

/**
 * How far an evaluation's mean reward may differ from its share of right answers for the share to be drawn on the
 * rewards' axis: slightly more than the usual format reward of ±0.1.
 */
const mostBesidesCorrect = 0.11

const isOnScale = ({ reward, value }: Measurement) => Math.abs(reward - value) < mostBesidesCorrect

/**
 * The evaluations of `held_out`, or else of the first evaluator. They share the rewards' axis only if a right answer earns about 1 and a
 * wrong answer about 0.
 */
const evaluationsOf = ({ measurements, rewards }: RunHistory) => {
  const main = measurements.find(({ evaluator }) => evaluator === "held_out") ?? measurements[0]
  const own = measurements.filter(({ evaluator }) => evaluator === main?.evaluator)
  return rewards.length === 0 || own.every(isOnScale) ? own : []
}

const svgOf = (history: RunHistory, title: string) =>
  RewardCurve.svg(history.rewards, { title, evaluations: evaluationsOf(history) })

/** Writes `reward.svg` and `reward.png` into the run's folder; returns both paths. */
export const write = Effect.fnUntraced(
  function*(folder: string, history: RunHistory, title: string) {
    const path = yield* Path.Path
    const svg = svgOf(history, title)
    const { fromSvg } = yield* Effect.promise(() => import("./Png.ts"))
    const [svgFile, pngFile] = [path.join(folder, "reward.svg"), path.join(folder, "reward.png")]
    yield* AtomicFile.write(svgFile, Stream.encodeText(Stream.succeed(svg)))
    yield* AtomicFile.write(pngFile, Stream.succeed(yield* fromSvg(svg)))
    return [svgFile, pngFile] as const
  },
  (effect, folder) =>
    Effect.catchTag(
      effect,
      "PlatformError",
      (error) => new RunStore.RunError({ run: folder, detail: FileFailure.describe("it", error) })
    )
)
