/** Pipeline stages: runs that start from other runs' checkpoints, or use them as teachers or references. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import type * as Entry from "../story/Entry.ts"
import { RunCache } from "./RunCache.ts"
import * as RunLine from "./RunLine.ts"
import * as Runs from "./Runs.ts"

const noLinks: RunLine.Links = { made: new Set(), uses: [] }

type Edges = ReadonlyMap<string, ReadonlyArray<string>>

/** For each run, the runs whose checkpoints it uses. */
const edgesOf = Effect.fnUntraced(function*(runs: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const cache = yield* RunCache
  const links = yield* Effect.forEach(runs, (run) =>
    Effect.map(
      Effect.orElseSucceed(cache.links(run), () => noLinks),
      (links) => ({ run, links, folder: path.dirname(run) })
    ))
  return new Map(links.map((one) => [
    one.run,
    [
      ...new Set(
        one.links.uses.flatMap((place) =>
          links.filter((other) =>
            other.run !== one.run && RunLine.hasMade(other.links, place, other.folder === one.folder)
          ).map(({ run }) => run)
        )
      )
    ]
  ]))
})

/** All runs connected with the run, directly or indirectly. */
const joined = (edges: Edges, run: string): ReadonlyArray<string> => {
  const found = new Set([run])
  for (const one of found) {
    for (const [other, bases] of edges) {
      if (other === one) { for (const base of bases) found.add(base) }
      else if (bases.includes(one)) found.add(other)
    }
  }
  return [...found]
}

/** The runs in their order, except that each comes after the runs whose checkpoints it uses. A cycle keeps the given order. */
const ordered = (edges: Edges, runs: ReadonlyArray<string>): ReadonlyArray<string> => {
  const order = new Set<string>()
  const visit = (run: string, above: ReadonlySet<string>) => {
    if (order.has(run) || above.has(run)) return
    for (const base of edges.get(run) ?? []) visit(base, new Set([...above, run]))
    order.add(run)
  }
  for (const run of runs) visit(run, new Set())
  return [...order]
}

/** The stages of the run's pipeline in order; empty if the run belongs to none. */
export const of = Effect.fn("Stages.of")(function*(folders: ReadonlyArray<string>, run: string) {
  const edges = yield* edgesOf(yield* Runs.find(folders))
  const stages = joined(edges, run).toSorted()
  if (stages.length < 2) return []
  const cache = yield* RunCache
  const now = yield* Clock.currentTimeMillis
  const lines = yield* Effect.forEach(stages, (stage) => cache.line(stage, now))
  const known = new Map(lines.toSorted((left, right) => left.at - right.at).map((line) => [line.run, line]))
  return ordered(edges, [...known.keys()]).flatMap((stage): ReadonlyArray<Entry.Stage> => {
    const line = known.get(stage)
    return line === undefined ? [] : [{ line, standsOn: edges.get(stage) ?? [] }]
  })
})
