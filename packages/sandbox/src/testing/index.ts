/** Tests of providers of sandboxes: the contract that each one keeps. Advanced. */

/** The rules that every provider of sandboxes keeps, as cases that a test runs against it. */
export * as SandboxContract from "./SandboxContract.ts"
