/** Flags that may be left out, as options of a program. */
import * as Option from "effect/Option"

/** The options made of a flag's value; none where the flag was left out. */
export const options = <A, B extends object>(flag: Option.Option<A>, make: (value: A) => B): Partial<B> =>
  Option.match(flag, { onNone: () => ({}), onSome: make })
