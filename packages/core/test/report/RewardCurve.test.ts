import { RewardCurve } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const rising: ReadonlyArray<RewardCurve.Report> = [
  { iteration: 0, reward: 0, rewardStandardError: 0.1 },
  { iteration: 1, reward: 0.5, rewardStandardError: 0.1 },
  { iteration: 2, reward: 1, rewardStandardError: 0 }
]

const Rewards = Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -1e6, maximum: 1e6 })))
const reportsOf = (rewards: typeof Rewards.Type) =>
  rewards.map((reward, iteration) => ({ iteration, reward, rewardStandardError: 0.5 }))

describe("RewardCurve.text", () => {
  it("draws each iteration as a dot and the running mean as a line", () => {
    assert.deepStrictEqual(RewardCurve.text(rising, { width: 24, height: 7 }).split("\n"), [
      "1.0 ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠐",
      "    │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⣀⠤⠔",
      "0.5 ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠠⠀⠀⣀⠤⠒⠉⠀⠀⠀",
      "    │⠀⠀⠀⠀⠀⠀⢀⣀⡠⠴⠒⠉⠀⠀⠀⠀⠀⠀⠀",
      "0.0 ┤⠤⠤⠒⠒⠉⠉⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀",
      "    └───────────────────",
      "     iteration 0       2"
    ])
  })

  it("has the requested size", () => {
    for (const [width, height] of [[24, 5], [80, 20], [61, 12]] as const) {
      const lines = RewardCurve.text(rising, { width, height }).split("\n")
      assert.lengthOf(lines, height)
      for (const line of lines.slice(0, -1)) assert.lengthOf(line, width)
      assert.isAtMost(lines.at(-1)?.length ?? 0, width)
    }
  })

  it("says that there are no iterations if there is nothing to draw", () => {
    assert.strictEqual(RewardCurve.text([], { width: 40, height: 8 }), "no iterations yet")
    assert.strictEqual(RewardCurve.text([{ iteration: 0, reward: NaN }], { width: 40, height: 8 }), "no iterations yet")
  })

  it("treats values with equal labels as equal", () => {
    const rows = (rewards: ReadonlyArray<number>) => RewardCurve.text(reportsOf(rewards), { width: 40, height: 8 })
    assert.strictEqual(rows([2e-323, 0]), rows([0, 0]))
    assert.include(rows([1e17, 1e17 + 16]), "100000000000000000 ┤⠉⠉")
  })

  it.prop("fits rewards of any size into the given width and height", [Rewards], ([rewards]) => {
    const lines = RewardCurve.text(reportsOf(rewards), { width: 60, height: 10 }).split("\n")
    assert.lengthOf(lines, rewards.length === 0 ? 1 : 10)
    assert.strictEqual(/[\u2801-\u28ff]/.test(lines.join("")), rewards.length > 0)
    for (const line of lines) assert.isAtMost(line.length, 60)
  })
})

const attributeOf = (svg: string, name: string) =>
  Array.from(svg.matchAll(new RegExp(`${name}="([^"]*)"`, "g")), ([, value = ""]) => value)

describe("RewardCurve.svg", () => {
  const svg = RewardCurve.svg(rising, { title: "A run" })

  it("draws the iterations, their band and the running mean", () => {
    const [band, steps, runningMean] = attributeOf(svg, "points")
    assert.strictEqual(band, "64,329.5 420,193.1 776,84 776,84 420,247.6 64,384")
    assert.strictEqual(steps, "64,356.7 420,220.4 776,84")
    assert.strictEqual(runningMean, "64,356.7 420,288.5 776,152.2")
  })

  it("marks held-out scores with their intervals and connects them", () => {
    const evaluations = [{ iteration: 0, value: 0.25, low: 0, high: 0.5 }, { iteration: 3, value: 0.75 }]
    const drawn = RewardCurve.svg(rising, { evaluations })
    assert.include(drawn, ">held out</text>")
    assert.notInclude(svg, "held out")
    assert.lengthOf(attributeOf(drawn, "points"), attributeOf(svg, "points").length + 3)
  })

  it("draws only held-out scores if there are no rewards", () => {
    const drawn = RewardCurve.svg([], { evaluations: [{ iteration: 0, value: 0.25 }, { iteration: 3, value: 0.75 }] })
    assert.match(drawn, /transform="rotate[^>]*>held out</)
    assert.notMatch(drawn, /reward<|mean of/)
    assert.lengthOf(attributeOf(drawn, "points"), 3)
  })

  it("is a self-contained document of 800 by 450", () => {
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="800" height="450" viewBox="0 0 800 450"/)
    assert.include(svg, "<title>A run</title>")
    assert.isTrue(svg.endsWith("</svg>\n"))
    assert.notMatch(svg, /href|url\(|<script|<style/)
  })

  it("can be drawn without iterations, with one, and with rewards that are not numbers", () => {
    assert.include(RewardCurve.svg([]), "no iterations yet")
    assert.include(RewardCurve.svg(rising.slice(0, 1)), "<circle")
    assert.strictEqual(
      RewardCurve.svg([...rising, { iteration: 3, reward: NaN }, { iteration: 4, reward: Infinity }]),
      RewardCurve.svg(rising)
    )
    assert.strictEqual(
      RewardCurve.svg([{ iteration: 0, reward: 1, rewardStandardError: NaN }]),
      RewardCurve.svg([{ iteration: 0, reward: 1 }])
    )
  })

  it.prop("escapes the title", [Schema.String], ([title]) => {
    const tagsOf = (document: string) => document.match(/<\/?\w+/g)
    const titled = RewardCurve.svg(rising, { title: `${title}<script>&"'\u0000` })
    assert.deepStrictEqual(tagsOf(titled), tagsOf(svg))
    assert.notMatch(titled, /&(?!(amp|lt|gt|quot|#39);)/)
    assert.notInclude(titled, "\u0000")
  })

  it.prop("places every point inside the document", [Rewards], ([rewards]) => {
    const drawn = RewardCurve.svg(reportsOf(rewards))
    assert.notMatch(drawn, /NaN|Infinity|undefined/)
    for (
      const point of attributeOf(drawn, "points").flatMap((points) => points.split(" ")).filter((point) => point !== "")
    ) {
      const [x = NaN, y = NaN] = point.split(",").map(Number)
      assert.isTrue(x >= 0 && x <= 800 && y >= 0 && y <= 450, point)
    }
  })
})
