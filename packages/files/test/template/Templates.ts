/** Small chat templates modelled on well-known ones, each with its tokenizer's special tokens. */
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { Effect } from "effect"
import { readFileSync } from "node:fs"

interface Family {
  readonly special: ReadonlyArray<string>
  readonly bos?: string
  readonly eos: string
  readonly template: string
}

/** Turns between `<|im_start|>` and `<|im_end|>`, with tools as in Hermes 2 Pro. */
const hermes: Family = {
  special: ["<|im_start|>", "<|im_end|>"],
  eos: "<|im_end|>",
  template: `{%- if tools %}<|im_start|>system
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
Call one with <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif -%}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>' + message.content + '</tool_response><|im_end|>\\n' }}
{%- elif message.tool_calls %}
{{- '<|im_start|>assistant\\n' + message.content }}
{%- for call in message.tool_calls %}
{{- '<tool_call>' + {'name': call.function.name, 'arguments': call.function.arguments} | tojson + '</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`
}

/** Starts each turn with an open thinking block and keeps reasoning only in the last turn. */
const thinker: Family = {
  special: ["<|im_start|>", "<|im_end|>", "<|end|>"],
  eos: "<|end|>",
  template: `{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.role == 'assistant' and loop.last %}
{{- '<think>\\n' + (message.reasoning_content or '') + '\\n</think>\\n\\n' }}
{%- endif %}
{{- message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt and enable_thinking | default(true) %}{{ '<|im_start|>assistant\\n<think>\\n' }}
{%- elif add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`
}

/** Instructions between markers. Roles must alternate, and there is no system message. */
const mistral: Family = {
  special: ["<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
  bos: "<s>",
  eos: "</s>",
  template: `{{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'user' %}{{ '[INST] ' + message.content + '[/INST]' }}
{%- elif message.role == 'tool' %}{{ '[TOOL_RESULTS] ' + message.content + '[/TOOL_RESULTS]' }}
{%- elif message.role == 'assistant' and message.tool_calls %}
{{- '[TOOL_CALLS] [' }}
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception('Tool call IDs should be 9 letters or digits') }}{% endif %}
{{- {'name': call.function.name, 'arguments': call.function.arguments, 'id': call.id} | tojson }}
{%- if not loop.last %}, {% endif %}
{%- endfor %}
{{- ']' + eos_token }}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content | trim + eos_token }}
{%- else %}{{ raise_exception('Only user, assistant and tool roles are supported') }}
{%- endif %}
{%- endfor %}`
}

/** JSON calls as in Llama 3.1, with the current date. */
const llama: Family = {
  special: ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
  bos: "<|begin_of_text|>",
  eos: "<|eot_id|>",
  template: `{{- bos_token }}
{%- if strftime_now is defined %}{% set today = strftime_now('%d %b %Y') %}{% else %}{% set today = 'no day' %}{% endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday is ' + today + '.' }}
{%- if tools %}{{ ' Call a function with {"name": ..., "parameters": ...}.' }}{% endif %}
{{- '<|eot_id|>' }}
{%- for message in messages %}
{%- set role = 'ipython' if message.role == 'tool' else message.role %}
{{- '<|start_header_id|>' + role + '<|end_header_id|>\\n\\n' }}
{%- if message.tool_calls %}
{%- set call = message.tool_calls[0].function %}
{{- '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + '}<|eot_id|>' }}
{%- else %}{{ message.content + '<|eot_id|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}`
}

/** No special tokens around turns and no known form of calls. */
const plain: Family = {
  special: ["<eos>"],
  eos: "<eos>",
  template: `{%- for message in messages %}
{{- message.role.upper() + ': ' + message.content }}
{%- if message.role == 'assistant' %}{{ eos_token }}{% endif %}
{{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}`
}

export const families = { hermes, thinker, mistral, llama, plain }
export type Name = keyof typeof families

const fixture = (file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(`../fixtures/tokenizer/${file}`, import.meta.url), "utf8"))

/** A byte-level tokenizer with these special tokens and this template. */
export const tokenizer = ({ bos, eos, special, template }: Family) =>
  Effect.runSync(
    HuggingFaceTokenizer.fromJson(
      "test",
      {
        ...fixture("tokenizer.json"),
        added_tokens: special.map((content, index) => ({ id: 449 + index, content, special: true }))
      },
      { ...(bos === undefined ? {} : { bos_token: bos }), eos_token: eos, chat_template: template }
    )
  )

export const of = (name: Name) => tokenizer(families[name])

/** A tokenizer of the Hermes family with the given template. */
export const withTemplate = (template: string) => tokenizer({ ...hermes, template })
