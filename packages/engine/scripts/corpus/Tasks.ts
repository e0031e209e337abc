/** Documents made by playing the recipes' training problems with an assistant of mixed habits, and additions. */
import { type ChatModel, type EnvGroupBuilder, type Policy, Rollout } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import { Seed, type Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { Renderers, type Tokenizer } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { Answerer, Directory, Format, type Recipe, Recipes, Things } from "@effect-rl/recipes"
import * as GuessNumber from "@effect-rl/recipes/guessNumber/GuessNumber"
import * as TwentyQuestions from "@effect-rl/recipes/twentyQuestions/TwentyQuestions"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Addition from "./Addition.ts"
import { type Corpus, reliableShare } from "./Corpus.ts"
import * as Documents from "./Documents.ts"
import * as Habits from "./Habits.ts"
import * as Random from "./Random.ts"
import * as Sums from "./Sums.ts"

/** A recipe, how it is played, and how often in each step. */
interface Played {
  readonly recipe: Recipe.Recipe<unknown>
  readonly habit: Habits.Habit
  /** Problems in each step. */
  readonly problems: number
  /** Settings other than the number of problems. */
  readonly settings: object
  /** The groups of a step; by default, those of the recipe's training problems. */
  readonly groups?: (
    model: ChatModel.ChatModel,
    step: number
  ) => ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<unknown>>
}

/** What a corpus is made of. */
interface Mixture {
  readonly played: ReadonlyArray<Played>
  /** Sums in each step, so that the model does not forget them. */
  readonly sums: number
  /** Words that the tokenizer should know whole. */
  readonly words: ReadonlyArray<string>
}

const alone = { groupSize: 1 }

const games = 24

/**
 * Uses all numbers in turn. A game with a training number never leaves only a held-out number open, and a guess that is never shown is not
 * learned.
 */
const guessing: Played = {
  recipe: Recipes.guessNumber,
  habit: Habits.guess,
  problems: games,
  settings: alone,
  groups: (model, step) =>
    Array.from(
      { length: games },
      (_, game) => GuessNumber.group(model, Habits.game, 1, (step * games + game) % Habits.game.range)
    )
}

const mixed: Mixture = {
  played: [
    guessing,
    { recipe: Recipes.calculator, habit: Habits.calculate, problems: 10, settings: alone },
    { recipe: Recipes.lookup, habit: Habits.search, problems: 10, settings: alone },
    { recipe: Recipes.format, habit: Habits.list, problems: 10, settings: alone },
    { recipe: Recipes.ticTacToe, habit: Habits.move, problems: 6, settings: {} }
  ],
  sums: 12,
  words: [...Directory.words, ...Format.words]
}

const askedAbout = 48

/** Uses all things in turn, for the same reason. */
const asking: Mixture = {
  played: [{
    recipe: Recipes.twentyQuestions,
    habit: Habits.ask,
    problems: askedAbout,
    settings: { ...alone, ...Recipes.twentyQuestions.sample },
    groups: (model, step) =>
      Array.from({ length: askedAbout }, (_, game) => {
        const thing = Things.names[(step * askedAbout + game) % Things.names.length] ?? ""
        const known = TwentyQuestions.group(model, { maxTurns: 8, size: 1 }, Effect.succeed(Answerer.scripted))
        return { ...known(thing), key: `${game}/${thing}` }
      })
  }],
  sums: 0,
  words: Things.names
}

const modelWith = (tokenizer: Tokenizer.Tokenizer) =>
  Effect.map(Renderers.byName("qwen3_instruct", tokenizer), (renderer): ChatModel.ChatModel => ({
    name: "effect-rl/tiny-tasks",
    tokenizer,
    renderer,
    capabilities: {
      contextLength: Documents.contextLength,
      lossReduction: "token-sum",
      seeds: "sample",
      promptLogprobs: true,
      topkPromptLogprobs: 0,
      loraRank: [1, 128]
    }
  }))

const tokensOf = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number> =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])

/** A policy that follows a habit. Its luck depends only on the turn, its mood on the episode. */
const policyOf = (
  tokenizer: Tokenizer.Tokenizer,
  habit: Habits.Habit,
  answerTo: Recipe.Task["answerTo"],
  isReliable: boolean
): Policy.Policy => ({
  act: ({ key, prompt }) =>
    Effect.sync(() => {
      const text = tokenizer.decode(tokensOf(prompt))
      const random = Random.make(Seed.derive(3, key.iteration, key.group, key.member, key.turn))
      const right = Option.getOrElse(answerTo(text), () => "")
      const mood = Random.make(Seed.derive(4, key.iteration, key.group, key.member)).uniform()
      const tokens = tokenizer.encode(`${habit({ random, mood, prompt: text, right, isReliable })}<|im_end|>`)
      return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
    })
})

/** The index at which `part` begins in `all`, searching from `start`. */
const indexOf = (all: ReadonlyArray<number>, part: ArrayLike<number>, start: number): number =>
  all.findIndex((_, at) => at >= start && Array.from(part).every((token, i) => all[at + i] === token))

/** The last turn with everything before it. Only the assistant's messages are learned. */
const documentOf = (transitions: Trajectory.Trajectory["transitions"]): Documents.Document | undefined => {
  const last = transitions.at(-1)
  if (last === undefined) return undefined
  const tokens = [...tokensOf(last.observation), ...last.action.tokens]
  const weights = new Float32Array(tokens.length)
  let end = 0
  for (const { action, observation } of transitions) {
    const start = indexOf(tokens, action.tokens, Math.max(end, observation.length - roleTokens))
    end = start + action.tokens.length
    weights.fill(1, start, end)
  }
  return { tokens: Int32Array.from(tokens), weights }
}

/** A turn shown again under another role's name may begin a few tokens earlier. */
const roleTokens = 8

/**
 * All turns, or if each prompt renders the conversation again, the turns up to a random one, so that every turn is seen as the last.
 */
const seen = ({ transitions }: Trajectory.Trajectory, random: Random.Random) =>
  transitions.every(({ branch }) => branch === undefined)
    ? transitions
    : transitions.slice(0, 1 + random.below(transitions.length))

const playersOf = Effect.fnUntraced(function*(
  { played }: Mixture,
  tokenizer: Tokenizer.Tokenizer,
  steps: number
) {
  const model = yield* modelWith(tokenizer)
  return yield* Effect.forEach(
    played,
    Effect.fnUntraced(function*({ groups: given, habit, problems, recipe, settings }) {
      const { build } = yield* recipe.configure({ ...settings, groupsPerBatch: problems, iterations: steps })
      const { answerTo, dataset } = yield* build(model)
      return Effect.fnUntraced(function*(step: number) {
        const policy = policyOf(tokenizer, habit, answerTo, step < steps * reliableShare)
        const groups = yield* Effect.forEach(
          given === undefined ? yield* dataset.batch(step - 1, 1) : given(model, step),
          (group) => Rollout.group(group, policy, { iteration: step })
        )
        return groups.flatMap((group) =>
          GroupResult.isSkipped(group)
            ? []
            : GroupResult.survivors(group).flatMap(([member, trajectory]) =>
              documentOf(seen(trajectory, Random.make(Seed.derive(5, step, group.key, member)))) ?? []
            )
        )
      })
    })
  )
})

/** The number of steps whose text trains the tokenizer. */
const sampledSteps = 60

const textsOf = Effect.fnUntraced(function*(mixture: Mixture) {
  const tokenizer = TestTokenizer.characters
  const players = yield* playersOf(mixture, tokenizer, sampledSteps)
  const documents = yield* Effect.forEach(
    Array.from({ length: sampledSteps }, (_, index) => index + 1),
    (step) => Effect.forEach(players, (play) => play(step))
  )
  const words = mixture.words.flatMap((word) => [word, ` ${word}`])
  return [
    ...documents.flat(2).map(({ tokens }) => [tokenizer.decode(tokens).replaceAll(/<\|\w+\|>/g, ""), 1] as const),
    ...words.map((text) => [text, 40] as const),
    ...(mixture.sums === 0 ? [] : Sums.examples())
  ]
})

const make = (mixture: Mixture): Corpus => ({
  texts: () => Effect.runPromise(textsOf(mixture)),
  documents: async (tokenizer, steps) => {
    const players = await Effect.runPromise(playersOf(mixture, tokenizer, steps))
    const random = Random.make(6)
    return async (step) => {
      const played = await Effect.runPromise(Effect.forEach(players, (play) => play(step)))
      const skill = step < steps * reliableShare ? Addition.reliable : Addition.mixed
      return [...played.flat(), ...Documents.sums({ encode: tokenizer.encode, random, skill }, mixture.sums)]
    }
  }
})

export const tasks = make(mixed)

export const questions = make(asking)
