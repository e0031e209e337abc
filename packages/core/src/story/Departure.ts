/**
 * Where the prompts of an episode, rendered again from its conversation as chat completions have it, differ from the tokens that the policy
 * was shown: reasoning that a template leaves out, a branch, or a call that could not be read.
 *
 * @example
 * const departures = Effect.flatMap(
 *   Conversation.read(trajectory, tokenizer),
 *   (turns) => Departure.of(trajectory, turns, renderer.generationPrompt)
 * )
 */
import * as Effect from "effect/Effect"
import * as OpenAi from "../chat/OpenAi.ts"
import type { Renderer } from "../chat/Renderer.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import * as Conversation from "./Conversation.ts"

/** A turn whose prompt is another when it is rendered again. */
export interface Departure {
  readonly turn: number
  readonly detail: string
}

/** The first position at which two prompts differ; undefined where they are equal. */
const difference = (recorded: ReadonlyArray<number | null>, rendered: ReadonlyArray<number | null>) => {
  const at = recorded.findIndex((token, index) => token !== rendered[index])
  if (at >= 0) return at
  return recorded.length === rendered.length ? undefined : recorded.length
}

type Transitions = Trajectory.Trajectory["transitions"]

/** Why a prompt departs at a token, as far as the records tell. */
const reason = (transitions: Transitions, turn: number, token: number): string => {
  const branch = transitions[turn]?.branch
  if (branch !== undefined) return `the turn begins a branch: ${branch.reason}`
  const response = transitions.findIndex(({ action, observation }, at) =>
    at < turn && token >= observation.length && token < observation.length + action.tokens.length
  )
  return response < 0
    ? "the prompt is rendered otherwise"
    : `the policy wrote the response of turn ${response} otherwise than the renderer does`
}

/** The departures of an episode, turn by turn; empty where every prompt is rendered as it was recorded. */
export const of = Effect.fnUntraced(function*(
  { transitions }: Pick<Trajectory.Trajectory, "transitions">,
  turns: ReadonlyArray<Conversation.Turn>,
  render: Renderer["generationPrompt"]
): Effect.fn.Return<ReadonlyArray<Departure>> {
  const messages = Conversation.toOpenAi(turns)
  const found = yield* Effect.forEach(Conversation.lengths(turns), (length, turn) => {
    const transition = transitions[turn]
    if (transition === undefined) return Effect.succeed([])
    const recorded = Conversation.promptTokens(transition.observation)
    return Effect.match(Effect.flatMap(OpenAi.toMessages(messages.slice(0, length)), (prompt) => render(prompt)), {
      onFailure: ({ message: detail }): ReadonlyArray<Departure> => [{ turn, detail }],
      onSuccess: (rendered): ReadonlyArray<Departure> => {
        const at = difference(recorded, Conversation.promptTokens(rendered))
        const place = `token ${at} of ${recorded.length}`
        return at === undefined ? [] : [{ turn, detail: `${place}: ${reason(transitions, turn, at)}` }]
      }
    })
  })
  return found.flat()
})

/** The departures of an episode where the run's renderer is known, else null. */
export const known = (
  trajectory: Pick<Trajectory.Trajectory, "transitions">,
  turns: ReadonlyArray<Conversation.Turn>,
  render: Renderer["generationPrompt"] | undefined
): Effect.Effect<ReadonlyArray<Departure> | null> =>
  render === undefined ? Effect.succeed(null) : of(trajectory, turns, render)
