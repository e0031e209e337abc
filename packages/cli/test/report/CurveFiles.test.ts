import * as CurveFiles from "@effect-rl/cli/report/CurveFiles"
import type * as RunHistory from "@effect-rl/cli/report/RunHistory"
import { Story } from "@effect-rl/core/records"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"

const history: RunHistory.RunHistory = {
  story: Story.empty(),
  rewards: [{ iteration: 0, reward: 0.2 }, { iteration: 1, reward: NaN }, { iteration: 2, reward: 0.9 }],
  measurements: [{ evaluator: "held_out", iteration: 0, value: 0.3, low: 0.2, high: 0.4, reward: 0.25, episodes: 10 }]
}

const svgOf = Effect.fnUntraced(function*(history: RunHistory.RunHistory) {
  const fs = yield* FileSystem.FileSystem
  const [svgFile] = yield* CurveFiles.write(yield* fs.makeTempDirectoryScoped(), history, "title")
  return yield* fs.readFileString(svgFile)
})

const pngSignature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

describe("CurveFiles.write", () => {
  it.effect("draws the curve as SVG, and as PNG at twice the size", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const [svgFile, pngFile] = yield* CurveFiles.write(folder, history, "<script>\u001b & co")
      const svg = yield* fs.readFileString(svgFile)
      assert.include(svg, "&lt;script&gt; &amp; co")
      assert.notInclude(svg, "<script>")
      const png = yield* fs.readFile(pngFile)
      assert.deepStrictEqual([...png.subarray(0, 8)], pngSignature)
      const view = new DataView(png.buffer, png.byteOffset)
      assert.deepStrictEqual([view.getUint32(16), view.getUint32(20)], [1600, 900])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("draws accuracy only if rewards have the same scale", () =>
    Effect.gen(function*() {
      assert.include(yield* svgOf(history), "held out")
      const measurements = history.measurements.map((measurement) => ({ ...measurement, reward: -4.8 }))
      assert.notInclude(yield* svgOf({ ...history, measurements }), "held out")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("draws the accuracy of a run without rewards", () =>
    Effect.gen(function*() {
      const measurements = history.measurements.flatMap((measurement) => [
        { ...measurement, evaluator: "held_out_preferences", value: 1 },
        { ...measurement, reward: NaN },
        { ...measurement, reward: NaN, iteration: 9, value: 0.8 }
      ])
      const svg = yield* svgOf({ story: Story.empty(), rewards: [], measurements })
      assert.include(svg, "held out")
      assert.lengthOf(svg.match(/<polygon/g) ?? [], 2)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("names the path that could not be written", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const inTheWay = yield* fs.makeTempFileScoped()
      const error = yield* Effect.flip(CurveFiles.write(inTheWay, history, "title"))
      assert.include(error.message, inTheWay)
    }).pipe(Effect.provide(NodeServices.layer)))
})
