// Packs every package, installs the tarballs in a blank project, type-checks a program there and runs it on built files.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const npm = (args, cwd) => execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const project = mkdtempSync(join(tmpdir(), "effect-rl-pack-"))
const tarballs = join(project, "tarballs")
mkdirSync(tarballs)

npm(["run", "-s", "build"], ".")
npm(["run", "-s", "bundle", "-w", "packages/cli"], ".")
for (const name of readdirSync("packages")) {
  npm(["pack", "--ignore-scripts", "--pack-destination", tarballs, "-w", `packages/${name}`], ".")
}

writeFileSync(
  join(project, "package.json"),
  JSON.stringify({
    private: true,
    type: "module",
    dependencies: Object.fromEntries(
      readdirSync(tarballs).map((file) => [
        file.replace(/^effect-rl-(\w+)-.*$/, "@effect-rl/$1"),
        `file:tarballs/${file}`
      ])
    ),
    devDependencies: {
      typescript: "^7.0.2",
      "@types/node": "^24.0.0",
      "@effect/platform-node": "~4.1.0",
      effect: "~4.1.0"
    }
  })
)
writeFileSync(
  join(project, "tsconfig.json"),
  JSON.stringify({
    compilerOptions: {
      module: "NodeNext",
      target: "ES2022",
      strict: true,
      exactOptionalPropertyTypes: true,
      outDir: "out",
      types: ["node"]
    },
    include: ["main.ts"]
  })
)
writeFileSync(
  join(project, "main.ts"),
  `import * as NodeServices from "@effect/platform-node/NodeServices"
import { ChatModel, ProblemEnv, ProblemGroupBuilder, RLDataset, RunStore, Train } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Effect, Stream } from "effect"

const program = Stream.unwrap(Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const env = () => ProblemEnv.make({ model, question: "What is 2 + 3?", referenceAnswer: "5", checkAnswer: (text) => text.includes("5") })
  const dataset = RLDataset.fromArray([0, 1], { batchSize: 1, group: (i) => ProblemGroupBuilder.make({ key: \`sum/\${i}\`, size: 8, env }) })
  return Train.run({ model, dataset, learningRate: 1e-3, maxTokens: 16, evalEvery: 0 })
})).pipe(
  Stream.filter((event) => event._tag === "Iteration" || event._tag === "Finished"),
  Stream.runForEach((event) => Effect.log(event._tag)),
  Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
  Effect.provide(NodeServices.layer)
)

await Effect.runPromise(program)
`
)

try {
  npm(["install", "--no-audit", "--no-fund"], project)
  const tsc = join(project, "node_modules/typescript/bin/tsc")
  execFileSync(process.execPath, [tsc, "-p", "."], { cwd: project, stdio: "inherit" })
  console.log(execFileSync(process.execPath, ["out/main.js"], { cwd: project, encoding: "utf8" }))
  const command = join(project, "node_modules/.bin/effect-rl")
  execFileSync(command, ["train", "arithmetic", "--model", "effect-rl/tiny-64", "--steps", "1", "--eval-every", "0"], {
    cwd: project,
    stdio: "inherit"
  })
  console.log(`packed, type-checked and run on ${process.version}`)
} finally {
  rmSync(project, { recursive: true, force: true })
}
