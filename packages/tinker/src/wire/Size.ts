/** Decodes protobuf messages with a limited number of fields, because a field of two bytes becomes an object of a hundred. */
import { type DescField, type DescMessage, fromBinary, type MessageShape, ScalarType } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { MalformedBody } from "@effect-rl/agent/wire/Json"
import * as Effect from "effect/Effect"

const isText = (scalar: ScalarType) => scalar === ScalarType.STRING || scalar === ScalarType.BYTES

/** The field descriptor for `number` in the entries of a map field. */
const ofEntry = (field: DescField & { readonly fieldKind: "map" }, number: number) =>
  number === 2 ? field.message : undefined

/** Throws if the message has more than `most` fields and list elements, or if the bytes are not a message. */
const check = (schema: DescMessage, bytes: Uint8Array, most: number): void => {
  let left = most
  const take = (count: number) => {
    left -= count
    if (left < 0) throw new RangeError(`it has more than ${most} fields`)
  }

  const each = (bytes: Uint8Array, visit: (number: number, content: Uint8Array) => void) => {
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag()
      take(1)
      if (wireType === WireType.LengthDelimited) visit(number, reader.bytes())
      else reader.skip(wireType, number)
    }
  }

  const inMessage = (schema: DescMessage | undefined, bytes: Uint8Array): void => {
    if (schema !== undefined) {
      each(bytes, (number, content) => inField(schema.fields.find((field) => field.number === number), content))
    }
  }

  const inField = (field: DescField | undefined, bytes: Uint8Array) => {
    if (field?.fieldKind === "map") each(bytes, (number, content) => inMessage(ofEntry(field, number), content))
    else if (field?.message !== undefined) inMessage(field.message, bytes)
    else if (field?.fieldKind === "list" && field.scalar !== undefined && !isText(field.scalar)) take(bytes.length)
  }

  inMessage(schema, bytes)
}

/** Decodes a message after counting its fields and list elements. Fails if there are more than `most`. */
export const decode = <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  most: number
): Effect.Effect<MessageShape<Desc>, MalformedBody> =>
  Effect.try({
    try: () => {
      check(schema, bytes, most)
      return fromBinary(schema, bytes)
    },
    catch: (cause) => new MalformedBody({ detail: String(cause) })
  })
