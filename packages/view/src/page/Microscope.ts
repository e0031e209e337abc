/** Everything known about one token: its author, its likelihood, and its weight in the update. */
import * as Quantity from "@effect-rl/core/report/Quantity"
import type * as Entry from "../story/Entry.ts"
import { type Child, empty, h } from "./Dom.ts"
import type { Route } from "./Route.ts"
import { go } from "./Screen.ts"
import * as Text from "./Text.ts"

/** Losses that can be selected, by their standard names. */
const losses = ["importance_sampling", "ppo", "cispo", "dro", "dppo", "icepop", "sapo", "topr_token"]

const chooser = (route: Route): Child =>
  h(
    "label",
    {},
    "loss ",
    h(
      "select",
      {
        onChange: ({ target }) => {
          if (target instanceof HTMLSelectElement) {
            go({ ...route, loss: target.value === "" ? undefined : target.value })
          }
        }
      },
      h("option", { value: "", selected: route.loss === undefined }, "of the run"),
      ...losses.map((loss) => h("option", { value: loss, selected: loss === route.loss }, loss))
    )
  )

type Fact = readonly [name: string, value: string, meaning: string]

const push = (gradient: number | null | undefined) =>
  gradient === null || gradient === undefined || gradient === 0
    ? "the update leaves it alone"
    : gradient < 0
    ? "the update makes it likelier"
    : "the update makes it less likely"

const lossFacts = ({ loss, masked, trainer }: Entry.TurnCredit, at: number): ReadonlyArray<Fact> => {
  if (masked !== null) return [["trained on", "no", masked]]
  if (loss === null) return [["loss", "–", "this page cannot compute the run's loss from its recorded name"]]
  const gradient = loss.gradients[at]
  const assumed = trainer === null
    ? "taken as 1: the trainer's log-probabilities are not recorded"
    : "trainer to sampler"
  return [
    ["ratio", Quantity.fixed(loss.ratios[at]), assumed],
    ["clipped", loss.clipped[at] === true ? "yes" : "no", "whether the loss gives up on the token"],
    ["loss", Quantity.fixed(loss.values[at], 4), `the token's term of ${loss.name}`],
    ["gradient weight", Quantity.fixed(gradient, 4), push(gradient)]
  ]
}

const factsOf = (turn: Entry.TurnView, at: number): ReadonlyArray<Fact> => {
  const { credit, logprobs, pieces, tokens } = turn
  const logprob = logprobs[at]
  const probability = logprob === null || logprob === undefined ? null : Math.exp(logprob)
  const piece = pieces?.[at]
  return [
    [
      "token",
      String(tokens[at]),
      piece === undefined ? "its tokenizer is not available" : piece.isSpecial ? "special" : "text"
    ],
    ["text", piece === undefined ? "–" : Text.token(piece.text), `position ${at} of ${tokens.length}`],
    ["log-probability", Quantity.fixed(logprob), `sampled with ${Quantity.percent(probability)}`],
    [
      "trainer's",
      Quantity.fixed(credit.trainer?.[at]),
      credit.trainer === null ? "not recorded" : "under the trained weights"
    ],
    ["weights", `step ${turn.samplerStep}`, "version that sampled it"],
    ["advantage", Text.signed(credit.masked === null ? credit.advantages[at] : null), "of its member"],
    ...lossFacts(credit, at)
  ]
}

export const draw = (
  turn: Entry.TurnView,
  index: number,
  at: number | undefined,
  route: Route,
  isLive: boolean
): Child =>
  h(
    "div",
    { class: "microscope", role: "group", "aria-label": `token microscope of turn ${index}` },
    h("h3", {}, "Token microscope"),
    at === undefined || at >= turn.tokens.length
      ? empty("Point at a token, or click it to keep it.")
      : h(
        "table",
        {},
        h(
          "tbody",
          {},
          ...factsOf(turn, at).map(([name, value, meaning]) =>
            h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, value), h("td", {}, meaning))
          )
        )
      ),
    isLive ? chooser(route) : undefined
  )
