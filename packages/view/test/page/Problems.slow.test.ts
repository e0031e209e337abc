import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

const problems = {
  "never": [0, 0, 0, 0],
  "lost": [1, 1, 0, 0],
  "unsure": [0, 1, 0, 1],
  "learned": [0, 0, 1, 1],
  "easy": [1, 1, 1, 1]
}

const written = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const run = `${folder}/run`
  yield* Recorded.writeProblems(run, problems)
  return { folder, run }
}).pipe(Effect.provide(NodeServices.layer))

describe.skipIf(isMissing)("the problems of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("are listed with their results over the evaluations, worst first, and link to their attempts", () =>
      Effect.gen(function*() {
        const { folder, run } = yield* written
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          await page.getByRole("link", { name: "problems", exact: true }).click()
          const rows = page.getByRole("table", { name: "problems" }).locator("tbody tr")
          const told = () => rows.locator("td:nth-child(-n+2)").allTextContents()
          await eventually(async () =>
            assert.deepStrictEqual(await told(), [
              "never",
              "never solved",
              "lost",
              "became worse",
              "unsure",
              "flaky",
              "learned",
              "became better",
              "easy",
              "always solved"
            ])
          )
          await page.getByRole("navigation", { name: "filter" }).getByText("solved at times 0", { exact: true })
            .waitFor()
          await page.getByRole("link", { name: "flaky 1" }).click()
          await eventually(async () => assert.deepStrictEqual(await told(), ["unsure", "flaky"]))
          await page.getByRole("link", { name: "unsure" }).click()
          await page.getByRole("heading", { name: "Group held/unsure" }).waitFor()
          assert.include(await page.evaluate("location.hash"), "iteration=3")
        })
      }))
  })
})

describe.skipIf(isMissing)("the rollouts of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("are one table that is sorted and filtered by values from records and transcripts", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByRole("link", { name: "rollouts", exact: true }).click()
          const rows = page.getByRole("table", { name: "rollouts" }).locator("tbody tr")
          await page.getByRole("heading", { name: "19 rollouts", exact: true }).waitFor()
          await page.getByText("Mean reward by tag: carry 0.625 of 4 rollouts · sums 0.75 of 8 rollouts").waitFor()

          await page.getByLabel("ended by").selectOption("max_turns")
          await eventually(async () => assert.strictEqual(await rows.count(), 2))
          await page.getByRole("link", { name: "clear" }).click()

          await page.getByLabel("rollouts of").selectOption("training")
          await eventually(async () => assert.strictEqual(await rows.count(), 14))
          await page.getByRole("columnheader", { name: "tokens" }).getByRole("link").click()
          await eventually(async () =>
            assert.match(
              (await rows.first().textContent()) ?? "",
              /^0\/rough, member 1iteration 10\.25-0\.37582max_turns/
            )
          )
          await page.getByLabel("measure").selectOption("judge_score")
          await eventually(async () => assert.match((await rows.first().textContent()) ?? "", /10completed/))
          await page.getByLabel("judge_score from").fill("11")
          await page.keyboard.press("Enter")
          await page.getByText("No rollout passes the filter.").waitFor()
          await page.goBack()

          await page.getByLabel("measure").selectOption("surprise")
          await page.getByText("Surprise is the mean of −log p of the sampled tokens, in nats.").waitFor()
          await rows.first().getByRole("link").click()
          await page.getByRole("heading", { name: /^Member/ }).waitFor()
        })
      }))

    it.effect("are found by the metric of failed tool calls", () =>
      Effect.gen(function*() {
        const { folder, run } = yield* written
        const { visit } = yield* Browser
        yield* visit(
          at(yield* Served.serve(folder), { at: "rollouts", run, metric: "tool_errors", above: 1 }),
          async (page) => {
            await page.getByRole("heading", { name: "10 of 20 rollouts", exact: true }).waitFor()
          }
        )
      }))
  })
})
