/** A task whose payload sets the number of turns and the wait in each turn. */
import { Env, type EnvGroupBuilder } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { RolloutTask } from "@effect-rl/core/program"
import { Effect, Schema } from "effect"
import { appendFileSync, existsSync, writeFileSync } from "node:fs"

/** `trace` is a file that records acquisitions and releases. With `isFatal`, the first process to open the group exits at once. */
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

/** The reward is the sum of the sampled tokens. The end of an episode is logged with values that JSON cannot hold. */
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
