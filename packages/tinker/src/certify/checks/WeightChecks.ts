/** Each sampler and each state must have its own weights when several exist. */
import { Loss, Tinker } from "@effect-rl/core"
import { ModelInput, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Rounding tolerance between two ways to compute the same log-probabilities; it grows with the logits. */
const toleranceOf = (logprobs: Float32Array) => 0.01 + 0.006 * Math.max(...logprobs.map(Math.abs))

const expectLogprobs = (what: string, found: ArrayLike<number>, expected: Float32Array) =>
  Check.expectClose(`logprobs of ${what}`, found, expected, toleranceOf(expected))

const text = ModelInput.append(Examples.input, Examples.targetTokens.subarray(-1))

/** Token weights of steps with distinct effects. */
const directions = [
  [1, 1, 1, 1, 1, 1, 1],
  [-1, 1, -1, 1, -1, 1, -1],
  [1, -1, -1, 1, 1, -1, -1],
  [-1, -1, -1, -1, -1, -1, -1],
  [1, -1, 1, -1, 1, 1, 1],
  [-1, 1, 1, 1, -1, -1, 1]
]

const pass = (client: TrainingClient.TrainingClient, weights: Float32Array) =>
  StateTwins.run(client.forwardBackward([Examples.weighted(weights)], Loss.crossEntropy))

const step = (client: TrainingClient.TrainingClient) =>
  StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))

/** A step in the direction for a round. */
const push = (client: TrainingClient.TrainingClient, round: number) =>
  Effect.andThen(pass(client, Float32Array.from(directions[round] ?? [])), step(client))

/** A step without a gradient, which follows the mean of earlier gradients. */
const glide = (client: TrainingClient.TrainingClient) => Effect.andThen(pass(client, Examples.full(0)), step(client))

const trainer = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  return { tinker, client: yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 }) }
})

const sampled = (client: SamplingClient.SamplingClient) =>
  Effect.map(client.computeLogprobs(text), (logprobs) => logprobs.subarray(1))

/** A sampler or a saved state, and the log-probabilities `[T]` that its weights must have. */
interface Known<A> {
  readonly what: string
  readonly of: A
  readonly logprobs: Float32Array
}

const expectApart = (all: ReadonlyArray<Known<unknown>>) =>
  Effect.forEach(
    all.flatMap((one, at) => all.slice(at + 1).map((other) => [one, other] as const)),
    ([one, other]) =>
      Check.expect(
        Check.distance(one.logprobs, other.logprobs) > toleranceOf(one.logprobs),
        `steps that change the model between ${one.what} and ${other.what}`,
        "the same log-probabilities"
      ),
    { discard: true }
  )

const expectSampled = ({ logprobs, of, what }: Known<SamplingClient.SamplingClient>) =>
  Effect.flatMap(sampled(of), (found) => expectLogprobs(what, found, logprobs))

/** Checks the samplers in reverse order of creation, then all concurrently. */
const expectAll = (samplers: ReadonlyArray<Known<SamplingClient.SamplingClient>>) =>
  Effect.andThen(
    Effect.forEach(samplers.toReversed(), expectSampled, { discard: true }),
    Effect.forEach(samplers, expectSampled, { concurrency: "unbounded", discard: true })
  )

const why = "Rollouts from the wrong weights are silently off-policy."

export const named: Check.Check = {
  theme: "checkpoints",
  name: "samplers of weights saved under several names keep their weights, also when used at the same time",
  why,
  run: Effect.gen(function*() {
    const { client, tinker } = yield* trainer
    const saved: Array<Known<string>> = []
    for (const round of [0, 1, 2]) {
      yield* push(client, round)
      const logprobs = yield* StateTwins.logprobsOf(client)
      const { path } = yield* StateTwins.run(client.saveWeightsForSampler(`certify-round-${round}`))
      saved.push({ what: `the weights of round ${round}`, of: path, logprobs })
    }
    yield* expectApart(saved)
    const paths = new Set(saved.map(({ of }) => of))
    yield* Check.expect(paths.size === saved.length, `${saved.length} paths`, [...paths].join(", "))
    const samplers = yield* Effect.forEach(
      saved.toReversed(),
      ({ of, ...known }) =>
        Effect.map(tinker.createSamplingClient({ modelPath: of }), (sampler) => ({ ...known, of: sampler }))
    )
    yield* expectAll(samplers)
  })
}

const greedy = (client: SamplingClient.SamplingClient) =>
  Effect.map(
    client.sample({ prompt: Examples.input, params: { maxTokens: 4, temperature: 0, stop: [] } }),
    ({ sequences: [one] }) => one
  )

export const alive: Check.Check = {
  theme: "checkpoints",
  name: "simultaneous snapshots of one model each have their own weights",
  why,
  run: Effect.gen(function*() {
    const { client } = yield* trainer
    const samplers: Array<Known<SamplingClient.SamplingClient>> = []
    const firsts: Array<Effect.Success<ReturnType<typeof greedy>>> = []
    for (const round of [0, 1, 2, 4, 0]) {
      yield* push(client, round)
      const logprobs = yield* StateTwins.logprobsOf(client)
      const of = yield* client.saveWeightsAndGetSamplingClient
      samplers.push({ what: `snapshot ${round}`, of, logprobs })
      firsts.push(yield* greedy(of))
    }
    yield* expectApart(samplers)
    yield* expectAll(samplers)
    for (const [round, { of, what }] of samplers.entries()) {
      const [found, expected] = [yield* greedy(of), firsts[round]]
      yield* expectLogprobs(
        `the likeliest tokens of ${what}, ${expected?.tokens.join()}`,
        found?.tokens.join() === expected?.tokens.join() ? found?.logprobs ?? [] : [],
        expected?.logprobs ?? new Float32Array()
      )
    }
  })
}

export const loaded: Check.Check = {
  theme: "checkpoints",
  name: "a save after loading an older state has that state's weights",
  why: "A run that returns to its best state but samples from the abandoned one evaluates the wrong model.",
  run: Effect.gen(function*() {
    const { client, tinker } = yield* trainer
    yield* push(client, 0)
    const older = yield* StateTwins.logprobsOf(client)
    const { path } = yield* StateTwins.run(client.saveState("certify-older"))
    yield* push(client, 1)
    const left = {
      what: "the snapshot before",
      of: yield* client.saveWeightsAndGetSamplingClient,
      logprobs: yield* StateTwins.logprobsOf(client)
    }
    yield* StateTwins.run(client.loadState(path))
    const back = {
      what: "the snapshot of the loaded state",
      of: yield* client.saveWeightsAndGetSamplingClient,
      logprobs: older
    }
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-back"))
    const byPath = {
      what: "the saved weights of the loaded state",
      of: yield* tinker.createSamplingClient({ modelPath: weights.path }),
      logprobs: older
    }
    yield* expectApart([left, back])
    yield* expectAll([left, back, byPath])
    // Takes as many steps as before the first snapshot, but in other directions.
    yield* push(client, 2)
    const other = {
      what: "a snapshot after as many other steps",
      of: yield* client.saveWeightsAndGetSamplingClient,
      logprobs: yield* StateTwins.logprobsOf(client)
    }
    yield* expectApart([left, back, other])
    yield* expectAll([left, back, other])
    const fromState = yield* tinker.createTrainingClientFromState(path)
    const made = { ...back, what: "a snapshot of a model made from the state" }
    yield* expectSampled({ ...made, of: yield* fromState.saveWeightsAndGetSamplingClient })
  })
}

export const states: Check.Check = {
  theme: "checkpoints",
  name: "each of several states keeps its own weights and optimizer",
  why: "A run that resumes from the wrong state repeats or skips work, and no curve shows it.",
  run: Effect.gen(function*() {
    const { client, tinker } = yield* trainer
    const saved: Array<Known<string> & { readonly glided: Float32Array }> = []
    for (const round of [0, 1, 2]) {
      yield* push(client, round)
      const logprobs = yield* StateTwins.logprobsOf(client)
      const { path } = yield* StateTwins.run(client.saveState(`certify-round-${round}`))
      yield* glide(client)
      saved.push({
        what: `the state of round ${round}`,
        of: path,
        logprobs,
        glided: yield* StateTwins.logprobsOf(client)
      })
    }
    yield* expectApart(saved)
    for (const { glided, logprobs, of, what } of [...saved.slice(1), ...saved.slice(0, 1)]) {
      yield* StateTwins.run(client.loadState(of, { optimizer: true }))
      yield* expectLogprobs(what, yield* StateTwins.logprobsOf(client), logprobs)
      yield* glide(client)
      yield* expectLogprobs(`a step after ${what}`, yield* StateTwins.logprobsOf(client), glided)
    }
    for (const { logprobs, of, what } of saved.slice(0, 2)) {
      const made = yield* tinker.createTrainingClientFromState(of)
      yield* expectLogprobs(`a model made from ${what}`, yield* StateTwins.logprobsOf(made), logprobs)
    }
  })
}

export const takenName: Check.Check = {
  theme: "checkpoints",
  name: "weights saved under an existing name replace the first ones, or are refused and leave them unchanged",
  why,
  run: Effect.gen(function*() {
    const { client, tinker } = yield* trainer
    yield* push(client, 0)
    const logprobs = yield* StateTwins.logprobsOf(client)
    const first = yield* StateTwins.run(client.saveWeightsForSampler("certify-taken"))
    yield* push(client, 1)
    const newer = yield* StateTwins.logprobsOf(client)
    const again = yield* Effect.result(
      Effect.flatMap(client.saveWeightsForSampler("certify-taken"), (pending) => pending.await)
    )
    const modelPath = Result.isSuccess(again) ? again.success.path : first.path
    yield* expectSampled({
      what: Result.isSuccess(again) ? "the second weights" : "the first weights",
      of: yield* tinker.createSamplingClient({ modelPath }),
      logprobs: Result.isSuccess(again) ? newer : logprobs
    })
  })
}

export const outlive: Check.Check = {
  theme: "checkpoints",
  name: "checkpoints outlive their model",
  why: "Users evaluate and resume a run after the program that trained it has ended.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { logprobs, state, weights } = yield* Effect.scoped(Effect.gen(function*() {
      const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
      yield* push(client, 0)
      return {
        logprobs: yield* StateTwins.logprobsOf(client),
        state: yield* StateTwins.run(client.saveState("certify-outlive")),
        weights: yield* StateTwins.run(client.saveWeightsForSampler("certify-outlive"))
      }
    }))
    const of = yield* tinker.createSamplingClient({ modelPath: weights.path })
    yield* expectSampled({ what: "the weights", of, logprobs })
    const client = yield* tinker.createTrainingClientFromState(state.path)
    yield* expectLogprobs("the state", yield* StateTwins.logprobsOf(client), logprobs)
  })
}

export const apart: Check.Check = {
  theme: "training",
  name: "the gradients, momentum and snapshots of two alternately trained models do not mix",
  why: "Sweeps train several adapters in one session.",
  run: Effect.gen(function*() {
    const { client: origin, tinker } = yield* trainer
    const { path } = yield* StateTwins.run(origin.saveState("certify-origin"))
    const made = tinker.createTrainingClientFromState(path)
    const alone = yield* Effect.forEach([0, 1], (round) =>
      Effect.gen(function*() {
        const client = yield* made
        yield* push(client, round)
        yield* glide(client)
        return yield* StateTwins.logprobsOf(client)
      }))
    const clients = [yield* made, yield* made]
    for (const [round, client] of clients.entries()) yield* pass(client, Float32Array.from(directions[round] ?? []))
    for (const client of clients) yield* step(client)
    for (const client of clients.toReversed()) yield* glide(client)
    const samplers = yield* Effect.forEach(
      clients,
      (client, round) =>
        Effect.map(client.saveWeightsAndGetSamplingClient, (of) => ({
          what: `the snapshot of model ${round}`,
          of,
          logprobs: alone[round] ?? new Float32Array()
        }))
    )
    yield* expectApart(samplers)
    yield* expectAll(samplers)
  })
}

export const slots: Check.Check = {
  theme: "training",
  name: "six simultaneous models each keep what they learned",
  why: "A server that evicts one model for another would silently restart a run.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const known = yield* Effect.forEach([...directions.keys()], (round) =>
      Effect.gen(function*() {
        const of = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
        yield* push(of, round)
        return { what: `model ${round}`, of, logprobs: yield* StateTwins.logprobsOf(of) }
      }))
    yield* expectApart(known)
    yield* Effect.forEach(
      known,
      ({ logprobs, of, what }) =>
        Effect.flatMap(StateTwins.logprobsOf(of), (found) => expectLogprobs(what, found, logprobs)),
      { discard: true }
    )
  })
}

export const all = [named, alive, loaded, states, takenName, outlive, apart, slots]
