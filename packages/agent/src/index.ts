/** Programs that talk to a model as environments: gateway, dialects and the capture of exact tokens. Stable. */

/** An agent as an environment: a program that talks to a model by its own means, whose requests become turns. */
export * as AgentEnv from "./episode/AgentEnv.ts"
/** Addresses for agents in other processes and languages: each episode has one of its own, which nobody can guess. */
export * as AgentGateway from "./gateway/AgentGateway.ts"
/** Starts agents that are programs of their own. */
export * as Launcher from "./gateway/Launcher.ts"
/** Those who answer agents' requests: weights by name, and replies to conversations. */
export * as Answerer from "./dialect/Answerer.ts"
/** A request that is refused, in words and numbers from which each dialect makes its own error. */
export * as Refusal from "./dialect/Refusal.ts"
/** Conversations on their way to a sampler: prompt, and how to sample and read the reply. */
export * as PromptedChat from "./dialect/PromptedChat.ts"
/** An answerer over sampling clients of this process. */
export * as Samplers from "./dialect/Samplers.ts"
/** The routes of all dialects, for a server, a gateway or a `fetch` of this process. */
export * as Dialects from "./dialect/Dialects.ts"
/** What a session keeps of its conversations, for clients that name what was said. */
export * as Kept from "./dialect/Kept.ts"
/** Fields of a request that change no answer, and those whose effect cannot be given. */
export * as Notes from "./dialect/Notes.ts"
/** The fields of requests by what becomes of them. */
export * as FieldTable from "./dialect/FieldTable.ts"
/** JSON Schemas from outside, against which values are checked within limits. */
export * as GivenSchema from "./wire/GivenSchema.ts"
/** JSON text from clients, read within limits. */
export * as Json from "./wire/Json.ts"
