/** Tests for sandbox providers: the contract that each must keep. Advanced. */

/** The rules that every sandbox provider must keep, as cases to run against it. */
export * as SandboxContract from "./SandboxContract.ts"
