/** Every renderer with its test tokenizer, and the features of its family. */
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

/** All renderers except `chat_template`, whose tests are in `packages/files/test/template`. */
export const names = Renderers.names.filter((name) => name !== "chat_template")

export const familyOf = (name: string): string =>
  tokenizerFamilies.find(([prefix]) => name.startsWith(prefix))?.[1] ?? "qwen"

export const tokenizerOf = (name: string): Tokenizer.Tokenizer => CharTokenizer.of(familyOf(name))

export const make = (name: string) => Renderers.byName(name, tokenizerOf(name))

/** Whether a prompt may contain the beginning of the answer. It may not if messages have headers of their own. */
export const takesPrefill = (name: string): boolean => name !== "tml_v0"

/** Whether a turn may contain reasoning. */
export const thinks = (name: string): boolean =>
  !/^(llama3|role_colon|smollm2|deepseekv3$|qwen3_instruct)|disable_thinking$/.test(name)

/** Whether the arguments of a call are sorted by name. */
export const sortsArguments = (name: string): boolean => name === "tml_v0"

/** Whether an example ends with the last trained message, and does not exist without one. */
export const endsWithTrained = (name: string): boolean => name === "tml_v0"

/** The maximum number of calls in a message. */
export const maxCalls = (name: string): number => {
  if (/^(llama3$|role_colon|smollm2)/.test(name)) return 0
  return /^(gpt_oss|llama3_tools)/.test(name) ? 1 : 2
}

/** Whether a message with calls may not contain text or thinking. */
export const callsAlone = (name: string): boolean => name === "llama3_tools"

/**
 * Whether a message may consist only of calls. A gpt-oss response without text is its raw text, and DeepSeek V3 ends only messages with
 * content.
 */
export const mayCallAlone = (name: string): boolean => !/^(gpt_oss|deepseekv3)/.test(name)

/** Whether a renderer writes an answer without thinking differently from how its prompt begins it. */
export const leavesItsPrompt = (name: string): boolean =>
  name.startsWith("nemotron3") && !name.endsWith("disable_thinking")
