/** Recipes made from eval files, to train, play and evaluate a model on what the file measures. */
import { AgentEnv } from "@effect-rl/agent"
import { type InvalidOption, Tinker, type TinkerError } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as AgentFrozen from "../agent/AgentFrozen.ts"
import type * as AgentScorer from "../agent/AgentScorer.ts"
import * as AgentSettings from "../agent/AgentSettings.ts"
import type { Split } from "../agent/AgentTasks.ts"
import * as AgentTraining from "../agent/AgentTraining.ts"
import * as Recipe from "../Recipe.ts"
import * as EvalModule from "./EvalModule.ts"
import * as EvalRequests from "./EvalRequests.ts"
import * as EvalScore from "./EvalScore.ts"

export { isEval } from "./EvalModule.ts"

interface Task extends EvalModule.Row {
  readonly definition: EvalModule.Definition
}

const textOf = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

/**
 * Holds out a quarter of the inputs, those with the lowest hashes, and at least one if there are two or more. Rows with the same input stay
 * in the same part.
 */
const holdOut = (tasks: ReadonlyArray<Task>): Split<Task> => {
  const inputs = [...new Set(tasks.map(({ input }) => textOf(input)))]
  const sorted = inputs.map((input) => ({ input, hash: Seed.derive(0, "EvalRecipe", input) })).toSorted((a, b) =>
    a.hash - b.hash
  )
  const count = inputs.length < 2 ? 0 : Math.max(1, Math.floor(inputs.length / 4))
  const held = new Set(sorted.slice(0, count).map(({ input }) => input))
  const isHeld = ({ input }: Task) => held.has(textOf(input))
  return { train: tasks.filter((task) => !isHeld(task)), test: tasks.filter(isHeld) }
}

type Failure =
  | AgentEnv.AgentFailed
  | AgentScorer.NoVerdict
  | InvalidOption.InvalidOption
  | TinkerError.TinkerError

/** The model name for requests of scorers. The base model answers them and is not trained. */
const scorerModel = "scorer"

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  Predicate.isObject(value) && Symbol.asyncIterator in value

/** The complete output. The chunks of a stream are joined. */
const whole = async (output: unknown) => {
  if (!isStream(output)) return output
  let text = ""
  for await (const chunk of output) text += String(chunk)
  return text
}

const failed = (error: unknown) =>
  new AgentEnv.AgentFailed({ detail: Predicate.isError(error) ? `${error.name}: ${error.message}` : String(error) })

/** Runs the task of a row and then its scorers, and returns their score. */
const run = Effect.fnUntraced(function*(
  { definition: { scorers, task }, expected, input }: Task,
  session: AgentEnv.Session,
  { frozen, name }: { readonly frozen: ReadonlySet<string>; readonly name: string }
) {
  const modelOf = (asked: unknown) => typeof asked === "string" && frozen.has(asked) ? asked : name
  const output = yield* Effect.tryPromise({
    try: () => EvalRequests.as({ session, modelOf }, async () => whole(await task(input))),
    catch: failed
  })
  const asScorer = scorers.map(({ name, score }): EvalModule.Scorer => ({
    name,
    score: (scored) => EvalRequests.as({ session, modelOf: () => scorerModel }, () => score(scored))
  }))
  return yield* EvalScore.of(asScorer, { input, output, ...(expected !== undefined && { expected }) })
})

/** Logs each kind of scorer failure once, because the failed attempts are left out of all other output. */
const warning = () => {
  const said = new Set<string>()
  return ({ message }: AgentScorer.NoVerdict) => {
    if (said.has(message)) return Effect.void
    said.add(message)
    return Effect.logWarning(`no reward: ${message}`)
  }
}

/**
 * Makes a recipe from an unmodified eval file for evalite or in the style of vitest-evals. Each row is a problem. The row's task runs with
 * its OpenAI, Anthropic or AI SDK client connected to the model in training, and its scorers score the output. Model requests of scorers
 * are answered by the base model.
 *
 * @example
 * const recipe = EvalRecipe.fromFile("capitals.eval.ts")
 */
export const fromFile = Effect.fn("EvalRecipe.fromFile")(function*(file: string) {
  const path = yield* Path.Path
  yield* EvalRequests.route
  const url = yield* Effect.orDie(path.toFileUrl(path.resolve(file)))
  const definitions = yield* EvalModule.load(file, url.href)
  const name = path.basename(file).replace(/\.eval\.\w+$/, "")
  return Recipe.make({
    name,
    description: `The evals of ${path.basename(file)}: ${definitions.map(({ name }) => name).join(", ")}`,
    settings: Schema.Struct(AgentSettings.fields()),
    build: Effect.fnUntraced(function*(model, settings) {
      const tasks = yield* Effect.forEach(
        definitions,
        (definition) =>
          Effect.map(EvalModule.rows(file, definition), (rows) => rows.map((row): Task => ({ ...row, definition })))
      )
      const hasBackend = Option.isSome(yield* Effect.serviceOption(Tinker.Tinker))
      const frozen = hasBackend ? [...settings.frozen, scorerModel] : settings.frozen
      const warn = warning()
      const open = yield* AgentFrozen.make(model, { names: settings.names, frozen })
      return yield* AgentTraining.task<Task, Failure, never>(model, settings, {
        name,
        split: holdOut(tasks.flat()),
        env: (task) =>
          Effect.flatMap(open, (weights) =>
            AgentEnv.make({
              model,
              ...weights,
              ...AgentTraining.episode(settings),
              task: {
                question: textOf(task.input),
                ...(task.expected !== undefined && { reference: textOf(task.expected) })
              },
              run: (session) =>
                Effect.tapErrorTag(
                  run(task, session, { name: model.name, frozen: new Set(Object.keys(weights.frozen)) }),
                  "NoVerdict",
                  warn
                )
            }))
      })
    })
  })
})
