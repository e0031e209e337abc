/** An agent in Python. One process works on many tasks concurrently. */
import { Context, Effect, Layer, Schema } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"

/** Whether Python is installed. The agent needs no packages. */
export const isThere = () => spawnSync("python3", ["--version"]).status === 0

const Said = Schema.fromJsonString(Schema.Struct({
  id: Schema.Int,
  answer: Schema.optionalKey(Schema.NullOr(Schema.String)),
  error: Schema.optionalKey(Schema.String)
}))
type Said = typeof Said.Type

const decode = Schema.decodeUnknownSync(Said)

/** A question, and the address of the model that answers it. */
export interface Task {
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
  readonly question: string
}

const open = Effect.acquireRelease(
  Effect.sync(() => spawn("python3", [`${import.meta.dirname}/agent.py`], { stdio: ["pipe", "pipe", "inherit"] })),
  (child) => Effect.sync(() => child.kill())
)

/** Answers questions until its scope closes. */
export class PythonAgent extends Context.Service<PythonAgent, {
  readonly answer: (task: Task) => Promise<string | undefined>
}>()("PythonAgent") {
  static readonly layer: Layer.Layer<PythonAgent> = Layer.effect(
    PythonAgent,
    Effect.map(open, (child) => {
      const waiting = new Map<number, (said: Said) => void>()
      let tasks = 0
      createInterface(child.stdout).on("line", (line) => {
        const said = decode(line)
        waiting.get(said.id)?.(said)
        waiting.delete(said.id)
      })
      const ask = (task: Task) =>
        new Promise<Said>((resolve) => {
          const id = tasks++
          waiting.set(id, resolve)
          child.stdin.write(`${JSON.stringify({ id, ...task })}\n`)
        })
      return PythonAgent.of({
        answer: async (task) => {
          const { answer, error } = await ask(task)
          if (error !== undefined) throw new Error(error)
          return answer ?? undefined
        }
      })
    })
  )
}
