/** Fields that may be left out. */

/** Those that were given: a field that may be left out must not be there as undefined. */
export function given<A extends object>(
  fields: { readonly [K in keyof A]: A[K] | undefined }
): { readonly [K in keyof A]?: Exclude<A[K], undefined> }
export function given(fields: object) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
