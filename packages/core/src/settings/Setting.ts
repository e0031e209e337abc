/**
 * Settings: Schema fields with a default, unit, help text and check; each also states whether it is part of the run's identity. Defaults,
 * validation, identity, command-line flags and configuration files are all derived from one `Schema.Struct` of settings.
 *
 * @example
 * const Sampling = Schema.Struct({
 *   maxTokens: Setting.int({ least: 1, default: 256, unit: "tokens", help: "Longest response", identity: true }),
 *   concurrency: Setting.int({ least: 1, default: 64, help: "Groups rolled out at the same time" })
 * })
 * Setting.defaults(Sampling) // => { maxTokens: 256, concurrency: 64 }
 * Setting.decode(Sampling, { maxTokens: 0 }, "sampling") // => InvalidOption: sampling.maxTokens is 0, expected a whole number …
 * Setting.identity(Sampling, Setting.defaults(Sampling)) // => { max_tokens: 256 }
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as Check from "./Check.ts"
import { InvalidOption } from "./InvalidOption.ts"
import * as Suggestion from "./Suggestion.ts"

/** Describes a setting for flags, forms and pages. */
export interface Setting {
  readonly kind: "int" | "number" | "text" | "texts" | "toggle" | "choice" | "duration" | "checkpoint"
  /** The default value. Absent if the setting is optional; `help` then describes what happens without it. */
  readonly default?: unknown
  /** The accepted values of a choice. */
  readonly choices?: ReadonlyArray<string>
  /**
   * Which weights of a checkpoint are meant: the training state with the optimizer, or the sampler's weights. In a list of texts, each
   * entry is a name, optionally followed by `=` and a checkpoint.
   */
  readonly weights?: "state" | "sampler"
  readonly help: string
  /** The unit of the value, such as "tokens". */
  readonly unit?: string
  /** Whether a resumed run must have the same value. */
  readonly identity?: boolean
  /** The title under which help lists the setting; absent for settings listed first. */
  readonly section?: string
  /** The accepted values, in words. */
  readonly expected: string
}

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      readonly setting?: Setting | undefined
    }
  }
}

interface Described extends Pick<Setting, "help" | "unit" | "identity"> {}

interface Default<A> {
  readonly default: A
}

type Optional<S extends Schema.Constraint> = Schema.optionalKey<S>
type Defaulted<S extends Schema.Constraint> = Schema.withDecodingDefaultKey<S>

const hasDefault = <A>(options: Partial<Default<A>>): options is Default<A> => options.default !== undefined

/** A struct field: with the given default, or else optional. */
const field = <S extends Schema.Constraint>(schema: S, options: Described & Partial<Default<S["Encoded"]>>) =>
  hasDefault(options)
    ? Schema.withDecodingDefaultKey<S>(Effect.succeed(options.default))(schema)
    : Schema.optionalKey(schema)

const annotations = (
  kind: Setting["kind"],
  expected: string,
  described: Described,
  choices?: ReadonlyArray<string>
) => ({
  expected,
  setting: { kind, expected, ...described, ...(choices !== undefined && { choices }) }
})

const meets = (requirement: Check.Requirement<number>) => Schema.makeFilter(requirement.accepts)

interface WholeRange {
  /** The smallest accepted value. */
  readonly least: number
  readonly most?: number
}

/**
 * A setting whose value is an integer from `least` to `most`; without `most`, it has no upper bound. The setting is optional if it has no
 * `default`.
 */
export function int(options: WholeRange & Described & Default<number>): Defaulted<Schema.Finite>
export function int(options: WholeRange & Described): Optional<Schema.Finite>
export function int({ least, most, ...options }: WholeRange & Described & Partial<Default<number>>) {
  const requirement = Check.whole(least, most)
  return field(
    Schema.Finite.check(meets(requirement)).annotate(annotations("int", requirement.expected, options)),
    options
  )
}

/** A setting whose value is a finite number within a range; bounds that are left out do not apply. */
export function number(options: Check.Range & Described & Default<number>): Defaulted<Schema.Finite>
export function number(options: Check.Range & Described): Optional<Schema.Finite>
export function number(
  { above, least, most, ...options }: Check.Range & Described & Partial<Default<number>>
) {
  const requirement = Check.number({
    ...(above !== undefined && { above }),
    ...(least !== undefined && { least }),
    ...(most !== undefined && { most })
  })
  return field(
    Schema.Finite.check(meets(requirement)).annotate(annotations("number", requirement.expected, options)),
    options
  )
}

/** A setting whose value is a text. */
export function text(options: Described & Default<string>): Defaulted<Schema.String>
export function text(options: Described): Optional<Schema.String>
export function text(options: Described & Partial<Default<string>>) {
  return field(Schema.String.annotate(annotations("text", "a text", options)), options)
}

/**
 * A setting whose value is a list of texts. With `weights`, entries are names, optionally followed by `=` and a checkpoint, as in
 * `judge=runs/x`.
 */
export function texts(
  options: Pick<Setting, "weights"> & Described & Default<ReadonlyArray<string>>
): Defaulted<Schema.$Array<Schema.String>>
export function texts(options: Pick<Setting, "weights"> & Described): Optional<Schema.$Array<Schema.String>>
export function texts(options: Pick<Setting, "weights"> & Described & Partial<Default<ReadonlyArray<string>>>) {
  return field(Schema.Array(Schema.String).annotate(annotations("texts", "a list of texts", options)), options)
}

/** A setting whose value is a boolean. */
export function toggle(options: Described & Default<boolean>): Defaulted<Schema.Boolean>
export function toggle(options: Described): Optional<Schema.Boolean>
export function toggle(options: Described & Partial<Default<boolean>>) {
  return field(Schema.Boolean.annotate(annotations("toggle", "true or false", options)), options)
}

/**
 * A setting whose value is a checkpoint: its path or, on the command line, the run that saved it, such as `runs/x`, `runs/x@10` or
 * `runs/x@best`.
 */
export function checkpoint(
  options: Pick<Setting, "weights"> & Described & Default<string>
): Defaulted<Schema.String>
export function checkpoint(options: Pick<Setting, "weights"> & Described): Optional<Schema.String>
export function checkpoint({ weights, ...options }: Pick<Setting, "weights"> & Described & Partial<Default<string>>) {
  const { setting, ...others } = annotations("checkpoint", "the path of a checkpoint", options)
  return field(
    Schema.String.annotate({ ...others, setting: { ...setting, ...(weights !== undefined && { weights }) } }),
    options
  )
}

interface Choices<L extends ReadonlyArray<string>> {
  readonly choices: L
}

/** A setting whose value is one of the given texts. */
export function choice<const L extends ReadonlyArray<string>>(
  options: Choices<L> & Described & Default<NoInfer<L[number]>>
): Defaulted<Schema.Literals<L>>
export function choice<const L extends ReadonlyArray<string>>(
  options: Choices<L> & Described
): Optional<Schema.Literals<L>>
export function choice<const L extends ReadonlyArray<string>>(
  { choices, ...options }: Choices<L> & Described & Partial<Default<NoInfer<L[number]>>>
) {
  const { expected } = Check.oneOf(choices)
  return field(Schema.Literals(choices).annotate(annotations("choice", expected, options, choices)), options)
}

const parseDuration = Schema.decodeUnknownOption(Schema.DurationFromString)

const isTime = (input: unknown): input is Duration.Input => {
  if (Duration.isDuration(input) || typeof input === "number") return Check.time.accepts(input)
  return Option.exists(parseDuration(input), Check.time.accepts)
}

const Time = Schema.declare<Duration.Input>(isTime)

/** A setting whose value is a duration greater than zero: a `Duration`, a text such as "10 minutes", or milliseconds. */
export function duration(options: Described & Default<Duration.Input>): Defaulted<Schema.declare<Duration.Input>>
export function duration(options: Described): Optional<Schema.declare<Duration.Input>>
export function duration(options: Described & Partial<Default<Duration.Input>>) {
  return field(Time.annotate(annotations("duration", Check.time.expected, options)), options)
}

/** The setting of a field; undefined if the field was not made by this module. */
export const of = (field: Schema.Constraint): Setting | undefined => Schema.resolveAnnotations(field)?.["setting"]

/** A struct of settings. Structs may be nested. */
export type Struct = Schema.Constraint & { readonly fields: Schema.Struct.Fields }

/** A struct that decodes from `{}`: each of its settings has a default or is optional. */
export type Complete = Schema.Decoder<unknown> & Struct & {
  readonly "Encoded": Readonly<Partial<Record<string, unknown>>>
}

const isSchema = (value: unknown): value is Schema.Constraint => Predicate.hasProperty(value, "ast")

const isStruct = (schema: Schema.Constraint): schema is Struct => Predicate.hasProperty(schema, "fields")

/** The struct of a field, also if the field is optional or has a default. */
const structOf = (schema: Schema.Constraint | undefined): Struct | undefined => {
  if (schema === undefined || isStruct(schema)) return schema
  if (Predicate.hasProperty(schema, "to") && isSchema(schema.to)) return structOf(schema.to)
  return Predicate.hasProperty(schema, "schema") && isSchema(schema.schema) ? structOf(schema.schema) : undefined
}

const fieldOf = (schema: Schema.Constraint | undefined, key: PropertyKey): Schema.Constraint | undefined => {
  const fields = structOf(schema)?.fields
  return fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** New names for a group's settings in the flat form, as used for flags; other settings keep their names. */
type Names = Readonly<Record<string, string>>

/** A field that is a struct of settings. */
export interface Group<S extends Complete, N> extends Defaulted<S> {
  readonly names: N
}

const grouped = <S extends Complete, N extends Names>(struct: S, names: N): Group<S, N> =>
  Object.assign(Schema.withDecodingDefaultKey<S>(Effect.succeed({}))(struct), { names })

/**
 * Nests a struct of settings; if the group is left out, each of its settings gets its default.
 *
 * @example
 * const Update = Schema.Struct({ kl: Setting.group(KlPenalty.KlSettings, { coefficient: "klCoefficient" }) })
 */
export function group<S extends Complete>(struct: S): Group<S, {}>
export function group<S extends Complete, const N extends { readonly [K in keyof S["fields"]]?: string }>(
  struct: S,
  names: N
): Group<S, N>
export function group(struct: Complete, names: Names = {}) {
  return grouped(struct, names)
}

const isNames = (value: unknown): value is Names => Predicate.isObject(value)

const namesOf = (field: Schema.Constraint): Names =>
  Predicate.hasProperty(field, "names") && isNames(field.names) ? field.names : {}

type NameOf<K, N> = K extends keyof N ? N[K] extends string ? N[K] : K : K

type Leaves<F extends Schema.Struct.Fields, N> = {
  [K in keyof F & string]: F[K] extends Group<infer S, infer M> ? Leaves<S["fields"], M>
    : { readonly [_ in K as NameOf<K, N> & string]: F[K] }
}[keyof F & string]

type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void ? I : never

/** The settings of all groups, flattened into one struct. */
export type Flat<F extends Schema.Struct.Fields> = {
  [K in keyof Intersection<Leaves<F, {}>>]: Intersection<Leaves<F, {}>>[K]
}

const isTop = (value: unknown): value is Schema.Top => Predicate.hasProperty(value, "ast")

/** The schema of a setting's values; undefined if the field was not made by this module. */
const valuesOf = (field: Schema.Constraint): Schema.Top | undefined => {
  if (Predicate.hasProperty(field, "to") && isTop(field.to)) return field.to
  return Predicate.hasProperty(field, "schema") && isTop(field.schema) ? field.schema : undefined
}

/** The same setting with a changed description; returns other fields unchanged. */
const described = (field: Schema.Constraint, change: Partial<Setting>): Schema.Constraint => {
  const setting = of(field)
  const values = valuesOf(field)
  if (setting === undefined || values === undefined) return field
  const next = { ...setting, ...change }
  const annotated = values.annotate({ setting: next })
  return next.default === undefined
    ? Schema.optionalKey(annotated)
    : Schema.withDecodingDefaultKey<Schema.Top>(Effect.succeed(next.default))(annotated)
}

const leaves = (
  struct: Struct,
  names: Names = {},
  outer?: string
): ReadonlyArray<readonly [name: string, field: Schema.Constraint]> => {
  const section = Schema.resolveAnnotations(struct)?.title ?? outer
  return Object.entries(struct.fields).flatMap(([key, field]) => {
    const inner = structOf(field)
    if (inner !== undefined) return leaves(inner, namesOf(field), section)
    return [[names[key] ?? key, section === undefined ? field : described(field, { section })] as const]
  })
}

/**
 * Flattens a struct and its groups into one struct, with the names used by flags and configuration files. If a struct has a title
 * annotation, help lists its settings under that title.
 *
 * @example
 * const Recipe = Schema.Struct({ ...Setting.flat(RlOptions.Settings), digits: Setting.int({ least: 1, help: "Digits" }) })
 */
export function flat<S extends Struct>(struct: S): Flat<S["fields"]>
export function flat(struct: Struct): object {
  return Object.fromEntries(leaves(struct))
}

const nested = (struct: Struct, given: object, names: Names): object =>
  Object.fromEntries(
    Object.entries(struct.fields).flatMap(([key, field]) => {
      const inner = structOf(field)
      if (inner !== undefined) return [[key, nested(inner, given, namesOf(field))]]
      const value = valueAt(given, [names[key] ?? key])
      return value === undefined ? [] : [[key, value]]
    })
  )

/** Puts flat settings back into a struct's groups; ignores names that the struct does not have. */
export function nest<S extends Struct>(
  struct: S,
  flat: Schema.Struct.Type<Extract<Flat<S["fields"]>, Schema.Struct.Fields>>
): S["Type"]
export function nest(struct: Struct, flat: object): object {
  return nested(struct, flat, {})
}

/**
 * The same setting with a different default; an optional setting becomes one with a default.
 *
 * @example
 * const maxTokens = Setting.withDefault(SamplingSettings.SamplingSettings.fields.maxTokens, 40)
 */
export function withDefault<S extends Schema.Constraint>(
  field: Optional<S> | Defaulted<S>,
  value: S["Encoded"]
): Defaulted<S>
export function withDefault(field: Schema.Constraint, value: unknown): Schema.Constraint {
  return described(field, { default: value })
}

/**
 * The same setting with a different help text.
 *
 * @example
 * const groupSize = Setting.withHelp(BatchSettings.BatchSettings.fields.groupSize, "Answers to each prompt")
 */
export function withHelp<F extends Schema.Constraint>(field: F, help: string): F
export function withHelp(field: Schema.Constraint, help: string): Schema.Constraint {
  return described(field, { help })
}

/** The given values that belong to settings or groups of the struct, without undefined values. */
export const pick = ({ fields }: Struct, given: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => Object.hasOwn(fields, name) && value !== undefined)
  )

/** Checks settings one by one; settings that are not given are accepted. `prefix` precedes each name, such as `limits.`. */
export const checks = <S extends Struct>(
  { fields }: S
): (given: S["Encoded"], prefix?: string) => ReadonlyArray<Check.Check> => {
  const all = Object.entries(fields).map(([key, field]) => {
    const inner = structOf(field)
    if (inner !== undefined) {
      const within = checks(inner)
      return (given: unknown, prefix: string) => {
        const value = valueAt(given, [key])
        return value === undefined ? [] : within(value, `${prefix}${key}.`)
      }
    }
    const accepts = Schema.is(valuesOf(field) ?? Schema.Unknown)
    const requirement = { expected: of(field)?.expected ?? "", accepts }
    return (given: unknown, prefix: string) => [Check.option(`${prefix}${key}`, valueAt(given, [key]), requirement)]
  })
  return (given, prefix = "") => all.flatMap((check) => check(given, prefix))
}

/** The form in which settings are sent to another process; durations are milliseconds. */
export type Sent<A> = [Duration.Duration] extends [A] ? number
  : A extends ReadonlyArray<unknown> ? A
  : A extends object ? { readonly [K in keyof A]: Sent<A[K]> }
  : A

const sentValue = (field: Schema.Constraint): Schema.Codec<unknown> => {
  const { choices = [], kind } = of(field) ?? { kind: "text" as const }
  switch (kind) {
    case "int":
      return Schema.Int
    case "number":
      return Schema.Finite
    case "checkpoint":
    case "text":
      return Schema.String
    case "texts":
      return Schema.Array(Schema.String)
    case "toggle":
      return Schema.Boolean
    case "choice":
      return Schema.Literals(choices)
    case "duration":
      return Schema.Number
  }
}

/** The schema of settings in the form in which they are sent; all are optional. */
export function sent<S extends Struct>(struct: S): Schema.Codec<Sent<S["Encoded"]>>
export function sent(struct: Struct): Schema.Codec<unknown> {
  return Schema.Struct(Object.fromEntries(
    Object.entries(struct.fields).map(([key, field]) => {
      const inner = structOf(field)
      return [key, Schema.optionalKey(inner === undefined ? sentValue(field) : sent(inner))]
    })
  ))
}

/** Converts the given settings to the form in which they are sent; settings that are not given are left out. */
export function send<S extends Struct>(struct: S, given: S["Encoded"]): Sent<S["Encoded"]>
export function send(struct: Struct, given: unknown): unknown {
  return Object.fromEntries(
    Object.entries(struct.fields).flatMap(([key, field]) => {
      const value = valueAt(given, [key])
      const inner = structOf(field)
      if (value === undefined) return []
      if (inner !== undefined) return [[key, send(inner, value)]]
      const isDuration = of(field)?.kind === "duration" && isTime(value)
      return [[key, isDuration ? Duration.toMillis(Duration.fromInputUnsafe(value)) : value]]
    })
  )
}

/** The innermost first problem of an issue, and its path. */
const first = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey> = []
): readonly [SchemaIssue.Issue, ReadonlyArray<PropertyKey>] => {
  switch (issue._tag) {
    case "Pointer":
      return first(issue.issue, [...path, ...issue.path])
    case "Encoding":
      return first(issue.issue, path)
    case "Composite":
      return first(issue.issues[0], path)
    default:
      return [issue, path]
  }
}

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce((value: unknown, key) => Predicate.hasProperty(value, key) ? value[key] : undefined, value)

const expectedAt = (struct: Struct, path: ReadonlyArray<PropertyKey>, issue: SchemaIssue.Issue) => {
  const parent = structOf(path.slice(0, -1).reduce<Schema.Constraint | undefined>(fieldOf, struct))
  const name = path.at(-1)
  if (issue._tag === "UnexpectedKey" && parent !== undefined) {
    return `the name of a setting: ${Suggestion.describe(String(name), Object.keys(parent.fields))}`
  }
  const schema = name === undefined ? struct : fieldOf(parent, name)
  const expected = schema && of(schema)?.expected
  return expected ?? (structOf(schema) === undefined ? issue.toString() : "an object of settings")
}

/** The default values of all settings; optional settings without a default are absent. */
export const defaults = <A>(struct: Complete & { readonly "Type": A }): A => Schema.decodeUnknownSync(struct)({})

/**
 * Decodes settings from a program, a file or flags. Fails with the first invalid value or unknown name; `prefix` precedes the path in the
 * error.
 */
export const decode = <S extends Schema.Decoder<unknown> & Struct>(
  struct: S,
  given: unknown,
  prefix?: string
): Effect.Effect<S["Type"], InvalidOption> =>
  Schema.decodeUnknownEffect(struct, { onExcessProperty: "error" })(given).pipe(
    Effect.mapError(({ issue: whole }) => {
      const [issue, path] = first(whole)
      return new InvalidOption({
        field: [...(prefix === undefined ? [] : [prefix]), ...path.map(String)].join("."),
        found: Formatter.format(valueAt(given, path)),
        expected: expectedAt(struct, path, issue)
      })
    })
  )

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const jsonOf = (setting: Setting, value: unknown): Schema.Json => {
  if (value === undefined) return null
  if (setting.kind === "duration" && isTime(value)) return Duration.toSeconds(Duration.fromInputUnsafe(value))
  if (Array.isArray(value)) return value.map(String)
  return typeof value === "number" || typeof value === "boolean" ? value : String(value)
}

/**
 * Settings as a JSON object with snake_case names. A missing setting is null; a duration is in seconds. Groups without settings are left
 * out.
 */
const toJson = <S extends Struct>(
  struct: S,
  value: S["Type"],
  includes: (setting: Setting) => boolean
): Schema.JsonObject =>
  Object.fromEntries(
    Object.entries(struct.fields).flatMap(([name, field]): ReadonlyArray<readonly [string, Schema.Json]> => {
      const setting = of(field)
      const held = valueAt(value, [name])
      const inner = structOf(field)
      if (inner === undefined) {
        return setting !== undefined && includes(setting) ? [[snakeCase(name), jsonOf(setting, held)]] : []
      }
      const within = toJson(inner, held, includes)
      return Object.keys(within).length === 0 ? [] : [[snakeCase(name), within]]
    })
  )

/**
 * The settings that belong to a run's identity, those marked `identity`, as a JSON object with snake_case names. A missing setting is null;
 * a duration is in seconds.
 */
export const identity = <S extends Struct>(struct: S, value: S["Type"]): Schema.JsonObject =>
  toJson(struct, value, (setting) => setting.identity === true)

/** All settings as a JSON object with snake_case names, for a run's records. A missing setting is null; a duration is in seconds. */
export const record = <S extends Struct>(struct: S, value: S["Type"]): Schema.JsonObject =>
  toJson(struct, value, () => true)
