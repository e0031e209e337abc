/** Fields that may be left out. */

/** Those that were given: a field that may be left out must not be there as undefined. */
export const given = <A extends object>(fields: { readonly [K in keyof A]: A[K] | undefined }) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
