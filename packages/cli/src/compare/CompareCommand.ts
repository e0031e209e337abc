/** `effect-rl compare LEFT RIGHT`: compares two runs, or two sets of seeds, on the held-out problems that both attempted. */
import { Compare } from "@effect-rl/core"
import { Verdict } from "@effect-rl/core/evaluation"
import { Divergence } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as SweepFolder from "../train/SweepFolder.ts"
import * as CompareText from "./CompareText.ts"

const side = (name: string) =>
  Argument.String(name).pipe(
    Argument.withDescription(
      "Folder of a run, or of a sweep over seeds; several folders, separated by commas, are seeds of one configuration"
    )
  )

const flags = {
  left: side("left"),
  right: side("right"),
  at: Flag.Literals("at", ["iteration", "tokens", "time"]).pipe(
    Flag.withDescription(
      "Compare the newest evaluations at which all runs are equal in this; default: the newest of each run"
    ),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Write JSON records in place of text"), Flag.withDefault(false))
}

/** The runs in the named folders, or in the folders of their seeds. */
const sideOf = Effect.fnUntraced(function*(name: string) {
  const folders = yield* Effect.forEach(name.split(","), SweepFolder.seeds)
  const runs = yield* Effect.forEach(
    folders.flat(),
    (folder) => Effect.flatMap(RunDirectory.open(folder), ({ read }) => Stream.runCollect(read))
  )
  const found: Compare.Side = { name, runs }
  return found
})

interface Options {
  readonly left: string
  readonly right: string
  readonly at: Option.Option<Compare.Meter>
}

const compareRuns = Effect.fnUntraced(function*({ at, ...names }: Options) {
  const output = yield* Output
  const [left, right] = [yield* sideOf(names.left), yield* sideOf(names.right)]
  const losses = Option.isNone(at) ? Compare.losses(left, right) : []
  const paired = Effect.fromResult(Compare.runs(left, right, Option.getOrUndefined(at)))
  // Supervised and preference runs have no attempts to pair.
  const compared = yield* losses.length > 0
    ? Effect.orElseSucceed(paired, (): ReadonlyArray<Compare.Comparison> => [])
    : paired
  const [one, other] = [left.runs[0] ?? [], right.runs[0] ?? []]
  const configuration = Divergence.configuration(one, other)
  const first = Divergence.first(one, other)
  yield* output.lines([
    ...compared.flatMap((comparison) => CompareText.comparison(comparison, output.style)),
    ...losses.flatMap((loss) => CompareText.loss(loss, output.style)),
    "",
    ...CompareText.configuration(configuration, output.style),
    ...CompareText.divergence(first, output.style)
  ])
  for (const comparison of compared) {
    const { differences: _, keys: _keys, ...numbers } = comparison
    yield* output.record({ type: "comparison", verdict: Verdict.of(comparison), ...numbers })
  }
  for (const loss of losses) yield* output.record({ type: "losses", verdict: Verdict.ofLoss(loss), ...loss })
  yield* output.record({ type: "divergence", configuration, first: first ?? null })
})

export const compare = Command.make(
  "compare",
  flags,
  ({ json, ...options }) =>
    Effect.provide(compareRuns(options), Layer.provide(Output.layer({ json }), RunLog.layerNone))
).pipe(Command.withExamples([
  { command: "effect-rl compare runs/before runs/after", description: "Two runs" },
  {
    command: "effect-rl compare runs/before runs/after --at tokens",
    description: "Two runs where both had sampled and trained as many tokens"
  }
]))
