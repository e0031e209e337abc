/** The run inside an exported page. */
import type { Embedded } from "../story/Embedded.ts"
import type { GroupView, Hit } from "../story/Entry.ts"
import type { Source } from "./Source.ts"

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

const most = 200

const around = 60

/** The first hit in each text of each member, as the server finds them. */
const hitsIn = (view: GroupView, text: string): ReadonlyArray<Omit<Hit, "sequence" | "iteration" | "evaluator">> =>
  view.members.flatMap((member, index) =>
    (member?.turns ?? []).flatMap(({ logs }, turn) =>
      Object.entries(logs).flatMap(([name, value]) => {
        const at = typeof value === "string" ? value.toLowerCase().indexOf(text) : -1
        return typeof value !== "string" || at < 0 ? [] : [{
          key: view.key,
          member: index,
          turn,
          name,
          before: value.slice(Math.max(0, at - around), at),
          match: value.slice(at, at + text.length),
          after: value.slice(at + text.length, at + text.length + around)
        }]
      })
    )
  )

const sourceOf = ({ entries, line, transcripts }: Embedded): Source => ({
  isLive: false,
  runs: () => Promise.resolve([line]),
  follow: (_, { onEntries, onWritten }) => {
    onWritten(line.status !== "killed")
    onEntries(entries)
    return Promise.resolve(() => {})
  },
  transcript: ({ sequence }) => {
    const view = transcripts[sequence]
    return view === undefined
      ? Promise.reject(new Error("this exported page was made without the group's transcripts, to stay small"))
      : Promise.resolve(view)
  },
  search: (_, text, onFound) => {
    const groups = entries.filter((entry) => entry._tag === "GroupRolledOut").toReversed()
    let [hits, searched] = [0, 0]
    for (const { evaluator = null, iteration, sequence } of groups) {
      const view = transcripts[sequence]
      if (view === undefined) continue
      searched++
      for (const hit of hitsIn(view, text.toLowerCase())) {
        if (hits++ < most) onFound({ sequence, iteration, evaluator, ...hit })
      }
    }
    onFound({ groups: searched, isCut: hits > most || searched < groups.length })
    return () => {}
  },
  compare: () => Promise.reject(new Error("an exported page has one run alone")),
  regrade: () => Promise.reject(new Error("an exported page cannot grade anew"))
})

export const read = async (base64: string): Promise<Source> => {
  const unzipped = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"))
  return sourceOf(await new Response(unzipped).json())
}
