/** Headless Chromium, found through CHROMIUM_PATH or on PATH. */
import { Context, Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { chromium, type Page } from "playwright-core"
import { vi } from "vitest"

const onPath = (process.env["PATH"] ?? "").split(delimiter).flatMap((folder) =>
  ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name))
)
const executablePath = [process.env["CHROMIUM_PATH"] ?? "", ...onPath].find((file) => file !== "" && existsSync(file))

export const isMissing = executablePath === undefined

/** Milliseconds; many, because this limit only guards against hangs. */
const timeout = 60_000

/** Retries until the assertions hold, because the page updates shortly after an action. */
export const eventually = (assertions: () => void | Promise<void>) => vi.waitFor(assertions, { timeout, interval: 20 })

export interface Options {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  /** A file with a script to run in the page. */
  readonly script?: string
  /** Messages that the page may log without failing the test. */
  readonly accepted?: ReadonlyArray<string>
}

const start = Effect.gen(function*() {
  const browser = yield* Effect.acquireRelease(
    Effect.promise(() => chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] })),
    (browser) => Effect.promise(() => browser.close())
  )
  return {
    /** Opens a page at the address and drives it. Fails if the page logs errors, refused loads or policy violations. */
    visit: (url: string, drive: (page: Page) => Promise<void>, options: Options = {}) =>
      Effect.promise(async () => {
        const { accepted = [], dark = false, height = 720, script, width = 1280 } = options
        const page = await browser.newPage({
          viewport: { width, height },
          colorScheme: dark ? "dark" : "light",
          reducedMotion: "reduce"
        })
        page.setDefaultTimeout(timeout)
        const complaints: Array<string> = []
        page.on("console", (message) => complaints.push(message.text()))
        page.on("pageerror", ({ message }) => complaints.push(message))
        if (script !== undefined) await page.addInitScript({ path: script })
        await page.goto(url)
        await drive(page)
        await page.close()
        const refused = complaints.filter((complaint) => !accepted.some((text) => complaint.includes(text)))
        if (refused.length > 0) throw new Error(`the page complained: ${refused.join("\n")}`)
      })
  }
})

export class Browser extends Context.Service<Browser, Effect.Success<typeof start>>()("test/Browser") {
  static readonly layer = Layer.effect(Browser, start)
}

/** The address of a screen of the page. */
export const at = (url: string, fields: Readonly<Record<string, string | number>>) =>
  `${url}/#${new URLSearchParams(
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))
  )}`
