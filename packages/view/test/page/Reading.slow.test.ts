import { TestTokenizer } from "@effect-rl/core/testing"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

const answer = "# Sum\n\nThe **total** is `9`, as 2*3*1 + 3 is 9.\n\n- first 6\n- then 3\n"

/** A response of 16,000 tokens, one per character, with this sentence repeated as its reasoning. */
const long = (sentence: string) => `<think>\n${sentence.repeat(1000)}\n</think>\n\n${answer}<|im_end|>`

const [first, second] = ["I carry one now.", "I carry two now."]

/** A run of two members with long reasoning that differs in one word per sentence. */
const served = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const run = `${folder}/long`
  const { characters } = TestTokenizer
  yield* Recorded.writeSaid(run, "qwen3", [...characters.encode(long(first))], [...characters.encode(long(second))])
  const url = yield* Served.serve(folder, { known: TestTokenizer.layer() })
  return { url, place: { run, iteration: 1, group: 1 } }
}).pipe(Effect.provide(NodeServices.layer))

describe.skipIf(isMissing)("a transcript of 16,000 tokens", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is scrolled to its answer, which is formatted as Markdown with every character kept", () =>
      Effect.gen(function*() {
        const { place, url } = yield* served
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "member", ...place, member: 0 }), async (page) => {
          const said = page.locator("dd.said-answer .prose")
          await eventually(async () => assert.strictEqual(((await said.textContent()) ?? "").trim(), answer.trim()))
          assert.deepStrictEqual(await said.locator(".heading, .strong, .code, .item").allTextContents(), [
            "# Sum\n",
            "**total**",
            "`9`",
            "- first 6\n",
            "- then 3"
          ])
          const thinking = page.locator("dd.said-thinking")
          await thinking.getByText("16000 characters").click()
          await thinking.getByRole("button", { name: /show the 12,0\d\d characters before/ }).click()
          await thinking.locator("pre").getByText(first).waitFor()
        })
      }))

    it.effect("shows the end of reasoning that was cut off before the answer", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/cut`
        const cut = `<think>\n${first.repeat(500)} so it is`
        yield* Recorded.writeSaid(run, "qwen3", [...TestTokenizer.characters.encode(cut)])
        const { visit } = yield* Browser
        const url = yield* Served.serve(folder, { known: TestTokenizer.layer() })
        yield* visit(at(url, { at: "group", run, iteration: 1, group: 1 }), async (page) => {
          await page.locator("article .prose").getByText(/so it is$/).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("flows as tokens from first to last, but only visible tokens are elements", () =>
      Effect.gen(function*() {
        const { place, url } = yield* served
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "member", ...place, member: 1, tokens: "true" }), async (page) => {
          const box = page.getByRole("group", { name: "tokens of turn 0" })
          await box.waitFor()
          const expected = long(second).replaceAll("\n", "⏎\n")
          await eventually(async () => assert.strictEqual((await box.textContent()) ?? "", expected))
          assert.isBelow(await page.locator(".token-view .token").count(), 5000)
          const inSight = (token: string) =>
            eventually(async () => {
              const [inner, outer] = [await box.locator(token).boundingBox(), await box.boundingBox()]
              assert.isTrue(inner !== null && outer !== null && inner.y >= outer.y && inner.y < outer.y + outer.height)
            })
          await inSight(`.token:has-text("#")`)
          const places = page.getByRole("navigation", { name: "places in turn 0" })
          await places.getByRole("link", { name: "first difference from member 0, reward 1" }).click()
          await page.getByText("position 10 of").waitFor()
          await inSight("[aria-current]")
          await places.getByRole("link", { name: "end", exact: true }).click()
          await inSight("[aria-current]")
          await page.keyboard.press("ArrowLeft")
          await page.getByRole("img", { name: /^surprise of 16\d+ tokens/ }).click({ position: { x: 0, y: 20 } })
          await page.getByText(/position [0-9]\d? of/).waitFor()
        })
        yield* visit(at(url, { at: "group", ...place, tokens: "true" }), async (page) => {
          await eventually(async () => assert.strictEqual(await page.locator("article .tokens.boxed").count(), 2))
          await eventually(async () => assert.deepStrictEqual(await page.locator(".departs").allTextContents(), ["t"]))
          assert.isBelow(await page.locator("article .token").count(), 6000)
        })
      }))
  })
})
