export * as Failure from "./Failure.ts"
export * as Invocation from "./Invocation.ts"
export * as Root from "./Root.ts"
