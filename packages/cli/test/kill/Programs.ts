/** Short runs of all training programs on the engine. */
import { AgentEnv, AgentGateway, Launcher } from "@effect-rl/agent"
import {
  type ChatModel,
  Credit,
  Dpo,
  type Env,
  EnvGroupBuilder,
  Evaluator,
  LearningRate,
  Loss,
  Pace,
  Preferences,
  Rl,
  RLDataset,
  type RunRecord,
  type RunStore,
  Supervised,
  SupervisedDataset,
  Tinker
} from "@effect-rl/core"
import { NllEvaluator, PreferenceEvaluator } from "@effect-rl/core/evaluation"
import type { RlOptions } from "@effect-rl/core/program"
import { Sums, WorkedSums } from "@effect-rl/recipes"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, type Scope, Stream } from "effect"
import { createServer } from "node:http"
import * as Agent from "./agent.ts"

interface Options {
  readonly model: ChatModel.ChatModel
  readonly saveEvery: number
}

type Run = Stream.Stream<RunRecord.RunRecord, unknown, Tinker.Tinker | RunStore.RunStore>

export interface Program {
  readonly run: (options: Options) => Run
  /** Minimum number of backend calls per operation in an uninterrupted run. */
  readonly calls: Readonly<Record<string, number>>
  /** Number of sequences that the run samples. */
  readonly sequences: number
}

export const iterations = 4
export const groupsPerIteration = 4
export const groupSize = 4
export const evaluatedAt = [0, 2, 4]
const evaluatedSums = 4

const lora = { rank: 8 }
const maxTokens = 24

const rl = <E, R>(
  { model, saveEvery }: Options,
  update: RlOptions.UpdateOptions<E, R>,
  pace: Pace.Pace = Pace.synchronous
) =>
  Rl.run({
    model,
    dataset: Sums.dataset(Sums.boxed, { model, batches: iterations, groupsPerBatch: groupsPerIteration, groupSize }),
    lora,
    sampling: { maxTokens },
    update: { learningRate: 1e-3, ...update },
    run: {
      saveEvery,
      evalEvery: 2,
      evaluators: [
        Evaluator.testSet({
          name: "held_out",
          groups: Sums.heldOut(model).slice(0, evaluatedSums),
          maxTokens
        })
      ]
    },
    pace
  })

const distilled = (options: Options) =>
  Stream.unwrap(Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const teacher = yield* tinker.createSamplingClient({ baseModel: "effect-rl/tiny-128" })
    return rl(options, { credit: Credit.distill({ teacher }), substeps: 2 })
  }))

/** Two epochs of six batches, each epoch in its own order. */
const imitated = ({ model, saveEvery }: Options) =>
  Supervised.run({
    model,
    dataset: SupervisedDataset.conversations(WorkedSums.examples().slice(0, 24), {
      model,
      batchSize: 4,
      epochs: 2,
      shuffle: true
    }),
    lora,
    run: {
      saveEvery,
      evalEvery: 6,
      evaluators: [
        NllEvaluator.make({
          name: "held_out",
          dataset: SupervisedDataset.conversations(WorkedSums.heldOutExamples().slice(0, 4), { model, batchSize: 4 })
        })
      ]
    }
  })

const preferred = ({ model, saveEvery }: Options) =>
  Dpo.run({
    model,
    dataset: Preferences.pairs(WorkedSums.preferences().slice(0, 32), { model, batchSize: 4, shuffle: true }),
    lora,
    update: { learningRate: 3e-4 },
    run: {
      saveEvery,
      evalEvery: 4,
      evaluators: [
        PreferenceEvaluator.make({
          name: "held_out",
          dataset: Preferences.pairs(WorkedSums.heldOutPreferences().slice(0, 4), { model, batchSize: 4 })
        })
      ]
    }
  })

/** An agent's prompt, and the text that its answer should contain. */
interface Task {
  readonly question: string
  readonly sum: string
}

const tasks = Array.from({ length: iterations * groupsPerIteration + evaluatedSums }, (_, index): Task => {
  const [left, right] = [index * 5 % 97, index * 11 % 89]
  return { question: `What is ${left} + ${right}?`, sum: `${left + right}` }
})

const agents = <E, R>(
  { model, saveEvery }: Options,
  makeEnv: (task: Task) => Effect.Effect<Env.Env<E>, never, R | Scope.Scope>
) => {
  const group = (size: number) => (task: Task) =>
    EnvGroupBuilder.make({ key: task.question, size, makeEnv: () => makeEnv(task) })
  return Rl.run({
    model,
    dataset: RLDataset.fromArray(tasks.slice(evaluatedSums), {
      groupsPerBatch: groupsPerIteration,
      group: group(groupSize)
    }),
    lora,
    sampling: { maxTokens },
    update: { learningRate: 1e-3, substeps: 2 },
    run: {
      saveEvery,
      evalEvery: 2,
      evaluators: [
        Evaluator.testSet({ name: "held_out", groups: tasks.slice(0, evaluatedSums).map(group(1)), maxTokens })
      ]
    }
  })
}

const rewarded = (said: string, { sum }: Task) => said.includes(sum) ? 1 : 0

/** Agents that are in-process functions. */
const functions = (options: Options) =>
  agents(options, (task) =>
    AgentEnv.make({
      model: options.model,
      run: async (session) => rewarded(await Agent.answer(session, options.model.name, task.question), task)
    }))

const gateway = Layer.merge(
  AgentGateway.AgentGateway.layer.pipe(
    Layer.provide(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
  ),
  Launcher.Launcher.unsafeHost
).pipe(Layer.provide(NodeServices.layer))

/** Agents that are programs, one started per episode. */
const commands = (options: Options) =>
  agents(options, (task) =>
    AgentGateway.env({
      model: options.model,
      run: Effect.fnUntraced(function*({ env }) {
        const { run } = yield* Launcher.Launcher
        const program = new URL("./agent.ts", import.meta.url).pathname
        const argv = [process.execPath, program, options.model.name, task.question] as const
        return rewarded((yield* run({ argv, env })).stdout, task)
      })
    })).pipe(Stream.provide(gateway))

const updates = (passes: Readonly<Record<string, number>>, steps: number) => ({
  ...passes,
  optimStep: steps,
  stepped: steps
})

const saves = (count: number) => ({ saveState: count, saved: count, saveWeights: count })

const sequences = iterations * groupsPerIteration * groupSize + evaluatedAt.length * evaluatedSums

const ofRl = (run: Program["run"], steps: number): Program => ({
  run,
  calls: { sample: sequences, ...updates({ forwardBackward: steps }, steps), ...saves(2) },
  sequences
})

const penalized = {
  substeps: 2,
  learningRate: LearningRate.cosine({ peak: 1e-3 }),
  kl: { coefficient: 0.05, postUpdate: true }
}

/** Programs whose outcome does not depend on the order in which groups end. */
export const determined = {
  synchronous: ofRl((options) => rl(options, { substeps: 2 }), 2 * iterations),
  supervised: {
    run: imitated,
    calls: { ...updates({ forwardBackward: 12 }, 12), forward: 3, ...saves(4) },
    sequences: 0
  },
  DPO: {
    run: preferred,
    calls: { computeLogprobs: 64, ...updates({ forwardBackwardCustom: 8 }, 8), forward: 3, ...saves(3) },
    sequences: 0
  },
  distillation: {
    ...ofRl(distilled, 2 * iterations),
    calls: {
      sample: sequences,
      computeLogprobs: iterations * groupsPerIteration * groupSize,
      ...updates({ forwardBackward: 2 * iterations }, 2 * iterations),
      ...saves(2)
    }
  },
  streaming: ofRl((options) => rl(options, {}, Pace.streaming({ minibatches: 3 })), iterations),
  "agents in this process": ofRl(functions, 2 * iterations),
  "agents that are programs": ofRl(commands, 2 * iterations),
  "KL penalty": ofRl((options) => rl(options, penalized), 2 * iterations),
  "asynchronous, none begun ahead": ofRl((options) => rl(options, {}, Pace.async({ maxStepsOffPolicy: 0 })), iterations)
} satisfies Readonly<Record<string, Program>>

/** Programs that train on groups in the order in which they end. */
export const scheduled = {
  asynchronous: ofRl(
    (options) => rl(options, { loss: Loss.ppo(), substeps: 2 }, Pace.async({ maxStepsOffPolicy: 1 })),
    2 * iterations
  ),
  "asynchronous streaming": ofRl(
    (options) => rl(options, { loss: Loss.ppo() }, Pace.async({ maxStepsOffPolicy: 1, minibatches: 2 })),
    iterations
  )
} satisfies Readonly<Record<string, Program>>

const programs: Readonly<Record<string, Program>> = { ...determined, ...scheduled }

export const named = (name: string): Program | undefined => programs[name]
