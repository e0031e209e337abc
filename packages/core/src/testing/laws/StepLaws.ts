/** Laws of steps: an environment answers any reply in time, with a valid result. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type * as Env from "../../env/Env.ts"
import { StopReason } from "../../env/StopReason.ts"
import { expect } from "../contract/Case.ts"
import { LeakAudit } from "../LeakAudit.ts"
import * as EventLog from "../simulation/EventLog.ts"
import * as Law from "./Law.ts"
import * as Play from "./Play.ts"

const forSteps =
  (expected: string, holds: (step: Env.Step) => boolean, found: (step: Env.Step) => string) => (played: Play.Played) =>
    Effect.forEach(
      played.turns,
      ({ step }, turn) => expect(holds(step), expected, `${found(step)} at turn ${turn}, ${Law.describe(played.line)}`),
      { discard: true }
    )

const isKnown = (step: Env.Step) =>
  step._tag === "Continue"
  || (step._tag === "Done" && (step.stopReason === undefined || Schema.is(StopReason)(step.stopReason)))

const isReportable = (value: unknown) => typeof value === "string" || Number.isFinite(value)

const values = ({ logs = {}, metrics = {} }: Env.Step): ReadonlyArray<readonly [string, unknown]> => [
  ...Object.entries(logs),
  ...Object.entries(metrics).map(([name, metric]) =>
    [name, metric.kind === "rate" ? Number(metric.hit) : metric.value] as const
  )
]

const kinds = ({ metrics = {} }: Env.Step) => Object.entries(metrics).map(([name, { kind }]) => ({ name, kind }))

const stepAfterEnd = (line: Play.Line, options: Play.Options) =>
  Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>) {
    const { ending, shown, turns } = yield* Play.play(env, line, options)
    if (ending !== "done") return
    const stop = shown.at(-1)?.prompt.stop ?? []
    const asked = yield* Effect.exit(Effect.suspend(() => env.step(Play.action(options, line, turns.length, stop))))
    yield* expect(Exit.isFailure(asked), "a failure of a step after the end", `another step, ${Law.describe(line)}`)
  })

const budgets = [0, 1, 2]

/** Plays an episode with a decreasing budget of tool calls. */
const spend = (line: Play.Line, options: Play.Options, budget: number) =>
  Effect.fnUntraced(function*<E, R>(env: Env.Env<E, R>) {
    if (env.countsToolCalls !== true) return
    let left = budget
    const limited: Env.Env<E, R> = {
      ...env,
      step: (action) =>
        Effect.map(env.step({ ...action, toolCallsLeft: left }), (step) => {
          left -= step.toolCalls ?? 0
          return step
        })
    }
    const { turns } = yield* Play.play(limited, line, options)
    const calls = turns.map(({ step }) => step.toolCalls ?? 0)
    const areCounts = calls.every((count) => Number.isInteger(count) && count >= 0)
    yield* expect(areCounts && left >= 0, `at most ${budget} tool calls`, `${calls.join(" + ")}, ${Law.describe(line)}`)
  })

/** A real clock on which sleeps take a thousandth of their time, so a deadline of minutes takes less than a second. */
const quickClock = (): Clock.Clock => {
  const real = Clock.Clock.defaultValue()
  return {
    currentTimeMillis: real.currentTimeMillis,
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe(),
    currentTimeNanos: real.currentTimeNanos,
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe(),
    monotonicTimeNanos: real.monotonicTimeNanos,
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
    sleep: (duration) => real.sleep(Duration.millis(Duration.toMillis(duration) / 1000))
  }
}

/**
 * Whether the episode continues in real time. If so, it waits for a timer or a promise outside Effect, which virtual time does not advance.
 */
const isAwake = <E, R>(makeEnv: Play.MakeEnv<E, R>, line: Play.Line, options: Play.Options) =>
  Play.episode(makeEnv, line, options).pipe(
    Effect.provideServiceEffect(LeakAudit, LeakAudit.make),
    Effect.provideServiceEffect(EventLog.EventLog, Effect.sync(() => EventLog.make().log)),
    Effect.provideServiceEffect(Clock.Clock, Effect.sync(quickClock)),
    Effect.map(({ ending }) => ending !== "hung")
  )

const answersInTime = Effect.fnUntraced(
  function*<E, R>(makeEnv: Play.MakeEnv<E, R>, line: Play.Line, options: Play.Options) {
    const { ending, turns } = yield* Law.episode(makeEnv, line, options)
    if (ending !== "hung") return
    const found = (yield* isAwake(makeEnv, line, options))
      ? "one in real time alone: what waits for a timer or a promise outside of Effect is not in virtual time; use Effect.sleep"
      : "none"
    yield* expect(false, "an answer by the deadline", `${found}, at turn ${turns.length}, ${Law.describe(line)}`)
  }
)

export const laws = <E, R>(makeEnv: Play.MakeEnv<E, R>, options: Play.Options) => [
  Law.forEpisodes(
    "steps: accept any reply, or fail with a typed error",
    makeEnv,
    options,
    ({ ending, exit, line }) =>
      expect(ending !== "died", "a step or a typed failure", `${String(exit)}, ${Law.describe(line)}`)
  ),
  Law.simulating(
    "steps: end with an answer in time",
    Effect.forEach(Play.lines(options), (line) => answersInTime(makeEnv, line, options), { discard: true })
  ),
  Law.forEpisodes(
    "steps: continue, or end for a known reason",
    makeEnv,
    options,
    forSteps(
      "Continue, or Done with a known stop reason",
      isKnown,
      (step) => step._tag === "Done" ? `stop reason ${String(step.stopReason)}` : String(step._tag)
    )
  ),
  Law.forEpisodes(
    "rewards: are finite",
    makeEnv,
    options,
    (played) =>
      Effect.andThen(
        expect(Number.isFinite(played.overflow?.reward ?? 0), "a finite reward", played.overflow?.reward),
        forSteps("a finite reward", ({ reward }) => Number.isFinite(reward), ({ reward }) => String(reward))(played)
      )
  ),
  Law.make(
    "done: no step follows",
    Effect.forEach(Play.lines(options), (line) => Play.withEnv(makeEnv, line.seed, stepAfterEnd(line, options)), {
      discard: true
    })
  ),
  Law.forEpisodes(
    "reports: survive JSON",
    makeEnv,
    options,
    forSteps(
      "texts and finite numbers in logs and metrics",
      (step) => values(step).every(([, value]) => isReportable(value)),
      (step) => String(values(step).find(([, value]) => !isReportable(value)))
    )
  ),
  Law.make(
    "metrics: keep their kind",
    Effect.gen(function*() {
      const played = yield* Effect.forEach(Play.lines(options), (line) => Play.episode(makeEnv, line, options))
      const seen = new Map<string, string>()
      for (const { kind, name } of played.flatMap(({ turns }) => turns.flatMap(({ step }) => kinds(step)))) {
        const before = seen.get(name) ?? kind
        seen.set(name, before)
        yield* expect(kind === before, `${name} to be a ${before} always`, `a ${kind}`)
      }
    })
  ),
  Law.make(
    "tool calls: do not exceed the number that is left",
    Effect.forEach(
      budgets,
      (budget) =>
        Effect.forEach(Play.lines(options), (line) => Play.withEnv(makeEnv, line.seed, spend(line, options, budget)), {
          discard: true
        }),
      { discard: true }
    )
  )
]
