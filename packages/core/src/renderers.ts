/** From messages to the tokens that a model was trained on, and back: renderers, tokenizers and the models they belong to. Advanced. */

/** Renderers: from messages to the tokens that a model was trained on, and back. */
export * as Renderer from "./chat/Renderer.ts"
/** The renderers by the names that recipes and checkpoints use. */
export * as Renderers from "./renderers/Renderers.ts"
/** Text to token ids and back. */
export * as Tokenizer from "./chat/Tokenizer.ts"
/** Text of tokens as they arrive: a character is held back until all of its bytes are there. */
export * as TokenText from "./chat/TokenText.ts"
/** How a family of models calls tools with JSON, and the grammar of such calls. */
export * as CallForm from "./chat/CallForm.ts"
/** Whether grammars can hold a response, by its renderer and its backend. */
export * as HeldResponse from "./chat/HeldResponse.ts"
/** The description of a tool for a model. */
export * as ToolSpec from "./chat/ToolSpec.ts"
/** Deltas of a message, read from a response while it is sampled. */
export * as ResponseStream from "./chat/ResponseStream.ts"
/** Conversations, tools and responses in the form of OpenAI's chat completions, and back. */
export * as OpenAi from "./chat/OpenAi.ts"
/** How one model family writes messages; every renderer is made from one. */
export * as ChatTemplate from "./renderers/ChatTemplate.ts"
/** The renderer of a chat template. */
export * as TemplateRenderer from "./renderers/TemplateRenderer.ts"
/** The chat template of a tokenizer. */
export * as JinjaTemplate from "./chat/JinjaTemplate.ts"
/** A renderer made from a model's own chat template, for models of families that have no renderer here. */
export * as JinjaRenderer from "./renderers/jinja/JinjaRenderer.ts"
/** Attributes of each known model. */
export * as ModelRegistry from "./catalog/ModelRegistry.ts"
/** JSON as Python reads and writes it, on which the models were trained. */
export * as PythonJson from "./renderers/text/PythonJson.ts"
/** Python's notion of white space and words. */
export * as PythonText from "./renderers/text/PythonText.ts"
/** The number of parameters that a LoRA adapter trains. */
export * as LoraParameters from "./catalog/LoraParameters.ts"
/** DeepSeek V3.1, with and without thinking. */
export * as DeepSeekV3 from "./renderers/deepseek/DeepSeekV3.ts"
/** DeepSeek V4.1: the effort of reasoning begins every prompt, and calls are blocks of DSML. */
export * as DeepSeekV41 from "./renderers/deepseek/DeepSeekV41.ts"
/** GLM-5.3: an assistant's turn ends with the token that begins the next one. */
export * as Glm53 from "./renderers/glm/Glm53.ts"
/** gpt-oss in OpenAI's Harmony format: every message of the assistant names its channel. */
export * as GptOss from "./renderers/gptoss/GptOss.ts"
/** Kimi K2, K2.5 and K2.6. */
export * as Kimi from "./renderers/kimi/Kimi.ts"
/** Llama 3 instruct: text in turns, with no dates added. */
export * as Llama3 from "./renderers/llama/Llama3.ts"
/** Llama 3.1 and later with tools: calls are JSON, and answers come in the role `ipython`. */
export * as Llama3Tools from "./renderers/llama/Llama3Tools.ts"
/** NVIDIA Nemotron 3 and 3.5: Qwen3.5's format with a system message in every conversation and other line ends. */
export * as Nemotron3 from "./renderers/nemotron/Nemotron3.ts"
/** Qwen3: thinking, non-thinking and instruct variants. */
export * as Qwen3 from "./renderers/qwen/Qwen3.ts"
/** Qwen3.5 and 3.6: the prompt opens the thinking block, and tool calls are XML. */
export * as Qwen35 from "./renderers/qwen/Qwen35.ts"
/** Qwen3.8: Qwen3.5's format with the effort of reasoning in the system message and thinking kept in history. */
export * as Qwen38 from "./renderers/qwen/Qwen38.ts"
/** Qwen3-VL: Qwen3's format with images, without the frame around thinking. */
export * as Qwen3Vl from "./renderers/qwen/Qwen3Vl.ts"
/** TML v0, the format of Inkling: every message names its author and its kind, so that nothing depends on its place. */
export * as TmlV0 from "./renderers/tml/TmlV0.ts"
/** Plain text with `User:` and `Assistant:`, for base models without a chat format. */
export * as RoleColon from "./renderers/RoleColon.ts"
