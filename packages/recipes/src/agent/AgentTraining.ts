/** The training of an agent on tasks, whichever way it is run. */
import { type ChatModel, type Env, type EnvGroupBuilder, Evaluator, FailurePolicy, RLDataset } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as AgentSettings from "./AgentSettings.ts"
import type { Split } from "./AgentTasks.ts"

/** The settings that every recipe of an agent has. */
export const Settings = Schema.Struct(AgentSettings.fields())
export type Settings = typeof Settings.Type

/** Tasks, and an environment for one of them. */
export interface Options<Task, E, R> {
  readonly name: string
  readonly split: Split<Task>
  readonly env: (task: Task, key: string) => Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope>
  /** Distinguishes runs beyond their tasks, such as by the command of the agent. */
  readonly form?: string
}

/** A member whose agent failed is tried once more, then left out: its failure is no reward, and does not concern the others. */
const leaveOut = FailurePolicy.fromDescription({
  maxRetries: 1,
  otherwise: {
    AcquireFailed: "abort",
    StepFailed: "drop",
    GraderFailed: "drop",
    Ungraded: "drop",
    PolicyFailed: "abort",
    HookFailed: "drop",
    TimedOut: "drop",
    Died: "drop"
  }
})

/** The environment, which waits for its turn among the agents that run, and gives it up at its end. */
const inTurn = Effect.fnUntraced(function*<E, R>(
  turns: Semaphore.Semaphore,
  make: Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope>
) {
  let isHeld = false
  const release = Effect.suspend(() => {
    if (!isHeld) return Effect.void
    isHeld = false
    return turns.release(1)
  })
  yield* Effect.acquireRelease(
    Effect.tap(turns.take(1), () => Effect.sync(() => void (isHeld = true))),
    () => release,
    { interruptible: true }
  )
  const env = yield* make
  return { ...env, leave: Effect.ensuring(env.leave ?? Effect.void, release) }
})

/** The limits of an episode and the names of the model that the settings say. */
export const episode = ({ agentTimeout, idleTimeout, maxRequests, names }: Settings) => ({
  names,
  idleTimeout,
  limits: { maxTurns: maxRequests, rolloutTimeout: agentTimeout }
})

/** The task of a recipe; tasks are keyed by their places. */
export const task = <Task, E, R>(
  model: ChatModel.ChatModel,
  settings: Settings,
  { env, form, name, split: { test, train } }: Options<Task, E, R>
) => {
  const turns = Semaphore.makeUnsafe(settings.agents)
  const options = TrainingSettings.options(model, settings)
  const group = (size: number) => (task: Task, index: number): EnvGroupBuilder.EnvGroupBuilder<E, R> => ({
    key: String(index),
    size,
    tags: [name],
    ...(form !== undefined && { form }),
    open: Effect.succeed({ makeEnv: () => inTurn(turns, env(task, String(index))) })
  })
  const { groupsPerBatch, groupSize, iterations, maxTokens, maxRequests } = settings
  const groups = test.map(group(1))
  return Recipe.task({
    turns: maxRequests,
    options: {
      ...options,
      dataset: RLDataset.fromArray(train, {
        groupsPerBatch,
        epochs: Math.max(1, Math.ceil(iterations / Math.ceil(train.length / groupsPerBatch))),
        shuffle: true,
        group: group(groupSize)
      }),
      rollout: { ...options.rollout, onFailure: leaveOut },
      run: {
        ...options.run,
        evaluators: groups.length === 0 ? [] : [Evaluator.testSet({ name: "held_out", groups, maxTokens })]
      }
    }
  })
}
