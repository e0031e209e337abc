/** The script of a backend for tests. A small real model does whatever is not scripted. */
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

/** The place of a request in the run. */
export interface At {
  /** Requests of the same operation before this one. */
  readonly call: number
  /** Optimizer steps that led to the weights in use. */
  readonly step: number
}

/** The place of a sampling request in the run. */
export interface SampleAt extends At {
  readonly modelPath: string
  /** Sequences requested before this request. */
  readonly sequence: number
}

/** A value, or an effect that gives it or fails with a reason. */
export type Answer<A> = A | Effect.Effect<A, Reason>

/** The scripted answer to a sampling request. */
export type SampleScript = (request: Sampling.SampleRequest, at: SampleAt) => Answer<Sampling.SampleResponse>

/** The calls that `Script.forwardBackward` answers. */
export type PassCall = Extract<Call, { readonly _tag: "Forward" | "ForwardBackward" }>

/** The answers and faults of a scripted backend. */
export interface Script {
  /** Models by name with what differs from `defaultCapabilities`; one model, `defaultModel`, unless given. */
  readonly models?: Readonly<Record<string, Partial<Capabilities>>>
  /** Its vocabulary is the models' own; characters unless given. */
  readonly tokenizer?: TestTokenizer
  /** Once given, a training pass returns each datum's own log-probabilities, so that the importance ratio is 1. */
  readonly sample?: SampleScript
  readonly computeLogprobs?: (prompt: ModelInput.ModelInput, at: SampleAt) => Answer<Float32Array>
  /** Once given, passes have no gradients. */
  readonly forwardBackward?: (pass: PassCall, at: At) => Answer<ForwardBackwardOutput>
  /** Metrics of an optimizer step. */
  readonly optimStep?: (adam: AdamParams, at: At) => Answer<Readonly<Record<string, number>>>
  readonly faults?: ReadonlyArray<Fault.Plan>
  /** The answer to requests for the backend's health; healthy unless given. */
  readonly health?: Answer<void>
}

/** The name of the model unless the script has others. */
export const defaultModel = "effect-rl/scripted"

/** The capabilities of a model unless the script changes them. */
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

/** A sampled text: its tokens, special tokens included, with a log-probability of −0.5 each unless given. */
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

/** Answers each request by a function of its prompt's text, called once per sample. */
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

/** The given sequences in the order of sampling; a request beyond the last is a defect. */
export const inOrder = (sequences: ReadonlyArray<Sampling.SampledTokens>): SampleScript => (request, at) => {
  const end = at.sequence + (request.numSamples ?? 1)
  return end > sequences.length
    ? Effect.die(new Error(`the script has ${sequences.length} sequences, and sequence ${end - 1} was asked for`))
    : { sequences: sequences.slice(at.sequence, end) }
}
