/** The training of an agent on tasks, shared by programs and functions. */
import { type ChatModel, type Env, type EnvGroupBuilder, Evaluator, FailurePolicy, RLDataset } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as AgentSettings from "./AgentSettings.ts"
import type { Split } from "./AgentTasks.ts"

/** The settings that every agent recipe has. */
export const Settings = Schema.Struct(AgentSettings.fields())
export type Settings = typeof Settings.Type

/** Tasks, and how to make an environment for one task. */
export interface Options<Task, E, R> {
  readonly name: string
  readonly split: Split<Task>
  readonly env: (task: Task, key: string) => Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope>
  /** Distinguishes runs that have the same tasks, for example by the agent's command. */
  readonly form?: string
}

/**
 * Retries a failed member once. If the member fails again, it is left out of its group without a reward, unless the environment could not
 * be acquired or the policy failed: then the run is aborted.
 */
const leaveOut = FailurePolicy.fromDescription({
  maxRetries: 1,
  otherwise: { ...FailurePolicy.always("drop"), AcquireFailed: "abort", PolicyFailed: "abort" }
})

/** The environment, run under a permit that limits concurrent agents. The permit is released when the episode ends. */
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

/** The episode limits and model names from the settings. */
export const episode = ({ agentTimeout, idleTimeout, maxRequests, names }: Settings) => ({
  names,
  idleTimeout,
  limits: { maxTurns: maxRequests, rolloutTimeout: agentTimeout }
})

/** A task that trains on `split.train` and evaluates on `split.test` unless it is empty. Groups are keyed by their task's index. */
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
