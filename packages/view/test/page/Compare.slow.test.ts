import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the page of a comparison", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows curves, a paired test, differing settings, and the first divergence", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        const better = [1, 1, 1, 1, 1]
        yield* Effect.provide(
          Recorded.write(`${folder}/second`, { identity: { learning_rate: 1e-3 }, evaluated: better }),
          NodeServices.layer
        )
        const { visit } = yield* Browser
        yield* visit(url, async (page) => {
          await page.getByRole("checkbox", { name: "first" }).check()
          await page.getByRole("checkbox", { name: "second" }).check()
          await page.getByRole("link", { name: "Compare 2 runs" }).waitFor()
          await page.keyboard.press("c")
          await page.getByRole("heading", { name: "Comparison of 2 runs" }).waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("svg.plot polyline.curve").count(), 2))
          const scores = (await page.getByRole("table", { name: "held-out problems" }).textContent()) ?? ""
          assert.match(
            scores,
            /no clear difference: the interval contains 0held_outsecond\+0\.4-0\.28 to \+1\.08about these runs alone0\.600 after 0 iterations, .*1\.000 after 0 .*2 \/ 0 \/ 3 of 5/
          )
          const panel = page.getByRole("region", { name: "first and second", exact: true })
          await eventually(async () => assert.match((await panel.textContent()) ?? "", /learning_rateabsent0\.001/))
          await panel.getByText("GroupRolledOut of held_out before training, group held/1").waitFor()
          const changed = page.getByRole("table", { name: "problems of held_out that changed from first to second" })
          await eventually(async () => assert.strictEqual(await changed.getByRole("row").count(), 3))
          const [, row = ""] = await changed.getByRole("row").allTextContents()
          assert.match(row, /^better: What is 2 \+ 3\?first, reward 0<img src=x .*second, reward 15$/)
          await changed.getByRole("link", { name: "second, reward 1" }).first().click()
          await page.getByRole("heading", { name: "held/1" }).waitFor()
          await page.goBack()
          await page.getByRole("link", { name: "runs" }).click()
          await page.getByRole("heading", { name: "Runs" }).waitFor()
        })
      }))

    it.effect("shows all metrics with a band over seeds, filtered, and over tokens", () =>
      Effect.gen(function*() {
        const { folder, run, url } = yield* Served.start
        const write = (name: string, identity: Readonly<Record<string, number>>, evaluated: ReadonlyArray<number>) =>
          Effect.provide(Recorded.write(`${folder}/${name}`, { identity, evaluated }), NodeServices.layer)
        yield* write("seed", { seed: 1 }, [1, 1, 1, 1, 1])
        yield* write("other", { learning_rate: 1e-3 }, [1, 1, 0, 0, 0])
        const { visit } = yield* Browser
        const others = new URLSearchParams(
          ["seed", "other"].map((name): [string, string] => ["others", `${folder}/${name}`])
        )
        yield* visit(`${url}/#at=compare&run=${encodeURIComponent(run)}&${others}`, async (page) => {
          const chart = (name: string) => page.locator("figure.small").filter({ hasText: name })
          await page.getByText("4 metrics").waitFor()
          const held = chart("held_out")
          await eventually(async () =>
            assert.deepStrictEqual(await held.locator("output").allTextContents(), ["0.8", "0.4"])
          )
          assert.strictEqual(await chart("optim/entropy").locator("rect.healthy").count(), 1)
          await page.keyboard.press("/")
          await page.keyboard.type("reward")
          await page.getByText("1 of 4 metrics").waitFor()
          await page.getByLabel("over").selectOption("tokens")
          await page.getByText("newest values, from tokens").waitFor()
        })
      }))

    it.effect("reads the metrics of runs of different lengths at the last position that all reached", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        for (const [name, losses] of [["short", [3, 2]], ["long", [4, 1, 0]]] as const) {
          yield* Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            yield* store.append(Recorded.opened(-1, { name }))
            for (const [iteration, nll] of losses.entries()) {
              const spent = { prefilled: 0, sampled: 0, trained: 100 * (iteration + 1) }
              yield* store.append({ _tag: "Updated", iteration, metrics: { nll }, updates: [], spent })
            }
          }).pipe(Effect.provide(RunDirectory.layer(`${folder}/${name}`)), Effect.provide(NodeServices.layer))
        }
        const { visit } = yield* Browser
        const fields = new URLSearchParams({
          at: "compare",
          run: `${folder}/short`,
          others: `${folder}/long`,
          axis: "tokens"
        })
        yield* visit(`${url}/#${fields}`, async (page) => {
          await page.getByText("values at tokens 200, the last that all have reached, of 300").waitFor()
          const readings = page.locator("figure.small", { hasText: "nll" }).locator("output")
          assert.deepStrictEqual(await readings.allTextContents(), ["2", "1"])
        })
      }))

    it.effect("shows supervised runs' losses, their curves and evaluations", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        const spent = { prefilled: 0, sampled: 0, trained: 100 }
        for (const [name, nll] of [["slow", 0.5], ["fast", 0.25]] as const) {
          yield* Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            yield* store.append(Recorded.opened(-1, { name }))
            yield* store.append({ _tag: "Updated", iteration: 0, metrics: { nll: 1 }, updates: [], spent })
            yield* store.append({ _tag: "Updated", iteration: 1, metrics: { nll }, updates: [], spent })
            const { reward: _, score: _score, ...evaluated } = Recorded.evaluated(2, 0)
            yield* store.append({ ...evaluated, metrics: { "held_out/nll": nll } })
          }).pipe(Effect.provide(RunDirectory.layer(`${folder}/${name}`)), Effect.provide(NodeServices.layer))
        }
        const { visit } = yield* Browser
        const fields = new URLSearchParams({ at: "compare", run: `${folder}/slow`, others: `${folder}/fast` })
        yield* visit(`${url}/#${fields}`, async (page) => {
          await page.getByRole("region", { name: "nll", exact: true }).waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("svg.plot polyline.curve").count(), 2))
          await page.getByRole("table", { name: "held-out losses" })
            .getByRole("row", {
              name: /^fast measured better than slow in these runs.* held_out nll fast -0\.25 – 0\.500 /
            })
            .waitFor()
        })
      }))

    it.effect("joins runs that differ only in their seeds into one curve with a band", () =>
      Effect.gen(function*() {
        const { folder, url } = yield* Served.start
        yield* Effect.provide(Recorded.write(`${folder}/second`, { identity: { seed: 1 } }), NodeServices.layer)
        const { visit } = yield* Browser
        const fields = new URLSearchParams({ at: "compare", run: `${folder}/first`, others: `${folder}/second` })
        yield* visit(`${url}/#${fields}`, async (page) => {
          await page.getByText("first, second (2 seeds) ± SE").waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("svg.plot polyline.curve").count(), 1))
          await page.getByText("None: up to the end of the shorter run, both recorded the same.").waitFor()
        })
      }))
  })
})
