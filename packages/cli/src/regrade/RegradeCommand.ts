/** `effect-rl regrade RUN`: what another rule of credit would have trained on, without sampling anything. */
import { InvalidOption, type RunStore } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { Suggestion } from "@effect-rl/core/program"
import { Regrade } from "@effect-rl/core/records"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as WholeRun from "../checkpoints/WholeRun.ts"
import * as DamagedGroups from "../rollouts/DamagedGroups.ts"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import * as Quantity from "../terminal/Quantity.ts"
import { RunLog } from "../terminal/RunLog.ts"

const names = Object.keys(Regrade.rules)

const flags = {
  run: Argument.String("run").pipe(Argument.withDescription("Folder of the run")),
  rule: Flag.String("rule").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription(`How advantages follow from rewards: ${names.join(", ")} (default: leave_one_out)`),
    Flag.withDefault("leave_one_out")
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Write JSON records in place of text"), Flag.withDefault(false))
}

/** An iteration as it was credited, and as it would have been. */
interface Row {
  readonly iteration: number
  readonly reward: number
  /** Groups that were, and that would have been, trained on. */
  readonly informative: readonly [before: number, after: number]
  /** Mean size of an advantage. */
  readonly size: readonly [before: number, after: number]
  /** Members whose advantage would have changed its sign or become 0. */
  readonly turned: number
  readonly datums: number
}

type Advantages = ReadonlyArray<number>

/** Leaves out groups whose advantages are all 0. */
const meanSize = (advantages: ReadonlyArray<Advantages>) =>
  Statistics.mean(advantages.filter((group) => group.some((one) => one !== 0)).flat().map(Math.abs))

/** A missing advantage moves nothing. */
const turned = (before: Advantages, after: Advantages) =>
  Array.from({ length: Math.max(before.length, after.length) }).filter((_, member) =>
    Math.sign(before[member] ?? 0) !== Math.sign(after[member] ?? 0)
  ).length

const rowOf = ({ data, groups, iteration, recorded, reward }: Regrade.Regraded): Row => {
  const pairs = groups.map(({ advantagesG }, index) => [recorded[index] ?? [], Array.from(advantagesG)] as const)
  const informative = (which: 0 | 1) => pairs.filter((pair) => pair[which].length > 0).length
  return {
    iteration: iteration + 1,
    reward: reward.mean,
    informative: [informative(0), informative(1)],
    size: [meanSize(pairs.map(([one]) => one)), meanSize(pairs.map(([, other]) => other))],
    turned: pairs.reduce((sum, [one, other]) => sum + turned(one, other), 0),
    datums: data.length
  }
}

const headings = ["iteration", "reward", "groups trained on", "mean |advantage|", "members turned", "datums"]

const cells = ({ datums, informative, iteration, reward, size, turned }: Row) => [
  String(iteration),
  Quantity.fixed(reward, 3),
  informative.join(" → "),
  size.map((value) => Quantity.fixed(value, 3)).join(" → "),
  String(turned),
  String(datums)
]

/** The rule of the name. */
const ruleOf = (name: string) => {
  const credit = Object.hasOwn(Regrade.rules, name) ? Regrade.rules[name] : undefined
  return credit === undefined
    ? Effect.fail(
      new InvalidOption.InvalidOption({
        field: "--rule",
        found: `"${name}"`,
        expected: `the name of a rule: ${Suggestion.describe(name, names)}`
      })
    )
    : Effect.succeed(credit)
}

const regradeRun = Effect.fnUntraced(function*(run: RunStore.RunReader, rule: string) {
  const output = yield* Output
  const credit = yield* ruleOf(rule)
  const rows = yield* Stream.runCollect(Stream.map(Regrade.run(run, { credit }), rowOf))
  yield* output.lines([`as it was credited → as by "${rule}"`, ...Columns.aligned([headings, ...rows.map(cells)])])
  for (const row of rows) yield* output.record({ type: "regraded", rule, ...row })
})

export const regrade = Command.make(
  "regrade",
  flags,
  ({ json, rule, run }) =>
    DamagedGroups.failing(Effect.flatMap(WholeRun.open(run), (reader) => regradeRun(reader, rule))).pipe(
      Effect.provide(Layer.provide(Output.layer({ json }), RunLog.layerNone))
    )
).pipe(Command.withExamples([
  { command: "effect-rl regrade runs/arithmetic-0 --rule max_rl", description: "The run's rewards under another rule" }
]))
