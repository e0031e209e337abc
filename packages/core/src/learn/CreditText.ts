/** A credit's identity, as runs record it, as text for people. */
import * as Predicate from "effect/Predicate"

const fieldsOf = (identity: unknown): Readonly<Record<string, unknown>> =>
  Predicate.isObject(identity) ? { ...identity } : {}

/**
 * The credit's name, with its estimator after a slash and the credit that it wraps in parentheses; empty for a value without a name.
 *
 * @example
 * CreditText.name(Credit.identityOf(Credit.groupRelative(Advantage.centered))) // => "group_relative/centered"
 */
export const name = (identity: unknown): string => {
  const { credit, estimator, name: rule } = fieldsOf(identity)
  return [
    Predicate.isString(rule) ? rule : "",
    ...(Predicate.isString(estimator) ? ["/", estimator] : []),
    ...(Predicate.isObject(credit) ? ["(", name(credit), ")"] : [])
  ].join("")
}

/** The configuration of the credit and then of the credits that it wraps. */
const options = (identity: unknown): ReadonlyArray<string> => {
  const { credit, estimator: _, name: __, ...config } = fieldsOf(identity)
  return [
    ...Object.entries(config).map(([option, value]) =>
      `${option} ${Predicate.isString(value) ? value : JSON.stringify(value)}`
    ),
    ...(Predicate.isObject(credit) ? options(credit) : [])
  ]
}

/**
 * The credit's name, followed by each option of its configuration.
 *
 * @example
 * CreditText.parts({ name: "group_relative", estimator: "late", gamma: 0.95 }) // => ["group_relative/late", "gamma 0.95"]
 */
export const parts = (identity: unknown): ReadonlyArray<string> => [name(identity), ...options(identity)]
