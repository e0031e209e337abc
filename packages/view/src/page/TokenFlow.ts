/**
 * Tokens as flowing text. Tokens outside of the viewport are one plain text of the same size, so a turn of any length is complete, fast to
 * draw, and searchable in the browser.
 */
import { useEffect, useRef, useState } from "preact/hooks"
import { type Child, h, part } from "./Dom.ts"

export interface Props {
  readonly length: number
  /** The text of a token. */
  readonly text: (at: number) => string
  /** Draws a token; its element must contain the same text. */
  readonly draw: (at: number) => Child
  /** Tokens that are always drawn as elements. */
  readonly kept: ReadonlyArray<number>
  /** The token to which a box scrolls initially. */
  readonly opensAt: number
  readonly label: string
  /** Whether the tokens scroll in their own box. */
  readonly isBoxed: boolean
  /** Receive the token under the pointer, and the clicked token. */
  readonly onHover?: ((at: number | undefined) => void) | undefined
  readonly onChoose?: ((at: number) => void) | undefined
}

/** Number of tokens that enter or leave the viewport together. */
const chunk = 256

/** Number of tokens from which a turn scrolls in a box. */
export const long = 1500

const indices = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

const placeOf = ({ target }: Event) => {
  const at = target instanceof HTMLElement ? target.dataset["at"] : undefined
  return at === undefined ? undefined : Number(at)
}

const View = (props: Props) => {
  const { draw, isBoxed, kept, label, length, onChoose, onHover, opensAt, text } = props
  const [seen, see] = useState<ReadonlySet<number>>(new Set([0]))
  const box = useRef<HTMLDivElement | null>(null)
  useEffect(() => {
    if (box.current === null) return
    const observer = new IntersectionObserver((entries) =>
      see((before) => {
        const now = new Set(before)
        for (const { isIntersecting, target } of entries) {
          const index = Number(target instanceof HTMLElement ? target.dataset["chunk"] : undefined)
          if (isIntersecting) now.add(index)
          else now.delete(index)
        }
        return now
      }), { rootMargin: "400px" })
    for (const child of box.current.children) observer.observe(child)
    return () => observer.disconnect()
  }, [length])
  useEffect(() => {
    const { current } = box
    const token = isBoxed ? current?.querySelector<HTMLElement>(`[data-at="${opensAt}"]`) : undefined
    if (current === null || token === null || token === undefined) return
    const [{ bottom, top }, outer] = [token.getBoundingClientRect(), current.getBoundingClientRect()]
    if (top < outer.top || bottom > outer.bottom) {
      current.scrollTop += (top + bottom - outer.top - outer.bottom) / 2
    }
  }, [opensAt, length])
  const needed = new Set([...kept, opensAt].map((at) => Math.floor(at / chunk)))
  return h(
    "div",
    {
      ref: box,
      class: isBoxed ? "tokens boxed" : "tokens",
      ...(isBoxed ? { tabindex: 0, role: "group", "aria-label": label } : {}),
      onClick: (event) => {
        const at = placeOf(event)
        if (at === undefined || onChoose === undefined) return
        // A member's card around its tokens would open the member without the token.
        event.stopPropagation()
        onChoose(at)
      },
      onMouseOver: (event) => onHover?.(placeOf(event)),
      onMouseLeave: () => onHover?.(undefined)
    },
    ...indices(0, Math.ceil(length / chunk)).map((index) => {
      const all = indices(index * chunk, Math.min(length, (index + 1) * chunk))
      return h(
        "span",
        { key: index, "data-chunk": index },
        ...(seen.has(index) || needed.has(index) ? all.map(draw) : [all.map(text).join("")])
      )
    })
  )
}

export const draw = (props: Props, key: string): Child => part(View, props, key)
