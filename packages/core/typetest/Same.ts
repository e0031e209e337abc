/** Whether two types are identical, not only mutually assignable. */
export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Compiles only if the type is `true`: `holds<Same<A, B>>()`. */
export const holds = <T extends true>(): T | undefined => undefined
