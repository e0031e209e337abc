/** The reference solution of a terminal task, as a model would run it. */
import { Outcome, type SandboxFiles } from "@effect-rl/sandbox"

/** The one script is the command itself; several files are put into `/solution` first. */
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
 * The call of the tool `bash` that runs `solve.sh`.
 *
 * @example
 * const said = ShellSolution.call(SandboxFiles.make({ "solve.sh": "echo hello > greeting.txt" }))
 */
export const call = (solution: SandboxFiles.SandboxFiles): string =>
  `<tool_call>\n${JSON.stringify({ name: "bash", arguments: { command: command(solution) } })}\n</tool_call>`
