import { type RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

/** A run of these records. */
const written = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.Entry>) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    for (const record of records) yield* store.append(record)
  }).pipe(Effect.provide(RunDirectory.layer(`${folder}/run`)))
  return { url: yield* Served.serve(folder), run: `${folder}/run` }
}, Effect.provide(NodeServices.layer))

describe.skipIf(isMissing)("the main curve of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("marks checkpoints, warnings and resumes, spans the planned iterations, and joins evaluations", () =>
      Effect.gen(function*() {
        const { run, url } = yield* written([
          Recorded.opened(-1),
          Recorded.evaluated(0, 0.25),
          Recorded.updated(0, 0.5),
          Recorded.saved(1, "000001"),
          { _tag: "Warning", message: "the disk is nearly full" },
          Recorded.opened(4, {}, 1),
          Recorded.updated(1, 0.75),
          Recorded.evaluated(2, 0.75)
        ])
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run, iteration: 1 }), async (page) => {
          const figure = page.getByRole("region", { name: "Reward" }).locator("figure")
          await figure.locator("p.told").getByText(
            "iteration 1: mean reward 0.500 ± 0.100; checkpoint 000001; the disk is nearly full; resumed from first"
          ).waitFor()
          assert.deepStrictEqual(await figure.locator("figcaption .event").allTextContents(), [
            " checkpoint",
            " resumed",
            " warning"
          ])
          const ticks = await figure.locator("svg.plot text.tick").allTextContents()
          assert.deepStrictEqual(ticks.filter((text) => /^[0-3]$/.test(text)).slice(-4), ["0", "1", "2", "3"])
          const x = async (selector: string) => (await figure.locator(selector).first().boundingBox())?.x ?? NaN
          assert.approximately(await x("circle.point"), await x("g.event-checkpoint path"), 6)
          const line = (await figure.locator("polyline.evaluations").getAttribute("points")) ?? ""
          assert.strictEqual(line.split(" ").length, 2)
        })
      }))

    it.effect("marks the audit's findings and the run's failure", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Recorded.writePaid(`${folder}/paid`)
        const paid = yield* Served.serve(folder)
        const failed = yield* written([
          Recorded.opened(-1),
          Recorded.updated(0, 0.5),
          { _tag: "Failed", iteration: 1, error: "JudgeDown", message: "no answer" }
        ])
        const { visit } = yield* Browser
        yield* visit(at(paid, { at: "run", run: `${folder}/paid` }), async (page) => {
          await page.locator("g.event-finding title").getByText("the audit found").first().waitFor({
            state: "attached"
          })
        })
        yield* visit(at(failed.url, { at: "run", run: failed.run }), async (page) => {
          await page.locator("p.told").getByText("iteration 1: mean reward 0.500 ± 0.100; failed: JudgeDown").waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})

describe.skipIf(isMissing)("the timeline of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows the whole run, and zooms with the curves", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          const panel = page.getByRole("region", { name: /^Time/ })
          await eventually(async () => assert.strictEqual(await panel.locator("rect.span-training").count(), 2))
          assert.match((await panel.locator("text.when").allTextContents()).join(), /^0 ms/)
          await panel.scrollIntoViewIfNeeded()
          const box = await panel.locator("rect.span-training").first().boundingBox()
          const [x, y] = [box?.x ?? 0, (box?.y ?? 0) + 8]
          await page.mouse.move(x - 30, y)
          await page.mouse.down()
          await page.mouse.move(x - 10, y)
          await page.mouse.move(x + (box?.width ?? 0) / 2, y)
          await page.mouse.up()
          await page.getByRole("link", { name: "whole run (0)" }).click()
          await eventually(async () => assert.notMatch(await page.evaluate<string>("location.hash"), /from=/))
        })
      }))
  })
})
