import { Draw } from "@effect-rl/core/testing"
import { Reaper } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Machine from "../Machine.ts"
import * as OwnFolder from "../OwnFolder.ts"
import * as Providers from "./Providers.ts"

const { EFFECT_RL_SEED: seed = "1", EFFECT_RL_SOAK: soak, EFFECT_RL_SOAK_VERDICTS: amount } = process.env
const least = Number(amount ?? (soak === undefined ? 30 : 3334))

/**
 * The longest time before a host is killed, in milliseconds. Hosts open their first sandboxes within seconds; some are killed before that.
 */
const longestMillis = soak === undefined ? 8000 : 20_000

/** Only guards against hangs: thousands of verdicts take an hour for some providers. */
const timeoutMillis = 7_200_000

const program = new URL("../programs/VerdictsHost.ts", import.meta.url).pathname

/** The verdicts that a host printed before it was killed after `millis` milliseconds. The last line may be incomplete. */
const verdictsOfKilled = (provider: Providers.Name, host: number, word: string, millis: number) =>
  Effect.callback<ReadonlyArray<string>>((resume) => {
    const child = spawn(
      process.execPath,
      [
        "--conditions=@effect-rl/source",
        "--disable-warning=ExperimentalWarning",
        program,
        provider,
        seed,
        String(host),
        word
      ],
      { stdio: ["ignore", "pipe", "ignore"] }
    )
    let text = ""
    child.stdout.on("data", (chunk) => text += String(chunk))
    setTimeout(() => child.kill("SIGKILL"), millis)
    child.once(
      "exit",
      () => resume(Effect.sync(() => text.split("\n").slice(0, -1).filter((line) => line.startsWith("verdict: "))))
    )
  })

/** Running processes whose environment or command line contains one of these words. */
const processesWith = (words: ReadonlyArray<string>) =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const texts = ["environ", "cmdline"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8"))
      return words.some((word) => texts.some((text) => text.includes(word))) ? [texts[1]] : []
    } catch {
      return []
    }
  })

const foldersBelow = (folder: string) => readdirSync(folder).flatMap((root) => readdirSync(join(folder, root)))

/** Kills hosts one after another while they produce verdicts, then runs the reaper once and checks what is left. */
const killHosts = Effect.fnUntraced(function*(provider: Providers.Name) {
  const folder = yield* OwnFolder.make
  const draw = Draw.make(Number(seed), provider)
  let verdicts: ReadonlyArray<string> = []
  let hosts = 0
  while (verdicts.length < least) {
    const word = randomUUID()
    verdicts = [...verdicts, ...yield* verdictsOfKilled(provider, hosts++, word, draw.integer(0, longestMillis))]
    const ids = foldersBelow(folder)
    yield* Reaper.reap
    assert.deepStrictEqual(foldersBelow(folder), [])
    yield* Effect.sleep("200 millis")
    assert.deepStrictEqual(processesWith([word, folder, ...ids]), [])
  }
  return { hosts, verdicts }
}, Effect.scoped)

describe(`${least} verdicts of hosts that are killed by SIGKILL at random moments`, { concurrent: false }, () => {
  for (const { name } of Providers.all) {
    const lacks = Machine.lacks[name]
    it.live.skipIf(lacks !== undefined || !existsSync("/proc"))(
      `are as expected, and one pass of the reaper leaves nothing of ${name}${
        lacks === undefined ? "" : ` (skipped: ${lacks})`
      }`,
      () =>
        Effect.gen(function*() {
          const { hosts, verdicts } = yield* killHosts(name)
          const unexpected = verdicts.filter((line) => line !== "verdict: expected")
          yield* Effect.logInfo(
            `${name}: ${verdicts.length} verdicts of ${hosts} hosts, ${unexpected.length} unexpected`
          )
          assert.deepStrictEqual(unexpected, [])
        }),
      timeoutMillis
    )
  }
})
