/** Variants of the dialogue, each of which breaks one law. */
import { Env, EnvMetric } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch } from "@effect-rl/core/environments"
import { type EnvLaws, LeakAudit } from "@effect-rl/core/testing"
import { Effect, Exit, Scope } from "effect"
import * as Dialogue from "./Dialogue.ts"

type Made = EnvLaws.MakeEnv<Dialogue.Rude, never>

interface Mutant {
  /** The environment … */
  readonly rule: string
  readonly breaks: string
  /** With a memory of its own. */
  readonly make: () => Made
}

type Change = (env: Dialogue.Dialogue, seed: number) => Partial<Dialogue.Dialogue>

const changed = (change: Change): Made => (seed) =>
  Effect.map(Dialogue.make(seed), (env) => ({ ...env, ...change(env, seed) }))

const stepping = (change: (step: Env.Step, turn: number, seed: number) => Env.Step): Made =>
  changed((env, seed) => {
    let turn = 0
    return { step: (action) => Effect.map(env.step(action), (step) => change(step, turn++, seed)) }
  })

const reprompted = (change: (prompt: Env.Prompt) => Env.Prompt): Made =>
  changed((env) => ({
    initialObservation: Effect.map(env.initialObservation, (first) => first._tag === "Prompt" ? change(first) : first),
    step: (action) =>
      Effect.map(env.step(action), (step) =>
        step._tag === "Continue" ? { ...step, observation: change(step.observation) } : step)
  }))

/** Holds an additional resource with the given release. */
const holding =
  (release: (exit: Exit.Exit<unknown, unknown>, release: Effect.Effect<void>) => Effect.Effect<void>): Made => (seed) =>
    Effect.acquireRelease(LeakAudit.LeakAudit.use(({ hold }) => hold("notebook")), (held, exit) => release(exit, held))
      .pipe(Effect.andThen(Dialogue.make(seed)))

const isInterrupted = (exit: Exit.Exit<unknown, unknown>) => Exit.isFailure(exit) && Exit.hasInterrupts(exit)

const first = (seed: number, text: string) =>
  Env.prompt(ModelInput.fromTokens(Dialogue.tokenizer.encode(`${text} ${seed}`)), [0])

export const all: ReadonlyArray<Mutant> = [
  {
    rule: "never stops its policy",
    breaks: "prompts: have a stop condition",
    make: () => reprompted((prompt) => ({ ...prompt, stop: [] }))
  },
  {
    rule: "shows a token that does not exist",
    breaks: "prompts: hold token ids of the vocabulary",
    make: () =>
      reprompted((prompt) => {
        const [, ...rest] = prompt.input.chunks
        const start = { _tag: "EncodedText", tokens: Int32Array.of(100_000) } as const
        return { ...prompt, input: ModelInput.fromChunks([start, ...rest]) }
      })
  },
  {
    rule: "forgets how the dialogue began",
    breaks: "prompts: begin with the prompt and the action before, or declare a branch",
    make: () =>
      changed((env) => ({
        step: (action) =>
          Effect.map(env.step(action), (step) =>
            step._tag === "Continue"
              ? { ...step, observation: { ...step.observation, input: ModelInput.fromTokens([5, 6, 7]) } }
              : step)
      }))
  },
  {
    rule: "declares that it continues after a turn that has not been played",
    breaks: "prompts: branch from earlier turns",
    make: () =>
      stepping((step, turn) =>
        step._tag === "Done" ? step : {
          ...step,
          observation: { ...step.observation, branch: { after: turn + 5, reason: "parallel" } }
        }
      )
  },
  {
    rule: "overwrites the policy's tokens",
    breaks: "prompts: do not change after they were shown, nor actions after they were taken",
    make: () =>
      changed((env) => ({
        step: (action) => Effect.tap(env.step(action), () => Effect.sync(() => void action.tokens.fill(0)))
      }))
  },
  {
    rule: "shows another first prompt when asked again",
    breaks: "single use: asking again shows the first prompt or is refused",
    make: () =>
      changed((env, seed) => {
        let asked = 0
        return {
          initialObservation: Effect.flatMap(env.initialObservation, (shown) =>
            Effect.sync(() => asked++ === 0 ? shown : first(seed, "another")))
        }
      })
  },
  {
    rule: "does not show what is injected",
    breaks: "inject: shows the messages",
    make: () => changed((env) => ({ inject: () => env.inject?.([]) ?? Effect.succeed(first(0, "")) }))
  },
  {
    rule: "continues forever",
    breaks: "episodes: end",
    make: () =>
      changed((env, seed) => {
        let turn = 0
        let shown = first(seed, "topic")
        return {
          initialObservation: Effect.sync(() => shown),
          step: (action) =>
            Effect.sync((): Env.Continue => {
              const answered = ModelInput.append(shown.input, action.tokens)
              const text = Dialogue.tokenizer.encode(`turn ${++turn}`)
              shown = { ...shown, input: ModelInput.append(answered, text) }
              return { _tag: "Continue", reward: 0, toolCalls: 0, observation: shown }
            }),
          inject: (messages) => env.inject?.(messages) ?? Effect.succeed(shown)
        }
      })
  },
  {
    rule: "leaves the history out of later prompts",
    breaks: "history: is kept",
    make: () =>
      changed((env) => ({
        step: (action) =>
          Effect.map(env.step(action), (step) =>
            step._tag === "Continue"
              ? {
                ...step,
                observation: {
                  ...step.observation,
                  input: ModelInput.fromTokens([5, 6, 7]),
                  branch: Branch.anew("edit")
                }
              }
              : step)
      }))
  },
  {
    rule: "throws if the reply is empty",
    breaks: "steps: accept any reply, or fail with a typed error",
    make: () =>
      changed((env) => ({
        step: (action) =>
          Dialogue.tokenizer.decode(action.tokens).replace("<|im_end|>", "") === ""
            ? Effect.die(new Error("no text"))
            : env.step(action)
      }))
  },
  {
    rule: "waits forever after a question",
    breaks: "steps: end with an answer in time",
    make: () =>
      changed((env) => ({
        step: (action) => Dialogue.tokenizer.decode(action.tokens).includes("look") ? Effect.never : env.step(action)
      }))
  },
  {
    rule: "ends with an unknown stop reason",
    breaks: "steps: continue, or end for a known reason",
    make: () =>
      stepping((step) => step._tag === "Done" ? JSON.parse(JSON.stringify({ ...step, stopReason: "bored" })) : step)
  },
  {
    rule: "divides by zero",
    breaks: "rewards: are finite",
    make: () => stepping((step) => ({ ...step, reward: step.reward / 0 }))
  },
  {
    rule: "accepts a step after the end",
    breaks: "done: no step follows",
    make: () =>
      changed((env) => {
        let isDone = false
        const again = Effect.succeed<Env.Step>({ _tag: "Done", reward: 1 })
        return {
          step: (action) =>
            Effect.suspend(() =>
              isDone ? again : Effect.map(env.step(action), (step) => {
                isDone = step._tag === "Done"
                return step
              })
            )
        }
      })
  },
  {
    rule: "logs NaN",
    breaks: "reports: survive JSON",
    make: () => stepping((step) => ({ ...step, logs: { share: NaN } }))
  },
  {
    rule: "reports a metric as a mean, then as a sum",
    breaks: "metrics: keep their kind",
    make: () =>
      stepping((step, turn) => ({ ...step, metrics: { words: turn === 0 ? EnvMetric.mean(1) : EnvMetric.sum(1) } }))
  },
  {
    rule: "counts more tool calls than are left",
    breaks: "tool calls: do not exceed the number that is left",
    make: () =>
      changed((env) => ({ step: (action) => Effect.map(env.step(action), (step) => ({ ...step, toolCalls: 3 })) }))
  },
  {
    rule: "draws another first question in each episode",
    breaks: "seeds: the same seed shows the same first prompt",
    make: () => {
      let drawn = 0
      return () =>
        Effect.sync(() => {
          const question = first(drawn++, "question")
          return { initialObservation: Effect.succeed(question), step: () => Effect.fail(new Dialogue.Rude()) }
        })
    }
  },
  {
    rule: "rewards by the number of steps in all episodes",
    breaks: "seeds: the same actions have the same consequences",
    make: () => {
      let played = 0
      return stepping((step) => ({ ...step, reward: played++ }))
    }
  },
  {
    rule: "gives more reward after the episode with the next seed",
    breaks: "order: the order of episodes does not matter",
    make: () => {
      let last = -1
      return (seed) => {
        const bonus = last === seed + 1 ? 1 : 0
        last = seed
        return stepping((step) => ({ ...step, reward: step.reward + bonus }))(seed)
      }
    }
  },
  {
    rule: "gives more reward while other episodes are open",
    breaks: "siblings: concurrent episodes do not affect each other",
    make: () => {
      let present = 0
      const enter = Effect.acquireRelease(Effect.sync(() => present++), () => Effect.sync(() => present--))
      const crowded = stepping((step) => ({ ...step, reward: step.reward + present }))
      return (seed) => Effect.andThen(enter, crowded(seed))
    }
  },
  {
    rule: "keeps its resources after success",
    breaks: "release: resources are released at the end",
    make: () => holding((exit, release) => Exit.isSuccess(exit) ? Effect.void : release)
  },
  {
    rule: "keeps its resources after a failure",
    breaks: "release: resources are released after a failure",
    make: () => holding((exit, release) => Exit.isFailure(exit) && !isInterrupted(exit) ? Effect.void : release)
  },
  {
    rule: "releases its resources twice",
    breaks: "release: resources are released only once",
    make: () => holding((_, release) => Effect.andThen(release, release))
  },
  {
    rule: "keeps its resources after an interruption",
    breaks: "release: resources are released wherever an episode is interrupted",
    make: () => holding((exit, release) => isInterrupted(exit) ? Effect.void : release)
  },
  {
    rule: "cannot be interrupted for a minute",
    breaks: "timeouts: end a step or a first prompt that waits",
    make: () =>
      changed((env) => ({ step: (action) => Effect.uninterruptible(Effect.delay(env.step(action), "1 minute")) }))
  },
  {
    rule: "leaves a fiber behind",
    breaks: "fibers: none outlives the episode",
    make: () => (seed) => Effect.andThen(Effect.forkIn(Effect.never, Scope.makeUnsafe()), Dialogue.make(seed))
  }
]
