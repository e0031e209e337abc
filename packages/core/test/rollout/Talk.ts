/** An environment that shows ten tokens for each message of a conversation, and accepts messages from hooks. */
import { type Env, Message } from "@effect-rl/core"
import type { StopReason } from "@effect-rl/core/environments"
import { Effect } from "effect"
import * as Scripted from "./Scripted.ts"

/** The environment's reaction to an answer: a reply and the next turn, or the end. */
export interface Turn {
  readonly reward?: number
  readonly done?: StopReason.StopReason
  readonly toolCalls?: number
}

export interface Talk extends Env.Env<Scripted.Broken> {
  readonly inject: NonNullable<Env.Env["inject"]>
  readonly messages: Array<Message.Message>
  readonly actions: Array<Env.Action>
}

/** A conversation that starts with one user message; the last turn repeats. */
export const make = (...turns: ReadonlyArray<Turn>): Talk => {
  const messages = [Message.user("question")]
  const actions: Array<Env.Action> = []
  const shown = () => Scripted.prompt(10 * messages.length)
  return {
    messages,
    actions,
    countsToolCalls: true,
    initialObservation: Effect.sync(shown),
    inject: (added) =>
      Effect.sync(() => {
        messages.push(...added)
        return shown()
      }),
    step: (action) =>
      Effect.sync((): Env.Step => {
        const turn = turns[Math.min(actions.length, turns.length - 1)] ?? {}
        actions.push(action)
        messages.push(Message.assistant("answer"))
        const reported = { reward: turn.reward ?? 0, toolCalls: turn.toolCalls ?? 0 }
        if (turn.done !== undefined) return { _tag: "Done", ...reported, stopReason: turn.done }
        messages.push(Message.user("go on"))
        return { _tag: "Continue", ...reported, observation: shown() }
      })
  }
}
