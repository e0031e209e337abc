/** The script of a test backend. A small real model answers whatever is not scripted. */
import * as Effect from "effect/Effect"
import type { Capabilities } from "../backend/Capabilities.ts"
import type { Reason } from "../backend/TinkerError.ts"
import type { ForwardBackwardOutput } from "../backend/TrainingClient.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { Call } from "./Call.ts"
import type * as Fault from "./Fault.ts"
import type { TestTokenizer } from "./TestTokenizer.ts"

/** When a request happens in the run. */
export interface At {
  /** The number of earlier requests of the same operation. */
  readonly call: number
  /** Optimizer steps of the weights in use. */
  readonly step: number
}

/** When a sampling request happens in the run. */
export interface SampleAt extends At {
  readonly modelPath: string
  /** The number of sequences requested by earlier requests. */
  readonly sequence: number
}

/** A value, or an effect that returns one or fails with a reason. */
export type Answer<A> = A | Effect.Effect<A, Reason>

/** Answers a sampling request. */
export type SampleScript = (request: Sampling.SampleRequest, at: SampleAt) => Answer<Sampling.SampleResponse>

/** The passes that `Script.forwardBackward` answers. */
export type PassCall = Extract<Call, { readonly _tag: "Forward" | "ForwardBackward" }>

/** The answers and faults of a scripted backend. */
export interface Script {
  /** Models by name, each with its differences from `defaultCapabilities`; default: one model, `defaultModel`. */
  readonly models?: Readonly<Record<string, Partial<Capabilities>>>
  /** The tokenizer, whose vocabulary is also the models'; default: one token per character. */
  readonly tokenizer?: TestTokenizer
  /** Scripts sampling. Training passes then return the log-probabilities in each policy datum, so the importance ratio is 1. */
  readonly sample?: SampleScript
  readonly computeLogprobs?: (prompt: ModelInput.ModelInput, at: SampleAt) => Answer<Float32Array>
  /** Scripts passes, which then have no gradients. */
  readonly forwardBackward?: (pass: PassCall, at: At) => Answer<ForwardBackwardOutput>
  /** The metrics of an optimizer step. */
  readonly optimStep?: (adam: AdamParams, at: At) => Answer<Readonly<Record<string, number>>>
  readonly faults?: ReadonlyArray<Fault.Plan>
  /** The answer to health requests; default: healthy. */
  readonly health?: Answer<void>
}

/** The default name of the model. */
export const defaultModel = "effect-rl/scripted"

/** The default capabilities of a model. */
export const defaultCapabilities: Capabilities = {
  contextLength: 512,
  lossReduction: "token-sum",
  seeds: "sample",
  promptLogprobs: true,
  topkPromptLogprobs: 20,
  loraRank: [1, 128]
}

/** An answer as an effect. */
export const answer = <A>(given: Answer<A>): Effect.Effect<A, Reason> =>
  Effect.isEffect(given) ? given : Effect.succeed(given)

/** A sampled text as tokens, special tokens included. Defaults: a log-probability of −0.5 per token, and the stop reason "stop". */
export const text = (
  tokenizer: Tokenizer,
  content: string,
  options: { readonly logprob?: number; readonly stopReason?: Sampling.SampleStopReason } = {}
): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(content)
  return {
    tokens,
    logprobs: new Float32Array(tokens.length).fill(options.logprob ?? -0.5),
    stopReason: options.stopReason ?? "stop"
  }
}

/** Answers each request with a function of its prompt's text, called once per sample. */
export const reply = (
  tokenizer: Tokenizer,
  say: (prompt: string, at: SampleAt & { readonly seed: number | undefined }) => Sampling.SampledTokens
): SampleScript =>
({ numSamples = 1, params: { seed }, prompt }, at) => {
  const prompted = tokenizer.decode(prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens]))
  return {
    sequences: Array.from(
      { length: numSamples },
      (_, index) =>
        say(prompted, { ...at, sequence: at.sequence + index, seed: seed === undefined ? undefined : seed + index })
    )
  }
}

/** Returns the given sequences in order; a request for more than are left is a defect. */
export const inOrder = (sequences: ReadonlyArray<Sampling.SampledTokens>): SampleScript => (request, at) => {
  const end = at.sequence + (request.numSamples ?? 1)
  return end > sequences.length
    ? Effect.die(new Error(`the script has ${sequences.length} sequences, and sequence ${end - 1} was requested`))
    : { sequences: sequences.slice(at.sequence, end) }
}
