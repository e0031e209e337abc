import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import type { Page } from "playwright-core"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

const namesOf = (page: Page) => page.getByRole("table", { name: "runs" }).locator("tbody tr.choice a").allTextContents()

const becomes = (page: Page, names: ReadonlyArray<string>) =>
  eventually(async () => assert.deepStrictEqual(await namesOf(page), names))

/** Writes two seeds of one method, and a killed run of another model. */
const write = (folder: string) =>
  Effect.gen(function*() {
    yield* Recorded.write(`${folder}/sums-0`, { identity: { seed: 0 }, evaluated: [1, 1, 1, 0] })
    yield* Recorded.write(`${folder}/other`, { identity: { model: "test/small" }, ends: false, evaluated: [1, 0] })
    yield* Recorded.write(`${folder}/sweep/seed-1`, { identity: { seed: 1 }, evaluated: [1, 0, 0, 0] })
  }).pipe(Effect.provide(NodeServices.layer))

describe.skipIf(isMissing)("the list of runs", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is filtered by words, sorted by a column, and grouped by seeds, as in its address", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* write(folder)
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "runs" }), async (page) => {
          await becomes(page, ["sweep/seed-1", "other", "sums-0"])

          await page.keyboard.press("/")
          await page.keyboard.type("killed small")
          await becomes(page, ["other"])
          await page.getByRole("status").getByText("1 of 3 runs").waitFor()
          assert.include(await page.evaluate("location.hash"), "filter=killed+small")
          await page.getByLabel("filter (/)").fill("")
          await page.keyboard.press("Escape")

          const head = page.getByRole("columnheader", { name: "held out" })
          await head.getByRole("link").click()
          await becomes(page, ["sums-0", "other", "sweep/seed-1"])
          await eventually(async () => assert.strictEqual(await head.getAttribute("aria-sort"), "descending"))
          await head.getByRole("link").click()
          await becomes(page, ["sweep/seed-1", "other", "sums-0"])
          await eventually(async () => assert.strictEqual(await head.getAttribute("aria-sort"), "ascending"))

          await page.getByRole("link", { name: "group seeds" }).click()
          await becomes(page, ["sweep/seed-1", "sums-0", "other"])
          await page.getByRole("rowheader").getByText(
            "2 seeds of arithmetic, test/words: reward 0.875 (0.875 to 0.875), held out 50.0 % (25.0 % to 75.0 %)"
          ).waitFor()
          await page.getByRole("heading", { name: "Runs" }).click()
          await page.keyboard.press("j")
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { name: `${folder}/sums-0`, level: 1 }).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("has one line per run at 1440 pixels, and shows runs that start later", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* write(folder)
        const { visit } = yield* Browser
        const services = yield* Effect.context<never>()
        yield* visit(at(yield* Served.serve(folder), { at: "runs" }), async (page) => {
          const rows = page.getByRole("table", { name: "runs" }).locator("tbody tr.choice")
          await eventually(async () => assert.strictEqual(await rows.count(), 3))
          for (const row of await rows.all()) assert.isBelow((await row.boundingBox())?.height ?? NaN, 36)
          await rows.first().getByRole("img", { name: "reward of each iteration" }).waitFor()
          await Effect.runPromiseWith(services)(Effect.provide(Recorded.write(`${folder}/later`), NodeServices.layer))
          await page.getByRole("link", { name: "later", exact: true }).waitFor()
        }, { width: 1440 })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
