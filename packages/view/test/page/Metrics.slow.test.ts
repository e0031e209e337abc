import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the metrics of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("are shown by section, read at a shared pointer, filtered, and drawn over other axes", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByRole("link", { name: "metrics", exact: true }).click()
          const sections = page.locator("main section h2")
          await eventually(async () =>
            assert.deepStrictEqual(await sections.allTextContents(), ["outcomes", "env/all", "optim"])
          )
          const reading = (name: string) =>
            page.locator("figure.small").filter({ has: page.getByRole("link", { name, exact: true }) }).locator(
              "output"
            )
          await eventually(async () => assert.strictEqual(await reading("reward").textContent(), "0.875"))
          await eventually(async () => assert.strictEqual(await reading("held_out").textContent(), "0.6"))
          await page.getByText("newest values, from iteration 0 to 2").waitFor()

          const chart = page.getByRole("img", { name: "optim/entropy from 0.005 to 0.005" })
          await chart.hover({ position: { x: 150, y: 40 } })
          await eventually(async () => assert.strictEqual(await reading("reward").textContent(), "0.75"))
          assert.isAbove(await page.locator("line.pointed").count(), 3)
          await page.getByRole("heading", { level: 1 }).hover()
          await eventually(async () => assert.strictEqual(await page.locator("line.pointed").count(), 0))

          await page.keyboard.press("/")
          await page.keyboard.type("entropy")
          await page.getByText("1 of 4 metrics").waitFor()
          await page.getByLabel("over").selectOption("tokens")
          await page.getByText("newest values, from tokens 60 to 60").waitFor()
          assert.include(await page.evaluate("location.hash"), "axis=tokens")
          await page.getByRole("link", { name: "optim/entropy" }).click()
          await page.getByRole("region", { name: "optim/entropy" }).waitFor()
        })
      }))
  })
})
