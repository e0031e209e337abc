/** An overview of a whole turn in one picture, with links to its important places. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Entry from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { go, link } from "./Screen.ts"
import { picture, svg } from "./Svg.ts"
import * as Text from "./Text.ts"
import * as TokenStrip from "./TokenStrip.ts"

/**
 * The first place at which a member differs from another member, whose index is `member` and whose reward is `reward`.
 */
export interface Difference {
  readonly member: number
  readonly reward: number | null | undefined
  readonly turn: number
  readonly token: number
}

/** The first token at which the member at `index` differs from the member whose reward differs most from its own. */
export const differenceOf = ({ members, rewards }: Entry.GroupView, index: number): Difference | undefined => {
  const ours = members[index]?.turns ?? []
  const others = members.flatMap((member, at) =>
    member === null || at === index ? [] : [{ turns: member.turns, member: at, reward: rewards[at] }]
  )
  const apart = (reward: number | null | undefined) => Math.abs((reward ?? NaN) - (rewards[index] ?? NaN)) || 0
  const [other] = others.toSorted((left, right) => apart(right.reward) - apart(left.reward))
  if (other === undefined) return undefined
  for (const [turn, { tokens }] of ours.entries()) {
    const theirs = other.turns[turn]?.tokens ?? []
    const token = tokens.findIndex((token, at) => token !== theirs[at])
    if (token >= 0) return { member: other.member, reward: other.reward, turn, token }
  }
  return undefined
}

/** Minimum number of tokens for an overview; shorter turns are visible as a whole. */
const shortest = 100

const [width, height] = [960, 44]

const mostBins = 240

/** The largest surprise, in nats, on the picture's scale: a probability of 1 in 400. */
const most = 6

interface Bin {
  readonly most: number
  readonly mean: number
}

const binsOf = ({ logprobs }: Entry.TurnView): ReadonlyArray<Bin> => {
  const each = Math.ceil(logprobs.length / mostBins)
  return Array.from({ length: Math.ceil(logprobs.length / each) }, (_, index) => {
    const surprises = logprobs.slice(index * each, (index + 1) * each).map((logprob) => -(logprob ?? 0))
    return {
      most: Math.max(...surprises),
      mean: surprises.reduce((sum, surprise) => sum + surprise, 0) / surprises.length
    }
  })
}

/** Number of bins over which the curve is averaged, because a single token's surprise says little about the entropy. */
const smooth = 12

const meansOf = (bins: ReadonlyArray<Bin>) =>
  bins.map((_, at) => {
    const near = bins.slice(Math.max(0, at - smooth / 2), at + smooth / 2)
    return near.reduce((sum, { mean }) => sum + mean, 0) / near.length
  })

interface Props {
  readonly turn: Entry.TurnView
  readonly index: number
  readonly route: Route
  readonly difference: Difference | undefined
}

const mark = (shade: string, at: number | undefined, length: number): Child => {
  if (at === undefined) return undefined
  const x = (at / length) * width
  return svg("line", { class: `place ${shade}`, x1: x, x2: x, y1: 0, y2: height })
}

const overview = ({ difference, index, route, turn }: Props, { answer }: TokenStrip.Places): Child => {
  const { tokens: { length } } = turn
  const bins = binsOf(turn)
  const x = (bin: number) => (bin / bins.length) * width
  const y = (surprise: number) => height * (1 - Math.min(1, surprise / most))
  const bars = bins.map((bin, at) =>
    `M${x(at).toFixed(1)} ${height}V${y(bin.most).toFixed(1)}H${x(at + 1).toFixed(1)}V${height}Z`
  )
  const means = meansOf(bins).map((mean, at) => `${x(at + 0.5).toFixed(1)},${y(mean).toFixed(1)}`)
  return picture(
    `surprise of ${length} tokens, and its mean`,
    width,
    height,
    {
      class: "minimap",
      preserveAspectRatio: "none",
      onClick: (event) => {
        if (!(event instanceof MouseEvent) || !(event.currentTarget instanceof Element)) return
        const { left, width } = event.currentTarget.getBoundingClientRect()
        const token = Math.floor(((event.clientX - left) / width) * length)
        go({ ...route, tokens: true, turn: index, token: Math.max(0, Math.min(length - 1, token)) })
      }
    },
    svg("path", { class: "surprise", d: bars.join("") }),
    svg("polyline", { class: "curve", points: means.join(" ") }),
    mark("place-answer", answer, length),
    mark("place-difference", difference?.turn === index ? difference.token : undefined, length),
    mark("place-token", route.turn === index ? route.token : undefined, length)
  )
}

const probability = ({ logprobs }: Entry.TurnView, at: number) => Quantity.percent(Math.exp(logprobs[at] ?? 0))

const named = (turn: Entry.TurnView, at: number) => {
  const piece = turn.pieces?.[at]
  return `${piece === undefined ? String(turn.tokens[at]) : Text.token(piece.text)} ${probability(turn, at)}`
}

/** The overview of a turn that is too long to see at once, with links to its places. */
export const draw = (props: Props): Child => {
  const { difference, index, route, turn } = props
  const { tokens: { length } } = turn
  const to = (token: number, text: string) =>
    link({ ...route, tokens: true, turn: index, token }, text, route.turn === index && route.token === token)
  const isHere = difference?.turn === index
  if (length < shortest && !isHere) return undefined
  const places = TokenStrip.placesOf(turn)
  return h(
    "div",
    { class: "overview" },
    length < shortest ? undefined : overview(props, places),
    h(
      "nav",
      { class: "filters", "aria-label": `places in turn ${index}` },
      ...(places.answer === undefined ? [] : [to(places.answer, "answer")]),
      ...(isHere
        ? [
          to(
            difference.token,
            `first difference from member ${difference.member}, reward ${Text.short(difference.reward)}`
          )
        ]
        : []),
      ...(length < shortest ? [] : [
        to(length - 1, "end"),
        h("span", { class: "facts" }, "most surprising:"),
        ...places.surprising.map((at) => to(at, named(turn, at)))
      ])
    ),
    length < shortest ? undefined : h(
      "p",
      { class: "facts" },
      h("span", { class: "key key-surprise" }, "surprise, −log p, at most 6 nats"),
      " ",
      h("span", { class: "key key-reward" }, "its mean over near tokens, which estimates the policy's entropy")
    )
  )
}
