/** A directory of people and their rooms, searchable by name. */
import { Seed } from "@effect-rl/core/environments"

export interface Entry {
  readonly name: string
  readonly room: string
}

export type Directory = ReadonlyArray<Entry>

const firstNames = ["Ada", "Ben", "Cara", "Dan", "Eve", "Finn", "Gina", "Hugo", "Ida", "Jack", "Kate", "Leo"]
const lastNames = ["Bell", "Cook", "Dale", "Ford", "Gray", "Hill", "King", "Lane", "Moor", "Nash", "Reed", "West"]

/** All first and last names. */
export const words = [...firstNames, ...lastNames]

const names = firstNames.flatMap((first) => lastNames.map((last) => `${first} ${last}`))

/** Whether a name is held out. About one in eight is. */
export const isHeldOut = (name: string) => Seed.derive(0, name) % 8 === 0

export const trained = names.filter((name) => !isHeldOut(name))
export const heldOut = names.filter(isHeldOut)

/** A directory in which each person has a three-digit room, drawn from the seed. */
export const make = (seed: number): Directory => {
  const next = Seed.uniform(seed)
  return names.map((name) => ({ name, room: String(100 + Math.floor(next() * 900)) }))
}

const most = 3

/**
 * At most three entries whose name contains every word of the query, in an order drawn from the seed.
 *
 * @example
 * const found = Directory.search(Directory.make(1), "Ada Bell", 1)
 */
export const search = (directory: Directory, query: string, seed: number): Directory => {
  const wanted = query.toLowerCase().split(/\s+/).filter((word) => word !== "")
  const found = directory.filter(({ name }) => {
    const words = name.toLowerCase().split(" ")
    return wanted.length > 0 && wanted.every((word) => words.includes(word))
  })
  return Array.from(Seed.permutation(found.length, seed)).flatMap((at) => found[at] ?? []).slice(0, most)
}
