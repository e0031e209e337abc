/** Laws of prompts: they are valid, unmodified, and extend earlier prompts or declare a branch. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Message from "../../chat/Message.ts"
import * as Branch from "../../env/Branch.ts"
import type * as Env from "../../env/Env.ts"
import { expect, type Mismatch } from "../contract/Case.ts"
import * as Law from "./Law.ts"
import * as Play from "./Play.ts"
import * as ShownPrompt from "./ShownPrompt.ts"

const forPrompts = (
  expected: string,
  holds: (shown: ShownPrompt.ShownPrompt) => boolean,
  found: (shown: ShownPrompt.ShownPrompt) => string
) =>
(played: Play.Played) =>
  Effect.forEach(
    played.shown,
    (shown, turn) => expect(holds(shown), expected, `${found(shown)} at turn ${turn}, ${Law.describe(played.line)}`),
    { discard: true }
  )

const isToken = (vocabulary: number) => (token: number | string) =>
  typeof token === "string" || (Number.isInteger(token) && token >= 0 && token < vocabulary)

const begins = (whole: ReadonlyArray<number | string>, start: ReadonlyArray<number | string>) =>
  start.length <= whole.length && start.every((token, index) => token === whole[index])

/** The tokens that the prompt of a turn must start with: the prompt and the action of the turn that it continues. */
const before = ({ shown, turns }: Play.Played, turn: number) => {
  const continued = Branch.previous(turn, shown[turn]?.prompt.branch)
  return [...(shown[continued]?.tokens ?? []), ...(turns[continued]?.sent ?? [])]
}

/** The first turn whose prompt does not start with the tokens that it must start with; −1 if there is none. */
const firstUndeclared = (played: Play.Played) =>
  played.shown.findIndex(({ tokens }, turn) => !begins(tokens, before(played, turn)))

/** The first turn that claims to continue a turn that is not earlier; −1 if there is none. */
const firstBeyond = ({ shown }: Play.Played) =>
  shown.findIndex(({ prompt: { branch } }, turn) =>
    branch !== undefined && !(Number.isInteger(branch.after) && branch.after >= -1 && branch.after < turn)
  )

const namesEarlierTurns = (played: Play.Played) => {
  const turn = firstBeyond(played)
  const after = played.shown[turn]?.prompt.branch?.after
  return expect(turn === -1, `a turn from -1 to ${turn - 1}`, `${after} at turn ${turn}, ${Law.describe(played.line)}`)
}

const extendsPrompts = ({ tokenizer }: Play.Options) => (played: Play.Played) => {
  const turn = firstUndeclared(played)
  if (turn === -1) return Effect.void
  const found = played.shown[turn]?.tokens ?? []
  const expected = before(played, turn)
  const at = expected.findIndex((token, index) => token !== found[index])
  const rest = (tokens: ReadonlyArray<number | string>) =>
    ShownPrompt.beginning(ShownPrompt.text(tokenizer, tokens.slice(at)))
  return expect(
    false,
    `a prompt that begins with the one before and the action, with ${
      rest(expected)
    } at token ${at}, or a declared branch`,
    `${rest(found)} at turn ${turn}, ${Law.describe(played.line)}`
  )
}

const isUntouched = ({ shown, turns }: Play.Played) =>
  shown.every(({ prompt, spelled }) => ShownPrompt.spell(prompt) === spelled)
  && turns.every(({ action, sent }) => sent.every((token, index) => token === action.tokens[index]))

const mark = "the red fox asks"

/** Checks that an injected message appears in the next prompt. An environment may refuse an injection by failing. */
const showsInjected = (options: Play.Options) =>
  Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>) {
    const { inject } = env
    const injected = Effect.flatMap(env.initialObservation, (first) =>
      first._tag === "Overflow" || inject === undefined ? Effect.undefined : inject([Message.user(mark)]))
    const shown = Option.getOrUndefined(yield* Effect.option(injected))
    if (shown === undefined) {
      return
    }
    const tokens = ShownPrompt.tokens(shown.input).filter((token) =>
      typeof token === "number"
    )
    const text = options.tokenizer.decode(tokens)
    yield* expect(text.includes(mark), "the injected message in the prompt", JSON.stringify(text))
  })

const textOf = ({ tokenizer }: Play.Options, given: Env.Prompt | Env.Overflow) =>
  given._tag === "Prompt"
    ? ShownPrompt.ending(ShownPrompt.text(tokenizer, ShownPrompt.tokens(given.input)))
    : JSON.stringify(given)

const showsTheSameAgain = (options: Play.Options) =>
  Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>) {
    const once = yield* Effect.exit(env.initialObservation)
    const again = yield* Effect.exit(env.initialObservation)
    if (Exit.isFailure(once) || Exit.isFailure(again)) return
    const isSame = ShownPrompt.spell(once.value) === ShownPrompt.spell(again.value)
    yield* expect(isSame, `${textOf(options, once.value)}, or a refusal`, textOf(options, again.value))
  })

/** Checks an environment for each seed. */
const forSeeds = <E, R, R2>(
  name: string,
  makeEnv: Play.MakeEnv<E, R>,
  options: Play.Options,
  holds: (env: Env.Env<E, R>) => Effect.Effect<unknown, Mismatch, R2>
) =>
  Law.make(
    name,
    Effect.forEach(Play.seeds(options), (seed) => Play.withEnv(makeEnv, seed, holds), { discard: true })
  )

export const laws = <E, R>(makeEnv: Play.MakeEnv<E, R>, options: Play.Options) => {
  const { vocabulary = Infinity } = options
  return [
    Law.forEpisodes(
      "prompts: have a stop condition",
      makeEnv,
      options,
      forPrompts("a stop condition", ({ prompt }) => prompt.stop.length > 0, () => "none")
    ),
    Law.forEpisodes(
      "prompts: hold token ids of the vocabulary",
      makeEnv,
      options,
      forPrompts(
        `token ids from 0 to ${vocabulary - 1}`,
        ({ tokens }) => tokens.every(isToken(vocabulary)),
        ({ tokens }) => String(tokens.find((token) => !isToken(vocabulary)(token)))
      )
    ),
    Law.forEpisodes(
      "prompts: begin with the prompt and the action before, or declare a branch",
      makeEnv,
      options,
      extendsPrompts(options)
    ),
    Law.forEpisodes("prompts: branch from earlier turns", makeEnv, options, namesEarlierTurns),
    Law.forEpisodes(
      "prompts: do not change after they were shown, nor actions after they were taken",
      makeEnv,
      options,
      (played) => expect(isUntouched(played), "tokens nobody changes", `changed tokens, ${Law.describe(played.line)}`)
    ),
    forSeeds(
      "single use: asking again shows the first prompt or is refused",
      makeEnv,
      options,
      showsTheSameAgain(options)
    ),
    forSeeds("inject: shows the messages", makeEnv, options, showsInjected(options))
  ]
}
