/** Nodes of tinker-cookbook's logtree, as its JSON has them. */
import type { OpenAi } from "@effect-rl/core/renderers"

/** An element of the page that a logtree stands for. `data` says in values what the element shows. */
export interface Node {
  readonly tag: string
  readonly attrs: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<Node | string>
  readonly data?: { readonly type: "conversation"; readonly messages: ReadonlyArray<OpenAi.ChatMessage> }
}

const node = (tag: string, style: string, children: Node["children"]): Node => ({
  tag,
  attrs: { class: style },
  children
})

/** The children of a logtree are HTML. */
const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

export const text = (text: string): Node => node("p", "lt-p", [escape(text)])

/** A part with a heading of the level. */
export const section = (level: 2 | 3 | 4, title: string, children: ReadonlyArray<Node>): Node =>
  node("section", "lt-section", [
    node(`h${level}`, `lt-h${level}`, [escape(title)]),
    node("div", "lt-section-body", children)
  ])

/** @see tinker-cookbook `ConversationFormatter` */
export const conversation = (messages: ReadonlyArray<OpenAi.ChatMessage>): Node => ({
  ...node("div", "lt-formatter", []),
  data: { type: "conversation", messages }
})

/** The whole tree. @see tinker-cookbook `Trace.to_dict` */
export const trace = (title: string, startedAt: string, children: ReadonlyArray<Node>) => ({
  title,
  started_at: startedAt,
  path: null,
  root: node("body", "lt-root", [node("h1", "lt-title", [escape(title)]), ...children])
})
