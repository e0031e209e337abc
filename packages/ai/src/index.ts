/** Tools, policies and decisions of `effect/ai` and AI SDK, and tools of MCP servers. Stable. */

/** Models of this library as decision models of `effect/ai`: exact probabilities of given answers. */
export * as AiDecisions from "./AiDecisions.ts"
/** Policies as language models of `effect/ai`, and language models as policies. */
export * as AiPolicy from "./AiPolicy.ts"
/** Policies as language models of AI SDK, and its language models as policies. */
export * as AiSdkPolicy from "./AiSdkPolicy.ts"
/** Tools of an `effect/ai` Toolkit, for policies that are trained. */
export * as AiTools from "./AiTools.ts"
/** A question with a fixed set of answers, as tokens that end before the one token that tells the answers apart. */
export * as ChoicePrompt from "./ChoicePrompt.ts"
/** Tools of an MCP server, which lives as long as the scope in which it is started, such as that of a group's member. */
export * as McpTools from "./McpTools.ts"
