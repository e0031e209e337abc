import { ExportedPage } from "@effect-rl/view"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { Browser, eventually, isMissing } from "./Browser.ts"

const exported = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const run = path.join(folder, "first")
  yield* Recorded.write(run)
  const file = path.join(folder, "page.html")
  const text = yield* ExportedPage.make(run)
  yield* fs.writeFileString(file, text)
  return { file, text }
}).pipe(Effect.provide([NodeServices.layer, Served.tokenizers]))

describe.skipIf(isMissing)("an exported page", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows the run from one file, without a server", () =>
      Effect.gen(function*() {
        const { file, text } = yield* exported
        assert.isBelow(gzipSync(text).length, 250_000)
        assert.notMatch(text, /(?:src|href)="?http/)
        const { visit } = yield* Browser
        yield* visit(pathToFileURL(file).href, async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          for (const key of ["j", "Enter"]) await page.keyboard.press(key)
          await page.getByText("open the run with effect-rl view").waitFor()
          for (const key of ["j", "Enter", "j", "j", "Enter"]) await page.keyboard.press(key)
          await page.getByRole("heading", { name: "Member 1" }).waitFor()
          await eventually(async () => assert.include(await page.locator("dd.said-answer").textContent(), "<script>"))
          await page.keyboard.press("t")
          await eventually(async () =>
            assert.deepStrictEqual(await page.locator(".token-view .token").allTextContents(), ["<|im_end|>", "five"])
          )
          await page.keyboard.press("/")
          await page.getByRole("searchbox").fill("let me")
          await page.keyboard.press("Enter")
          await page.getByText("2 hits in 11 groups.").waitFor()
        })
      }))

    it.effect("searches words that occur only in tokens, and logs of a whole episode", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Recorded.writeUnlogged(`${folder}/silent`)
        const file = `${folder}/page.html`
        yield* fs.writeFileString(file, yield* ExportedPage.make(`${folder}/silent`))
        const { visit } = yield* Browser
        yield* visit(pathToFileURL(file).href, async (page) => {
          await page.getByRole("link", { name: "search (/)" }).click()
          for (
            const [text, name] of [["plusfivefive", "prompt"], ["five plus", "response"], ["good", "verdict"]] as const
          ) {
            await page.getByRole("searchbox").fill(text)
            await page.keyboard.press("Enter")
            await page.getByRole("cell", { name, exact: true }).waitFor()
            await eventually(async () => assert.strictEqual(await page.locator("mark").textContent(), text))
          }
        })
      }).pipe(Effect.provide([NodeServices.layer, Served.tokenizers])))
  })
})
