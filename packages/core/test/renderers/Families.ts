/** Every renderer with the tokenizer it is tried with, and what its family can say. */
import { Renderers, type Tokenizer } from "@effect-rl/core/renderers"
import * as CharTokenizer from "./CharTokenizer.ts"

const tokenizerFamilies: ReadonlyArray<readonly [prefix: string, family: string]> = [
  ["llama3", "llama"],
  ["deepseekv3", "ds"],
  ["deepseekv4", "ds4"],
  ["glm", "glm"],
  ["gpt_oss", "oss"],
  ["kimi", "kimi"],
  ["tml", "tml"]
]

/** All except `chat_template`, which is tested with templates and their interpreter in `packages/files/test/template`. */
export const names = Renderers.names.filter((name) => name !== "chat_template")

export const familyOf = (name: string): string =>
  tokenizerFamilies.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "qwen"

export const tokenizerOf = (name: string): Tokenizer.Tokenizer => CharTokenizer.of(familyOf(name))

export const make = (name: string) => Renderers.byName(name, tokenizerOf(name))

/** Whether a prompt may begin the answer: not where messages have headers of their own. */
export const takesPrefill = (name: string): boolean => name !== "tml_v0"

/** Whether a turn may reason. */
export const thinks = (name: string): boolean =>
  !/^(llama3|role_colon|smollm2|deepseekv3$|qwen3_instruct)|disable_thinking$/.test(name)

/** Whether arguments are written in the order of their names. */
export const sortsArguments = (name: string): boolean => name === "tml_v0"

/** Whether an example ends with the last message that is trained, and there is none without one. */
export const endsWithTrained = (name: string): boolean => name === "tml_v0"

/** How many calls a message may have. */
export const maxCalls = (name: string): number => {
  if (/^(llama3$|role_colon|smollm2)/.test(name)) return 0
  return /^(gpt_oss|llama3_tools)/.test(name) ? 1 : 2
}

/** Whether calls may have text or thinking beside them. */
export const callsAlone = (name: string): boolean => name === "llama3_tools"

/**
 * Whether a message may have calls and nothing else. A response of gpt-oss without text is its raw text, and DeepSeek V3
 * ends only messages with content.
 */
export const mayCallAlone = (name: string): boolean => !/^(gpt_oss|deepseekv3)/.test(name)

/** Nemotron 3 writes an answer without thinking otherwise than its prompt begins it. */
export const leavesItsPrompt = (name: string): boolean =>
  name.startsWith("nemotron3") && !name.endsWith("disable_thinking")
