/** Runs the command in its own process. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

export const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** An action to take once the output contains a text. */
export interface Act {
  readonly when: string
  readonly act: NodeJS.Signals | "close output"
  /** Whether the action repeats until the process has ended. */
  readonly untilEnded?: boolean
}

export interface Options {
  readonly env?: NodeJS.ProcessEnv
  /** The program to run instead of the command. */
  readonly program?: string
  /** The process's whole standard input. */
  readonly input?: string
  /** Actions to take one after the other. */
  readonly acts?: ReadonlyArray<Act>
}

/** Runs the command to its end in its own process, and acts on it meanwhile. */
export const launch = (args: ReadonlyArray<string>, { acts = [], env = {}, input, program = bin }: Options = {}) =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(process.execPath, ["--conditions=@effect-rl/source", program, ...args], {
      env: { ...process.env, ...env }
    })
    if (input !== undefined) child.stdin.end(input)
    let [out, errors] = ["", ""]
    const left = [...acts]
    const perform = (act: Act["act"]) => act === "close output" ? child.stdout.destroy() : child.kill(act)
    const repeating: Array<NodeJS.Timeout> = []
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text
      for (let next = left[0]; next !== undefined && out.includes(next.when); next = left[0]) {
        const { act, untilEnded = false } = next
        left.shift()
        perform(act)
        if (untilEnded) repeating.push(setInterval(() => perform(act), 100))
      }
    })
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text
    })
    child.on("close", (code) => {
      for (const timer of repeating) clearInterval(timer)
      resume(Effect.succeed({ code, out, errors }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
