/**
 * Losses of a chosen and a rejected answer, named as in TRL. Each is a function of the two answers' scores. A score is the log-probability
 * under the policy minus that under the reference, or only the policy's if the loss has no reference, summed or averaged over the
 * tokens of the answer.
 *
 * @example
 * PairLoss.parameters("simpo", { gamma: 1 }) // => { beta: 2, gamma: 1 }
 */
import * as Struct from "effect/Struct"

/** β and γ. Losses without γ ignore it. */
export interface Parameters {
  readonly beta: number
  readonly gamma: number
}

/** The loss of a pair, and its derivatives with respect to both scores. */
export interface Slopes {
  readonly loss: number
  readonly chosen: number
  readonly rejected: number
}

/** The mean scores of a batch's chosen and rejected answers, but at least 0. They estimate the KL divergence from the reference. */
export interface Drift {
  readonly chosen: number
  readonly rejected: number
}

/** A loss of preference pairs. */
export interface PairLoss {
  /** Whether scores are relative to a reference. */
  readonly reference: boolean
  /** Whether a score is averaged over its tokens instead of summed. */
  readonly mean: boolean
  /** Default β. */
  readonly beta: number
  /** Default γ; absent if the loss has none. */
  readonly gamma?: number
  readonly of: (chosen: number, rejected: number, parameters: Parameters, drift: Drift) => Slopes
}

/** log(1 + eˣ), computed without overflow. */
const softplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))

const sigmoid = (x: number) => x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))

/** −log σ(z) and its derivative. */
const logistic = (z: number) => ({ loss: softplus(-z), slope: -sigmoid(-z) })

/** The slopes of a loss that depends only on the difference of the scores. */
const opposed = (loss: number, slope: number): Slopes => ({ loss, chosen: slope, rejected: -slope })

/** The log-odds of a mean log-probability, and their derivative. Both stay finite if the answer is certain. */
const logOdds = (mean: number) => {
  const rest = Math.max(-Math.expm1(mean), 1e-12)
  return { value: mean - Math.log(rest), slope: 1 / rest }
}

const losses = {
  /** −log σ(β·(c − r)): DPO (Rafailov et al., 2023, arXiv:2305.18290). */
  sigmoid: {
    reference: true,
    mean: false,
    beta: 0.1,
    of: (chosen, rejected, { beta }) => {
      const { loss, slope } = logistic(beta * (chosen - rejected))
      return opposed(loss, beta * slope)
    }
  },
  /** (c − r − 1/(2β))², with scores averaged over tokens: identity preference optimisation, IPO (Azar et al., 2023, arXiv:2310.12036). */
  ipo: {
    reference: true,
    mean: true,
    beta: 0.1,
    of: (chosen, rejected, { beta }) => {
      const distance = chosen - rejected - 1 / (2 * beta)
      return opposed(distance ** 2, 2 * distance)
    }
  },
  /**
   * ½·[1 − σ(β·(c − KL_r))] + ½·[1 − σ(β·(KL_c − r))], where KL_c and KL_r are the mean scores of the batch's chosen and rejected answers,
   * at least 0 and without a gradient: Kahneman-Tversky optimisation on pairs, KTO (Ethayarajh et al., 2024, arXiv:2402.01306).
   */
  kto_pair: {
    reference: true,
    mean: false,
    beta: 0.1,
    of: (chosen, rejected, { beta }, drift) => {
      const gain = sigmoid(beta * (chosen - drift.rejected))
      const loss = sigmoid(beta * (drift.chosen - rejected))
      return {
        loss: (1 - gain + (1 - loss)) / 2,
        chosen: -beta * gain * (1 - gain) / 2,
        rejected: beta * loss * (1 - loss) / 2
      }
    }
  },
  /**
   * −c − β·log σ(log-odds(c) − log-odds(r)), with scores averaged over tokens and without a reference: odds ratio preference optimisation,
   * ORPO (Hong et al., 2024, arXiv:2403.07691).
   */
  orpo: {
    reference: false,
    mean: true,
    beta: 0.1,
    of: (chosen, rejected, { beta }) => {
      const [won, lost] = [logOdds(chosen), logOdds(rejected)]
      const { loss, slope } = logistic(won.value - lost.value)
      return {
        loss: beta * loss - chosen,
        chosen: beta * slope * won.slope - 1,
        rejected: -beta * slope * lost.slope
      }
    }
  },
  /** −log σ(β·(c − r) − γ), with scores averaged over tokens and without a reference: SimPO (Meng et al., 2024, arXiv:2405.14734). */
  simpo: {
    reference: false,
    mean: true,
    beta: 2,
    gamma: 0.5,
    of: (chosen, rejected, { beta, gamma }) => {
      const { loss, slope } = logistic(beta * (chosen - rejected) - gamma)
      return opposed(loss, beta * slope)
    }
  }
} satisfies Readonly<Record<string, PairLoss>>

/** The name of a loss in the table. */
export type Name = keyof typeof losses

/** All names, in the order in which the help lists them. */
export const names: ReadonlyArray<Name> = Struct.keys(losses)

/** The loss with this name. */
export const byName = (name: Name): PairLoss => losses[name]

/** The parameters of the named loss. Those not given have the loss's defaults; γ is 0 if the loss has none. */
export const parameters = (name: Name, given: Partial<Parameters> = {}): Parameters => {
  const { beta, gamma = 0 } = byName(name)
  return { beta: given.beta ?? beta, gamma: given.gamma ?? gamma }
}
