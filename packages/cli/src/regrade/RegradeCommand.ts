/** `effect-rl regrade RUN`: shows what training would have used with another credit rule, without sampling. */
import { Credit, InvalidOption, type RunStore, Setting } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { NamedCredit } from "@effect-rl/core/program"
import { CreditText, Quantity, Regrade, StoryReader } from "@effect-rl/core/records"
import { CreditSettings } from "@effect-rl/recipes"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as WholeRun from "../checkpoints/WholeRun.ts"
import * as DamagedGroups from "../rollouts/DamagedGroups.ts"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as OwnRecipe from "../train/OwnRecipe.ts"
import * as SettingFlags from "../train/SettingFlags.ts"

/** The credit settings of `train`, without a default rule: most runs already use that rule. */
const settings = Schema.Struct({
  ...CreditSettings.fields,
  /** The rule that turns rewards into advantages; docs/algorithms.md describes each. */
  credit: Setting.choice({
    choices: NamedCredit.names,
    help: "The rule that turns rewards into advantages; docs/algorithms.md describes each"
  })
})

const flags = {
  run: Argument.String("run").pipe(Argument.withDescription("Folder of the run")),
  recipe: Flag.String("recipe").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(
      "A module of your own, such as ./my-recipe.ts, whose recipe has a credit of its own (Recipe.withCredit)"
    ),
    Flag.optional
  ),
  settings: SettingFlags.of(settings),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Write JSON records in place of text"), Flag.withDefault(false))
}

/** An iteration's credit as recorded and as recomputed. */
interface Row {
  readonly iteration: number
  readonly reward: number
  /** Number of groups that were, and would have been, trained on. */
  readonly informative: readonly [before: number, after: number]
  /** Mean absolute advantage. */
  readonly size: readonly [before: number, after: number]
  /** Number of members whose advantage would have changed its sign or become 0. */
  readonly turned: number
  readonly datums: number
}

type Advantages = ReadonlyArray<number>

/** Mean absolute advantage. Groups whose advantages are all 0 are excluded. */
const meanSize = (advantages: ReadonlyArray<Advantages>) =>
  Statistics.mean(advantages.filter((group) => group.some((one) => one !== 0)).flat().map(Math.abs))

/** Counts changed signs. A missing advantage counts as 0. */
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

const refuse = (field: string, found: string, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field, found, expected }))

/** The credit that the module's recipe makes from the chosen rule. Fails if a rule is given that the recipe does not use. */
const ownCredit = Effect.fnUntraced(function*(file: Option.Option<string>, given: Readonly<Record<string, unknown>>) {
  if (Option.isNone(file)) return undefined
  const { credit, settings } = yield* OwnRecipe.loadRecipe(file.value)
  if (credit === undefined) return yield* refuse("--recipe", file.value, "a recipe made by Recipe.withCredit")
  const foreign = Object.keys(given).find((name) => !Object.hasOwn(settings.fields, name))
  if (foreign === undefined) return credit
  const expected = `left out: the credit of ${file.value} does not have this option`
  return yield* refuse(`--${SettingFlags.kebab(foreign)}`, String(given[foreign]), expected)
})

/** The run's recorded limit on response tokens. */
const maxTokensOf = (run: RunStore.RunReader) =>
  Effect.map(StoryReader.read(run), ({ opened }) => Number(opened?.identity["max_tokens"] ?? 0))

/** The credit that the flags select, and its name. */
const creditOf = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  given: Readonly<Record<string, unknown>>,
  file: Option.Option<string>
) {
  const own = yield* ownCredit(file, given)
  if (own === undefined && given["credit"] === undefined) {
    return yield* refuse("--credit", "absent", `the name of a rule: ${NamedCredit.names.join(", ")}; or --recipe`)
  }
  const decoded = yield* Setting.decode(Schema.Struct(CreditSettings.fields), given)
  const chosen = { ...decoded, maxTokens: yield* maxTokensOf(run) }
  yield* CreditSettings.check(chosen)
  const credit = CreditSettings.of(chosen)
  if (own === undefined) return { credit, name: chosen.credit }
  const changed = own(credit)
  return { credit: changed, name: CreditText.name(Credit.identityOf(changed)) }
})

const regradeRun = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  given: Readonly<Record<string, unknown>>,
  file: Option.Option<string>
) {
  const output = yield* Output
  const { credit, name } = yield* creditOf(run, given, file)
  const rows = yield* Stream.runCollect(Stream.map(Regrade.run(run, { credit }), rowOf))
  yield* output.lines([`as it was credited → as by "${name}"`, ...Columns.aligned([headings, ...rows.map(cells)])])
  for (const row of rows) yield* output.record({ type: "regraded", credit: name, ...row })
})

export const regrade = Command.make(
  "regrade",
  flags,
  ({ json, recipe, run, settings }) =>
    DamagedGroups.failing(
      Effect.flatMap(WholeRun.open(run), (reader) => regradeRun(reader, SettingFlags.given(settings), recipe))
    ).pipe(Effect.provide(Layer.provide(Output.layer({ json }), RunLog.layerNone)))
).pipe(Command.withExamples([
  {
    command: "effect-rl regrade runs/arithmetic-0 --credit pass_at_k --pass-k 4",
    description: "The run's rewards under another rule"
  },
  {
    command: "effect-rl regrade runs/arithmetic-0 --recipe ./my-recipe.ts",
    description: "Under your own credit, as the recipe defines it"
  }
]))
