/** Laws that an agent must satisfy before it can be trained, for use in tests. */
import { Rollout } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { EnvLaws, Script, TestTokenizer } from "@effect-rl/core/testing"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as AgentEnv from "../episode/AgentEnv.ts"
import * as InProcess from "../episode/InProcess.ts"
import type * as Place from "../episode/Place.ts"
import * as Network from "./Network.ts"

/** An agent, and the replies of its model. */
export interface Options<out E = never, out R = never> {
  readonly run: AgentEnv.Options<E, R>["run"]
  /** Plausible model replies, from which a seed chooses. If there are none, the model says nothing. */
  readonly replies: ReadonlyArray<string>
  /** Model names that the agent uses, such as a hard-coded one. */
  readonly names?: ReadonlyArray<string>
  /** Where the agent reaches its model, such as the `open` of an `AgentGateway`. Default: an in-process `fetch`. */
  readonly open?: Place.Open
  /** How long the agent may take to end after its signal is aborted. Default: 1 second. */
  readonly grace?: Duration.Input
}

const tokenizer = TestTokenizer.characters

/** The model name that the tested agent should use. */
export const modelName = "effect-rl/agent-laws"

const contextLength = 1_000_000

const model = Effect.map(Effect.orDie(Renderers.byName("qwen3_instruct", tokenizer)), (renderer) => ({
  name: modelName,
  tokenizer,
  renderer,
  capabilities: { ...Script.defaultCapabilities, contextLength }
}))

/** Observations of one episode. */
interface Seen {
  /** Completed with the agent's own exit. */
  readonly ended: Deferred.Deferred<Exit.Exit<AgentEnv.Verdict, unknown>>
  /** Completed at the first request. */
  readonly asked: Deferred.Deferred<void>
  /** Number of requests after the agent's end. */
  late: number
}

const makeSeen = (): Seen => ({ ended: Deferred.makeUnsafe(), asked: Deferred.makeUnsafe(), late: 0 })

/** A place that counts its requests. */
const counted = (open: Place.Open, seen: Seen): Place.Open => (answers) =>
  open((sent) =>
    Effect.suspend(() => {
      if (Deferred.isDoneUnsafe(seen.ended)) seen.late++
      return Effect.andThen(Deferred.succeed(seen.asked, undefined), answers(sent))
    })
  )

/** The agent, with its end recorded in `seen`. */
const observed =
  <E, R>(run: AgentEnv.Options<E, R>["run"], { ended }: Seen): AgentEnv.Options<E, R>["run"] => (session) => {
    const running = run(session)
    if (Effect.isEffect(running)) return Effect.onExit(running, (exit) => Deferred.succeed(ended, exit))
    return Promise.resolve(running).then(
      (verdict) => {
        Deferred.doneUnsafe(ended, Effect.succeed(Exit.succeed(verdict)))
        return verdict
      },
      (error: unknown) => {
        Deferred.doneUnsafe(ended, Effect.succeed(Exit.fail(error)))
        throw error
      }
    )
  }

const end = "<|im_end|>"

/** A policy that chooses each turn's reply by the seed. */
const saying = (replies: Options["replies"], seed: number) => ({
  act: ({ key }: { readonly key: { readonly turn: number } }) =>
    Effect.sync(() => {
      const tokens = tokenizer.encode(`${replies[(seed + key.turn) % replies.length] ?? ""}${end}`)
      return { tokens, logprobs: new Float32Array(tokens.length).fill(-1), stopReason: "stop" as const }
    })
})

const silent = { act: () => Effect.never }

/** Maximum number of turns, so an agent that never stops asking is detected. */
const mostTurns = 64

const key = { iteration: 0, group: "laws", member: 0, attempt: 0 }

const makeEnv = Effect.fnUntraced(
  function*<E, R>({ names = [], open = InProcess.open, run }: Options<E, R>, seen: Seen) {
    return yield* AgentEnv.at<E, R>(counted(open, seen))({
      model: yield* model,
      names,
      limits: { maxTurns: mostTurns },
      run: observed<E, R>(run, seen)
    })
  }
)

/** Describes an episode as text, equal for episodes with equal results. */
const played = Effect.fnUntraced(function*<E, R>(options: Options<E, R>, seed: number, seen: Seen) {
  const env = yield* makeEnv<E, R>(options, seen)
  const exit = yield* Effect.exit(Rollout.episode(env, saying(options.replies, seed), key))
  if (Exit.isFailure(exit)) return "no verdict, since it failed"
  const { stepReward, transitions } = exit.value
  const asked = transitions.map(({ shown }) => shown?.messages)
  return `the verdict ${stepReward} after ${JSON.stringify(asked)}`
})

const violation = (law: string, expected: string, found: string) =>
  Effect.fail(new EnvLaws.LawViolation({ law, expected, found }))

const law = <R>(name: string, check: (name: string) => Effect.Effect<void, EnvLaws.LawViolation, R>) => ({
  name,
  check: check(name)
})

const seeds = [0, 1, 2]

const shown = (text: string) => text.length > 500 ? `${text.slice(0, 500)}…` : text

const alone = <E, R>(options: Options<E, R>, seed: number) =>
  Effect.scoped(Effect.suspend(() => played<E, R>(options, seed, makeSeen())))

const repeats = <E, R>(options: Options<E, R>) =>
  law("gives the same verdict for the same responses", (name) =>
    Effect.forEach(seeds, (seed) =>
      Effect.flatMap(
        Effect.all([alone<E, R>(options, seed), alone<E, R>(options, seed)]),
        ([first, second]) => first === second ? Effect.void : violation(name, shown(first), shown(second))
      ), { discard: true }))

const keepsApart = <E, R>(options: Options<E, R>) =>
  law("has a session of its own in each of several episodes at the same time", (name) =>
    Effect.gen(function*() {
      const before = yield* Effect.forEach(seeds, (seed) => alone<E, R>(options, seed))
      const together = yield* Effect.forEach(seeds, (seed) => alone<E, R>(options, seed), { concurrency: "unbounded" })
      for (const [index, expected] of before.entries()) {
        const found = together[index] ?? ""
        if (found !== expected) return yield* violation(name, shown(expected), shown(found))
      }
    }))

const staysInside = <E, R>(options: Options<E, R>) =>
  law("asks nothing outside of its session", (name) =>
    Effect.scoped(Effect.gen(function*() {
      const origins = new Set<string>()
      const run: typeof options.run = (session) => {
        origins.add(new URL(session.baseUrl).origin)
        return options.run(session)
      }
      const requests = yield* Network.requests
      yield* played<E, R>({ ...options, run }, 0, makeSeen())
      const outside = requests().find((origin) => !origins.has(origin))
      if (outside !== undefined) return yield* violation(name, "requests to its base URL alone", `one to ${outside}`)
    })))

const asksNothingLater = <E, R>(options: Options<E, R>) =>
  law("asks nothing after its verdict", (name) =>
    Effect.scoped(Effect.gen(function*() {
      const seen = makeSeen()
      yield* played<E, R>(options, 0, seen)
      yield* Effect.sleep(options.grace ?? defaultGrace)
      if (seen.late > 0) return yield* violation(name, "no request", String(seen.late))
    })))

const defaultGrace = "1 second"

/** How the agent ends after its episode ended during a request; none if it keeps running. */
const told = Effect.fnUntraced(function*<E, R>(options: Options<E, R>) {
  const seen = makeSeen()
  const env = yield* makeEnv<E, R>(options, seen)
  const episode = yield* Effect.forkScoped(Rollout.episode(env, silent, key))
  const waits = yield* Effect.raceFirst(
    Effect.as(Deferred.await(seen.asked), true),
    Effect.as(Deferred.await(seen.ended), false)
  )
  if (!waits) return Option.some(Exit.interrupt())
  const leaving = yield* Effect.forkDetach(Fiber.interrupt(episode))
  const ended = yield* Effect.timeoutOption(Deferred.await(seen.ended), options.grace ?? defaultGrace)
  if (Option.isSome(ended)) yield* Fiber.join(leaving)
  return ended
})

/** Runs an effect in a scope that is not awaited, because an agent that never ends would keep it open forever. */
const abandoned = <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.flatMap(Effect.forkDetach(Effect.scoped(effect)), Fiber.join)

const endsWhenTold = <E, R>(options: Options<E, R>) =>
  law(
    "ends when it is told to",
    (name) =>
      Effect.flatMap(abandoned(told<E, R>(options)), (ended) =>
        Option.isSome(ended) ? Effect.void : violation(name, "its end soon after its signal", "that it runs on"))
  )

const isSilentAfterwards = <E, R>(options: Options<E, R>) =>
  law(
    "gives no verdict after its end",
    (name) =>
      Effect.flatMap(abandoned(told<E, R>(options)), (ended) =>
        Option.isSome(ended) && Exit.isSuccess(ended.value)
          ? violation(name, "a failure or an interruption", `the verdict ${JSON.stringify(ended.value.value)}`)
          : Effect.void)
  )

/**
 * Laws to check an agent against. The checks run in real time.
 *
 * @example
 * const laws = AgentLaws.agentLaws({
 *   replies: ["4", "five"],
 *   run: async ({ baseUrl, fetch, signal }) => {
 *     const body = JSON.stringify({ model: AgentLaws.modelName, messages: [{ role: "user", content: "What is 2 + 2?" }] })
 *     const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body, signal })
 *     return (await response.text()).includes("4") ? 1 : 0
 *   }
 * })
 */
export const agentLaws = <E = never, R = never>(options: Options<E, R>): ReadonlyArray<EnvLaws.Law<R>> => [
  repeats<E, R>(options),
  keepsApart<E, R>(options),
  staysInside<E, R>(options),
  asksNothingLater<E, R>(options),
  endsWhenTold<E, R>(options),
  isSilentAfterwards<E, R>(options)
]
