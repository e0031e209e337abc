/**
 * Where prompts, rendered again from an episode's conversation in the format of chat completions, differ from the tokens that the policy
 * was shown. Causes are reasoning that a template leaves out, branches, and calls that could not be parsed.
 *
 * @example
 * const departures = Effect.flatMap(
 *   Conversation.read(trajectory, tokenizer),
 *   (turns) => Departure.of(trajectory, turns, renderer)
 * )
 */
import * as Effect from "effect/Effect"
import * as OpenAi from "../chat/OpenAi.ts"
import * as Renderer from "../chat/Renderer.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import * as Conversation from "./Conversation.ts"

/** A turn whose prompt renders differently. */
export interface Departure {
  readonly turn: number
  readonly detail: string
}

/** The first position at which two prompts differ; undefined if they are equal. */
const difference = (recorded: ReadonlyArray<number | null>, rendered: ReadonlyArray<number | null>) => {
  const at = recorded.findIndex((token, index) => token !== rendered[index])
  if (at >= 0) return at
  return recorded.length === rendered.length ? undefined : recorded.length
}

type Transitions = Trajectory.Trajectory["transitions"]

/** The probable reason why a prompt differs at a token. */
const reason = (transitions: Transitions, turn: number, token: number): string => {
  const branch = transitions[turn]?.branch
  if (branch !== undefined) return `the turn begins a branch: ${branch.reason}`
  const response = transitions.findIndex(({ action, observation }, at) =>
    at < turn && token >= observation.length && token < observation.length + action.tokens.length
  )
  return response < 0
    ? "the prompt is rendered differently"
    : `the policy wrote the response of turn ${response} otherwise than the renderer does`
}

/** The departures of an episode in turn order; empty if every prompt renders as recorded. */
export const of = Effect.fnUntraced(function*(
  { transitions }: Pick<Trajectory.Trajectory, "transitions">,
  turns: ReadonlyArray<Conversation.Turn>,
  renderer: Conversation.Rendering
): Effect.fn.Return<ReadonlyArray<Departure>> {
  const messages = Conversation.toOpenAi(turns)
  const found = yield* Effect.forEach(Conversation.lengths(turns), (length, turn) => {
    const transition = transitions[turn]
    if (transition === undefined) return Effect.succeed([])
    const recorded = Conversation.promptTokens(transition.observation)
    const rendered = OpenAi.toMessages(messages.slice(0, length)).pipe(
      Effect.flatMap((prompt) => Renderer.withTools(renderer, turns[turn]?.offered ?? [], prompt)),
      Effect.flatMap((prompt) => renderer.generationPrompt(prompt))
    )
    return Effect.match(rendered, {
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

/** The departures of an episode; null if the run's renderer is unknown. */
export const known = (
  trajectory: Pick<Trajectory.Trajectory, "transitions">,
  turns: ReadonlyArray<Conversation.Turn>,
  renderer: Conversation.Rendering | undefined
): Effect.Effect<ReadonlyArray<Departure> | null> =>
  renderer === undefined ? Effect.succeed(null) : of(trajectory, turns, renderer)
