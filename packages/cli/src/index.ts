/** The `effect-rl` command as a library, for building a custom command. Advanced. */

/** Error messages of failed commands. */
export * as Failure from "./Failure.ts"
/** One-line error messages with suggestions for mistakes on the command line. */
export * as Invocation from "./Invocation.ts"
/** The command `effect-rl`. */
export * as Root from "./Root.ts"
