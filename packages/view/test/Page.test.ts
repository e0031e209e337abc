/** The page in headless Chromium, found by CHROMIUM_PATH or on PATH. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { chromium } from "playwright-core"
import * as Recorded from "./Recorded.ts"
import * as Served from "./server/Served.ts"

const onPath = (process.env["PATH"] ?? "").split(delimiter).flatMap((folder) =>
  ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name))
)
const executablePath = [process.env["CHROMIUM_PATH"] ?? "", ...onPath].find((file) => file !== "" && existsSync(file))

const browser = Effect.acquireRelease(
  Effect.promise(() => chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] })),
  (browser) => Effect.promise(() => browser.close())
)

describe.skipIf(executablePath === undefined)("the page", () => {
  it.live("leads by keyboard from a run to a transcript, and shows it as text", () =>
    Effect.gen(function*() {
      const { url } = yield* Served.start
      const opened = yield* browser
      yield* Effect.promise(async () => {
        const page = await opened.newPage({ viewport: { width: 1280, height: 720 } })
        const complaints: Array<string> = []
        page.on("console", (message) => complaints.push(message.text()))
        page.on("pageerror", ({ message }) => complaints.push(message))
        await page.goto(url)

        await page.getByText("completed", { exact: true }).waitFor()
        await page.getByText("the disk is nearly full").waitFor()
        assert.strictEqual(await page.locator("circle.point").count(), 2)
        assert.strictEqual(await page.locator("g.evaluation").count(), 1)

        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Iteration 1" }).waitFor()
        assert.strictEqual(await page.locator("svg.dots circle").count(), 4)

        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.getByText("advantage -0.5").waitFor()
        assert.strictEqual(await page.locator("article.member").count(), 2)

        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Member 1" }).waitFor()
        const said = await page.locator("pre").nth(1).textContent()
        assert.strictEqual(
          said,
          Recorded.hostile.replace("\u001b", "⟨U+001B⟩").replace("\u202E", "⟨U+202E⟩").replace("\uD800", "⟨U+D800⟩")
        )
        assert.deepStrictEqual(await page.locator(".panel > .tokens > .token").allTextContents(), ["7", "8"])
        assert.notInclude(await page.title(), "taken")

        const address = page.url()
        await page.reload()
        await page.getByRole("heading", { name: "Member 1" }).waitFor()
        assert.strictEqual(page.url(), address)

        for (const level of ["Group 1/mixed", "Iteration 1"]) {
          await page.keyboard.press("Escape")
          await page.getByRole("heading", { name: level }).waitFor()
        }
        await page.keyboard.press("?")
        await page.getByRole("heading", { name: "Keys" }).waitFor()
        assert.deepStrictEqual(complaints, [])
      })
    }))
})
