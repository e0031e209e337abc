/** The suspicion of an audit against some members of a group. */
export interface Suspicion {
  /** The check's name. */
  readonly check: string
  /** Why, in words that name what was found. */
  readonly detail: string
  /** Indices of the members. */
  readonly members: ReadonlyArray<number>
}
