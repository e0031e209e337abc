/** Groups that are rolled out at the same time, each with its weights. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { TinkerError } from "../backend/TinkerError.ts"
import * as Tally from "../records/Tally.ts"
import type { Usage } from "../records/Usage.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import type * as Admission from "./Admission.ts"
import type * as PublishedWeights from "./PublishedWeights.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Schedule from "./Schedule.ts"

export type Error<E> = E | TinkerError | RolloutError | InvalidOption

export interface Options<E, R, CE, CR> {
  readonly seed: number
  readonly rollout: Omit<RlOptions.Resolved<E, R, CE, CR>["rollout"], "concurrency">
  readonly published: PublishedWeights.PublishedWeights
  readonly ended: (
    group: Admission.Admitted<E, R>,
    result: GroupResult,
    usage: Usage
  ) => Effect.Effect<void, Error<E>, R>
  readonly failed: (cause: Cause.Cause<Error<E>>) => Effect.Effect<unknown>
}

/** Made in a scope, at the end of which it gives up all groups that are on their way. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(
  { ended, failed, published, rollout, seed }: Options<E, R, CE, CR>
) {
  const fibers = yield* FiberMap.make<string>()
  /** Groups may also begin while passes are submitted, where the program's services, such as its log of groups, are not provided. */
  const context = yield* Effect.context<R>()

  const close = (scope: Scope.Closeable, exit: Exit.Exit<void, Error<E>>) =>
    Effect.andThen(
      Scope.close(scope, exit),
      Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? failed(exit.cause) : Effect.void
    )

  return {
    /** A group has its weights from now on: newer ones may be published before it asks for its first token. */
    begin: (group: Admission.Admitted<E, R>) =>
      Effect.uninterruptible(Effect.gen(function*() {
        const scope = yield* Scope.make()
        const { policy, step } = yield* Scope.provide(published.begin, scope)
        const place = { seed, iteration: group.batch, samplerStep: step }
        const rolled = Rollout.recorded(group.builder, policy, { ...rollout, ...place })
        const whole = Effect.flatMap(Tally.measure(rolled), ([result, usage]) => ended(group, result, usage))
        yield* Effect.onExit(whole, (exit) => close(scope, exit)).pipe(
          Effect.provideContext(context),
          FiberMap.run(fibers, Schedule.nameOf(group))
        )
      })),
    giveUp: (name: string) =>
      Effect.sync(() => Option.map(FiberMap.getUnsafe(fibers, name), (fiber) => fiber.interruptUnsafe()))
  }
})
