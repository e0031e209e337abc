import { Reaper, Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Machine from "./Machine.ts"
import * as OwnFolder from "./OwnFolder.ts"

const host = new URL("./programs/Host.ts", import.meta.url)

/** Running processes whose environment or command line names a temporary folder. */
const processesOf = (folder: string) =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(folder)
        || readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder)
    } catch {
      return false
    }
  })

/** Starts a process that runs endless programs in sandboxes of a provider, and kills it once they are running. */
const killedHost = (provider: string, folder: string) =>
  Effect.callback<void>((resume) => {
    const child = spawn(process.execPath, ["--conditions=@effect-rl/source", host.pathname, provider], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"]
    })
    child.stdout.on("data", (text) => String(text).includes("running") && child.kill("SIGKILL"))
    child.once("close", () => resume(Effect.void))
  })

const providers = [
  ["bubblewrap", Machine.lacksBubblewrap],
  ["wasi", Machine.lacksWasi],
  ["unsafe-host", Machine.lacksPython]
] as const

describe("a host that is killed by SIGKILL", { concurrent: false }, () => {
  for (const [provider, lacks] of providers) {
    it.live.skipIf(lacks !== undefined || !existsSync("/proc"))(
      `leaves no process and no folder of ${provider} after one pass of the reaper${
        lacks === undefined ? "" : ` (skipped: ${lacks})`
      }`,
      () =>
        Effect.gen(function*() {
          const folder = yield* OwnFolder.make
          yield* killedHost(provider, folder)
          const reaped = yield* Reaper.reap
          assert.strictEqual(reaped.hosts, 1)
          yield* Effect.sleep("200 millis")
          assert.deepStrictEqual(readdirSync(folder).flatMap((name) => readdirSync(join(folder, name))), [])
          assert.deepStrictEqual(processesOf(folder), [])
        }).pipe(Effect.scoped)
    )
  }

  it.live("is told apart from a live host, which the reaper leaves alone", () =>
    Effect.gen(function*() {
      yield* OwnFolder.make
      yield* Sandbox.Sandbox.use(({ open }) =>
        Effect.gen(function*() {
          const place = yield* open({ runtime: "shell", role: "agent", code: "scripted" })
          yield* place.write("kept", "x")
          assert.deepStrictEqual(yield* Reaper.reap, { hosts: 0, processes: 0 })
          assert.isDefined(yield* place.read("kept"))
        }).pipe(Effect.scoped)
      ).pipe(Effect.provide(Sandbox.Sandbox.layerUnsafeHost()))
    }).pipe(Effect.scoped))
})
