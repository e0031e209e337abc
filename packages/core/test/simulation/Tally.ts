/** Counts the events of many simulated batches. */
import { Exit, Option } from "effect"
import type * as Batch from "./Batch.ts"

const failures = ({ simulation: { exit } }: Batch.Batch) => {
  if (Option.isNone(exit)) return ["batch without an end"]
  return Exit.isSuccess(exit.value) ? [] : [Exit.hasInterrupts(exit.value) ? "batch interrupted" : "batch aborted"]
}

const kinds = (batch: Batch.Batch): ReadonlyArray<string> => {
  const { exit } = batch.simulation
  const results = Option.isSome(exit) && Exit.isSuccess(exit.value) ? exit.value.value : []
  return [
    ...failures(batch),
    ...results.flatMap((result) => [
      `group ${result._tag}`,
      ...(result._tag === "Skipped" ? [`group skipped for ${result.reason.failure}`] : [
        ...result.retried.map(({ failure }) => `retried ${failure}`),
        ...result.members.flatMap((member) =>
          Option.toArray(member).map(({ stopReason }) =>
            `episode ended as ${Option.getOrElse(stopReason, () => "done")}`
          )
        )
      ]),
      ...(result._tag === "Completed" ? [] : result.dropped.map(({ failure }) => `dropped ${failure}`))
    ])
  ]
}

export const make = () => {
  const counts = new Map<string, number>()
  const add = (name: string, count = 1) => void counts.set(name, (counts.get(name) ?? 0) + count)
  return {
    count: (batch: Batch.Batch) => {
      add("batches")
      add("events", batch.simulation.events.length)
      for (const kind of kinds(batch)) add(kind)
    },
    text: () => Array.from(counts).toSorted().map(([name, count]) => `${name}: ${count}`).join("\n")
  }
}
