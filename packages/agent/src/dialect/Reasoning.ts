/** Reasoning modes: a request selects one of the renderers in a model's family. */
import type { ChatModel } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { Incoming } from "./Incoming.ts"
import type { Notes } from "./Notes.ts"
import { invalid, type Refusal } from "./Refusal.ts"

/** How much a reply reasons before it answers. `on` is the family's default. */
export type Effort = "off" | "on" | "low" | "medium" | "high" | "max"

/** Renderer names by effort, the preferred one first. */
type Family = Partial<Readonly<Record<Effort, readonly [string, ...ReadonlyArray<string>]>>>

const families: ReadonlyArray<Family> = [
  { on: ["qwen3"], off: ["qwen3_disable_thinking"] },
  { on: ["qwen3_5", "qwen3_5_preserve_thinking"], off: ["qwen3_5_disable_thinking"] },
  {
    on: ["qwen3_8_xhigh_reasoning"],
    off: ["qwen3_8_disable_thinking"],
    low: ["qwen3_8_low_reasoning"],
    medium: ["qwen3_8_medium_reasoning"],
    max: ["qwen3_8_xhigh_reasoning"]
  },
  { on: ["deepseekv3_thinking"], off: ["deepseekv3", "deepseekv3_disable_thinking"] },
  {
    on: ["deepseekv4_1", "deepseekv4_1_preserve_thinking"],
    off: ["deepseekv4_1_disable_thinking"],
    low: ["deepseekv4_1_low_reasoning"],
    max: ["deepseekv4_1_max_reasoning"]
  },
  {
    on: ["glm5_3_max_reasoning"],
    low: ["glm5_3_low_reasoning"],
    high: ["glm5_3_high_reasoning"],
    max: ["glm5_3_max_reasoning"]
  },
  {
    on: ["gpt_oss_medium_reasoning"],
    low: ["gpt_oss_low_reasoning"],
    medium: ["gpt_oss_medium_reasoning"],
    high: ["gpt_oss_high_reasoning"]
  },
  { on: ["kimi_k25"], off: ["kimi_k25_disable_thinking"] },
  { on: ["kimi_k26", "kimi_k26_preserve_thinking"], off: ["kimi_k26_disable_thinking"] },
  {
    on: ["nemotron3", "nemotron3_preserve_thinking"],
    off: ["nemotron3_disable_thinking"],
    low: ["nemotron3_low_thinking"]
  },
  {
    on: ["nemotron3_ultra", "nemotron3_ultra_preserve_thinking"],
    off: ["nemotron3_ultra_disable_thinking"],
    medium: ["nemotron3_ultra_medium_thinking"]
  }
]

/** A field that requests a reasoning effort. */
export interface Asked {
  readonly field: string
  readonly value: unknown
  readonly effort: Effort
}

/** The words for efforts in all dialects. */
const words: Readonly<Record<string, Effort>> = {
  none: "off",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "max",
  max: "max"
}

const familyOf = (name: string) =>
  families.find((family) => Object.values(family).flat().some((other) => other === name))

/** The renderer for an effort; `undefined` if the family has no such mode. A model without reasoning keeps its renderer for `off`. */
export const rendererOf = (name: string, effort: Effort): string | undefined => {
  const family = familyOf(name)
  if (family === undefined) return effort === "off" ? name : undefined
  const { [effort]: wanted, off } = family
  const isThere = effort === "on" ? off?.includes(name) !== true : wanted?.includes(name)
  return isThere === true ? name : wanted?.[0]
}

/** The effort that a field names; undefined if the field is absent or null. Fails for an unknown word. */
export const byWord = (field: string, word: string | null | undefined): Effect.Effect<Asked | undefined, Refusal> => {
  if (word === null || word === undefined) return Effect.succeed(undefined)
  const effort = Object.hasOwn(words, word) ? words[word] : undefined
  return effort === undefined
    ? Effect.fail(invalid(`${field} is "${word}", expected one of ${Object.keys(words).join(", ")}`, field))
    : Effect.succeed({ field, value: word, effort })
}

/**
 * The name of the renderer with the requested effort; undefined to keep the model's own renderer. If the family lacks the mode, a lenient
 * caller gets the family's default mode, or the model's own renderer for `off`; for other callers the effect fails.
 */
export const choose = Effect.fnUntraced(function*(
  { answerer }: Incoming,
  notes: Notes,
  model: string,
  asked: Asked | undefined
) {
  if (asked === undefined) return undefined
  const { renderer: { name } }: ChatModel.ChatModel = yield* answerer.chatModel(model)
  const { effort, field, value } = asked
  const found = rendererOf(name, effort)
  if (found !== undefined) return found === name ? undefined : found
  const family = familyOf(name)
  const modes = family === undefined
    ? "it has no modes of reasoning"
    : `it has the modes ${Object.keys(family).join(", ")}`
  yield* notes.notGiven(
    field,
    `${field} is ${JSON.stringify(value)}, which the renderer ${name} cannot follow: ${modes}`
  )
  return effort === "off" ? undefined : rendererOf(name, "on")
})
