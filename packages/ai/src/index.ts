/** Tools, policies and decision models for `effect/ai` and AI SDK, and tools of MCP servers. Stable. */

/** Language models as `effect/ai` decision models, with exact probabilities for a fixed set of answers. */
export * as AiDecisions from "./AiDecisions.ts"
/** Policies as language models of `effect/ai`, and language models as policies. */
export * as AiPolicy from "./AiPolicy.ts"
/** Policies as AI SDK language models, and AI SDK language models as policies. */
export * as AiSdkPolicy from "./AiSdkPolicy.ts"
/** Tools of an `effect/ai` Toolkit, for policies in training. */
export * as AiTools from "./AiTools.ts"
/** A question with fixed answers, rendered as a prompt whose next token selects the answer. */
export * as ChoicePrompt from "./ChoicePrompt.ts"
/** Tools of an MCP server. The server's connection or process lives until its scope closes, such as the scope of a group member. */
export * as McpTools from "./McpTools.ts"
/** Models behind OpenAI-compatible endpoints that score prompts, as teachers and references. */
export * as OpenAiReader from "./OpenAiReader.ts"
