/** Recorded sessions of real clients as data: conversations, preferences, and tools that answer as recorded. Advanced. */

/** Reads recorded sessions of real clients as conversations with tool calls. */
export * as Traces from "./traces/Traces.ts"
/** Replaces secrets in recorded conversations. */
export * as Secrets from "./traces/Secrets.ts"
/** Tools that answer as they did in recorded conversations. */
export * as ReplayedTools from "./traces/ReplayedTools.ts"
