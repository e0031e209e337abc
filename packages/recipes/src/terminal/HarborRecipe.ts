/** Recipes of terminal tasks in Harbor's folder format. The model works in one sandbox, and the task's tests judge its files in another. */
import { type ChatModel, Evaluator, InvalidOption, RLDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Sandbox, SandboxError } from "@effect-rl/sandbox"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as HarborTask from "./HarborTask.ts"
import * as ShellEnv from "./ShellEnv.ts"
import * as ShellSolution from "./ShellSolution.ts"
import type { ShellTask } from "./ShellTask.ts"

export interface Options extends HarborTask.Options {
  readonly name: string
  readonly description?: string
  /** The folder that contains a folder for each task. */
  readonly tasks: string
  /** The number of held-out tasks: those whose names have the lowest hashes. Default: a fifth, rounded down. */
  readonly heldOut?: number
  /** The most turns of an episode. Default: 20. */
  readonly maxTurns?: number
  /** Time limit of each command. Default: 30 seconds. */
  readonly commandTimeout?: Duration.Input
  /** Training defaults that replace those of this module. */
  readonly defaults?: Partial<TrainingSettings.Defaults>
}

const standard: TrainingSettings.Defaults = {
  model: "effect-rl/tiny-tasks",
  iterations: 20,
  groupsPerBatch: 8,
  groupSize: 8,
  learningRate: 1e-3,
  maxTokens: 1024,
  evalEvery: 10
}

const unsupported = (provider: string, capability: string, detail: string) =>
  new SandboxError.SandboxError({
    provider,
    operation: "probe",
    reason: new SandboxError.Unsupported({ capability, detail })
  })

/** Fails before sampling if the sandbox cannot run the tests. */
const needsShell = Effect.gen(function*() {
  const { capabilities, provider } = yield* Sandbox.Sandbox
  if (capabilities.runtimes.includes("shell") && capabilities.folders === true) return
  const detail = "terminal tasks need a shell and folders at absolute paths, such as bubblewrap offers"
  return yield* unsupported(provider, "runtime", detail)
})

/** Fails before sampling if a task has servers and the sandbox cannot start any. */
const needsServers = Effect.fnUntraced(function*(tasks: ReadonlyArray<ShellTask>) {
  const { capabilities, provider } = yield* Sandbox.Sandbox
  const task = tasks.find(({ servers = [] }) => servers.length > 0)
  if (task === undefined || capabilities.start === true) return
  const detail = `the task ${task.id} has MCP servers, which need long-running processes, such as bubblewrap offers`
  return yield* unsupported(provider, "start", detail)
})

const split = Effect.fnUntraced(function*(tasks: ReadonlyArray<ShellTask>, heldOut: number) {
  const held = new Set(
    tasks.map(({ id }) => id).toSorted((a, b) => Seed.derive(0, a) - Seed.derive(0, b)).slice(0, heldOut)
  )
  if (held.size < tasks.length) {
    return { train: tasks.filter(({ id }) => !held.has(id)), test: tasks.filter(({ id }) => held.has(id)) }
  }
  return yield* new InvalidOption.InvalidOption({
    field: "heldOut",
    found: String(heldOut),
    expected: `fewer than the ${tasks.length} tasks, so at least one is left to train on`
  })
})

const group =
  (model: ChatModel.ChatModel, { commandTimeout, maxTurns, name }: Options, size: number) => (task: ShellTask) => ({
    key: task.id,
    size,
    tags: [name],
    open: Effect.succeed({
      makeEnv: () =>
        ShellEnv.make({
          model,
          task,
          ...(maxTurns !== undefined && { maxTurns }),
          ...(commandTimeout !== undefined && { commandTimeout })
        })
    })
  })

/** The task whose instruction the prompt contains. The longest one wins, because an instruction may be part of another. */
const taskIn = (tasks: ReadonlyArray<ShellTask>, prompt: string) =>
  tasks.filter(({ instruction }) => prompt.includes(instruction)).toSorted((a, b) =>
    b.instruction.length - a.instruction.length
  )[0]

/** The reference answer to a prompt: a call of the task's solution, or `Done.` if the prompt contains the result of a call. */
const answerTo = (tasks: ReadonlyArray<ShellTask>) => (prompt: string) => {
  const task = taskIn(tasks, prompt)
  if (task?.solution === undefined) return Option.none()
  return Option.some(prompt.includes("<tool_response>") ? "Done." : ShellSolution.call(task.solution))
}

/**
 * A recipe of the tasks in a folder. Export it as the default of a module to use it with `effect-rl train`, `eval`, `play` and `validate`.
 *
 * @example
 * export default HarborRecipe.make({ name: "chores", tasks: "tasks", images: ["debian:12-slim"] })
 *
 * @see tinker-cookbook `harbor_rl`
 */
export const make = (
  given: Options
): Recipe.Recipe<unknown, FileSystem.FileSystem | Path.Path | Sandbox.Sandbox> =>
  Recipe.make({
    name: given.name,
    description: given.description ?? `The terminal tasks in ${given.tasks}`,
    runsCode: true,
    settings: Schema.Struct(TrainingSettings.fields({ ...standard, ...given.defaults })),
    build: Effect.fnUntraced(function*(model, settings) {
      yield* needsShell
      const all = yield* HarborTask.readAll(given.tasks, given)
      yield* needsServers(all)
      const { test, train } = yield* split(all, given.heldOut ?? Math.floor(all.length / 5))
      const options = TrainingSettings.options(model, settings)
      const { groupsPerBatch, iterations } = settings
      return yield* Recipe.task({
        turns: given.maxTurns ?? ShellEnv.maxTurns,
        answerTo: answerTo(all),
        options: {
          ...options,
          dataset: RLDataset.fromArray(train, {
            groupsPerBatch,
            epochs: Math.max(1, Math.ceil(iterations / Math.ceil(train.length / groupsPerBatch))),
            shuffle: true,
            group: group(model, given, settings.groupSize)
          }),
          run: {
            ...options.run,
            evaluators: test.length === 0 ? [] : [
              Evaluator.testSet({
                name: "held_out",
                groups: test.map(group(model, given, 1)),
                maxTokens: settings.maxTokens,
                concurrency: 16
              })
            ]
          }
        }
      })
    })
  })
