/**
 * JSON values.
 *
 * @example
 * const config: Json.JsonObject = { clipHigh: Json.number(1.28) }
 */

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json }

/** A number as JSON: NaN and the infinities become strings, because JSON has no such numbers. */
export const number = (value: number): Json => Number.isFinite(value) ? value : String(value)
