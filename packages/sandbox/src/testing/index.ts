/** The rules that every provider of sandboxes keeps, as cases that a test runs against it. */
export * as SandboxContract from "./SandboxContract.ts"
