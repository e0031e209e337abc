/** Reads the groups that `groups.ts` writes, as data for a policy loss. */
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Array, Effect, FileSystem, Schema } from "effect"
import type * as Workload from "./Workload.ts"

const numbers = Schema.Array(Schema.Finite)
const Text = Schema.fromJsonString(
  Schema.NonEmptyArray(Schema.Struct({ tokens: numbers, targets: numbers, logprobs: numbers, advantages: numbers }))
)

const policyDatum = ({ advantages, logprobs, targets, tokens }: Workload.Row) =>
  Datum.policyTokens(ModelInput.fromTokens(tokens), {
    targetTokens: Int32Array.from(targets),
    logprobs: Float32Array.from(logprobs),
    advantages: Float32Array.from(advantages),
    mask: Float32Array.from(logprobs, (logprob) => logprob === 0 ? 0 : 1)
  })

export const read = Effect.fnUntraced(function*(path: string) {
  const fs = yield* FileSystem.FileSystem
  const rows = yield* Effect.flatMap(fs.readFileString(path), Schema.decodeEffect(Text))
  return Array.map(rows, policyDatum)
})
