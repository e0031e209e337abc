/** Compares the engine's cost of losses as graphs with that of its built-in importance sampling, on the groups of `npm start`. */
import { Schema } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const here = (file: string) => join(import.meta.dirname, file)
const models = [Workload.modelName, "effect-rl/tiny-64"]
const Ratios = Schema.Array(Schema.Tuple([Schema.String, Schema.Finite]))

const scratch = mkdtempSync(join(tmpdir(), "effect-rl-losses-"))

const measure = (model: string, index: number) => {
  const groups = join(scratch, `groups-${index}.json`)
  Process.node(here("groups.ts"), groups, model)
  return new Map(Quiet.measured(model, Ratios, () => Process.node(here("losses/ours.ts"), model, groups)))
}

const ratiosM = models.map(measure)
rmSync(scratch, { recursive: true })

const names = [...ratiosM[0]?.keys() ?? []]
const most = Math.max(...ratiosM.flatMap((ratios) => [...ratios.values()]))

Report.publish("engine-losses", "What a loss costs as a graph", [
  `The measurement is a training step on the first batch of \`npm start\`, ${Workload.groups} prompts × ${Workload.groupSize} answers, with an adapter of rank ${Workload.rank}. Each loss is
computed from its graph, in one pass, between two steps with the engine's built-in importance sampling. The table has the ratio of the
loss's time to the mean of those two steps, as the median of 45. ${Quiet.disturbance()}`,
  Report.table(
    ["loss", ...models.map((model) => `on ${model.split("/")[1]}`)],
    names.map((name) => [`\`${name}\``, ...ratiosM.map((ratios) => `${ratios.get(name)?.toFixed(3) ?? "–"}×`)])
  ),
  Report.aim("the slowest loss compared with importance sampling", most, "×", "at most", 1.1)
])
