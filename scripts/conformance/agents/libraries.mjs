// Libraries for writing agents. Each calculates with two tools, in a script that follows the library's guide.
import { alias } from "./episode.mjs"
import * as Install from "./install.mjs"
import * as Plans from "./plans.mjs"
import * as Process from "./process.mjs"

/** Checks a feature's result. */
const expected = (feature, given) => {
  if (feature === "count_tokens") return given === true
  return typeof given === "object" ? given?.sum === 25 : String(given).includes("The result is 25.")
}

const timeout = 90_000

const last = (text) => text.trim().split("\n").filter((line) => line.trim() !== "").slice(-2).join(" ").slice(0, 300)

/** The result that a script reports. */
const told = ({ code, stderr, stdout, timedOut }) => {
  const answer = /^ANSWER (.*)$/m.exec(stdout)?.[1]
  if (answer !== undefined) return JSON.parse(answer)
  throw new Error(timedOut ? `no end within ${timeout / 1000} s` : `it ended with ${code}: ${last(stderr || stdout)}`)
}

const started = async ({ folder, program, script }, variables) => {
  const env = { PATH: Install.path, HOME: folder, PYTHONPATH: folder, MODEL: alias, ...variables }
  return told(await Process.run([program, script], { cwd: folder, env, timeout }))
}

/** The environment variables that clients read. Scripts of libraries without such variables read them too. */
const nowhere = {
  OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
  OPENAI_API_KEY: "none",
  ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
  ANTHROPIC_API_KEY: "none"
}

const featuresOf = async (installed) => {
  const names = await started(installed, nowhere)
  return names.map((name) => ({
    name,
    plan: Plans.calculation,
    isRefused: ({ answer }) => answer.includes("thread_not_found"),
    run: ({ anthropicBaseUrl, apiKey, baseUrl }) =>
      started(installed, {
        OPENAI_BASE_URL: baseUrl,
        OPENAI_API_KEY: apiKey,
        ANTHROPIC_BASE_URL: anthropicBaseUrl,
        ANTHROPIC_API_KEY: apiKey,
        FEATURE: name
      }),
    problem: ({ result }) => expected(name, result) ? undefined : `it got ${JSON.stringify(result)}`
  }))
}

const scripts = "scripts/conformance/agents/clients"

const library = (install, extension, task) => (name, script, packages) => ({
  name,
  open: async () => {
    const file = `${script}.${extension}`
    const installed = await install(`${extension}-${script}`, packages, [`${scripts}/${file}`, `${scripts}/${task}`])
    const { version } = installed
    return { version, features: await featuresOf({ ...installed, script: file }) }
  }
})

const js = library(Install.npm, "mjs", "task.mjs")
const python = library(Install.pip, "py", "task.py")

export const all = [
  js("openai", "openai", ["openai", "zod"]),
  js("@anthropic-ai/sdk", "anthropic", ["@anthropic-ai/sdk", "zod"]),
  js("ai", "ai", ["ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic", "zod"]),
  js("@openai/agents", "agents", ["@openai/agents", "openai", "zod"]),
  js("langchain", "langchain", [
    "langchain",
    "@langchain/core",
    "@langchain/langgraph",
    "@langchain/openai",
    "@langchain/anthropic",
    "zod"
  ]),
  js("@mastra/core", "mastra", ["@mastra/core", "zod"]),
  js("llamaindex", "llamaindex", ["llamaindex", "@llamaindex/openai", "@llamaindex/workflow", "zod"]),
  js("@instructor-ai/instructor", "instructor", ["@instructor-ai/instructor", "openai", "zod"]),
  python("openai (Python)", "openai_client", ["openai"]),
  python("anthropic (Python)", "anthropic_client", ["anthropic"]),
  python("openai-agents (Python)", "openai_agents", ["openai-agents"]),
  python("langchain (Python)", "langchain_client", ["langchain", "langchain-openai", "langchain-anthropic"]),
  python("litellm (Python)", "litellm_client", ["litellm", "mcp"]),
  python("pydantic-ai-slim (Python)", "pydantic_ai_client", ["pydantic-ai-slim[openai,anthropic]"]),
  python("smolagents (Python)", "smolagents_client", ["smolagents", "openai"]),
  python("instructor (Python)", "instructor_client", ["instructor", "openai"]),
  python("llama-index-core (Python)", "llama_index_client", ["llama-index-core", "llama-index-llms-openai-like"]),
  python("agno (Python)", "agno_client", ["agno", "openai"]),
  python("lm-eval (Python)", "lm_eval_client", ["lm-eval[api]"]),
  python("inspect-ai (Python)", "inspect_ai_client", ["inspect-ai", "openai"]),
  python("autogen-agentchat (Python)", "autogen_client", ["autogen-agentchat", "autogen-ext[openai]"]),
  python("strands-agents (Python)", "strands_client", ["strands-agents[openai]"])
]
