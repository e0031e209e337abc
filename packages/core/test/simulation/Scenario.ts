/** A batch of groups drawn from a seed: its environments, its rollout options, its faults, and when the caller gives up. */
import {
  Env,
  type EnvGroupBuilder,
  type FailurePolicy,
  type FunctionTool,
  type Limits,
  type Policy,
  type Rollout,
  type TinkerError
} from "@effect-rl/core"
import { type AdaptiveLimiter, ModelInput } from "@effect-rl/core/backend"
import type { TerminationReward } from "@effect-rl/core/environments"
import type { Hooks } from "@effect-rl/core/program"
import { Draw, type EventLog, Faulty, LeakAudit } from "@effect-rl/core/testing"
import { type Context, Duration, Effect, Schedule, type Scope } from "effect"
import * as Faults from "./Faults.ts"
import * as Ledger from "./Ledger.ts"

type Needs = EventLog.EventLog | LeakAudit.LeakAudit
export type Builder = EnvGroupBuilder.EnvGroupBuilder<Faults.Broken, Needs | Scope.Scope>
export type SimulatedPolicy = Policy.Policy<TinkerError.TinkerError, Needs>
export type Options = Rollout.StreamOptions<Faults.Broken, TinkerError.TinkerError, Faults.Broken>

export interface Scenario {
  readonly seed: number
  readonly severity: number
  readonly sizes: ReadonlyArray<number>
  readonly coupled: ReadonlyArray<boolean>
  readonly options: Options & { readonly onFailure: FailurePolicy.FailurePolicy }
  readonly concurrency: number
  /** Whether policy requests wait for a limiter's permits. */
  readonly limited: boolean
  /** The time in milliseconds at which the caller gives up. */
  readonly killAt: number | undefined
  /** The time in milliseconds by which the batch must be over. */
  readonly deadline: number
}

const retries = 3
const memberTimeout = Duration.toMillis("4 minutes")
const graderTimeout = Duration.toMillis("1 minute")
const releaseTimeout = Duration.toMillis("20 seconds")
const backoff = Duration.toMillis("10 seconds")

const onFailure = (draw: Draw.Draw): FailurePolicy.FailurePolicy => {
  const consequence = () =>
    draw.oneOf<FailurePolicy.Consequence>(["drop", "drop", "skip", draw.chance(0.25) ? "abort" : "drop"])
  const times = draw.integer(0, retries)
  return {
    retry: draw.chance(0.5)
      ? Schedule.recurs(times)
      : Schedule.max([Schedule.recurs(times), Schedule.spaced(draw.integer(1, backoff))]),
    ...(draw.chance(0.5) && { maxRetries: draw.integer(0, 6) }),
    ...(draw.chance(0.3) && { minSuccessful: (size: number) => Math.ceil(size / 2) }),
    otherwise: {
      AcquireFailed: consequence(),
      StepFailed: consequence(),
      GraderFailed: consequence(),
      Ungraded: consequence(),
      PolicyFailed: consequence(),
      HookFailed: consequence(),
      TimedOut: consequence(),
      Died: consequence()
    }
  }
}

const limits = (draw: Draw.Draw): Limits.Limits => ({
  ...(draw.chance(0.3) && { maxTurns: draw.integer(1, 5) }),
  ...(draw.chance(0.3) && { maxSampledTokens: draw.integer(4, 30) }),
  ...(draw.chance(0.3) && { maxTrajectoryTokens: draw.integer(10, 60) }),
  ...(draw.chance(0.3) && { maxTurnTokens: draw.integer(2, 6) }),
  ...(draw.chance(0.3) && { maxToolCalls: draw.integer(1, 3) }),
  ...(draw.chance(0.3) && { rolloutTimeout: draw.integer(5000, 60_000) }),
  ...(draw.chance(0.5) && { turnTimeout: draw.integer(20_000, 60_000) }),
  ...(draw.chance(0.5) && { stepTimeout: draw.integer(20_000, 60_000) })
})

const termination = (draw: Draw.Draw): TerminationReward.TerminationReward => ({
  zeroRewardOnLimit: draw.chance(0.5),
  skipGradingOnTimeout: draw.chance(0.5)
})

/** Hooks that record events and sometimes fail. */
const hooks = (seed: number, severity: number): Hooks.Hooks<Faults.Broken> => {
  const called = (name: string) => ({ key, transitions }: Hooks.State) =>
    Faults.hook(seed, severity, name, key.group, key.member, key.attempt, transitions.length)<never>(Effect.void)
  return {
    onTurnBegin: (state) => Effect.as(called("begin")(state), []),
    onGrade: called("grade"),
    onArtifacts: called("artifacts")
  }
}

/** An upper bound on the time of all attempts of all members and graders, with the groups run one after the other. */
const latest = (groups: number) => {
  const attempt = 2 * memberTimeout + graderTimeout + 3 * releaseTimeout + backoff
  return groups * 3 * (retries + 1) * attempt
}

export const make = (seed: number): Scenario => {
  const draw = Draw.make(seed, "scenario")
  const severity = draw.oneOf(Faults.severities)
  const sizes = Array.from({ length: draw.integer(1, 5) }, () => draw.integer(1, 5))
  return {
    seed,
    severity,
    sizes,
    coupled: sizes.map(() => draw.chance(0.25)),
    options: {
      onFailure: onFailure(draw),
      limits: limits(draw),
      termination: termination(draw),
      ...(draw.chance(0.3) && { hooks: hooks(seed, severity) }),
      iteration: draw.integer(0, 9),
      samplerStep: draw.integer(0, 9),
      memberTimeout,
      graderTimeout,
      releaseTimeout
    },
    concurrency: draw.integer(1, sizes.length),
    limited: draw.chance(0.2),
    killAt: draw.chance(0.3) ? draw.uniform() * 15_000 : undefined,
    deadline: latest(sizes.length)
  }
}

/** A delay in milliseconds, which in practice is unique. */
const moment = (draw: Draw.Draw, most: number) => Duration.millis(1 + draw.uniform() * most)

/** A policy whose answer encodes the attempt and the turn, followed by further tokens up to the limit. */
export const policy = ({ seed, severity }: Scenario): SimulatedPolicy =>
  Faulty.policy<never, Needs, TinkerError.TinkerError>({
    act: ({ key, maxTokens = 8 }) => {
      const draw = Draw.make(seed, "tokens", key.group, key.member, key.attempt, key.turn)
      const length = draw.integer(2, 8)
      const tokens = Int32Array.from(
        { length: Math.min(length, maxTokens) },
        (_, index) => [key.attempt, key.turn][index] ?? draw.integer(0, 99)
      )
      return Ledger.during(`${key.group}/${key.member}`, `act ${key.attempt}.${key.turn}`)(
        Effect.as(Effect.sleep(moment(draw, 3000)), {
          tokens,
          logprobs: new Float32Array(tokens.length).fill(-1),
          stopReason: length > maxTokens ? "length" : "stop"
        })
      )
    }
  }, Faults.policy(seed, severity))

/** The policy, with each of its requests behind a limiter. */
export const behind = (
  limiter: AdaptiveLimiter.AdaptiveLimiter,
  policy: SimulatedPolicy
): Effect.Effect<SimulatedPolicy, never, Needs> =>
  Effect.contextWith((context: Context.Context<Needs>) => {
    const act = (request: Policy.Request) => Effect.provideContext(policy.act(request), context)
    return Effect.succeed({
      act: (request) =>
        limiter.sampling({
          modelPath: "simulated",
          computeLogprobs: () => Effect.succeed(new Float32Array()),
          sample: () => Effect.map(act(request), (sampled) => ({ sequences: [sampled] }))
        }, "training").sample({ prompt: request.prompt, params: { maxTokens: request.maxTokens ?? 8 } }).pipe(
          Effect.flatMap(({ sequences: [sampled] }) =>
            sampled === undefined ? Effect.die(new Error("the limiter lost a sequence")) : Effect.succeed(sampled)
          )
        )
    })
  })

/** A tool that makes its calls in a separate scope. */
const makeTool = ({ seed, severity }: Scenario, life: Ledger.Life): FunctionTool.FunctionTool<Faults.Broken, Needs> => {
  const draw = Draw.make(seed, "tool time", life.group, life.member, life.life)
  const called: FunctionTool.FunctionTool<never, Needs> = {
    spec: { name: "look", description: "", parameters: {} },
    call: () => Effect.as(Effect.sleep(moment(draw, 500)), { content: "seen" })
  }
  const faulty = Faulty.tool<never, Needs, Faults.Broken>(
    called,
    Faults.tool(seed, severity, life.group, life.member, life.life)
  )
  return {
    ...faulty,
    call: (text) =>
      Effect.scoped(
        LeakAudit.LeakAudit.use(({ track }) => Effect.andThen(track("tool", Effect.void), faulty.call(text)))
      )
  }
}

const makeEnv = (
  scenario: Scenario,
  life: Ledger.Life,
  lane: string
): Env.Env<Faults.Broken, Needs> => {
  const { group, life: count, member, turns } = life
  const draw = Draw.make(scenario.seed, "play", group, member, count)
  const tool = makeTool(scenario, life)
  const length = draw.integer(1, 6)
  const stop = [0]
  let input = ModelInput.fromTokens([group, member, count])
  const step = Effect.fnUntraced(function*({ tokens, toolCallsLeft = Infinity }: Env.Action) {
    yield* Effect.sleep(moment(draw, 1000))
    const toolCalls = Math.min(draw.integer(0, 2), toolCallsLeft)
    for (let call = 0; call < toolCalls; call++) yield* tool.call("{}")
    const reward = draw.integer(-4, 8)
    turns.push({ tokens: Array.from(tokens), reward })
    if (turns.length === length) return { _tag: "Done", reward, toolCalls, stopReason: "completed" } satisfies Env.Done
    input = ModelInput.append(ModelInput.append(input, tokens), [turns.length])
    return { _tag: "Continue", reward, toolCalls, observation: Env.prompt(input, stop) } satisfies Env.Continue
  })
  return {
    countsToolCalls: true,
    initialObservation: Effect.as(Effect.sleep(moment(draw, 100)), Env.prompt(input, stop)),
    step: (action) => Ledger.during(lane, `step ${count}.${turns.length}`)(step(action))
  }
}

const releasing = (scenario: Scenario, ledger: Ledger.Ledger, life: Ledger.Life) =>
  Effect.suspend(() => {
    const how = Faults.release(scenario.seed, scenario.severity, life.group, life.member, life.life)
    if (how === "hangs") ledger.abandoned++
    if (how === "dies") return Effect.die(new Error("the sandbox is stuck"))
    if (how === "hangs") return Effect.never
    const draw = Draw.make(scenario.seed, "release time", life.group, life.member, life.life)
    return Effect.sleep(moment(draw, how === "slow" ? 15_000 : 1500))
  })

/** Acquires a member's environment with a sandbox and a fiber that watches it. */
const acquire = Effect.fnUntraced(
  function*(scenario: Scenario, ledger: Ledger.Ledger, group: number, member: number, lane: string) {
    const { track } = yield* LeakAudit.LeakAudit
    return yield* Effect.gen(function*() {
      const life = Ledger.begin(ledger, group, member)
      const draw = Draw.make(scenario.seed, "acquire", group, member, life.life)
      yield* track("sandbox", Effect.addFinalizer(() => releasing(scenario, ledger, life)))
      yield* Effect.forkScoped(Effect.never)
      yield* Effect.sleep(moment(draw, 500))
      return makeEnv(scenario, life, lane)
    }).pipe(Ledger.during(lane, "acquire"))
  }
)

/** The group's contribution to a member's reward. */
export const groupReward = (member: number) => member + 0.5

export const builders = (scenario: Scenario, ledger: Ledger.Ledger): ReadonlyArray<Builder> =>
  scenario.sizes.map((size, group) => {
    const key = `g${group}`
    const draw = Draw.make(scenario.seed, "group time", group)
    const opened: EnvGroupBuilder.EnvGroup<Faults.Broken, Needs | Scope.Scope> = {
      makeEnv: (member) => acquire(scenario, ledger, group, member, `${key}/${member}`),
      groupRewards: (trajectories) =>
        LeakAudit.LeakAudit.use(({ track }) => track("judge", Effect.sleep(moment(draw, 2000)))).pipe(
          Effect.as(trajectories.map(({ transitions }, index) => {
            const shown = transitions[0]?.observation.chunks[0]
            return { reward: groupReward(shown?._tag === "EncodedText" ? shown.tokens[1] ?? NaN : index) }
          })),
          Effect.scoped,
          Ledger.during(key, "grade")
        )
    }
    const open = LeakAudit.LeakAudit.use(({ track }) => track("coordinator", Effect.sleep(moment(draw, 1000))))
    return Faulty.group<Faults.Broken, Needs | Scope.Scope>({
      key,
      size,
      tags: [`tag ${group}`],
      coupled: scenario.coupled[group] ?? false,
      open: Ledger.during(key, "open")(Effect.as(open, opened))
    }, Faults.group(scenario.seed, scenario.severity, group))
  })
