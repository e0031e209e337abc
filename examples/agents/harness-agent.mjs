// A HarnessAgent of AI SDK that answers a question about a file: `node harness-agent.mjs FILE QUESTION`. Its harness is Pi, and its sandbox
// is just-bash. It needs the packages @ai-sdk/harness, @ai-sdk/harness-pi, @ai-sdk/sandbox-just-bash, ai, ws and zod.
import { createPi } from "@ai-sdk/harness-pi"
import { HarnessAgent } from "@ai-sdk/harness/agent"
import { createJustBashSandbox } from "@ai-sdk/sandbox-just-bash"
import { readFileSync } from "node:fs"

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_MODEL: id } = process.env
const [file, prompt] = process.argv.slice(2)

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const model = { id, name: id, reasoning: false, input: ["text"], cost, contextWindow: 40_960, maxTokens: 4096 }

const agent = new HarnessAgent({
  harness: createPi({ providers: { policy: { baseUrl, apiKey, api: "openai-completions", models: [model] } } }),
  model: `policy/${id}`,
  activeTools: ["read"],
  sandbox: createJustBashSandbox(),
  sandboxConfig: {
    onSession: ({ session, sessionWorkDir }) =>
      session.writeTextFile({ path: `${sessionWorkDir}/${file}`, content: readFileSync(file, "utf8") })
  }
})

const session = await agent.createSession()
try {
  const { text } = await agent.generate({ session, prompt })
  console.log(text)
} finally {
  await session.destroy()
}
