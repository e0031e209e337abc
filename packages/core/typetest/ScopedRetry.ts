/** A resource per attempt, released before the next attempt, and a failure policy that names every kind of failure. */
import {
  type Env,
  type EnvGroupBuilder,
  type FailurePolicy,
  type InvalidOption,
  type Policy,
  Rollout,
  type TinkerError
} from "@effect-rl/core"
import type { RolloutError } from "@effect-rl/core/program"
import { Context, Effect, Schedule, Schema } from "effect"
import { holds, type Same } from "./Same.ts"

class BrowserCrashed extends Schema.TaggedError<BrowserCrashed>()("BrowserCrashed", { url: Schema.String }) {}

class Browsers extends Context.Service<Browsers, {
  readonly launch: Effect.Effect<
    { readonly visit: (url: string) => Effect.Effect<string, BrowserCrashed> },
    BrowserCrashed
  >
  readonly kill: Effect.Effect<void>
}>()("Browsers") {}

declare const prompt: Env.Prompt

const makeEnv = Effect.gen(function*() {
  const browsers = yield* Browsers
  const browser = yield* Effect.acquireRelease(browsers.launch, () => browsers.kill)
  const env: Env.Env<BrowserCrashed> = {
    initialObservation: Effect.as(browser.visit("about:blank"), prompt),
    step: ({ tokens }) =>
      Effect.map(browser.visit(`?q=${tokens.length}`), (page) => ({ _tag: "Done", reward: page.length }))
  }
  return env
})

export const browsing: EnvGroupBuilder.EnvGroupBuilder<BrowserCrashed, Browsers> = {
  key: "browse/1",
  size: 4,
  tags: ["browser"],
  open: Effect.succeed({ makeEnv: () => makeEnv })
}

declare const policy: Policy.Policy<TinkerError.TinkerError>

const onFailure: FailurePolicy.FailurePolicy<BrowserCrashed, TinkerError.TinkerError> = {
  retry: Schedule.exponential("1 second").pipe(
    Schedule.upTo({ times: 3 }),
    Schedule.setInputType<FailurePolicy.Failure<BrowserCrashed, TinkerError.TinkerError>>(),
    Schedule.while(({ input }) => input._tag !== "PolicyFailed" || input.error._tag !== "TinkerError")
  ),
  otherwise: {
    AcquireFailed: "skip",
    StepFailed: "drop",
    GraderFailed: "drop",
    Ungraded: "drop",
    PolicyFailed: "abort",
    HookFailed: "abort",
    TimedOut: "drop",
    Died: "abort"
  }
}

export const careful = Rollout.group(browsing, policy, { onFailure, memberTimeout: "5 minutes" })

holds<
  Same<
    Effect.Error<typeof careful>,
    BrowserCrashed | TinkerError.TinkerError | InvalidOption.InvalidOption | RolloutError.RolloutError
  >
>()
holds<Same<Effect.Services<typeof careful>, Browsers>>()
