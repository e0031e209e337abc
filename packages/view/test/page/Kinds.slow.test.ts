import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"
import * as RecordedRuns from "./RecordedRuns.ts"

/** Recorded runs of each kind, the title of their main curve, and the expected verdict. */
const kinds = [
  ["good-0", "Reward", /Learned: held_out/],
  ["good-async", "Reward", /Learned: held_out/],
  ["good-wide", "Reward", /Learned: held_out/],
  ["good-long", "Reward", /Learned: held_out/],
  ["hopeless-1", "Reward", /Hopeless/],
  ["failed-late", "Reward", /Failed/],
  ["killed-1", "Reward", /killed/i],
  ["resumed-0", "Reward", /Learned/],
  ["supervised-0", "nll", /Learned/],
  ["dpo-0", "dpo/margin", /Learned/]
] as const

const numbers = (texts: ReadonlyArray<string>) => texts.map((text) => Number(/([\d.]+) %/.exec(text)?.[1] ?? 0))

describe.skipIf(isMissing)("the page of a recorded run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows its main curve and verdict, and time shares of at most 100 %, whatever its kind", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        for (const [name] of kinds) yield* RecordedRuns.write(`${folder}/${name}`, name)
        const url = yield* Served.serve(folder)
        const { visit } = yield* Browser
        yield* visit(url, async (page) => {
          for (const [name, lead, verdict] of kinds) {
            await page.goto(at(url, { at: "run", run: `${folder}/${name}` }))
            await page.getByRole("heading", { name, level: 1 }).waitFor()
            await eventually(async () =>
              assert.match((await page.getByRole("region", { name: "verdict" }).textContent()) ?? "", verdict, name)
            )
            await page.getByRole("region", { name: lead, exact: true }).locator("svg.plot").waitFor()
            const time = page.getByRole("region", { name: /^Time/ })
            const shares = numbers(await time.locator("figcaption .key").allTextContents())
            assert.isAtMost(shares.reduce((sum, share) => sum + share, 0), 100.2, name)
            const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert.isAtMost(Number(overflow), 0, `${name} is wider than the screen`)
          }
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("lists the groups that the iteration's mean reward is computed from, also in asynchronous runs", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* RecordedRuns.write(`${folder}/good-async`, "good-async")
        const url = yield* Served.serve(folder)
        const { visit } = yield* Browser
        yield* visit(url, async (page) => {
          for (const iteration of [3, 6, 9]) {
            await page.goto(at(url, { at: "iteration", run: `${folder}/good-async`, iteration }))
            await page.getByRole("heading", { name: `Iteration ${iteration}` }).waitFor()
            const above = /reward (-?[\d.]+) ±/.exec((await page.locator(".summary p").textContent()) ?? "")?.[1]
            const means =
              (await page.getByRole("table", { name: "groups" }).locator("tbody tr td:nth-child(3)").allTextContents())
                .map(Number)
            assert.isAbove(means.length, 0)
            const mean = means.reduce((sum, value) => sum + value, 0) / means.length
            assert.approximately(mean, Number(above), 1e-3, `iteration ${iteration}`)
          }
        })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
