/** Convert messages to the tokens that a model was trained on, and back: renderers, tokenizers and the models they belong to. Advanced. */

/** Renderers convert messages to the tokens that a model was trained on, and back. */
export * as Renderer from "./chat/Renderer.ts"
/** Finds renderers by the names that recipes and checkpoints use. */
export * as Renderers from "./renderers/Renderers.ts"
/** Converts text to token ids and back. */
export * as Tokenizer from "./chat/Tokenizer.ts"
/** Decodes tokens to text as they arrive; a character is held back until all of its bytes have arrived. */
export * as TokenText from "./chat/TokenText.ts"
/** A response in the tokens of another model, aligned by bytes. */
export * as Retokenized from "./chat/Retokenized.ts"
/** How a model family writes tool calls as JSON, and the grammar of such calls. */
export * as CallForm from "./chat/CallForm.ts"
/** Whether a grammar can constrain a response, given its renderer and its backend. */
export * as HeldResponse from "./chat/HeldResponse.ts"
/** The description of a tool for a model. */
export * as ToolSpec from "./chat/ToolSpec.ts"
/** Message deltas, read from a response while it is sampled. */
export * as ResponseStream from "./chat/ResponseStream.ts"
/** Converts conversations, tools and responses to the format of OpenAI's chat completions, and back. */
export * as OpenAi from "./chat/OpenAi.ts"
/** The message format of one model family, from which its renderer is built. */
export * as ChatTemplate from "./renderers/ChatTemplate.ts"
/** Builds a renderer from a `ChatTemplate`. */
export * as TemplateRenderer from "./renderers/TemplateRenderer.ts"
/** The Jinja chat template that comes with a tokenizer. */
export * as JinjaTemplate from "./chat/JinjaTemplate.ts"
/** A renderer built from a model's own Jinja chat template, for model families without a renderer here. */
export * as JinjaRenderer from "./renderers/jinja/JinjaRenderer.ts"
/** Attributes of each known model. */
export * as ModelRegistry from "./catalog/ModelRegistry.ts"
/** JSON with Python's formatting, as in the models' training data. */
export * as PythonJson from "./renderers/text/PythonJson.ts"
/** Python's notion of white space and words. */
export * as PythonText from "./renderers/text/PythonText.ts"
/** The number of parameters that a LoRA adapter trains. */
export * as LoraParameters from "./catalog/LoraParameters.ts"
/** DeepSeek V3.1, with and without thinking. */
export * as DeepSeekV3 from "./renderers/deepseek/DeepSeekV3.ts"
/** DeepSeek V4.1: tool calls are DSML blocks and, if the model thinks, every prompt starts with the reasoning effort. */
export * as DeepSeekV41 from "./renderers/deepseek/DeepSeekV41.ts"
/** GLM-5.3: an assistant's turn ends with the token that begins the next one. */
export * as Glm53 from "./renderers/glm/Glm53.ts"
/** gpt-oss in OpenAI's Harmony format: every assistant message names its channel. */
export * as GptOss from "./renderers/gptoss/GptOss.ts"
/** Kimi K2, K2.5 and K2.6. */
export * as Kimi from "./renderers/kimi/Kimi.ts"
/** Llama 3 instruct without tools; the prompt contains no dates. */
export * as Llama3 from "./renderers/llama/Llama3.ts"
/** Llama 3.1 and later with tools: calls are JSON, and tool results use the role `ipython`. */
export * as Llama3Tools from "./renderers/llama/Llama3Tools.ts"
/** NVIDIA Nemotron 3 and 3.5: Qwen3.5's format, but every conversation has a system message and some line breaks differ. */
export * as Nemotron3 from "./renderers/nemotron/Nemotron3.ts"
/** Qwen3: thinking, non-thinking and instruct variants. */
export * as Qwen3 from "./renderers/qwen/Qwen3.ts"
/** Qwen3.5 and 3.6: the prompt opens the thinking block, and tool calls are XML. */
export * as Qwen35 from "./renderers/qwen/Qwen35.ts"
/** Qwen3.8: Qwen3.5's format with the reasoning effort in the system message; earlier thinking is kept. */
export * as Qwen38 from "./renderers/qwen/Qwen38.ts"
/** Qwen3-VL: Qwen3's format with images, without line breaks around thinking. */
export * as Qwen3Vl from "./renderers/qwen/Qwen3Vl.ts"
/** TML v0, Inkling's format: every message names its author and its kind, so its rendering does not depend on its position. */
export * as TmlV0 from "./renderers/tml/TmlV0.ts"
/** Plain text with `User:` and `Assistant:` prefixes, for base models without a chat format. */
export * as RoleColon from "./renderers/RoleColon.ts"
