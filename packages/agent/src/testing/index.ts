/** Tests of agents: the laws that each one keeps. Advanced. */

/** The laws of every agent, by which a test checks one that is to be trained. */
export * as AgentLaws from "./AgentLaws.ts"
