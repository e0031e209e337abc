import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import type { Page } from "playwright-core"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

/** Writes a run of 40 iterations whose reward rises by 0.02 each, with a metric that grows tenfold every ten iterations. */
const written = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* store.append(Recorded.opened(-1))
    for (let iteration = 0; iteration < 40; iteration++) {
      const metrics = { "optim/kl": iteration === 0 ? 0 : 1e-6 * 10 ** (iteration / 10) }
      yield* store.append(Recorded.updated(iteration, iteration * 0.02, metrics))
    }
  }).pipe(Effect.provide(RunDirectory.layer(`${folder}/rising`)))
  return { url: yield* Served.serve(folder), run: `${folder}/rising` }
}).pipe(Effect.provide(NodeServices.layer))

const plot = (page: Page) => page.locator("svg.plot")

/** The screen position at a fraction of the picture's width. */
const place = async (page: Page, share: number) => {
  const box = await plot(page).boundingBox()
  return { x: (box?.x ?? 0) + share * (box?.width ?? 0), y: (box?.y ?? 0) + 0.5 * (box?.height ?? 0) }
}

const point = async (page: Page, share: number) => {
  const { x, y } = await place(page, share)
  await page.mouse.move(x, y)
}

const fields = async (page: Page) =>
  Object.fromEntries(new URLSearchParams(await page.evaluate<string>("location.hash.slice(1)")))

describe.skipIf(isMissing)("a curve", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows the values of the iteration under the pointer or selected, and opens it", () =>
      Effect.gen(function*() {
        const { run, url } = yield* written
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          const told = page.locator("p.told")
          await told.getByText("iteration 40: mean reward 0.780 ± 0.100").waitFor()
          await point(page, 0.08)
          await told.getByText("iteration 1: mean reward 0.000 ± 0.100").waitFor()
          await point(page, 0.999)
          await told.getByText("iteration 40: mean reward 0.780 ± 0.100").waitFor()
          await page.mouse.move(0, 0)
          await page.keyboard.press("j")
          await page.keyboard.press("j")
          await told.getByText("iteration 2: mean reward 0.020 ± 0.100").waitFor()
          const { x, y } = await place(page, 0.08)
          await page.mouse.click(x, y)
          await page.getByRole("heading", { name: "Iteration 1", level: 1 }).waitFor()
        })
      }))

    it.effect("zooms to the part of the run that is dragged over, or chosen with keys", () =>
      Effect.gen(function*() {
        const { run, url } = yield* written
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.locator("circle.point").nth(39).waitFor()
          await point(page, 0.4)
          await page.mouse.down()
          await point(page, 0.5)
          await point(page, 0.6)
          await page.mouse.up()
          await page.getByRole("link", { name: "whole run" }).waitFor()
          const { from, to } = await fields(page)
          assert.isTrue(Number(from) > 5 && Number(from) < Number(to) && Number(to) < 30, `from ${from} to ${to}`)
          await eventually(async () =>
            assert.strictEqual(await page.locator("circle.point").count(), Number(to) - Number(from) + 1)
          )

          await page.goto(at(url, { at: "run", run, iteration: 30 }))
          await page.locator("p.told").getByText("iteration 30:").waitFor()
          await page.keyboard.press("+")
          await eventually(async () => assert.property(await fields(page), "from"))
          await page.keyboard.press("+")
          await eventually(async () => assert.include(await fields(page), { from: "25", to: "35" }))
          await page.keyboard.press("-")
          await eventually(async () => assert.include(await fields(page), { from: "20", to: "40" }))
          await page.keyboard.press("0")
          await page.locator("circle.point").nth(39).waitFor()
          await eventually(async () => assert.notProperty(await fields(page), "from"))
        })
      }))

    it.effect("shows any metric, on a log scale or smoothed", () =>
      Effect.gen(function*() {
        const { run, url } = yield* written
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByLabel("show").selectOption("optim/kl")
          await page.getByRole("region", { name: "optim/kl" }).waitFor()
          const told = page.locator("p.told")
          await told.getByText("iteration 40: 0.00794").waitFor()
          await page.getByLabel("log scale").check()
          await page.getByText("1 value is not above 0").waitFor()
          await eventually(async () =>
            assert.deepStrictEqual((await plot(page).locator("text.tick").allTextContents()).slice(0, 3), [
              "1e-5",
              "0.0001",
              "0.001"
            ])
          )
          await page.getByLabel("smoothing").selectOption("20")
          await page.locator("polyline.rough").waitFor()
          await eventually(async () =>
            assert.include(await fields(page), { metric: "optim/kl", log: "true", smooth: "20" })
          )
        })
      }))
  })
})
