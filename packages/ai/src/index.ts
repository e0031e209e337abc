export * as AiPolicy from "./AiPolicy.ts"
export * as AiTools from "./AiTools.ts"
export * as McpTools from "./McpTools.ts"
