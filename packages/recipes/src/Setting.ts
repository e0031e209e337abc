/** Fields of a recipe's configuration: what they may be, and how a person is told of them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What a flag, a form or a page needs to offer a field. */
export interface Setting {
  readonly kind: "int" | "number" | "text" | "toggle" | "choice"
  /** Absent where leaving the setting out means something of its own, which `help` then says. */
  readonly default?: number | string | boolean
  /** Of a choice. */
  readonly choices?: ReadonlyArray<string>
  readonly help: string
  /** What the value counts, such as "tokens". */
  readonly unit?: string
}

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      readonly setting?: Setting | undefined
    }
  }
}

interface Options<A> {
  readonly default: A
  readonly help: string
  readonly unit?: string
}

interface IntOptions extends Options<number> {
  readonly least: number
}

/** A whole number from `least` on. */
export const int = ({ least, ...options }: IntOptions) =>
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(least)).annotate({
    expected: `a whole number from ${least} on`,
    setting: { kind: "int", ...options }
  }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(options.default)))

/** A number above 0. */
export const positive = (options: Options<number>) =>
  Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
    expected: "a number above 0",
    setting: { kind: "number", ...options }
  }).pipe(Schema.withDecodingDefaultKey(Effect.succeed(options.default)))

export const text = (options: Options<string>) =>
  Schema.String.annotate({ setting: { kind: "text", ...options } }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(options.default))
  )

export const toggle = (options: Options<boolean>) =>
  Schema.Boolean.annotate({ setting: { kind: "toggle", ...options } }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(options.default))
  )

/** The annotation of a schema of literals: one of a few names. */
export const choice = (options: Options<string> & { readonly choices: ReadonlyArray<string> }) => ({
  setting: { kind: "choice" as const, ...options }
})

/** A number above 0, or none. */
export const optionalPositive = (options: Omit<Options<number>, "default">) =>
  Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      expected: "a number above 0",
      setting: { kind: "number", ...options }
    })
  )

/** A text, or none. */
export const optionalText = (options: Omit<Options<string>, "default">) =>
  Schema.optionalKey(Schema.String.annotate({ setting: { kind: "text", ...options } }))

/** The setting behind a field; undefined for a field that was not made here. */
export const of = (field: Schema.Top): Setting | undefined => Schema.resolveAnnotations(field)?.["setting"]
