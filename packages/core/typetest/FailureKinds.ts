/** A failure policy must name a consequence for each kind of failure, including hook failures. */
import {
  type EnvGroupBuilder,
  Evaluator,
  FailurePolicy,
  type InvalidOption,
  type Policy,
  Rl,
  Rollout,
  type TinkerError
} from "@effect-rl/core"
import type { GroupResult, Hooks, RolloutError } from "@effect-rl/core/program"
import type { Effect, Scope, Stream } from "effect"
import { holds, type Same } from "./Same.ts"

type Otherwise = FailurePolicy.FailurePolicy["otherwise"]

/** The kinds that may be omitted. */
type Optional = {
  [Kind in GroupResult.FailureTag]: Omit<Otherwise, Kind> extends Otherwise ? Kind : never
}[GroupResult.FailureTag]

holds<Same<Optional, never>>()
holds<Same<keyof Otherwise, GroupResult.FailureTag>>()

interface SandboxLost {
  readonly _tag: "SandboxLost"
}
interface DiskFull {
  readonly _tag: "DiskFull"
}
interface Sandboxes {
  readonly sandboxes: number
}
interface Disk {
  readonly disk: number
}

declare const builder: EnvGroupBuilder.EnvGroupBuilder<SandboxLost, Sandboxes>
declare const policy: Policy.Policy<TinkerError.TinkerError>
declare const hooks: Hooks.Hooks<DiskFull, Disk | Scope.Scope>
declare const options: Rl.Options<SandboxLost, Sandboxes>

/** A failure policy that handles the errors of environments, hooks and the policy. */
declare const onFailure: FailurePolicy.FailurePolicy<SandboxLost | DiskFull, TinkerError.TinkerError>

type Failures =
  | SandboxLost
  | DiskFull
  | TinkerError.TinkerError
  | InvalidOption.InvalidOption
  | RolloutError.RolloutError

const group = Rollout.group(builder, policy, { hooks, onFailure })
holds<Same<Effect.Error<typeof group>, Failures>>()
holds<Same<Effect.Services<typeof group>, Sandboxes | Disk>>()

const stream = Rollout.stream([builder], policy, { hooks, onFailure, concurrency: 4 })
holds<Same<Stream.Error<typeof stream>, Failures>>()
holds<Same<Stream.Services<typeof stream>, Sandboxes | Disk>>()

const preset = Rollout.group(builder, policy, { hooks, onFailure: FailurePolicy.minViableGroup() })
holds<Same<Effect.Error<typeof preset>, Failures>>()

const evaluator = Evaluator.testSet({
  name: "held_out",
  groups: [builder],
  maxTokens: 8,
  hooks,
  limits: { maxTurns: 3 }
})
holds<Same<typeof evaluator, Evaluator.Evaluator<Failures, Sandboxes | Disk>>>()

const { rollout: _, ...withoutRollout } = options
const run = Rl.run({ ...withoutRollout, rollout: { hooks, onFailure } })
holds<Same<DiskFull extends Stream.Error<typeof run> ? true : false, true>>()
holds<Same<Disk extends Stream.Services<typeof run> ? true : false, true>>()

export const blind: unknown = Rollout.group(builder, policy, {
  hooks,
  // @ts-expect-error this policy does not know failures of hooks
  onFailure: FailurePolicy.retryOnFailure() satisfies FailurePolicy.FailurePolicy as FailurePolicy.FailurePolicy<
    SandboxLost,
    TinkerError.TinkerError
  >
})
