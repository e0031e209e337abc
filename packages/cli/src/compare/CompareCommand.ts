/** `effect-rl compare LEFT RIGHT`: two runs, or two sets of seeds, on the held-out problems that both attempted. */
import { Compare, Divergence, type RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as CompareText from "./CompareText.ts"

const side = (name: string) =>
  Argument.String(name).pipe(
    Argument.withDescription("Folder of a run; several, with commas between, are seeds of one configuration")
  )

const flags = {
  left: side("left"),
  right: side("right"),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Write JSON records in place of text"), Flag.withDefault(false))
}

type Records = ReadonlyArray<RunRecord.RunRecord>

const seedsOf = (folders: string) =>
  Effect.forEach(
    folders.split(","),
    (folder) => Effect.flatMap(RunDirectory.open(folder), ({ read }) => Stream.runCollect(read))
  )

/** The newest scores of the evaluator in each of the runs; undefined where one of them has none. */
const scoresOf = (runs: ReadonlyArray<Records>, evaluator: string) => {
  const scores = runs.flatMap((records) =>
    Compare.heldOut(records).flatMap((held) => held.evaluator === evaluator ? [held.scores] : [])
  )
  return scores.length === runs.length ? scores : undefined
}

/** Comparisons by the evaluators that all runs have. */
const comparisons = (left: ReadonlyArray<Records>, right: ReadonlyArray<Records>) =>
  Compare.heldOut(left[0] ?? []).flatMap(({ evaluator }) => {
    const [ours, theirs] = [scoresOf(left, evaluator), scoresOf(right, evaluator)]
    return ours === undefined || theirs === undefined ? [] : [{ evaluator, ...Compare.paired(ours, theirs) }]
  })

const compareRuns = Effect.fnUntraced(function*(names: { readonly left: string; readonly right: string }) {
  const output = yield* Output
  const [left, right] = [yield* seedsOf(names.left), yield* seedsOf(names.right)]
  const compared = comparisons(left, right)
  if (compared.length === 0) {
    const detail =
      `no evaluator measured both it and ${names.right}: train with --eval-every, or compare them on the page of ` +
      `${yield* commandName} view`
    return yield* new RunStore.RunError({ run: names.left, detail })
  }
  const configuration = Divergence.configuration(left[0] ?? [], right[0] ?? [])
  const first = Divergence.first(left[0] ?? [], right[0] ?? [])
  yield* output.lines([
    ...compared.flatMap((comparison) => CompareText.comparison(comparison, names, output.style)),
    "",
    ...CompareText.configuration(configuration, output.style),
    ...CompareText.divergence(first, output.style)
  ])
  for (const comparison of compared) yield* output.record({ type: "comparison", ...names, ...comparison })
  yield* output.record({ type: "divergence", configuration, first: first ?? null })
})

export const compare = Command.make(
  "compare",
  flags,
  ({ json, ...names }) => Effect.provide(compareRuns(names), Layer.provide(Output.layer({ json }), RunLog.layerNone))
)
