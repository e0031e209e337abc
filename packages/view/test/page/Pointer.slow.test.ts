import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the page, by pointer", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("opens the data behind every chart of a run", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = at(url, { at: "run", run })
        yield* visit(place, async (page) => {
          const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor()
          await page.locator("g.evaluation").click()
          await heading("held_out before training")
          await page.getByText("60.0 % correct, 95 % interval 50.0 % to 70.0 %").waitFor()
          await page.goto(place)
          await page.locator("svg.shares g.column").last().click()
          await heading("Iteration 2")
          await page.goto(place)
          await page.locator("svg.timeline rect.span-training").first().dispatchEvent("click")
          await heading("Iteration 1")
          await page.goto(place)
          await page.getByRole("table", { name: "failures by reason" }).getByRole("link").first().click()
          await heading("Group 1/rough")
          await page.goto(place)
          await page.getByRole("table", { name: "evaluations" }).getByRole("link", { name: "held_out" }).click()
          await heading("held_out before training")
          await page.goto(place)
          await page.getByRole("table", { name: "health" }).getByRole("link", { name: "optim/entropy" }).click()
          await page.getByRole("region", { name: "optim/entropy", exact: true }).waitFor()
        })
      }))

    it.effect("lists runs with their status, reward, score and cost", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        yield* Effect.provide(Recorded.write(`${folder}/killed`, { ends: false }), NodeServices.layer)
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "runs" }), async (page) => {
          const textOf = async (name: string) => (await page.getByRole("row", { name }).textContent()) ?? ""
          await eventually(async () =>
            assert.match(
              await textOf("first"),
              /first– untold.*0\.87560\.0 %2 \/ 360–test\/words(now|\d+ (s|min) ago)$/
            )
          )
          await eventually(async () =>
            assert.match(
              await textOf("killed"),
              /killed! killed.*2 \/ 3/
            )
          )
        })
      }))

    it.effect("describes the token under the pointer, and copies ids and texts", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: Recorded.first.mixed, member: 1, tokens: "true" }
        yield* visit(at(url, place), async (page) => {
          const microscope = page.getByRole("group", { name: "token microscope of turn 0" })
          await page.locator(".token-view .token").first().hover()
          await microscope.getByText("position 0 of 2").waitFor()
          await page.locator(".token-view .token").last().hover()
          await microscope.getByText("position 1 of 2").waitFor()
          await page.getByRole("heading", { level: 1 }).hover()
          await microscope.getByText("Point at a token").waitFor()
          await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
          for (const [button, copied] of [["copy ids", "7 8"], ["copy text", "<|im_end|>five"]] as const) {
            await page.getByRole("button", { name: button }).click()
            await eventually(async () =>
              assert.strictEqual(await page.evaluate("navigator.clipboard.readText()"), copied)
            )
          }
        })
      }))

    it.effect("says that it is loading a run, a group or a comparison", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const group = { run, iteration: 1, group: Recorded.first.mixed }
        yield* visit(at(url, { at: "runs" }), async (page) => {
          await page.route(/\/api\/(transcript|compare)/, () => {})
          await page.goto(at(url, { at: "group", ...group }))
          await page.getByText("Reading the transcripts …").waitFor()
          await page.goto(at(url, { at: "member", ...group, member: 0 }))
          await page.getByText("Reading the transcript …").waitFor()
          await page.goto(at(url, { at: "compare", run, others: run }))
          await page.getByText("Reading the records …").waitFor()
        })
      }))
  })
})
