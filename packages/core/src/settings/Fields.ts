/** Fields that may be left out. */

/** The fields that are not undefined: an optional field must be absent rather than undefined. */
export function given<A extends object>(
  fields: { readonly [K in keyof A]: A[K] | undefined }
): { readonly [K in keyof A]?: Exclude<A[K], undefined> }
export function given(fields: object) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
