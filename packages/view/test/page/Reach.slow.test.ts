import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
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

describe.skipIf(isMissing)("a long answer", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is shown a part at a time, which follows the token under the microscope", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/long`
        yield* Recorded.writeSaid(run, "", [...Array.from({ length: 9000 }, () => 8), 9])
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: 1, member: 0, tokens: "true" }
        yield* visit(at(yield* Served.serve(folder), place), async (page) => {
          await page.getByText("tokens 0 to 3999 of 9001").waitFor()
          await page.getByRole("link", { name: "later tokens" }).click()
          await page.getByText("tokens 4000 to 7999 of 9001").waitFor()
          await page.keyboard.press("ArrowLeft")
          await page.getByText("tokens 0 to 3999 of 9001").waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))
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
