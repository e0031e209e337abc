/**
 * Addition problems that are, in either order, neither in what the embedded models were pretrained on nor in `BoxedAddition`'s
 * training problems. `PlainAddition` draws upstream's problems and leaves none out.
 *
 * The pairs come from a fixed seed, so they are computed where they are needed: operands are the first two draws below 100
 * from `Seed.uniform` (mulberry32) of `heldOutSeed`, put in ascending order, skipping a pair already drawn and
 * `4 + 5` (the worked example of the few-shot prompt), until there are 256 of the 5050 unordered pairs.
 */
import { Seed } from "@effect-rl/core/environments"

const heldOutSeed = 20260101
const heldOutCount = 256

const keyOf = (a: number, b: number): number => Math.min(a, b) * 1000 + Math.max(a, b)

const drawPairs = (): ReadonlyArray<readonly [number, number]> => {
  const next = Seed.uniform(heldOutSeed)
  const taken = new Set([keyOf(4, 5)])
  const pairs: Array<readonly [number, number]> = []
  while (pairs.length < heldOutCount) {
    const x = Math.floor(next() * 100)
    const y = Math.floor(next() * 100)
    if (taken.has(keyOf(x, y))) continue
    taken.add(keyOf(x, y))
    pairs.push([Math.min(x, y), Math.max(x, y)])
  }
  return pairs
}

/** The 256 held-out pairs in ascending order within each pair, in the order they are drawn. */
export const heldOutPairs: ReadonlyArray<readonly [number, number]> = drawPairs()

const heldOutKeys: ReadonlySet<number> = new Set(heldOutPairs.map(([a, b]) => keyOf(a, b)))

/**
 * Whether `a + b` is held out, in either order.
 *
 * @example
 * const [trained, held] = [[2, 3], [40, 2]].map(([a = 0, b = 0]) => HeldOutPairs.isHeldOut(a, b))
 */
export const isHeldOut = (a: number, b: number): boolean => heldOutKeys.has(keyOf(a, b))
