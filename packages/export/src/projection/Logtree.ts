/** Nodes of tinker-cookbook's logtree, in its JSON format. */
import type { OpenAi } from "@effect-rl/core/renderers"

/** An element of a logtree page. `data` has the shown content as values. */
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

/** Escapes text, because a logtree's children are HTML. */
const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

export const text = (text: string): Node => node("p", "lt-p", [escape(text)])

/** A section with a heading of the given level. */
export const section = (level: 2 | 3 | 4, title: string, children: ReadonlyArray<Node>): Node =>
  node("section", "lt-section", [
    node(`h${level}`, `lt-h${level}`, [escape(title)]),
    node("div", "lt-section-body", children)
  ])

/**
 * A node that shows a conversation.
 *
 * @see tinker-cookbook `ConversationFormatter`
 */
export const conversation = (messages: ReadonlyArray<OpenAi.ChatMessage>): Node => ({
  ...node("div", "lt-formatter", []),
  data: { type: "conversation", messages }
})

/** The complete tree. @see tinker-cookbook `Trace.to_dict` */
export const trace = (title: string, startedAt: string, children: ReadonlyArray<Node>) => ({
  title,
  started_at: startedAt,
  path: null,
  root: node("body", "lt-root", [node("h1", "lt-title", [escape(title)]), ...children])
})
