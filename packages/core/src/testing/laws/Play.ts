/** Plays an episode with given replies, and records every call. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type * as Env from "../../env/Env.ts"
import type * as Sampling from "../../model/Sampling.ts"
import * as Draw from "../Draw.ts"
import type { LeakAudit } from "../LeakAudit.ts"
import * as ShownPrompt from "./ShownPrompt.ts"

/** Makes an environment for a seed; equal seeds must give equal tasks. */
export type MakeEnv<E, R> = (seed: number) => Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope | LeakAudit>

export interface Options {
  /** The model's tokenizer, which encodes the replies. */
  readonly tokenizer: Tokenizer
  /** Possible replies of a policy: right and wrong, well-formed and malformed. Empty and random replies are added. */
  readonly replies: ReadonlyArray<string>
  /** The number of valid token ids; default: unlimited. */
  readonly vocabulary?: number
  /** The seeds to play; default 0, 1 and 2. */
  readonly seeds?: ReadonlyArray<number>
  /** The number of turns after which an episode is left; default 8. */
  readonly turns?: number
  /** Whether the environment may omit or rewrite parts of the history, for example by summarising it; default false. */
  readonly forgets?: boolean
  /** The time limit of one call, in virtual time; default 10 minutes. */
  readonly deadline?: Duration.Input
}

/** A task, and how its replies are chosen. */
export interface Line {
  readonly seed: number
  /** Either the same reply at every turn, or a reply drawn from all replies, an empty one and a random one. */
  readonly style: { readonly reply: string } | { readonly drawn: number }
}

export const seeds = (options: Options) => options.seeds ?? [0, 1, 2]

const drawnStyles = 4

export const lines = (options: Options): ReadonlyArray<Line> =>
  seeds(options).flatMap((seed) => [
    ...options.replies.map((reply): Line => ({ seed, style: { reply } })),
    ...Array.from({ length: drawnStyles }, (_, drawn): Line => ({ seed, style: { drawn } }))
  ])

const noise = (draw: Draw.Draw) =>
  Array.from({ length: draw.integer(1, 12) }, () => String.fromCodePoint(draw.integer(32, 126))).join("")

/** Encodes a reply as if sampled: with its stop, or cut off before it. */
const say = ({ tokenizer }: Options, text: string, stop: Sampling.Stop, isCut = false): Env.Action => {
  const [end] = stop
  const ending = end === undefined || isCut ? [] : typeof end === "number" ? [end] : tokenizer.encode(end)
  const tokens = Int32Array.of(...tokenizer.encode(text, { splitSpecialTokens: true }), ...ending)
  return { tokens, stopReason: isCut ? "length" : "stop" }
}

export const action = (options: Options, line: Line, turn: number, stop: Sampling.Stop): Env.Action => {
  if ("reply" in line.style) return say(options, line.style.reply, stop)
  const draw = Draw.make(line.seed, "style", line.style.drawn, turn)
  const [first = "", ...others] = [...options.replies, "", noise(draw)]
  const text = draw.oneOf([first, ...others])
  return say(options, text, stop, draw.chance(0.2))
}

export interface Turn {
  readonly action: Env.Action
  /** A copy of the action's tokens, to detect changes. */
  readonly sent: ReadonlyArray<number>
  readonly step: Env.Step
}

/** How an episode ended. */
export type Ending = "overflow" | "done" | "left" | "failed" | "died" | "hung"

export interface Played {
  readonly line: Line
  /** The prompts: the first, and one after each action that continued the episode. */
  readonly shown: ReadonlyArray<ShownPrompt.ShownPrompt>
  readonly turns: ReadonlyArray<Turn>
  readonly overflow: Env.Overflow | undefined
  readonly ending: Ending
  /** The failure of an episode that failed or died; otherwise a success. */
  readonly exit: Exit.Exit<unknown, unknown>
}

/** Calls the environment; returns its answer, or how the call ended the episode. */
const call = <A, E, R>(self: () => Effect.Effect<A, E, R>, options: Options) =>
  Effect.suspend(self).pipe(
    Effect.timeoutOption(options.deadline ?? "10 minutes"),
    Effect.exit,
    Effect.map((exit) => {
      if (Exit.isFailure(exit)) {
        const ending: Ending = exit.cause.reasons.some(({ _tag }) => _tag === "Die") ? "died" : "failed"
        return { answer: undefined, ending, exit }
      }
      const ending: Ending = "hung"
      return { answer: Option.getOrUndefined(exit.value), ending, exit }
    })
  )

/** Plays until the environment ends the episode, fails or exceeds the deadline, or until `turns` is reached, which ends it as `left`. */
export const play = Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>, line: Line, options: Options) {
  const { turns: longest = 8 } = options
  const shown: Array<ShownPrompt.ShownPrompt> = []
  const turns: Array<Turn> = []
  const ended = (ending: Ending, exit: Exit.Exit<unknown, unknown> = Exit.void, overflow?: Env.Overflow): Played => ({
    line,
    shown,
    turns,
    overflow,
    ending,
    exit
  })
  const first = yield* call(() => env.initialObservation, options)
  if (first.answer === undefined) return ended(first.ending, first.exit)
  if (first.answer._tag === "Overflow") return ended("overflow", Exit.void, first.answer)
  let prompt = first.answer
  while (turns.length < longest) {
    shown.push(ShownPrompt.make(prompt))
    const taken = action(options, line, turns.length, prompt.stop)
    const sent = Array.from(taken.tokens)
    const { answer: step, ending, exit } = yield* call(() => env.step(taken), options)
    if (step === undefined) return ended(ending, exit)
    turns.push({ action: taken, sent, step })
    if (step._tag !== "Continue") return ended("done")
    prompt = step.observation
  }
  return ended("left")
})

/** Acquires an environment, plays it, and closes its scope with the episode's exit. */
export const episode = <E, R>(
  makeEnv: MakeEnv<E, R>,
  line: Line,
  options: Options
): Effect.Effect<Played, never, Exclude<R, Scope.Scope> | LeakAudit> =>
  Effect.suspend(() => {
    let played: Played = { line, shown: [], turns: [], overflow: undefined, ending: "failed", exit: Exit.void }
    return call(() => makeEnv(line.seed), options).pipe(
      Effect.flatMap(({ answer: env, ending, exit }) =>
        env === undefined ? Effect.succeed({ ...played, ending, exit }) : play(env, line, options)
      ),
      Effect.tap((found) => Effect.sync(() => (played = found))),
      Effect.flatMap(({ exit }) => exit),
      Effect.scoped,
      Effect.exit,
      Effect.map(() => played)
    )
  })

/** Acquires an environment and uses it; returns undefined if acquiring failed. */
export const withEnv = <E, R, A, E2, R2>(
  makeEnv: MakeEnv<E, R>,
  seed: number,
  use: (env: Env.Env<E, R>) => Effect.Effect<A, E2, R2>
): Effect.Effect<A | undefined, E2, Exclude<R | R2, Scope.Scope> | LeakAudit> =>
  Effect.exit(Effect.suspend(() => makeEnv(seed))).pipe(
    Effect.flatMap((exit): Effect.Effect<A | undefined, E2, R2> =>
      Exit.isFailure(exit) ? Effect.undefined : use(exit.value)
    ),
    Effect.scoped
  )
