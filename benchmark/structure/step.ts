// Counts the core modules that run at least one function in a synchronous step on the scripted backend, measured by V8's coverage.
//   npm run bench:structure [-- --list]   lists each with its lines and the functions that ran
import { ChatModel, ProblemEnv, ProblemGroupBuilder, Rl, RLDataset, RunStore } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Layer, Stream } from "effect"
import { readFileSync } from "node:fs"
import { type Profiler, Session } from "node:inspector/promises"

const tokenizer = TestTokenizer.characters

const layer = Layer.mergeAll(
  ScriptedTinker.layer({
    sample: Script.reply(
      tokenizer,
      (_, { seed = 0 }) => Script.text(tokenizer, seed % 2 === 0 ? "2<|im_end|>" : "0<|im_end|>")
    )
  }),
  TestTokenizer.layer(tokenizer),
  RunStore.RunStore.layerMemory
)

const options = Effect.map(ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" }), (model) => ({
  model,
  dataset: RLDataset.fromArray(["1 + 1", "0 + 2"], {
    groupsPerBatch: 2,
    epochs: 3,
    group: (question) =>
      ProblemGroupBuilder.make({
        key: question,
        size: 4,
        env: () =>
          ProblemEnv.make({ model, question, referenceAnswer: "2", checkAnswer: (text) => text.trim() === "2" })
      })
  }),
  sampling: { maxTokens: 8 },
  update: { learningRate: 1e-2 },
  run: { evalEvery: 0 }
}))

/** Leaves out modules that are not part of a step: the formats of single model families, and the scripted backend. */
const isCounted = (url: string) =>
  /packages\/core\/(src|dist)\//.test(url) && !/\/(testing|chat|renderers|catalog)\//.test(url)

/** The functions of a module that ran. The function at offset 0 is the module's top-level code, which runs on import. */
const ranIn = ({ functions }: Profiler.ScriptCoverage) =>
  functions.flatMap(({ functionName, ranges: [whole] }) =>
    whole === undefined || whole.count === 0 || whole.startOffset === 0 ? [] : [functionName]
  )

const linesOf = (module: string) =>
  readFileSync(`packages/core/src/${module.replace(/\.js$/, ".ts")}`, "utf8").split("\n").length

const listed = (module: string, functions: ReadonlyArray<string>) =>
  `${module} (${linesOf(module)} lines): ${[...new Set(functions.filter((name) => name !== ""))].join(", ")}`

const program = Effect.gen(function*() {
  const configuration = yield* options
  const session = new Session()
  session.connect()
  /** The functions that ran since the last call. */
  const coverage = Effect.promise(() => session.post("Profiler.takePreciseCoverage"))
  yield* Effect.promise(() => session.post("Profiler.enable"))
  yield* Effect.promise(() => session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false }))
  const steps = yield* Rl.run(configuration).pipe(
    Stream.filter(({ _tag }) => _tag === "Updated"),
    Stream.mapEffect(() => coverage),
    Stream.runCollect
  )
  const modules = steps[1]?.result.filter(({ url }) => isCounted(url)).flatMap((script) => {
    const functions = ranIn(script)
    return functions.length === 0
      ? []
      : [{ module: script.url.replace(/.*packages\/core\/(?:src|dist)\//, ""), functions }]
  }) ?? []
  if (process.argv.includes("--list")) {
    yield* Effect.log(modules.map(({ module, functions }) => listed(module, functions)).sort().join("\n"))
  }
  yield* Effect.log(
    `${modules.length} of core's modules run in one synchronous step, renderers and the scripted backend aside`
  )
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)))
