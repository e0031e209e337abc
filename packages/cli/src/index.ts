/** The command `effect-rl` as a library, for a command of one's own. Advanced. */

/** The message of a failed command. */
export * as Failure from "./Failure.ts"
/** The mistakes of a command line, one line each, with suggestions. */
export * as Invocation from "./Invocation.ts"
/** The command `effect-rl`. */
export * as Root from "./Root.ts"
