/** The places of a text in messages and logs; the server and the exported page share this search. */
import type * as Entry from "./Entry.ts"

/** Hits that are given at most. */
export const most = 200

/** Characters that are shown on each side of a hit. */
const around = 60

/** A text of a turn under the name that the page shows it by. */
interface Named {
  readonly turn: number
  readonly name: string
  readonly text: string
}

/** The texts of a turn in a transcript. */
export interface Turn {
  readonly logs: Entry.Logs
  /** The texts of the tokens that its prompt added, and of those that were sampled. */
  readonly prompt: () => string
  readonly response: () => string
}

/** The searched texts of a member. */
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

/** A text that stands in the logs of a turn is not reported again from its tokens. */
const inTurn = ({ logs, prompt, response }: Turn, turn: number, sought: string): ReadonlyArray<Hit> => {
  const hits = logged(logs, turn).flatMap((named) => first(named, sought))
  return hits.length > 0 ? hits : [
    ...first({ turn, name: "prompt", text: prompt() }, sought),
    ...first({ turn, name: "response", text: response() }, sought)
  ]
}

/** The first hit in each text of a member. `sought` is in lower case; case does not count. */
export const inMember = ({ logs, turns }: Member, sought: string): ReadonlyArray<Hit> => [
  ...logged(logs, 0).flatMap((named) => first(named, sought)),
  ...turns.flatMap((one, turn) => inTurn(one, turn, sought))
]
