/** Scripted environments and policies, and a log of what happened in which order. */
import { Env, type EnvGroupBuilder, type FailurePolicy, Grader, type Policy } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Effect, Fiber, Schedule, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"

export class Broken extends Schema.TaggedError<Broken>()("Broken", { what: Schema.String }) {
  override get message() {
    return `${this.what} broke`
  }
}

export const breaks = (what: string) => Effect.fail(new Broken({ what }))

/** Tokens 1 to `count`, each with log-probability −1. */
export const tokens = (count: number, stopReason: Sampling.SampleStopReason = "stop"): Sampling.SampledTokens => ({
  tokens: Int32Array.from({ length: count }, (_, index) => index + 1),
  logprobs: new Float32Array(count).fill(-1),
  stopReason
})

/** Two tokens at every turn. */
export const policy: Policy.Policy = { act: () => Effect.succeed(tokens(2)) }

export const slowPolicy = (millis: number): Policy.Policy => ({
  act: () => Effect.delay(policy.act(anyRequest), millis)
})

export const stop = ["<end>"]

export const prompt = (length: number) => Env.prompt(ModelInput.fromTokens(new Int32Array(length)), stop)

const anyRequest: Policy.Request = {
  prompt: ModelInput.empty,
  stop,
  key: { iteration: 0, group: "", member: 0, attempt: 0, turn: 0 }
}

export const done = (reward: number): Env.Done => ({ _tag: "Done", reward })

/** A step that continues with a prompt of `length` tokens. */
export const next = (reward: number, length = 3): Env.Continue => ({
  _tag: "Continue",
  reward,
  observation: prompt(length)
})

type Step = Env.Step | Effect.Effect<Env.Step, Broken>

/** An environment with a prompt of three tokens and the given steps. */
export const env = (...steps: ReadonlyArray<Step>): Env.Env<Broken> => {
  let turn = 0
  return {
    initialObservation: Effect.succeed(prompt(3)),
    step: () => {
      const step = steps[turn++] ?? done(0)
      return Effect.isEffect(step) ? step : Effect.succeed(step)
    }
  }
}

/** An environment that ends after `millis` with the given reward. */
export const slow = (millis: number, reward = 0) => env(Effect.as(Effect.sleep(millis), done(reward)))

export const failing = (what = "step") => env(breaks(what))

export const hanging = () => env(Effect.never)

/** An environment that throws instead of failing. */
export const throwing: Env.Env<Broken> = {
  initialObservation: Effect.succeed(prompt(3)),
  step: () => {
    throw new TypeError("not a function")
  }
}

/** Its grader throws. */
export const ungraded: Env.Env<Broken> = {
  initialObservation: Effect.succeed(prompt(3)),
  step: () => Grader.run(Effect.die(new Error("no sandbox")))
}

export interface GroupOptions {
  readonly size: number
  /** The environment of member `m` at attempt `a`; attempts are counted by calls. */
  readonly env: (
    member: number,
    attempt: number
  ) => Env.Env<Broken> | Effect.Effect<Env.Env<Broken>, Broken, Scope.Scope>
  readonly log?: Array<string>
  readonly key?: string
  readonly tags?: ReadonlyArray<string>
  readonly coupled?: boolean
  readonly opening?: Effect.Effect<void, Broken>
  readonly groupRewards?: EnvGroupBuilder.EnvGroup<Broken>["groupRewards"]
}

/** A group that logs `open`, `acquire m.a`, `grade`, `release m.a` and `close`. */
export const group = (options: GroupOptions): EnvGroupBuilder.EnvGroupBuilder<Broken> => {
  const { groupRewards, log = [], opening = Effect.void } = options
  const write = (line: string) => Effect.sync(() => void log.push(line))
  const attempts = new Map<number, number>()
  const makeEnv = (member: number) =>
    Effect.suspend(() => {
      const attempt = attempts.get(member) ?? 0
      attempts.set(member, attempt + 1)
      const made = options.env(member, attempt)
      return write(`acquire ${member}.${attempt}`).pipe(
        Effect.andThen(Effect.addFinalizer(() => write(`release ${member}.${attempt}`))),
        Effect.uninterruptible,
        Effect.andThen(Effect.isEffect(made) ? made : Effect.succeed(made))
      )
    })
  return {
    key: options.key ?? "group",
    size: options.size,
    tags: options.tags ?? [],
    coupled: options.coupled ?? false,
    open: write("open").pipe(
      Effect.andThen(Effect.addFinalizer(() => write("close"))),
      Effect.uninterruptible,
      Effect.andThen(opening),
      Effect.as({
        makeEnv,
        ...(groupRewards !== undefined && {
          groupRewards: (trajectories, attempt) => Effect.andThen(write("grade"), groupRewards(trajectories, attempt))
        })
      })
    )
  }
}

/** A policy that retries `times` immediately, then applies the same consequence to every kind of failure. */
export const always = (
  consequence: FailurePolicy.Consequence,
  options: { readonly times?: number; readonly but?: Partial<FailurePolicy.FailurePolicy["otherwise"]> } = {}
): FailurePolicy.FailurePolicy => ({
  retry: Schedule.recurs(options.times ?? 0),
  otherwise: {
    AcquireFailed: consequence,
    StepFailed: consequence,
    GraderFailed: consequence,
    Ungraded: consequence,
    PolicyFailed: consequence,
    HookFailed: consequence,
    TimedOut: consequence,
    Died: consequence,
    ...options.but
  }
})

/** Runs an effect to its end while the test clock advances minute by minute. */
export const inTime = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(effect)
  for (let minute = 0; minute < 100 && fiber.pollUnsafe() === undefined; minute++) {
    yield* TestClock.adjust("1 minute")
  }
  return yield* Fiber.join(fiber)
})
