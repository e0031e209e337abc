/** Sessions of clients with a scripted model, and the log of their HTTP traffic beside what the gateway recorded. */
import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { Conversation } from "@effect-rl/core/records"
import type { OpenAi } from "@effect-rl/core/renderers"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem } from "effect"
import * as Talk from "../episode/Talk.ts"

/** A line of a log of requests. */
export interface Exchange {
  readonly request: string
  readonly response: string
}

/** A `fetch` that writes what is asked and answered to a log. */
export const logging =
  (fetch: typeof globalThis.fetch, log: Array<Promise<Exchange>>): typeof globalThis.fetch => async (input, init) => {
    const request = String(init?.body)
    const response = await fetch(input, init)
    log.push(response.clone().text().then((text) => ({ request, response: text })))
    return response
  }

/** The conversation without the ids of calls, which a recorded answer lacks. */
export const withoutIds = (messages: ReadonlyArray<OpenAi.ChatMessage>): ReadonlyArray<unknown> =>
  messages.map(({ content, name, reasoning_content, role, tool_calls }) => ({
    role,
    content,
    name,
    reasoning_content,
    tool_calls: tool_calls?.map(({ function: called }) => called)
  }))

/** Plays a session, and returns its log, and the conversation and tools that the gateway recorded. */
export const session = Effect.fnUntraced(function*(
  run: (session: AgentEnv.Session) => Promise<void>,
  ...says: ReadonlyArray<string>
) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const log: Array<Promise<Exchange>> = []
  const env = yield* AgentEnv.make({
    model,
    run: async (session) => {
      await run({ ...session, fetch: logging(session.fetch, log) })
      return 1
    }
  })
  const trajectory = yield* Rollout.episode(env, Talk.saying(...says).policy, Talk.key)
  const { renderer: { parse }, tokenizer: { decode } } = model
  const turns = yield* Conversation.read(trajectory, { decode, parse })
  return {
    log: yield* Effect.promise(() => Promise.all(log)),
    recorded: Conversation.toOpenAi(turns),
    tools: Conversation.toOpenAiTools(turns)
  }
}, Effect.scoped)

/** A new file with these lines, which is removed with the scope. */
export const file = (...lines: ReadonlyArray<unknown>) => {
  const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("")
  return FileSystem.FileSystem.use((fs) =>
    Effect.tap(fs.makeTempFileScoped({ suffix: ".jsonl" }), (path) => fs.writeFileString(path, text))
  ).pipe(Effect.provide(NodeServices.layer))
}
