/** Variants of the runner, each with one fault. */
import { FailurePolicy, Rollout } from "@effect-rl/core"
import type { GroupResult } from "@effect-rl/core/program"
import { Effect, Fiber, Option, Scope, Stream } from "effect"
import * as Batch from "./Batch.ts"
import type * as Scenario from "./Scenario.ts"

interface Mutant {
  /** The runner … */
  readonly rule: string
  /** The start of the expected violation. */
  readonly breaks: string
  readonly runner: Batch.Runner
}

type Group = GroupResult.Completed | GroupResult.Partial

const afterwards =
  (change: (results: ReadonlyArray<GroupResult.GroupResult>) => ReadonlyArray<GroupResult.GroupResult>): Batch.Runner =>
  (builders, policy, options) => Effect.map(Batch.runner(builders, policy, options), change)

const eachGroup = (change: (group: Group) => GroupResult.GroupResult) =>
  afterwards((results) => results.map((result) => result._tag === "Skipped" ? result : change(result)))

const building =
  (change: (builder: Scenario.Builder) => Scenario.Builder): Batch.Runner => (builders, policy, options) =>
    Batch.runner(builders.map(change), policy, options)

type MakeEnv = Effect.Success<Scenario.Builder["open"]>["makeEnv"]

const acquiring = (change: (makeEnv: MakeEnv) => MakeEnv) =>
  building((builder) => ({
    ...builder,
    open: Effect.map(builder.open, (group) => ({ ...group, makeEnv: change(group.makeEnv) }))
  }))

const patient: Batch.Runner = (builders, policy, { concurrency, iteration = 0, onFailure, samplerStep = 0 }) =>
  Batch.runner(builders, policy, { concurrency, iteration, onFailure, samplerStep })

export const all: ReadonlyArray<Mutant> = [
  {
    rule: "swaps the order of members",
    breaks: "accounting adds up",
    runner: eachGroup((group) => ({ ...group, members: group.members.toReversed() }))
  },
  {
    rule: "returns groups as they finish",
    breaks: "groups come in order",
    runner: (builders, policy, options) =>
      Stream.runCollect(Rollout.stream(builders, policy, { ...options, unordered: true }))
  },
  {
    rule: "loses a group",
    breaks: "groups come in order",
    runner: afterwards((results) => results.slice(1))
  },
  {
    rule: "counts a dropped member twice",
    breaks: "accounting adds up",
    runner: eachGroup((group) =>
      group._tag === "Partial" ? { ...group, dropped: [...group.dropped, ...group.dropped] } : group
    )
  },
  {
    rule: "forgets a dropped member",
    breaks: "accounting adds up",
    runner: eachGroup((group) => group._tag === "Partial" ? { ...group, dropped: group.dropped.slice(1) } : group)
  },
  {
    rule: "forgets the retries of a group",
    breaks: "accounting adds up",
    runner: eachGroup((group) => ({ ...group, retried: [] }))
  },
  {
    rule: "rewards the members of a group in another order",
    breaks: "accounting adds up",
    runner: eachGroup((group) => ({ ...group, rewardsG: group.rewardsG.toReversed() }))
  },
  {
    rule: "leaves out the last turn",
    breaks: "accounting adds up",
    runner: eachGroup((group) => ({
      ...group,
      members: group.members.map(Option.map((trajectory) => ({
        ...trajectory,
        transitions: trajectory.transitions.slice(0, -1)
      })))
    }))
  },
  {
    rule: "keeps the environments of failed attempts",
    breaks: "what is acquired is released",
    runner: acquiring((makeEnv) => (member, attempt) => Scope.provide(makeEnv(member, attempt), Scope.makeUnsafe()))
  },
  {
    rule: "leaves a fiber behind",
    breaks: "what is acquired is released",
    runner: (builders, policy, options) =>
      Effect.andThen(Effect.forkDetach(Effect.never), Batch.runner(builders, policy, options))
  },
  {
    rule: "swallows interruption",
    breaks: "nothing begins after the caller gave up",
    runner: (builders, policy, options) => Effect.uninterruptible(Batch.runner(builders, policy, options))
  },
  {
    rule: "interrupts one group after the other",
    breaks: "nothing begins after the caller gave up",
    runner: (builders, policy, { concurrency, ...options }) =>
      Stream.fromArray(builders).pipe(
        Stream.mapEffect((builder) => Rollout.group(builder, policy, options), { concurrency }),
        Stream.runCollect
      )
  },
  {
    rule: "continues in the background after an interruption",
    breaks: "what is acquired is released",
    runner: (builders, policy, options) =>
      Effect.flatMap(Effect.forkDetach(Batch.runner(builders, policy, options)), Fiber.join)
  },
  {
    rule: "ignores all time limits",
    breaks: "it ends by its deadline",
    runner: patient
  },
  {
    rule: "fails fast under any failure policy",
    breaks: "it fails as told",
    runner: (builders, policy, options) =>
      Batch.runner(builders, policy, {
        ...options,
        onFailure: {
          ...options.onFailure,
          otherwise: FailurePolicy.failFast.otherwise
        }
      })
  },
  {
    rule: "seeds turns in their order of arrival",
    breaks: "results do not depend on concurrency",
    runner: (builders, policy, options) => {
      let arrived = 0
      return Batch.runner(builders, {
        act: (request) => Effect.suspend(() => policy.act({ ...request, key: { ...request.key, turn: arrived++ } }))
      }, options)
    }
  }
]
