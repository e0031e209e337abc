/** The digest of what a run sampled, credited and trained on, according to its records without times. */
import { RunRecord, RunStore } from "@effect-rl/core"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { Effect, Stream, Struct } from "effect"
import { createHash } from "node:crypto"

/** Number of digits for fractions; `Math.exp`, `Math.log` and `Math.pow` differ in the sixteenth digit between V8 versions. */
const digits = 9

/** JSON text with exact whole numbers, such as tokens, and fractions with nine digits. */
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

/** Record lines without datum batches, which earlier records did not contain. An iteration's group lines are sorted by key. */
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

/** The checksum of these lines. */
export const digest = Effect.map(
  lines,
  (lines) => createHash("sha256").update(lines.join("\n")).digest("hex").slice(0, 16)
)
