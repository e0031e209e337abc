/** The reference solution of a terminal task, as a tool call of a model. */
import { Outcome, type SandboxFiles } from "@effect-rl/sandbox"

/** The command that runs the solution. A single script is the command itself; several files are first written to `/solution`. */
const command = (solution: SandboxFiles.SandboxFiles) => {
  const [only] = solution
  if (solution.length === 1 && only?.path === "solve.sh") return Outcome.text(only.bytes)
  const put = solution.map(({ bytes, path }) => {
    const target = `"$HOME/solution/${path.replaceAll(/[\\"$`]/g, "\\$&")}"`
    return `mkdir -p "$(dirname ${target})"; echo ${Buffer.from(bytes).toString("base64")} | base64 -d > ${target}`
  })
  return [...put, "bash /solution/solve.sh"].join("\n")
}

/**
 * The text of a `bash` tool call that runs `solve.sh`.
 *
 * @example
 * const said = ShellSolution.call(SandboxFiles.make({ "solve.sh": "echo hello > greeting.txt" }))
 */
export const call = (solution: SandboxFiles.SandboxFiles): string =>
  `<tool_call>\n${JSON.stringify({ name: "bash", arguments: { command: command(solution) } })}\n</tool_call>`
