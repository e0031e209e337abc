import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the page, by keyboard", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("navigates from the list of runs to a transcript, shows its markup as plain text, and goes back", () =>
      Effect.gen(function*() {
        const { url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(url, async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          await page.keyboard.press("j")
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { name: "Iteration 2" }).waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("svg.rewards rect").count(), 5))
          const bars = await page.evaluate<ReadonlyArray<readonly [reward: number, x: number]>>(
            "[...document.querySelectorAll('svg.rewards rect')].map((bar) => " +
              "[Number(/^reward (\\S+):/.exec(bar.textContent)[1]), Number(bar.getAttribute('x'))])"
          )
          const [zero, one] = [0, 1].map((reward) => bars.find((bar) => bar[0] === reward)?.[1] ?? NaN)
          for (const [reward, x] of bars) {
            assert.closeTo(
              x,
              (zero ?? NaN) + reward * ((one ?? NaN) - (zero ?? NaN)),
              1e-6,
              `the place of reward ${reward}`
            )
          }

          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.getByText("advantage -0.5").waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("article.member").count(), 2))

          await page.keyboard.press("j")
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { name: "Member 1" }).waitFor()
          await eventually(async () =>
            assert.strictEqual(
              await page.locator("dd.said-answer .prose").textContent(),
              Recorded.hostile.replace("\u001b", "⟨U+001B⟩").replace("\u202E", "⟨U+202E⟩").replace("\uD800", "⟨U+D800⟩")
            )
          )
          assert.notInclude(await page.title(), "taken")

          const address = await page.evaluate<string>("location.href")
          assert.include(address, "&iteration=2&")
          await page.reload()
          await page.getByRole("heading", { name: "Member 1" }).waitFor()
          await eventually(async () => assert.strictEqual(await page.evaluate("location.href"), address))

          for (const level of ["Group 1/mixed", "Iteration 2"]) {
            await page.keyboard.press("Escape")
            await page.getByRole("heading", { name: level }).waitFor()
          }
          await page.keyboard.press("?")
          await page.getByRole("heading", { name: "Keys" }).waitFor()
        })
      }))

    it.effect("moves between iterations, groups, members and tokens from inside a transcript", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const member = at(url, { at: "member", run, iteration: 1, group: Recorded.first.rough, member: 1 })
        yield* visit(member, async (page) => {
          await page.locator("p.branch").waitFor()
          await page.keyboard.press("t")
          await page.getByText("Point at a token").first().waitFor()
          await page.keyboard.press("ArrowRight")
          await page.keyboard.press("ArrowRight")
          await page.getByText("position 1 of 4").waitFor()
          await page.keyboard.press("ArrowLeft")
          await page.getByText("position 0 of 4").waitFor()
          for (const [key, member] of [["ArrowUp", 0], ["ArrowDown", 1], ["k", 0], ["]", 1], ["[", 0]] as const) {
            await page.keyboard.press(key)
            await page.getByRole("heading", { name: `Member ${member}` }).waitFor()
          }
          await page.keyboard.press("G")
          await page.keyboard.press("Escape")
          await page.getByRole("heading", { name: "Group 0/good" }).waitFor()
          await page.keyboard.press("g")
          await page.getByRole("heading", { name: "Group 0/rough" }).waitFor()
          await page.keyboard.press("n")
          await page.getByRole("heading", { name: "Iteration 2" }).waitFor()
          await page.keyboard.press("p")
          await page.getByRole("heading", { name: "Iteration 1" }).waitFor()
        })
      }))

    it.effect("marks runs in the list and compares them", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        yield* Effect.provide(Recorded.write(`${folder}/second`, { identity: { seed: 1 } }), NodeServices.layer)
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "runs" }), async (page) => {
          await page.getByRole("link", { name: "second" }).waitFor()
          for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key)
          await page.getByRole("link", { name: "Compare 2 runs" }).waitFor()
          await page.keyboard.press("x")
          await page.getByText("Mark 2 to 4 runs to compare them.").waitFor()
          for (const key of ["x", "c"]) await page.keyboard.press(key)
          await page.getByRole("heading", { name: "Comparison of 2 runs" }).waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("heading", { name: "Runs" }).waitFor()
        })
      }))

    it.effect("searches the transcripts", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          await page.keyboard.press("/")
          await page.getByRole("searchbox").fill("think")
          await page.keyboard.press("Enter")
          await page.getByText("2 hits in 11 groups.").waitFor()
          await eventually(async () =>
            assert.deepStrictEqual(await page.locator("mark").allTextContents(), ["think", "think"])
          )
          await page.getByRole("searchbox").fill("nowhere")
          await page.keyboard.press("Enter")
          await page.getByText("0 hits in 11 groups.").waitFor()
          await page.getByText("Nothing was found.").waitFor()
          await page.goBack()
          await page.getByRole("link", { name: "1/rough, member 1, turn 0" }).click()
          await page.getByRole("heading", { name: "Member 1" }).waitFor()
        })
      }))
  })
})
