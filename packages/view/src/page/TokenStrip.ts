/** The exact tokens of a turn, coloured by log-probability, advantage or another value. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Entry from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import { type Colour, colours, type Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"
import * as TokenFlow from "./TokenFlow.ts"

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

/** The largest advantage of any token in a group, so its members share a colour scale. */
export const scaleOf = ({ members }: Entry.GroupView): number => {
  let largest = 0
  for (const member of members) {
    for (const { credit } of member?.turns ?? []) {
      for (const advantage of credit.advantages) largest = Math.max(largest, Math.abs(advantage ?? 0))
    }
  }
  return largest
}

/** The CSS class of each token, or the reason why tokens have no colours. */
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
  return piece === undefined ? `${turn.tokens[at]} ` : Text.flowing(piece.text)
}

/** One token. Its position is an attribute, so one event listener serves all tokens. */
const token = (turn: Entry.TurnView, at: number, shade: string, isSelected: boolean, departs: boolean) =>
  h(
    "span",
    {
      class: `token ${shade}${turn.pieces?.[at]?.isSpecial === true ? " special" : ""}${departs ? " departs" : ""}`,
      "data-at": at,
      "aria-current": isSelected ? "true" : undefined,
      title: `${turn.tokens[at]}, log-probability ${Quantity.fixed(turn.logprobs[at])}`
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
  /** The largest advantage on the colour scale, from `scaleOf`. */
  readonly scale: number
  /** The first token that differs from another member's tokens. */
  readonly departsAt?: number
  readonly onHover?: (at: number | undefined) => void
  /** Whether the tokens scroll in a box, whatever their number. */
  readonly isBoxed?: boolean
}

/** The token at which the answer begins after the reasoning; undefined if the turn has no reasoning or its texts are unknown. */
const answerAt = ({ pieces, said }: Entry.TurnView): number | undefined => {
  const texts = pieces?.map(({ text }) => text) ?? []
  const answer = said?.findLast(({ kind }) => kind === "text")?.text.trim().slice(0, longestSought) ?? ""
  const character = answer === "" ? -1 : texts.join("").lastIndexOf(answer)
  let end = 0
  const at = character < 1 ? -1 : texts.findIndex((text) => (end += text.length) > character)
  return at > 0 ? at : undefined
}

const longestSought = 200

/** Places in a turn to link to. */
export interface Places {
  readonly answer: number | undefined
  /** The most surprising tokens, in order of position. */
  readonly surprising: ReadonlyArray<number>
}

const mostSurprising = 5

export const placesOf = (turn: Entry.TurnView): Places => ({
  answer: answerAt(turn),
  surprising: turn.logprobs.map((logprob, at) => ({ at, surprise: -(logprob ?? 0) }))
    .toSorted((left, right) => right.surprise - left.surprise)
    .slice(0, mostSurprising)
    .map(({ at }) => at)
    .toSorted((left, right) => left - right)
})

/** The tokens of a turn, with the route's token under the microscope. A long turn is scrolled to that token, or else to the answer. */
export const draw = (turn: Entry.TurnView, options: Options): Child => {
  const { departsAt, index, isBoxed = false, onHover, route, scale } = options
  const { tokens: { length } } = turn
  const kept = route.turn === index ? route.token : undefined
  const found = shades(turn, route.colour ?? "logprob", scale)
  const shadeOf = typeof found === "string" ? () => "" : found
  return [
    typeof found === "string" ? h("p", { class: "empty" }, found) : undefined,
    TokenFlow.draw({
      length,
      text: (at) => label(turn, at),
      draw: (at) => token(turn, at, shadeOf(at), at === kept, at === departsAt),
      kept: [kept, departsAt].filter((at) => at !== undefined),
      opensAt: kept ?? departsAt ?? (length > TokenFlow.long ? answerAt(turn) : undefined) ?? length - 1,
      label: `tokens of turn ${index}`,
      isBoxed: isBoxed || length > TokenFlow.long,
      onHover,
      onChoose: (at) => go({ ...route, tokens: true, turn: index, token: at })
    }, `turn ${index}`)
  ]
}

export const promptStrip = ({ prompt, promptPieces }: Entry.TurnView): Child => {
  const text = (at: number) => {
    const piece = promptPieces?.[at]
    return piece === undefined ? `${prompt[at] ?? "image"} ` : Text.flowing(piece.text)
  }
  return h(
    "details",
    {},
    h("summary", {}, `Prompt, ${Quantity.plural(prompt.length, "token")}`),
    TokenFlow.draw({
      length: prompt.length,
      text,
      draw: (at) =>
        h(
          "span",
          {
            class: promptPieces?.[at]?.isSpecial === true ? "token special" : "token",
            title: String(prompt[at] ?? "image")
          },
          text(at)
        ),
      kept: [],
      opensAt: prompt.length - 1,
      label: "tokens of the prompt",
      isBoxed: prompt.length > TokenFlow.long
    }, "prompt")
  )
}
