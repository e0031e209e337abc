import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("a person without a pointer or without sight", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is led to the heading of each level", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          const focused = () => page.evaluate<string>("document.activeElement.textContent")
          await page.getByText("completed", { exact: true }).waitFor()
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await eventually(async () => assert.strictEqual(await focused(), "Iteration 1"))
        })
      }))

    it.effect("leaves the token of a transcript behind when going to another iteration", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { run, iteration: 1, group: Recorded.first.mixed, member: 1, tokens: "true", turn: 0, token: 1 }
        yield* visit(at(url, { at: "member", ...place }), async (page) => {
          await page.getByText("position 1 of 2").waitFor()
          await page.keyboard.press("n")
          await page.getByRole("heading", { name: "Iteration 2" }).waitFor()
          assert.notMatch(await page.evaluate<string>("location.hash"), /token=|turn=/)
        })
      }))
  })
})

describe.skipIf(isMissing)("the page of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("counts what updates made of its groups", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("In updates: 4 trained on, 1 no signal, 1 quarantined.").waitFor()
        })
      }))
  })
})
