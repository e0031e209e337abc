/**
 * Measures while other programs are idle, if possible, and reports the share of the processors that they used. Measurements that use all
 * processors suffer most from other programs.
 */
import { Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { cpus } from "node:os"
import * as Report from "./Report.ts"

const attempts = 3
const longestWaitSeconds = 30
const tolerated = 0.1

/** Milliseconds that all processors were busy, and in total, since boot. */
const times = () =>
  cpus().reduce(
    ({ busy, total }, { times: { idle, irq, nice, sys, user } }) => ({
      busy: busy + irq + nice + sys + user,
      total: total + idle + irq + nice + sys + user
    }),
    { busy: 0, total: 0 }
  )

/** Milliseconds of processor time of finished child processes; NaN without /proc. */
const childMillis = () => {
  if (!existsSync("/proc/self/stat")) return NaN
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? []
  const ticks = Number(fields[13]) + Number(fields[14])
  return ticks * 10
}

/** The share of the processors that other programs used during `run`. */
const others = <A>(run: () => A) => {
  const [before, childBefore] = [times(), childMillis()]
  const value = run()
  const after = times()
  const own = childMillis() - childBefore
  return { value, share: Math.max(0, (after.busy - before.busy - own) / (after.total - before.total)) }
}

const second = new Int32Array(new SharedArrayBuffer(4))
const pause = () => others(() => Atomics.wait(second, 0, 0, 1000))

/** Waits until other programs use at most a tenth of the processors for a second, or for half a minute. */
const quiet = () => {
  for (let waited = 0; waited < longestWaitSeconds && pause().share > tolerated; waited++);
}

let most = 0

/** Repeats `run` until an attempt is undisturbed, at most three times, and returns the result of the least disturbed attempt. */
export const undisturbed = <A>(run: () => A): A => {
  quiet()
  let best = others(run)
  for (let attempt = 1; attempt < attempts && best.share > tolerated; attempt++) {
    quiet()
    const next = others(run)
    if (next.share < best.share) best = next
  }
  Report.progress(`other programs took ${Report.percent(best.share)}`)
  most = Math.max(most, best.share)
  return best.value
}

/** Decodes the JSON that `run` returns in its least disturbed attempt. */
export const measured = <A>(name: string, schema: Schema.Codec<A, unknown>, run: () => string): A => {
  const text = undisturbed(run)
  Report.progress(`${name}: ${text}`)
  return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(text)
}

/** Measures each contestant once, one after another, and returns the results by name. */
export const round = <A>(contestants: ReadonlyMap<string, () => string>, schema: Schema.Codec<A, unknown>) =>
  new Map(Array.from(contestants, ([name, run]) => [name, measured(name, schema, run)] as const))

/** A sentence with the processor share of other programs in the most disturbed measurement so far. */
export const disturbance = () => `Other programs took at most ${Report.percent(most)} of the processors meanwhile.`
