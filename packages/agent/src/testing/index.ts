/** Test helpers for agents: the laws that every agent must satisfy. Advanced. */

/** Laws that an agent must satisfy before it can be trained, for use in tests. */
export * as AgentLaws from "./AgentLaws.ts"
