// Trains with the packed packages on Node, Bun and Deno; each must report the same rewards. Deno computes on its main thread.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const versions = { bun: "1.4.5", deno: "2.9.6" }

const program = `import * as NodeServices from "@effect/platform-node/NodeServices"
import { ChatModel, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Console, Effect, Stream } from "effect"

const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const dataset = RLDataset.problems([[25, 59], [3, 4], [40, 8]], {
    model,
    groupsPerBatch: 1,
    groupSize: 8,
    problem: ([a, b]) => ({ question: \`What is \${a} + \${b}?\`, answer: \`\${a + b}\`, check: (text) => text.length % 2 === 0 })
  })
  yield* Rl.run({ model, dataset, sampling: { maxTokens: 24 }, update: { learningRate: 1e-3 } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ reward }) => Console.log(\`reward \${reward?.mean}\`))
  )
})
const engine = Engine.layerOptions(process.argv[2] === "threads" ? {} : { workers: 0 })

await program.pipe(
  Effect.provide([engine, RunStore.RunStore.layerMemory]),
  Effect.provide(NodeServices.layer),
  Effect.runPromise
)
`

/** Checks the packages that are installed in the folder. */
export const checkRuntimes = (folder) => {
  writeFileSync(join(folder, "runtimes.mjs"), program)
  const rewards = (...command) =>
    execFileSync(command[0], command.slice(1), {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"]
    })
      .split("\n").filter((line) => line.startsWith("reward ")).join(", ")
  const expected = rewards(process.execPath, "runtimes.mjs", "threads")
  if (!/^reward [\d.]+(, reward [\d.]+){2}$/.test(expected)) {
    throw new Error(`Node reports "${expected}", expected three rewards`)
  }
  const place = join(folder, "runtimes")
  mkdirSync(place)
  writeFileSync(join(place, "package.json"), JSON.stringify({ private: true, dependencies: versions }))
  const installed = spawnSync("npm", ["install", "--no-audit", "--no-fund"], {
    cwd: place,
    stdio: ["ignore", "ignore", "inherit"]
  })
  if (installed.status !== 0) return console.log("not run: Bun and Deno, which npm could not install")
  const bin = (name) => join(place, "node_modules/.bin", name)
  for (
    const [name, ...command] of [
      ["Bun", bin("bun"), "runtimes.mjs", "threads"],
      ["Deno", bin("deno"), "run", "-A", "runtimes.mjs"]
    ]
  ) {
    const found = rewards(...command)
    if (found !== expected) throw new Error(`${name} reports ${found}, expected Node's ${expected}`)
    console.log(`${name} ${versions[name.toLowerCase()]}: ${found}, as on Node ${process.versions.node}`)
  }
}
