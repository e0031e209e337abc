/** Asynchronous runs in virtual time, with given durations for groups, updates and publications. */
import {
  Env,
  type EnvGroupBuilder,
  FailurePolicy,
  Loss,
  type Pace,
  Rl,
  type RLDataset,
  RunRecord,
  RunStore,
  Tinker,
  type TinkerError
} from "@effect-rl/core"
import { ModelInput, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { RlOptions, Run } from "@effect-rl/core/program"
import type * as Dispatch from "@effect-rl/core/rl/schedule/Dispatch"
import * as Training from "@effect-rl/core/rl/Training"
import * as GroupPayload from "@effect-rl/core/rollout/payload/GroupPayload"
import { Call, ScriptedTinker, Simulation, TestTokenizer } from "@effect-rl/core/testing"
import { Clock, Effect, Layer, Logger, Stream } from "effect"
import * as Scripted from "../../rollout/Scripted.ts"
import * as Task from "../Task.ts"

/** What a group does. */
export interface Group {
  /** The time that the environments of its two members take per turn; undefined means forever. */
  readonly seconds: number | undefined
  /** Turns per member, each of which reads everything before it; default 1. */
  readonly turns?: number
  /** The time to sample a token; default 0. */
  readonly tokenSeconds?: number
  /** Whether both members earn the same reward. */
  readonly isConstant?: boolean
}

/** Splits groups into batches of equal size. */
export const inBatches = (groups: ReadonlyArray<Group>, size: number): ReadonlyArray<ReadonlyArray<Group>> =>
  Array.from({ length: Math.ceil(groups.length / size) }, (_, batch) => groups.slice(batch * size, (batch + 1) * size))

export interface World {
  readonly batches: ReadonlyArray<ReadonlyArray<Group>>
  /** The seconds that a pass takes. */
  readonly trainSeconds: number
  readonly publishSeconds: number
}

/** Observations by group key: when each group was opened, and the step number of the weights of each request. */
export interface Seen {
  readonly opened: Array<{ readonly key: string; readonly seconds: number }>
  readonly sampled: Array<{ readonly key: string; readonly step: number }>
}

export const unseen = (): Seen => ({ opened: [], sampled: [] })

const now = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const builder = (
  id: number,
  { isConstant = false, seconds, turns = 1 }: Group,
  seen: Seen
): EnvGroupBuilder.EnvGroupBuilder => {
  const key = String(id)
  const passing = seconds === undefined ? Effect.never : Effect.sleep(1000 * seconds)
  const first = Env.prompt(ModelInput.fromTokens(Int32Array.of(id, 0, 0)), Scripted.stop)
  const makeEnv = (member: number): Env.Env => {
    const left = { turns }
    let prompt = first
    return {
      initialObservation: Effect.succeed(prompt),
      step: ({ tokens }) =>
        Effect.map(passing, () => {
          left.turns--
          prompt = { ...prompt, input: ModelInput.append(prompt.input, tokens) }
          return left.turns === 0
            ? Scripted.done(isConstant ? 0 : member)
            : { _tag: "Continue", reward: 0, observation: prompt }
        })
    }
  }
  return {
    key,
    size: 2,
    tags: [],
    open: Effect.map(now, (at) => {
      seen.opened.push({ key, seconds: at })
      return {
        makeEnv: (member) => Effect.sync(() => makeEnv(member))
      }
    })
  }
}

/** A dataset whose keys number the groups of all batches. */
const dataset = ({ batches }: World, seen: Seen): RLDataset.RLDataset => ({
  length: batches.length,
  fingerprint: "groups that take their time",
  batch: (index) => {
    const before = batches.slice(0, index).flat().length
    const groups = batches[index] ?? []
    return Effect.succeed(groups.map((group, position) => builder(before + position, group, seen)))
  }
})

/** A sequence whose tokens are the step number of the weights. */
const sequenceAt = (step: number): Sampling.SampledTokens => ({
  tokens: Int32Array.of(step, step),
  logprobs: Float32Array.of(-1, -1),
  stopReason: "stop"
})

const firstToken = (prompt: ModelInput.ModelInput) => {
  const [chunk] = prompt.chunks
  return chunk?._tag === "EncodedText" ? chunk.tokens[0] : undefined
}

/** A backend on which an update's passes take no time; the optimizer step takes it all, as in the recorded schedules. */
export const backend = ({ batches, publishSeconds, trainSeconds }: World, seen: Seen) => {
  const groups = batches.flat()
  let passes = 0
  const scripted = ScriptedTinker.layer({
    sample: (request, { step }) => {
      const id = firstToken(request.prompt) ?? NaN
      seen.sampled.push({ key: String(id), step })
      const sequence = sequenceAt(step)
      const { tokenSeconds = 0 } = groups[id] ?? {}
      const answer = { sequences: [sequence] }
      return tokenSeconds === 0
        ? answer
        : Effect.delay(Effect.succeed(answer), 1000 * tokenSeconds * sequence.tokens.length)
    },
    forwardBackward: ({ data }) => {
      passes++
      const logprobs = data.map(({ inputs }) => "logprobs" in inputs ? inputs.logprobs : new Float32Array(0))
      return { logprobs, metrics: { "loss:sum": 0 } }
    },
    optimStep: () => {
      const seconds = trainSeconds * passes
      passes = 0
      return Effect.delay(Effect.succeed({}), 1000 * seconds)
    }
  })
  const slow = (client: TrainingClient.TrainingClient) => ({
    ...client,
    saveWeightsAndGetSamplingClient: Effect.delay(client.saveWeightsAndGetSamplingClient, 1000 * publishSeconds)
  })
  const tinker = Effect.map(Tinker.Tinker, (tinker) =>
    Tinker.Tinker.of({
      ...tinker,
      createLoraTrainingClient: (options) => Effect.map(tinker.createLoraTrainingClient(options), slow),
      createTrainingClientFromState: (path) => Effect.map(tinker.createTrainingClientFromState(path), slow)
    }))
  return Layer.effect(Tinker.Tinker, tinker).pipe(
    Layer.provideMerge(scripted),
    Layer.merge(TestTokenizer.layer(Task.tokenizer)),
    Layer.merge(Logger.layer([])),
    Layer.merge(RunStore.RunStore.layerMemory)
  )
}

export interface Settings {
  readonly overrides?: Pick<Rl.Options<never, never, TinkerError.TinkerError>, "run" | "rollout" | "update">
  /** Replaces the pace's own rules. */
  readonly rules?: typeof Dispatch.rules
}

/** Trains to the end. */
export const training = Effect.fnUntraced(function*(
  world: World,
  pace: Pace.Pace,
  { overrides = {}, rules }: Settings,
  seen: Seen
) {
  const options = {
    model: yield* Task.model,
    dataset: dataset(world, seen),
    sampling: { maxTokens: 8 },
    ...overrides,
    rollout: { maxDroppedShare: 1, onFailure: FailurePolicy.retryOnFailure(), ...overrides.rollout },
    update: { loss: Loss.ppo(), ...overrides.update },
    run: { evalEvery: 0, ...overrides.run },
    pace
  }
  if (rules === undefined) return yield* Stream.runDrain(Rl.run(options))
  const resolved = yield* RlOptions.resolve(options)
  yield* Stream.runDrain(Run.stream(Training.program(resolved, rules), options))
})

/** The groups that were rolled out. */
export const results = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  const rolledOut = (yield* Task.records).filter(RunRecord.guards.GroupRolledOut)
  const payloads = yield* Effect.forEach(rolledOut.flatMap(({ payload }) => payload ?? []), store.payload)
  return yield* Effect.forEach(payloads, GroupPayload.decode)
})

/** Runs a pace in a world and returns its records. */
export const run = Effect.fnUntraced(function*(
  world: World,
  pace: Pace.Pace,
  { options = {}, seed = 0, ...settings }: Settings & {
    readonly seed?: number
    readonly options?: Simulation.Options
  } = {}
) {
  const seen = unseen()
  return yield* Effect.gen(function*() {
    const simulation = yield* Simulation.run(seed, training(world, pace, settings, seen), {
      deadline: "30 days",
      ...options
    })
    const calls = yield* Call.CallLog.use(({ calls }) => calls)
    return { simulation, seen, calls, records: yield* Task.records, results: yield* results, held: yield* Task.live }
  }).pipe(Effect.provide(backend(world, seen), { local: true }))
})

export type Ran = Effect.Success<ReturnType<typeof run>>
