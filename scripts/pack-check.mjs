// Packs every package, installs the tarballs in an empty project, type-checks a program there and runs it on the built files.
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { checkCreated } from "./create-check.mjs"
import { checkReadmes } from "./readme-check.mjs"
import { checkRuntimes } from "./runtimes-check.mjs"

/** Maximum gzipped bytes of one file of the page. */
const largestAsset = 250_000

const npm = (args, cwd) => execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

/** The median time of nine runs in milliseconds. */
const median = (work) =>
  Array.from({ length: 9 }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  }).toSorted((left, right) => left - right)[4]

const project = mkdtempSync(join(tmpdir(), "effect-rl-pack-"))
const tarballs = join(project, "tarballs")
execFileSync(process.execPath, ["scripts/pack.mjs", tarballs], { stdio: "inherit" })
for (const file of readdirSync(tarballs)) {
  execFileSync("npm", ["publish", join(tarballs, file), "--dry-run", "--access", "public"], { stdio: "pipe" })
  execFileSync("npx", ["publint", "run", join(tarballs, file), "--strict"], { stdio: ["ignore", "pipe", "inherit"] })
}
console.log("could be published: each package, by npm publish --dry-run and publint")

writeFileSync(
  join(project, "package.json"),
  JSON.stringify({
    private: true,
    type: "module",
    dependencies: Object.fromEntries(
      readdirSync(tarballs).map((file) => [
        file.replace(/^effect-rl-(\w+)-.*$/, "@effect-rl/$1").replace(/^(create-effect-rl)-.*$/, "$1"),
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
    include: ["main.ts", "threads.ts", "thread.ts"]
  })
)
writeFileSync(
  join(project, "main.ts"),
  `import * as NodeServices from "@effect/platform-node/NodeServices"
import { ChatModel, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Effect, Stream } from "effect"

const program = Stream.unwrap(Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const dataset = RLDataset.problems([2, 3], {
    model,
    groupsPerBatch: 1,
    groupSize: 8,
    problem: (n) => ({ question: \`What is 2 + \${n}?\`, answer: \`\${2 + n}\`, check: (text) => text.includes(\`\${2 + n}\`) })
  })
  return Rl.run({ model, dataset, sampling: { maxTokens: 16 }, update: { learningRate: 1e-3 } })
})).pipe(
  Stream.filter(RunRecord.guards.Updated),
  Stream.runForEach(({ iteration }) => Effect.log(\`iteration \${iteration}\`)),
  Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
  Effect.provide(NodeServices.layer)
)

await Effect.runPromise(program)
`
)
writeFileSync(
  join(project, "task.ts"),
  `import { Env, EnvGroupBuilder } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { RolloutTask } from "@effect-rl/core/program"
import { Effect, Schema } from "effect"

const prompt = Env.prompt(ModelInput.fromTokens([40, 41]), ["\\n"])
const env = (): Env.Env => ({
  initialObservation: Effect.succeed(prompt),
  step: ({ tokens }) => Effect.succeed({ _tag: "Done", reward: tokens.length })
})

export const task = RolloutTask.make("count", {
  payload: Schema.Struct({ index: Schema.Int }),
  builder: ({ index }) => EnvGroupBuilder.make({ key: \`count/\${index}\`, size: 2, makeEnv: () => Effect.sync(env) })
})
`
)
writeFileSync(
  join(project, "thread.ts"),
  `import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { WorkerThreads } from "@effect-rl/cluster"
import { TaskRegistry } from "@effect-rl/core/program"
import { ScriptedTinker } from "@effect-rl/core/testing"
import { Layer } from "effect"
import { task } from "./task.js"

WorkerThreads.worker.pipe(
  Layer.provide(TaskRegistry.TaskRegistry.layer(task)),
  Layer.provide(ScriptedTinker.layer()),
  Layer.launch,
  NodeRuntime.runMain
)
`
)
writeFileSync(
  join(project, "threads.ts"),
  `import { WorkerThreads } from "@effect-rl/cluster"
import { Policy, Rollout, Tinker } from "@effect-rl/core"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Effect, Stream } from "effect"
import { task } from "./task.js"

const program = Effect.gen(function*() {
  const client = yield* (yield* Tinker.Tinker).createSamplingClient({ baseModel: Script.defaultModel })
  const policy = Policy.fromSamplingClient(client, { maxTokens: 4, seed: 0 })
  const builders = [0, 1, 2].map((index) => task.builder({ index }))
  const results = yield* Stream.runCollect(Rollout.stream(builders, policy))
  yield* Effect.log(\`\${results.length} groups from threads\`)
})

const threads = WorkerThreads.layer({ file: new URL("./thread.js", import.meta.url), threads: 2 })
await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide([threads, ScriptedTinker.layer()])))
`
)

try {
  npm(["install", "--no-audit", "--no-fund"], project)
  const tsc = join(project, "node_modules/typescript/bin/tsc")
  execFileSync(process.execPath, [tsc, "-p", "."], { cwd: project, stdio: "inherit" })
  for (const program of ["out/main.js", "out/threads.js"]) {
    console.log(execFileSync(process.execPath, [program], { cwd: project, encoding: "utf8" }))
  }
  checkRuntimes(project)
  const closed = "@effect-rl/core/rollout/payload/PromptDelta"
  const attempt = `import("${closed}").then(() => process.exit(1), ({ code }) => console.log(code))`
  const refusal = execFileSync(process.execPath, ["--input-type=module", "--eval", attempt], {
    cwd: project,
    encoding: "utf8"
  })
  if (refusal.trim() !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw new Error(`${closed} is private, but: ${refusal}`)
  const command = join(project, "node_modules/.bin/effect-rl")
  execFileSync(command, [
    "train",
    "arithmetic",
    "--model",
    "effect-rl/tiny-64",
    "--iterations",
    "1",
    "--eval-every",
    "0"
  ], {
    cwd: project,
    stdio: "inherit"
  })
  const page = execFileSync(command, ["--help"], { cwd: project, encoding: "utf8" })
  const whole = join(project, "node_modules/@effect-rl/cli/dist/bin.mjs")
  const rendered = execFileSync(process.execPath, [whole, "--help"], { cwd: project, encoding: "utf8" })
  if (page !== rendered) throw new Error(`the packed help page is not the command's: ${page}`)
  const start = median(() => execFileSync(command, ["--help"], { cwd: project }))
  console.log(
    `effect-rl --help starts in ${
      (start / median(() => execFileSync(process.execPath, ["-e", "0"]))).toFixed(1)
    } × node -e 0`
  )
  for (const [format, out] of [["tensorboard", "events"], ["parquet", "rollouts.parquet"], ["html", "page.html"]]) {
    execFileSync(command, ["export", "runs/arithmetic-0", out, "--format", format], {
      cwd: project,
      stdio: "inherit"
    })
  }
  const server = spawn(command, ["view", "runs"], { cwd: project, stdio: ["ignore", "pipe", "inherit"] })
  try {
    const [line] = await once(server.stdout, "data")
    for (const path of ["/", "/assets/page.css", "/assets/page.js", "/api/runs"]) {
      const answer = await fetch(new URL(path, String(line).trim()))
      if (answer.status !== 200) throw new Error(`effect-rl view answered ${answer.status} for ${path}`)
      const { length } = gzipSync(await answer.text())
      if (length > largestAsset) {
        throw new Error(`${path} has ${length} bytes gzipped, expected at most ${largestAsset}`)
      }
    }
  } finally {
    server.kill()
  }
  await checkCreated(tarballs, project)
  await checkReadmes(tarballs, project)
  console.log(`packed, type-checked and run on ${process.version}`)
} finally {
  rmSync(project, { recursive: true, force: true })
}
