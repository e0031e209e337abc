/** Draws the reward of a run over its iterations. Values that are not finite are left out. */
import * as RewardChart from "./RewardChart.ts"
import * as RewardSeries from "./RewardSeries.ts"
import * as RewardText from "./RewardText.ts"

export type { Evaluation, Report } from "./RewardSeries.ts"

/** Options of the SVG document. */
export interface SvgOptions {
  /** The title of the document; default: "Reward". */
  readonly title?: string
  /** Evaluations to mark on the curve. Default: none. */
  readonly evaluations?: ReadonlyArray<RewardSeries.Evaluation>
}

/** The columns and rows of the text. Widths below 24 and heights below 5 are raised to these minimums. */
export interface TextOptions {
  /** Width in characters. */
  readonly width: number
  /** Height in lines. */
  readonly height: number
}

/**
 * A self-contained SVG document of 800 × 450 pixels: the reward of each iteration with its standard error as a band, its running mean, and
 * the held-out measurements. For a run without rewards, only the measurements are drawn; without either, the document says so. `reports`
 * must be ordered by iteration.
 *
 * @example
 * const picture = RewardCurve.svg([{ iteration: 0, reward: 0.1 }, { iteration: 1, reward: 0.4 }], { title: "Sums" })
 */
export const svg = (reports: ReadonlyArray<RewardSeries.Report>, options: SvgOptions = {}): string =>
  RewardChart.draw(RewardSeries.make(reports, options.evaluations), options.title ?? "Reward")

/**
 * Lines for a terminal, drawn in braille: a dot for the reward of each iteration, and a line for the running mean. Without finite rewards,
 * the text `no iterations yet`.
 */
export const text = (reports: ReadonlyArray<RewardSeries.Report>, options: TextOptions): string =>
  RewardText.draw(RewardSeries.make(reports), options.width, options.height)
