/** Finds a text in messages and logs. The server and the exported page share this search. */
import type * as Entry from "./Entry.ts"

/** Maximum number of hits. */
export const most = 200

/** Number of characters shown on each side of a hit. */
const around = 60

/** A text of a turn with the name under which the page shows it. */
interface Named {
  readonly turn: number
  readonly name: string
  readonly text: string
}

/** A turn's searchable texts. */
export interface Turn {
  readonly logs: Entry.Logs
  /** Returns the text of the prompt's new tokens. `response` returns the text of the sampled tokens. */
  readonly prompt: () => string
  readonly response: () => string
}

/** A member's searchable texts. */
export interface Member {
  readonly logs: Entry.Logs
  readonly turns: ReadonlyArray<Turn>
}

export type Hit = Omit<Entry.Hit, "sequence" | "iteration" | "evaluator" | "key" | "member">

const logged = (logs: Entry.Logs, turn: number): ReadonlyArray<Named> =>
  Object.entries(logs).flatMap(([name, text]) => typeof text === "string" ? [{ turn, name, text }] : [])

const first = ({ name, text, turn }: Named, sought: string): ReadonlyArray<Hit> => {
  const at = text.toLowerCase().indexOf(sought)
  return at < 0 ? [] : [{
    turn,
    name,
    before: text.slice(Math.max(0, at - around), at),
    match: text.slice(at, at + sought.length),
    after: text.slice(at + sought.length, at + sought.length + around)
  }]
}

/** The hits in a turn. A text that occurs in the turn's logs is not reported again from its tokens. */
const inTurn = ({ logs, prompt, response }: Turn, turn: number, sought: string): ReadonlyArray<Hit> => {
  const hits = logged(logs, turn).flatMap((named) => first(named, sought))
  return hits.length > 0 ? hits : [
    ...first({ turn, name: "prompt", text: prompt() }, sought),
    ...first({ turn, name: "response", text: response() }, sought)
  ]
}

/** The first hit in each text of a member. `sought` must be lower case; the search ignores case. */
export const inMember = ({ logs, turns }: Member, sought: string): ReadonlyArray<Hit> => [
  ...logged(logs, 0).flatMap((named) => first(named, sought)),
  ...turns.flatMap((one, turn) => inTurn(one, turn, sought))
]
