/** Finds renderers by the names that recipes and checkpoints use. */
import * as Effect from "effect/Effect"
import { type Renderer, RendererError } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as Suggestion from "../settings/Suggestion.ts"
import * as DeepSeekV3 from "./deepseek/DeepSeekV3.ts"
import * as DeepSeekV41 from "./deepseek/DeepSeekV41.ts"
import * as Glm53 from "./glm/Glm53.ts"
import * as GptOss from "./gptoss/GptOss.ts"
import * as JinjaRenderer from "./jinja/JinjaRenderer.ts"
import * as Kimi from "./kimi/Kimi.ts"
import * as Llama3 from "./llama/Llama3.ts"
import * as Llama3Tools from "./llama/Llama3Tools.ts"
import * as Nemotron3 from "./nemotron/Nemotron3.ts"
import * as Qwen3 from "./qwen/Qwen3.ts"
import * as Qwen35 from "./qwen/Qwen35.ts"
import * as Qwen38 from "./qwen/Qwen38.ts"
import * as Qwen3Vl from "./qwen/Qwen3Vl.ts"
import { roleColon } from "./RoleColon.ts"
import { smolLm2 } from "./SmolLm2.ts"
import * as TmlV0 from "./tml/TmlV0.ts"

/** Makes a renderer for a tokenizer. */
export type Make = (tokenizer: Tokenizer) => Effect.Effect<Renderer, RendererError>

const renderers: ReadonlyMap<string, Make> = new Map([
  ["role_colon", roleColon],
  ["llama3", Llama3.llama3],
  ["llama3_tools", Llama3Tools.llama3Tools],
  ["qwen3", Qwen3.qwen3],
  ["qwen3_disable_thinking", Qwen3.qwen3DisableThinking],
  ["qwen3_instruct", Qwen3.qwen3Instruct],
  ["smollm2", smolLm2],
  ["qwen3_vl", Qwen3Vl.qwen3Vl],
  ["qwen3_vl_instruct", Qwen3Vl.qwen3VlInstruct],
  ["qwen3_5", Qwen35.qwen35],
  ["qwen3_5_disable_thinking", Qwen35.qwen35DisableThinking],
  ["qwen3_5_preserve_thinking", Qwen35.qwen35PreserveThinking],
  ["qwen3_8_xhigh_reasoning", Qwen38.qwen38Xhigh],
  ["qwen3_8_medium_reasoning", Qwen38.qwen38Medium],
  ["qwen3_8_low_reasoning", Qwen38.qwen38Low],
  ["qwen3_8_disable_thinking", Qwen38.qwen38DisableThinking],
  ["deepseekv3", DeepSeekV3.deepSeekV3],
  ["deepseekv3_disable_thinking", DeepSeekV3.deepSeekV3DisableThinking],
  ["deepseekv3_thinking", DeepSeekV3.deepSeekV3Thinking],
  ["deepseekv4_1", DeepSeekV41.deepSeekV41],
  ["deepseekv4_1_low_reasoning", DeepSeekV41.deepSeekV41LowReasoning],
  ["deepseekv4_1_max_reasoning", DeepSeekV41.deepSeekV41MaxReasoning],
  ["deepseekv4_1_disable_thinking", DeepSeekV41.deepSeekV41DisableThinking],
  ["deepseekv4_1_preserve_thinking", DeepSeekV41.deepSeekV41PreserveThinking],
  ["glm5_3_max_reasoning", Glm53.glm53MaxReasoning],
  ["glm5_3_high_reasoning", Glm53.glm53HighReasoning],
  ["glm5_3_low_reasoning", Glm53.glm53LowReasoning],
  ["gpt_oss_no_sysprompt", GptOss.gptOssNoSystemPrompt],
  ["gpt_oss_low_reasoning", GptOss.gptOssLowReasoning],
  ["gpt_oss_medium_reasoning", GptOss.gptOssMediumReasoning],
  ["gpt_oss_high_reasoning", GptOss.gptOssHighReasoning],
  ["kimi_k2", Kimi.kimiK2],
  ["kimi_k25", Kimi.kimiK25],
  ["kimi_k25_disable_thinking", Kimi.kimiK25DisableThinking],
  ["kimi_k26", Kimi.kimiK26],
  ["kimi_k26_disable_thinking", Kimi.kimiK26DisableThinking],
  ["kimi_k26_preserve_thinking", Kimi.kimiK26PreserveThinking],
  ["nemotron3", Nemotron3.nemotron3],
  ["nemotron3_low_thinking", Nemotron3.nemotron3LowThinking],
  ["nemotron3_disable_thinking", Nemotron3.nemotron3DisableThinking],
  ["nemotron3_preserve_thinking", Nemotron3.nemotron3PreserveThinking],
  ["nemotron3_ultra", Nemotron3.nemotron3Ultra],
  ["nemotron3_ultra_disable_thinking", Nemotron3.nemotron3UltraDisableThinking],
  ["nemotron3_ultra_medium_thinking", Nemotron3.nemotron3UltraMediumThinking],
  ["nemotron3_ultra_preserve_thinking", Nemotron3.nemotron3UltraPreserveThinking],
  ["tml_v0", TmlV0.tmlV0],
  [JinjaRenderer.name, (tokenizer) => JinjaRenderer.fromChatTemplate(tokenizer)]
])

const unpublished = "upstream writes it by versions of the compiled package tml-renderers that are not published"

/** Upstream renderers that this library lacks, with the reason. */
const unavailable: ReadonlyMap<string, string> = new Map(
  ["max_reasoning", "high_reasoning", "low_reasoning", "disable_thinking", "no_reasoning_effort"].map((variant) =>
    [`kimi_k31_pro_${variant}`, unpublished] as const
  )
)

/** Why an upstream renderer is not available here; `undefined` for other names. */
export const whyUnavailable = (name: string): string | undefined => unavailable.get(name)

/** The names of all available renderers. */
export const names: ReadonlyArray<string> = Array.from(renderers.keys())

/**
 * Makes the named renderer. Fails for an unknown name (and suggests the nearest known one), for a name that is not available here (and says
 * why), and for a tokenizer that lacks the family's special tokens.
 *
 * @example
 * Renderers.byName("qwen3_instruct", tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 */
export const byName = (name: string, tokenizer: Tokenizer): Effect.Effect<Renderer, RendererError> => {
  const make = renderers.get(name)
  if (make !== undefined) return make(tokenizer)
  const reason = whyUnavailable(name)
  if (reason !== undefined) {
    return Effect.fail(new RendererError({ renderer: name, detail: `not available here: ${reason}` }))
  }
  return Effect.fail(
    new RendererError({ renderer: name, detail: `no such renderer; ${Suggestion.describe(name, names)}` })
  )
}
