import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js")

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
}

/**
 * The violations that axe-core finds, as readable lines. Call it after loading axe-core as a browser-side script file, because the page's
 * policy blocks other scripts.
 */
const violations = async (page: Page) => {
  const found: { readonly violations: ReadonlyArray<Violation> } = await page.evaluate("axe.run(document)")
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, html }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`)
  )
}

const shapes = [{ width: 1280, height: 720 }, { width: 390, height: 844, dark: true }]

describe.skipIf(isMissing)("every screen of the page", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect.each(shapes)("is accessible and fits $width × $height", (shape) =>
      Effect.gen(function*() {
        const { folder, run, url } = yield* Served.start
        yield* Effect.provide(Recorded.write(`${folder}/second`, { identity: { seed: 1 } }), NodeServices.layer)
        const long = `${folder}/long`
        const [one, other] = [8, 9].map((token) => Array.from({ length: 2000 }, () => token))
        yield* Effect.provide(Recorded.writeSaid(long, "", one ?? [], other ?? []), NodeServices.layer)
        const place = { run, iteration: 1, group: Recorded.first.rough, member: 1 }
        const levels: ReadonlyArray<readonly [heading: string, fields: Readonly<Record<string, string | number>>]> = [
          ["Runs", { at: "runs" }],
          ["first", { at: "run", run }],
          ["Iteration 1", { at: "iteration", ...place, rule: "max_rl" }],
          ["held_out before", { at: "iteration", ...place, iteration: 0, evaluator: "held_out" }],
          ["Group 0/rough", { at: "group", ...place, tokens: "true" }],
          ["Member 1", { at: "member", ...place }],
          ["Member 1", { at: "member", ...place, tokens: "true", turn: 0, token: 1, colour: "advantage" }],
          ["Group 0/said", { at: "group", run: long, iteration: 1, group: 1, tokens: "true" }],
          ["Member 0", { at: "member", run: long, iteration: 1, group: 1, member: 0, tokens: "true" }],
          ["Search", { at: "search", run, text: "think" }],
          ["Rollouts", { at: "rollouts", run, metric: "judge_score", sort: "-measure" }],
          ["Problems", { at: "problems", run }],
          ["Metrics", { at: "metrics", run }],
          ["Comparison of", { at: "compare", run, others: `${folder}/second` }]
        ]
        const { visit } = yield* Browser
        yield* visit(url, async (page) => {
          for (const [heading, fields] of levels) {
            await page.goto(at(url, fields))
            await page.getByRole("heading", { name: heading, level: 1 }).waitFor()
            await page.waitForTimeout(200)
            await eventually(async () => assert.deepStrictEqual(await violations(page), [], heading))
            const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert.isAtMost(Number(overflow), 0, `${heading} is wider than the screen`)
          }
        }, { ...shape, script: axe })
      }))
  })
})

describe.skipIf(isMissing)("a page for something that does not exist or cannot be read", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows the reason: no run, a broken record, another format, an unknown run, a lost transcript", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const { folder, run, url } = yield* Served.start
        const { visit } = yield* Browser
        const empty = yield* fs.makeTempDirectoryScoped()
        yield* visit(yield* Served.serve(empty), async (page) => {
          await page.getByText("There is no run here yet.").waitFor()
          await page.getByText("effect-rl train arithmetic", { exact: true }).waitFor()
        })

        yield* fs.makeDirectory(`${folder}/broken`)
        const records = yield* fs.readFileString(`${run}/records.jsonl`)
        yield* fs.writeFileString(`${folder}/broken/records.jsonl`, records.replace("Evaluating", "Elevating"))
        yield* fs.writeFileString(`${folder}/broken/payloads.jsonl`, "")
        yield* visit(url, async (page) => {
          await page.getByText(/cannot be read: .*line 2 was changed, moved or repeated after it was written/).waitFor()
        })
        const refused = ["Failed to load resource"]
        yield* visit(at(url, { at: "run", run: `${folder}/broken` }), async (page) => {
          await page.getByRole("alert").getByText("line 2 was changed").waitFor()
          await eventually(async () => assert.strictEqual(await page.getByText("Reading the records").count(), 0))
        }, { accepted: refused })
        yield* Effect.provide(Recorded.write(`${folder}/later`), NodeServices.layer)
        const config = `${folder}/later/config.json`
        yield* fs.writeFileString(
          config,
          (yield* fs.readFileString(config)).replace(/"format":\s*\d+/, "\"format\": 99")
        )
        yield* visit(url, async (page) => {
          await page.getByText(/cannot be read: .*has format 99, this version reads format \d+: update effect-rl/)
            .waitFor()
        })
        yield* visit(at(url, { at: "run", run: `${folder}/later` }), async (page) => {
          await page.getByRole("alert").getByText("has format 99").waitFor()
        }, { accepted: refused })
        yield* visit(at(url, { at: "run", run: "/etc" }), async (page) => {
          await page.getByRole("alert").getByText("there is no run \"/etc\"").waitFor()
        }, { accepted: refused })

        yield* fs.writeFileString(`${run}/payloads.jsonl`, "")
        yield* visit(at(url, { at: "group", run, iteration: 1, group: Recorded.first.mixed }), async (page) => {
          await page.getByRole("alert").getByText("has no payload at bytes").waitFor()
        }, { accepted: refused })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
