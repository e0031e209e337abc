/**
 * Measures whether code_rl learns to write the invented programs on the embedded engine, whether its controls learn nothing, and for which
 * share of the time programs run. Measures what `benchmark/results/curves/programs.json` lacks, in all sandboxes or only in those named as
 * arguments. Needs bubblewrap and the WASI packages.
 */
import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Recipes } from "@effect-rl/recipes"
import { Sandbox, type SandboxError } from "@effect-rl/sandbox"
import { Clock, Effect, Layer, Stream } from "effect"
import { loadavg } from "node:os"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Controls from "./Controls.ts"
import * as Figure from "./Figure.ts"
import * as Kept from "./Kept.ts"
import * as RecipeRun from "./RecipeRun.ts"

const name = "programs"

const settings = { ...Recipes.codeRl.sample, ...Recipes.codeRl.onEngine?.settings }

/** Measures the time during which at least one program runs. */
interface Meter {
  running: number
  since: number
  busy: number
}

const metered = (meter: Meter, provided: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>) => {
  const begin = Effect.map(Clock.currentTimeMillis, (now) => {
    if (meter.running++ === 0) meter.since = now
  })
  const end = Effect.map(Clock.currentTimeMillis, (now) => {
    if (--meter.running === 0) meter.busy += now - meter.since
  })
  return Layer.effect(
    Sandbox.Sandbox,
    Effect.map(Sandbox.Sandbox, (sandbox) => ({
      ...sandbox,
      open: (spec: Parameters<typeof sandbox.open>[0]) =>
        Effect.map(sandbox.open(spec), (place) => ({
          ...place,
          exec: (command: Parameters<typeof place.exec>[0]) =>
            Effect.acquireUseRelease(begin, () => place.exec(command), () => end)
        }))
    }))
  ).pipe(Layer.provide(provided))
}

const heldOut = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Evaluated).flatMap(({ score }) =>
    score === undefined ? [] : [{ value: score.value, interval: [score.low, score.high] as const }]
  )

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const train = (
  place: string,
  provided: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>,
  kind: string,
  control: Controls.Control
) =>
(seed: number) => {
  const meter: Meter = { running: 0, since: 0, busy: 0 }
  return Effect.gen(function*() {
    const options = yield* RecipeRun.options(Recipes.codeRl, { ...settings, seed })
    const startedAt = yield* Clock.currentTimeMillis
    const records = yield* Stream.runCollect(
      Rl.run({ ...options, update: { ...options.update, ...control(seed) } })
    )
    const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    const [before, after = before] = heldOut(records)
    if (before === undefined || after === undefined) return yield* Effect.die("the run was not evaluated")
    const outcome: Kept.Outcome = {
      curve: records.filter(RunRecord.guards.Updated).flatMap(({ reward }) => reward?.mean ?? []),
      before,
      after,
      besides: {
        seconds,
        evaluations: sum(records.filter(RunRecord.guards.Evaluated).map(({ seconds }) => seconds)),
        verdicts: meter.busy / 1000 / seconds,
        load: loadavg()[0] ?? NaN
      }
    }
    Report.progress(`${place}, ${kind}, seed ${seed}: ${before.value.toFixed(3)} to ${after.value.toFixed(3)}`)
    return outcome
  }).pipe(
    Effect.provide(RunStore.RunStore.layerMemory, { local: true }),
    Effect.provide(metered(meter, provided), { local: true })
  )
}

const kinds = {
  trained: Controls.none,
  "rewards shuffled": Controls.shuffledRewards,
  "learning rate 0": Controls.noLearning
}

const rowOf = (place: string, provided: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>) => ({
  title: place,
  kinds: Object.fromEntries(
    Object.entries(kinds).map(([kind, control]) => [kind, train(place, provided, kind, control)])
  )
})

const native = rowOf("bubblewrap", Sandbox.Sandbox.layerBubblewrap())

const portable = rowOf("WASI", Sandbox.Sandbox.layerWasi())

/** The order of the measurements: both sandboxes are measured with one seed before further seeds. */
const stages = [
  { seeds: [0], row: native },
  { seeds: [0], row: portable },
  { seeds: [0, 1, 2], row: native },
  { seeds: [0, 1, 2], row: portable }
]

const shown = ({ interval: [low, high] = [NaN, NaN], value }: Kept.Score = { value: NaN }) =>
  `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`

const rowsOf = ({ rows }: Kept.Kept) =>
  Object.entries(rows).flatMap(([place, kinds]) =>
    Object.entries(kinds).flatMap(([kind, outcomes]) =>
      outcomes.map(({ after, before, besides, curve }, seed) => [
        `${place}, ${kind}, seed ${seed}`,
        shown(before),
        shown(after),
        (curve[0] ?? NaN).toFixed(2),
        (curve.at(-1) ?? NaN).toFixed(2),
        ((besides["seconds"] ?? NaN) - (besides["evaluations"] ?? NaN)).toFixed(0),
        Report.percent(besides["verdicts"] ?? NaN),
        (besides["load"] ?? NaN).toFixed(1)
      ])
    )
  )

const labels = {
  title: "What the preset tiny-code learns from verdicts of its programs",
  value: "mean reward by iteration",
  control: "rewards shuffled in each group"
}

/** A sentence that says how many runs have the same rewards in both sandboxes; empty if there is no run on WASI. */
const agreement = ({ rows }: Kept.Kept) => {
  const textOf = (outcome: Kept.Outcome | undefined) => JSON.stringify(outcome?.curve)
  const runs = Object.entries(rows[portable.title] ?? {}).flatMap(([kind, outcomes]) =>
    outcomes.map((outcome, seed) => textOf(outcome) === textOf(rows[native.title]?.[kind]?.[seed]))
  )
  if (runs.length === 0) return []
  const same = runs.filter((isSame) => isSame).length
  return [
    `In ${same} of the ${runs.length} runs on WASI, the rewards of all iterations are the same as in bubblewrap with that seed.`
  ]
}

/** A sentence that names the missing measurements on WASI; empty if none is missing. */
const unmeasured = ({ rows }: Kept.Kept) => {
  const lacking = Object.keys(kinds).flatMap((kind) => {
    const seeds = [0, 1, 2].slice(rows[portable.title]?.[kind]?.length ?? 0)
    return seeds.length === 0 ? [] : [`${kind} with seeds ${seeds.join(", ")}`]
  })
  return lacking.length === 0 ? [] : [`Not measured on WASI: ${lacking.join("; ")}.`]
}

const program = Effect.gen(function*() {
  const named = process.argv.slice(2)
  for (const { row, seeds } of stages) {
    if (named.length === 0 || named.includes(row.title)) yield* Kept.measure({ name, seeds, rows: [row] })
  }
  const kept = yield* Kept.read(name)
  Report.write(name, "Does code_rl learn to write programs?", [
    `Measured last ${kept.machine}.`,
    `\`effect-rl train code_rl\` with its defaults for the embedded engine: ${settings["iterations"]} iterations of ${
      settings["groupsPerBatch"]
    } problems × ${settings["groupSize"]} attempts on effect-rl/tiny-code, each program
judged by up to eight hidden tests in a sandbox. The first numbers are shares of held-out problems solved by one program sampled at
temperature 1, with 95 % intervals. Then come the mean rewards of the first and the last iteration, the seconds of training, and the share
of time with at least one program running in a sandbox. If the load exceeds 5, other programs shared the two processors.`,
    `![${labels.title}: every curve rises above its control](../../docs/images/curves/${name}.svg)`,
    Report.table(["", "before [95 %]", "after [95 %]", "first reward", "last", "s", "verdicts", "load"], rowsOf(kept)),
    ...unmeasured(kept),
    ...agreement(kept),
    "A run that is killed midway and resumed ends with [the same numbers](programs-killed.md)."
  ])
  const { "rewards shuffled": control = [], trained: measured = [] } = kept.rows["bubblewrap"] ?? {}
  yield* Figure.save(name, labels, [{ title: "code_rl", measured, control }])
})

OnEngine.runMain(program)
