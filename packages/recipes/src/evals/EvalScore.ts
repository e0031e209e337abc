/** Scores an output with the scorers of an eval. If a scorer fails there is no score, rather than a score of 0. */
import type { Score } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as AgentScorer from "../agent/AgentScorer.ts"
import type * as EvalModule from "./EvalModule.ts"

const Value = Schema.NullOr(Schema.Finite)

const Scored = Schema.Union([
  Value,
  Schema.Struct({ score: Value, name: Schema.optionalKey(Schema.UndefinedOr(Schema.String)) })
])

const inWords = (value: unknown) => (JSON.stringify(value) ?? String(value)).slice(0, 200)

const noVerdict = (scorer: string, found: string) => new AgentScorer.NoVerdict({ scorer, found })

/** A scorer's name and value, or undefined if the scorer returns `null` or `{ score: null }` to abstain. */
const by = Effect.fnUntraced(function*({ name, score }: EvalModule.Scorer, scored: EvalModule.Scored) {
  const given = yield* Effect.tryPromise({
    try: () => Promise.resolve(scored).then(score),
    catch: (error) => noVerdict(name, `the error ${Predicate.isError(error) ? error.message : String(error)}`)
  })
  const value = Schema.decodeUnknownResult(Scored)(given)
  if (Result.isFailure(value)) return yield* noVerdict(name, inWords(given))
  const { name: own = name, score: number } = Predicate.isObject(value.success)
    ? value.success
    : { score: value.success }
  return number === null ? undefined : [own, number] as const
})

/**
 * The mean of the scorers that do not abstain, each reported as a part. An output succeeds if all of them give at least 1. Fails if a
 * scorer throws or returns no number, or if all abstain.
 */
export const of = Effect.fnUntraced(function*(
  scorers: ReadonlyArray<EvalModule.Scorer>,
  scored: EvalModule.Scored
): Effect.fn.Return<Score.Score, AgentScorer.NoVerdict> {
  const found = yield* Effect.forEach(scorers, (scorer) => by(scorer, scored), { concurrency: "unbounded" })
  const parts = found.filter((part) => part !== undefined)
  if (parts.length === 0) return yield* noVerdict("every scorer", "null")
  const values = parts.map(([, value]) => value)
  return {
    value: values.reduce((sum, value) => sum + value, 0) / values.length,
    success: values.every((value) => value >= 1),
    answer: typeof scored.output === "string" ? scored.output : inWords(scored.output),
    parts: Object.fromEntries(parts)
  }
})
