/** The order in which the groups of several sources are interleaved. */
import * as Seed from "../records/Seed.ts"

/** The name, the weight and the number of groups of a source, on which the order depends. */
export interface Pool {
  readonly name: string
  readonly weight: number
  readonly groups: number
}

/** For each slot `S`: the index of the source, and the index of the group within that source. */
export interface Schedule {
  readonly sourceS: Uint32Array
  readonly groupS: Uint32Array
}

/** The random choices that follow from a seed. */
interface Choices {
  /** Index of the next source. */
  readonly source: () => number
  /** A random order of a source's groups. `cycle` counts the source's passes from 0. */
  readonly order: (source: number, cycle: number) => Uint32Array
}

const choices = (pools: ReadonlyArray<Pool>, seed: number): Choices => {
  const next = Seed.uniform(Seed.derive(seed, "Interleaved"))
  const sum = pools.reduce((sum, { weight }) => sum + weight, 0)
  return {
    source: () => {
      let left = next() * sum
      return Math.max(0, pools.findIndex(({ weight }, index) => (left -= weight) < 0 || index === pools.length - 1))
    },
    order: (source, cycle) =>
      Seed.permutation(pools[source]?.groups ?? 0, Seed.derive(seed, "Interleaved", pools[source]?.name ?? "", cycle))
  }
}

const schedule = (pools: ReadonlyArray<Pool>, slots: number, seed: number): Schedule => {
  const { order, source } = choices(pools, seed)
  const states = pools.map((_, index) => ({ order: order(index, 0), cycle: 0, drawn: 0 }))
  const sourceS = new Uint32Array(slots)
  const groupS = new Uint32Array(slots)
  for (let slot = 0; slot < slots; slot++) {
    const index = source()
    const state = states[index]
    if (state === undefined) continue
    if (state.drawn === state.order.length) {
      state.order = order(index, ++state.cycle)
      state.drawn = 0
    }
    sourceS[slot] = index
    groupS[slot] = state.order[state.drawn++] ?? 0
  }
  return { sourceS, groupS }
}

/** Returns a function from seeds to schedules that caches the schedule of the most recent seed. */
export const remembered = (pools: ReadonlyArray<Pool>, slots: number) => {
  let last: { readonly seed: number; readonly schedule: Schedule } | undefined
  return (seed: number): Schedule => {
    if (last?.seed !== seed) last = { seed, schedule: schedule(pools, slots, seed) }
    return last.schedule
  }
}
