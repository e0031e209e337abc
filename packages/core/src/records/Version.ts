/** The version of @effect-rl/core, as runs record it. */
export const version = "0.0.0"
