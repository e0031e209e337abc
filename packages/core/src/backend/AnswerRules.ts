/**
 * Rules for answers of every backend, checked where a policy or a run receives them. A wrong answer fails as `Rejected`, because asking
 * again would not help: the error of the backend has to be fixed. Each violation names the field, its value and what is expected.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as LossValue from "./LossValue.ts"
import type { Pending } from "./Pending.ts"
import { Rejected, TinkerError } from "./TinkerError.ts"
import type { CustomLoss, ForwardBackwardOutput, GraphDatum, TrainingClient } from "./TrainingClient.ts"

/** Tolerance above 0, because rounding from half precision can push the probability of a certain token slightly above 1. */
const rounding = 1e-3

const wrong = (operation: string, detail: string) =>
  Effect.fail(
    new TinkerError({ operation, reason: new Rejected({ detail: `the backend's answer is wrong: ${detail}` }) })
  )

/** The first violation in a sampled sequence. Missing log-probabilities are left to the caller, because not every caller reads them. */
const inSequence = ({ logprobs, tokens }: Sampling.SampledTokens, maxTokens: number): string | undefined => {
  if (tokens.length > maxTokens) return `sequences[0] has ${tokens.length} tokens, expected at most ${maxTokens}`
  for (let t = 0; t < tokens.length; t++) {
    const token = tokens[t] ?? NaN
    const logprob = logprobs[t] ?? NaN
    if (token < 0) return `sequences[0].tokens[${t}] is ${token}, expected a token id from 0`
    if (logprob > rounding) return `sequences[0].logprobs[${t}] is ${logprob}, expected at most 0`
  }
  return undefined
}

/** The sequence of the answer to a request for one sample. */
export const onlySequence = (
  { params: { maxTokens } }: Sampling.SampleRequest,
  { sequences }: Sampling.SampleResponse
): Effect.Effect<Sampling.SampledTokens, TinkerError> => {
  const [sequence] = sequences
  if (sequence === undefined || sequences.length > 1) {
    return wrong("sample", `sequences has ${sequences.length} values, expected 1`)
  }
  const violation = inSequence(sequence, maxTokens)
  return violation === undefined ? Effect.succeed(sequence) : wrong("sample", violation)
}

/** The shape of the answer for one datum, and whether its loss reads the log-probability of a target. */
interface Asked {
  readonly positions: number
  readonly targets: number
  readonly reads: (at: number) => boolean
}

const ofDatum =
  ({ name }: Pick<Loss.Loss<Datum.Kind>, "name">) => ({ inputs, modelInput }: Datum.Datum<Datum.Kind>): Asked => ({
    positions: modelInput.length,
    targets: inputs.targetTokens.length,
    reads: "weights" in inputs
      ? (at) => inputs.weights[at] !== 0
      : (at) => inputs.mask[at] !== 0 && LossValue.counts(name, inputs.advantages[at] ?? 0)
  })

const ofGraphDatum = ({ counted, modelInput, targetTokens }: GraphDatum): Asked => ({
  positions: modelInput.length,
  targets: targetTokens.length,
  reads: (at) => counted?.[at] !== 0
})

/** For the answer to a custom loss, of which a backend may compute only the targets that have a gradient. */
const unread = (datum: Datum.Datum<Datum.Kind>): Asked => ({ ...ofDatum(Loss.crossEntropy)(datum), reads: () => false })

const inDatum = (logprobs: Float32Array, { positions, reads, targets }: Asked): string | undefined => {
  if (logprobs.length !== targets && logprobs.length !== positions) {
    return ` has ${logprobs.length} values, expected one per target (${targets})`
  }
  for (let at = 0; at < logprobs.length; at++) {
    const logprob = logprobs[at] ?? NaN
    if (!(logprob <= rounding) && (logprob > 0 || reads(at))) {
      return `[${at}] is ${logprob}, expected a number of at most 0`
    }
  }
  return undefined
}

/** Fails at the first datum whose log-probabilities are missing, of another length, or invalid where the loss reads them. */
const checkLogprobs = (operation: string, logprobsD: ReadonlyArray<Float32Array>, asked: ReadonlyArray<Asked>) =>
  Effect.suspend(() => {
    if (logprobsD.length !== asked.length) {
      return wrong(operation, `logprobs has ${logprobsD.length} arrays, expected one per datum (${asked.length})`)
    }
    for (const [d, one] of asked.entries()) {
      const violation = inDatum(logprobsD[d] ?? new Float32Array(), one)
      if (violation !== undefined) return wrong(operation, `logprobs[${d}]${violation}`)
    }
    return Effect.void
  })

const messageOf = (defect: unknown) => Predicate.isError(defect) ? defect.message : String(defect)

/** Names the operation in the message of a defect, because the backend's own message rarely says where it comes from. */
const named = (operation: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchDefect(
    effect,
    (defect) => Effect.die(new Error(`${operation}: ${messageOf(defect)}`, { cause: defect }))
  )

type Submitted<A, E, R> = Effect.Effect<Pending<A, E>, TinkerError, R>

const submitted = <A, E, R>(operation: string, submit: () => Submitted<A, E, R>): Submitted<A, E, R> =>
  Effect.map(named(operation)(Effect.suspend(submit)), (pending) => ({ await: named(operation)(pending.await) }))

/** Submits a pass whose log-probabilities are checked when it is awaited. */
const checked = <E, R>(
  operation: string,
  asked: () => ReadonlyArray<Asked>,
  submit: () => Submitted<ForwardBackwardOutput, E, R>
): Submitted<ForwardBackwardOutput, E | TinkerError, R> =>
  Effect.map(submitted(operation, submit), (pending) => ({
    await: Effect.tap(pending.await, ({ logprobs }) => checkLogprobs(operation, logprobs, asked()))
  }))

/** A training client that checks the log-probabilities of every pass. Metrics are not checked, because each backend has its own. */
export const trainingClient = (client: TrainingClient): TrainingClient => {
  const { forwardBackwardGraph } = client
  return {
    ...client,
    forward: (data, loss) => checked("forward", () => data.map(ofDatum(loss)), () => client.forward(data, loss)),
    forwardBackward: (data, loss, options) =>
      checked(
        "forwardBackward",
        () => data.map(ofDatum(loss)),
        () => client.forwardBackward(data, loss, options)
      ),
    forwardBackwardCustom: <E, R>(
      data: Parameters<TrainingClient["forwardBackwardCustom"]>[0],
      loss: CustomLoss<E, R>
    ) => {
      const operation = "forwardBackwardCustom"
      const first: CustomLoss<E | TinkerError, R> = (data, logprobs) =>
        Effect.andThen(
          checkLogprobs(operation, logprobs, data.map(ofDatum(Loss.crossEntropy))),
          Effect.suspend(() => loss(data, logprobs))
        )
      return checked(operation, () => data.map(unread), () => client.forwardBackwardCustom(data, first))
    },
    ...(forwardBackwardGraph !== undefined && {
      forwardBackwardGraph: (data, graph) =>
        checked("forwardBackwardGraph", () => data.map(ofGraphDatum), () => forwardBackwardGraph(data, graph))
    }),
    optimStep: (adam) => submitted("optimStep", () => client.optimStep(adam))
  }
}
