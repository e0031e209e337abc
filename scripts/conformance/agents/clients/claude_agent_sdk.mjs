// Runs the agent of Claude Code once, in the working directory.
import { query } from "@anthropic-ai/claude-agent-sdk"

const { MODEL: model, TASK: prompt } = process.env
for await (const message of query({ prompt, options: { model, allowedTools: ["Read", "Write"] } })) {
  if (message.type === "result") console.log(message.subtype, message.result)
}
