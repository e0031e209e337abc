/** Policies, samplers, tools and environments with planned faults. */
import * as Effect from "effect/Effect"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type * as Env from "../env/Env.ts"
import type { EnvGroup, EnvGroupBuilder, GroupReward } from "../env/EnvGroupBuilder.ts"
import type * as FunctionTool from "../env/message/FunctionTool.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Policy from "../policy/Policy.ts"
import * as Fault from "./Fault.ts"

/** A policy with faults planned by request, whose key names the turn. */
export const policy = <E, R, E2 = never>(
  policy: Policy.Policy<E, R>,
  plan: (request: Policy.Request) => Fault.Fault<Sampling.SampledTokens, E | E2>
): Policy.Policy<E | E2, R> => ({ act: (request) => plan(request)(policy.act(request)) })

/** A sampler with faults planned by request and the number of earlier requests. */
export const sampler = (
  client: SamplingClient,
  plan: (request: Sampling.SampleRequest, call: number) => Fault.Fault<Sampling.SampleResponse, TinkerError>
): SamplingClient => {
  let calls = 0
  return { ...client, sample: (request) => Effect.suspend(() => plan(request, calls++)(client.sample(request))) }
}

/** A tool with faults planned by arguments and the number of earlier calls. */
export const tool = <E, R, E2 = never>(
  tool: FunctionTool.FunctionTool<E, R>,
  plan: (argumentText: string, call: number) => Fault.Fault<FunctionTool.Answer, E | E2>
): FunctionTool.FunctionTool<E | E2, R> => {
  let calls = 0
  return { ...tool, call: (text) => Effect.suspend(() => plan(text, calls++)(tool.call(text))) }
}

/** The faults of one episode; omitted calls succeed. */
export interface EnvPlan<E> {
  readonly initialObservation?: Fault.Fault<Env.Prompt | Env.Overflow, E>
  readonly step?: (turn: number) => Fault.Fault<Env.Step, E>
}

/** An environment with the planned faults. */
export const env = <E, R, E2 = never>(env: Env.Env<E, R>, plan: EnvPlan<E | E2>): Env.Env<E | E2, R> => {
  const { initialObservation = Fault.none, step = () => Fault.none } = plan
  let turns = 0
  return {
    ...env,
    initialObservation: initialObservation(env.initialObservation),
    step: (action) => Effect.suspend(() => step(turns++)(env.step(action)))
  }
}

/** The faults of one group, by the number of earlier attempts; omitted calls succeed. */
export interface GroupPlan<E> {
  readonly open?: (attempt: number) => Fault.Fault<void, E>
  readonly acquire?: (member: number, attempt: number) => Fault.Fault<void, E>
  readonly env?: (member: number, attempt: number) => EnvPlan<E>
  readonly grade?: (attempt: number) => Fault.Fault<ReadonlyArray<GroupReward>, E>
}

/** Counts calls by name. */
const makeCount = () => {
  const counts = new Map<string, number>()
  return (name: string) => {
    const before = counts.get(name) ?? 0
    counts.set(name, before + 1)
    return before
  }
}

/** A group builder with the planned faults; faults of opening and acquiring happen before anything is acquired. */
export const group = <E, R, E2 = never>(
  builder: EnvGroupBuilder<E, R>,
  plan: GroupPlan<E | E2>
): EnvGroupBuilder<E | E2, R> => {
  const faultless = () => Fault.none
  const { acquire = faultless, env: envPlan = () => ({}), grade = faultless, open = faultless } = plan
  const count = makeCount()
  const faulty = ({ groupRewards, makeEnv }: EnvGroup<E, R>): EnvGroup<E | E2, R> => ({
    makeEnv: (member, given) =>
      Effect.suspend(() => {
        const attempt = count(`member ${member}`)
        return acquire(member, attempt)<never>(Effect.void).pipe(
          Effect.andThen(makeEnv(member, given)),
          Effect.map((made) => env<E, R, E2>(made, envPlan(member, attempt)))
        )
      }),
    ...(groupRewards !== undefined && {
      groupRewards: (trajectories, given) =>
        Effect.suspend(() => grade(count("grade"))(groupRewards(trajectories, given)))
    })
  })
  return {
    ...builder,
    open: Effect.suspend(() =>
      open(count("open"))<never>(Effect.void).pipe(Effect.andThen(builder.open), Effect.map(faulty))
    )
  }
}
