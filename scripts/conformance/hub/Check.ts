/** Checks against the Hugging Face hub: published datasets, benchmarks, and the tokenizers of known models. */
import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { ModelRegistry, Renderers, Tokenizer } from "@effect-rl/core/renderers"
import { Hub, Repository } from "@effect-rl/files"
import { Benchmarks, ChatSets, CodeSets, MathSets, Source, TaskSets } from "@effect-rl/recipes"
import { Sandbox } from "@effect-rl/sandbox"
import { Effect, type FileSystem, Option, type Path, Stream } from "effect"

/** Number of rows to read from each split. */
const rowsRead = 5

type Services = Hub.Hub | Tokenizer.Tokenizers | FileSystem.FileSystem | Path.Path

export interface Check {
  readonly name: string
  /** What is checked, such as a split. */
  readonly what: string
  /** Returns a one-line result. */
  readonly run: Effect.Effect<string, { readonly message: string }, Services>
}

const used = (count: number, of: number) =>
  count > 0 ? Effect.succeed(count) : Effect.fail({ message: `none of ${of} rows can be used` })

const revisionOf = ({ pinned, repository }: Source.Source<unknown>) =>
  pinned === undefined
    ? Effect.map(
      Hub.Hub.use((hub) => hub.commit(Repository.dataset(repository, Source.convertedBranch))),
      (commit) => `unpinned, now ${commit.slice(0, 12)} of ${Source.convertedBranch}`
    )
    : Effect.succeed(`pinned to ${pinned.commit.slice(0, 12)}`)

/** Reads the first rows of every split. `use` gives what a row becomes; undefined for a row that is left out. */
const splitChecks = <Row>(source: Source.Source<Row>, use: (row: Row) => unknown): ReadonlyArray<Check> =>
  Object.keys(source.splits).map((split) => ({
    name: source.name,
    what: `${split} of ${source.repository}`,
    run: Effect.gen(function*() {
      const rows = yield* Stream.runCollect(Stream.take(Source.rows(source, split), rowsRead))
      const count = yield* used(rows.filter((row) => use(row) !== undefined).length, rows.length)
      return `${rows.length} rows as described, ${count} used; ${yield* revisionOf(source)}`
    })
  }))

const mathSet = <Row>({ problem, source }: MathSets.MathSet<Row>) =>
  splitChecks(source, (row) => Option.getOrUndefined(problem(row)))

const preferences = <Row>({ comparison, source }: ChatSets.PreferenceSet<Row>) =>
  splitChecks(source, (row) => Option.getOrUndefined(comparison(row)))

const codeTasks = <Row>({ source, task }: CodeSets.CodeSet<Row>) =>
  splitChecks(source, (row) => Option.getOrUndefined(task(row, 0)))

const chats = <Row>({ messages, source }: ChatSets.ChatSet<Row>) => splitChecks(source, messages)

/** Every published dataset. */
export const datasets: ReadonlyArray<Check> = [
  mathSet(MathSets.gsm8k),
  mathSet(MathSets.math),
  mathSet(MathSets.math500),
  mathSet(MathSets.deepMath),
  mathSet(MathSets.polaris),
  mathSet(MathSets.dapo),
  chats(ChatSets.noRobots),
  chats(ChatSets.tulu3),
  chats(ChatSets.openThoughts),
  preferences(ChatSets.hh),
  preferences(ChatSets.helpSteer3),
  preferences(ChatSets.ultraFeedback),
  splitChecks(TaskSets.ifeval, ({ prompt }) => prompt),
  splitChecks(TaskSets.searchQa, ({ question }) => question),
  splitChecks(TaskSets.toolUse, ({ query }) => query),
  codeTasks(CodeSets.deepCoder),
  codeTasks(CodeSets.deepCoderTest),
  codeTasks(CodeSets.liveCodeBench),
  codeTasks(CodeSets.mbpp),
  codeTasks(CodeSets.humanEval),
  codeTasks(CodeSets.humanEvalPlus)
].flat()

/** Only questions are read; no program is run. */
const noSandbox = Sandbox.Sandbox.layerScripted({ run: () => Effect.die("runs a program") })

/** Every benchmark. */
export const benchmarks: ReadonlyArray<Check> = Benchmarks.all.map(({ load, name }) => ({
  name,
  what: "benchmark",
  run: Effect.flatMap(
    Effect.provide(load({ limit: rowsRead }), noSandbox),
    ({ length }) => Effect.as(used(length, 0), `${length} questions`)
  )
}))

const texts = ["2 + 2 = 4", "naïve café, 東京 👩‍👩‍👧", "def f(x):\n\treturn x", "  spaces\r\n"]

const question = [Message.user("What is 2 + 3?")]

const tokenizerCheck = (name: string): Check => ({
  name,
  what: "tokenizer",
  run: Effect.gen(function*() {
    const tokenizer = yield* Tokenizer.Tokenizers.use(({ load }) => load(name))
    const other = texts.find((text) => tokenizer.decode(tokenizer.encode(text)) !== text)
    if (other !== undefined) {
      return yield* Effect.fail({ message: `${JSON.stringify(other)} decodes to a different text` })
    }
    const renderers = [
      ...new Set(ModelRegistry.models.flatMap((model) => model.tokenizer === name ? model.renderers : []))
    ]
    const written = yield* Effect.forEach(renderers, (renderer) =>
      Effect.gen(function*() {
        const { generationPrompt, stop } = yield* Renderers.byName(renderer, tokenizer)
        const { length } = yield* ModelInput.toTokens(yield* generationPrompt(question))
        return `${renderer} ${length} tokens, stop ${JSON.stringify(stop)}`
      }))
    return [`fingerprint ${tokenizer.fingerprint.slice(0, 12)}`, ...written].join("; ")
  })
})

/** The distinct tokenizers of all known models. */
export const tokenizers: ReadonlyArray<Check> = [...new Set(ModelRegistry.models.map(({ tokenizer }) => tokenizer))]
  .map(
    tokenizerCheck
  )
