import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

/** Writes a run of two iterations that saved twice and then failed in a rollout. */
const failed = (run: string) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    yield* store.append(Recorded.opened(-1))
    for (const [done, name] of ["000001", "000002"].entries()) {
      yield* store.append({
        ...Recorded.updated(done, 0.5),
        process: { memory: (done + 1) * 2 ** 30, processors: 1.5 }
      })
      yield* store.append(Recorded.evaluated(done + 1, done === 0 ? 0.75 : 0.5))
      yield* store.append(Recorded.saved(done + 1, name))
    }
    yield* store.append({
      _tag: "Failed",
      iteration: 2,
      error: "JudgeDown",
      message: "no answer",
      where: { iteration: 2, group: "sum-7", member: 3 }
    })
  }).pipe(Effect.provide(RunDirectory.layer(run)))

describe.skipIf(isMissing)("the page of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows how the run was started: changed settings first, command, versions, seed and machine", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          const panel = page.getByRole("region", { name: "What was run", exact: true })
          const changed = panel.getByRole("table", { name: "settings that differ from their defaults" })
          await changed.getByRole("row", { name: "digits 3 2 digits" }).waitFor()
          assert.strictEqual(await changed.getByRole("row").count(), 3)
          await panel.getByText(/effect-rl train arithmetic --digits 3 --note '<img/).waitFor()
          await panel.getByText(/node 24\.0\.0 · A fast one, 8 cores, 16 GiB of memory, Linux 6\.1 x64/).waitFor()
          await panel.getByText("Settings at their defaults", { exact: true }).click()
          await panel.getByRole("row", { name: "groupSize 8" }).waitFor()
          await panel.getByText("The whole configuration", { exact: true }).click()
          await panel.getByRole("row", { name: "loss_config.clip_low_threshold 0.8" }).waitFor()
        })
      }))

    it.effect("shows checkpoints with scores, commands for the best one, the failure, and the log", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/failed`
        yield* failed(run)
        yield* fs.writeFileString(`${run}/run.log`, `${"a line before\n".repeat(5000)}error: no answer\n`)
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          const checkpoints = page.getByRole("region", { name: "Checkpoints", exact: true })
          await checkpoints.getByRole("row", { name: /^000001 periodic 1 held_out 75\.0 %/ }).waitFor()
          await checkpoints.getByRole("heading", { name: "Use the best one, 000001" }).waitFor()
          const commands = await checkpoints.locator("dd code").allTextContents()
          assert.deepStrictEqual(commands, [
            `effect-rl chat --checkpoint ${run}@1`,
            `effect-rl eval arithmetic --checkpoint ${run}@1`,
            `effect-rl serve --checkpoints ${run}/checkpoints`,
            `effect-rl merge ${run}@1 --out merged`
          ])
          await page.getByRole("region", { name: "verdict" })
            .getByText("Failed after 2 iterations: JudgeDown in iteration 3, group \"sum-7\", member 3: no answer.")
            .waitFor()
          await eventually(async () =>
            assert.match((await page.getByLabel("log", { exact: true }).textContent()) ?? "", /error: no answer$/)
          )
          await page.getByText("run.log, its last 200 lines").waitFor()
          const uses = page.getByRole("table", { name: "use of the machine" }).locator("tbody tr")
          assert.deepStrictEqual(
            await Promise.all([0, 1].map((at) => uses.nth(at).locator("td.number, td:first-child").allTextContents())),
            [
              ["memory of the process, GiB", "1.5", "2", "2", "16"],
              ["processors busy for the process", "1.5", "1.5", "1.5", "8"]
            ]
          )
          await page.getByRole("link", { name: "Open iteration 3" }).click()
          await page.getByRole("heading", { name: "Iteration 3", level: 1 }).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
