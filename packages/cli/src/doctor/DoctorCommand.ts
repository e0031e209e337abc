/** `effect-rl doctor`: checks that a backend, a model, its tokenizer and its renderer work together, and lists the available sandboxes. */
import { LocalProvider } from "@effect-rl/sandbox"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Subject from "../eval/Subject.ts"
import * as SubjectFlags from "../eval/SubjectFlags.ts"
import * as Failure from "../Failure.ts"
import * as Help from "../Help.ts"
import * as NamedRecipe from "../NamedRecipe.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as Examination from "./Examination.ts"

/** A check failed. Checks that depend on it were skipped. */
export class NotWell extends Schema.TaggedError<NotWell>()("NotWell", {
  check: Schema.String
}) {
  override get message() {
    return `not ready: the check "${this.check}" failed`
  }
}

const tell = Effect.fnUntraced(function*({ check, detail, outcome }: Examination.Result) {
  const output = yield* Output
  const mark = {
    works: output.style.good("works  "),
    differs: output.style.warn("differs"),
    fails: output.style.bad("fails  ")
  }
  yield* output.lines([`${mark[outcome]}  ${check.padEnd(10)}  ${Untrusted.show(detail)}`])
  yield* output.record({ type: "check", check, outcome, detail })
})

interface Flags extends SubjectFlags.Flags {
  readonly recipe: Option.Option<string>
}

const examine = Effect.fnUntraced(function*(flags: Flags) {
  const output = yield* Output
  const recipe = yield* NamedRecipe.given(flags.recipe)
  const usual = recipe === undefined ? undefined : yield* NamedRecipe.usualModel(recipe)
  const subject = yield* Subject.resolve(flags.model, flags.checkpoint, usual)
  const started = yield* Effect.exit(
    Effect.scoped(Effect.provide(Examination.run(subject, recipe, tell), SubjectFlags.backend(subject, flags)))
  )
  if (started._tag === "Failure") {
    yield* tell({ check: "backend", outcome: "fails", detail: Failure.causeMessage(started.cause) })
  }
  yield* tell(Examination.sandboxes(yield* LocalProvider.examine))
  const failed = started._tag === "Failure" ? "backend" : started.value?.check
  if (failed !== undefined) return yield* new NotWell({ check: failed })
  const address = Option.match(flags.baseUrl, { onNone: () => "", onSome: (url) => ` --base-url ${url}` })
  yield* output.lines([
    `ready: ${yield* commandName} train ${
      Option.getOrElse(flags.recipe, () => "arithmetic")
    } --backend ${flags.backend}${address} --model ${subject.model}`
  ])
})

export const doctor = Command.make(
  "doctor",
  { ...SubjectFlags.flags, recipe: NamedRecipe.flag },
  (flags) =>
    Effect.provide(
      examine(flags),
      Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer(flags), RunLog.layerNone))
    )
).pipe(
  Help.withSections(SubjectFlags.sections),
  Command.withExamples([
    { command: "effect-rl doctor", description: "The engine of this process" },
    { command: "effect-rl doctor --recipe ./my-recipe.ts", description: "The model of your own recipe" },
    { command: "effect-rl doctor --backend tinker --model Qwen/Qwen3-8B", description: "A model of a service" }
  ])
)
