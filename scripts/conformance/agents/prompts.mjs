// Measures the length of agents' first prompts: their instructions and tool schemas.
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { play } from "./episode.mjs"

const presets = ["tiny-tasks", "tiny-128"]

const read = (path) => JSON.parse(readFileSync(path, "utf8"))
const inPreset = (preset, file) => new URL(`../../../packages/engine/presets/${preset}/${file}`, import.meta.url)
const decoded = (name, definition, config) => Effect.runSync(HuggingFaceTokenizer.fromJson(name, definition, config))

/** The tokenizer of Qwen3, where $EFFECT_RL_TOKENIZERS has it (packages/files/scripts/tokenizers/fetch.sh). */
const qwen = () => {
  const file = join(process.env.EFFECT_RL_TOKENIZERS ?? "", "qwen3", "tokenizer.json")
  return existsSync(file) ? [["Qwen3", decoded("Qwen3", read(file))]] : []
}

const tokenizers = [
  ...presets.map((preset) => [
    preset,
    decoded(preset, read(inPreset(preset, "tokenizer.json")), read(inPreset(preset, "tokenizer_config.json")))
  ]),
  ...qwen()
]

const contexts = presets.map((preset) => read(inPreset(preset, "config.json")).max_position_embeddings)

const cells = (values) =>
  `| ${values.map((value) => String(value).replaceAll(/\s+/g, " ").replaceAll("|", "\\|").slice(0, 160)).join(" | ")} |`

/** The row of an agent: its first prompt that offers tools. */
export const of = async ({ name, open }) => {
  try {
    const { features: [feature, ...others], version } = await open()
    for (const { close } of others) close?.()
    const { log } = await play(feature)
    feature.close?.()
    const first = log.find(({ prompt }) => prompt.includes("<tools>"))
    if (first === undefined) return [cells([`${name} ${version}`, "offered no tools", "", ...tokenizers.map(() => "")])]
    const { prompt } = first
    // Instructions may contain an earlier list with the same mark.
    const tools = [...prompt.matchAll(/<tools>\n(\{[^]*?)\n<\/tools>/g)].at(-1)?.[1] ?? ""
    const tokens = tokenizers.map(([, tokenizer]) => tokenizer.encode(prompt).length.toLocaleString("en"))
    const row = [`${name} ${version}`, tools.split("\n").length, prompt.length.toLocaleString("en"), ...tokens]
    console.error(cells(row))
    return [cells(row)]
  } catch (error) {
    return [cells([name, `skipped: ${error.message}`, "", ...tokenizers.map(() => "")])]
  }
}

export const page = (date, rows) =>
  `# How long the prompts of agents are

Run on ${date} by \`npm run conformance:agents -- --prompts\`. The first prompt in which an agent offers its tools: its instructions, the schemas
of its tools and a task of one sentence, as the renderer \`qwen3_instruct\` writes them, in tokens of two presets and, where $EFFECT_RL_TOKENIZERS
has its tokenizer, of Qwen3. A model's context has to hold the prompt, and what is said after it; those of the presets have
${Math.max(...contexts).toLocaleString("en")} tokens.

${cells(["agent", "tools", "characters", ...tokenizers.map(([name]) => `tokens of ${name}`)])}
${cells(["---", "---:", "---:", ...tokenizers.map(() => "---:")])}
${rows.join("\n")}
`
