/** Agents, which call a model themselves, as environments: HTTP gateway, chat dialects, capture of the sampled tokens. Stable. */

/** Wraps an agent, a program that calls a model itself, as an environment: each of its requests becomes a turn. */
export * as AgentEnv from "./episode/AgentEnv.ts"
/** Serves agents in other processes and languages over HTTP. Each episode has its own unguessable address. */
export * as AgentGateway from "./gateway/AgentGateway.ts"
/** Runs agents that are separate programs. */
export * as Launcher from "./gateway/Launcher.ts"
/** The interface between the chat API dialects and the model weights that answer. */
export * as Answerer from "./dialect/Answerer.ts"
/** A refused request of a chat client. Each dialect renders it in its own error format. */
export * as Refusal from "./dialect/Refusal.ts"
/** Turns conversations into prompts that a sampler can answer, with the means to read the replies. */
export * as PromptedChat from "./dialect/PromptedChat.ts"
/** An answerer backed by in-process sampling clients. */
export * as Samplers from "./dialect/Samplers.ts"
/** The routes of all dialects, for a server, a gateway or an in-process `fetch`. */
export * as Dialects from "./dialect/Dialects.ts"
/** Conversation state that a session keeps, so clients can refer to earlier items by id. */
export * as Kept from "./dialect/Kept.ts"
/** Records which fields of a request had no effect or were not given their effect. */
export * as Notes from "./dialect/Notes.ts"
/** How each request field is treated. */
export * as FieldTable from "./dialect/FieldTable.ts"
/** Checks values against JSON Schemas from clients, within limits. */
export * as GivenSchema from "./wire/GivenSchema.ts"
/** Parses JSON text from clients, within limits. */
export * as Json from "./wire/Json.ts"
