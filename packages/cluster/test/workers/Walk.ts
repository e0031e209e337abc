/** A task with as many turns as its payload says, and a wait in each. */
import { Env, type EnvGroupBuilder } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { RolloutTask } from "@effect-rl/core/program"
import { Effect, Schema } from "effect"
import { appendFileSync, existsSync, writeFileSync } from "node:fs"

/** `trace` is a file that says what was acquired and released; whoever begins with it ends at once where `isFatal` says so. */
const Payload = Schema.Struct({
  index: Schema.Int,
  turns: Schema.Int,
  millis: Schema.Int,
  trace: Schema.optionalKey(Schema.String),
  fails: Schema.optionalKey(Schema.Boolean),
  isFatal: Schema.optionalKey(Schema.Boolean)
})
export type Payload = typeof Payload.Type

export class Stumbled extends Schema.TaggedError<Stumbled>()("Stumbled", {}) {
  override get message() {
    return "stumbled"
  }
}

const prompt = Env.prompt(ModelInput.fromTokens([40, 41]), ["\n"])

/** Rewards the sum of the sampled tokens, and logs when it is done, with what no JSON can hold. */
const walk = ({ fails, index, millis, turns }: Payload): Env.Env<Stumbled> => {
  let turn = 0
  return {
    initialObservation: Effect.succeed(prompt),
    step: Effect.fnUntraced(function*({ tokens }) {
      yield* Effect.sleep(millis)
      if (fails === true) return yield* new Stumbled()
      const reward = tokens.reduce((sum, token) => sum + token, 0)
      if (++turn < turns) return { _tag: "Continue", reward, observation: prompt }
      yield* Effect.annotateLogs(Effect.logWarning(`walked ${index}`), { tokens: BigInt(tokens.length) })
      return { _tag: "Done", reward }
    })
  }
}

const endAtOnce = ({ isFatal, trace = "" }: Payload) =>
  Effect.sync(() => {
    if (isFatal === true && !existsSync(trace)) {
      writeFileSync(trace, "")
      process.exit(1)
    }
  })

const builder = (payload: Payload): EnvGroupBuilder.EnvGroupBuilder<Stumbled> => {
  const write = (what: string) =>
    Effect.sync(() => payload.trace === undefined ? undefined : appendFileSync(payload.trace, `${what}\n`))
  const makeEnv = (member: number) =>
    Effect.as(Effect.acquireRelease(write(`acquired ${member}`), () => write(`released ${member}`)), walk(payload))
  return { key: `walk/${payload.index}`, size: 2, tags: ["walk"], open: Effect.as(endAtOnce(payload), { makeEnv }) }
}

export const task = RolloutTask.make("walk", { payload: Payload, builder })
