/** Exact tokens of a turn, coloured by log-probability, advantage or another of their values. */
import type * as Entry from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import { type Colour, colours, type Route } from "./Route.ts"
import { go, link } from "./Screen.ts"
import * as Text from "./Text.ts"

/** The most tokens of a turn that are shown at once. */
export const most = 4000

/** The first of the tokens that are shown: those around the one under the microscope, or the beginning of the turn. */
const windowOf = ({ token = 0, turn }: Route, index: number) => turn === index ? Math.floor(token / most) * most : 0

/** The ways to the tokens before and after those that are shown. */
const windowLinks = ({ tokens: { length } }: Entry.TurnView, { index, route }: Options, from: number): Child => {
  if (length <= most) return undefined
  const to = Math.min(from + most, length)
  const at = (token: number) => ({ ...route, tokens: true, turn: index, token })
  return h(
    "nav",
    { class: "steps", "aria-label": `tokens of turn ${index}` },
    h("span", { class: "facts" }, `tokens ${from} to ${to - 1} of ${length}`),
    from > 0 ? link(at(from - most), "earlier tokens") : undefined,
    to < length ? link(at(to), "later tokens") : undefined,
    to < length ? link(at(length - 1), "end of the turn") : undefined
  )
}

const names: Readonly<Record<Colour, string>> = {
  logprob: "log-probability",
  advantage: "advantage",
  gap: "sampler–trainer gap",
  mask: "mask"
}

export const chooser = (route: Route): Child =>
  h(
    "label",
    {},
    "colour by ",
    h(
      "select",
      {
        onChange: ({ target }) => {
          const chosen = target instanceof HTMLSelectElement ? target.value : ""
          go({ ...route, colour: colours.find((colour) => colour === chosen) })
        }
      },
      ...colours.map((colour) =>
        h("option", { value: colour, selected: colour === (route.colour ?? "logprob") }, names[colour])
      )
    )
  )

const step = (value: number) => Math.max(0, Math.min(4, Math.floor(value)))

const signedShade = (value: number, largest: number) =>
  value === 0 || largest === 0
    ? ""
    : `${value > 0 ? "gain" : "loss"}-${Math.max(1, Math.ceil((4 * Math.abs(value)) / largest))}`

/** The largest advantage of any token of a group: members are coloured on one scale. */
export const scaleOf = ({ members }: Entry.GroupView): number => {
  let largest = 0
  for (const member of members) {
    for (const { credit } of member?.turns ?? []) {
      for (const advantage of credit.advantages) largest = Math.max(largest, Math.abs(advantage ?? 0))
    }
  }
  return largest
}

/** The CSS class of each token, or the reason why the tokens have no colour. */
const shades = (
  turn: Entry.TurnView,
  colour: Colour,
  scale: number
): ((at: number) => string) | string => {
  const { credit: { advantages, masked, trainer }, logprobs } = turn
  switch (colour) {
    case "logprob":
      return (at) => `shade-${step(-(logprobs[at] ?? 0))}`
    case "advantage":
      if (masked !== null) return `No token has an advantage: ${masked}.`
      return (at) => signedShade(advantages[at] ?? 0, scale)
    case "gap":
      if (trainer === null) return "The run did not record the trainer's log-probabilities."
      return (at) => `shade-${step(40 * Math.abs((trainer[at] ?? 0) - (logprobs[at] ?? 0)))}`
    case "mask":
      return () => masked === null ? "gain-2" : "masked"
  }
}

const label = (turn: Entry.TurnView, at: number) => {
  const piece = turn.pieces?.[at]
  return piece === undefined ? String(turn.tokens[at]) : Text.token(piece.text)
}

/** One token. Its position is an attribute, so that one listener serves all tokens. */
const token = (turn: Entry.TurnView, at: number, shade: string, isSelected: boolean, departs: boolean) =>
  h(
    "span",
    {
      class: `token ${shade}${turn.pieces?.[at]?.isSpecial === true ? " special" : ""}${departs ? " departs" : ""}`,
      "data-at": at,
      "aria-current": isSelected ? "true" : undefined,
      title: `${turn.tokens[at]}, log-probability ${Text.fixed(turn.logprobs[at])}`
    },
    label(turn, at)
  )

const legends: Readonly<Record<Colour, ReadonlyArray<readonly [shade: string, meaning: string]>>> = {
  logprob: ["0 to −1", "−1 to −2", "−2 to −3", "−3 to −4", "below −4"].map((text, at) =>
    [`shade-${at}`, text] as const
  ),
  advantage: [["gain-3", "made likelier"], ["loss-3", "made less likely"], ["", "unchanged"]],
  gap: ["below 0.025", "to 0.05", "to 0.075", "to 0.1", "above"].map((text, at) => [`shade-${at}`, text] as const),
  mask: [["gain-2", "trained on"], ["masked", "masked"]]
}

export const legend = (colour: Colour = "logprob"): Child =>
  h(
    "p",
    { class: "facts legend" },
    `${names[colour]}: `,
    ...legends[colour].map(([shade, meaning]) => h("span", { class: `token ${shade}` }, meaning))
  )

export interface Options {
  readonly route: Route
  /** The turn's index. */
  readonly index: number
  /** See `scaleOf`. */
  readonly scale: number
  /** The first token that differs from those of another member. */
  readonly departsAt?: number
  readonly onHover?: (at: number | undefined) => void
}

/** The tokens of a turn; the route's token is under the microscope. */
export const draw = (turn: Entry.TurnView, options: Options): Child => {
  const { departsAt, index, onHover, route, scale } = options
  const from = windowOf(route, index)
  const found = shades(turn, route.colour ?? "logprob", scale)
  const shadeOf = typeof found === "string" ? () => "" : found
  const placeOf = (event: Event) => {
    const at = event.target instanceof HTMLElement ? event.target.dataset["at"] : undefined
    return at === undefined ? undefined : Number(at)
  }
  return [
    typeof found === "string" ? h("p", { class: "empty" }, found) : undefined,
    h(
      "p",
      {
        class: "tokens",
        onClick: (event) => {
          const at = placeOf(event)
          if (at !== undefined) go({ ...route, tokens: true, turn: index, token: at })
        },
        onMouseOver: (event) => onHover?.(placeOf(event)),
        onMouseLeave: () => onHover?.(undefined)
      },
      ...turn.tokens.slice(from, from + most).map((_, shown) => {
        const at = from + shown
        return token(turn, at, shadeOf(at), route.turn === index && route.token === at, at === departsAt)
      })
    ),
    windowLinks(turn, options, from)
  ]
}

export const promptStrip = ({ prompt, promptPieces }: Entry.TurnView): Child =>
  h(
    "details",
    {},
    h("summary", {}, `Prompt, ${Text.plural(prompt.length, "token")}`),
    h(
      "p",
      { class: "tokens" },
      prompt.length > most ? h("span", {}, `the last ${most} of ${prompt.length}`) : undefined,
      ...prompt.map((token, at) => {
        const piece = promptPieces?.[at]
        const text = piece === undefined ? token === null ? "image" : String(token) : Text.token(piece.text)
        return h(
          "span",
          {
            class: piece?.isSpecial === true ? "token special" : "token",
            title: token === null ? "image" : String(token)
          },
          text
        )
      }).slice(-most)
    )
  )
