/** Reinforcement learning as a stream of events. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as AdaptiveLimiter from "../backend/AdaptiveLimiter.ts"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import * as Limits from "../env/Limits.ts"
import * as Advantage from "../learn/Advantage.ts"
import * as Signal from "../learn/Signal.ts"
import * as TrainingData from "../learn/TrainingData.ts"
import * as Policy from "../policy/Policy.ts"
import * as Fields from "../record/Fields.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type { RunError, RunStore } from "../record/RunStore.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Checkpoints from "./Checkpoints.ts"
import * as Config from "./Config.ts"
import * as Dropped from "./Dropped.ts"
import type * as Event from "./Event.ts"
import * as Finishing from "./Finishing.ts"
import * as Journal from "./Journal.ts"
import * as Run from "./Run.ts"
import * as StepMetrics from "./StepMetrics.ts"
import type { TrainError } from "./TrainError.ts"
import * as TrainStep from "./TrainStep.ts"

export type { Config } from "./Config.ts"
export type * from "./Event.ts"

/** Fails with the first field that no run can be made of, as `run` does before anything else. */
export const validate = <E, R, EE, ER, HE, HR>(
  config: Config.Config<E, R, EE, ER, HE, HR>
): Effect.Effect<void, TrainError> => Config.validate(config, Config.resolve(config))

/**
 * Samples, compares, trains, repeats: on-policy, one iteration after the other. The stream ends with `Finished`; ending it
 * early, by taking less, by a timeout or by interruption, finishes the update under way and saves before it returns, waiting no
 * longer than `interruptTimeout`. With a `RunStore` that holds a run, goes on after its newest checkpoint.
 *
 * @see tinker-cookbook `rl.train.main`, `do_sync_training`
 */
export const run = <E, R, EE = never, ER = never, HE = never, HR = never>(
  config: Config.Config<E, R, EE, ER, HE, HR>
): Stream.Stream<
  Event.Event,
  E | EE | HE | TinkerError | TrainError | RunError | RolloutError | InvalidOption,
  Exclude<R | HR, Scope.Scope> | ER | Tinker | RunStore
> =>
  Stream.unwrap(Effect.map(Run.open<E | HE, R | HR, EE, ER>(config), (run) => {
    const remaining = Math.max(0, run.resolved.iterations - run.first)
    const iterations = Stream.fromIterable(Array.from({ length: remaining }, (_, index) => run.first + index))
    return Stream.make(started(run)).pipe(
      Stream.concat(Stream.flatMap(iterations, (iteration) => iterate(run, iteration))),
      Stream.concat(finish(run))
    )
  }))

/** Evaluates when due, samples a batch, then learns from it. */
const iterate = <E, R, EE, ER>(run: Run.Run<E, R, EE, ER>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    if (yield* run.budget.isExhausted) return Stream.empty
    const client = yield* run.client.saveWeightsAndGetSamplingClient
    const isDue = run.resolved.evalEvery > 0 && iteration % run.resolved.evalEvery === 0
    const evaluated = yield* sampler(run, client, "evaluation")
    const trained = yield* sampler(run, client, "training")
    return (isDue ? evaluate(run, evaluated, iteration) : Stream.empty).pipe(
      Stream.concat(sampleAndLearn(run, trained, iteration))
    )
  }))

/** Metered around the limiter, as a request that waits for tokens may wait forever and must not hold a permit. */
const sampler = <E, R, EE, ER>({ budget }: Run.Run<E, R, EE, ER>, client: SamplingClient, lane: AdaptiveLimiter.Lane) =>
  Effect.map(AdaptiveLimiter.limit(client, lane), budget.meter)

const sampleAndLearn = <E, R, EE, ER>(run: Run.Run<E, R, EE, ER>, sampler: SamplingClient, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const builders = yield* run.config.dataset.batch(iteration, run.resolved.seed, yield* Ref.get(run.history))
    const keys = builders.map(({ key }) => key)
    const results: Array<GroupResult> = []
    const rollouts = Rollout.stream(builders, policy(run, sampler), {
      ...rolloutOptions(run.config),
      seed: run.resolved.seed,
      unordered: true,
      iteration,
      samplerStep: yield* Ref.get(run.optimizerSteps)
    }).pipe(
      Stream.interruptWhen(run.budget.exhausted),
      Stream.map((result): Event.Event => {
        const completed = results.push(result)
        return { _tag: "GroupFinished", iteration, key: result.key, completed, total: builders.length }
      })
    )
    const learned = Effect.suspend(() =>
      results.length === keys.length
        ? learnIfEnough(run, iteration, inOrder(results, keys), startedAt)
        : Effect.succeed([])
    )
    return Stream.concat(rollouts, Stream.flattenIterable(Stream.fromEffect(learned)))
  }))

/** Groups finish in any order and are learned from in the dataset's. */
const inOrder = (results: ReadonlyArray<GroupResult>, keys: ReadonlyArray<string>) => {
  const position = new Map(keys.map((key, index) => [key, index]))
  return results.toSorted((left, right) => (position.get(left.key) ?? 0) - (position.get(right.key) ?? 0))
}

/** Where too many members were lost, what is left is written down and the run stops. */
const learnIfEnough = Effect.fnUntraced(function*<E, R, EE, ER>(
  run: Run.Run<E, R, EE, ER>,
  iteration: number,
  results: ReadonlyArray<GroupResult>,
  startedAt: number
) {
  const { interruptTimeout, maxDroppedShare } = run.resolved
  const tooMany = Dropped.tooMany(iteration, results, maxDroppedShare)
  if (tooMany === undefined) return yield* Finishing.finish(learn(run, iteration, results, startedAt), interruptTimeout)
  yield* Journal.groups(iteration, results)
  return yield* tooMany
})

/** Trains on the groups that say something; without one takes no step. An update that began is finished and written down. */
const learn = Effect.fn("Train.learn")(function*<E, R, EE, ER>(
  run: Run.Run<E, R, EE, ER>,
  iteration: number,
  results: ReadonlyArray<GroupResult>,
  startedAt: number
) {
  const { advantage = Advantage.centered, constantFallbackSingleton = false, learningRate } = run.config
  const sampledAt = yield* Clock.currentTimeMillis
  const { informative } = Signal.partition(results, { constantFallbackSingleton })
  const assembled = Arr.isReadonlyArrayNonEmpty(informative) ? TrainingData.assemble(informative, advantage) : []
  const data = assembled.some(({ inputs }) => inputs.mask.some((trained) => trained > 0)) ? assembled : []
  if (!(yield* run.budget.train(data.reduce((count, { modelInput }) => count + modelInput.length, 0)))) return []

  const parts = TrainStep.substeps(data, run.resolved.numSubsteps)
  const update = yield* TrainStep.run(untilStepping(run), parts, run.resolved.loss, TrainStep.adam(learningRate))
  yield* Ref.update(run.optimizerSteps, (steps) => steps + parts.length)

  const trainedAt = yield* Clock.currentTimeMillis
  const usage = yield* run.budget.usage
  const rolledOut = StepMetrics.rollouts(results)
  const metrics = {
    "progress/batch": iteration,
    "progress/done_frac": (iteration + 1) / run.resolved.iterations,
    "optim/lr": learningRate,
    ...rolledOut,
    ...StepMetrics.trained(informative),
    ...StepMetrics.learning(data, update.logprobs, run.resolved.loss),
    ...update.metrics,
    "tokens/total_prefilled": usage.prefilled,
    "tokens/total_sampled": usage.sampled,
    "tokens/total_trained": usage.trained,
    "time/sampling": (sampledAt - startedAt) / 1000,
    "time/training": (trainedAt - sampledAt) / 1000
  }
  yield* Journal.groups(iteration, results)
  yield* Run.remember(run, iteration, results)
  yield* Journal.metrics(iteration, metrics)
  yield* Ref.set(run.done, Option.some(iteration + 1))
  const event: Event.Iteration = {
    _tag: "Iteration",
    iteration,
    meanReward: rolledOut["env/all/reward/total"] ?? NaN,
    rewardStandardError: rolledOut["env/all/reward/standard_error"],
    groups: results.length,
    informative: informative.length,
    datums: data.length,
    optimizerSteps: parts.length,
    metrics
  }
  return [event, ...(yield* saveWhenDue(run, iteration + 1))]
})

/** The training client; from its first optimizer step on, the weights belong to no whole number of iterations. */
const untilStepping = <E, R, EE, ER>({ client, done }: Run.Run<E, R, EE, ER>): TrainingClient => ({
  ...client,
  optimStep: (params) => Effect.andThen(Ref.set(done, Option.none()), client.optimStep(params))
})

const saveWhenDue = Effect.fnUntraced(function*<E, R, EE, ER>(run: Run.Run<E, R, EE, ER>, done: number) {
  const { iterations, saveEvery } = run.resolved
  if (saveEvery === 0 || done % saveEvery !== 0 || done === iterations) return []
  const event: Event.Saved = { _tag: "Saved", iteration: done, checkpoint: yield* Run.save(run, done) }
  return [event]
})

const saveLast = <E, R, EE, ER>(run: Run.Run<E, R, EE, ER>, done: number, name?: string) =>
  Finishing.finish(Run.save(run, done, name), run.resolved.interruptTimeout)

/** The last evaluation and the final checkpoint, unless the run had them already. */
const finish = <E, R, EE, ER>(run: Run.Run<E, R, EE, ER>) =>
  Stream.unwrap(Effect.gen(function*() {
    const { evalEvery, iterations } = run.resolved
    const exhausted = yield* run.budget.isExhausted
    const final = Option.filter(run.resumed, ({ isFinal }) => isFinal && run.first >= iterations)
    if (Option.isSome(final)) return Stream.make(finished(run.first, final.value.checkpoint, "completed"))
    const ending = Effect.gen(function*() {
      const done = Option.getOrElse(yield* Ref.get(run.done), () => run.first)
      const exhausted = yield* run.budget.isExhausted
      if (!exhausted) return finished(done, yield* saveLast(run, done, Checkpoints.final), "completed")
      const saved = yield* Ref.get(run.saved)
      const isSaved = saved.iteration === done && saved.checkpoint !== undefined
      return finished(done, isSaved ? saved.checkpoint : yield* saveLast(run, done), "max_tokens_total")
    })
    const isEvaluated = evalEvery > 0 && (run.config.evaluators ?? []).length > 0
    if (exhausted || !isEvaluated) return Stream.fromEffect(ending)
    const client = yield* run.client.saveWeightsAndGetSamplingClient
    return Stream.concat(
      evaluate(run, yield* sampler(run, client, "evaluation"), iterations),
      Stream.fromEffect(ending)
    )
  }))

const finished = (
  iteration: number,
  checkpoint: Event.Finished["checkpoint"],
  reason: Event.Finished["reason"]
): Event.Event => ({ _tag: "Finished", iteration, checkpoint, reason })

const evaluate = <E, R, EE, ER>(run: Run.Run<E, R, EE, ER>, sampler: SamplingClient, iteration: number) =>
  Stream.fromIterable(run.config.evaluators ?? []).pipe(
    Stream.mapEffect((evaluator) => Effect.timed(evaluator.evaluate(sampler))),
    Stream.tap(([duration, { metrics, name }]) =>
      Journal.metrics(iteration, { ...metrics, [`time/${name}`]: Duration.toSeconds(duration) })
    ),
    Stream.map(([, evaluation]): Event.Event => ({ _tag: "Evaluated", iteration, evaluation })),
    Stream.interruptWhen(run.budget.exhausted)
  )

const policy = <E, R, EE, ER>({ config, resolved }: Run.Run<E, R, EE, ER>, sampler: SamplingClient) =>
  Policy.fromSamplingClient(sampler, {
    maxTokens: config.maxTokens,
    temperature: resolved.temperature,
    seed: resolved.seed,
    coalesceFirstTurns: config.coalesceFirstTurns ?? false,
    ...(config.topP === undefined ? {} : { topP: config.topP }),
    ...(config.topK === undefined ? {} : { topK: config.topK })
  })

/** An episode that fills the model's context ends there, as at any limit. */
const rolloutOptions = <E, R, EE, ER>(
  config: Config.Settings<E, R, EE, ER>
): Rollout.StreamOptions<E, TinkerError, E, R> => {
  const { concurrency, graderTimeout, hooks, memberTimeout, onFailure, releaseTimeout, termination } = config
  const context = { maxTrajectoryTokens: config.model.capabilities.contextLength }
  return Fields.given<Rollout.StreamOptions<E, TinkerError, E, R>>({
    concurrency,
    graderTimeout,
    hooks,
    limits: Limits.tighter(config.limits ?? Limits.unlimited, context),
    memberTimeout,
    onFailure,
    releaseTimeout,
    termination
  })
}

const started = <E, R, EE, ER>({ config, first, resolved, resumed }: Run.Run<E, R, EE, ER>): Event.Event => {
  const { capabilities } = config.model
  const warnings = capabilities.lossReduction === "token-sum"
    ? []
    : [`the backend's losses are reduced as "${capabilities.lossReduction}", learning rates are for sums over tokens`]
  return {
    _tag: "Started",
    iteration: first,
    iterations: resolved.iterations,
    resumedFrom: Option.getOrUndefined(Option.map(resumed, ({ checkpoint }) => checkpoint)),
    capabilities,
    warnings
  }
}
