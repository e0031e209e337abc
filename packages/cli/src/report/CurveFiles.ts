/** A run's reward curve as pictures. */
import { RewardCurve, RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
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
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const svg = svgOf(history, title)
    const { fromSvg } = yield* Effect.promise(() => import("./Png.ts"))
    const [svgFile, pngFile] = [path.join(folder, "reward.svg"), path.join(folder, "reward.png")]
    yield* fs.writeFileString(svgFile, svg)
    yield* fs.writeFile(pngFile, yield* fromSvg(svg))
    return [svgFile, pngFile] as const
  },
  (effect, folder) =>
    Effect.catchTag(effect, "PlatformError", (error) => new RunStore.RunError({ run: folder, detail: error.message }))
)
