/** What a finished request is answered with, before it is known in which encoding. */
import type { Sampling, TrainingClient } from "@effect-rl/core"
import * as Data from "effect/Data"

export type Answer = Data.TaggedEnum<{
  readonly Plain: { readonly body: Readonly<Record<string, unknown>> }
  readonly Pass: { readonly output: TrainingClient.ForwardBackwardOutput }
  readonly Sample: { readonly response: Sampling.SampleResponse }
}>

export const { Pass, Plain, Sample } = Data.taggedEnum<Answer>()
