/** The faults of a simulated batch, drawn for each call from the batch's seed. */
import type { Env, EnvGroupBuilder, FunctionTool, Policy } from "@effect-rl/core"
import { TinkerError } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Key } from "@effect-rl/core/environments"
import { Draw, Fault, type Faulty } from "@effect-rl/core/testing"
import { Duration, Schema } from "effect"

export class Broken extends Schema.TaggedError<Broken>()("Broken", { what: Schema.String }) {
  override get message() {
    return `${this.what} broke`
  }
}

const broken = (what: string) => Fault.fail(new Broken({ what }))
const crash = (what: string) => Fault.die(new Error(`${what} crashed`))

const backendFault = (reason: TinkerError.Reason) =>
  Fault.fail(new TinkerError.TinkerError({ operation: "sample", reason }))

const lostAnswer = Fault.failAfter(
  new TinkerError.TinkerError({
    operation: "sample",
    reason: new TinkerError.Unavailable({ detail: "connection reset" })
  })
)

type Choices<A, E> = ReadonlyArray<readonly [weight: number, fault: Fault.Fault<A, E>]>

/** The share of calls with a fault. */
export const severities = [0, 0.01, 0.04, 0.15] as const

/** Every fault has an individual delay, so that no two events happen at the same time. */
const drawn = <A, E>(severity: number, draw: Draw.Draw, choices: Choices<A, E>): Fault.Fault<A, E> =>
  draw.chance(severity)
    ? Fault.all<A, E>(Fault.oneOf(draw, choices), Fault.slow(Duration.millis(1 + draw.uniform() * 100)))
    : Fault.none

const policyFaults: Choices<Sampling.SampledTokens, TinkerError.TinkerError> = [
  [2, backendFault(new TinkerError.RateLimited({ retryAfterMillis: 1000 }))],
  [2, backendFault(new TinkerError.Unavailable({ detail: "HTTP 503" }))],
  [1, lostAnswer],
  [2, Fault.hang],
  [2, Fault.slow("90 seconds")],
  [1, crash("policy")],
  [1, Fault.notNumbers],
  [2, Fault.truncated]
]

/** The fault of a policy request. */
export const policy = (seed: number, severity: number) => ({ key }: Policy.Request) =>
  drawn(severity, Draw.make(seed, "policy", Key.toString(key)), policyFaults)

const initialFaults: Choices<Env.Prompt | Env.Overflow, Broken> = [
  [1, broken("initial observation")],
  [1, Fault.hang],
  [1, Fault.answer<Env.Prompt | Env.Overflow>(() => ({ _tag: "Overflow", reward: -1 }))]
]

const stepFaults: Choices<Env.Step, Broken> = [
  [2, broken("step")],
  [1, Fault.failAfter(new Broken({ what: "answer" }))],
  [2, crash("environment")],
  [2, Fault.hang],
  [1, Fault.slow("90 seconds")],
  [1, Fault.answer<Env.Step>((step) => ({ ...step, reward: NaN }))]
]

const openFaults: Choices<void, Broken> = [[2, broken("coordinator")], [1, Fault.hang], [1, crash("coordinator")]]

const acquireFaults: Choices<void, Broken> = [[2, broken("sandbox")], [1, Fault.hang], [1, crash("sandbox")]]

const gradeFaults: Choices<ReadonlyArray<EnvGroupBuilder.GroupReward>, Broken> = [
  [2, broken("judge")],
  [2, Fault.hang],
  [1, crash("judge")],
  [1, Fault.answer((rewards) => rewards.map(() => ({ reward: NaN })))],
  [1, Fault.answer((rewards) => rewards.slice(1))]
]

const toolFaults: Choices<FunctionTool.Answer, Broken> = [[1, broken("tool")], [2, crash("tool")], [1, Fault.hang]]

/** The faults of a group in opening, acquiring, playing and grading. */
export const group = (seed: number, severity: number, group: number): Faulty.GroupPlan<Broken> => {
  const draw = (...parts: ReadonlyArray<string | number>) => Draw.make(seed, "group", group, ...parts)
  return {
    open: (attempt) => drawn(severity, draw("open", attempt), openFaults),
    acquire: (member, attempt) => drawn(severity, draw("acquire", member, attempt), acquireFaults),
    env: (member, attempt) => ({
      initialObservation: drawn(severity, draw("initial", member, attempt), initialFaults),
      step: (turn) => drawn(severity, draw("step", member, attempt, turn), stepFaults)
    }),
    grade: (attempt) => drawn(severity * 2, draw("grade", attempt), gradeFaults)
  }
}

/** Of one call of a tool. */
export const tool = (seed: number, severity: number, ...who: ReadonlyArray<number>) => (_text: string, call: number) =>
  drawn(severity, Draw.make(seed, "tool", ...who, call), toolFaults)

const hookFaults: Choices<void, Broken> = [[2, broken("hook")], [1, crash("hook")], [1, Fault.slow("20 seconds")]]

/** Of one call of a hook. */
export const hook = (seed: number, severity: number, ...when: ReadonlyArray<string | number>) =>
  drawn(severity, Draw.make(seed, "hook", ...when), hookFaults)

/** Of one release. */
export const release = (seed: number, severity: number, ...who: ReadonlyArray<number>) => {
  const draw = Draw.make(seed, "release", ...who)
  return draw.chance(severity / 4) ? draw.oneOf(["slow", "dies", "hangs"]) : "well"
}
