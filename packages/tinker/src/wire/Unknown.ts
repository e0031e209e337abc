/** Finds fields in received messages that this project's protobuf descriptor does not have. */
import type { Message } from "@bufbuild/protobuf"

const isMessage = (value: object): value is Message => "$typeName" in value

/** The messages and other containers directly within a value. */
const children = (value: object): ReadonlyArray<unknown> =>
  value instanceof Uint8Array || (Array.isArray(value) && typeof value[0] === "bigint") ? [] : Object.values(value)

/** The first unknown field as message name and field number; undefined if every field is known. */
export const find = (value: unknown): string | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const [unknown] = isMessage(value) ? value.$unknown ?? [] : []
  if (unknown !== undefined && isMessage(value)) return `field ${unknown.no} of ${value.$typeName}`
  for (const child of children(value)) {
    const found = find(child)
    if (found !== undefined) return found
  }
  return undefined
}
