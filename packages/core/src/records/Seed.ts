/**
 * Seeds as pure functions of keys: a run with the same seed draws the same seeds at any concurrency.
 *
 * @example
 * const shuffled = Seed.permutation(rows.length, Seed.derive(7, "epoch", 2))
 */
import type { TurnKey } from "./Key.ts"

/** Mixes 32 bits so that each input bit affects every output bit (MurmurHash3's finalizer). */
const mix = (value: number) => {
  let hash = value >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Adds a character to an FNV-1a hash. */
const fold = (hash: number, character: number) => Math.imul(hash ^ character, 0x01000193)

const slash = 0x2f

/**
 * Derives a seed from a seed and the text of the parts: FNV-1a over their code points, then mixed. The result has 30 bits, so adding a
 * member's index still gives a positive int32.
 */
export const derive = (seed: number, ...parts: ReadonlyArray<string | number>) => {
  let hash = mix(seed ^ 0x811c9dc5)
  for (const part of parts) {
    const text = String(part)
    hash = fold(hash, slash)
    for (let index = 0; index < text.length; index++) {
      const character = text.codePointAt(index) ?? 0
      hash = fold(hash, character)
      if (character > 0xffff) index++
    }
  }
  return mix(hash) >>> 2
}

/**
 * The seed of a turn: `groupSeed + member` at the first turn of the first attempt, so a group's equal first prompts can share one request.
 */
export const turn = (seed: number, key: TurnKey) => {
  const member = derive(seed, key.iteration, key.group) + key.member
  return key.turn === 0 && key.attempt === 0 ? member : derive(member, key.attempt, key.turn)
}

/** Multiplier that folds a seed's bits above the low 32 (at most 21) into the low 32. */
const spread = 0x9e3779b1

/** A generator of numbers in [0, 1), the same for equal seeds (mulberry32); a seed is an integer below 2^53. */
export const uniform = (seed: number): () => number => {
  let state = ((seed >>> 0) + Math.imul(Math.trunc(seed / 2 ** 32), spread)) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296
  }
}

/** The numbers `0 … length − 1` in the order of a seeded Fisher–Yates shuffle. */
export const permutation = (length: number, seed: number): Uint32Array => {
  const next = uniform(seed)
  const order = Uint32Array.from({ length }, (_, index) => index)
  for (let last = length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1))
    const held = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = held
  }
  return order
}
