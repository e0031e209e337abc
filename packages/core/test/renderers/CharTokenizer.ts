/** Tokenizers without a vocabulary: each code point is a token, and the added tokens of a model family have their own ids. */
import type { Tokenizer } from "@effect-rl/core/renderers"

/** The added tokens of a family in the order of their ids. Those in `added` stay whole even if special tokens are split. */
interface Family {
  readonly special: ReadonlyArray<string>
  readonly added: ReadonlyArray<string>
  readonly bos?: string
  readonly eos: string
}

const firstAdded = 0x200000

const families: Record<string, Family> = {
  qwen: {
    special: ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"],
    added: ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
    eos: "<|im_end|>"
  },
  llama: {
    special: [
      "<|begin_of_text|>",
      "<|end_of_text|>",
      "<|start_header_id|>",
      "<|end_header_id|>",
      "<|eot_id|>",
      "<|eom_id|>",
      "<|python_tag|>"
    ],
    added: [],
    bos: "<|begin_of_text|>",
    eos: "<|eot_id|>"
  },
  ds: {
    special: [
      "<｜begin▁of▁sentence｜>",
      "<｜end▁of▁sentence｜>",
      "<｜User｜>",
      "<｜Assistant｜>",
      "<think>",
      "</think>",
      "<｜tool▁calls▁begin｜>",
      "<｜tool▁calls▁end｜>",
      "<｜tool▁call▁begin｜>",
      "<｜tool▁call▁end｜>",
      "<｜tool▁sep｜>",
      "<｜tool▁output▁begin｜>",
      "<｜tool▁output▁end｜>"
    ],
    added: [],
    bos: "<｜begin▁of▁sentence｜>",
    eos: "<｜end▁of▁sentence｜>"
  },
  ds4: {
    special: [
      "<｜begin▁of▁sentence｜>",
      "<｜end▁of▁sentence｜>",
      "<｜System｜>",
      "<｜User｜>",
      "<｜Assistant｜>",
      "<think>",
      "</think>",
      "｜DSML｜"
    ],
    added: [],
    bos: "<｜begin▁of▁sentence｜>",
    eos: "<｜end▁of▁sentence｜>"
  },
  glm: {
    special: [
      "[gMASK]",
      "<sop>",
      "<|system|>",
      "<|user|>",
      "<|assistant|>",
      "<|observation|>",
      "<|endoftext|>"
    ],
    added: [
      "<think>",
      "</think>",
      "<tool_call>",
      "</tool_call>",
      "<tool_response>",
      "</tool_response>",
      "<arg_key>",
      "</arg_key>",
      "<arg_value>",
      "</arg_value>"
    ],
    eos: "<|endoftext|>"
  },
  oss: {
    special: [
      "<|start|>",
      "<|end|>",
      "<|message|>",
      "<|channel|>",
      "<|constrain|>",
      "<|return|>",
      "<|call|>"
    ],
    added: [],
    eos: "<|return|>"
  },
  kimi: {
    special: [
      "<|im_system|>",
      "<|im_user|>",
      "<|im_assistant|>",
      "<|im_middle|>",
      "<|im_end|>",
      "<|tool_calls_section_begin|>",
      "<|tool_calls_section_end|>",
      "<|tool_call_begin|>",
      "<|tool_call_end|>",
      "<|tool_call_argument_begin|>",
      "<|media_begin|>",
      "<|media_content|>",
      "<|media_end|>"
    ],
    added: ["<think>", "</think>"],
    eos: "<|im_end|>"
  },
  tml: {
    special: [
      "<|message_user|>",
      "<|message_model|>",
      "<|message_system|>",
      "<|message_tool|>",
      "<|content_text|>",
      "<|content_thinking|>",
      "<|content_image|>",
      "<|content_audio_input|>",
      "<|content_xml|>",
      "<|content_tool_error|>",
      "<|content_invoke_tool_json|>",
      "<|content_invoke_tool_text|>",
      "<|content_model_end_sampling|>",
      "<|end_message|>"
    ],
    added: [],
    eos: "<|content_model_end_sampling|>"
  }
}

const splitter = (tokens: ReadonlyArray<string>) => {
  const longestFirst = tokens.toSorted((left, right) => right.length - left.length)
  return new RegExp(`(${longestFirst.map((token) => token.replace(/[|[\]]/g, "\\$&")).join("|") || "(?!)"})`)
}

const make = (name: string, family: Family): Tokenizer.Tokenizer => {
  const ids = new Map([...family.special, ...family.added].map((token, index) => [token, firstAdded + index]))
  const texts = new Map(Array.from(ids, ([token, id]) => [id, token]))
  const whole = splitter([...family.special, ...family.added])
  const addedOnly = splitter(family.added)
  const codePoints = (text: string) => Array.from(text, (character) => character.codePointAt(0) ?? 0)
  return {
    encode: (text, options) => {
      const isSplit = options?.splitSpecialTokens === true
      return Int32Array.from(
        text.split(isSplit ? addedOnly : whole).flatMap((piece) => {
          const id = isSplit && family.special.includes(piece) ? undefined : ids.get(piece)
          return id === undefined ? codePoints(piece) : [id]
        })
      )
    },
    decode: (tokens) => Array.from(tokens, (id) => texts.get(id) ?? String.fromCodePoint(id)).join(""),
    specialToken: (text) => ids.get(text),
    bosToken: family.bos,
    eosTokenId: ids.get(family.eos),
    fingerprint: `char ${name}`
  }
}

const made: ReadonlyMap<string, Tokenizer.Tokenizer> = new Map(
  Object.entries(families).map(([name, family]) => [name, make(name, family)])
)

/** The tokenizer of a model family. */
export const of = (name: string): Tokenizer.Tokenizer => {
  const tokenizer = made.get(name)
  if (tokenizer === undefined) throw new Error(`no family ${name}; choose from: ${[...made.keys()].join(", ")}`)
  return tokenizer
}

/** The control tokens of a model family. */
export const specials = (name: string): ReadonlyArray<string> => families[name]?.special ?? []

export const qwen = of("qwen")
export const llama = of("llama")
