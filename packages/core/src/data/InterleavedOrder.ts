/** Which group of which source comes next. */
import * as PythonRandom from "../record/PythonRandom.ts"
import * as Seed from "../record/Seed.ts"

export type Name = "seeded" | "python"

/** A source as far as the order needs to know it. */
export interface Pool {
  readonly name: string
  readonly weight: number
  readonly groups: number
}

/** Group `at` of a source. */
export interface Slot<P extends Pool> {
  readonly source: P
  readonly at: number
}

/** How a seed becomes choices. */
interface Choices {
  /** Position of the next source. */
  readonly source: () => number
  /** A new order of a source's groups; `cycle` counts them from 0. */
  readonly order: (source: number, cycle: number) => Uint32Array
}

const seeded = (pools: ReadonlyArray<Pool>, seed: number): Choices => {
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

/** One generator for everything: sources are shuffled in turn, and each again when it comes round. */
const python = (pools: ReadonlyArray<Pool>, seed: number): Choices => {
  const random = PythonRandom.make(seed)
  const sum = pools.reduce((sum, { weight }) => sum + weight, 0)
  const weights = pools.map(({ weight }) => weight / sum)
  return {
    source: () => random.choice(weights),
    order: (source) => {
      const order = Uint32Array.from({ length: pools[source]?.groups ?? 0 }, (_, index) => index)
      random.shuffle(order)
      return order
    }
  }
}

const choices = { seeded, python }

const schedule = <P extends Pool>(name: Name, pools: ReadonlyArray<P>, slots: number, seed: number) => {
  const { order, source } = choices[name](pools, seed)
  const states = pools.map((source, index) => ({ source, order: order(index, 0), cycle: 0, drawn: 0 }))
  return Array.from({ length: slots }).flatMap((): ReadonlyArray<Slot<P>> => {
    const index = source()
    const state = states[index]
    if (state === undefined) return []
    if (state.drawn === state.order.length) {
      state.order = order(index, ++state.cycle)
      state.drawn = 0
    }
    return [{ source: state.source, at: state.order[state.drawn++] ?? 0 }]
  })
}

/** The slots of a seed in order. Those of the last seed that was asked for are kept. */
export const remembered = <P extends Pool>(name: Name, pools: ReadonlyArray<P>, slots: number) => {
  let last: { readonly seed: number; readonly slots: ReadonlyArray<Slot<P>> } | undefined
  return (seed: number): ReadonlyArray<Slot<P>> => {
    if (last?.seed !== seed) last = { seed, slots: schedule(name, pools, slots, seed) }
    return last.slots
  }
}
