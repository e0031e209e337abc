/** Laws of whole episodes: episodes end, and their prompts keep the history. */
import * as Effect from "effect/Effect"
import type * as Env from "../../env/Env.ts"
import type { Limits } from "../../env/Limits.ts"
import { expect } from "../contract/Case.ts"
import * as Law from "./Law.ts"
import * as Play from "./Play.ts"
import * as ShownPrompt from "./ShownPrompt.ts"

/** The number of turns within which an episode must end if its environment sets no limits. */
const mostTurns = 100

const isBounded = ({ maxSampledTokens, maxTrajectoryTokens, maxTurns, rolloutTimeout }: Limits = {}) =>
  (maxTurns ?? maxTrajectoryTokens ?? maxSampledTokens ?? rolloutTimeout) !== undefined

const lastPrompt = ({ tokenizer }: Play.Options, { shown }: Play.Played) =>
  ShownPrompt.ending(ShownPrompt.text(tokenizer, shown.at(-1)?.tokens ?? []))

const ends = (line: Play.Line, options: Play.Options) =>
  Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>) {
    if (isBounded(env.limits)) return
    const played = yield* Play.play(env, line, { ...options, turns: mostTurns })
    yield* expect(
      played.ending !== "left",
      `an end within ${mostTurns} turns, or limits of its own`,
      `none, the last prompt ending ${lastPrompt(options, played)}, ${Law.describe(line)}`
    )
  })

/** Branch reasons that remove earlier content from the prompt. */
const forgetful: ReadonlyArray<string | undefined> = ["edit", "compaction"]

const forgets = ({ shown }: Play.Played) => shown.findIndex(({ prompt }) => forgetful.includes(prompt.branch?.reason))

export const laws = <E, R>(makeEnv: Play.MakeEnv<E, R>, options: Play.Options) => [
  Law.make(
    "episodes: end",
    Effect.forEach(Play.lines(options), (line) => Play.withEnv(makeEnv, line.seed, ends(line, options)), {
      discard: true
    })
  ),
  Law.forEpisodes("history: is kept", makeEnv, options, (played) => {
    const turn = forgets(played)
    const text = ShownPrompt.beginning(ShownPrompt.text(options.tokenizer, played.shown[turn]?.tokens ?? []))
    return expect(
      options.forgets === true || turn === -1,
      "everything said before in the prompt, or the option `forgets`",
      `a prompt without some of it, ${text} at turn ${turn}, ${Law.describe(played.line)}`
    )
  })
]
