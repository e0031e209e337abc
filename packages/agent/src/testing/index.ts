/** The laws of every agent, by which a test checks one that is to be trained. */
export * as AgentLaws from "./AgentLaws.ts"
