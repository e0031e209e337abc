/** One `play` command, from its settings to the reward. */
import { type ChatModel, type EnvGroupBuilder, Rollout } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { GroupResult, type Hooks, Suggestion } from "@effect-rl/core/program"
import { ModelRegistry, Renderers } from "@effect-rl/core/renderers"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ConversationFile from "../ConversationFile.ts"
import { Output } from "../terminal/Output.ts"
import { tokenizer } from "./CodePoints.ts"
import * as Person from "./Person.ts"
import * as Played from "./Played.ts"
import * as Rendered from "./Rendered.ts"

export interface Flags {
  /** Index of the first problem, counted from 0. */
  readonly problem: number
  readonly episodes: number
  /** The file to which the episodes are saved. */
  readonly save: Option.Option<string>
}

/** The recipe has no problem with the requested index. */
export class NoSuchProblem extends Schema.TaggedError<NoSuchProblem>()("NoSuchProblem", {
  recipe: Schema.String,
  problem: Schema.Int,
  problems: Schema.Int
}) {
  override get message() {
    return `--problem ${this.problem}: ${this.recipe} has ${this.problems}, counted from 0`
  }
}

/** The model is not registered, so its conversation format is unknown. */
export class UnknownModel extends Schema.TaggedError<UnknownModel>()("UnknownModel", { model: Schema.String }) {
  override get message() {
    const names = ModelRegistry.models.map(({ name }) => name)
    return `--model "${this.model}" is not known: ${Suggestion.describe(this.model, names)}`
  }
}

/** A model that can render conversations but not sample: a person writes the answers. */
const spokenLike = Effect.fnUntraced(function*(name: string) {
  const [rendererName] = ModelRegistry.find(name)?.renderers ?? []
  if (rendererName === undefined) return yield* new UnknownModel({ model: name })
  const rendered = Rendered.make(yield* Renderers.byName(rendererName, tokenizer), Person.textOf)
  const model: ChatModel.ChatModel = {
    name,
    tokenizer,
    renderer: rendered.renderer,
    capabilities: {
      contextLength: Number.MAX_SAFE_INTEGER,
      lossReduction: "token-sum",
      seeds: "none",
      promptLogprobs: false,
      topkPromptLogprobs: 0,
      loraRank: [1, Number.MAX_SAFE_INTEGER]
    }
  }
  return { model, rendered }
})

/** The requested problems, in training order. */
const problems = Effect.fnUntraced(function*<E, R>(
  recipe: string,
  { dataset }: Recipe.Task<E, R>,
  seed: number,
  flags: Flags
) {
  const found: Array<EnvGroupBuilder.EnvGroupBuilder<E, R>> = []
  for (let index = 0; index < dataset.length && found.length < flags.problem + flags.episodes; index++) {
    found.push(...yield* dataset.batch(index, seed))
  }
  if (found.length > flags.problem) return found.slice(flags.problem, flags.problem + flags.episodes)
  return yield* new NoSuchProblem({ recipe, problem: flags.problem, problems: found.length })
})

/** Reduces a group to one attempt; a game keeps all its sides. */
const attempt = <E, R>(builder: EnvGroupBuilder.EnvGroupBuilder<E, R>): EnvGroupBuilder.EnvGroupBuilder<E, R> =>
  builder.coupled === true ? builder : { ...builder, size: 1 }

/** Saves the conversations of the members that finished, with their rewards. */
const save = (file: string, person: Person.Person, result: GroupResult.GroupResult) =>
  GroupResult.isSkipped(result) ? Effect.void : Effect.forEach(
    GroupResult.survivors(result),
    ([member]) =>
      ConversationFile.append(file, { messages: person.saidBy(member), tools: [] }, {
        reward: result.rewardsG[member]
      }),
    { discard: true }
  )

/** Plays the problems in turn, until all are played or the input ends. */
export const run = Effect.fn("PlayRun.run")(function*<E, R>(
  recipe: string,
  { build, model: name, seed }: Recipe.Configured<E, R>,
  flags: Flags
) {
  const output = yield* Output
  const { model, rendered } = yield* spokenLike(name)
  const task = yield* build(model)
  const builders = yield* problems(recipe, task, seed, flags)
  const person = yield* Person.make(rendered)
  const results: Array<GroupResult.GroupResult> = []
  let played: ReadonlyArray<Trajectory.Transition> = []
  const onTurnBegin = ({ transitions }: Hooks.State) => {
    played = transitions
    const last = transitions.at(-1)
    return Effect.as(output.lines(last === undefined ? [] : [Played.turn(last, output.style)]), [])
  }
  const playAll = Effect.forEach(builders, (builder, index) =>
    Effect.gen(function*() {
      if (index > 0) yield* output.lines([""])
      const result = yield* Rollout.group(attempt(builder), person.policy, { hooks: { onTurnBegin } })
      results.push(result)
      if (Option.isSome(flags.save)) yield* save(flags.save.value, person, result)
      yield* output.lines(["", ...Played.lines(result, output.style)])
    }), { discard: true })
  yield* Effect.catchTag(playAll, "Left", () => output.lines(["", ...Played.left(played, output.style)]))
  yield* output.lines(Played.summary(results))
}, Effect.scoped)
