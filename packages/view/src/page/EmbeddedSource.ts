/** Reads the run that an exported page contains. */
import * as NewTokens from "@effect-rl/core/story/NewTokens"
import type { Embedded } from "../story/Embedded.ts"
import type { GroupView, Piece } from "../story/Entry.ts"
import * as Hits from "../story/Hits.ts"
import type { Source } from "./Source.ts"

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

const spoken = (pieces: ReadonlyArray<Piece> | null | undefined) => (pieces ?? []).map(({ text }) => text).join("")

const hitsIn = ({ key, members }: GroupView, sought: string) =>
  members.flatMap((member, index) =>
    member === null ? [] : Hits.inMember({
      logs: member.logs,
      turns: member.turns.map(({ logs, pieces, promptPieces }, turn) => ({
        logs,
        prompt: () => spoken(promptPieces?.slice(NewTokens.from(member.turns, turn))),
        response: () => spoken(pieces)
      }))
    }, sought).map((hit) => ({ key, member: index, ...hit }))
  )

const onlyOne = () => Promise.reject(new Error("an exported page has only one run"))

const sourceOf = ({ entries, findings, line, log, measures, transcripts }: Embedded): Source => ({
  isLive: false,
  runs: () => Promise.resolve([line]),
  follow: (_, { onEntries, onWritten }) => {
    onWritten(line.status !== "killed")
    onEntries(entries)
    return Promise.resolve(() => {})
  },
  findings: () => Promise.resolve(findings),
  measures: () => Promise.resolve(measures),
  log: () => Promise.resolve(log),
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
        if (hits++ < Hits.most) onFound({ sequence, iteration, evaluator, ...hit })
      }
    }
    onFound({ groups: searched, isCut: hits > Hits.most || searched < groups.length, unread: 0, reason: null })
    return () => {}
  },
  stages: () => Promise.resolve([]),
  metrics: () => onlyOne(),
  compare: () => onlyOne(),
  regrade: () => Promise.reject(new Error("an exported page cannot re-grade"))
})

export const read = async (base64: string): Promise<Source> => {
  const unzipped = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"))
  return sourceOf(await new Response(unzipped).json())
}
