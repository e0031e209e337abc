/** Optional flags as program options. */
import * as Option from "effect/Option"

/** The options made from a flag's value, or no options if the flag was omitted. */
export const options = <A, B extends object>(flag: Option.Option<A>, make: (value: A) => B): Partial<B> =>
  Option.match(flag, { onNone: () => ({}), onSome: make })
