/** The answer to a finished request, before an encoding is chosen. */
import type { Sampling } from "@effect-rl/core/backend"
import * as Data from "effect/Data"
import type * as PassResult from "../wire/PassResult.ts"

export type Answer = Data.TaggedEnum<{
  readonly Plain: { readonly body: Readonly<Record<string, unknown>> }
  readonly Pass: { readonly result: PassResult.Sent }
  readonly Sample: { readonly response: Sampling.SampleResponse }
}>

export const { $match: match, Pass, Plain, Sample } = Data.taggedEnum<Answer>()

const total = <A>(all: ReadonlyArray<A>, size: (one: A) => number) => all.reduce((sum, one) => sum + size(one), 0)

/** The minimum size of an answer, in tokens. */
const smallest = 16

/** The memory use of an answer, counted in tokens. */
export const size = match({
  Plain: () => smallest,
  Pass: ({ result }) => smallest + 2 * total(result.outputs, ({ logprobs }) => logprobs.length),
  Sample: ({ response: { promptLogprobs, sequences, topkPromptLogprobs = [] } }) =>
    smallest + total(sequences, ({ tokens }) => tokens.length) + (promptLogprobs?.length ?? 0) +
    total(topkPromptLogprobs, ({ length }) => length)
})
