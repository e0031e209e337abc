/** What the page shows, as it stands in the address after `#`. */

export type Level = "runs" | "run" | "iteration" | "group" | "member"

/** `at` is the open level; the other fields lead there, or say what is selected below it. */
export interface Route {
  readonly at: Level
  readonly run?: string | undefined
  /** The evaluator whose groups are shown in place of the training groups. */
  readonly evaluator?: string | undefined
  readonly iteration?: number | undefined
  /** Sequence number of the group's record. */
  readonly group?: number | undefined
  readonly member?: number | undefined
  /** Only groups with this verdict are shown. */
  readonly show?: string | undefined
}

const levels: ReadonlyArray<Level> = ["runs", "run", "iteration", "group", "member"]

const numberOf = (text: string | null) => {
  const value = text === null ? NaN : Number(text)
  return Number.isInteger(value) ? value : undefined
}

export const parse = (hash: string): Route => {
  const fields = new URLSearchParams(hash.replace(/^#/, ""))
  return {
    at: levels.find((level) => level === fields.get("at")) ?? "runs",
    run: fields.get("run") ?? undefined,
    evaluator: fields.get("evaluator") ?? undefined,
    iteration: numberOf(fields.get("iteration")),
    group: numberOf(fields.get("group")),
    member: numberOf(fields.get("member")),
    show: fields.get("show") ?? undefined
  }
}

export const format = (route: Route): string => {
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(route)) if (value !== undefined) fields.set(name, String(value))
  return `#${fields}`
}

/** The level above; what was open stays selected there. */
export const up = (route: Route): Route => {
  switch (route.at) {
    case "member":
      return { ...route, at: "group" }
    case "group":
      return { ...route, at: "iteration", member: undefined }
    case "iteration":
      return { ...route, at: "run", group: undefined, member: undefined, evaluator: undefined, show: undefined }
    case "run":
    case "runs":
      return { at: "runs", run: route.run }
  }
}
