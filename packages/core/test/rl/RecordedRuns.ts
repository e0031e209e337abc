/** What a run computed, by its records: what was sampled, credited and trained on, without times. */
import { RunRecord, RunStore } from "@effect-rl/core"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { Effect, Stream, Struct } from "effect"
import { createHash } from "node:crypto"

/** Digits of a fraction; `Math.exp`, `Math.log` and `Math.pow` differ in the sixteenth between versions of V8. */
const digits = 9

/** JSON text with whole numbers, such as tokens, as they are, and fractions to nine digits. */
const written = (value: unknown) =>
  JSON.stringify(
    value,
    (_, inner: unknown) =>
      typeof inner === "number" && !Number.isInteger(inner) ? Number(inner.toPrecision(digits)) : inner
  )

const isTimeless = ([name]: readonly [string, number]) => !/^(time|async)\//.test(name)

const tokensOf = (result: GroupResult.GroupResult) =>
  GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([, { transitions }]) =>
      transitions.map(({ action }) => [Array.from(action.tokens), Array.from(action.logprobs)])
    )

/** Lines of a run's records without the batches of datums, which earlier records did not name; those of the groups of an iteration in the order of their keys. */
const lines = Effect.gen(function*() {
  const { payload, read } = yield* RunStore.RunStore
  const records = RunRecord.current(yield* Stream.runCollect(read))
  const text = ({ payload: place }: RunRecord.RunRecord) => place === undefined ? Effect.succeed("") : payload(place)
  const groups = yield* Effect.forEach(
    records.filter(RunRecord.guards.GroupRolledOut),
    Effect.fnUntraced(function*(record) {
      const { iteration, key, members, outcome, rewards, step } = record
      const tokens = tokensOf(yield* Effect.flatMap(text(record), GroupPayload.decode))
      return written([iteration, key, step, outcome, rewards, members, tokens])
    })
  )
  const credits = records.filter(RunRecord.guards.Credited).map(({ datums, groups, iteration }) =>
    written([
      iteration,
      groups.map(({ advantages, iteration: batch = iteration, key, verdict }) => [batch, key, verdict, advantages]),
      datums.map(Struct.omit(["iteration", "segment"]))
    ])
  )
  const updates = yield* Effect.forEach(
    records.filter(RunRecord.guards.Updated),
    Effect.fnUntraced(function*(record) {
      const { iteration, metrics, reward, updates } = record
      const passes = updates.map(({ learningRate, metrics, passes }) => [
        learningRate,
        metrics,
        passes.map(({ datums, loss, metrics, tokens }) => [loss, datums, tokens, metrics])
      ])
      const numbers = Object.entries(metrics).filter(isTimeless).toSorted(([one], [other]) => one < other ? -1 : 1)
      return written([
        iteration,
        numbers,
        reward,
        passes,
        (yield* text(record)).replaceAll(/"iteration":\d+,/g, "")
      ])
    })
  )
  return [...groups.toSorted(), ...credits, ...updates]
})

/** The checksum of the lines. */
export const digest = Effect.map(
  lines,
  (lines) => createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 16)
)
