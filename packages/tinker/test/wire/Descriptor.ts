/** The API fields that are sent as protobuf, as declared by the official SDK 0.38. */
import { readFileSync } from "node:fs"

export interface Field {
  readonly message: string
  readonly name: string
  readonly number: number
}

const lines = readFileSync(new URL("../fixtures/tinker-0.38-fields.txt", import.meta.url), "utf8").split("\n")

/** All fields except those of map entries, which are not separate fields. */
export const fields: ReadonlyArray<Field> = lines.flatMap((line, index) => {
  const [, number, name] = /^ {2}(\d+): (?:repeated )?\S+ (\S+)/.exec(line) ?? []
  const above = lines.slice(0, index).findLast((one) => one.startsWith("message "))
  return number === undefined || name === undefined || above === undefined
    ? []
    : [{ message: above.slice("message ".length), name, number: Number(number) }]
})

export const nameOf = ({ message, name }: Pick<Field, "message" | "name">) => `${message}.${name}`
