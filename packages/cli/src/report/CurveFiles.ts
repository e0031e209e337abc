/** A run's reward curve as pictures. */
import { RewardCurve, RunStore } from "@effect-rl/core"
import * as AtomicFile from "@effect-rl/files/file/AtomicFile"
import * as FileFailure from "@effect-rl/files/file/FileFailure"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import type { RunHistory } from "./RunHistory.ts"

const svgOf = ({ measurements, rewards }: RunHistory, title: string) => {
  const [first] = measurements
  return RewardCurve.svg(rewards, {
    title,
    evaluations: measurements.filter(({ evaluator }) => evaluator === first?.evaluator)
  })
}

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
      (error) => new RunStore.RunError({ run: folder, detail: FileFailure.describe(folder, error) })
    )
)
