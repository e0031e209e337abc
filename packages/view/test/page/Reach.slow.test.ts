import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("a person without a pointer or without sight", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is taken to the heading of each screen", () =>
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

    it.effect("can switch off single-character shortcuts, while other keys keep working", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run, iteration: 1 }), async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          await page.keyboard.press("?")
          await page.getByRole("dialog").getByRole("checkbox", { name: "letters, digits and signs" }).uncheck()
          await page.getByRole("dialog").getByRole("button", { name: "close" }).click()
          await page.reload()
          await page.getByText("completed", { exact: true }).waitFor()
          for (const key of ["j", "n", "+", "?"]) await page.keyboard.press(key)
          assert.match(await page.evaluate<string>("location.hash"), /iteration=1$/)
          assert.strictEqual(await page.getByRole("dialog").count(), 0)
          await page.keyboard.press("ArrowDown")
          await eventually(async () => assert.match(await page.evaluate<string>("location.hash"), /iteration=2$/))
        })
      }))

    it.effect("skips the header with the first key, and reaches every part of a long turn with Tab", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/long`
        yield* Recorded.writeSaid(run, "", Array.from({ length: 2000 }, (_, token) => token === 1234 ? 9 : 8))
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: 1, member: 0, tokens: "true" }
        yield* visit(at(yield* Served.serve(folder), place), async (page) => {
          const focused = () =>
            page.evaluate<string>("document.activeElement.ariaLabel ?? document.activeElement.textContent")
          await page.getByRole("group", { name: "tokens of turn 0" }).waitFor()
          await page.keyboard.press("Tab")
          assert.strictEqual(await focused(), "skip to the content")
          await page.keyboard.press("Enter")
          await eventually(async () => assert.strictEqual(await focused(), "Member 0"))
          const reached: Array<string> = []
          while (reached.length < 40 && reached.at(-1) !== "tokens of turn 0") {
            await page.keyboard.press("Tab")
            reached.push(await focused())
          }
          assert.include(reached, "end")
          assert.include(reached, "tokens of turn 0")
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("leaves the token of a transcript when going to another iteration", () =>
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
    it.effect("counts what updates did with its groups", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("In updates: 4 trained on, 1 no signal, 1 quarantined.").waitFor()
        })
      }))
  })
})
