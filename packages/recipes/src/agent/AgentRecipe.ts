/** Recipes for your own agents: functions in this process that talk to a model, with the tasks to train them on. */
import { AgentEnv } from "@effect-rl/agent"
import { InvalidOption, type TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as AgentFrozen from "./AgentFrozen.ts"
import * as AgentSettings from "./AgentSettings.ts"
import type { Split } from "./AgentTasks.ts"
import * as AgentTraining from "./AgentTraining.ts"

export interface Options<Task, E, R, TE, TR> {
  readonly name: string
  /** The text in the help. Default: `The agent` followed by the name. */
  readonly description?: string
  /** The tasks to train on and to hold out, or an effect that loads them. Tasks are JSON values. */
  readonly tasks: Split<Task> | Effect.Effect<Split<Task>, TE, TR>
  /**
   * Runs the agent once and scores the outcome. In training, a failed run is repeated once, and then left out of its group without a
   * reward.
   */
  readonly run: (
    session: AgentEnv.Session,
    task: Task
  ) => Effect.Effect<AgentEnv.Verdict, E, R> | PromiseLike<AgentEnv.Verdict>
  /** The question of a task and its answer, shown in transcripts. */
  readonly shown?: (task: Task) => { readonly question?: string; readonly reference?: string }
  /** Defaults of the training settings and of `names` that replace those of agent recipes. */
  readonly defaults?: AgentSettings.Defaults
}

/**
 * A recipe that trains an agent. Export it as the default of a module to use it with `effect-rl train`, `eval` and `play`. Building its
 * task fails if there is no task to train on.
 *
 * @example
 * export default AgentRecipe.make({
 *   name: "capitals",
 *   tasks: { train: [["Peru", "Lima"], ["Kenya", "Nairobi"]], test: [["Japan", "Tokyo"]] },
 *   run: async ({ baseUrl, fetch }, [country = "", capital = ""]) => {
 *     const messages = [{ role: "user", content: `What is the capital of ${country}?` }]
 *     const body = JSON.stringify({ model: "effect-rl/tiny-tasks", messages })
 *     const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
 *     return (await response.text()).includes(capital) ? 1 : 0
 *   }
 * })
 */
export const make = <Task, E = never, R = never, TE = never, TR = never>(
  { defaults, description, name, run, shown, tasks }: Options<Task, E, R, TE, TR>
): Recipe.Recipe<unknown, R | TR> =>
  Recipe.make({
    name,
    description: description ?? `The agent ${name}`,
    settings: Schema.Struct(AgentSettings.fields(defaults)),
    build: Effect.fnUntraced(function*(model, settings) {
      const split = Effect.isEffect(tasks) ? yield* tasks : tasks
      if (split.train.length === 0) {
        return yield* new InvalidOption.InvalidOption({
          field: "tasks",
          found: "empty",
          expected: "a task to train on"
        })
      }
      const frozen = yield* AgentFrozen.make(model, settings)
      return yield* AgentTraining.task<
        Task,
        E | AgentEnv.AgentFailed | TinkerError.TinkerError | InvalidOption.InvalidOption,
        R
      >(model, settings, {
        name,
        split,
        env: (task) =>
          Effect.flatMap(frozen, (weights) =>
            AgentEnv.make<E, R>({
              model,
              ...weights,
              ...AgentTraining.episode(settings),
              ...(shown !== undefined && { task: shown(task) }),
              run: (session) => run(session, task)
            }))
      })
    })
  })
