import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Exit, FileSystem, Layer, Scope } from "effect"
import { createServer } from "node:http"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the page of a live run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("says that its server is gone, and how to see the run again", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* Recorded.write(`${folder}/run`)
        const serving = yield* Scope.make()
        const url = yield* Scope.provide(Served.serve(folder), serving)
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run: `${folder}/run` }), async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          await Effect.runPromise(Scope.close(serving, Exit.void))
          await page.getByRole("alert").getByText("To see runs again: effect-rl view").waitFor()
        }, { accepted: ["Failed to load resource"] })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("loads a transcript once its server is back, and tells a deleted run from a stopped server", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/run`
        yield* Recorded.write(run)
        const serving = yield* Scope.make()
        const url = yield* Scope.provide(Served.serve(folder), serving)
        const port = Number(new URL(url).port)
        const { visit } = yield* Browser
        const refused = ["Failed to load resource"]
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          await Effect.runPromise(Scope.close(serving, Exit.void))
          await page.getByRole("alert").waitFor()
          await page.goto(at(url, { at: "group", run, iteration: 1, group: Recorded.first.mixed }))
          await page.getByRole("alert").getByText("does not answer").waitFor()
          const again = await Effect.runPromise(Scope.make())
          await Effect.runPromise(Scope.provide(Served.serve(folder, { port }), again))
          await page.getByText("advantage -0.5").waitFor()
          await eventually(async () => assert.strictEqual(await page.getByRole("alert").count(), 0))

          await Effect.runPromise(Effect.orDie(fs.remove(run, { recursive: true })))
          await Effect.runPromise(Scope.close(again, Exit.void))
          const last = await Effect.runPromise(Scope.make())
          await Effect.runPromise(Scope.provide(Served.serve(folder, { port }), last))
          await page.getByRole("alert").getByText(`there is no run "${run}"`).waitFor()
          await Effect.runPromise(Scope.close(last, Exit.void))
        }, { accepted: refused })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("retries if a starting server accepted a request and did not answer it", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/run`
        yield* Recorded.write(run)
        const serving = yield* Scope.make()
        const url = yield* Scope.provide(Served.serve(folder), serving)
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.clock.install()
          await page.reload()
          await page.getByText("completed", { exact: true }).waitFor()
          await Effect.runPromise(Scope.close(serving, Exit.void))
          await page.getByRole("alert").waitFor()
          const port = Number(new URL(url).port)
          const silent = createServer()
          await new Promise<void>((resolve) => silent.listen(port, "127.0.0.1", resolve))
          const asked = new Promise((resolve) => silent.once("request", resolve))
          await page.goto(at(url, { at: "group", run, iteration: 1, group: Recorded.first.mixed }))
          await asked
          silent.close()
          const again = await Effect.runPromise(Scope.make())
          await Effect.runPromise(Scope.provide(Served.serve(folder, { port }), again))
          await page.clock.fastForward(30_000)
          await page.clock.fastForward(30_000)
          await page.getByText("advantage -0.5").waitFor()
          await Effect.runPromise(Scope.close(again, Exit.void))
          silent.closeAllConnections()
        }, { accepted: ["Failed to load resource"] })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("says that the server does not answer if a stopping server accepted the request for new records", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/run`
        yield* Recorded.write(run)
        const url = yield* Served.serve(folder)
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.clock.install()
          await page.route("**/api/events?*", () => {})
          await page.reload()
          await page.getByText("completed", { exact: true }).waitFor()
          await page.clock.fastForward(30_000)
          await page.getByRole("alert").getByText("does not answer").waitFor()
          await page.unrouteAll()
          await page.clock.fastForward(30_000)
          await eventually(async () => assert.strictEqual(await page.getByRole("alert").count(), 0))
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("shows each record as it arrives, keeps typed text, and says that the run was killed", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/live`
        const writing = yield* Scope.make()
        const store = Context.get(
          yield* Layer.buildWithScope(RunDirectory.layer(run), writing),
          RunStore.RunStore
        )
        yield* store.append(Recorded.opened(-1))
        yield* store.append({ _tag: "Sampling", iteration: 0, step: 0, groups: 400 })
        const url = yield* Served.serve(folder)
        const { visit } = yield* Browser
        const services = yield* Effect.context<never>()
        const append = (first: number, count: number) =>
          Effect.runPromiseWith(services)(
            Effect.forEach(
              Array.from({ length: count }, (_, index) => Recorded.simple(0, `problem ${first + index}`)),
              (entry) => store.append(entry),
              { discard: true }
            )
          )
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("sampling iteration 1: 0 of 400 groups", { exact: true }).waitFor()
          await append(0, 1)
          await page.getByText("sampling iteration 1: 1 of 400 groups", { exact: true }).waitFor()
          await page.goto(at(url, { at: "iteration", run, iteration: 1 }))
          await page.getByLabel("tokens from").fill("3")
          await append(1, 398)
          await page.locator("html[data-records='401']").waitFor()
          await eventually(async () => assert.strictEqual(await page.getByLabel("tokens from").inputValue(), "3"))
          await page.keyboard.press("Tab")
          await page.goto(at(url, { at: "run", run }))
          await page.getByText("sampling iteration 1: 399 of 400 groups", { exact: true }).waitFor()
          await Effect.runPromise(Scope.close(writing, Exit.void))
          await page.getByText("killed while sampling iteration 1: 399 of 400 groups", { exact: true }).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
